"""The control page in a real browser, through every button."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver.engine.sandbox import sandbox_id_of
from mockserver.scenario.operations import OPERATIONS
from tests import needs
from tests.browser.conftest import Box, Site, accessible, client, rows, serving

expect = needs.library("playwright.sync_api").expect

POOR = "4000000000009995"


@pytest.fixture
def control(page: Any, sandbox: Box) -> Any:
    """The control page of the test's sandbox, to which one request has been sent."""
    sandbox.call("GET", "/info/providers")
    page.goto(f"{sandbox.url}/__admin/?sandbox={sandbox.sandbox_id}")
    expect(page.get_by_test_id("live")).to_have_text("live")
    expect(rows(page)).to_have_count(1)
    return page


def write(control: Any, text: str) -> None:
    """Put a text into the scenario editor."""
    control.get_by_test_id("scenario-text").click()
    control.keyboard.press("Control+a")
    control.keyboard.press("Backspace")
    control.keyboard.insert_text(text)


def test_requests_come_in_live_newest_first(control: Any, sandbox: Box) -> None:
    sandbox.charge()
    expect(rows(control).first).to_contain_text("/charge/card")
    expect(rows(control).first).to_contain_text("201")
    sandbox.charge(POOR)
    expect(rows(control).first).to_contain_text("card-insufficient-funds")
    expect(rows(control)).to_have_count(3)


def test_a_request_tells_its_decision_and_shows_no_card(control: Any, sandbox: Box) -> None:
    sandbox.charge(POOR)
    rows(control).filter(has_text="/charge/card").click()
    expect(control.get_by_test_id("fired")).to_contain_text("card-insufficient-funds")
    control.get_by_test_id("losers").get_by_text("did not fire").click()
    expect(control.get_by_test_id("lost").first).to_contain_text("did not:")
    expect(control.get_by_test_id("request-body")).to_contain_text("4000********9995")
    expect(control.get_by_test_id("answer-body")).to_contain_text("Insufficient Funds")
    expect(control.get_by_test_id("changes")).to_contain_text("FAILED")
    assert POOR not in control.content()


def test_the_list_is_filtered_and_walked_with_the_keyboard(control: Any, sandbox: Box) -> None:
    sandbox.charge()
    sandbox.charge(POOR)
    control.get_by_test_id("filter").fill("op:charge.create status:201")
    expect(rows(control)).to_have_count(1)
    control.get_by_test_id("filter").fill("")
    expect(rows(control)).to_have_count(3)
    control.get_by_test_id("requests").focus()
    control.keyboard.press("ArrowDown")
    expect(control.get_by_test_id("entry-status")).to_have_text("400")
    control.keyboard.press("End")
    expect(control.get_by_test_id("entry-title")).to_have_text("GET /info/providers")


def test_an_object_shows_its_states_and_history(control: Any, sandbox: Box) -> None:
    charge = sandbox.charge(capture=False)
    sandbox.call("POST", f"/charge/{charge['chargeId']}", {"amount": 15})
    control.get_by_test_id("tab-objects").click()
    expect(rows(control, "objects").first).to_contain_text("SUCCESS")
    rows(control, "objects").first.click()
    expect(control.get_by_test_id("object-state")).to_have_text("SUCCESS")
    expect(control.get_by_test_id("diagram")).to_have_attribute(
        "aria-label", "States of a charge; it is SUCCESS"
    )
    expect(control.get_by_test_id("diagram").locator(".here")).to_have_text("SUCCESS")
    expect(control.get_by_test_id("history").get_by_role("row")).to_have_count(3)
    expect(control.get_by_test_id("next-moves")).to_contain_text("fully refunded → REFUND")
    sandbox.call("DELETE", f"/charge/{charge['chargeId']}")
    expect(control.get_by_test_id("object-state")).to_have_text("REFUND")
    expect(control.get_by_test_id("next-moves")).to_contain_text("refund failed → PARTIAL_REFUND")


def test_a_row_that_news_move_while_it_is_pressed_is_chosen(control: Any, sandbox: Box) -> None:
    pressed = sandbox.charge(reference="pressed")
    control.get_by_test_id("tab-objects").click()
    rows(control, "objects").first.hover()
    control.mouse.down()
    sandbox.charge(reference="news")
    expect(rows(control, "objects").first).to_contain_text("news")
    control.mouse.up()
    expect(control.get_by_test_id("object-title")).to_contain_text(pressed["chargeId"])


