"""The results of a run as a table, and on the page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzz.campaign import OUTCOMES

PAGE = Path(__file__).resolve().parents[2] / "docs/develop/fuzzing.md"
#: What `write_page` writes stands between these lines of the page.
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->\n"


def rows(results: dict[str, Any]) -> list[list[str]]:
    """Return a header, a row for each campaign, and the sums."""
    counts = {
        name: [*(one.get(kind, 0) for kind in OUTCOMES), len(one["findings"])]
        for name, one in results["campaigns"].items()
    }
    found = [["campaign", "cases", *OUTCOMES, "findings"]]
    for name, one in counts.items():
        found.append([f"`{name}`", *(f"{count:,}" for count in (sum(one), *one))])
    sums = [sum(column) for column in zip(*counts.values(), strict=True)]
    return [*found, ["all", *(f"{count:,}" for count in (sum(sums), *sums))]]


def table(results: dict[str, Any]) -> str:
    """Return the results as a table of Markdown."""
    header, *others = rows(results)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *others]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown(results: dict[str, Any]) -> str:
    """Return the table and the command that repeats the run."""
    options = "".join(f" --{name} {results[name]:g}" for name in ("minutes", "processes"))
    command = f"python -m tests.fuzz{options} --seed {results['seed']} --markdown"
    return f"```sh\n{command}\n```\n\n{table(results)}"


def write_page(text: str, page: Path = PAGE) -> None:
    """Put the text between the two marks of the page."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")
