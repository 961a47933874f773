"""A tester's jobs on the control page: search, act, move time, edit a scenario; for everybody, and
without a load."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver.engine.sandbox import sandbox_id_of
from mockserver.explore.baseline import Baseline
from mockserver.explore.exploration import Exploration
from mockserver.explore.failures import InjectionPoint
from mockserver.explore.kept import Cell, ExplorationFolder
from mockserver.explore.report import as_json
from mockserver.explore.verdicts import Verdict
from tests import needs, warm
from tests.browser.conftest import (
    NARROW,
    PATIENCE_MS,
    ROOT,
    WIDE,
    Box,
    accessible,
    client,
    rows,
    serving,
    visit,
)

expect = needs.library("playwright.sync_api").expect

pytestmark = pytest.mark.slow

POOR = "4000000000009995"
VIEWS = (
    "requests", "objects", "webhooks", "inbox", "findings", "books", "explorations", "scenarios", "assumptions",
    "sandbox",
)  # fmt: skip
LISTS = VIEWS[:5]
LONG = "an extraordinarily long reference without an end " * 4


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A server whose only sandbox has a morning behind it: paid, declined, refused, lost, held, in
    several scripts."""
    with serving(tmp_path_factory.mktemp("jobs")) as url, client(url, "sk_jobs") as http:
        box = Box(url, "sk_jobs", http)
        box.call("POST", "/__admin/sandboxes", {"key": "sk_jobs", "name": "Jobs"})
        box.charge(reference="order-5", webhook={"url": f"{url}/__inbox/shop"})
        box.charge(POOR, reference="order-6")
        box.charge(amount=-1, reference="order-7")
        box.charge(capture=False, reference="طلب-٨", colour="red")
        box.charge(reference=LONG)
        yield box


@pytest.fixture
def desk(page: Any, shop: Box) -> Any:
    return visit(page, shop)


def test_why_it_failed_is_said_in_the_row_and_in_a_sentence(desk: Any) -> None:
    row = rows(desk).filter(has_text="order-6")
    for words in (
        "charge.create",
        "order-6",
        "AUD 20.00",
        "FAILED",
        "15 Insufficient Funds",
        "rule card-insufficient-funds",
    ):
        expect(row).to_contain_text(words)
    expect(row.locator(".c-status")).to_have_class("c-status s-5")
    expect(rows(desk).filter(has_text="order-7")).to_contain_text("Amount: wanted")
    expect(rows(desk).filter(has_text="unknown: colour")).to_have_count(1)
    row.click()
    expect(desk.get_by_test_id("verdict")).to_have_text(
        "Declined: 15 Insufficient Funds, because rule card-insufficient-funds fired."
    )
    desk.get_by_test_id("changes").get_by_role("link").click()
    expect(desk.get_by_test_id("object-verdict")).to_contain_text(
        "because rule card-insufficient-funds fired"
    )


def test_a_search_is_shown_as_chips_kept_in_the_address_and_refused_with_the_nearest_name(
    desk: Any,
) -> None:
    desk.get_by_test_id("filter").fill("code:15 ref:order-6")
    expect(rows(desk)).to_have_count(1)
    desk.reload()
    expect(rows(desk)).to_have_count(1)
    desk.get_by_label("Remove code:15").click()
    desk.get_by_test_id("filter").fill("stauts:4xx")
    expect(desk.get_by_test_id("filter-problem")).to_contain_text("did you mean 'status'?")
    desk.get_by_test_id("filter").fill("is:failed order")
    expect(rows(desk)).to_have_count(2)
    expect(desk.get_by_test_id("filter-problem")).to_be_hidden()
    desk.get_by_test_id("tab-objects").click()
    desk.get_by_test_id("object-filter").fill("state:FAILED")
    expect(rows(desk, "objects")).to_have_count(1)