def test_a_vault_item_is_shown_masked(control: Any, sandbox: Box) -> None:
    sandbox.call("POST", "/vault", {"cardNumber": "4111111111111111", "ccv": "987"})
    control.get_by_test_id("tab-objects").click()
    control.get_by_test_id("kind-vault").click()
    rows(control, "objects").first.click()
    expect(control.get_by_test_id("object-body")).to_contain_text("4111********1111")
    assert "4111111111111111" not in control.content()


def test_a_change_leads_to_its_object_and_back(control: Any, sandbox: Box) -> None:
    sandbox.charge()
    rows(control).filter(has_text="/charge/card").click()
    control.get_by_test_id("changes").get_by_role("link").click()
    expect(control.get_by_test_id("object-state")).to_have_text("SUCCESS")
    control.get_by_test_id("history").get_by_role("link").click()
    expect(control.get_by_test_id("entry-title")).to_have_text("POST /charge/card")


def test_the_clock_is_advanced_by_buttons_and_with_the_keyboard_alone_and_never_goes_back(
    control: Any,
) -> None:
    for button, time in (
        ("advance-1m", "2031-03-01 09:31:00"),
        ("advance-1h", "2031-03-01 10:31:00"),
        ("advance-1d", "2031-03-02 10:31:00"),
    ):
        control.get_by_test_id(button).click()
        expect(control.get_by_test_id("now")).to_have_text(time)
    control.get_by_test_id("advance-365d").focus()
    control.keyboard.press("Tab")
    expect(control.get_by_test_id("jump-to")).to_be_focused()
    control.keyboard.type("90m")
    control.keyboard.press("Enter")
    expect(control.get_by_test_id("now")).to_have_text("2031-03-02 12:01:00")
    control.get_by_test_id("jump-to").fill("2020-01-01T00:00:00Z")
    control.get_by_test_id("jump").click()
    expect(control.get_by_test_id("message")).to_contain_text("never goes back")


def test_a_jump_makes_due_work_happen(control: Any, sandbox: Box) -> None:
    begin = control.get_by_test_id("jump").bounding_box()
    charge = sandbox.charge(capture=False)
    expect(control.get_by_test_id("pending")).to_have_text("1 due")
    # Nothing has moved away under the hand of somebody about to click.
    assert control.get_by_test_id("jump").bounding_box() == begin
    control.get_by_test_id("jump-to").fill("7d")
    control.get_by_test_id("jump").click()
    expect(control.get_by_test_id("now")).to_have_text("2031-03-08 09:30:00")
    expect(control.get_by_test_id("message")).to_contain_text("1 thing came due")
    expect(rows(control).first).to_contain_text("/__admin/clock/advance")
    expect(rows(control).nth(1)).to_contain_text("due")
    assert sandbox.call("GET", f"/charge/{charge['chargeId']}")["status"] == "AUTHORISE_CANCELLED"
    control.get_by_test_id("jump-to").fill("2031-04-01T00:00:00Z")
    control.get_by_test_id("jump").click()
    expect(control.get_by_test_id("now")).to_have_text("2031-04-01 00:00:00")


def test_the_clock_runs_and_freezes(control: Any, sandbox: Box) -> None:
    control.get_by_test_id("freeze").click()
    expect(control.get_by_test_id("mode")).to_have_text("runs")
    expect(control.get_by_test_id("now")).not_to_have_text("2031-03-01 09:30:00")
    control.get_by_test_id("freeze").click()
    expect(control.get_by_test_id("mode")).to_have_text("stands still")
    assert sandbox.call("GET", "/__admin/clock")["mode"] == "manual"


def test_a_scenario_is_loaded_counted_and_cleared(control: Any, sandbox: Box) -> None:
    control.get_by_test_id("tab-scenarios").click()
    control.get_by_test_id("scenario-example").click()
    control.get_by_test_id("scenario-add").click()
    expect(control.get_by_test_id("scenario-files")).to_contain_text("declined-twice")
    rule = control.get_by_test_id("rules").get_by_role("row").filter(has_text="twice")
    expect(control.get_by_test_id("idle")).to_contain_text(
        "no rule of declined-twice fired: it waits for "
    )
    sandbox.charge()
    expect(rule.get_by_role("cell").nth(3)).to_have_text("1")
    expect(control.get_by_test_id("idle")).to_have_count(0)
    control.get_by_test_id("scenario-clear").click()
    expect(control.get_by_test_id("scenario-files")).not_to_contain_text("declined-twice")
    assert sandbox.charge()["status"] == "SUCCESS"


