"""The client script in shops of another origin, called as the published shop plugins call it, in a
real browser."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mockserver.domain.sources import CHECKOUTS
from tests import needs
from tests.browser.conftest import DUMMY, PATIENCE_MS, ROOT, Box, Site, fields
from tests.depth import tries

expect = needs.library("playwright.sync_api").expect

VISA, CHALLENGED, CCV = "4111111111111111", "4000000000003220", "987"
KEEP = ".onSuccess((it) => told.push(it)).onFailure((it) => told.push(it))"
ORDERED = "<!doctype html><p id='ordered'>Ordered</p>"
PLACES = "".join(f'<div id="{name}"></div>' for name in ("card", "payto", "pay", "other"))

AMD_LOADER = """
// As RequireJS does it: a module without a name is taken after a script that the loader put into the page, and is an
// error when it comes from any other.
(function () {
  const map = {}, loads = {}, queue = [];
  window.define = (names, make) => queue.push(make);
  window.define.amd = {};
  function load(name) {
    loads[name] = loads[name] || new Promise((resolve) => {
      const script = document.createElement("script");
      script.setAttribute("data-requiremodule", name);
      script.addEventListener("load", () => resolve(queue.shift()()));
      script.src = map[name];
      document.head.append(script);
    });
    return loads[name];
  }
  window.require = (names, then) => {
    if (queue.length) throw new Error("Mismatched anonymous define() module");
    Promise.all(names.map(load)).then((modules) => then(...modules));
  };
  window.require.config = (config) => Object.assign(map, config.map["*"]);
}());
"""


@pytest.fixture
def elsewhere(page: Any, sandbox: Box, other_site: Site) -> Callable[..., Any]:
    """A shop of another origin that runs the script's calls and keeps what its callbacks are told
    in ``told``."""

    def opened(script: str, html: str = PLACES) -> Any:
        other_site.pages["/"] = f"""<!doctype html>{html}
        <script src="{sandbox.url}/js/payfurl.js"></script>
        <script>window.told = []; const key = "{sandbox.public_key}"; {script}</script>"""
        page.goto(f"{other_site.url}/")
        return page

    return opened


def order_form(inputs: str = "", method: str = "post") -> str:
    """A form of the shop around the card fields."""
    return (
        f'<form action="/order" method="{method}">{inputs}<div '
        f'id="card"></div><button>Buy</button></form>'
    )


def told(page: Any, place: int = 0) -> Any:
    """What the shop was told, awaited; in a way that no policy of the page forbids."""
    return page.evaluate(
        """([place, most]) => new Promise((resolve, reject) => {
            const look = () => (told.length > place ? resolve(told[place]) : setTimeout(look, 10));
            setTimeout(() => reject(new Error(`only told ${JSON.stringify(told)}`)), most);
            look();
        })""",
        [place, PATIENCE_MS],
    )


def type_card(page: Any, number: str = VISA) -> None:
    card = {
        "Card number": number,
        "Expiry": "12/40",
        "Security code": CCV,
        "Name on the card": "Ann Example",
    }
    for label, text in card.items():
        fields(page).get_by_label(label).fill(text)


def sent(sandbox: Box, path: str) -> list[Any]:
    """The bodies of the calls to a path, as the sandbox has written them down."""
    entries = sandbox.call("GET", f"/__admin/journal?path={path}")["entries"]
    return [entry["request"]["body"] for entry in entries if entry["request"]["path"] == path]


def test_a_token_of_a_shop_elsewhere_is_charged_by_the_api(elsewhere: Any, sandbox: Box) -> None:
    page = elsewhere(
        f"payfurl.init('sandbox', key, true).addCardLeastCost('card', 12.5, 'AUD'){KEEP};"
    )
    type_card(page, "5555555555554444")
    page.evaluate("window._pf.execute()")
    got = told(page)
    assert got["transactionId"] == ""
    charge = sandbox.call(
        "POST", "/charge/token", {"token": got["token"], "amount": 12.5, "currency": "AUD"}
    )
    assert (charge["status"], charge["paymentInformation"]["card"]["type"]) == (
        "SUCCESS",
        "MASTERCARD",
    )
    again = sandbox.call("POST", "/charge/token", {"token": got["token"], "amount": 12.5})
    assert again["code"] == 51


# What stays out of the shop.

EAVESDROPPER = """
window.heard = [];
const hear = (event) => heard.push([event.type, event.key, event.data, event.target && event.target.value]);
const types = "beforeinput input change keydown keypress keyup paste message focusin submit error formdata";
for (const type of types.split(" ")) {
  for (const target of [window, document]) {
    target.addEventListener(type, hear, true);
    target.addEventListener(type, hear);
  }
}
const observer = new MutationObserver((records) => records.forEach((record) => {
  heard.push([record.type, record.target.outerHTML || record.target.data]);
}));
observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
"""


@pytest.mark.parametrize("method", ["get", "post"])
def test_number_and_ccv_stay_out_of_the_shop_whatever_it_listens_to(
    elsewhere: Any, other_site: Site, sandbox: Box, method: str
) -> None:
    page_said: list[str] = []
    html = order_form('<input name="note" value="n">', method)
    script = (
        f"{EAVESDROPPER} payfurl.init('sandbox', key, true).addCardLeastCost('card', 12.5, 'AUD')"
        ".onFailure((it) => told.push(it));"
    )
    other_site.pages["/order"] = ORDERED
    page = elsewhere(script, html)
    page.on("console", lambda line: page_said.append(line.text))
    number, ccv = (
        fields(page).get_by_label("Card number"),
        fields(page).get_by_label("Security code"),
    )
    number.press_sequentially(VISA)
    ccv.press_sequentially(CCV)
    # Once with a fault, so that the shop is told of it, and in the wrong field.
    fields(page).get_by_label("Expiry").fill(VISA)
    page.get_by_role("button", name="Buy").click()
    assert told(page) == "Expiry: Please write the expiry date as MM/YY."
    assert (
        page.evaluate("new URLSearchParams(new FormData(document.forms[0])).toString()") == "note=n"
    )
    seen = [
        page.evaluate("JSON.stringify([heard, told, document.documentElement.outerHTML])"),
        page.evaluate("document.querySelector('iframe').contentDocument === null") and page.url,
        *page_said,
    ]
    fields(page).get_by_label("Expiry").fill("12/40")
    page.get_by_role("button", name="Buy").click()
    expect(page.locator("#ordered")).to_be_visible()
    seen += [page.url, *map(str, other_site.requests), page.content()]
    assert other_site.requests[-1][0] == method.upper()
    assert "payfurl_token=" in str(other_site.requests[-1])
    assert sandbox.call("GET", "/token")["count"] == 1
    for text in seen:
        assert text
        assert VISA not in text.replace(" ", "")
        # The number of a port may hold anything.
        assert CCV not in text.replace(other_site.url, "").replace(sandbox.url, "")


def test_number_and_ccv_are_gone_once_they_were_used(elsewhere: Any) -> None:
    page = elsewhere(f"payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD'){KEEP};")
    type_card(page)
    page.evaluate("_pf.execute()")
    assert told(page)["token"]
    left = [
        fields(page).get_by_label(label).input_value()
        for label in ("Card number", "Security code", "Expiry")
    ]
    assert left == ["", "", "12/40"]
    assert fields(page).locator("input[name]").count() == 0


def test_a_merchants_own_policy_needs_to_allow_the_server_and_nothing_inline(
    page: Any, sandbox: Box, other_site: Site
) -> None:
    other_site.headers["content-security-policy"] = (
        f"default-src 'none'; script-src 'self' {sandbox.url}; frame-src {sandbox.url}; "
        f"connect-src {sandbox.url}; style-src 'self'"
    )
    # Nor does one that embeds only what allows it keep the fields and the challenge out.
    other_site.headers["cross-origin-embedder-policy"] = "require-corp"
    other_site.headers["cross-origin-opener-policy"] = "same-origin"
    other_site.pages["/shop.js"] = f"""window.told = [];
        payfurl.init('sandbox', '{sandbox.public_key}')
          .addCardLeastCost('card', 5, 'AUD', {{ threeDSEmail: 'a@example.com' }})
          .addPaypal('pay', 6, 'AUD').addDropIn('other', 7, 'AUD'){KEEP};"""
    other_site.pages["/"] = f"""<!doctype html>{PLACES}
        <script src="{sandbox.url}/js/payfurl.js"></script><script src="/shop.js"></script>"""
    page.goto(f"{other_site.url}/")
    assert page.evaluate("crossOriginIsolated")
    expect(page.get_by_test_id("payfurl-tab-card")).to_be_visible()
    page.locator("#pay").get_by_test_id("payfurl-paypal").click()
    page.get_by_test_id("payfurl-approve").click()
    assert sandbox.call("GET", f"/charge/{told(page)['transactionId']}")["amount"] == 6
    card = page.locator("#card").frame_locator("iframe")
    for label, text in (("Card number", CHALLENGED), ("Expiry", "12/40"), ("Security code", CCV)):
        card.get_by_label(label).fill(text)
    card.get_by_label("Security code").press("Enter")
    page.frame_locator("[data-testid=payfurl-challenge]").get_by_test_id("pass").click()
    assert told(page, 1)["token"]


@pytest.mark.parametrize(
    ("allowed", "forbidden"),
    [("frame-src 'none'; connect-src *", "frame-src"), ("frame-src *", "connect-src")],
)
def test_a_policy_that_forbids_the_server_is_reported(
    browser: Any, sandbox: Box, other_site: Site, allowed: str, forbidden: str
) -> None:
    other_site.headers["content-security-policy"] = (
        f"default-src 'none'; script-src 'self' {sandbox.url}; {allowed}"
    )
    other_site.pages["/shop.js"] = f"""window.told = [];
        payfurl.init('sandbox', '{sandbox.public_key}').addCardLeastCost('card', 5, 'AUD').addPaypal('pay', 6, 'AUD')
          {KEEP};"""
    other_site.pages["/"] = f"""<!doctype html>{PLACES}
        <script src="{sandbox.url}/js/payfurl.js"></script><script src="/shop.js"></script>"""
    page = browser.new_page()
    page.goto(f"{other_site.url}/")
    if forbidden == "connect-src":
        page.get_by_test_id("payfurl-paypal").click()
        page.get_by_test_id("payfurl-approve").click()
    assert (
        told(page) == f"The Content-Security-Policy of the page forbids {forbidden} {sandbox.url}"
    )
    page.close()


# The calls of the published plugins.

CUSTOMER = (
    "{ firstName: 'Ann', lastName: 'Example', email: 'ann@example.com', phoneNumber: "
    "'+61400000000' }"
)
ADDRESS = """{ firstName: 'Ann', lastName: 'Example', email: 'ann@example.com', phoneNumber: '+61400000000',
  streetAddress: '1 High St', streetAddress2: '', city: 'Perth', state: 'WA', postalCode: '6000', country: 'AU' }"""
ORDER = """{ taxAmount: 2.5, shippingAmount: 5, discountAmount: -1, orderItems: [
  { name: 'Mug', quantity: '2.0000', sku: 'mug-1', unitPrice: 8.25, totalAmount: 16.5 }] }"""
EXTRA = f".setCustomerInfo({CUSTOMER}).setBillingAddress({ADDRESS}).setOrderInfo({ORDER})"
PAYER = {
    "firstName": "Ann",
    "lastName": "Example",
    "email": "ann@example.com",
    "phone": "+61400000000",
}
ADDRESS_SENT = {
    "line1": "1 High St",
    "city": "Perth",
    "state": "WA",
    "postalCode": "6000",
    "country": "AU",
}
ORDER_SENT = {
    "taxAmount": 2.5,
    "freightAmount": 5,
    "discountAmount": -1,
    "items": [{"productCode": "mug-1", "description": "Mug", "quantity": "2.0000", "amount": 8.25}],
}
INFO = f"{{ ...{ORDER}, customer: {CUSTOMER}, billingAddress: {ADDRESS} }}"
WAYS = [
    ("addPaypal('pay', 12.5, 'AUD', pp)", "paypal", "PAYPAL", "/charge/checkout"),
    ("addPaypal('pay', 12.5, 'AUD')", "paypal", "PAYPAL", "/charge/checkout"),
    ("addGooglePay('pay', 12.5, 'AUD')", "googlepay", "GOOGLEPAY", "/charge/token/apple"),
    ("addApplePay('pay', 12.5, 'AUD')", "applepay", "APPLEPAY", "/charge/token/apple"),
    ("addCheckout('pay', 12.5, 'AUD', 'zip', zip, {}, {})", "zip", "ZIP", "/charge/checkout"),
    (
        "addCheckout('pay', 12.5, 'AUD', 'azupay', azupay, {}, {})",
        "payid",
        "PAYID",
        "/charge/checkout",
    ),
    (f"addBnpl('pay', 12.5, 'AUD', 'zip', zip, {INFO}, {{}})", "zip", "ZIP", "/charge/checkout"),
]
"""A call, the word of its button, the type of the payment, and the path that takes it."""


def offered(sandbox: Box) -> str:
    """Providers of three kinds, and a line that gives the shop their ids as the plugins get
    them."""
    for kind in ("paypal", "zip", "azupay"):
        sandbox.call("POST", "/provider", {"type": kind, "name": kind, "currency": "AUD"})
    offer = sandbox.call("GET", "/info/providers?Amount=12.5&Currency=AUD")
    ids = {row["providerType"]: row["providerId"] for row in offer["bnplProviders"]}
    return (
        f"const pp = '{offer['paypalProviders'][0]}', zip = '{ids['zip']}', azupay = "
        f"'{ids['azupay']}';"
    )


def check_charge(sandbox: Box, charge_id: str, kind: str, path: str) -> None:
    """The newest call to a path made the charge, with all that the shop knows."""
    charge = sandbox.call("GET", f"/charge/{charge_id}")
    assert (charge["status"], charge["amount"], charge["paymentInformation"]["type"]) == (
        "SUCCESS",
        12.5,
        kind,
    )
    assert {name: charge["customer"][name] for name in PAYER} == PAYER
    body, *_ = sent(sandbox, path)
    assert body["order"] == ORDER_SENT
    assert body["address"] == ADDRESS_SENT


def pay_each_way(page: Any, sandbox: Box, ways: Sequence[tuple[str, ...]] = WAYS) -> None:
    """Pay by each call of a shop whose function ``add`` makes the call of a number."""
    for number, (_, button, kind, path) in enumerate(ways):
        before = len(sandbox.charges()), len(sent(sandbox, path))
        page.evaluate(f"add({number})")
        page.get_by_test_id(f"payfurl-{button}").click()
        page.get_by_test_id("payfurl-approve").click()
        got = told(page, number)
        assert got["token"] == ""
        check_charge(sandbox, got["transactionId"], kind, path)
        assert (len(sandbox.charges()), len(sent(sandbox, path))) == (before[0] + 1, before[1] + 1)


def test_a_plain_page_pays_as_the_plugin_for_woocommerce_calls(
    elsewhere: Any, sandbox: Box
) -> None:
    calls = ", ".join(
        "() => "
        f"{{ window._pf = payfurl.init('sandbox', key, false); {extra_of(call)} _pf.{call}{KEEP}; }}"
        for call, *_ in WAYS
    )
    pay_each_way(elsewhere(f"{offered(sandbox)} const calls = [{calls}]; {ADD}"), sandbox)


def extra_of(call: str) -> str:
    return "" if "customer:" in call else f"_pf{EXTRA};"


ADD = (
    "window.add = (number) => { document.getElementById('pay').replaceChildren(); "
    "calls[number](); };"
)


@pytest.fixture
def with_loader(page: Any, sandbox: Box, other_site: Site) -> Callable[..., Any]:
    """A shop whose page has an AMD loader, as a Magento shop has; ``tag`` may load the script
    beside it."""
    order = f'<form action="/" method="post">{PLACES}<button>Place order</button></form>'

    def opened(script: str, tag: str = "", form: str = order) -> Any:
        other_site.pages["/loader.js"] = AMD_LOADER
        other_site.pages["/"] = f"""<!doctype html>{form}<script src="/loader.js"></script>{tag}
        <script>window.told = []; const key = "{sandbox.public_key}";
        require.config({{ map: {{ "*": {{ payfurljs: "{sandbox.url}/js/payfurl.js" }} }} }}); {script}</script>"""
        page.goto(f"{other_site.url}/")
        return page

    return opened


def test_a_page_with_an_amd_loader_pays_as_the_plugin_for_magento_calls(
    with_loader: Any, sandbox: Box
) -> None:
    # One of each kind: what every button does is seen on the page without a loader.
    ways = tries(WAYS[::2], WAYS)
    calls = ", ".join(
        f"() => {{ payfurl{KEEP}; payfurl.setAmount(99);"
        f" payfurl.init('sandbox', key, true).preloadClickToPay(){EXTRA}.{call}; }}"
        for call, *_ in ways
    )
    page = with_loader(
        f"{offered(sandbox)} require(['payfurljs'], (payfurl) => "
        f"{{ const calls = [{calls}]; {ADD} }});"
    )
    page.wait_for_function("() => 'add' in window")
    pay_each_way(page, sandbox, ways)


def test_a_card_form_in_a_form_of_magento_yields_a_token_and_leaves_the_order_to_the_shop(
    with_loader: Any, sandbox: Box, other_site: Site
) -> None:
    page = with_loader(f"""require(['payfurljs'], (payfurl) => {{
        payfurl{KEEP};
        payfurl.init('sandbox', key, true){EXTRA}
          .addCardLeastCost('card', 12.5, 'AUD', {{ threeDSEmail: 'ann@example.com' }});
    }});""")
    type_card(page)
    page.get_by_role("button", name="Place order").click()
    assert told(page)["token"]
    page.get_by_role("button", name="Place order").click()
    assert told(page, 1) == "Please look at these fields: Card number, Security code"
    assert page.url == f"{other_site.url}/"
    assert {method for method, _, _ in other_site.requests} == {"GET"}


MAGENTO = """<style>.disabled { pointer-events: none; }</style>
<div id="saved"><select id="methods"><option value="pm-1">Ann, VISA 1111</option></select>
  <button type="button" id="pay-saved">Place order with it</button></div>
