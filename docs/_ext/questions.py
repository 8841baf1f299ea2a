"""Ten questions of newcomers to the search of the built site: the first hit must be the page that answers them.

    python docs/_ext/questions.py SITE

The search runs in Chromium, as readers run it. The exit status is 1 if a first hit is another page.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from urllib.parse import quote

#: What is typed, and the page that answers it.
QUESTIONS = {
    "install": "guide/installation",
    "which method": "guide/choosing",
    "missing channels": "guide/imperfect",
    "singular covariance": "guide/faq",
    "classify EEG": "newcomer",
    "new subject": "guide/domains",
    "coming from pyRiemann": "guide/pyriemann",
    "out of memory": "guide/scaling",
    "save a model": "guide/storage",
    "command line": "guide/command_line",
}
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")


def first_hits(site: Path) -> dict[str, list[str]]:
    """Return the first five pages that the search finds for every question."""
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as started:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=path, args=_FLAGS)
        for question in QUESTIONS:
            page = browser.new_page()
            page.goto(f"{(site / 'search.html').resolve().as_uri()}?q={quote(question)}")
            page.wait_for_selector("#search-results ul.search > li > a")
            links = page.locator("#search-results ul.search > li > a").all()[:5]
            found[question] = [link.get_attribute("href") for link in links]
            page.close()
        browser.close()
    return found


def main() -> int:
    """Print the first hit of every question; return how many are wrong, at most 1."""
    wrong = 0
    for question, hits in first_hits(Path(sys.argv[1])).items():
        right = bool(hits) and hits[0].split("#")[0].split("?")[0] == f"{QUESTIONS[question]}.html"
        wrong += not right
        print("   " if right else "!! ", f"{question}: {hits if not right else hits[0]}")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