def test_one_scenario_is_removed_and_others_replaced_and_a_bad_one_says_where(control: Any) -> None:
    control.get_by_test_id("tab-scenarios").click()
    for name, button in (
        ("one", "scenario-add"),
        ("two", "scenario-add"),
        ("three", "scenario-replace"),
    ):
        rule = f"{{id: {name}, when: {{op: charge.create}}, then: {{approve: {{}}}}}}"
        write(control, f"version: 1\nname: {name}\nrules:\n  - {rule}\n")
        control.get_by_test_id(button).click()
        expect(control.get_by_test_id("scenario-files")).to_contain_text(name)
    expect(control.get_by_test_id("scenario-files")).not_to_contain_text("two")
    control.get_by_role("button", name="Remove", exact=True).click()
    expect(control.get_by_test_id("scenario-files")).not_to_contain_text("three")
    write(control, "version: 1\nrulez: []\n")
    control.get_by_test_id("scenario-add").click()
    expect(control.get_by_test_id("message")).to_contain_text("line 2")


def test_the_editor_says_what_rules_may_name(control: Any) -> None:
    control.get_by_test_id("tab-scenarios").click()
    control.get_by_text("What rules may name").click()
    count, found = (
        control.get_by_test_id("operation-count"),
        control.get_by_test_id("operation-list").locator("li"),
    )
    expect(count).to_have_text(f"{len(OPERATIONS)} of {len(OPERATIONS)} operations")
    control.get_by_test_id("operation-filter").fill("/refund request.comment")
    expect(count).to_have_text(f"1 of {len(OPERATIONS)} operations")
    expect(found).to_contain_text("charge.refund give money back")
    expect(found.locator("mark").first).to_have_text("DELETE /refund/{charge_id}")
    assert accessible(control, "operations") == []
    control.get_by_test_id("operation-filter").fill("customer.removed")
    expect(found).to_contain_text("webhook.deliver")
    control.get_by_test_id("operation-filter").fill("no such member")
    expect(found).to_have_count(0)


def test_an_assumption_is_overridden_and_put_back(control: Any, sandbox: Box) -> None:
    control.get_by_test_id("tab-assumptions").click()
    control.get_by_test_id("assumption-filter").fill("iin_digits")
    field = control.get_by_test_id("assume-card.iin_digits")
    expect(field).to_have_value("6")
    field.fill("4")
    field.press("Enter")
    control.get_by_test_id("back-card.iin_digits").wait_for()
    assert len(sandbox.charge()["paymentInformation"]["card"]["cardIin"]) == 4
    control.get_by_test_id("back-card.iin_digits").click()
    expect(control.get_by_test_id("back-card.iin_digits")).to_have_count(0)
    field.fill("many")
    field.press("Enter")
    expect(control.get_by_test_id("message")).to_contain_text("wanted a whole number")


def test_a_sandbox_is_emptied(control: Any, sandbox: Box) -> None:
    sandbox.charge()
    control.get_by_test_id("tab-sandbox").click()
    control.get_by_test_id("reset").click()
    expect(control.get_by_test_id("message")).to_contain_text("kept for one undo")
    assert sandbox.charges() == []
    control.get_by_test_id("undo-now").click()
    expect(control.get_by_test_id("message")).to_contain_text("Everything is back")
    control.get_by_test_id("tab-requests").click()
    expect(rows(control).filter(has_text="/charge/card")).to_have_count(1)


def test_another_sandbox_is_chosen_or_opened_by_its_key_and_keys_stay_masked(
    control: Any, sandbox: Box
) -> None:
    other = f"{sandbox.key}_other"
    with client(sandbox.url, other) as http:
        http.get("/info/providers")
        http.get("/charge")
    listed = control.get_by_test_id("sandbox").locator(f"option[value='{sandbox_id_of(other)}']")
    expect(listed).to_have_count(1)
    control.get_by_test_id("sandbox").select_option(sandbox_id_of(other))
    expect(rows(control)).to_have_count(2)
    assert other not in control.content()
    control.get_by_test_id("key").fill(sandbox.key)
    control.get_by_test_id("open").click()
    expect(control.get_by_test_id("sandbox")).to_have_value(sandbox.sandbox_id)
    expect(control.get_by_test_id("live")).to_have_text("live")
    expect(rows(control)).to_have_count(1)
    assert sandbox.key not in control.content()


