"""What a command says of a charge, the charge has: a field of both is handed on."""

from dataclasses import fields
from decimal import Decimal

from mockserver.domain.charge import Charge, Payer, WebhookTarget
from mockserver.domain.commands import NewCharge
from mockserver.domain.sources import CardSource
from mockserver.engine import charges
from mockserver.engine.step import unnoted
from tests.driving import CARD, DUMMY, NOW, Api

COMMAND = NewCharge(
    CardSource(CARD["cardNumber"], CARD["expiryDate"], CARD["ccv"], provider_id=DUMMY),
    Decimal(5),
    currency="NZD",
    reference="order-1",
    capture=False,
    payer=Payer(first_name="Ann"),
    email="ann@shop.test",
    ip="203.0.113.7",
    initiator="CUSTOMER",
    webhook=WebhookTarget("https://shop.test/webhooks"),
    metadata={"colour": "red"},
    descriptor="SHOP",
    three_ds_notification_url="https://shop.test/challenged",
    batch_id="a batch",
    subscription_id="a subscription",
    payment_link_id="a link",
)
"""A command in which no field has its default."""


def test_a_charge_has_every_field_that_its_command_has_too(api: Api) -> None:
    step = unnoted(api.app.world.sandboxes.open(api.key, NOW))
    charge = charges.create(step, COMMAND)
    said = {field.name: getattr(COMMAND, field.name) for field in fields(NewCharge)}
    assert not [field.name for field in fields(NewCharge) if said[field.name] == field.default]
    both = {field.name for field in fields(Charge)} & said.keys()
    assert {name: getattr(charge, name) for name in both} == {name: said[name] for name in both}
