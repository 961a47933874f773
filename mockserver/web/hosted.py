"""The hosted payment page of a payment link (``/pay/<paymentLinkId>``): works without JavaScript, may be framed.

A view of the page pays at most once: each form carries a key of its own, so that a double click or a reload is
answered with the charge that the first one made. Source: service document, Payment link; design of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.payment_link import LinkPaymentType, PaymentLink
from mockserver.domain.states import ChargeState
from mockserver.engine import payment_links, three_ds
from mockserver.engine.sandbox import Sandbox
from mockserver.web.endpoint import Reply
from mockserver.web.endpoints.charges import answered
from mockserver.web.page import Page, PageCall, carry_out, origin_of, policy, redirect, spoilt, web_address
from mockserver.web.route import Answer, Call, Route, Success
from mockserver.web.templating import render
from mockserver.wire.charges import ChargeReply
from mockserver.wire.payment_links import LinkPaymentInput

NAMES: Mapping[LinkPaymentType, str] = {
    LinkPaymentType.CARD: "Card",
    LinkPaymentType.PAYPAL: "PayPal",
    LinkPaymentType.APPLEPAY: "Apple Pay",
    LinkPaymentType.GOOGLEPAY: "Google Pay",
    LinkPaymentType.UPI: "UPI",
    LinkPaymentType.PAYTO: "PayTo",
    LinkPaymentType.PAYID: "PayID",
    LinkPaymentType.SHIFT: "Shift",
    LinkPaymentType.PESAPAL: "Pesapal",
    LinkPaymentType.PAYBYACCOUNT: "Pay by account",
    LinkPaymentType.PAYGLOCAL: "PayGlocal",
    LinkPaymentType.ZIP: "Zip",
}
"""Ways to pay as a payer reads them."""

DECLINED_BY_PAYER = "do_not_honour"
"""The outcome that the button "Decline" of a simulated way to pay asks for, as ``metadata.mock`` (test values)."""

_FIELD_OF_CODE = {Code.INVALID_CARD_NUMBER: "CardNumber"}
"""Faults whose error object names no field."""

_WORDS_OF_FIELD = {
    "CardNumber": "This is not a card number.",
    "Ccv": "Please write the 3 or 4 digits on the card.",
}
"""What a payer reads of a fault, where the words of the API speak to those who write programs."""

_KEPT = ("amount", "cardholder", "expiryDate")
"""Fields of a refused form that are shown again; number and ccv never are."""


def _paid(call: Call) -> ChargeReply | Answer:
    link = payment_links.get(call.box, call.path["payment_link_id"])
    return answered(call, payment_links.pay(call.box, link.payment_link_id, call.body.payment()))


PAY = Route(
    "POST",
    "/pay/{payment_link_id}",
    "payment_link.pay",
    _paid,
    ChargeReply,
    "service document, Payment link",
    body=LinkPaymentInput,
    success=Success.CREATED,
    summary="Pay on the page of a payment link",
)


@dataclass(slots=True)
class _View:
    """What a rendering of the form knows beside the link."""

    box: Sandbox
    link: PaymentLink
    key: str
    form: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    alert: str | None = None
    notice: str | None = None


def page(call: PageCall) -> Page:
    """The form, a simulated way to pay, what became of a charge, or why no payment is taken."""
    found = _found(call)
    if found is None:
        return _unknown()
    box, link = found
    charge = _charge_of(box, link, call.query.get("chargeId", ""))
    if charge is not None:
        return _after(box, link, charge, None)
    if not link.has_room:
        return _closed(link, 200)
    kind = _kind(link, call.query.get("type"))
    view = _View(box, link, _new_key(box))
    if call.query.get("cancelled"):
        view.notice = "Cancelled. Nothing was paid."
    if kind is None or kind is LinkPaymentType.CARD:
        return _form(view, 200)
    return _simulated(view, kind, 200)


def pay(call: PageCall) -> Page:
    """Take the payment and send the payer on; a declined payer may try again at once."""
    found = _found(call)
    if found is None:
        return _unknown()
    box, link = found
    form = call.form
    if form.get("result") == "cancel":
        return redirect(box.page(payment_links.page(link), cancelled="1"))
    key = form.get("attempt", "")
    reply = carry_out(call, PAY, box, _body(link, form))
    charge = _charge_of(box, link, link.attempts.get(key, ""))
    if charge is not None:
        return _after(box, link, charge, reply)
    if reply.status == 409 or not link.has_room:
        return spoilt(_closed(link, 409), reply)
    view = _View(box, link, key or _new_key(box), form, _errors(reply))
    kind = _kind(link, form.get("paymentType"))
    if not view.errors or "Attempt" in view.errors:
        view.alert = "This page is out of date. Please pay again." if view.errors else _message(reply)
        view.key = _new_key(box)
    status = reply.status or 503
    simulated = kind is not None and kind is not LinkPaymentType.CARD
    return spoilt(_simulated(view, kind, status) if simulated and kind else _form(view, status), reply)


def _body(link: PaymentLink, form: Mapping[str, str]) -> dict[str, object]:
    """The form as the body of the payment."""
    kind = form.get("paymentType") or LinkPaymentType.CARD.value
    metadata = dict(link.metadata or {})
    body: dict[str, object] = {"attempt": form.get("attempt", ""), "paymentType": kind}
    if link.amount is None:
        body["amount"] = form.get("amount", "").strip() or None
    if kind == LinkPaymentType.CARD.value:
        body["paymentInformation"] = {
            name: form.get(name, "").strip() for name in ("cardNumber", "expiryDate", "ccv", "cardholder")
        }
    elif form.get("result") == "decline":
        metadata["mock"] = DECLINED_BY_PAYER
    if metadata:
        body["metadata"] = metadata
    return body


def _after(box: Sandbox, link: PaymentLink, charge: Charge, reply: Reply | None) -> Page:
    """Where a payer goes whose charge has begun."""
    match charge.status:
        case ChargeState.PENDING_CHECKOUT:
            return redirect(box.page(three_ds.page(charge)), reply)
        case ChargeState.FAILED:
            if not link.has_room:
                return spoilt(_closed(link, 409), reply)
            view = _View(box, link, _new_key(box), alert=_reason(charge))
            if reply is not None and charge.instrument.card is not None:
                view.form = {
                    "cardholder": charge.instrument.card.cardholder or "",
                    "expiryDate": charge.instrument.card.expiry or "",
                    "amount": f"{charge.amount:f}",
                }
            return spoilt(_form(view, 402), reply)
        case _:
            away = away_address(link, charge)
            if away is not None:
                return redirect(away, reply)
            if reply is not None:
                return redirect(box.page(payment_links.page(link), chargeId=charge.charge_id), reply)
            return Page(200, render("paid.html", link=link, charge=charge), policy())


def away_address(link: PaymentLink, charge: Charge) -> str | None:
    """Where the merchant wants the payer after the payment, the charge's id added."""
    address = web_address(link.redirect_url)
    if address is None:
        return None
    parts = urlsplit(address)
    told = urlencode({"chargeId": charge.charge_id})
    return urlunsplit(parts._replace(query=f"{parts.query}&{told}" if parts.query else told))