<label><input type="radio" name="way" id="new">Pay with a new card</label>
<form action="/" method="post" id="form" hidden><div id="card"></div><button id="pay-new">Place order</button></form>"""
RENDERER = """require(['payfurljs'], (payfurl) => {
  const at = (id) => document.getElementById(id);
  const allow = (on) => ['pay-saved', 'pay-new'].forEach((id) => at(id).classList.toggle('disabled', !on));
  payfurl.onSuccess((it) => { allow(true); told.push(it); }).onFailure((it) => { allow(false); told.push(it); });
  at('new').onclick = () => { at('saved').hidden = true; at('form').hidden = false; };
  at('pay-saved').onclick = () => told.push({ paymentMethodId: at('methods').value });
  at('pay-new').onclick = (event) => { event.preventDefault(); document.title = 'taken'; };
  payfurl.init('sandbox', key, true).addCardLeastCost('card', 12.5, 'AUD', { threeDSEmail: 'ann@example.com' });
});"""
"""A payment step with saved cards as the plugin for Magento has it: the form of a new card is there
from the beginning, hidden, its handler takes the click of the button, and a failure takes the click
from both buttons."""


def test_a_saved_card_is_paid_by_a_click_in_magento_and_a_new_one_by_enter(
    with_loader: Any, sandbox: Box
) -> None:
    page = with_loader(RENDERER, form=MAGENTO)
    page.wait_for_function("() => document.querySelector('[data-testid=payfurl-card]')")
    page.get_by_role("button", name="Place order with it").click()
    assert told(page) == {"paymentMethodId": "pm-1"}
    page.get_by_label("Pay with a new card").click()
    type_card(page)
    page.get_by_role("button", name="Place order", exact=True).click()
    expect(page).to_have_title("taken")
    security_code = fields(page).get_by_label("Security code")
    security_code.press("Enter")
    assert told(page, 1)["token"]
    security_code.press("Enter")
    assert told(page, 2) == "Please look at these fields: Card number, Security code"
    expect(page.locator("#pay-new")).to_have_class("disabled")
    type_card(page)
    security_code.press("Enter")
    assert told(page, 3)["token"]
    expect(page.locator("#pay-new")).to_have_class("")


def test_execute_presses_the_button_that_is_shown_where_no_form_is(
    elsewhere: Any, sandbox: Box
) -> None:
    page = elsewhere(
        "payfurl.init('sandbox', key).addCardLeastCost('card', 12.5, 'AUD').addGooglePay('pay', "
        "12.5, 'AUD')"
        f"{KEEP}; document.getElementById('card').hidden = true;"
    )
    page.evaluate("window._pf.execute()")
    page.get_by_test_id("payfurl-approve").click()
    assert (
        sandbox.call("GET", f"/charge/{told(page)['transactionId']}")["paymentInformation"]["type"]
        == "GOOGLEPAY"
    )
    page.evaluate("document.getElementById('card').hidden = false")
    type_card(page)
    page.evaluate("window._pf.execute()")
    assert told(page, 1)["token"]


def test_a_plain_tag_beside_an_amd_loader_is_no_error(with_loader: Any, sandbox: Box) -> None:
    page = with_loader(
        f"payfurl.init('sandbox', key).addPaypal('pay', 8, 'AUD'){KEEP}; require([], () => "
        "told.push('required'));",
        f'<script src="{sandbox.url}/js/payfurl.js"></script>',
    )
    assert told(page) == "required"
    expect(page.get_by_test_id("payfurl-paypal")).to_be_visible()


def test_positional_arguments_are_taken(elsewhere: Any, sandbox: Box) -> None:
    page = elsewhere(
        "payfurl.init('sandbox', key).addCheckout('pay', 8, 'AUD', 'Zip', '', {}, {}).setAmount(9)"
        ".setCustomerInfo('Ann', 'Example', 'ann@example.com', '+61400000000')"
        ".setBillingAddress('Ann', 'Example', '', '', '1 High St', '', 'Perth', 'WA', '', '6000', "
        "'AU')"
        ".setOrderInfo(1, 2, 0, "
        f"[{{ name: 'Mug', sku: 'm', quantity: 1, unitPrice: 0.1 + 0.2 }}]){KEEP};"
    )
    page.get_by_test_id("payfurl-zip").click()
    page.get_by_test_id("payfurl-approve").click()
    charge = sandbox.call("GET", f"/charge/{told(page)['transactionId']}")
    assert (charge["amount"], charge["customer"]["firstName"]) == (9, "Ann")
    (body,) = sent(sandbox, "/charge/checkout")
    assert body["address"]["city"] == "Perth"
    assert body["order"]["items"] == [
        {"productCode": "m", "description": "Mug", "quantity": 1, "amount": 0.3}
    ]


def test_what_a_shop_does_not_know_is_left_out(elsewhere: Any, sandbox: Box) -> None:
    page = elsewhere(
        "payfurl.init('sandbox', key).addPaypal('pay', 8, 'AUD').setAmount(undefined)"
        ".setCustomerInfo({ firstName: undefined, email: null, phoneNumber: '' })"
        ".setBillingAddress({ streetAddress: undefined, state: null })"
        f".setOrderInfo({{ orderItems: undefined, taxAmount: NaN, discountAmount: null }}){KEEP};"
    )
    page.get_by_test_id("payfurl-paypal").click()
    page.get_by_test_id("payfurl-approve").click()
    assert sandbox.call("GET", f"/charge/{told(page)['transactionId']}")["amount"] == 8
    assert sent(sandbox, "/charge/checkout") == [
        {"amount": 8, "currency": "AUD", "providerType": "paypal"}
    ]


# Amounts.


@pytest.mark.parametrize(
    ("then", "charged"), [("", [8, 9]), (".setAmount(10).setAmount(11)", [11, 11])]
)
def test_each_call_charges_its_own_amount_unless_one_is_set_for_all(
    elsewhere: Any, sandbox: Box, then: str, charged: list[int]
) -> None:
    page = elsewhere(
        "payfurl.init('sandbox', key).addPaypal('pay', 8, 'AUD').addGooglePay('other', 9, "
        f"'AUD'){then}{KEEP};"
    )
    for place, button in enumerate(("paypal", "googlepay")):
        page.get_by_test_id(f"payfurl-{button}").click()
        expect(page.get_by_test_id("payfurl-dialog")).to_contain_text(f"Pay AUD {charged[place]}?")
        page.get_by_test_id("payfurl-approve").click()
        told(page, place)
    assert [charge["amount"] for charge in reversed(sandbox.charges())] == charged


# Forms of the shop.


@pytest.mark.parametrize(
    "then",
    [
        "form.submit()",
        "form.requestSubmit()",
        "form.querySelector('button').click()",
        "setTimeout(() => form.requestSubmit())",
    ],
)
def test_a_form_around_the_fields_is_sent_by_the_shop_with_the_token(
    elsewhere: Any, sandbox: Box, other_site: Site, then: str
) -> None:
    other_site.pages["/order"] = ORDERED
    html = order_form('<input type="hidden" name="pf">')
    page = elsewhere(
        "const form = document.forms[0]; payfurl.init('sandbox', key).addCardLeastCost('card', 1, "
        "'AUD')"
        f".onSuccess(({{ token }}) => {{ form.pf.value = token; {then}; }});",
        html,
    )
    type_card(page)
    page.get_by_role("button", name="Buy").click()
    expect(page.locator("#ordered")).to_be_visible()
    (token,) = sandbox.call("GET", "/token")["tokens"]
    assert other_site.requests[-1] == ("POST", "/order", f"pf={token['tokenId']}")


def test_a_form_without_onsuccess_is_sent_with_the_token_in_a_hidden_input(
    elsewhere: Any, sandbox: Box, other_site: Site
) -> None:
    other_site.pages["/order"] = ORDERED
    html = order_form()
    page = elsewhere("payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD');", html)
    type_card(page)
    page.get_by_role("button", name="Buy").click()
    expect(page.locator("#ordered")).to_be_visible()
    (token,) = sandbox.call("GET", "/token")["tokens"]
    assert other_site.requests[-1] == (
        "POST",
        "/order",
        f"payfurl_token={token['tokenId']}&payfurl_transaction_id=",
    )


def test_a_form_that_the_shop_handles_itself_and_one_whose_fields_are_hidden_are_left_alone(
    elsewhere: Any, sandbox: Box, other_site: Site
) -> None:
    other_site.pages["/order"] = ORDERED
    html = order_form()
    page = elsewhere(
        f"payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD'){KEEP};"
        "document.forms[0].onsubmit = () => { told.push('mine'); return hidden; }; window.hidden "
        "= false;",
        html,
    )
    page.get_by_role("button", name="Buy").click()
    assert told(page) == "mine"
    page.evaluate("hidden = document.getElementById('card').hidden = true")
    page.get_by_role("button", name="Buy").click()
    expect(page.locator("#ordered")).to_be_visible()
    assert sandbox.call("GET", "/token")["count"] == 0


# Callbacks.


BLOCKING = ["false", "0", "''", "null", "NaN", "undefined", "Promise.resolve(false)"]
PASSING = ["true", "1", "'yes'", "{}", "Promise.resolve(true)"]


def test_every_false_answer_of_onvalidate_blocks(elsewhere: Any) -> None:
    lines: list[str] = []
    page = elsewhere(
        f"const answers = [{', '.join(BLOCKING)}]; payfurl.init('sandbox', key).addPaypal('pay', "
        "8, 'AUD')"
        f".onValidate(() => {{ told.push(String(answers[0])); return answers[0]; }}){KEEP};"
    )
    page.on("console", lambda line: lines.append(line.text))
    for number, answer in enumerate(BLOCKING):
        for place in (2 * number, 2 * number + 1):
            page.get_by_test_id("payfurl-paypal").click()
            assert told(page, place) == page.evaluate("String(answers[0])")
        expect(page.get_by_test_id("payfurl-dialog")).to_have_count(0)
        said = [line for line in lines if "onValidate" in line]
        words = (
            "payfurl: onValidate answered undefined, which counts as false: nothing is submitted"
        )
        assert said == ([words] * 2 if answer == "undefined" else []), answer
        lines.clear()
        page.evaluate("answers.shift()")


def test_every_true_answer_of_onvalidate_passes(elsewhere: Any) -> None:
    page = elsewhere(
        f"const answers = [{', '.join(PASSING)}]; payfurl.init('sandbox', key).addPaypal('pay', "
        "8, 'AUD')"
        f".onValidate(() => answers.shift()){KEEP};"
    )
    for place in range(len(PASSING)):
        page.get_by_test_id("payfurl-paypal").click()
        page.get_by_test_id("payfurl-cancel").click()
        told(page, place)
        expect(page.get_by_test_id("payfurl-dialog")).to_have_count(0)
    assert page.evaluate("answers.length") == 0


@pytest.mark.parametrize("thrown", ["throw error", "return Promise.reject(error)"])
def test_what_onsuccess_throws_is_an_error_of_the_shop_and_no_failure(
    elsewhere: Any, sandbox: Box, thrown: str
) -> None:
    page = elsewhere(
        "window.addEventListener('error', (event) => { told.push(event.error.message); "
        "event.preventDefault(); });"
        "payfurl.init('sandbox', key).addPaypal('pay', 8, 'AUD')"
        f".onSuccess(() => {{ const error = new Error('of the shop'); {thrown}; }})"
        ".onFailure((it) => told.push('failure: ' + it));"
    )
    for place in (0, 1):
        page.get_by_test_id("payfurl-paypal").click()
        page.get_by_test_id("payfurl-approve").click()
        assert told(page, place) == "of the shop"
    assert [charge["status"] for charge in sandbox.charges()] == ["SUCCESS", "SUCCESS"]


MISTAKES = [
    ("payfurl.init('mars', key)", "Unknown environment 'mars'"),
    ("payfurl.init('sandbox', '')", "wants a public key"),
    (
        "payfurl.init('sandbox', key).addPaypal('nowhere', 1, 'AUD')",
        "No element has the id 'nowhere'",
    ),
    ("payfurl.init('sandbox', key).execute()", "No card or PayTo form"),
    ("payfurl.init('sandbox', 'nobody').addDropIn('card', 1, 'AUD')", "Authentication"),
]


def test_a_mistake_of_the_shop_is_reported_in_words(elsewhere: Any) -> None:
    page = elsewhere("")
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    for place, (script, words) in enumerate(MISTAKES):
        page.evaluate(f"() => {{ {script}{KEEP}; }}")
        assert words in told(page, place) + "".join(said)


def test_a_drop_in_without_providers_is_reported(elsewhere: Any, sandbox: Box) -> None:
    sandbox.call("DELETE", f"/provider/{DUMMY}")
    page = elsewhere(f"payfurl.init('sandbox', key).addDropIn('card', 1, 'AUD'){KEEP};")
    assert told(page) == "No way to pay is offered for this amount and currency"


def test_a_wrong_public_key_is_reported(elsewhere: Any) -> None:
    said: list[str] = []
    page = elsewhere(f"payfurl.init('sandbox', 'nobody').addCardLeastCost('card', 1, 'AUD'){KEEP};")
    page.on("console", lambda line: said.append(line.text))
    fields(page).get_by_label("Card number").fill(VISA)
    fields(page).get_by_label("Card number").press("Enter")
    assert told(page).startswith("The payment could not be made. Nothing was taken")
    assert "Authentication" in "".join(said)


# 3-D Secure.


@pytest.fixture
def challenged(elsewhere: Any) -> Any:
    """A shop whose payer is being challenged before the token is handed over."""
    page = elsewhere(
        "payfurl.init('sandbox', key)"
        f".addCardLeastCost('card', 12.5, 'AUD', {{ threeDSEmail: 'ann@example.com' }}){KEEP};"
    )
    challenge(page)
    assert page.evaluate("told.length") == 0
    return page


def challenge(page: Any) -> None:
    type_card(page, CHALLENGED)
    page.evaluate("_pf.execute()")
    expect(page.get_by_role("dialog", name="3-D Secure")).to_contain_text("Pay AUD 12.5")
    expect(
        page.frame_locator("[data-testid=payfurl-challenge]").get_by_test_id("card")
    ).to_have_text("VISA •••• 3220")


def test_a_payer_who_passes_hands_over_a_verified_token(challenged: Any, sandbox: Box) -> None:
    challenged.frame_locator("[data-testid=payfurl-challenge]").get_by_test_id("pass").click()
    charge = sandbox.call(
        "POST", "/charge/token", {"token": told(challenged)["token"], "amount": 12.5}
    )
    assert (charge["status"], charge["threeDsVerified"]) == ("SUCCESS", True)
    expect(challenged.get_by_test_id("payfurl-dialog")).to_have_count(0)


def test_a_payer_who_does_not_pass_or_closes_the_challenge_hands_over_nothing(
    challenged: Any,
) -> None:
    frame = challenged.frame_locator("[data-testid=payfurl-challenge]")
    cancelled = "3-D Secure was cancelled"
    ways = [
        (
            lambda: frame.get_by_test_id("fail").click(),
            "Your bank could not confirm that it is you. Try again, or try another card.",
        ),
        (lambda: frame.get_by_test_id("cancel").click(), cancelled),
        (lambda: challenged.get_by_test_id("payfurl-cancel").click(), cancelled),
        (lambda: challenged.keyboard.press("Escape"), cancelled),
    ]
    for place, (refuse, words) in enumerate(ways):
        if place:
            challenge(challenged)
        refuse()
        assert told(challenged, place) == words
        expect(challenged.get_by_test_id("payfurl-dialog")).to_have_count(0)
    assert challenged.evaluate("told.length") == len(ways)


def test_without_an_email_the_charge_is_challenged_as_before(elsewhere: Any, sandbox: Box) -> None:
    page = elsewhere(
        "payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD', "
        f"{{ threeDSEmail: undefined }}){KEEP};"
    )
    type_card(page, CHALLENGED)
    page.evaluate("_pf.execute()")
    charge = sandbox.call("POST", "/charge/token", {"token": told(page)["token"], "amount": 1})
    assert charge["status"] == "PENDING_CHECKOUT"


# A billing platform's page, which has the card itself.


def billed(elsewhere: Any, call: str) -> Any:
    """A page that calls as the billing platform's does: its callbacks first, then what begins."""
    return elsewhere(f"const pf = payfurl.init('sandbox', key); pf{KEEP}; pf.{call};")


