"""The payment page of a payment link (``/pay/<paymentLinkId>``), which works without JavaScript and
may be framed.

A payer presses twice, reloads, goes back, opens the page in two tabs. None of that may pay twice,
and none may show an empty form to somebody who has paid. So:

- A **view** is one look of one payer at the page. Its key is in the address (``?view=``), so that
  Back after a payment leads to what was paid. A view pays at most once.
- Each **try** of a view has a key of its own, the hidden field ``attempt`` of its form: the view's
  key, then with ``.2``, ``.3`` and so on behind it. The link knows the charge that a try has made
  (``PaymentLink.attempts``), so the same form sent twice is answered with the charge of the first.
- A try that failed frees the view for the next: a declined payer may try again at once.

The key of a view is made by the server when the page is first asked for, which is then redirected
to the address with the key. What a form asks for is carried out by the ordinary operation
``payment_link.pay``. Sources: docs/spec/service.md, Payment link; docs/browser.md.
"""

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from mockserver.domain.charge import Charge
from mockserver.domain.money import currency
from mockserver.domain.payment_link import LinkPaymentType, PaymentLink
from mockserver.domain.record import mutable
from mockserver.domain.states import ChargeState
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
from mockserver.web.payer_input import (
    Bounds,
    amount_faults,
    amount_typed,
    card_faults,
    expiry_typed,
    number_typed,
)
from mockserver.web.payer_words import (
    COMPLETE,
    OUTCOMES,
    WAYS,
    failure_of,
    faults_of,
    paid_with,
    refusal_of,
)
from mockserver.web.request import Reply
from mockserver.web.routes import FORM_ROUTES

_CARD_FIELDS = frozenset({"CardNumber", "ExpiryDate", "Ccv", "Cardholder"})
_VIEW = re.compile(r"[0-9a-f]{24}")


@mutable
class _View:
    """One view of the page of a link, and what its form shows. ``key`` is empty before it
    begins."""

    sandbox: Sandbox
    link: PaymentLink
    key: str
    form: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    alert: str | None = None
    notice: str | None = None

    def begin(self) -> None:
        """Give it a key; two payers never have the same."""
        self.key = self.sandbox.ids.hex24("page_view")

    def address(self, **query: str) -> str:
        """The address of this view, by which Back and a reload come to it again."""
        if self.key:
            query = {"view": self.key, **query}
        return self.sandbox.page(payment_links.page(self.link), **query)

    def charge(self, charge_id: str | None) -> Charge | None:
        """A charge that was made through this link. The address names it, and must not show a payer
        a charge of somebody else."""
        charge = self.sandbox.charges.get(charge_id or "")
        if charge is None or charge.payment_link_id != self.link.payment_link_id:
            return None
        return charge

    def tries(self) -> tuple[Charge | None, str]:
        """The payment that this view has made, None unless one did not fail; and the key of its
        next try, or of that one."""
        attempts, key, count = self.link.attempts, self.key, 1
        while key in attempts:
            charge = self.charge(attempts[key])
            if charge is not None and charge.status is not ChargeState.FAILED:
                return charge, key
            count += 1
            key = f"{self.key}.{count}"
        return None, key


def page(call: PageCall) -> Reply:
    """The form, a simulated way to pay, what became of a charge, or why no payment is taken. In
    this order: who has paid sees that, whatever else the address says; then whether the link still
    takes payments; then the form of a view, which begins with a redirect."""
    view = _view_of(call, call.query.get("view", ""))
    named_charge = view.charge(call.query.get("chargeId"))
    if named_charge is not None:
        if named_charge.status is not ChargeState.FAILED:
            return _page_of_charge(view, named_charge)
        # Back from a failed challenge, whose address has no view: it is tried again in the same.
        view.key = view.key or _view_that_made(view.link, named_charge)
    payment, _ = view.tries()
    if payment is not None:
        if payment.status is ChargeState.PENDING_CHECKOUT:
            return redirect(_next_address(view, payment))
        return _result(view, payment, used=True)
    if not view.link.has_room:
        return html(200, "closed.html", link=view.link)
    if not view.key:
        view.begin()
        query = {**call.query, "view": view.key}
        return redirect(view.sandbox.page(payment_links.page(view.link), **query))
    if named_charge is not None:
        view.alert = f"{failure_of(named_charge)} Nothing was taken."
        return _form(view, call.query.get("type"), 402)
    if call.query.get("cancelled"):
        view.notice = "Cancelled. Nothing was paid."
    return _form(view, call.query.get("type"), 200)


