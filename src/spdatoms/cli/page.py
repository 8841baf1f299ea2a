"""Pages from templates, in which text of users is text."""

from __future__ import annotations

from typing import Any

from spdatoms._utils.extras import import_extra
from spdatoms._utils.text import visible_lines

#: Its folder ``templates`` has the style of all pages.
_HERE = "spdatoms.cli"


def render_page(template: str, package: str, **content: Any) -> str:
    """Return a page; text is escaped, and characters that are commands are shown.

    Parameters
    ----------
    template : str
        The name of the template.
    package : str
        The package whose folder ``templates`` has it.
    **content : dict
        What the template shows.

    Returns
    -------
    str
        HTML.
    """
    jinja = import_extra("jinja2", extra="cli")
    loaders = [jinja.PackageLoader(name, "templates") for name in (package, _HERE)]
    environment = jinja.Environment(
        loader=jinja.ChoiceLoader(loaders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible_lines(value) if type(value) is str else value,
    )
    page: str = environment.get_template(template).render(**content)
    return page
