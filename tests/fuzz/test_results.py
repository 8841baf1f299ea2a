"""The table of results: what a run counts, and where it is written."""

from __future__ import annotations

from fuzz.campaigns import CAMPAIGNS
from fuzz.results import BEGIN, END, PAGE, markdown, table, write_page

RESULTS = {
    "seed": 7,
    "minutes": 2.0,
    "processes": 2,
    "campaigns": {
        "exact_pairs": {"oracle": 1200, "refused": 3, "findings": [], "seconds": 1.0},
        "pair_laws": {"law": 40, "findings": ["pair_laws, seed 1: …"], "seconds": 1.0},
    },
}


def test_outcomes_are_counted_apart_and_summed() -> None:
    lines = table(RESULTS).splitlines()
    assert lines[0] == "| campaign | cases | oracle | law | refused | answered | findings |"
    assert lines[2:] == [
        "| `exact_pairs` | 1,203 | 1,200 | 0 | 3 | 0 | 0 |",
        "| `pair_laws` | 41 | 0 | 40 | 0 | 0 | 1 |",
        "| all | 1,244 | 1,200 | 40 | 3 | 0 | 1 |",
    ]


def test_the_page_gets_what_the_command_writes(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n", "utf-8")
    write_page(markdown(RESULTS), page)
    text = page.read_text("utf-8")
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "--minutes 2 --processes 2 --seed 7 --markdown" in text


def test_the_page_explains_every_campaign() -> None:
    text = PAGE.read_text("utf-8")
    explained = text.split(BEGIN)[0]
    assert [name for name in CAMPAIGNS if f"| `{name}` |" not in explained] == []
    assert text.split(BEGIN)[1].count(END) == 1