def test_the_way_back_leads_to_the_list_as_it_was(desk: Any) -> None:
    desk.get_by_test_id("filter").fill("ref:order-6")
    expect(rows(desk)).to_have_count(1)
    rows(desk).first.click()
    desk.get_by_test_id("verdict").wait_for()
    desk.keyboard.press("Escape")
    expect(desk.get_by_test_id("filter")).to_have_value("ref:order-6")
    expect(rows(desk)).to_have_count(1)
    desk.get_by_test_id("tab-objects").click()
    desk.get_by_test_id("kind-provider").click()
    rows(desk, "objects").first.click()
    desk.get_by_test_id("object-title").wait_for()
    desk.keyboard.press("Escape")
    expect(desk.get_by_test_id("kind-provider")).to_have_attribute("aria-pressed", "true")


def test_a_rule_made_from_a_refused_request_meets_it_on_arrival_and_leaves_the_draft(
    desk: Any,
) -> None:
    desk.get_by_test_id("tab-scenarios").click()
    desk.get_by_test_id("scenario-text").click()
    desk.keyboard.insert_text("version: 1\nname: my-draft\n")
    expect(desk.get_by_test_id("scenario-text")).to_contain_text("my-draft")
    desk.get_by_test_id("tab-requests").click()
    rows(desk).filter(has_text="order-7").click()
    desk.get_by_test_id("make-rule").click()
    expect(desk.get_by_test_id("scenario-text")).to_contain_text("like-request-")
    desk.get_by_test_id("dry-run").click()
    expect(desk.get_by_test_id("dry-run-result")).to_contain_text("would have fired on 1 of")
    desk.get_by_test_id("scenario-text").click()
    desk.keyboard.press("Control+z")
    expect(desk.get_by_test_id("scenario-text")).to_contain_text("my-draft")


def test_the_counts_of_views_that_are_not_open_stay_true(page: Any, sandbox: Box) -> None:
    sandbox.charge(webhook={"url": f"{sandbox.url}/__inbox/shop"})
    visit(page, sandbox)
    for number in ("1", "2"):
        expect(page.locator("#count-webhooks")).to_have_text(number)
        expect(page.locator("#count-inbox")).to_have_text(number)
        sandbox.charge(webhook={"url": f"{sandbox.url}/__inbox/shop"})


def test_a_link_names_sandbox_and_search(page: Any, shop: Box) -> None:
    visit(page, shop, "requests?q=ref%3Aorder-6")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_title("Requests · Jobs · mockserver")
    page.goto(f"{shop.url}/__admin/?sandbox=0123456789abcdef")
    expect(page.get_by_test_id("welcome")).to_contain_text("no such sandbox")


def copied(desk: Any, name: str) -> str:
    """What is copied of the request that is shown, as code of a language."""
    desk.get_by_test_id("copied").evaluate_all(
        "all => all.forEach((one) => { one.textContent = ''; })"
    )
    desk.get_by_test_id("copy").locator("summary").click()
    desk.get_by_test_id(f"copy-{name}").click()
    expect(desk.get_by_test_id("copied")).not_to_have_text("")
    return desk.get_by_test_id("copied").inner_text()


RUNS = {"curl": ["bash", "-c"], "php": ["php", "-r"], "javascript": ["node", "-e"]}


def test_a_request_is_copied_as_code_that_runs_and_holds_no_secret(page: Any, sandbox: Box) -> None:
    sandbox.charge(POOR, reference="test card")
    sandbox.charge("4539578763621486", reference="a card of somebody")
    visit(page, sandbox)
    rows(page).filter(has_text="test card").click()
    assert '"decisions"' in copied(page, "json")
    environ = {
        **os.environ,
        "PAYFURL_SECRET_KEY": sandbox.key,
        "CARD_NUMBER": "4242424242424242",
        "NO_PROXY": "*",
    }
    for row, answer in (("test card", "Insufficient Funds"), ("a card of somebody", "SUCCESS")):
        rows(page).filter(has_text=row).last.click()
        expect(page.get_by_test_id("request-body")).to_contain_text(row)
        for name, command in {**RUNS, "python": [*warm.python(), "-u", "-c"]}.items():
            text = copied(page, name)
            assert not [secret for secret in (sandbox.key, "4539") if secret in text]
            assert ("none of mockserver's test cards" in text) is (answer == "SUCCESS")
            if shutil.which(command[0]):
                run = [*command, text.removeprefix("<?php\n")]
                done = subprocess.run(
                    run, env=environ, capture_output=True, text=True, timeout=20, check=False
                )
                assert answer in done.stdout, (name, done.stderr)


