"""The control page as it is read: rows name what differs, amounts have the digits of their currency,
nothing covers anything, and nothing is empty, on a desk and on a phone."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests import needs
from tests.browser.conftest import Box, accessible

expect = needs.library("playwright.sync_api").expect

pytestmark = pytest.mark.slow

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture
def shop(sandbox: Box) -> Box:
    """A sandbox with an order in each of two currencies, of which webhooks have come, and one that
    is authorised only."""
    hook = {"url": f"{sandbox.url}/__inbox/shop"}
    sandbox.charge(reference="order-1", amount=20.5, webhook=hook)
    sandbox.charge(reference="order-2", amount=1250, currency="JPY", webhook=hook)
    sandbox.charge("4000000000009995", reference="order-3", amount=9, webhook=hook)
    sandbox.charge(reference="order-4", amount=7, capture=False)
    sandbox.call("POST", "/__admin/clock/advance", {"by": "1s"})
    return sandbox


@pytest.fixture
def page(page: Any) -> Iterator[Any]:
    """The page of all tests, which has the size of a desk again afterwards."""
    before = page.viewport_size
    yield page
    page.set_viewport_size(before)


def shown(page: Any, box: Box, view: str = "requests") -> Any:
    page.goto(f"{box.url}/__admin/?sandbox={box.sandbox_id}#{view}")
    expect(page.get_by_test_id("live")).to_have_text("live")
    return page


def row(page: Any, of: str, text: str) -> Any:
    return page.get_by_test_id(of).get_by_role("option").filter(has_text=text)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("requests", ["charge.create", "AUD 20.50", "201", "SUCCESS", "POST /charge/card"]),
        ("webhooks", ["AUD 20.50", "SUCCESS", "delivered", "1 try: 200"]),
        ("inbox", ["AUD 20.50", "SUCCESS", "signature valid", "transaction.status.changed"]),
    ],
)
def test_a_row_says_what_sets_it_apart(view: str, words: list[str], page: Any, shop: Box) -> None:
    shown(page, shop, view)
    for word in words:
        expect(row(page, view, "order-1")).to_contain_text(word)
    expect(row(page, view, "order-2")).to_contain_text("JPY 1,250")
    expect(row(page, view, "order-3")).to_contain_text("FAILED")


def test_only_what_came_due_is_due_and_says_so_once(page: Any, shop: Box) -> None:
    [paid] = [one for one in shop.charges() if one["reference"] == "order-1"]
    shop.call("POST", f"/__admin/objects/charge/{paid['chargeId']}", {"refund": {"amount": 5}})
    shop.call("POST", "/__admin/clock/advance", {"by": "8d"})
    shown(page, shop)
    expect(row(page, "requests", "object.refund")).to_contain_text("by hand")
    expired = row(page, "requests", "expiry")
    assert expired.inner_text().split().count("due") == 1
    row(page, "requests", "object.refund").click()
    expect(page.get_by_test_id("verdict")).to_have_text("This was done by hand without a request.")
    page.get_by_test_id("filter").fill("is:due")
    expect(page.get_by_test_id("requests").get_by_role("option")).to_have_count(1)


def test_the_header_is_one_row_on_a_desk(page: Any, shop: Box) -> None:
    page.set_viewport_size(DESK)
    shown(page, shop)
    boxes = [part.bounding_box() for part in page.locator("header > *:visible").all()]
    middles = [box["y"] + box["height"] / 2 for box in boxes]
    assert max(middles) - min(middles) < 4
    assert max(box["x"] + box["width"] for box in boxes) <= DESK["width"]


def test_the_books_are_a_table_of_amounts_and_their_sum_is_in_the_tab_from_the_start(
    page: Any, shop: Box
) -> None:
    shown(page, shop)
    expect(page.get_by_test_id("tab-books")).to_contain_text("AUD 20.50, JPY 1,250")
    page.get_by_test_id("tab-books").click()
    orders = page.get_by_test_id("books-order")
    expect(orders.filter(has_text="order-1").get_by_role("cell")).to_have_text(
        ["order-1", "AUD", "20.50", "20.50", "", "SUCCESS"]
    )
    expect(orders.filter(has_text="order-2")).to_contain_text("1,250")
    expect(page.get_by_role("columnheader")).to_have_text(
        ["order", "currency", "net", "captured", "held", "state"]
    )
    amount = orders.filter(has_text="order-1").get_by_role("cell").nth(2)
    assert amount.evaluate("cell => getComputedStyle(cell).textAlign") == "right"
    # An order is opened and closed, and stays so while others come.
    orders.filter(has_text="order-1").get_by_role("button").click()
    expect(page.get_by_test_id("books-charges").filter(has_text="#")).to_have_count(4)
    expect(page.locator("[data-testid=books-charges]:visible")).to_have_count(1)
    shop.charge(reference="order-5")
    expect(orders).to_have_count(5)
    expect(page.locator("[data-testid=books-charges]:visible")).to_have_count(1)


def test_an_assumption_with_few_answers_is_a_choice_among_them(page: Any, shop: Box) -> None:
    shown(page, shop, "assumptions")
    choice = page.get_by_test_id("assume-card.ccv")
    expect(choice).to_have_value("checked_when_given")
    choice.select_option("required")
    expect(page.get_by_test_id("back-card.ccv")).to_be_visible()
    rows = shop.call("GET", "/__admin/assumptions")["assumptions"]
    assert [one["value"] for one in rows if one["key"] == "card.ccv"] == ["required"]
    expect(page.get_by_test_id("assume-batch.maximum")).to_have_attribute(
        "title", "allowed: 1 to 1000000"
    )
    page.get_by_test_id("assume-batch.maximum").fill("5")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_what_is_due_covers_no_tab_and_closes_by_escape_and_by_a_click_elsewhere(
    size: dict[str, int], page: Any, shop: Box
) -> None:
    page.set_viewport_size(size)
    shown(page, shop)
    if size == PHONE:
        page.get_by_test_id("fold").click()
    due, button = page.get_by_test_id("due-list"), page.get_by_test_id("pending")
    for close in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.locator("#view").click(position={"x": 5, "y": 5}),
        button.click,
    ):
        button.click()
        expect(due).to_contain_text("an authorisation expires")
        expect(button).to_have_attribute("aria-expanded", "true")
        above = page.locator("#tabs").bounding_box()
        assert due.bounding_box()["y"] >= above["y"] + above["height"] - 1
        close()
        expect(due).to_be_hidden()
        expect(button).to_have_attribute("aria-expanded", "false")


def test_two_requests_are_compared_without_their_lengths_and_dates(page: Any, shop: Box) -> None:
    shown(page, shop)
    row(page, "requests", "order-1").click()
    page.get_by_test_id("compare-entry").click()
    expect(page.get_by_test_id("message-words")).to_contain_text("Choose the request")
    row(page, "requests", "order-2").click()
    expect(page.get_by_test_id("differing")).to_contain_text("answer.currency")
    expect(page.get_by_test_id("message")).to_be_hidden()
    text = page.get_by_test_id("differing").inner_text()
    assert [name for name in ("content-length", "dateAdded", "latency") if name in text] == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_diagram_of_a_charge_is_as_large_as_other_text(
    size: dict[str, int], page: Any, shop: Box
) -> None:
    page.set_viewport_size(size)
    shown(page, shop, "objects")
    row(page, "objects", "order-4").click()
    page.get_by_test_id("diagram").wait_for()
    heights = (
        page.get_by_test_id("diagram")
        .locator(".state text")
        .evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    )
    assert min(heights) >= 13
    # What cannot come next is not drawn.
    expect(page.get_by_test_id("diagram").locator(".state")).to_have_text(
        ["Authorised", "PENDING", "SUCCESS", "AUTHORISE_CANCELLED"]
    )


@pytest.mark.parametrize("view", ["requests", "objects", "webhooks", "inbox"])
def test_on_a_phone_a_list_has_the_whole_screen_and_then_its_detail(
    view: str, page: Any, shop: Box
) -> None:
    page.set_viewport_size(PHONE)
    shown(page, shop, view)
    first = row(page, view, "order-1")
    expect(first).to_be_visible()
    expect(page.get_by_test_id("detail")).to_be_hidden()
    left = page.locator(".left").bounding_box()
    assert left["y"] + left["height"] >= PHONE["height"] - 2
    first.click()
    expect(page.get_by_test_id("detail")).to_be_visible()
    expect(first).to_be_hidden()


@pytest.mark.parametrize(
    "view", ["books", "sandbox", "scenarios", "objects", "webhooks", "assumptions"]
)
def test_on_a_phone_wide_tables_scroll_in_themselves(view: str, page: Any, shop: Box) -> None:
    page.set_viewport_size(PHONE)
    shown(page, shop, view)
    if view in ("objects", "webhooks"):
        row(page, view, "order-1").click()
    page.locator("table").first.wait_for()
    widths = page.evaluate(
        "() => ['html', '#view', '.right'].map((one) => document.querySelector(one))"
        ".filter(Boolean).map((one) => one.scrollWidth - one.clientWidth)"
    )
    assert max(widths) <= 0


def test_what_opens_on_the_page_is_for_everybody(page: Any, shop: Box) -> None:
    shown(page, shop, "books")
    page.get_by_test_id("books-order").filter(has_text="order-1").get_by_role("button").click()
    page.get_by_test_id("pending").click()
    expect(page.get_by_test_id("due-list")).to_contain_text("an authorisation expires")
    found = accessible(page, "books and what is due")
    shown(page, shop)
    row(page, "requests", "order-1").click()
    page.get_by_test_id("compare-entry").click()
    row(page, "requests", "order-2").click()
    page.get_by_test_id("differing").wait_for()
    assert found + accessible(page, "comparison") == []