LOSSY = """version: 1
name: lost-answer
rules:
  - {id: lost, when: {op: charge.create}, limit: 1, then: {transport: {at: answer, reset: true}}}
"""


def charge_twice(sandbox: Box) -> list[str]:
    """The ids of two charges of one order: the answer to the first one was lost."""
    sandbox.http.put(
        "/__admin/scenarios", content=LOSSY, headers={"content-type": "application/yaml"}
    ).raise_for_status()
    with pytest.raises(httpx.HTTPError):
        sandbox.charge(reference="order-5")
    sandbox.charge(reference="order-5")
    return [charge["chargeId"] for charge in sandbox.charges()][::-1]


def test_a_double_charge_is_shown_live_with_its_evidence(control: Any, sandbox: Box) -> None:
    control.get_by_test_id("tab-findings").click()
    expect(control.get_by_test_id("findings-lesson")).to_contain_text("Nothing was found")
    first, _ = charge_twice(sandbox)
    expect(rows(control, "findings")).to_have_count(2)
    expect(rows(control, "findings").first).to_contain_text("error")
    expect(rows(control, "findings").last).to_contain_text("warning")
    expect(control.locator("#count-findings")).to_have_text("2")
    control.get_by_test_id("findings").focus()
    control.keyboard.press("ArrowDown")
    expect(control.get_by_test_id("finding-title")).to_have_text("The customer was charged twice")
    expect(control.get_by_test_id("finding-severity")).to_have_text("error")
    expect(control.get_by_test_id("finding-count")).to_have_text("once")
    expect(control.get_by_test_id("finding-advice")).to_contain_text(
        "search for the charge by its reference"
    )
    expect(control.get_by_test_id("evidence")).to_contain_text("the connection was reset")
    control.get_by_test_id("evidence").get_by_role("link").first.click()
    expect(control.get_by_test_id("entry-title")).to_have_text("POST /charge/card")
    control.go_back()
    control.get_by_role("link", name=first).click()
    expect(control.get_by_test_id("object-state")).to_have_text("SUCCESS")


def test_requests_and_charges_are_marked_and_lead_to_the_finding(
    control: Any, sandbox: Box
) -> None:
    charge_twice(sandbox)
    marks = control.get_by_test_id("requests").get_by_test_id("mark")
    expect(marks).to_have_count(2)
    expect(marks.first).to_have_text("error: The customer was charged twice")
    rows(control).filter(has_text="/charge/card").first.click()
    expect(control.get_by_test_id("concerning").get_by_role("link")).to_have_count(2)
    control.get_by_test_id("concerning").get_by_role("link").first.click()
    expect(control.get_by_test_id("finding-title")).to_have_text("The customer was charged twice")
    control.get_by_test_id("tab-objects").click()
    expect(rows(control, "objects")).to_have_count(2)
    expect(control.get_by_test_id("objects").get_by_test_id("mark")).to_have_count(2)
    control.get_by_test_id("objects").get_by_test_id("mark").first.click()
    expect(control.get_by_test_id("finding-title")).to_have_text("The customer was charged twice")


def test_a_forged_webhook_that_was_accepted_is_marked(
    control: Any, sandbox: Box, other_site: Site
) -> None:
    rule = "{id: forged, when: {op: charge.create}, then: {webhook: {bad_signature: true}}}"
    forged = f"version: 1\nname: forged\nrules: [{rule}]\n"
    sandbox.http.put(
        "/__admin/scenarios", content=forged, headers={"content-type": "application/yaml"}
    ).raise_for_status()
    other_site.pages["/hook"] = "taken"
    control.get_by_test_id("tab-webhooks").click()
    sandbox.charge(webhook={"url": f"{other_site.url}/hook", "authorization": "Bearer s3cret"})
    mark = control.get_by_test_id("webhooks").get_by_test_id("mark")
    expect(mark).to_have_text("warning: A webhook with a wrong signature was accepted")
    rows(control, "webhooks").first.click()
    control.get_by_test_id("concerning").get_by_role("link").click()
    control.get_by_test_id("evidence").get_by_role("link", name="webhook").click()
    expect(control.get_by_test_id("webhook-state")).to_have_text("delivered")