def with_card(number: str, provider: str = DUMMY) -> str:
    values = [
        None,
        provider,
        number,
        "12/40",
        "Ann Example",
        CCV,
        "ann@example.com",
        "12.50",
        "AUD",
    ]
    return f"tokeniseWith3Ds(...{json.dumps(values)})"


def test_a_page_that_has_the_card_itself_gets_a_token(elsewhere: Any, sandbox: Box) -> None:
    got = told(billed(elsewhere, with_card(VISA)))
    assert got["transactionId"] == ""
    charge = sandbox.call(
        "POST", "/charge/token", {"token": got["token"], "amount": "12.50", "currency": "AUD"}
    )
    assert (charge["status"], charge["paymentInformation"]["card"]["cardholder"]) == (
        "SUCCESS",
        "Ann Example",
    )


def test_a_page_that_has_the_card_itself_challenges_its_payer(elsewhere: Any, sandbox: Box) -> None:
    page = billed(elsewhere, with_card(CHALLENGED))
    expect(page.get_by_role("dialog", name="3-D Secure")).to_contain_text("Pay AUD 12.5")
    assert page.evaluate("told.length") == 0
    page.frame_locator("[data-testid=payfurl-challenge]").get_by_test_id("pass").click()
    charge = sandbox.call("POST", "/charge/token", {"token": told(page)["token"], "amount": 12.5})
    assert (charge["status"], charge["threeDsVerified"]) == ("SUCCESS", True)


