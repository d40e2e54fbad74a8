"""The page of a study in Chromium: its controls work, by mouse and by keyboard, wide and narrow, without an error or a request."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from support.small_page import small_study

from ticketlab.pages.report_page import write_report

pytestmark = pytest.mark.system
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOCUSABLE = "a[href], button:not([hidden]), input, select, summary, [tabindex='0']"
WIDTHS = pytest.mark.parametrize("width", [1280, 400])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    return write_report(small_study(folder / "lab"), folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is in a folder of PATH, {os.environ.get('PATH')}")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Any]:
    """Open the page in a window of a width; afterwards check that nothing went wrong and nothing was requested."""
    context = browser.new_context(color_scheme="light")
    problems: list[str] = []
    requests: list[str] = []

    def open_page(width: int) -> Any:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        return page

    yield open_page
    context.close()
    assert problems == []
    assert [url for url in requests if url.partition("#")[0] != address and not url.startswith("data:")] == []


def shown(page: Any, column: int) -> list[str]:
    return page.evaluate(
        "column => [...document.querySelectorAll('#scores tbody tr:not([hidden])')].map(row => row.cells[column].dataset.value ?? '')",
        column,
    )


def test_sorting_by_a_column_and_back(opened: Any) -> None:
    page = opened(1280)
    before = shown(page, 2)
    heading = page.locator("#scores th[data-column='2']")
    orders = []
    for _ in range(3):
        heading.get_by_role("button").click()
        orders.append((heading.get_attribute("aria-sort"), shown(page, 2)))
    numbers = sorted(float(value) for value in before if value)
    assert [order for order, _ in orders] == ["descending", "ascending", None]
    assert [float(value) for value in orders[0][1] if value] == numbers[::-1]
    assert [float(value) for value in orders[1][1] if value] == numbers
    assert [values[-1] for _, values in orders] == ["", "", ""], "the failed cell is last"
    assert orders[2][1] == before


def test_filtering_by_text_and_by_level(opened: Any) -> None:
    page = opened(1280)
    form = page.locator("form[data-table='scores']")
    form.get_by_label("sparsity").select_option("0.3")
    assert shown(page, 1) == ["0.3", "0.3"]
    form.get_by_role("searchbox").fill("IMP")
    assert shown(page, 0) == ["imp"]
    assert form.locator("output").inner_text() == "1 of 6 rows"
    form.get_by_role("button", name="Reset").click()
    page.wait_for_function("document.querySelector(\"form[data-table='scores'] output\").value === '6 rows'")
    assert len(shown(page, 0)) == 6


def test_the_theme_is_switched_and_remembered(opened: Any) -> None:
    page = opened(1280)
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    switch = page.get_by_role("button", name="Dark theme")
    assert switch.get_attribute("aria-pressed") == "false"
    switch.click()
    dark = page.evaluate(background)
    assert switch.get_attribute("aria-pressed") == "true"
    assert dark != light
    page.reload()
    assert page.evaluate(background) == dark


def test_the_theme_is_that_of_the_system(browser: Any, address: str) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(address)
    assert page.get_by_role("button", name="Dark theme").get_attribute("aria-pressed") == "true"
    context.close()


@WIDTHS
def test_every_control_is_reached_by_keyboard_and_shows_the_focus(opened: Any, width: int) -> None:
    page = opened(width)
    expected = page.locator(FOCUSABLE).evaluate_all(
        "all => all.filter(one => one.checkVisibility()).map((one, index) => one.dataset.n = index)"
    )
    reached = []
    for _ in expected:
        page.keyboard.press("Tab")
        number, style, size = page.evaluate(
            """() => {
                const one = document.activeElement, style = getComputedStyle(one);
                return [Number(one.dataset.n), style.outlineStyle, parseFloat(style.outlineWidth)];
            }"""
        )
        reached.append(number)
        assert style != "none"
        assert size >= 1
    assert reached == expected


def test_keys_work(opened: Any) -> None:
    page = opened(1280)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#results'")
    page.locator("#scores th[data-column='0'] button").focus()
    page.keyboard.press("Space")
    assert page.locator("#scores th[data-column='0']").get_attribute("aria-sort") == "ascending"
    link = page.locator("#scores tbody a").first
    target = link.get_attribute("href")
    link.press("Enter")
    page.wait_for_function("target => document.querySelector(target).open", arg=target)


@WIDTHS
def test_only_tables_and_pictures_scroll_sideways(opened: Any, width: int) -> None:
    page = opened(width)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = """() => [...document.querySelectorAll('main *')]
        .filter(one => !one.closest('.scroll, .picture, pre, .hidden-text') && one.getBoundingClientRect().right > innerWidth + 1)
        .map(one => one.outerHTML.slice(0, 80))"""
    assert page.evaluate(outside) == []