def test_findings_are_fetched_once_each_and_go_with_a_clear_and_a_reset(
    control: Any, sandbox: Box
) -> None:
    asked: list[str] = []
    control.on(
        "request",
        lambda request: asked.append(request.url) if "/__admin/findings" in request.url else None,
    )
    control.get_by_test_id("tab-findings").click()
    charge_twice(sandbox)
    expect(rows(control, "findings")).to_have_count(2)
    sandbox.charge(reference="order-6", amout=6)
    expect(rows(control, "findings")).to_have_count(3)
    for _ in range(3):
        sandbox.call("GET", "/charge")
    sandbox.charge(reference="order-7", curency="AUD")
    expect(rows(control, "findings")).to_have_count(4)
    assert [url.partition("?")[2] for url in asked][-2:] == ["raised=2", "raised=3"]
    control.get_by_test_id("findings-clear").click()
    expect(rows(control, "findings")).to_have_count(0)
    expect(control.get_by_test_id("findings-lesson")).to_be_visible()
    expect(control.locator("#count-findings")).to_have_text("")
    sandbox.charge(capture=False, reference="order-8")
    control.get_by_test_id("findings-finish").click()
    expect(rows(control, "findings")).to_have_count(1)
    expect(rows(control, "findings").first).to_contain_text(
        "An authorisation was neither captured nor voided"
    )
    sandbox.call("POST", "/__admin/reset")
    expect(rows(control, "findings")).to_have_count(0)


def test_a_request_says_that_it_was_a_repeat(control: Any, sandbox: Box) -> None:
    sandbox.call("PUT", "/__admin/assumptions", {"request.idempotency": "by_header"})
    sandbox.http.headers["idempotency-key"] = "k-1"
    assert sandbox.charge()["chargeId"] == sandbox.charge()["chargeId"]
    charges = rows(control).filter(has_text="/charge/card")
    expect(charges).to_have_count(2)
    charges.first.click()
    expect(control.get_by_test_id("warnings")).to_contain_text("a repeat")


def test_a_server_that_judges_nothing_says_so(page: Any, tmp_path: Path) -> None:
    with serving(tmp_path, "--findings", "off") as url:
        with client(url, "sk_off") as http:
            http.get("/charge")
        page.goto(f"{url}/__admin/#findings")
        expect(page.get_by_test_id("detail")).to_contain_text("--findings off")
        page.goto("about:blank")


def test_a_sandbox_is_shown_by_its_name_as_soon_as_it_has_one(control: Any, sandbox: Box) -> None:
    sandbox.call("POST", "/__admin/sandboxes", {"key": sandbox.key, "name": "Checkout tests"})
    expect(control).to_have_title("Requests · Checkout tests · mockserver")
    shown = control.get_by_test_id("sandbox").locator(f"option[value='{sandbox.sandbox_id}']")
    expect(shown).to_contain_text("Checkout tests")
    control.reload()
    expect(control).to_have_title("Requests · Checkout tests · mockserver")


def test_the_sandbox_that_was_used_last_is_opened(page: Any, sandbox: Box) -> None:
    sandbox.charge()
    page.goto(f"{sandbox.url}/__admin/")
    expect(page.get_by_test_id("sandbox")).to_have_value(sandbox.sandbox_id)
    expect(rows(page)).to_have_count(1)


def test_a_page_loaded_again_follows_its_sandbox(control: Any, sandbox: Box) -> None:
    with client(sandbox.url, f"{sandbox.key}_other") as http:
        http.get("/charge")
    control.reload()
    expect(control.get_by_test_id("live")).to_have_text("live")
    expect(control.get_by_test_id("sandbox")).to_have_value(sandbox.sandbox_id)
    expect(control.get_by_test_id("now")).to_be_visible()
    sandbox.charge()
    expect(rows(control).first).to_contain_text("/charge/card")


def test_a_refused_key_is_reported_and_tabs_are_walked_with_the_keyboard(control: Any) -> None:
    control.get_by_test_id("key").fill("invalid")
    control.get_by_test_id("open").click()
    expect(control.get_by_test_id("message")).to_contain_text("always refused")
    control.get_by_test_id("tab-requests").focus()
    control.keyboard.press("ArrowRight")
    expect(control.get_by_test_id("tab-objects")).to_be_focused()
    control.keyboard.press("Enter")
    expect(control.get_by_test_id("tab-objects")).to_have_attribute("aria-selected", "true")


