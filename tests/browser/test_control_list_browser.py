"""The requests on the control page: what is no longer kept, what comes in, search, a server that
restarts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.browser.conftest import Box, client, rows, serving, visit

expect = needs.library("playwright.sync_api").expect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A sandbox whose journal keeps twenty of its requests."""
    with (
        serving(tmp_path_factory.mktemp("short"), "--journal-limit", "20") as url,
        client(url, "sk_short") as http,
    ):
        yield Box(url, "sk_short", http)


TOP = "(row) => row.getBoundingClientRect().top"


def ask(box: Box, times: int) -> None:
    for _ in range(times):
        box.call("GET", "/info/providers")


def test_what_is_no_longer_kept_is_marked(page: Any, short: Box) -> None:
    ask(short, 3)
    visit(page, short)
    expect(rows(page)).to_have_count(3)
    page.get_by_test_id("pause").click()
    ask(short, 47)
    page.get_by_test_id("pause").click()
    expect(rows(page).first).to_contain_text("#50")
    page.get_by_test_id("requests").press("End")
    expect(
        page.get_by_test_id("requests").get_by_text("27 not kept, --journal-limit")
    ).to_have_count(1)
    expect(page.locator(".row.dropped")).to_have_count(3)
    page.get_by_test_id("oldest").click()
    expect(rows(page).last).to_contain_text("#31")
    expect(page.get_by_test_id("requests")).to_contain_text("30 not kept, --journal-limit")
    expect(page.get_by_test_id("pause")).to_have_text("Newest")
    page.get_by_test_id("pause").click()
    expect(rows(page).first).to_contain_text("#50")


def test_rows_stand_still_under_the_pointer_and_the_new_ones_are_counted(
    page: Any, sandbox: Box
) -> None:
    ask(sandbox, 30)
    visit(page, sandbox)
    row = rows(page).filter(has_text="#29")
    row.hover()
    before = row.evaluate(TOP)
    ask(sandbox, 37)
    expect(page.get_by_test_id("waiting")).to_have_text("37 new")
    assert row.evaluate(TOP) == before
    page.get_by_test_id("waiting").click()
    expect(rows(page).first).to_contain_text("#67")
    expect(page.get_by_test_id("waiting")).to_be_hidden()


def test_escape_empties_the_search_and_enter_leads_to_the_list(page: Any, sandbox: Box) -> None:
    ask(sandbox, 3)
    visit(page, sandbox, "requests?q=op%3Acharge.create")
    expect(rows(page)).to_have_count(0)
    page.get_by_test_id("filter").press("Escape")
    expect(rows(page)).to_have_count(3)
    expect(page.get_by_test_id("filter")).to_be_focused()
    for key in ("Enter", "ArrowDown"):
        page.get_by_test_id("filter").press(key)
        expect(page.get_by_test_id("requests")).to_be_focused()


def test_a_refused_search_shows_no_old_result(page: Any, sandbox: Box) -> None:
    ask(sandbox, 3)
    visit(page, sandbox)
    expect(rows(page)).to_have_count(3)
    page.get_by_test_id("filter").fill("statsu:200")
    expect(page.get_by_test_id("filter-problem")).to_contain_text("did you mean 'status'")
    expect(rows(page)).to_have_count(0)
    page.get_by_test_id("filter").fill("status:200")
    expect(rows(page)).to_have_count(3)


def test_a_walk_with_the_arrows_is_one_step_back_and_sending_again_keeps_the_search(
    page: Any, sandbox: Box
) -> None:
    ask(sandbox, 5)
    visit(page, sandbox, "requests?q=method%3Aget")
    expect(rows(page)).to_have_count(5)
    length = page.evaluate("history.length")
    page.get_by_test_id("requests").focus()
    for number in ("5", "4", "3"):
        page.keyboard.press("ArrowDown")
        expect(page.get_by_test_id("entry-title")).to_have_text("GET /info/providers")
        expect(page).to_have_url(
            f"{sandbox.url}/__admin/?sandbox={sandbox.sandbox_id}#requests/{number}?q=method%3Aget"
        )
    assert page.evaluate("history.length") == length
    page.get_by_test_id("again").click()
    expect(page.get_by_test_id("message-words")).to_contain_text("Sent again: 200")
    expect(page.get_by_test_id("filter")).to_have_value("method:get")


def test_a_copy_as_of_a_request_is_shown(page: Any, sandbox: Box) -> None:
    ask(sandbox, 3)
    visit(page, sandbox, "requests/2")
    page.get_by_test_id("fork").click()
    page.get_by_test_id("fork-from").fill(sandbox.key)
    page.get_by_test_id("fork-to").fill(f"{sandbox.key}_copy")
    page.get_by_test_id("fork-go").click()
    copy = Box(sandbox.url, f"{sandbox.key}_copy", sandbox.http)
    expect(page.get_by_test_id("sandbox")).to_have_value(copy.sandbox_id)
    expect(page.get_by_test_id("tab-objects")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("message-words")).to_contain_text(
        "A copy, as it was after request 2, is open"
    )