def test_a_request_is_sent_again_and_made_a_rule_that_matches_it(desk: Any, shop: Box) -> None:
    rows(desk).filter(has_text="order-5").first.click()
    desk.get_by_test_id("again").click()
    expect(desk.get_by_test_id("message")).to_contain_text("Sent again: 201")
    expect(desk.get_by_test_id("entry-by")).to_have_text("by control page")
    desk.get_by_test_id("make-rule").click()
    expect(desk.get_by_test_id("scenario-text")).to_contain_text("request.reference")
    desk.get_by_test_id("dry-run").click()
    expect(desk.get_by_test_id("dry-run-result")).to_contain_text("would have fired on 2 of")
    desk.get_by_test_id("scenario-add").click()
    expect(desk.get_by_test_id("scenario-summary")).to_contain_text("Loaded")
    assert shop.charge(reference="order-5")["code"] == 15
    shop.call("DELETE", "/__admin/scenarios")


def test_a_scenario_is_checked_while_it_is_written_and_a_draft_outlives_a_reload(desk: Any) -> None:
    desk.get_by_test_id("tab-scenarios").click()
    desk.get_by_test_id("shipped").select_option("authorisation-lapses")
    expect(desk.get_by_test_id("scenario-text")).to_contain_text("authorisation-lapses")
    expect(desk.locator(".cm-lint-marker-error")).to_have_count(0)
    desk.keyboard.press("Control+End")
    desk.keyboard.type("rulez: []")
    expect(desk.locator(".cm-lint-marker-error").first).to_be_visible()
    desk.reload()
    expect(desk.get_by_test_id("scenario-text")).to_contain_text("authorisation-lapses")
    desk.get_by_test_id("scenario-text").click()
    desk.keyboard.press("Control+a")
    desk.keyboard.press("Backspace")
    desk.keyboard.type("descr")
    expect(desk.locator(".cm-tooltip-autocomplete")).to_contain_text("description")


def test_a_rule_that_another_shields_is_marked_while_it_is_written(desk: Any) -> None:
    desk.get_by_test_id("tab-scenarios").click()
    desk.get_by_test_id("scenario-text").click()
    desk.keyboard.press("Control+a")
    desk.keyboard.insert_text(
        "version: 1\nrules:\n  - {id: slow, when: {op: charge.create}, then: {decline: "
        "do_not_honour}}\n"
        '  - {id: lost, when: {op: charge.create, card: {last4: "0002"}}, then: {decline: '
        "lost_card}}\n"
    )
    warning = desk.locator(".cm-lint-marker-warning").first
    expect(warning).to_be_visible()
    warning.hover()
    expect(desk.locator(".cm-tooltip")).to_contain_text(
        "rule 'lost' never fires: rule 'slow' (line 3) decides first"
    )


def test_time_tells_what_happened_and_what_is_due(desk: Any, shop: Box) -> None:
    expect(desk.get_by_test_id("pending")).to_contain_text("due")
    desk.get_by_test_id("pending").click()
    expect(desk.get_by_test_id("due-list")).to_contain_text("an authorisation expires")
    desk.get_by_test_id("go-there").first.click()
    expect(desk.get_by_test_id("summary")).to_contain_text("charge AUTHORISE_CANCELLED")
    expect(desk.get_by_test_id("now")).to_have_text("2031-03-08 09:30:00")
    expect(desk.locator(".row.day")).to_have_text(["2031-03-08", "2031-03-01"])


