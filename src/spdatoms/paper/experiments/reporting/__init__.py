"""Results of experiments as tables, figures, a self-contained page and Markdown."""

from spdatoms.paper.experiments.reporting.figures import pictures
from spdatoms.paper.experiments.reporting.html import report_page, write_folder
from spdatoms.paper.experiments.reporting.markdown import record, section, write_record
from spdatoms.paper.experiments.reporting.picture import Picture
from spdatoms.paper.experiments.reporting.table import Table, narrow, to_markdown, to_rich
from spdatoms.paper.experiments.reporting.tables import remarks, tables

__all__ = [
    "Picture",
    "Table",
    "narrow",
    "pictures",
    "record",
    "remarks",
    "report_page",
    "section",
    "tables",
    "to_markdown",
    "to_rich",
    "write_folder",
    "write_record",
]