def test_a_page_that_has_the_card_itself_learns_why_there_is_no_token(
    elsewhere: Any, page: Any
) -> None:
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    billed(elsewhere, with_card(CHALLENGED))
    page.get_by_test_id("payfurl-cancel").click()
    assert told(page) == {"error": "3-D Secure was cancelled"}
    for wrong in (
        with_card("4111111111111112"),
        with_card(VISA, "no-such-provider"),
        with_card(VISA, VISA),
    ):
        billed(elsewhere, wrong)
        assert told(page)["error"].startswith("The payment could not be made. Nothing was taken")
    assert "Invalid Card Number" in "".join(said)
    assert "no-such-provider" in "".join(said)
    assert VISA not in "".join(said)


def test_a_token_of_the_pages_server_is_handed_over_and_the_console_says_without_what(
    elsewhere: Any, page: Any, sandbox: Box
) -> None:
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    card = {
        "cardNumber": CHALLENGED,
        "expiryDate": "12/40",
        "ccv": CCV,
        "cardholder": "Ann Example",
    }
    token = sandbox.call("POST", "/token/card", {"providerId": DUMMY, "paymentInformation": card})[
        "tokenId"
    ]
    billed(elsewhere, f"addThreeDsWithToken('{token}', 'ann@example.com', '12.50', 'AUD')")
    assert told(page) == {"token": token, "transactionId": ""}
    assert (
        "addThreeDsWithToken: a token that is there already is handed over without a challenge"
        in "".join(said)
    )
    charge = sandbox.call("POST", "/charge/token", {"token": token, "amount": 12.5})
    assert charge["status"] == "PENDING_CHECKOUT"