def _page_of_charge(view: _View, charge: Charge) -> Reply:
    """For a payer who comes back from a challenge, or who was led on after a payment: what became
    of the charge, here unless there is another place for it."""
    waits_for_payer = charge.status is ChargeState.PENDING_CHECKOUT
    if waits_for_payer or away_address(view.link, charge) is not None:
        return redirect(_next_address(view, charge))
    return _result(view, charge, used=False)


def _view_that_made(link: PaymentLink, charge: Charge) -> str:
    """The key of the view whose try made a charge, empty when none did."""
    key_of_view = ""
    for key_of_try, charge_id in link.attempts.items():
        if charge_id == charge.charge_id:
            # Later tries have the key of their view, and a number behind it.
            key_of_view = key_of_try.partition(".")[0]
    return key_of_view


def pay(call: PageCall) -> Reply:
    """Take the payment and send the payer on; a declined payer may try again at once."""
    form = call.form
    key = form.get("attempt", "")
    view = _view_of(call, key.partition(".")[0])
    if form.get("result") == "cancel":
        return redirect(view.address(cancelled="1"))
    link = view.link
    payment, next_key = view.tries()
    if payment is not None and key not in link.attempts:
        # Another try of this view has paid meanwhile, in another tab.
        return redirect(_next_address(view, payment))
    if key != next_key and key not in link.attempts:
        # This page has not given it out. The engine refuses a try without a key.
        key = ""
    reply = carry_out(call, FORM_ROUTES["payment_link.pay"], _body(link, form, key))
    view.link = link = view.sandbox.payment_links.get(link.payment_link_id) or link
    payment, _ = view.tries()
    if payment is not None:
        return redirect(_next_address(view, payment))
    if not link.has_room or reply.status == 409:
        return html(409, "closed.html", link=link)
    view.form = form
    declined = view.charge(link.attempts.get(key))
    if declined is None:
        return _form_of_refused(view, reply)
    view.alert = f"{failure_of(declined)} Nothing was taken."
    return _form(view, None, 402)


def _form_of_refused(view: _View, reply: Reply) -> Reply:
    """The form again, for a payment that was not even tried: with what is wrong at its fields, or
    in one sentence where that is about none of them."""
    kind = view.form.get("paymentType") or LinkPaymentType.CARD.value
    errors = faults_of(reply.body) | _faults_of_form(view, kind)
    fields: set[str] = set()
    if kind == LinkPaymentType.CARD.value:
        fields |= _CARD_FIELDS
    if view.link.amount is None:
        fields.add("Amount")
    if "Attempt" in errors:
        # No page has given out the key of this try: only a new view has one that counts.
        view.begin()
        view.alert = "This page is out of date. Please pay again."
    elif errors.keys() & fields:
        view.errors = errors
    else:
        view.alert = refusal_of(reply.body)
    return _form(view, kind, reply.status or 503)


def _faults_of_form(view: _View, kind: str) -> dict[str, str]:
    """What is wrong with the form as it was typed: all of it, where the service names one kind of
    fault at a time."""
    faults = {}
    if view.link.amount is None:
        amount = amount_typed(view.form.get("amount", ""))
        faults = amount_faults(amount, _bounds(view))
    if kind == LinkPaymentType.CARD.value:
        faults |= card_faults(*_card(view.form).values())
    return faults


def _bounds(view: _View) -> Bounds:
    """Between which amounts a payer may choose (assumptions ``amount.minimum``,
    ``amount.maximum``)."""
    assumed, money = view.sandbox.assumed, currency(_currency(view))
    least = assumed["amount.minimum"]
    if least is None:
        least = money.unit
    return Bounds(money, least, assumed["amount.maximum"])


def _currency(view: _View) -> str:
    """The currency of the link, or else the one in which the sandbox usually charges."""
    return view.link.currency or payment_links.usual_currency(unnoted(view.sandbox))


def _card(form: Mapping[str, str]) -> dict[str, str]:
    """The card of a form as the operation takes it."""
    return {
        "cardNumber": number_typed(form.get("cardNumber", "")),
        "expiryDate": expiry_typed(form.get("expiryDate", "")),
        "ccv": number_typed(form.get("ccv", "")),
        "cardholder": form.get("cardholder", "").strip(),
    }


