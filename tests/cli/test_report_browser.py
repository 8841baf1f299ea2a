"""Reports in a real browser: one clicks through them, with the mouse and with keys alone."""

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


def data_of(path):
    """Return the data of a page."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


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
    return folder / "r.html", data_of(folder / "r.html")


@pytest.fixture(scope="module")
def on_scalps(tmp_path_factory):
    """Return the page of a classification of epochs whose channels have places, and its data."""
    mne = pytest.importorskip("mne")
    folder = tmp_path_factory.mktemp("epochs")
    signals = 1e-6 * np.random.default_rng(0).standard_normal((24, 5, 80))
    signals[12:, 1] *= 3.0  # C3 tells the classes apart
    info = mne.create_info(["Fz", "C3", "Cz", "C4", "Pz"], 100.0, "eeg")
    angles = {"Fz": (0, 0.7), "C3": (-0.7, 0), "Cz": (0, 0), "C4": (0.7, 0), "Pz": (0, -0.7)}
    places = {
        n: 0.09 * np.array([x, y, np.sqrt(1 - x * x - y * y)]) for n, (x, y) in angles.items()
    }
    info.set_montage(mne.channels.make_dig_montage(places, coord_frame="head"))
    events = np.column_stack([np.arange(24), np.zeros(24, int), np.repeat([1, 2], 12)])
    names = {"rest": 1, "move": 2}
    epochs = mne.EpochsArray(signals, info, events, event_id=names, verbose="error")
    epochs.save(folder / "s-epo.fif", verbose="error")
    run("classify", "--train", folder / "s-epo.fif", "--cv", 2, "--report", folder / "r.html")
    return folder / "r.html", data_of(folder / "r.html")


@pytest.fixture(scope="module")
def of_photographs(tmp_path_factory):
    """Return the page of a classification of photographs, dark and bright ones, and its data."""
    images = pytest.importorskip("skimage.io")
    folder = tmp_path_factory.mktemp("photographs")
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        for name, low in (("dark", 0), ("bright", 180)):
            (folder / part / name).mkdir(parents=True)
            for k in range(6):
                pixels = (low + rng.integers(0, 20 if low else 60, (40, 20))).astype(np.uint8)
                images.imsave(folder / part / name / f"{k}.png", pixels, check_contrast=False)
    parts = ("--train", folder / "train", "--test", folder / "test")
    run("classify", *parts, "--report", folder / "r.html")
    return folder / "r.html", data_of(folder / "r.html")


@pytest.fixture(scope="module")
def of_methods(tmp_path_factory):
    """Return the page of a comparison, and its data."""
    folder = tmp_path_factory.mktemp("compared")
    X, y = two_classes()
    np.save(folder / "X.npy", X)
    (folder / "y.csv").write_text("\n".join(np.roll(y, 2)))
    out = folder / "r.html"
    run("compare", folder / "X.npy", folder / "y.csv", "--cv", 2, "--report", out)
    return out, data_of(out)


@pytest.fixture(scope="module")
def of_an_experiment(tmp_path_factory):
    """Return the page of 'reproduce', and its data."""
    folder = tmp_path_factory.mktemp("reproduced")
    methods = ("--methods", "RSR-S, 1-NN Stein", "--repeats", 2)
    run("reproduce", "textures", *methods, "--out", folder)
    return folder / "report.html", data_of(folder / "report.html")


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


def test_rows_of_tables_lead_to_their_items(browser, report):
    page, complaints = opened(browser, report[0])
    page.select_option("#filter", "right")
    page.get_by_role("link", name="30", exact=True).click()
    page.locator("#detail h3", has_text="#30 ").wait_for()
    assert page.locator("#filter").input_value() == "all"
    assert complaints == []


def test_channels_on_scalps(browser, on_scalps):
    """The channel that tells the classes apart is the first in words, and the brightest dot, left of the middle."""
    path, data = on_scalps
    page, complaints = opened(browser, path, color_scheme="dark")
    bars = page.locator("#detail table.bars").last
    assert "Channels" in bars.locator("caption").text_content()
    assert bars.locator("th span").first.text_content() == "C3"
    head = page.get_by_role("img", name="channels that decided")
    dots = head.locator("circle").evaluate_all(
        "all => all.map(d => [+d.getAttribute('cx'), d.getAttribute('fill')])"
    )
    shares = {round(x, 2): int(re.search(r"(\d+)%", fill)[1]) for x, fill in dots[1:] if x < -0.1}
    assert list(shares.values()) == [100]
    assert (
        page.get_by_role("img", name="picture of").count() == 6
    )  # the query and five training matrices
    assert page.get_by_role("img", name="correlations of").count() == 1
    assert len(data["places"]) == 5
    assert complaints == []


def test_photographs_are_those_of_the_files(browser, of_photographs):
    path, data = of_photographs
    page, complaints = opened(browser, path)
    mean = """canvas => {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return pixels.filter((_, k) => k % 4 === 0).reduce((a, b) => a + b) / (canvas.width * canvas.height);
    }"""
    for item in range(len(data["items"])):
        page.select_option("#list", index=item)
        shown = page.locator("#detail canvas").evaluate_all(f"all => all.map({mean})")
        lines = page.locator("#detail").inner_text()
        names = ["dark" if "label is dark" in lines else "bright"]
        names += [
            name.split()[0]
            for name in page.locator("table.bars").nth(1).locator("th span").all_text_contents()
        ]
        assert len(shown) == len(names)
        assert all(
            (value > 120) == (name == "bright") for value, name in zip(shown, names, strict=True)
        )
    assert data["tile"] == [64, 128]  # the shape of the photographs
    assert complaints == []


@pytest.mark.parametrize("which", ["of_methods", "of_an_experiment"])
def test_one_method_at_a_time(browser, which, request):
    """Each method has its name and bars, with keys alone; nothing else is asked for."""
    path, data = request.getfixturevalue(which)
    page, complaints = opened(browser, path)
    page.locator("#list").focus()
    for item in data["items"]:
        assert page.locator("#detail h3").text_content() == item["name"]
        shown = page.locator("#detail").inner_text()
        assert all(line in shown for line in item["lines"])
        bars = sum(len(group["rows"]) for group in item["groups"])
        assert page.locator("#detail td.bar").count() == bars > 0
        page.keyboard.press("ArrowDown")
    assert not page.locator("#filter").is_visible()  # there is nothing to choose from
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
@pytest.mark.parametrize(
    "which", ["report", "on_scalps", "of_photographs", "of_methods", "of_an_experiment"]
)
def test_no_sideways_scrolling(browser, which, width, request):
    path, _ = request.getfixturevalue(which)
    page, _ = opened(browser, path, viewport={"width": width, "height": 900})
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