def test_a_token_that_is_not_there_is_not_handed_over(elsewhere: Any) -> None:
    page = billed(
        elsewhere, "addThreeDsWithToken('no-such-token', 'ann@example.com', '12.50', 'AUD')"
    )
    assert told(page)["error"].startswith("The payment could not be made. Nothing was taken")


# The drop-in, the messages of older versions, and what is not simulated.


def test_a_drop_in_offers_every_way_to_pay_of_the_account(elsewhere: Any, sandbox: Box) -> None:
    offered(sandbox)
    page = elsewhere(
        "const messages = [];"
        "addEventListener('message', ({ data }) => messages.push(`${data.status} "
        "${data.component}`));"
        f"payfurl.init('sandbox', key, true).addDropIn('card', 12.5, 'AUD', {{}}){EXTRA}{KEEP};"
    )
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_text(["Card", "PayPal", "Google Pay", "PayTo", "Zip", "PayID"])
    expect(page.locator("#combined-tab0")).to_have_attribute("aria-selected", "true")
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="PayPal")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="PayPal")).to_be_visible()
    page.get_by_test_id("payfurl-paypal").click()
    page.get_by_test_id("payfurl-approve").click()
    check_charge(sandbox, told(page)["transactionId"], "PAYPAL", "/charge/checkout")
    page.locator("#combined-tab1").press("Home")
    type_card(page)
    page.evaluate("_pf.execute()")
    assert told(page, 1)["token"]
    messages = page.evaluate("messages")
    assert messages[:4] == ["activate card", "checkout paypal", "checkout paypal", "activate card"]


