"""Charges in answers: a card whose text is kept is worded as the profile in force words it."""

from decimal import Decimal
from typing import Any

from mockserver.assumptions import Assumed, Profile
from mockserver.domain.cards import Card
from mockserver.domain.charge import Charge, FailedAttempt, Refund
from mockserver.domain.clock import SECOND
from mockserver.domain.record import replace
from mockserver.wire import resources
from mockserver.wire.jsonio import dumps, loads
from mockserver.wire.profile import WireProfile
from mockserver.wire.replies import reply_type
from mockserver.wire.resources import card_reply
from tests.driving import Api

MASKINGS = ("first4_last4", "first6_last4", "last4")


def shown_of(charge: Charge, profile: WireProfile, address: str | None = None) -> dict[str, Any]:
    shown = loads(resources.charge_text(charge, profile, 1, address))
    assert isinstance(shown, dict)
    return shown


def _cards(charge: Charge, profile: WireProfile) -> list[object]:
    """The cards that the answer shows."""
    shown = shown_of(charge, profile)["paymentInformation"]
    assert isinstance(shown, dict)
    return [shown[name] for name in ("card", "cardData") if name in shown]


def test_a_card_is_shown_as_its_reply_says_under_every_profile(api: Api) -> None:
    assert api.try_charge(10).status == 201
    (sandbox,) = api.app.world.sandboxes
    (charge,) = sandbox.charges.rows
    card: Card = charge.instrument.card
    profiles = [
        WireProfile(Assumed(Profile.SDK, {"card.masking": masking})) for masking in MASKINGS
    ]
    profiles.append(WireProfile(Assumed(Profile.DOCUMENTED, {"charge.card_data": "yes"})))
    for profile in (*profiles, *profiles):
        for other in (
            charge,
            replace(
                charge, instrument=replace(charge.instrument, card=replace(card, expiry="01/31"))
            ),
        ):
            plain = loads(dumps(card_reply(other.instrument.card, profile)))
            assert _cards(other, profile) == [plain, plain][: 1 + profile.card_data]


def test_no_field_of_a_charge_is_forgotten_where_it_is_known(api: Api) -> None:
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
    shown = shown_of(known, WireProfile(Assumed(Profile.SDK)), "https://example.test/3ds")
    plain = shown_of(charge, WireProfile(Assumed(Profile.SDK)))
    assert list(shown) == list(reply_type("ChargeReply").fields), (
        "charge_text has the rows of replies.csv"
    )
    empty = [name for name, value in shown.items() if value in (None, [], {})]
    assert empty == ["visaInstallments"], "the charge of this test has a value of every field"
    assert shown["successDate"] != shown["dateAdded"] != shown["voidDate"]
    assert shown["estimatedCostCurrency"] == charge.currency
    amounts = [
        loads(dumps({name: one[name] for name in ("amount", "authorisationAmount")}))
        for one in (shown, plain)
    ]
    assert amounts == [
        {"amount": 10, "authorisationAmount": 11},
        {"amount": 10, "authorisationAmount": 10},
    ]
    # And nothing of one charge is shown of the next.
    unknown = {
        "voidDate",
        "ipInfo",
        "ip",
        "descriptor",
        "subscriptionId",
        "threeDsRedirectUrl",
        "paymentTokenId",
    }
    assert {name for name, value in plain.items() if value is None} >= unknown
    assert plain["refunds"] == plain["failedAttempts"] == []