def test_a_fork_is_compared_and_expectations_are_verified(desk: Any, shop: Box) -> None:
    rows(desk).filter(has_text="order-5").first.click()
    desk.get_by_test_id("tab-sandbox").click()
    desk.get_by_test_id("fork-from").fill(shop.key)
    desk.get_by_test_id("fork-to").fill("sk_jobs_copy")
    desk.get_by_test_id("fork-go").click()
    expect(desk.get_by_test_id("sandbox")).to_have_value(sandbox_id_of("sk_jobs_copy"))
    desk.get_by_test_id("compare-with").select_option(shop.sandbox_id)
    desk.get_by_test_id("compare").click()
    expect(desk.get_by_test_id("compared")).to_contain_text("They are equal")
    shop.charge(reference="only there")
    desk.get_by_test_id("compare").click()
    expect(desk.get_by_test_id("compared")).to_contain_text("1 only there")
    desk.get_by_test_id("verify").click()
    expect(desk.get_by_test_id("verified")).to_contain_text("does not hold")


def test_the_list_stands_while_it_is_paused(desk: Any, shop: Box) -> None:
    desk.get_by_test_id("pause").click()
    before = rows(desk).first.inner_text()
    shop.charge(reference="while paused")
    expect(desk.get_by_test_id("pause")).to_have_text("Resume (1 new)")
    assert rows(desk).first.inner_text() == before
    desk.get_by_test_id("pause").click()
    expect(rows(desk).first).to_contain_text("while paused")


def test_a_long_list_of_objects_stays_true_at_both_ends(page: Any, sandbox: Box) -> None:
    oldest, *_ = [sandbox.charge(reference=f"order-{number}")["chargeId"] for number in range(250)]
    visit(page, sandbox, "objects")
    expect(rows(page, "objects").first).to_contain_text("order-249")
    listed = page.get_by_test_id("objects")
    listed.evaluate("list => { list.scrollTop = list.scrollHeight; }")
    expect(rows(page, "objects").last).to_contain_text("SUCCESS")
    sandbox.call("DELETE", f"/charge/{oldest}")
    expect(rows(page, "objects").last).to_contain_text("REFUND")
    sandbox.charge(reference="the newest")
    expect(page.get_by_test_id("objects-summary")).to_have_text("251 in all")
    listed.evaluate("list => { list.scrollTop = 0; }")
    expect(rows(page, "objects").first).to_contain_text("the newest")


def test_the_jobs_take_as_many_clicks_as_the_documentation_says(page: Any, sandbox: Box) -> None:
    sandbox.charge(POOR, reference="order-6")
    sandbox.charge(
        capture=False,
        reference="order-5",
        webhook={"url": f"{sandbox.url}/__inbox/shop"},
        colour="red",
    )
    visit(page, sandbox)
    page.evaluate("window.clicks = 0; addEventListener('click', () => { clicks += 1; }, true)")
    press, declined = page.get_by_test_id, rows(page).filter(has_text="order-6")
    counted: list[int] = []

    def done(what: Any) -> None:
        expect(what).to_be_visible()
        counted.append(page.evaluate("const all = clicks; clicks = 0; all"))

    done(declined.get_by_text("15 Insufficient Funds"))
    declined.click()
    press("losers").get_by_text("did not fire").click()
    done(press("lost").first)
    page.keyboard.press("/")
    page.keyboard.type("ref:order-6")
    expect(rows(page)).to_have_count(1)
    done(declined)
    rows(page).first.click()
    copied(page, "curl")
    done(press("copied"))
    press("tab-objects").click()
    press("tab-requests").click()
    page.evaluate("clicks = 0")
    rows(page).filter(has_text="order-5").click()
    press("again").click()
    done(press("message").get_by_text("Sent again: 201"))
    rows(page).first.click()
    press("make-rule").click()
    expect(press("scenario-text")).to_contain_text("like-request-")
    press("scenario-add").click()
    done(press("scenario-summary").get_by_text("Loaded"))
    press("tab-findings").click()
    rows(page, "findings").first.click()
    done(press("evidence"))
    press("tab-objects").click()
    rows(page, "objects").first.click()
    press("act-capture").click()
    done(press("message").get_by_text("Capture: done"))
    press("tab-scenarios").click()
    press("next-payment").click()
    done(press("message").get_by_text("The next payment: insufficient funds."))
    press("advance-1d").click()
    done(press("now").get_by_text("2031-03-02"))
    press("pending").click()
    press("go-there").first.click()
    done(press("summary").get_by_text("charge AUTHORISE_CANCELLED").first)
    press("tab-webhooks").click()
    rows(page, "webhooks").first.click()
    press("resend").click()
    done(press("tries").get_by_role("row").nth(2))
    press("tab-sandbox").click()
    press("reset").click()
    done(press("undo-now"))
    press("undo-now").click()
    done(press("message").get_by_text("Everything is back"))
    more_jobs(page, sandbox, done)
    table = (
        (ROOT / "docs" / "browser.md")
        .read_text("utf-8")
        .partition("| clicks |\n| --- | --- |\n")[2]
    )
    assert counted == [int(row.split("|")[2]) for row in table.partition("\n\n")[0].splitlines()]