def test_a_key_that_opens_nothing_yet_is_asked_about(page: Any, sandbox: Box) -> None:
    ask(sandbox, 1)
    visit(page, sandbox)
    page.get_by_test_id("key").fill(f"{sandbox.key}_new")
    page.get_by_test_id("open").click()
    expect(page.get_by_test_id("message-words")).to_contain_text(
        "No sandbox is open with this key."
    )
    expect(page.get_by_test_id("sandbox")).to_have_value(sandbox.sandbox_id)
    page.get_by_test_id("new-name").fill("Mine")
    page.get_by_test_id("new-open").click()
    expect(page.get_by_test_id("requests-lesson")).to_be_visible()
    expect(page).to_have_title("Requests · Mine · mockserver")


def test_an_unknown_sandbox_is_named_and_another_can_be_chosen(page: Any, sandbox: Box) -> None:
    ask(sandbox, 1)
    page.goto(f"{sandbox.url}/__admin/?sandbox=0123456789abcdef")
    expect(page.get_by_test_id("live")).to_have_text("no such sandbox")
    expect(page.get_by_test_id("welcome")).to_contain_text("This server has no such sandbox")
    page.get_by_test_id("sandbox").select_option(sandbox.sandbox_id)
    expect(page.get_by_test_id("live")).to_have_text("live")
    expect(rows(page)).to_have_count(1)


def test_an_open_page_goes_on_after_a_restart(own_page: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as url, client(url, "sk_again") as http:
        box = Box(url, "sk_again", http)
        ask(box, 2)
        visit(own_page, box)
        expect(rows(own_page)).to_have_count(2)
    expect(own_page.get_by_test_id("live")).to_have_text("offline, trying again")
    with serving(tmp_path, "--port", url.rpartition(":")[2]), client(url, "sk_again") as http:
        expect(own_page.get_by_test_id("live")).to_have_text("no such sandbox")
        expect(own_page.get_by_test_id("token-form")).to_have_count(0)
        ask(Box(url, "sk_again", http), 1)
        expect(own_page.get_by_test_id("live")).to_have_text("live")
        expect(rows(own_page)).to_have_count(1)
        own_page.goto("about:blank")


def test_an_object_is_moved_by_its_buttons_and_the_journal_names_the_page(
    page: Any, sandbox: Box
) -> None:
    charge = sandbox.charge(capture=False)
    visit(page, sandbox, f"objects/charge/{charge['chargeId']}")
    page.get_by_test_id("act-amount").fill("15")
    page.get_by_test_id("act-capture").click()
    expect(page.get_by_test_id("object-state")).to_have_text("SUCCESS")
    expect(page.get_by_test_id("act-void")).to_have_count(0)
    page.get_by_test_id("act-refund").click()
    expect(page.get_by_test_id("object-state")).to_have_text("REFUND")
    page.get_by_test_id("history").get_by_role("link").last.click()
    expect(page.get_by_test_id("entry-by")).to_have_text("by control page")


def test_the_next_payment_and_no_other_fails(page: Any, sandbox: Box) -> None:
    ask(sandbox, 1)
    visit(page, sandbox, "scenarios")
    page.get_by_test_id("next-outcome").select_option("expired card")
    page.get_by_test_id("next-payment").click()
    expect(page.get_by_test_id("message-words")).to_contain_text("The next payment: expired card.")
    assert sandbox.charge()["code"] == 14
    for number in ("4111111111111111", "5555555555554444", "4242424242424242"):
        assert sandbox.charge(number)["status"] == "SUCCESS"


def test_the_money_of_an_order_leads_to_its_charges_and_back(page: Any, sandbox: Box) -> None:
    charge = sandbox.charge(reference="order-5")
    sandbox.charge(reference="order-6")
    sandbox.call("DELETE", f"/charge/{charge['chargeId']}?amount=5")
    visit(page, sandbox, "books")
    expect(page.get_by_test_id("books-totals")).to_contain_text("35.00")
    expect(page.get_by_test_id("books-order")).to_have_count(2)
    page.get_by_test_id("books-reference").fill("order-5")
    page.get_by_test_id("books-reference").press("Enter")
    expect(page.get_by_test_id("books-order")).to_have_count(1)
    expect(page.get_by_test_id("books-order").get_by_role("cell")).to_have_text(
        ["order-5", "AUD", "15.00", "20.00", "5.00", "PARTIAL_REFUND"]
    )
    page.get_by_test_id("books-charges").get_by_role("link").first.click()
    expect(page.get_by_test_id("object-state")).to_have_text("PARTIAL_REFUND")
    page.get_by_test_id("related").get_by_text("the money of its order").click()
    expect(page.get_by_test_id("books-reference")).to_have_value("order-5")
