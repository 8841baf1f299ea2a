"""The report in a real browser: the table and the figures are there, and nothing is complained about."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spdatoms.experiments import get_experiment, run
from spdatoms.experiments.reporting import report_page

pytest.importorskip("jinja2", reason="needs the extra cli")
pytest.importorskip("matplotlib", reason="needs the extra plot")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
)
# Writes what the page looks like after loading where --dump-dom shows it.
PROBE = """<script>
addEventListener("load", () => {
  const widths = [...document.images].map(image => image.naturalWidth);
  const table = document.querySelector("table").getBoundingClientRect();
  document.body.dataset.probe = JSON.stringify([widths, table.width, table.height]);
});
</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    return found


def visit(browser: str, page: Path, profile: Path) -> tuple[str, list[str]]:
    """Return the document after loading, and the messages of the console."""
    command = [browser, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return shown.stdout, [line for line in shown.stderr.splitlines() if "CONSOLE" in line]


def test_console_messages_would_be_seen(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><title>bad</title><img src='missing.png'><p>here</p>"
        "<script>console.error('thunder'); nowhere();</script>"
    )
    document, messages = visit(browser, page, tmp_path / "profile")
    assert "<p>here</p>" in document
    assert any("thunder" in message for message in messages)
    assert any("nowhere is not defined" in message for message in messages)


def test_report_shows_table_and_figures_without_complaints(browser, tmp_path):
    experiment = get_experiment("textures")
    results = run(experiment, methods=["RSR-S", "1-NN Stein"], repeats=2)
    page = tmp_path / "report.html"
    content = report_page(experiment, results)
    page.write_text(content.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    document, messages = visit(browser, page, tmp_path / "profile")
    assert messages == []
    cells = re.findall(r"<td>(.*?)</td>", document)
    for summary in results.summaries():
        mean, deviation = summary.scores["accuracy"], summary.deviations["accuracy"]
        assert summary.method in cells
        assert f"{mean:.1f} ± {deviation:.1f}" in cells
    probe = re.search(r'data-probe="([^"]*)"', document)
    assert probe, "the page did not finish loading"
    widths, table_width, table_height = json.loads(html.unescape(probe.group(1)))
    assert len(widths) == 1
    assert min(widths) > 100
    assert table_width > 100
    assert table_height > 50