TWENTY_THOUSAND = """
const ask = window.fetch;
const line = (number) => [
  number, "2031-03-01T09:30:00.0000000Z", "POST", "/charge/card", "charge.create", 201, 0, null, null, [], {},
];
window.fetch = (address, options) => {
  if (!address.startsWith("/__admin/timeline?limit=300")) return ask(address, options);
  const count = address.includes("&q=") ? 0 : 20000;
  const lines = Array.from({ length: count }, (_, i) => line(i + 1));
  return Promise.resolve(new Response(JSON.stringify({ last: 20000, dropped: 0, count, meanings: {}, lines })));
};
"""


def test_twenty_thousand_requests_are_drawn_as_the_few_in_sight(
    own_page: Any, sandbox: Box
) -> None:
    control = own_page
    control.add_init_script(TWENTY_THOUSAND)
    sandbox.call("GET", "/info/providers")
    control.goto(f"{sandbox.url}/__admin/?sandbox={sandbox.sandbox_id}")
    expect(rows(control).first).to_contain_text("#20000")
    assert rows(control).count() < 100
    control.get_by_test_id("requests").focus()
    took = control.evaluate(
        """async () => {
          const list = document.querySelector('[data-testid=requests]');
          const start = performance.now();
          for (let i = 0; i <= 20; i += 1) {
            list.scrollTop = i * list.scrollHeight / 20;
            await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
          }
          return performance.now() - start;
        }"""
    )
    expect(rows(control).last).to_contain_text("#1 ")
    assert took < 5_000
    control.get_by_test_id("filter").fill("nothing like it")
    expect(rows(control)).to_have_count(0)


@pytest.mark.parametrize(
    "context_options", [{"viewport": {"width": 360, "height": 740}}], ids=["phone"]
)
def test_nothing_is_cut_off_on_a_phone(control: Any, sandbox: Box) -> None:
    charge_twice(sandbox)
    sandbox.charge(webhook={"url": f"{sandbox.url}/__inbox/shop", "authorization": "Bearer s3cret"})
    assert control.locator("header").bounding_box()["height"] < 60, "it folds"
    expect(control.get_by_test_id("advance-1m")).to_be_hidden()
    control.get_by_test_id("fold").click()
    expect(control.get_by_test_id("fold")).to_have_attribute("aria-expanded", "true")
    control.get_by_test_id("advance-1m").click()
    assert control.evaluate(CUT_OFF) == [], "unfolded"
    control.get_by_test_id("fold").click()
    for tab in (
        "requests",
        "objects",
        "webhooks",
        "inbox",
        "findings",
        "scenarios",
        "assumptions",
        "sandbox",
    ):
        control.get_by_test_id(f"tab-{tab}").click()
        if tab in ("requests", "objects", "webhooks", "inbox", "findings"):
            rows(control, tab).first.wait_for()
        if tab == "findings":
            rows(control, tab).first.click()
            control.get_by_test_id("evidence").wait_for()
            expect(control.get_by_test_id("findings")).to_be_hidden()
            assert control.evaluate(CUT_OFF) == [], "details"
            control.get_by_test_id("back").click()
            expect(control.get_by_test_id("findings")).to_be_visible()
        assert control.evaluate(CUT_OFF) == [], tab
        assert control.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), tab


CUT_OFF = """() => [...document.querySelectorAll("header *, #view *")]
  .filter((part) => part.offsetParent !== null && !part.closest(".scroll, .kinds, .hidden, details:not([open]) > *"))
  .filter((part) => part.getBoundingClientRect().right > window.innerWidth + 1)
  .map((part) => part.outerHTML.slice(0, 80))"""


def test_every_stop_of_the_tab_key_is_named_and_seen(control: Any, sandbox: Box) -> None:
    sandbox.charge(POOR)
    rows(control).filter(has_text="/charge/card").click()
    control.get_by_test_id("fired").wait_for()

    def stops() -> list[str]:
        """The stops from here to the end of the page."""
        found: list[str] = []
        control.keyboard.press("Tab")
        while (at := control.evaluate(FOCUSED))["tag"] != "BODY" and len(found) < 60:
            assert at["name"], at
            assert at["outline"] != "none", at
            found.append(at["tag"])
            control.keyboard.press("Tab")
        return found

    for number, tab in enumerate(
        ("requests", "objects", "webhooks", "inbox", "findings", "scenarios", "assumptions")
    ):
        control.get_by_test_id(f"tab-{tab}").click()
        control.locator(f"#tab-{tab}[aria-selected=true]").wait_for()
        if number == 0:
            control.get_by_role("link", name="Skip to content").focus()
            header, after = (found := stops())[: (at := found.index("tab-requests"))], found[at:]
            assert header[:3] == ["sandbox-chosen", "key", "open"]
        else:
            # The header is the same in every view.
            control.locator(f"#{header[-1]}").focus()
            after = stops()
        assert after[0] == f"tab-{tab}"