def _form(view: _View, status: int) -> Page:
    link = view.link
    others = [kind for kind in LinkPaymentType if kind is not LinkPaymentType.CARD and link.takes(kind)]
    here = payment_links.page(link)
    body = render(
        "pay.html",
        **_shown(view),
        card=link.takes(LinkPaymentType.CARD),
        others=[(kind.value, NAMES[kind], view.box.page(here, type=kind.value)) for kind in others],
    )
    return Page(status, body, _policy(link))


def _simulated(view: _View, kind: LinkPaymentType, status: int) -> Page:
    declines = any(scenario.builtin for scenario in view.box.charter.scenarios)
    body = render("simulated.html", **_shown(view), kind=kind.value, label=NAMES[kind], declines=declines)
    return Page(status, body, _policy(view.link))


def _shown(view: _View) -> dict[str, Any]:
    link = view.link
    return {
        "link": link,
        "currency": link.currency or payment_links.usual_currency(view.box),
        "action": view.box.page(payment_links.page(link)),
        "key": view.key,
        "form": {name: view.form.get(name, "") for name in _KEPT},
        "errors": view.errors,
        "alert": view.alert,
        "notice": view.notice,
    }


def _policy(link: PaymentLink) -> list[tuple[bytes, bytes]]:
    away = web_address(link.redirect_url)
    return policy(forms_to=f"'self' {origin_of(away)}" if away else "'self'")


def _closed(link: PaymentLink, status: int) -> Page:
    return Page(status, render("closed.html", link=link), policy())


def _unknown() -> Page:
    body = render("unknown.html", what="No such payment link", text="The address names no payment link. Check it.")
    return Page(404, body, policy())


def _found(call: PageCall) -> tuple[Sandbox, PaymentLink] | None:
    link_id = call.path["payment_link_id"]
    box = call.sandbox_with(lambda box: box.payment_links.get(link_id))
    link = box.payment_links.get(link_id) if box else None
    return (box, link) if box is not None and link is not None else None


def _charge_of(box: Sandbox, link: PaymentLink, charge_id: str) -> Charge | None:
    charge = box.charges.get(charge_id)
    return charge if charge is not None and charge.payment_link_id == link.payment_link_id else None


def _kind(link: PaymentLink, word: str | None) -> LinkPaymentType | None:
    known = next((kind for kind in LinkPaymentType if kind.value == word), None)
    return known if known is not None and link.takes(known) else None


def _new_key(box: Sandbox) -> str:
    """A key for one view of the page; two payers never have the same."""
    return box.ids.hex24("page_view")


def _errors(reply: Reply) -> dict[str, str]:
    """Faults by the last part of their field's name, in a payer's words."""
    body: Any = reply.body
    if not isinstance(body, dict):
        return {}
    if body.get("code") in _FIELD_OF_CODE and not body.get("details"):
        return {_FIELD_OF_CODE[body["code"]]: _WORDS_OF_FIELD[_FIELD_OF_CODE[body["code"]]]}
    faults = ((name.rpartition(".")[2], text) for name, text in (body.get("details") or {}).items())
    return {name: _words(name, text) for name, text in faults}


def _words(name: str, text: str) -> str:
    if text == "wanted a text that is not empty" or text.startswith("required"):
        return "Please fill this in."
    return _WORDS_OF_FIELD.get(name) or f"{text[:1].upper()}{text[1:]}."


def _message(reply: Reply) -> str:
    body: Any = reply.body
    message = body.get("message") if isinstance(body, dict) else None
    return f"The payment was not taken: {message or 'the service does not answer'}."


def _reason(charge: Charge) -> str:
    attempt = charge.failed_attempts[-1] if charge.failed_attempts else None
    reason = attempt.error_message if attempt else "declined"
    return f"The payment was declined: {reason}. Nothing was taken; you can try again."
