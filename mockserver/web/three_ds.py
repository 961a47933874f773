"""The 3-D Secure pages: a payer passes, fails or cancels the challenge of a charge (``/3ds/<chargeId>``), or of a
payment token before it is used (``/3ds/token/<tokenId>``).

They work without JavaScript; in a frame a script posts the answer to the page around it. Their forms may be sent
twice. Sources: docs/spec/service.md, Charge (``threeDsRedirectUrl``); docs/spec/published-facts.md, 7.1
(``threeDSEmail``).
"""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.sources import ChallengeAnswer
from mockserver.domain.states import ChargeState
from mockserver.domain.token import Token
from mockserver.engine import payment_links, three_ds
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import unnoted
from mockserver.web.endpoints import tokens
from mockserver.web.endpoints.charges import shown
from mockserver.web.endpoints.use_case import UseCase
from mockserver.web.page import (
    PageCall,
    carry_out,
    holding,
    html,
    origin_of,
    policy,
    redirect,
    spoilt,
    unknown,
    web_address,
    with_query,
)
from mockserver.web.payer_words import OUTCOMES, failure_of, paid_with
from mockserver.web.request import Reply
from mockserver.web.routes import Route
from mockserver.web.templating import render
from mockserver.wire.charge_bodies import ChallengeInput
from mockserver.wire.charges import ChargeReply
from mockserver.wire.profile import profile_of
from mockserver.wire.replies import reply_type

_NO_CHALLENGE = ("No payment waits here", "The address names no 3-D Secure challenge.")
_NO_ANSWER = "Choose one of the three answers."
_TOKEN_OUTCOMES: Mapping[ChallengeAnswer | None, tuple[str, str]] = {
    ChallengeAnswer.PASS: ("Thank you", "You are verified. The shop can take the payment now."),
    ChallengeAnswer.FAIL: ("Not verified", "You were not verified. Nothing was paid."),
    ChallengeAnswer.CANCEL: ("Cancelled", "You cancelled. Nothing was paid."),
    None: ("Too late", "Your answer is not needed any more. Nothing was paid."),
}


ANSWER = Route(
    method="POST",
    path="/3ds/{charge_id}",
    op="charge.challenge",
    handle=UseCase("Answer a challenge.", three_ds.answer, shown),
    reply=ChargeReply,
    source="service document, Charge: threeDsRedirectUrl",
    body=ChallengeInput,
    summary="Answer a 3-D Secure challenge",
)
TOKEN_ANSWER = Route(
    method="POST",
    path="/3ds/token/{token_id}",
    op="token.challenge",
    handle=UseCase("Answer a challenge before a token is used.", three_ds.answer_for_token, tokens.shown),
    reply=reply_type("TokenReply"),
    source="published facts, 7.1: threeDSEmail",
    body=ChallengeInput,
    summary="Answer a 3-D Secure challenge before a token is used",
)


sandbox = holding("charges", "charge_id")
token_sandbox = holding("tokens", "token_id")


def page(call: PageCall) -> Reply:
    """The challenge, or what became of it."""
    sandbox, charge = _found(call)
    if sandbox is None or charge is None:
        return unknown(*_NO_CHALLENGE)
    if sandbox.watch is not None:
        sandbox.watch.visited(charge.charge_id)
    return _shown(sandbox, charge)


def answer(call: PageCall) -> Reply:
    """Take the payer's answer and send the payer back to the shop, or to what became of the charge."""
    sandbox, charge = _found(call)
    if sandbox is None or charge is None:
        return unknown(*_NO_CHALLENGE)
    reply = carry_out(call, ANSWER, {"result": call.form.get("result", "")})
    charge = sandbox.charges.get(charge.charge_id) or charge
    if reply.fault is not None:
        return spoilt(_shown(sandbox, charge), reply)
    if reply.status is None or reply.status >= 400:
        return spoilt(_shown(sandbox, charge, fault=_NO_ANSWER), reply)
    return redirect(return_address(sandbox, charge) or sandbox.page(three_ds.page(charge)), reply)


