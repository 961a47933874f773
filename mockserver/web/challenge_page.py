"""The pages on which a payer passes, fails or cancels the challenge of 3-D Secure: of a charge
(``/3ds/<chargeId>``), or of a payment token before it is used (``/3ds/token/<tokenId>``).

The form may be sent twice, by a double click or with Back: the second time it shows how the
challenge ended. Sources: docs/spec/service.md, Charge (``threeDsRedirectUrl``);
docs/spec/published-facts.md, 7.1 (``threeDSEmail``).
"""

from collections.abc import Mapping
from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.sources import ChallengeAnswer
from mockserver.domain.states import ChargeState
from mockserver.domain.token import Token
from mockserver.engine import payment_links, three_ds
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import unnoted
from mockserver.web.page import (
    NoSuchPage,
    PageCall,
    carry_out,
    html,
    redirect,
    web_address,
    with_query,
)
from mockserver.web.payer_words import OUTCOMES, failure_of, paid_with
from mockserver.web.request import Reply
from mockserver.web.routes import FORM_ROUTES
from mockserver.wire.profile import profile_of

_TOKEN_OUTCOMES: Mapping[ChallengeAnswer | None, tuple[str, str]] = {
    ChallengeAnswer.PASS: ("Thank you", "You are verified. The shop can take the payment now."),
    ChallengeAnswer.FAIL: ("Not verified", "You were not verified. Nothing was paid."),
    ChallengeAnswer.CANCEL: ("Cancelled", "You cancelled. Nothing was paid."),
    None: ("Too late", "Your answer is not needed any more. Nothing was paid."),
}


def challenge(call: PageCall) -> Reply:
    """The challenge, or what became of it."""
    sandbox, challenged = _challenged(call)
    if isinstance(challenged, Charge):
        # A shop that never sends its payer here is told so by a finding.
        for observer in sandbox.observers:
            observer.challenge_opened(challenged.charge_id)
    return _challenge_html(sandbox, challenged)


def answer(call: PageCall) -> Reply:
    """Take the payer's answer, and show how the challenge ended: of a charge, in the shop if it has
    said where."""
    _, before = _challenged(call)
    op = "charge.challenge" if isinstance(before, Charge) else "token.challenge"
    reply = carry_out(call, FORM_ROUTES[op], {"result": call.form.get("result", "")})
    # Objects never change: the one after the answer is another.
    sandbox, challenged = _challenged(call)
    if reply.fault is not None:
        # It strikes this page, whatever that shows. It is no wrong answer of the payer's.
        return _challenge_html(sandbox, challenged)
    if reply.status is None or reply.status >= 400:
        return _challenge_html(sandbox, challenged, fault="Choose one of the three answers.")
    back = None
    if isinstance(challenged, Charge):
        back = return_address(sandbox, challenged)
    # A token has no shop to go back to: its script waits in the page around this one.
    return redirect(back or sandbox.page(three_ds.page(challenged)))


def return_address(sandbox: Sandbox, charge: Charge) -> str | None:
    """Where the shop wants its payer back, the charge's id and status added: the page of the
    payment link that it was paid by, else the notification address of the charge. None without
    either: the payer stays here, and the page around this one is told."""
    link = sandbox.payment_links.get(charge.payment_link_id or "")
    address = web_address(charge.three_ds_notification_url)
    if link is not None:
        address = payment_links.address(unnoted(sandbox), link)
    if address is None:
        return None
    status = profile_of(sandbox.assumed).status[charge.status]
    return with_query(address, chargeId=charge.charge_id, status=status)


def _challenged(call: PageCall) -> tuple[Sandbox, Charge | Token]:
    """The charge or the token that the address names. Raises ``NoSuchPage`` for what was never
    challenged."""
    sandbox = call.sandbox
    if sandbox is not None:
        challenged: Charge | Token | None
        if "charge_id" in call.path:
            challenged = sandbox.charges.get(call.path["charge_id"])
        else:
            challenged = sandbox.tokens.get(call.path["token_id"])
        if challenged is not None and challenged.challenged:
            return sandbox, challenged
    raise NoSuchPage("No payment waits here", "The address names no 3-D Secure challenge.")


def _challenge_html(
    sandbox: Sandbox, challenged: Charge | Token, fault: str | None = None
) -> Reply:
    """The page of a challenge. Once it has ended, a script tells the page that holds it in a
    frame."""
    if isinstance(challenged, Charge):
        values = _values_of_charge(sandbox, challenged)
    else:
        values = _values_of_token(challenged)
    status = 400 if fault else 200
    return html(status, "three_ds.html", scripts=not values["waits"], fault=fault, **values)


def _values_of_charge(sandbox: Sandbox, charge: Charge) -> dict[str, Any]:
    """What the template shows of the challenge of a charge."""
    title, text = OUTCOMES[charge.status]
    card = reason = None
    if charge.instrument.card is not None:
        card = paid_with(charge.instrument)
    if charge.status is ChargeState.FAILED:
        reason = failure_of(charge)
    back = return_address(sandbox, charge)
    # The payer may be redirected to one and then to the other.
    reaches = [back]
    link = sandbox.payment_links.get(charge.payment_link_id or "")
    if link is not None:
        reaches.append(web_address(link.redirect_url))
    return {
        "charge": charge,
        "card": card,
        "waits": charge.status is ChargeState.PENDING_CHECKOUT,
        "title": title,
        "text": text,
        "answer": _answer_of(charge),
        "status": profile_of(sandbox.assumed).status[charge.status],
        "reason": reason,
        "back": back,
        "reaches": reaches,
    }


def _values_of_token(token: Token) -> dict[str, Any]:
    """What the template shows of the challenge of a token, which nothing has been paid with yet."""
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
    """What the payer answered: a charge does not keep it, but what became of it shows it."""
    if charge.status is not ChargeState.FAILED:
        return ChallengeAnswer.PASS
    if charge.failed_attempts:
        newest = charge.failed_attempts[-1]
        if newest.error_code == Code.CUSTOMER_CANCELLATION:
            return ChallengeAnswer.CANCEL
    return ChallengeAnswer.FAIL
