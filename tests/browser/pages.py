"""Headless Chromium and how a report is opened in it; a module that imports this is skipped where either is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing (make test-browser installs it)")
if CHROMIUM is None:
    pytest.skip("chromium is missing (make test-browser installs it)", allow_module_level=True)

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
DRAWN = "() => [...document.querySelectorAll('.chart')].every((chart) => chart.dataset.drawn)"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser."""
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@contextmanager
def watched(browser: Any, address: str, viewport: dict[str, int]) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Open a page and wait for its charts; give it with its complaints and what it asked the network for."""
    page = browser.new_page(viewport=viewport)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda sent: asked.append(sent.url))
    page.goto(address)
    page.wait_for_function(DRAWN)
    yield page, complaints, asked
    page.close()
