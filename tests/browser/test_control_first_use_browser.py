"""What a tester meets who uses the control page for the first time: several tabs, short windows,
words that still hold, and pages for payers that open with a click."""

import re
from typing import Any

import pytest

from tests import needs
from tests.browser.conftest import Box, client, rows, visit

expect = needs.library("playwright.sync_api").expect

pytestmark = pytest.mark.slow

MORE_TABS_THAN_CONNECTIONS = 7
"""A browser opens six connections to a server."""

LOOK_AWAY = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_any_number_of_tabs_can_be_open(page: Any, sandbox: Box) -> None:
    sandbox.charge()
    for _ in range(MORE_TABS_THAN_CONNECTIONS):
        tab = visit(page.context.new_page(), sandbox)
        expect(rows(tab)).to_have_count(1)
        tab.evaluate(LOOK_AWAY, True)
    sandbox.charge()
    visit(page, sandbox)
    expect(rows(page)).to_have_count(2)
    expect(rows(tab)).to_have_count(1)
    tab.evaluate(LOOK_AWAY, False)
    expect(rows(tab)).to_have_count(2)


def test_one_stream_tells_of_the_sandbox_and_of_others(page: Any, sandbox: Box) -> None:
    asked: list[str] = []
    sandbox.charge()
    page.on("request", lambda request: asked.append(request.url))
    visit(page, sandbox)
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_test_id("tab-books")).to_contain_text("AUD 20.00")
    before = len(asked)
    with client(sandbox.url, f"{sandbox.key}_other") as http:
        http.get("/charge")
    other = Box(sandbox.url, f"{sandbox.key}_other", sandbox.http).sandbox_id
    expect(page.get_by_test_id("sandbox").locator(f"option[value='{other}']")).to_have_count(1)
    assert sum("events-stream" in url for url in asked) == 1
    # The view on screen shows nothing of other sandboxes, so it asks for nothing.
    assert {url.rpartition("/")[2] for url in asked[before:]} <= {"sandboxes"}


def test_no_view_moves_the_header_out_of_a_short_window(page: Any, sandbox: Box) -> None:
    sandbox.charge()
    before = page.viewport_size
    page.set_viewport_size({"width": 1280, "height": 500})
    for view in ("requests", "objects", "scenarios", "assumptions", "sandbox"):
        visit(page, sandbox, view)
        assert page.evaluate("document.documentElement.scrollHeight") == 500, view
    page.set_viewport_size(before)


def test_what_was_said_goes_with_another_view(page: Any, sandbox: Box) -> None:
    sandbox.charge()
    visit(page, sandbox, "scenarios")
    page.get_by_test_id("next-payment").click()
    expect(page.get_by_test_id("message")).to_contain_text("The next payment: insufficient funds.")
    expect(page.get_by_test_id("scenario-files")).to_contain_text(
        "The next payment: insufficient funds"
    )
    page.get_by_test_id("tab-requests").click()
    expect(page.get_by_test_id("message")).to_be_hidden()


def test_a_part_is_captured_and_refunded_with_the_enter_key(page: Any, sandbox: Box) -> None:
    charge = sandbox.charge(capture=False)
    visit(page, sandbox, f"objects/charge/{charge['chargeId']}")
    amount, facts = page.get_by_test_id("act-amount"), page.get_by_test_id("detail")
    amount.fill("15")
    amount.press("Enter")
    expect(page.get_by_test_id("object-state")).to_have_text("SUCCESS")
    amount.fill("5")
    amount.press("Enter")
    expect(page.get_by_test_id("object-state")).to_have_text("PARTIAL_REFUND")
    expect(facts).to_contain_text("refunded 5.00")
    # No rule had a part in its story, so that no column is for one.
    heads = page.get_by_test_id("history").get_by_role("columnheader")
    expect(heads).to_have_text(["Step", "When", "Happened", "From", "To", "By"])


def test_an_amount_that_is_being_typed_outlives_news(page: Any, sandbox: Box) -> None:
    charge = sandbox.charge()
    visit(page, sandbox, f"objects/charge/{charge['chargeId']}")
    amount = page.get_by_test_id("act-amount")
    amount.fill("5")
    first = amount.element_handle()
    sandbox.charge()
    page.wait_for_function("amount => !amount.isConnected", arg=first)
    expect(amount).to_have_value("5")
    expect(amount).to_be_focused()
    amount.press("Enter")
    expect(page.get_by_test_id("object-state")).to_have_text("PARTIAL_REFUND")
    expect(amount).to_have_value("")


def test_the_page_of_a_payment_link_opens_from_its_request_and_its_object(
    page: Any, sandbox: Box
) -> None:
    url = sandbox.link(title=f"{sandbox.url}x/pay/1 <b>")
    visit(page, sandbox)
    rows(page).first.click()
    links = page.get_by_test_id("answer-body").get_by_role("link")
    expect(links).to_have_count(1)
    with page.expect_popup() as opened:
        links.click()
    expect(opened.value).to_have_url(re.compile(re.escape(url)))
    visit(page, sandbox, f"objects/payment_link/{url.rpartition('/')[2]}")
    expect(page.get_by_test_id("object-body").get_by_role("link")).to_have_attribute("href", url)


def test_time_says_when_what_came_due_changed_nothing(page: Any, sandbox: Box) -> None:
    charge = sandbox.charge(capture=False, webhook={"url": "http://127.0.0.1:9/closed"})
    sandbox.call("POST", f"/charge/{charge['chargeId']}", {})
    sandbox.call("POST", "/__admin/clock/advance", {"by": "6d"})
    visit(page, sandbox)
    said = page.get_by_test_id("message")
    page.get_by_test_id("advance-30d").click()
    expect(said).to_contain_text("1 thing came due and changed nothing.")
    expect(said.get_by_role("link")).to_have_count(0)
    page.get_by_test_id("advance-1m").click()
    expect(said).to_contain_text("No things came due.")
    sandbox.charge(webhook={"url": "http://127.0.0.1:9/closed"})
    expect(rows(page).first).to_contain_text("charge.create")
    page.get_by_test_id("advance-1h").click()
    expect(page.get_by_test_id("summary")).to_contain_text("webhook waiting")
    said.get_by_text("Show them").click()
    expect(rows(page, "webhooks")).not_to_have_count(0)


def test_the_command_of_an_empty_view_does_what_is_said_of_it(page: Any, sandbox: Box) -> None:
    sandbox.call("GET", "/charge")
    visit(page, sandbox, "books")
    expect(page.get_by_test_id("books-lesson")).to_contain_text("4111111111111111")
    page.get_by_test_id("tab-objects").click()
    expect(page.get_by_test_id("objects-lesson")).to_contain_text("4111111111111111")