def more_jobs(page: Any, sandbox: Box, done: Callable[[Any], None]) -> None:
    """The jobs on what belongs together, in a sandbox that was filled with sample data."""
    press = page.get_by_test_id
    # The next payment would be declined.
    sandbox.call("DELETE", "/__admin/scenarios")

    def at(view: str) -> None:
        """An empty view, as one finds it."""
        page.evaluate(f"location.hash = '{view}'; clicks = 0")
        expect(press(f"tab-{view}")).to_have_attribute("aria-selected", "true")

    press("tab-sandbox").click()
    press("sample").click()
    done(press("message").get_by_text("12 requests were sent"))
    at("requests")
    press("tab-sandbox").click()
    press("sandbox-name").fill("Morning")
    press("sandbox-rename").click()
    done(press("message").get_by_text("Named."))
    expect(page).to_have_title("Sandbox · Morning · mockserver")
    at("requests")
    press("histogram").get_by_role("button").first.click()
    done(press("filter-chips").get_by_text("since:"))
    at("requests")
    rows(page).filter(has_text="order-5").first.click()
    press("compare-entry").click()
    rows(page).filter(has_text="order-3").first.click()
    done(press("differing").get_by_text("request.body.amount", exact=True))
    press("compare-stop").click()
    at("requests")
    rows(page).filter(has_text="Insufficient").first.click()
    press("edit").click()
    text = press("edit-text")
    text.fill(text.input_value().replace("4000000000009995", "4111111111111111"))
    press("edit-send").click()
    done(press("message").get_by_text("Sent: 201"))
    expect(press("differing")).to_contain_text("Insufficient Funds")
    at("requests")
    press("tab-objects").click()
    rows(page, "objects").filter(has_text="order-4").click()
    press("related").get_by_text("customer").click()
    done(press("related-charge"))
    expect(press("object-title")).to_contain_text("customer")
    at("requests")
    press("tab-objects").click()
    press("kind-customer").click()
    rows(page, "objects").filter(has_text="customer-1").click()
    for kind in ("payment_method", "subscription", "charge"):
        expect(press(f"related-{kind}")).to_be_visible()
    done(press("related-charge").get_by_text("order-1"))
    at("requests")
    press("tab-objects").click()
    press("kind-batch").click()
    rows(page, "objects").first.click()
    done(press("batch-rows").get_by_text("rent-2"))
    at("requests")
    press("tab-objects").click()
    press("kind-charge").evaluate("kind => kind.click()")
    page.evaluate("clicks = 1")
    rows(page, "objects").filter(has_text="order-4").click()
    press("act-expire").click()
    done(press("message").get_by_text("Expire: done"))
    at("requests")
    press("tab-objects").click()
    rows(page, "objects").filter(has_text="order-1").click()
    press("act-bounce").click()
    done(press("message").get_by_text("Bounce: done"))
    sandbox.charge(reference="order-8", webhook={"url": f"{sandbox.url}/__inbox/again"})
    at("requests")
    press("tab-objects").click()
    rows(page, "objects").filter(has_text="order-8").click()
    done(press("caused").get_by_text("1: 200"))
    at("requests")
    press("tab-objects").click()
    rows(page, "objects").filter(has_text="order-8").click()
    press("resend-all").click()
    done(press("caused").get_by_text("2: 200"))
    at("requests")
    press("tab-webhooks").click()
    press("replay").click()
    press("replay-send").click()
    done(press("message").get_by_text("sent again"))
    at("requests")
    press("tab-books").click()
    press("books-order").filter(has_text="order-2").get_by_role("button").click()
    done(press("books-charges").get_by_text("PARTIAL_REFUND"))
    at("requests")
    press("tab-objects").click()
    rows(page, "objects").filter(has_text="order-3").click()
    press("act-amount").fill("5")
    press("act-amount").press("Enter")
    done(press("object-state").get_by_text("PARTIAL_REFUND"))
    at("requests")
    rows(page).filter(has_text="payment_link.create").click()
    with page.expect_popup() as opened:
        press("answer-body").get_by_role("link").click()
    opened.value.close()
    done(press("answer-body"))
    at("requests")
    press("tab-explorations").click()
    press("coverage-open").click()
    done(press("coverage-title"))
    at("requests")
    press("filter").fill("email:ann@example.com")
    done(rows(page).filter(has_text="customer-1"))
    at("requests")
    press("tab-sandbox").click()
    press("delete").click()
    press("delete-now").click()
    done(press("message").get_by_text("The sandbox is deleted"))