FOCUSED = """() => {
  const at = document.activeElement.shadowRoot?.activeElement || document.activeElement;
  const label = at.labels && at.labels.length ? at.labels[0].textContent : at.textContent;
  const name = (at.getAttribute("aria-label") || label || "").trim();
  return { tag: at.id || at.dataset.testid || at.tagName, name, outline: getComputedStyle(at).outlineStyle };
}"""


def test_a_webhook_is_watched_and_sent_again(control: Any, sandbox: Box) -> None:
    url = f"{sandbox.url}/__inbox/shop"
    control.get_by_test_id("tab-webhooks").click()
    charge = sandbox.charge(webhook={"url": url, "authorization": "Bearer s3cret"})
    rows(control, "webhooks").first.click()
    expect(control.get_by_test_id("webhook-state")).to_have_text("delivered")
    expect(control.get_by_test_id("webhook-body")).to_contain_text(charge["chargeId"])
    expect(control.get_by_test_id("tries").get_by_role("row")).to_have_count(2)
    control.get_by_test_id("resend").click()
    expect(control.get_by_test_id("tries").get_by_role("row")).to_have_count(3)
    control.get_by_test_id("tab-inbox").click()
    expect(rows(control, "inbox")).to_have_count(2)
    rows(control, "inbox").first.click()
    expect(control.get_by_test_id("message-signature")).to_have_text("signature valid")
    expect(control.get_by_test_id("message-body")).to_contain_text(charge["chargeId"])


def test_a_request_shows_its_webhook_which_when_it_fails_shows_its_next_try(
    control: Any, sandbox: Box
) -> None:
    rule = "{id: down, when: {op: charge.create}, then: {webhook: {receiver: [503, 200]}}}"
    scenario = f"version: 1\nname: down\nrules:\n  - {rule}"
    sandbox.http.put(
        "/__admin/scenarios", content=scenario, headers={"content-type": "application/yaml"}
    )
    sandbox.charge(webhook={"url": f"{sandbox.url}/__inbox/shop"})
    control.get_by_test_id("tab-requests").click()
    rows(control, "requests").filter(has_text="charge.create").click()
    caused = control.get_by_test_id("caused")
    expect(caused).to_contain_text(f"{sandbox.url}/__inbox/shop")
    expect(caused).to_contain_text("1: 503")
    caused.get_by_role("link").click()
    expect(control.get_by_test_id("webhook-state")).to_have_text("waiting")
    expect(control.get_by_test_id("tries")).to_contain_text("answered by the scenario")
    control.get_by_test_id("advance-1m").click()
    expect(control.get_by_test_id("webhook-state")).to_have_text("delivered")


def test_an_inbox_is_cleared(control: Any, sandbox: Box) -> None:
    sandbox.http.post("/__inbox/mine", json={"hello": "world"}).raise_for_status()
    control.get_by_test_id("tab-inbox").click()
    rows(control, "inbox").first.click()
    expect(control.get_by_test_id("message-body")).to_contain_text("world")
    control.get_by_test_id("inbox-clear").click()
    expect(rows(control, "inbox")).to_have_count(0)


def test_a_guarded_server_asks_for_its_token(page: Any, tmp_path: Path) -> None:
    with serving(tmp_path, "--admin-token", "let-me-in") as url:
        httpx.get(
            f"{url}/info/providers",
            headers={"x-secretkey": "sk_guarded"},
            trust_env=False,
            verify=False,
        )
        page.goto(f"{url}/__admin/")
        page.get_by_test_id("token").fill("let-me-out")
        page.get_by_test_id("token-use").click()
        expect(page.get_by_test_id("wrong-token")).to_have_text("That token was wrong.")
        page.get_by_test_id("token").fill("let-me-in")
        page.get_by_test_id("token-use").click()
        expect(rows(page)).to_have_count(1)
        expect(page.get_by_test_id("live")).to_have_text("live")
        page.get_by_test_id("tab-requests").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_test_id("tab-objects")).to_be_focused()
