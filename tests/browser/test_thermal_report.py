"""The thermal report in a real browser: drawn without a fault, without the network, on a phone and on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.export.thermal_report import thermal_html
from tests.browser.pages import DESK, DRAWN, PHONE, chromium, watched
from tests.outcomes import HOSTILE
from tests.outlooks import outlook

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    file: Path = tmp_path_factory.mktemp("thermal") / "cooling, λ.html"
    file.write_bytes(thermal_html(outlook(name=HOSTILE, readings=True)))
    return file.as_uri()


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(params=[PHONE, DESK], ids=["phone", "desk"])
def opened(browser, address, request):
    """The page with all its details open, what it complained about, and what it asked the network for."""
    with watched(browser, address, request.param) as seen:
        seen[0].evaluate("() => document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        yield seen


def test_it_is_drawn_without_complaint_and_without_the_network(opened, address):
    page, complaints, asked = opened
    assert page.locator(".chart path.js-line").count() >= 6
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [address]


def test_nothing_is_wider_than_the_screen(opened):
    page, _, _ = opened
    width = page.viewport_size["width"]
    assert page.evaluate("() => document.documentElement.scrollWidth") == width
    wide = page.evaluate(
        "() => [...document.querySelectorAll('main > *, .chart, .card, h3')]"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.className)"
    )
    assert wide == []
    pushed = page.evaluate(
        "() => [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth)"
        ".map((e) => e.ariaLabel)"
    )
    assert pushed == []


def test_words_never_lie_on_each_other(opened):
    """On a phone the cells of a row share a grid: none may run into its neighbour."""
    page, _, _ = opened
    overlaps = page.evaluate(
        """() => {
          const box = (cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getBoundingClientRect();
          };
          const apart = (p, q) => p.left >= q.right - 1 || q.left >= p.right - 1
            || p.top >= q.bottom - 1 || q.top >= p.bottom - 1;
          const found = [];
          for (const row of document.querySelectorAll('.stacks tr')) {
            const cells = [...row.children].filter((e) => e.textContent.trim())
              .map((e) => [e.textContent, box(e)]).filter(([, r]) => r.width > 1);
            cells.forEach(([a, p], i) => cells.slice(i + 1).forEach(([b, q]) => {
              if (!apart(p, q)) found.push([a, b]);
            }));
          }
          return found;
        }"""
    )
    assert overlaps == []


def test_a_level_is_told_by_word_and_sign_as_well_as_by_colour(opened):
    page, _, _ = opened
    told = page.locator(".level").all_inner_texts()
    assert {text.split()[-1] for text in told} == {"red", "amber"}
    assert all(len(text.split()) == 2 for text in told)


def test_a_hostile_name_is_shown_as_text_and_never_run(opened):
    page, _, _ = opened
    assert page.evaluate("() => document.querySelectorAll('script').length") == 3
    assert f"Block {HOSTILE}:" in " ".join(page.locator("h2").all_inner_texts())


def test_on_paper_everything_is_shown(browser, address):
    page = browser.new_page(viewport=DESK)
    page.goto(address)
    page.wait_for_function(DRAWN)
    assert not page.evaluate("() => document.querySelector('details table').checkVisibility()")
    page.emulate_media(media="print")
    assert page.pdf(prefer_css_page_size=True, print_background=True).startswith(b"%PDF")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    shown = page.evaluate("() => [...document.querySelectorAll('details table')].map((e) => e.checkVisibility())")
    assert shown == [True] * 3
    page.close()
