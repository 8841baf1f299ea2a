"""The report of 'classify' in a real browser: one clicks through it, with the mouse and with keys alone."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from _commands import run, two_classes

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytest.importorskip("jinja2", reason="needs the extra cli")
pytest.importorskip("matplotlib", reason="needs the extra plot")

pytestmark = pytest.mark.slow

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
# The sum of the colours in the middle of the first picture.
PIXEL = """() => {
  const canvas = document.querySelector("#detail canvas");
  return [...canvas.getContext("2d").getImageData(0, 1, 1, 1).data];
}"""


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the page of a classification with mistakes, and its data."""
    folder = tmp_path_factory.mktemp("report")
    X, y = two_classes()
    wrong = y.astype("U20")
    wrong[[3, 30]] = ["right", "<b>left</b>"]
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", wrong)
    (folder / "y.csv").write_text("\n".join(y))
    train = ("--train", folder / "X.npy", "--train-labels", folder / "y.csv")
    test = ("--test", folder / "X.npy", "--test-labels", folder / "y.npy")
    run("classify", *train, *test, "--report", folder / "r.html")
    text = (folder / "r.html").read_text(encoding="utf-8")
    return folder / "r.html", json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def opened(browser, path, **options):
    """Return the page after loading, and the list of what goes wrong on it."""
    page = browser.new_context(**options).new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.on("request", lambda request: complaints.append(request.url))  # it needs no other file
    return page, complaints


def test_click_through(browser, report):
    path, data = report
    page, complaints = opened(browser, path)
    assert page.locator("#list option").count() == len(data["items"])
    assert page.locator("#detail h3").text_content() == data["items"][0]["name"]
    page.select_option("#filter", "mistakes")
    names = page.locator("#list option").all_text_contents()
    assert [name.split()[0] for name in names] == ["#3", "#30"]
    page.select_option("#list", index=1)
    shown = page.locator("#detail").inner_text()
    assert "Its label is <b>left</b>: a mistake." in shown  # text, no markup
    item = data["items"][30]
    for group in item["groups"]:
        assert group["title"] in shown
        for name, _, _ in group["rows"]:
            assert name in shown
    assert page.locator("#detail canvas").count() == 1 + len(item["groups"][1]["rows"])
    assert complaints == []


def test_keys_alone(browser, report):
    path, data = report
    page, _ = opened(browser, path)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "list"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#detail h3").text_content() == data["items"][2]["name"]
    assert page.url.endswith("#2")  # it can be sent to somebody
    again, _ = opened(browser, path)
    again.goto(f"{path.as_uri()}#5")
    again.reload()
    assert again.locator("#detail h3").text_content() == data["items"][5]["name"]


def test_screen_readers_find_names(browser, report):
    page, _ = opened(browser, report[0])
    assert page.get_by_role("listbox", name="choose one").count() == 1
    assert page.get_by_role("img", name="picture of #0").count() == 1
    assert page.get_by_role("img", name="Calibration").count() == 1
    assert page.locator("#detail").get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("width", [400, 800, 1280])
def test_no_sideways_scrolling(browser, report, width):
    page, _ = opened(browser, report[0], viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_figures_and_pictures_are_dark_in_dark_mode(browser, report):
    pixels, texts = [], []
    for scheme in ("light", "dark"):
        page, _ = opened(browser, report[0], color_scheme=scheme)
        pixels.append(page.evaluate(PIXEL))
        texts.append(page.evaluate("getComputedStyle(document.querySelector('svg text')).fill"))
        assert page.evaluate("getComputedStyle(document.querySelector('svg text')).fill") == (
            page.evaluate("getComputedStyle(document.body).color")
        )
    assert pixels[0] != pixels[1]
    assert texts[0] != texts[1]