def test_the_messages_of_older_versions_are_sent(elsewhere: Any) -> None:
    page = elsewhere(
        "window.addEventListener('message', ({ data }) => told.push(data));"
        "payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD').addPaypal('pay', 1, "
        "'AUD');"
    )
    fields(page).get_by_label("Card number").focus()
    assert told(page) == {"status": "activate", "component": "card"}
    page.get_by_test_id("payfurl-paypal").click()
    assert told(page, 1) == {"status": "checkout", "component": "paypal"}


@pytest.mark.parametrize("debug", ["true", "false"])
def test_options_that_are_not_simulated_say_so_when_asked(
    elsewhere: Any, page: Any, debug: str
) -> None:
    lines: list[str] = []
    page.on("console", lambda line: lines.append(line.text))
    elsewhere(
        f"payfurl.init('sandbox', key, {debug}).preloadClickToPay().addCardLeastCost('card', 1, "
        "'AUD',"
        "{ style: 'compact', createNetworkToken: true, tokenAuthenticationEnabled: false, "
        "clickToPayEnabled: true });"
        "told.push(1);"
    )
    told(page)
    said = [
        line.split(":")[1].strip()
        for line in lines
        if line.startswith("payfurl:") and "init" not in line
    ]
    assert said == (
        ["preloadClickToPay", "createNetworkToken", "clickToPayEnabled"] if debug == "true" else []
    )