def test_two_tabs_show_the_same_sandbox(page: Any, sandbox: Box) -> None:
    sandbox.charge()
    one, other = visit(page, sandbox), visit(page.context.new_page(), sandbox)
    one.get_by_test_id("advance-1h").click()
    expect(other.get_by_test_id("now")).to_have_text("2031-03-01 10:30:00")
    sandbox.charge(reference="for both")
    for tab in (one, other):
        expect(rows(tab).first).to_contain_text("for both")
    other.get_by_test_id("tab-sandbox").click()
    other.get_by_test_id("reset").click()
    expect(one.get_by_test_id("requests-lesson")).to_be_visible()
    expect(rows(one)).to_have_count(0)


def test_nothing_moves_for_those_who_want_less_motion(desk: Any) -> None:
    desk.emulate_media(reduced_motion="reduce")
    desk.keyboard.press("?")
    assert desk.evaluate("document.getAnimations().length") == 0
    assert desk.evaluate(MOVING) == []
    desk.emulate_media(reduced_motion="no-preference")


MOVING = """() => [...document.querySelectorAll("*")].map((one) => [one.tagName, getComputedStyle(one)])
  .filter(([, { transitionDuration, animationName }]) => transitionDuration !== "0s" || animationName !== "none")
  .map(([name]) => name)"""


def test_an_event_is_sent_from_the_page(desk: Any) -> None:
    desk.get_by_test_id("tab-webhooks").click()
    desk.get_by_test_id("send-event").click()
    desk.get_by_test_id("event-data").fill("{")
    desk.get_by_test_id("event-send").click()
    expect(desk.locator(".menu .wrong")).to_be_visible()
    desk.get_by_test_id("event-data").fill('{"hello": "page"}')
    desk.get_by_test_id("event-send").click()
    expect(desk.get_by_test_id("webhook-body")).to_contain_text("page")


def explored(folder: Path) -> tuple[Path, Path]:
    """The two files of an exploration with a cell that is unsafe and one that survived."""
    kept = ExplorationFolder(folder, ["sh", "pay.sh"], 1, "1s")
    scenario = (
        "version: 1\nname: lost\nrules:\n  - {id: x, when: {op: charge.create, call: 1}, "
        "then: {latency: 1s}}\n"
    )
    row = {
        "finding": "double-charge",
        "severity": "error",
        "title": "Paid twice",
        "advice": "Look first",
    }
    cells = [
        Cell("charge.create-1-cut_answer", "charge.create#1", "cut_answer", Verdict.SURVIVED, 0, 0.5, [], "", []),
        Cell("charge.create-1-lost_answer", "charge.create#1", "lost_answer", Verdict.UNSAFE, 0, 0.5, [row],
             "1  charge.create", [], scenario, "paid", money=["customer paid 40.00 AUD for " "order-1 of 20.00 AUD"]),
    ]  # fmt: skip
    kept.begin()
    for cell in cells:
        kept.keep(cell)
    made = Exploration(
        ["sh", "pay.sh"],
        1,
        Baseline([(InjectionPoint("charge.create", 1), 201)], 0.5, is_manual=False),
        cells,
    )
    (folder / "report.json").write_text(as_json(made, {}))
    return folder / "cells.jsonl", folder / "report.json"