def _body(link: PaymentLink, form: Mapping[str, str], key: str) -> dict[str, object]:
    """What a form asks of the operation, in the try of a key. The amount is the payer's only where
    the link leaves it open: a form can be changed by whoever sends it."""
    kind = form.get("paymentType") or LinkPaymentType.CARD.value
    metadata = dict(link.metadata or {})
    body: dict[str, object] = {"attempt": key, "paymentType": kind}
    if link.amount is None:
        body["amount"] = amount_typed(form.get("amount", "")) or None
    if kind == LinkPaymentType.CARD.value:
        body["paymentInformation"] = _card(form)
    elif form.get("result") == "decline":
        # A button of the simulated page. The test value lets the provider decline as any would.
        metadata["mock"] = "do_not_honour"
    if metadata:
        body["metadata"] = metadata
    return body


def _next_address(view: _View, charge: Charge) -> str:
    """Where a payer goes whose charge has begun: to the challenge, to the shop, or to what became
    of it."""
    if charge.status is ChargeState.PENDING_CHECKOUT:
        return view.sandbox.page(three_ds.page(charge))
    return away_address(view.link, charge) or view.address(chargeId=charge.charge_id)


def away_address(link: PaymentLink, charge: Charge) -> str | None:
    """Where the merchant wants the payer after the payment, the charge's id added; None where the
    link names no address that a browser may be sent to."""
    address = web_address(link.redirect_url)
    if address is None:
        return None
    return with_query(address, chargeId=charge.charge_id)


def _result(view: _View, charge: Charge, *, used: bool) -> Reply:
    """What became of a charge; in a ``used`` view, to which a payer has come back, also the ways on
    from here: to the shop, or to pay once more on purpose."""
    link = view.link
    title, text = OUTCOMES[charge.status]
    if charge.status in COMPLETE and link.confirmation_message:
        text = link.confirmation_message
    away = again = None
    if used:
        away = away_address(link, charge)
        if link.has_room:
            # An address without a key begins another view, which may pay again.
            again = replace(view, key="").address()
    return html(
        200,
        "paid.html",
        link=link,
        charge=charge,
        title=title,
        text=text,
        paid_with=paid_with(charge.instrument),
        away=away,
        again=again,
    )


def _form(view: _View, chosen: str | None, status: int) -> Reply:
    """The card form with the other ways to pay, or the simulated one of them that was chosen, if
    the link takes it."""
    link = view.link
    kinds = [kind for kind in LinkPaymentType if link.takes(kind)]
    other_kinds = [kind for kind in kinds if kind is not LinkPaymentType.CARD]
    _, key = view.tries()
    # Number and ccv are never shown again.
    shown_again = {name: view.form.get(name, "") for name in ("amount", "cardholder", "expiryDate")}
    values: dict[str, Any] = {
        "link": link,
        "currency": _currency(view),
        "action": view.address(),
        "key": key,
        "form": shown_again,
        "reaches": [web_address(link.redirect_url)],
        "errors": view.errors,
        "alert": view.alert,
        "notice": view.notice,
    }
    for kind in other_kinds:
        if kind.value == chosen:
            # A decline is asked for by a test value, which only built-in scenarios know.
            declines = any(scenario.builtin for scenario in view.sandbox.config.scenarios)
            values |= {"kind": kind.value, "label": WAYS[kind], "declines": declines}
            return html(status, "simulated.html", **values)
    others = [(kind.value, WAYS[kind], view.address(type=kind.value)) for kind in other_kinds]
    values |= {"card": link.takes(LinkPaymentType.CARD), "others": others}
    return html(status, "pay.html", **values)


def _view_of(call: PageCall, key: str) -> _View:
    """The view of a key, of the link that the address names; a view that has not begun where the
    key is none of ours. Raises ``NoSuchPage``."""
    if call.sandbox is not None:
        link = call.sandbox.payment_links.get(call.path["payment_link_id"])
        if link is not None:
            if _VIEW.fullmatch(key) is None:
                key = ""
            return _View(call.sandbox, link, key)
    raise NoSuchPage("No such payment link", "The address names no payment link. Check it.")
