"""The hosted payment page and the 3-D Secure page in a real browser, through every button."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs
from tests.browser.conftest import ROOT, Box, Site, accessible

expect = needs.library("playwright.sync_api").expect

POOR = "4000000000009995"
CHALLENGED = "4000000000003220"


def fill(page: Any, number: str = "4111 1111 1111 1111") -> None:
    page.get_by_label("Card number").fill(number)
    page.get_by_label("Expiry").fill("12/40")
    page.get_by_label("Security code").fill("123")
    page.get_by_label("Name on the card").fill("Ann Example")


@pytest.fixture
def shop(other_site: Site) -> str:
    """The address of a shop elsewhere, to which the payer is sent."""
    other_site.pages.update(dict.fromkeys(("/ok", "/back"), "<!doctype html><h1>The shop</h1>"))
    return other_site.url


@pytest.mark.parametrize(
    "context_options", [{}, {"java_script_enabled": False}], ids=["script", "no-script"]
)
def test_pay_by_card(page: Any, sandbox: Box) -> None:
    page.goto(sandbox.link(confirmationMessage="See you soon"))
    expect(page.get_by_test_id("amount")).to_have_text("AUD 20.00")
    fill(page)
    page.get_by_test_id("pay").click()
    expect(page.get_by_test_id("confirmation")).to_have_text("See you soon")
    (charge,) = sandbox.charges()
    expect(page.get_by_test_id("charge-id")).to_have_text(charge["chargeId"])
    page.reload()
    expect(page.get_by_test_id("confirmation")).to_be_visible()
    assert len(sandbox.charges()) == 1


def test_pay_with_the_keyboard_alone(page: Any, sandbox: Box) -> None:
    page.goto(sandbox.link())
    for text in ("4111111111111111", "12/40", "123", "Ann Example"):
        page.keyboard.press("Tab")
        page.keyboard.type(text)
    page.keyboard.press("Tab")
    expect(page.get_by_test_id("pay")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("paid")).to_be_visible()


def test_a_double_click_charges_once(page: Any, sandbox: Box) -> None:
    page.goto(sandbox.link())
    fill(page)
    page.get_by_test_id("pay").dblclick()
    expect(page.get_by_test_id("paid")).to_be_visible()
    assert len(sandbox.charges()) == 1


@pytest.mark.parametrize(
    "context_options", [{}, {"java_script_enabled": False}], ids=["script", "no-script"]
)
def test_back_after_a_payment_restores_no_card_and_pays_no_more(page: Any, sandbox: Box) -> None:
    page.goto(sandbox.link())
    fill(page)
    page.get_by_test_id("pay").click()
    expect(page.get_by_test_id("paid")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("again")).to_be_visible()
    expect(page.get_by_test_id("pay")).to_have_count(0)
    assert len(sandbox.charges()) == 1
    page.get_by_test_id("again").click()
    expect(page.get_by_label("Card number")).to_have_value("")


@pytest.mark.parametrize(
    "context_options", [{}, {"java_script_enabled": False}], ids=["script", "no-script"]
)
def test_the_payer_is_brought_to_the_first_faulty_field(page: Any, sandbox: Box) -> None:
    page.goto(sandbox.link())
    fill(page)
    page.get_by_label("Expiry").fill("13/40")
    page.get_by_label("Security code").fill("1")
    page.get_by_label("Security code").press("Enter")
    expect(page.get_by_test_id("expiryDate-error")).to_contain_text("MM/YY")
    expect(page.get_by_label("Expiry")).to_be_focused()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("12/40")
    page.get_by_label("Card number").fill("4111111111111111")
    page.get_by_label("Security code").fill("123")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("paid")).to_be_visible()
    assert len(sandbox.charges()) == 1


def test_the_payer_is_redirected_with_the_charge(page: Any, sandbox: Box, shop: str) -> None:
    page.goto(sandbox.link(redirectUrl=f"{shop}/ok"))
    fill(page)
    page.get_by_test_id("pay").click()
    page.wait_for_url(f"{shop}/ok?**")
    assert page.url.endswith(f"chargeId={sandbox.charges()[0]['chargeId']}")


def test_the_page_works_in_a_frame_of_another_site(
    page: Any, sandbox: Box, other_site: Site
) -> None:
    other_site.pages["/"] = (
        f"<!doctype html><iframe src='{sandbox.link()}' width='400' height='800'></iframe>"
    )
    page.goto(f"{other_site.url}/")
    frame = page.frame_locator("iframe")
    for label, text in (
        ("Card number", "4111111111111111"),
        ("Expiry", "12/40"),
        ("Security code", "123"),
    ):
        frame.get_by_label(label).fill(text)
    frame.get_by_label("Name on the card").fill("Ann Example")
    frame.get_by_test_id("pay").click()
    expect(frame.get_by_test_id("paid")).to_be_visible()


@pytest.mark.parametrize(
    "context_options", [{"viewport": {"width": 360, "height": 740}}], ids=["phone"]
)
def test_nothing_is_cut_off_on_a_phone(page: Any, sandbox: Box) -> None:
    page.goto(sandbox.link(title="A" * 60, description="b" * 200))
    for path in (
        page.url,
        sandbox.charge(CHALLENGED)["threeDsRedirectUrl"],
        f"{sandbox.url}/demo?key={sandbox.public_key}",
    ):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path


def test_no_page_of_a_payer_breaks_a_rule_of_accessibility(page: Any, sandbox: Box) -> None:
    image = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
    page.goto(sandbox.link(description="Brass", allowedPaymentTypes=["card", "zip"], image=image))
    found = accessible(page, "payment page")
    fill(page, POOR)
    page.get_by_test_id("pay").click()
    page.get_by_test_id("alert").wait_for()
    found += accessible(page, "payment page, declined")
    fill(page)
    page.get_by_test_id("pay").click()
    page.get_by_test_id("paid").wait_for()
    found += accessible(page, "paid")
    page.goto(sandbox.link(title="إبريق " * 20, currency="EUR"))
    found += accessible(page, "payment page, right to left")
    page.goto(f"{sandbox.url}/pay/unknown")
    found += accessible(page, "unknown link")
    page.goto(sandbox.charge(CHALLENGED)["threeDsRedirectUrl"])
    found += accessible(page, "3-D Secure")
    page.get_by_test_id("pass").click()
    page.get_by_test_id("outcome").wait_for()
    found += accessible(page, "3-D Secure, answered")
    page.goto(f"{sandbox.url}/demo?key={sandbox.public_key}")
    page.get_by_test_id("try-1").click()
    card = page.frame_locator("[data-testid=payfurl-card]")
    expect(card.get_by_label("Name on the card")).to_have_value("Ann Example")
    found += accessible(page, "shop and the fields of the client script")
    assert found == []


def test_a_challenge_is_answered_with_the_keyboard_alone(page: Any, sandbox: Box) -> None:
    page.goto(sandbox.charge(CHALLENGED)["threeDsRedirectUrl"])
    for button in ("pass", "fail", "cancel"):
        page.keyboard.press("Tab")
        expect(page.get_by_test_id(button)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("outcome")).to_have_text("Not paid")


@pytest.mark.parametrize(
    "context_options", [{}, {"java_script_enabled": False}], ids=["script", "no-script"]
)
def test_a_challenge_returns_the_payer_to_the_shop(page: Any, sandbox: Box, shop: str) -> None:
    charge = sandbox.charge(CHALLENGED, threeDSNotificationUrl=f"{shop}/back")
    page.goto(charge["threeDsRedirectUrl"])
    page.get_by_test_id("pass").click()
    page.wait_for_url(f"{shop}/back?**")
    assert f"chargeId={charge['chargeId']}" in page.url
    assert "status=SUCCESS" in page.url


def test_a_challenge_of_a_link_goes_all_the_way_to_the_shop(
    page: Any, sandbox: Box, shop: str
) -> None:
    page.goto(sandbox.link(redirectUrl=f"{shop}/ok"))
    fill(page, CHALLENGED)
    page.get_by_test_id("pay").click()
    page.get_by_test_id("pass").click()
    page.wait_for_url(f"{shop}/ok?**")


def test_the_test_of_the_documentation_passes(page: Any, sandbox: Box) -> None:
    text = (
        (ROOT / "docs" / "browser.md")
        .read_text("utf-8")
        .partition("```python\n")[2]
        .partition("```")[0]
    )
    made: dict[str, Any] = {}
    exec(compile(text, "browser.md", "exec"), made)
    made["test_a_payer_pays_after_3_d_secure"](page, SimpleNamespace(client=sandbox.http))