def test_the_report_of_an_exploration_is_read_and_its_scenario_edited(
    desk: Any, tmp_path: Path
) -> None:
    desk.get_by_test_id("tab-explorations").click()
    expect(desk.get_by_test_id("explorations-lesson")).to_contain_text("mockserver explore -- ")
    whole, short = explored(tmp_path)
    (tmp_path / "other.json").write_text("[1]")
    desk.get_by_test_id("report-file").set_input_files(tmp_path / "other.json")
    expect(desk.get_by_test_id("message")).to_contain_text("no report of an exploration")
    for file in (short, whole):
        desk.get_by_test_id("report-file").set_input_files(file)
        expect(desk.get_by_test_id("report-summary")).to_have_text("sh pay.sh, seed 1")
        expect(rows(desk, "explorations")).to_have_count(2)
        expect(rows(desk, "explorations").first).to_contain_text("lost_answer")
        expect(desk.locator("#count-explorations")).to_have_text("1")
    desk.get_by_test_id("verdict-survived").click()
    expect(rows(desk, "explorations")).to_have_count(1)
    desk.get_by_test_id("verdict-survived").click()
    desk.get_by_test_id("cell-filter").fill("double")
    expect(rows(desk, "explorations")).to_have_count(1)
    rows(desk, "explorations").first.click()
    expect(desk.get_by_test_id("cell-title")).to_have_text("lost_answer at charge.create#1")
    expect(desk.get_by_test_id("cell-findings")).to_contain_text("Paid twice")
    expect(desk.get_by_test_id("cell-money")).to_contain_text("customer paid 40.00 AUD for order-1")
    expect(rows(desk, "explorations").first).to_contain_text("customer paid 40.00 AUD")
    expect(desk.get_by_test_id("cell-again")).to_contain_text(
        "explored/charge.create-1-lost_answer.yaml -- sh pay.sh"
    )
    assert accessible(desk, "explorations") == []
    desk.get_by_test_id("cell-edit").click()
    expect(desk.get_by_test_id("scenario-text")).to_contain_text("name: lost")
    expect(desk.get_by_test_id("scenario-summary")).to_contain_text(
        "This scenario brings the fault about"
    )


def test_the_map_of_failures_is_that_of_the_open_report_else_of_the_server(
    desk: Any, tmp_path: Path
) -> None:
    desk.get_by_test_id("tab-explorations").click()
    desk.get_by_test_id("coverage-open").click()
    expect(desk.get_by_test_id("coverage-title")).to_contain_text("Failures covered: ")
    _, report = explored(tmp_path)
    desk.get_by_test_id("report-file").set_input_files(report)
    desk.get_by_test_id("coverage-open").click()
    lost = desk.get_by_test_id("coverage-map").get_by_role("row").filter(has_text="lost_answer")
    expect(lost).to_contain_text("unsafe")
    expect(
        desk.get_by_test_id("coverage-map").get_by_role("row").filter(has_text="lost_request")
    ).to_contain_text("never tried")
    assert accessible(desk, "explorations") == []


def test_everything_is_reached_by_keys(desk: Any) -> None:
    desk.keyboard.press("?")
    expect(desk.get_by_test_id("keys")).to_contain_text("search")
    desk.keyboard.press("Escape")
    desk.keyboard.press("2")
    expect(desk.get_by_test_id("tab-objects")).to_have_attribute("aria-selected", "true")
    desk.keyboard.press("1")
    expect(desk.get_by_test_id("tab-requests")).to_have_attribute("aria-selected", "true")
    desk.keyboard.press("/")
    expect(desk.get_by_test_id("filter")).to_be_focused()
    desk.keyboard.press("Escape")
    expect(desk.get_by_test_id("requests")).to_be_focused()
    rows(desk).first.wait_for()
    desk.keyboard.press("j")
    expect(desk.get_by_test_id("verdict")).to_be_visible()
    desk.keyboard.press("Enter")
    expect(desk.get_by_test_id("detail")).to_be_focused()


