"""The report in a real browser: the table and the figures are there, and nothing is complained about."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spdatoms.paper.experiments import get_experiment, run
from spdatoms.paper.reporting import report_page

pytest.importorskip("jinja2", reason="needs the extra cli")
pytest.importorskip("matplotlib", reason="needs the extra plot")

pytestmark = pytest.mark.slow

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
  const drawings = [...document.querySelectorAll("figure svg")].filter(drawing => drawing.checkVisibility());
  const widths = drawings.map(drawing => drawing.getBoundingClientRect().width);
  const table = document.querySelector("table").getBoundingClientRect();
  document.body.dataset.probe = JSON.stringify([widths, table.width, table.height]);
  const root = document.documentElement;
  const right = Math.max(...[...document.querySelectorAll("td, svg, p, dd")].map(
    element => element.getBoundingClientRect().right));
  parent.postMessage([root.clientWidth, root.scrollWidth, right, root.scrollHeight], "*");
});
</script>"""
# Frames are as wide as screens; a window of the browser cannot be as narrow as a telephone.
SCREENS = (400, 800, 1280)
FRAMES = """<!DOCTYPE html><title>screens</title><script>
const seen = [];
addEventListener("message", event => {
  seen.push(event.data);
  document.body.dataset.probe = JSON.stringify(seen);
});
</script>""" + "".join(f"<iframe src='report.html' width={w} height=900></iframe>" for w in SCREENS)


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


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the results of a short run, and its report with the probe."""
    experiment = get_experiment("textures")
    results = run(experiment, methods=["RSR-S", "1-NN Stein"], repeats=2)
    page = tmp_path_factory.mktemp("report") / "report.html"
    content = report_page(experiment, results)
    page.write_text(content.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    return results, page


def test_report_needs_no_sideways_scrolling_on_any_screen(browser, report, tmp_path):
    _, page = report
    frames = page.with_name("screens.html")
    frames.write_text(FRAMES, encoding="utf-8")
    document, messages = visit(browser, frames, tmp_path / "profile")
    assert messages == []
    probe = re.search(r'data-probe="([^"]*)"', document)
    assert probe, "the frames did not finish loading"
    seen = sorted(json.loads(html.unescape(probe.group(1))))
    assert len(seen) == len(SCREENS)
    for screen, (width, scrolled, right, height) in zip(SCREENS, seen, strict=True):
        assert screen - 25 <= width <= screen  # the bar at its side
        assert scrolled == width
        assert right <= width
        assert height > 900


def test_report_follows_the_system_and_is_one_file(report):
    _, page = report
    text = page.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert not re.findall(r"(?:src|href|srcset)=[\"'](?!data:|#)", text)
    assert "RSR</strong> is Riemannian sparse representation" in text
    assert "diamonds" not in text  # there are no published values for these data
    assert "labelled by SPDEnsembleClassifier" in text


def test_report_shows_table_and_figures_without_complaints(browser, report, tmp_path):
    results, page = report
    document, messages = visit(browser, page, tmp_path / "profile")
    assert messages == []
    cells = re.findall(r"<td[^>]*>(.*?)</td>", document)
    for summary in results.summaries():
        mean, deviation = summary.scores["accuracy"], summary.deviations["accuracy"]
        assert summary.method in cells
        assert f"{mean:.1f} ± {deviation:.1f}" in cells
    probe = re.search(r'data-probe="([^"]*)"', document)
    assert probe, "the page did not finish loading"
    widths, table_width, table_height = json.loads(html.unescape(probe.group(1)))
    assert len(widths) == 3  # the textures, the mosaic, the bars
    assert min(widths) > 100
    assert table_width > 100
    assert table_height > 50
