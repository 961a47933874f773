"""The demo shop, in a real browser."""

import re
from typing import Any

import pytest

from tests import needs
from tests.browser.conftest import Box, fields

expect = needs.library("playwright.sync_api").expect


@pytest.fixture
def shop(page: Any, sandbox: Box) -> Any:
    """The demo shop of the test's sandbox."""
    page.goto(f"{sandbox.url}/demo?key={sandbox.public_key}")
    return page


def test_a_card_is_bought_with(shop: Any, sandbox: Box) -> None:
    shop.get_by_test_id("quantity").select_option("2")
    expect(shop.get_by_test_id("total")).to_have_text("AUD 48.00")
    shop.get_by_test_id("try-1").click()
    shop.get_by_test_id("buy").click()
    expect(shop.get_by_test_id("paid")).to_be_visible()
    (charge,) = sandbox.charges()
    assert (charge["amount"], charge["status"]) == (48, "SUCCESS")
    shop.get_by_test_id("again").click()
    expect(shop.get_by_test_id("buy")).to_be_visible()


def test_a_declined_card_is_reported_and_another_taken(shop: Any) -> None:
    shop.get_by_test_id("try-2").click()
    shop.get_by_test_id("buy").click()
    expect(shop.get_by_test_id("alert")).to_contain_text("not enough money")
    shop.get_by_test_id("try-1").click()
    shop.get_by_test_id("buy").click()
    expect(shop.get_by_test_id("paid")).to_be_visible()


@pytest.mark.parametrize(
    ("button", "seen"), [("pass", "paid"), ("fail", "alert"), ("cancel", "alert")]
)
def test_a_challenge_comes_back_to_the_shop(shop: Any, button: str, seen: str) -> None:
    shop.get_by_test_id("try-4").click()
    shop.get_by_test_id("buy").click()
    shop.get_by_test_id(button).click()
    expect(shop.get_by_test_id(seen)).to_be_visible()


def test_faults_are_reported_beside_their_fields(shop: Any, sandbox: Box) -> None:
    shop.get_by_test_id("buy").click()
    number, expiry = fields(shop).get_by_label("Card number"), fields(shop).get_by_label("Expiry")
    expect(number).to_have_accessible_description("Please fill this in.")
    expect(number).to_be_focused()
    expect(expiry).to_have_accessible_description("Please fill this in.")
    words = "Please look at these fields: Card number, Expiry, Security code"
    expect(shop.get_by_test_id("failure")).to_have_text(words)
    assert [field.get_attribute("aria-invalid") for field in (number, expiry)] == ["true", "true"]
    shop.get_by_test_id("try-1").click()
    expect(fields(shop).get_by_test_id("payfurl-cardNumber-error")).to_have_count(0)
    assert number.get_attribute("aria-invalid") is None
    assert sandbox.charges() == []


FAULTS = [
    ("Card number", "4111111111111112", "This is not a card number."),
    ("Card number", "4111x", "This is not a card number."),
    ("Expiry", "13/40", "Please write the expiry date as MM/YY."),
    ("Expiry", "01/20", "This card has expired."),
    ("Security code", "7", "Please write the 3 or 4 digits on the card."),
]


GOOD = [("Card number", "4111111111111111"), ("Expiry", "12/40"), ("Security code", "123")]


def test_a_fault_says_which_field_what_is_wrong_and_what_is_wanted(shop: Any) -> None:
    for field, typed, words in FAULTS:
        shop.get_by_test_id("try-1").click()
        # The frame fills its fields when the page's message arrives, after the click has returned.
        for name, value in GOOD:
            expect(fields(shop).get_by_label(name)).to_have_value(value)
        faulty = fields(shop).get_by_label(field)
        faulty.fill(typed)
        faulty.press("Enter")
        expect(shop.get_by_test_id("failure")).to_contain_text(words)
        expect(faulty).to_have_accessible_description(re.compile(re.escape(words)))
        expect(faulty).to_be_focused()
        faulty.press("ArrowRight")
        faulty.type("1")
        expect(faulty).to_have_accessible_description("")


def test_the_shop_is_used_with_the_keyboard_alone(shop: Any, sandbox: Box) -> None:
    keys = shop.keyboard
    keys.press("Tab")
    expect(shop.get_by_label("Quantity")).to_be_focused()
    keys.press("ArrowDown")
    keys.press("Tab")
    expect(shop.get_by_role("tab", name="Card")).to_be_focused()
    keys.press("ArrowRight")
    expect(shop.get_by_role("tab", name="PayTo")).to_be_focused()
    expect(shop.get_by_role("tabpanel", name="PayTo")).to_be_visible()
    keys.press("End")
    expect(shop.get_by_role("tabpanel", name="Wallets")).to_be_visible()
    keys.press("Tab")
    expect(shop.get_by_test_id("payfurl-paypal")).to_be_focused()
    keys.press("Enter")
    expect(shop.get_by_test_id("payfurl-approve")).to_be_focused()
    keys.press("Escape")
    expect(shop.get_by_test_id("payfurl-paypal")).to_be_focused()
    keys.press("Shift+Tab")
    keys.press("Home")
    for text in ("4111111111111111", "12/40", "123", "Ann Example"):
        keys.press("Tab")
        keys.type(text)
    keys.press("Enter")
    expect(shop.get_by_test_id("paid")).to_be_visible()
    (charge,) = sandbox.charges()
    assert charge["amount"] == 48


def test_a_pay_to_agreement_is_bought_with(shop: Any, sandbox: Box) -> None:
    shop.get_by_test_id("way-payto").click()
    fields(shop, "payto").get_by_label("Your name").fill("Ann Example")
    fields(shop, "payto").get_by_label("PayID").fill("ann@example.com")
    shop.get_by_test_id("buy").click()
    expect(shop.get_by_test_id("paid")).to_be_visible()
    assert sandbox.charges()[0]["paymentInformation"]["type"] == "PAYTO"


@pytest.mark.parametrize(
    ("button", "name"),
    [("paypal", "PayPal"), ("googlepay", "Google Pay"), ("applepay", "Apple Pay"), ("zip", "Zip")],
)
def test_a_wallet_or_checkout_is_approved(shop: Any, sandbox: Box, button: str, name: str) -> None:
    shop.get_by_test_id("way-wallets").click()
    shop.get_by_test_id(f"payfurl-{button}").click()
    shop.get_by_test_id("payfurl-approve").click()
    expect(shop.get_by_test_id("paid-with")).to_have_text(name)
    assert [charge["status"] for charge in sandbox.charges()] == ["SUCCESS"]


def test_a_wallet_is_not_approved(shop: Any, sandbox: Box) -> None:
    ways = [
        (lambda: shop.get_by_test_id("payfurl-decline").click(), "", ["FAILED"]),
        (lambda: shop.get_by_test_id("payfurl-cancel").click(), "cancelled", ["FAILED"]),
        (lambda: shop.keyboard.press("Escape"), "cancelled", ["FAILED"]),
    ]
    shop.get_by_test_id("way-wallets").click()
    for refuse, words, charged in ways:
        shop.get_by_test_id("payfurl-paypal").click()
        shop.get_by_test_id("payfurl-dialog").wait_for()
        expect(shop.get_by_test_id("failure")).to_be_hidden()
        refuse()
        expect(shop.get_by_test_id("failure")).to_contain_text(words)
        expect(shop.get_by_test_id("failure")).to_be_visible()
        assert [charge["status"] for charge in sandbox.charges()] == charged