def test_a_server_that_has_gone_is_said_to_be_offline(page: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        httpx.get(
            f"{url}/info/providers",
            headers={"x-secretkey": "sk_gone"},
            trust_env=False,
            verify=False,
        )
        page.goto(f"{url}/__admin/")
        expect(page.get_by_test_id("live")).to_have_text("live")
    expect(page.get_by_test_id("live")).to_have_text("offline, trying again")
    page.get_by_test_id("advance-1h").click()
    expect(page.get_by_test_id("message")).to_contain_text("cannot be reached")


@pytest.mark.parametrize(
    "context_options", [{"viewport": {"width": WIDE, "height": 800}}], ids=["wide"]
)
def test_no_view_breaks_a_rule_of_accessibility(page: Any, shop: Box) -> None:
    desk, found = visit(page, shop), []
    for view in VIEWS:
        desk.get_by_test_id(f"tab-{view}").click()
        if view in LISTS:
            rows(desk, view).first.wait_for()
            assert desk.locator("header").bounding_box()["height"] < 60, "one line"
            # Where there is room the list stands beside the details, and is looked at with them.
            found += accessible(desk, view, (WIDE, NARROW) if view == VIEWS[0] else (NARROW,))
            rows(desk, view).first.click()
            desk.get_by_test_id("detail").locator("h2").wait_for()
        elif view == "scenarios":
            desk.get_by_test_id("scenario-text").wait_for()
        found += accessible(desk, f"{view}, details")
    assert found == []


MOST_BYTES_A_SECOND = 100_000
MOST_FETCHES_A_SECOND = 10


def test_no_view_fetches_much_while_fifty_requests_a_second_come_in(
    own_page: Any, sandbox: Box
) -> None:
    """The page's clock is the test's: each view is given fifty charges in a second of its own."""
    page = own_page
    fetched: list[int] = []
    open_now: set[Any] = set()
    sent = 0

    def pay(times: int) -> None:
        nonlocal sent
        sent += times
        for _ in range(times):
            sandbox.charge(webhook={"url": f"{sandbox.url}/__inbox/shop"}, colour="red")

    def settle(milliseconds: int) -> None:
        for _ in range(milliseconds // 100):
            page.clock.run_for(100)
            page.wait_for_timeout(1)
            while open_now:
                page.wait_for_timeout(1)

    def shown(what: Any) -> None:
        """The page may draw only when its clock moves on."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not what.is_visible():
            assert time.monotonic() < end
            settle(100)

    def ended(request: Any) -> None:
        """Asking for the response lets the test go on, so the request counts as open until its size
        is known."""
        fetched.append(int(request.response().headers.get("content-length", 0)))
        open_now.discard(request)

    def begun(request: Any) -> None:
        if "/__admin/" in request.url and "events-stream" not in request.url:
            open_now.add(request)

    page.on("request", begun)
    page.on("requestfinished", lambda request: ended(request) if request in open_now else None)
    pay(25)
    page.clock.install()
    visit(page, sandbox)
    page.clock.pause_at("2040-01-01")
    told: dict[str, tuple[int, int]] = {}
    for view in VIEWS:
        page.get_by_test_id(f"tab-{view}").click()
        settle(100)
        if view in LISTS:
            shown(rows(page, view).first)
            rows(page, view).first.click()
            shown(page.get_by_test_id("detail").locator("h2"))
            settle(100)
        if view == "scenarios":
            page.get_by_test_id("shipped").locator("option").nth(1).wait_for(state="attached")
            settle(100)
        fetched.clear()
        for _ in range(2):
            pay(25)
            expect(page.locator("#count-requests")).to_have_text(str(sent))
            settle(500)
        told[view] = sum(fetched), len(fetched)
    assert [len(told), *(view for view in LISTS if told[view][1])] == [len(VIEWS), *LISTS]
    much = [
        view
        for view, (size, many) in told.items()
        if size > MOST_BYTES_A_SECOND or many > MOST_FETCHES_A_SECOND
    ]
    assert much == [], {view: told[view] for view in much}
