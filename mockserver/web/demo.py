"""The demo shop ``/demo``: a page with the client script, and the shop's server that charges what
the script yields.

It shows how a checkout with the script works from end to end, in a browser, without a line of the
reader's own. It is a shop like any other: the page knows a public key, the server charges tokens
with the secret key through the ordinary operations, follows a 3-D Secure challenge and takes the
payer back. ``?key=`` names the public key.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import cast
from urllib.parse import urlencode

from mockserver.domain.errors import Unauthorised
from mockserver.domain.reading import whole_of
from mockserver.domain.states import ChargeState
from mockserver.engine.sandbox import Sandbox
from mockserver.web.page import NoSuchPage, PageCall, carry_out, html, redirect
from mockserver.web.payer_words import COMPLETE, OUTCOMES, failure_of, paid_with, refusal_of
from mockserver.web.request import Reply, Request
from mockserver.web.routes import ROUTES
from mockserver.web.world import World
from mockserver.wire.jsonio import loads
from mockserver.wire.profile import profile_of

DEMO_KEY = "pk_demo"
PRICE = Decimal("24.00")
CURRENCY = "AUD"
MOST = 5
"""Things that a cart of the demo shop can hold."""

TRY = ("Approved", "Insufficient funds", "Do not honour", "3-D Secure")
"""Test cards that the page offers to fill in; its script knows their numbers (test values)."""

_CHARGE_TOKEN = next(row for row in ROUTES if (row.method, row.path) == ("POST", "/charge/token"))


def sandbox(world: World, request: Request) -> Sandbox | None:
    """The sandbox of the public key in the address."""
    try:
        return world.directory.of_public_key(request.parameters.get("key", DEMO_KEY))
    except Unauthorised:
        return None


def shop(call: PageCall) -> Reply:
    """The page on which a payer fills a cart and types a card."""
    return _shop_html(_sandbox_of(call), None, 200)


def order(call: PageCall) -> Reply:
    """What the shop's server does with a token, or with the id of a charge that the script made."""
    sandbox = _sandbox_of(call)
    token, transaction = call.form.get("token", ""), call.form.get("transactionId", "")
    if transaction:
        return redirect(_thanks_address(sandbox, chargeId=transaction))
    # The price is the shop's own: of what a browser sends only the quantity counts, within bounds.
    wanted = whole_of(call.form.get("quantity", ""), 0, 999) or 1
    quantity = min(MOST, max(1, wanted))
    body = {
        "token": token,
        "amount": str(PRICE * quantity),
        "currency": CURRENCY,
        "reference": "Demo order",
        "threeDSNotificationUrl": f"{sandbox.config.public_url}{_thanks_address(sandbox)}",
    }
    reply = carry_out(call, _CHARGE_TOKEN, body, path=_CHARGE_TOKEN.path)
    if reply.status is None or reply.status >= 400:
        return _shop_html(sandbox, refusal_of(reply.body), 402)
    answer = cast(Mapping[str, str], loads(reply.text()))
    charge_id = answer["chargeId"]
    if answer["status"] == ChargeState.PENDING_CHECKOUT:
        return redirect(f"/3ds/{charge_id}")
    return redirect(_thanks_address(sandbox, chargeId=charge_id))


def challenge_ended(call: PageCall) -> Reply:
    """The shop's server is notified that a challenge has ended; it looks the charge up when the
    payer comes back."""
    return Reply(204, b"", headers=())


def thanks(call: PageCall) -> Reply:
    """What became of an order: thanks, or the shop again."""
    sandbox = _sandbox_of(call)
    charge = sandbox.charges.get(call.query.get("chargeId", ""))
    if charge is None:
        return _shop_html(sandbox, "No such order.", 404)
    if charge.status is ChargeState.FAILED:
        return _shop_html(sandbox, f"{failure_of(charge)} Nothing was taken.", 402)
    if charge.status is ChargeState.PENDING_CHECKOUT:
        alert = "The payment waits for the payer. Nothing was taken."
        return _shop_html(sandbox, alert, 402)
    title, text = OUTCOMES[charge.status]
    if charge.status in COMPLETE:
        text = "Your mug is on its way."
    return html(
        200,
        "demo_thanks.html",
        charge=charge,
        key=sandbox.public_key,
        title=title,
        text=text,
        paid_with=paid_with(charge.instrument),
        status=profile_of(sandbox.assumed).status[charge.status],
    )


def _shop_html(sandbox: Sandbox, alert: str | None, status: int) -> Reply:
    """The shop's page, with an ``alert`` for a payer whose payment was not made."""
    return html(
        status,
        "demo.html",
        scripts=True,
        frames=True,
        reaches=[sandbox.config.public_url],
        price=PRICE,
        currency=CURRENCY,
        most=MOST,
        cards=TRY,
        alert=alert,
        key=sandbox.public_key,
    )


def _sandbox_of(call: PageCall) -> Sandbox:
    """The sandbox of the shop. Raises ``NoSuchPage`` where the key in the address opens none."""
    if call.sandbox is None:
        give = "Give one: /demo?key=pk_..., where sk_... is your secret key."
        raise NoSuchPage(
            "The shop is closed", f"No sandbox has the public key of this address. {give}"
        )
    return call.sandbox


def _thanks_address(sandbox: Sandbox, **query: str) -> str:
    """The page to which the payer comes back."""
    return f"/demo/thanks?{urlencode({'key': sandbox.public_key, **query})}"
