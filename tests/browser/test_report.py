"""The report in a real browser: drawn without a fault, without the network, on a phone and on paper."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from planner.export.report import report_html
from tests.browser.pages import DESK, DRAWN, PHONE, chromium, watched
from tests.outcomes import HOSTILE, sample_outcome

pytestmark = pytest.mark.browser

CHARTS = 4


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    file: Path = tmp_path_factory.mktemp("report") / "the report, λ.html"
    file.write_bytes(report_html(sample_outcome()))
    return file.as_uri()


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(params=[PHONE, DESK], ids=["phone", "desk"])
def opened(browser, address, request):
    """The page, what it complained about, and what it asked the network for."""
    with watched(browser, address, request.param) as seen:
        yield seen


def test_it_is_drawn_without_complaint_and_without_the_network(opened, address):
    page, complaints, asked = opened
    assert page.locator(".chart .main-svg").count() >= CHARTS
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [address]


def test_nothing_is_wider_than_the_screen(opened):
    page, _, _ = opened
    width = page.viewport_size["width"]
    assert page.evaluate("() => document.documentElement.scrollWidth") == width
    wide = page.evaluate(
        "() => [...document.querySelectorAll('main > *, .chart, .card')]"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.className)"
    )
    assert wide == []


def test_a_phone_shows_every_table_without_pushing_sideways(browser, address):
    page = browser.new_page(viewport=PHONE)
    page.goto(address)
    page.wait_for_function(DRAWN)
    pushed = page.evaluate(
        "() => [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth)"
        ".map((e) => e.ariaLabel)"
    )
    assert pushed == []
    unlabelled = page.evaluate("() => document.querySelectorAll('.stacks tr:not(.why) td:not([data-label])').length")
    assert unlabelled == 0
    # A card holds its labels and values and no blank: it is hardly higher than what stands in it.
    blank_px = page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('.stacks tbody tr')].map((row) => {
          const cells = [...row.children].map((cell) => cell.getBoundingClientRect());
          const [top, bottom] = [Math.min(...cells.map((c) => c.top)), Math.max(...cells.map((c) => c.bottom))];
          const inside = [...row.children].flatMap((cell) => [...cell.children, cell])
            .map((e) => { const range = document.createRange(); range.selectNodeContents(e); return range; })
            .map((range) => range.getBoundingClientRect().bottom);
          return bottom - Math.max(top, ...inside);
        }))"""
    )
    page.close()
    assert blank_px < 12


def test_every_figure_shows_something(opened):
    page, _, _ = opened
    for chart in page.locator(".chart").all():
        assert chart.locator("path.js-line, g.point path").count() > 0
        box = chart.bounding_box()
        assert box["height"] > 200
    assert page.locator("#chart-runs g.point path").count() > 20


def test_a_hostile_name_is_shown_as_text_and_never_run(opened):
    page, _, _ = opened
    assert page.evaluate("() => document.querySelectorAll('script').length") == 2 + CHARTS
    assert HOSTILE in page.locator("table.runs").inner_text()
    assert page.locator("#chart-runs .ytick text").first.text_content().startswith("<script>")


def test_hovering_tells_the_site_time_and_the_values(browser, address):
    page = browser.new_page(viewport=DESK)
    page.goto(address)
    page.wait_for_function(DRAWN)
    page.locator("#chart-grid .nsewdrag").first.hover()
    page.wait_for_selector("#chart-grid .hoverlayer .legendtext")
    told = " ".join(page.locator("#chart-grid .hoverlayer .legendtext").all_text_contents())
    assert "(CEST)" in told
    assert "g/kWh" in told
    assert "EUR/MWh" in told
    page.close()


def test_text_stands_out_from_its_ground(browser, address):
    """WCAG 2.2, success criterion 1.4.3: at least 4.5 to 1."""
    page = browser.new_page(viewport=DESK)
    page.goto(address)
    lowest = page.evaluate(
        """() => {
          const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const ground = (e) => {
            for (; e; e = e.parentElement) {
              const c = numbers(getComputedStyle(e).backgroundColor);
              if (c.length === 3 || c[3] > 0) return c;
            }
            return [255, 255, 255];
          };
          return Math.min(...[...document.querySelectorAll('header *, main :not(.chart *):not(script):not(style)')]
            .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
            .map((e) => {
              const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
              return (a + 0.05) / (b + 0.05);
            }));
        }"""
    )
    page.close()
    assert lowest >= 4.5


def test_a_changed_window_is_filled_again(browser, address):
    page = browser.new_page(viewport=DESK)
    page.goto(address)
    page.wait_for_function(DRAWN)
    page.set_viewport_size(PHONE)
    page.wait_for_function("() => document.querySelector('#chart-grid .main-svg').clientWidth < 390")
    assert page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]
    page.close()


def test_on_paper_the_figures_fit_the_sheet(browser, address):
    page = browser.new_page(viewport=DESK)
    page.goto(address)
    page.wait_for_function(DRAWN)
    assert page.pdf(prefer_css_page_size=True, print_background=True).startswith(b"%PDF")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    # A4 less its margins is 186 mm, which is 703 px at 96 px an inch.
    widths = page.evaluate("() => [...document.querySelectorAll('.chart .main-svg')].map((e) => e.clientWidth)")
    assert max(widths) <= 703
    page.close()


def test_the_screenshot_is_not_blank(opened):
    image = pytest.importorskip("PIL.Image", reason="pillow is missing (make test-browser installs it)")
    page, _, _ = opened
    shot = image.open(io.BytesIO(page.locator("#chart-grid").screenshot())).convert("RGB")
    colours = {colour for count, colour in shot.getcolors(maxcolors=1 << 20) if count > 200}
    # Blue and orange of the two largest runs, and white.
    assert {(0, 114, 178), (230, 159, 0), (255, 255, 255)} <= colours
