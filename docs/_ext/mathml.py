"""Formulas as MathML, made at build time by docutils' own converter.

The pages need no script and no network to show them; every current browser does.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger
from sphinx.util.math import get_node_equation_number

_LOGGER = getLogger(__name__)
#: Bars that have no given size. Left to the browser, one of a pair may stretch and the other not.
_BAR = re.compile(r'<mo(?: class="mathopen"| stretchy="false")?>([|‖])</mo>')


def mathml(node: nodes.Element, tex: str, as_block: bool) -> str:
    """Return a formula as MathML, or as it is written with a warning if it cannot be converted."""
    try:
        converted = tex2mathml(tex, as_block=as_block)
    except MathError as error:
        _LOGGER.warning("%s in %r", error, tex, location=node)
        return f"<code>{escape(tex)}</code>"
    return _BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', converted)


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    writer.body.append(mathml(node, node.astext(), as_block=False))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula of its own, with its number if it has a label."""
    tex = node.astext().strip()
    if "\\\\" in tex and "\\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})</span>')
    writer.body.append(mathml(node, tex, as_block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