def test_a_payment_whose_place_is_gone_does_not_block_the_next(elsewhere: Any) -> None:
    page = elsewhere(
        "payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD').addPaypal('pay', 2, "
        f"'AUD'){KEEP};"
    )
    type_card(page)
    page.evaluate("payfurl.execute(); document.getElementById('card').remove();")
    page.get_by_test_id("payfurl-paypal").click()
    page.get_by_test_id("payfurl-approve").click()
    assert told(page)["transactionId"]


def test_an_amount_that_changes_while_the_payer_looks_at_another_is_not_charged(
    elsewhere: Any, sandbox: Box
) -> None:
    page = elsewhere(f"payfurl.init('sandbox', key).addPaypal('pay', 2, 'AUD'){KEEP};")
    page.get_by_test_id("payfurl-paypal").click()
    expect(page.get_by_test_id("payfurl-dialog")).to_contain_text("Pay AUD 2?")
    page.evaluate("payfurl.setAmount(3)")
    page.get_by_test_id("payfurl-approve").click()
    assert sandbox.call("GET", f"/charge/{told(page)['transactionId']}")["amount"] == 2


def test_the_fields_look_as_the_page_around_them(elsewhere: Any) -> None:
    style = (
        "color: rgb(250, 240, 230); background: rgb(10, 20, 30); font: 20px/30px monospace; "
        "color-scheme: dark"
    )
    page = elsewhere(
        "payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD');",
        f'<main style="{style}"><p id="card"></p></main>',
    )
    look = (
        fields(page)
        .get_by_text("Card number")
        .evaluate(
            "(at) => { const own = getComputedStyle(at), page = "
            "getComputedStyle(document.documentElement);"
            "return [own.color, own.fontSize, own.lineHeight, page.backgroundColor, "
            "page.colorScheme]; }"
        )
    )
    assert look == ["rgb(250, 240, 230)", "20px", "30px", "rgb(10, 20, 30)", "dark"]
    frame = page.get_by_test_id("payfurl-card")
    assert frame.bounding_box()["height"] == fields(page).locator("form").bounding_box()["height"]


