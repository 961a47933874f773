"""The 3-D Secure pages: a payer passes, fails or cancels the challenge of a charge (``/3ds/<chargeId>``), or of a
payment token before it is used (``/3ds/token/<tokenId>``).
They work without JavaScript; in a frame a script posts the answer to the page around it. Their forms may be sent
twice. Sources: docs/spec/service.md, Charge (``threeDsRedirectUrl``); docs/spec/published-facts.md, 7.1
(``threeDSEmail``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.sources import ChallengeAnswer
from mockserver.domain.states import ChargeState
from mockserver.domain.token import Token
from mockserver.engine import payment_links, three_ds
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import unnoted
from mockserver.web.page import NoSuchPage, PageCall, carry_out, holding, html, redirect, web_address, with_query
from mockserver.web.payer import OUTCOMES, failure_of, paid_with
from mockserver.web.request import Reply
from mockserver.web.routes import FORM_ROUTES
from mockserver.wire.profile import profile_of

_NO_ANSWER = "Choose one of the three answers."
_TOKEN_OUTCOMES: Mapping[ChallengeAnswer | None, tuple[str, str]] = {
    ChallengeAnswer.PASS: ("Thank you", "You are verified. The shop can take the payment now."),
    ChallengeAnswer.FAIL: ("Not verified", "You were not verified. Nothing was paid."),
    ChallengeAnswer.CANCEL: ("Cancelled", "You cancelled. Nothing was paid."),
    None: ("Too late", "Your answer is not needed any more. Nothing was paid."),
}


sandbox = holding("charges", "charge_id")
token_sandbox = holding("tokens", "token_id")


def page(call: PageCall) -> Reply:
    """The challenge, or what became of it."""
    sandbox, challenged = _found(call)
    if sandbox.watch is not None and isinstance(challenged, Charge):
        sandbox.watch.unfinished.visited(challenged.charge_id)
    return _shown(sandbox, challenged)


def answer(call: PageCall) -> Reply:
    """Take the payer's answer, and show how the challenge ended: of a charge, in the shop if it has said where."""
    _, before = _found(call)
    op = "charge.challenge" if isinstance(before, Charge) else "token.challenge"
    reply = carry_out(call, FORM_ROUTES[op], {"result": call.form.get("result", "")})
    sandbox, challenged = _found(call)
    if reply.fault is not None:
        return _shown(sandbox, challenged)
    if reply.status is None or reply.status >= 400:
        return _shown(sandbox, challenged, fault=_NO_ANSWER)
    back = return_address(sandbox, challenged) if isinstance(challenged, Charge) else None
    return redirect(back or sandbox.page(three_ds.page(challenged)))


def return_address(sandbox: Sandbox, charge: Charge) -> str | None:
    """Where the shop wants its payer back, the charge's id and status added: its notification address, or the page of
    the payment link."""
    link = _link_of(sandbox, charge)
    address = payment_links.address(unnoted(sandbox), link) if link else web_address(charge.three_ds_notification_url)
    if address is None:
        return None
    return with_query(address, chargeId=charge.charge_id, status=profile_of(sandbox.assumed).status[charge.status])


def _found(call: PageCall) -> tuple[Sandbox, Charge | Token]:
    found: Charge | Token | None = None
    if call.sandbox is not None and "charge_id" in call.path:
        found = call.sandbox.charges.get(call.path["charge_id"])
    elif call.sandbox is not None:
        found = call.sandbox.tokens.get(call.path["token_id"])
    if call.sandbox is None or found is None or not found.challenged:
        raise NoSuchPage("No payment waits here", "The address names no 3-D Secure challenge.")
    return call.sandbox, found


def _shown(sandbox: Sandbox, challenged: Charge | Token, fault: str | None = None) -> Reply:
    shown = _of_charge(sandbox, challenged) if isinstance(challenged, Charge) else _of_token(challenged)
    status = 200 if fault is None else 400
    return html(status, "three_ds.html", scripts=not shown["waits"], fault=fault, **shown)


def _of_charge(sandbox: Sandbox, charge: Charge) -> dict[str, Any]:
    (title, text), link = OUTCOMES[charge.status], _link_of(sandbox, charge)
    back = return_address(sandbox, charge)
    return {
        "charge": charge,
        "card": paid_with(charge.instrument) if charge.instrument.card else None,
        "waits": charge.status is ChargeState.PENDING_CHECKOUT,
        "title": title,
        "text": text,
        "answer": _answer_of(charge),
        "status": profile_of(sandbox.assumed).status[charge.status],
        "reason": failure_of(charge) if charge.status is ChargeState.FAILED else None,
        "back": back,
        # The payer may be redirected to one and then to the other.
        "reaches": [back, web_address(link.redirect_url) if link else None],
    }


def _of_token(token: Token) -> dict[str, Any]:
    title, text = _TOKEN_OUTCOMES[token.answer]
    return {
        "charge": None,
        "card": paid_with(token.instrument),
        "waits": token.waits,
        "title": title,
        "text": text,
        "answer": token.answer or ChallengeAnswer.FAIL,
        "back": None,
    }


def _answer_of(charge: Charge) -> ChallengeAnswer:
    if charge.status is not ChargeState.FAILED:
        return ChallengeAnswer.PASS
    code = charge.failed_attempts[-1].error_code if charge.failed_attempts else None
    return ChallengeAnswer.CANCEL if code == Code.CUSTOMER_CANCELLATION else ChallengeAnswer.FAIL


def _link_of(sandbox: Sandbox, charge: Charge) -> PaymentLink | None:
    return sandbox.payment_links.get(charge.payment_link_id) if charge.payment_link_id else None