def token_page(call: PageCall) -> Reply:
    """The challenge before a token is used, or how it ended."""
    sandbox, token = _found_token(call)
    return _token_shown(token) if sandbox is not None and token is not None else unknown(*_NO_CHALLENGE)


def token_answer(call: PageCall) -> Reply:
    """Take the payer's answer and show how the challenge ended."""
    sandbox, token = _found_token(call)
    if sandbox is None or token is None:
        return unknown(*_NO_CHALLENGE)
    reply = carry_out(call, TOKEN_ANSWER, {"result": call.form.get("result", "")})
    token = sandbox.tokens.get(token.token_id) or token
    if reply.fault is not None:
        return spoilt(_token_shown(token), reply)
    if reply.status is None or reply.status >= 400:
        return spoilt(_token_shown(token, fault=_NO_ANSWER), reply)
    return redirect(sandbox.page(three_ds.page(token)), reply)


def return_address(sandbox: Sandbox, charge: Charge) -> str | None:
    """Where the shop wants its payer back, the charge's id and status added: its notification address, or the page of
    the payment link."""
    link = _link_of(sandbox, charge)
    address = payment_links.address(unnoted(sandbox), link) if link else web_address(charge.three_ds_notification_url)
    if address is None:
        return None
    return with_query(address, chargeId=charge.charge_id, status=profile_of(sandbox.assumed).status[charge.status])


def _found(call: PageCall) -> tuple[Sandbox | None, Charge | None]:
    charge = call.sandbox.charges.get(call.path["charge_id"]) if call.sandbox is not None else None
    return (call.sandbox, charge) if charge is not None and charge.challenged else (None, None)


def _found_token(call: PageCall) -> tuple[Sandbox | None, Token | None]:
    token = call.sandbox.tokens.get(call.path["token_id"]) if call.sandbox is not None else None
    return (call.sandbox, token) if token is not None and token.challenged else (None, None)


def _shown(sandbox: Sandbox, charge: Charge, fault: str | None = None) -> Reply:
    title, text = OUTCOMES[charge.status]
    waits = charge.status is ChargeState.PENDING_CHECKOUT
    body = render(
        "three_ds.html",
        charge=charge,
        card=paid_with(charge.instrument) if charge.instrument.card else None,
        waits=waits,
        title=title,
        text=text,
        answer=_answer_of(charge),
        status=profile_of(sandbox.assumed).status[charge.status],
        reason=f"{failure_of(charge)}." if charge.status is ChargeState.FAILED else None,
        back=return_address(sandbox, charge),
        fault=fault,
    )
    return html(200 if fault is None else 400, body, policy(scripts=not waits, forms_to=_reach(sandbox, charge)))


def _answer_of(charge: Charge) -> ChallengeAnswer:
    if charge.status is not ChargeState.FAILED:
        return ChallengeAnswer.PASS
    code = charge.failed_attempts[-1].error_code if charge.failed_attempts else None
    return ChallengeAnswer.CANCEL if code == Code.CUSTOMER_CANCELLATION else ChallengeAnswer.FAIL


def _token_shown(token: Token, fault: str | None = None) -> Reply:
    title, text = _TOKEN_OUTCOMES[token.answer]
    body = render(
        "three_ds.html",
        charge=None,
        card=paid_with(token.instrument),
        waits=token.waits,
        title=title,
        text=text,
        answer=token.answer or ChallengeAnswer.FAIL,
        back=None,
        fault=fault,
    )
    return html(200 if fault is None else 400, body, policy(scripts=not token.waits))


def _reach(sandbox: Sandbox, charge: Charge) -> str:
    """Every origin that the payer's answer may be redirected to, step after step."""
    link = _link_of(sandbox, charge)
    places = [return_address(sandbox, charge), web_address(link.redirect_url) if link else None]
    return " ".join(["'self'", *dict.fromkeys(origin_of(place) for place in places if place)])


def _link_of(sandbox: Sandbox, charge: Charge) -> PaymentLink | None:
    return sandbox.payment_links.get(charge.payment_link_id) if charge.payment_link_id else None
