"""Charges in answers: a card whose text is kept is worded as the profile in force words it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from random import Random
from types import MappingProxyType

import pytest

from mockserver.assumptions import Assumed, Profile
from mockserver.domain.cards import Card
from mockserver.domain.charge import Charge, FailedAttempt, Payer, Refund
from mockserver.domain.clock import SECOND
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.record import replace
from mockserver.domain.sources import Instrument, PaymentType
from mockserver.domain.states import ChargeState
from mockserver.wire import charges
from mockserver.wire.jsonio import dumps, kept_text, loads
from mockserver.wire.profile import WireProfile
from mockserver.wire.shapes import card_reply
from tests.charges import charge_in
from tests.depth import tries
from tests.driving import Api

MASKINGS = ("first4_last4", "first6_last4", "last4")


def _cards(charge: Charge, profile: WireProfile) -> list[object]:
    """The cards that the answer shows."""
    shown = loads(dumps(charges.charge_reply(charge, profile, 1, None)["paymentInformation"]))
    assert isinstance(shown, dict)
    return [shown[name] for name in ("card", "cardData") if name in shown]


def test_a_card_is_shown_as_its_reply_says_under_every_profile() -> None:
    api = Api()
    assert api.try_charge(10).status == 201
    (sandbox,) = api.app.world.sandboxes
    (charge,) = sandbox.charges.rows
    card: Card = charge.instrument.card
    profiles = [WireProfile(Assumed(Profile.SDK, {"card.masking": masking})) for masking in MASKINGS]
    profiles.append(WireProfile(Assumed(Profile.DOCUMENTED, {"charge.card_data": "yes"})))
    for profile in (*profiles, *profiles):
        for other in (
            charge,
            replace(charge, instrument=replace(charge.instrument, card=replace(card, expiry="01/31"))),
        ):
            plain = loads(dumps(card_reply(other.instrument.card, profile)))
            assert _cards(other, profile) == [plain, plain][: 1 + profile.card_data]


def test_no_field_of_a_charge_is_forgotten_where_it_is_known() -> None:
    api = Api()
    assert api.try_charge(10, FirstName="Ada", Metadata={"a": "b"}).status == 201
    (sandbox,) = api.app.world.sandboxes
    (charge,) = sandbox.charges.rows
    known = replace(
        charge,
        reference="r",
        customer_id="c",
        authorised=charge.amount + 1,
        succeeded=charge.added + SECOND,
        voided=charge.added + 2 * SECOND,
        estimated_cost=Decimal("0.10"),
        refunds=(Refund(Decimal(1), charge.added, "back"),),
        failed_attempts=(FailedAttempt("p", charge.added, 1, "no", None, None, True),),
        three_ds_server_trans_id="t",
        initiator="MIT",
        ip="203.0.113.7",
        descriptor="d",
        subscription_id="s",
        instrument=replace(charge.instrument, token_id="tok"),
    )
    shown = charges.charge_reply(known, WireProfile(Assumed(Profile.SDK)), 1, "https://example.test/3ds")
    plain = charges.charge_reply(charge, WireProfile(Assumed(Profile.SDK)), 1, None)
    assert list(shown) == list(charges.ChargeReply.__annotations__)
    assert [name for name, value in shown.items() if value in (None, [], {})] == ["visaInstallments"]
    assert shown["successDate"] != shown["dateAdded"] != shown["voidDate"]
    assert shown["estimatedCostCurrency"] == charge.currency
    amounts = [loads(dumps({name: one[name] for name in ("amount", "authorisationAmount")})) for one in (shown, plain)]
    assert amounts == [{"amount": 10, "authorisationAmount": 11}, {"amount": 10, "authorisationAmount": 10}]
    # And nothing of one charge is shown of the next.
    unknown = {"voidDate", "ipInfo", "ip", "descriptor", "subscriptionId", "threeDsRedirectUrl", "paymentTokenId"}
    assert {name for name, value in plain.items() if value is None} >= unknown
    assert plain["refunds"] == plain["failedAttempts"] == []


def test_cards_beyond_those_whose_texts_are_kept_are_shown_too() -> None:
    api = Api()
    assert api.try_charge(10).status == 201
    (sandbox,) = api.app.world.sandboxes
    (charge,) = sandbox.charges.rows
    card: Card = charge.instrument.card
    profile = WireProfile(Assumed(Profile.SDK))
    for number in range(charges.MOST_TEXTS + 10):
        other = replace(card, cardholder=f"holder {number}")
        (shown, *_) = _cards(replace(charge, instrument=replace(charge.instrument, card=other)), profile)
        assert isinstance(shown, dict)
        assert shown["cardholder"] == f"holder {number}"


TEXTS = (None, "", "r-1", "100%b", "%", '"\\\n', "\0", "Zo\u00eb \u20ac", "x" * 4_000)
NAMES = (None, "Ann", "50% \0 Zo\u00eb")
MAPS: tuple[Mapping[str, str] | None, ...] = (None, {}, {"a%": "\0b"}, MappingProxyType({"shop": "%b"}))
AMOUNTS = (Decimal("12.50"), Decimal("12.5"), Decimal(200), Decimal("2E+2"), Decimal("0.01"))
FURTHER: dict[str, tuple[object, ...]] = {
    "status": tuple(ChargeState),
    "currency": ("AUD", "JPY"),
    "customer_id": (None, "c"),
    "voided": (None, 7),
    "refunded": (Decimal(0), Decimal(1)),
    "failed_attempts": ((), (FailedAttempt("p", 1, 1, "%b", None, None, True),)),
    "three_ds_verified": (False, True),
    "three_ds_server_trans_id": (None, "t"),
    "initiator": (None, "MIT"),
    "ip": (None, "203.0.113.7"),
    "descriptor": (None, "%d"),
    "subscription_id": (None, "s"),
}


def _drawn(draw: Random, known: Charge, number: int) -> Charge:
    """A charge that differs from another in what is its own, and sometimes in something else."""
    added = draw.choice((0, 5, SECOND * number))
    amount = draw.choice(AMOUNTS)
    own = {
        "charge_id": draw.choice((f"{number:032x}", '%b"')),
        "provider_charge_id": draw.choice((None, f"ch_{number}")),
        "amount": amount,
        "authorised": draw.choice((None, amount, Decimal(1))),
        "reference": draw.choice(TEXTS),
        "added": added,
        "succeeded": draw.choice((None, added, added + SECOND)),
        "estimated_cost": draw.choice((None, Decimal("0.49"), Decimal(0))),
        "metadata": draw.choice(MAPS),
    }
    name = draw.choice([*FURTHER, *[""] * 30])
    further = {name: draw.choice(FURTHER[name])} if name else {}
    return replace(known, **own, **further)


@pytest.mark.parametrize("seed", range(tries(10, 60)))
def test_a_form_that_is_filled_in_says_what_the_reply_says(seed: int) -> None:
    draw = Random(seed)
    card = Api()
    assert card.try_charge(10).status == 201
    ((paid,),) = (sandbox.charges.rows for sandbox in card.app.world.sandboxes)
    instruments = paid.instrument, Instrument(PaymentType.WALLET, display_type="%b", token_id=draw.choice((None, "k")))
    profiles = [WireProfile(Assumed(profile)) for profile in Profile]
    profiles.append(WireProfile(Assumed(Profile.DOCUMENTED, {"charge.card_data": "yes"})))
    for _ in range(8):
        profile, url = draw.choice(profiles), draw.choice((None, None, "https://example.test/3ds?a=%20"))
        payer = Payer(*(draw.choice(NAMES) for _ in range(6)), draw.choice((None, 3)))
        known = charge_in(
            ChargeState.SUCCESS,
            instrument=draw.choice(instruments),
            provider=ProviderSummary("p%", "dummy", "100%"),
            payer=draw.choice((payer, payer, None)),
            email=draw.choice(NAMES),
        )
        for number in range(40):
            charge = _drawn(draw, known, number)
            if charge.payer is not None:
                charge = replace(
                    charge, payer=replace(charge.payer, reference=draw.choice((charge.reference, "other")))
                )
            plain = kept_text(charges.charge_reply(charge, profile, seed % 2, url))
            assert charges.charge_text(charge, profile, seed % 2, url) == plain


def test_charges_that_are_alike_are_worded_twice_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    worded, plain = [], charges.charge_reply
    monkeypatch.setattr(charges, "charge_reply", lambda *given: worded.append(given) or plain(*given))
    profile = WireProfile(Assumed(Profile.SDK))
    first = charge_in(ChargeState.SUCCESS, payer=Payer(first_name="Ann"))
    alike = [replace(first, charge_id=f"{number}", reference=f"r{number}") for number in range(5)]
    texts = [charges.charge_text(charge, profile, 1, None) for charge in alike]
    assert [loads(text) for text in texts] == [loads(dumps(plain(charge, profile, 1, None))) for charge in alike]
    assert len(worded) == 2
