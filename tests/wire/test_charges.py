"""Charges in answers: a card whose text is kept is worded as the profile in force words it."""

from __future__ import annotations

from mockserver.assumptions import Assumed, Profile
from mockserver.domain.cards import Card
from mockserver.domain.charge import Charge
from mockserver.domain.record import replace
from mockserver.wire import charges
from mockserver.wire.jsonio import dumps, loads
from mockserver.wire.profile import WireProfile
from mockserver.wire.shapes import card_reply
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


def test_cards_beyond_those_whose_texts_are_kept_are_shown_too() -> None:
    api = Api()
    assert api.try_charge(10).status == 201
    (sandbox,) = api.app.world.sandboxes
    (charge,) = sandbox.charges.rows
    card: Card = charge.instrument.card
    profile = WireProfile(Assumed(Profile.SDK))
    for number in range(charges.MOST_CARD_TEXTS + 10):
        other = replace(card, cardholder=f"holder {number}")
        (shown, *_) = _cards(replace(charge, instrument=replace(charge.instrument, card=other)), profile)
        assert isinstance(shown, dict)
        assert shown["cardholder"] == f"holder {number}"