def test_a_form_that_is_added_again_or_moved_works_anew(elsewhere: Any) -> None:
    page = elsewhere(f"payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD'){KEEP};")
    type_card(page)
    page.evaluate("payfurl.init('sandbox', key).addCardLeastCost('card', 2, 'AUD')")
    type_card(page)
    page.evaluate("document.body.append(document.getElementById('card'))")
    type_card(page)
    page.evaluate("payfurl.execute()")
    assert told(page)["token"]


def test_a_test_card_can_be_filled_in_by_script(elsewhere: Any) -> None:
    card = json.dumps({"cardNumber": VISA, "expiryDate": "12/40", "ccv": "123"})
    page = elsewhere(
        "payfurl.init('sandbox', key).addCardLeastCost('card', 1, 'AUD').fillTestCard('card', "
        f"{card}){KEEP}.execute();"
    )
    assert told(page)["token"]


# A shop with every button.


def test_every_button_shows_where_there_is_a_provider_of_each_kind(
    elsewhere: Any, sandbox: Box
) -> None:
    text = (ROOT / "scenarios" / "one-provider-of-each-kind.yaml").read_text()
    put = sandbox.http.put(
        "/__admin/scenarios", content=text, headers={"content-type": "application/yaml"}
    )
    assert put.status_code == 200, put.text
    page = elsewhere(f"payfurl.init('sandbox', key).addDropIn('card', 12.5, 'AUD'){KEEP};")
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_count(3 + len(CHECKOUTS))
    assert {"Card", "PayPal", "PayTo", "PayID", "Zip", "Pay by Account", "UPI"} <= set(
        tabs.all_inner_texts()
    )
    expect(page.locator("[role=tabpanel] .payfurl-button")).to_have_count(1 + len(CHECKOUTS))
    page.get_by_role("tab", name="Touchngo").click()
    page.get_by_test_id("payfurl-touchngo").click()
    page.get_by_test_id("payfurl-approve").click()
    charge = sandbox.call("GET", f"/charge/{told(page)['transactionId']}")
    assert (charge["providerId"], charge["paymentInformation"]["type"]) == ("touchngo", "TOUCHNGO")


def test_the_merchant_page_of_the_documentation_runs_under_a_strict_policy(
    page: Any, sandbox: Box, other_site: Site
) -> None:
    text = (
        (ROOT / "docs" / "browser.md")
        .read_text("utf-8")
        .replace("http://localhost:4111", sandbox.url)
    )
    html, script = (
        text.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("html", "js")
    )
    other_site.pages.update({"/": html, "/shop.js": script.replace("pk_demo", sandbox.public_key)})
    other_site.headers["content-security-policy"] = (
        f"default-src 'none'; script-src 'self' {sandbox.url}; frame-src {sandbox.url}; "
        f"connect-src {sandbox.url}"
    )
    page.goto(f"{other_site.url}/")
    type_card(page)
    page.get_by_role("button", name="Pay").click()
    expect(page.locator("#said")).to_contain_text("Charge this token on your server: ")
