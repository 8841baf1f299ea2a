"""Results of experiments as tables, figures, a self-contained page and Markdown."""

from spdatoms.paper.reporting.figures import pictures
from spdatoms.paper.reporting.html import report_page, write_folder
from spdatoms.paper.reporting.pages import write_record
from spdatoms.paper.reporting.picture import Picture
from spdatoms.paper.reporting.table import Table, narrow, to_markdown, to_rich
from spdatoms.paper.reporting.tables import remarks, tables

__all__ = [
    "Picture",
    "Table",
    "narrow",
    "pictures",
    "remarks",
    "report_page",
    "tables",
    "to_markdown",
    "to_rich",
    "write_folder",
    "write_record",
]
