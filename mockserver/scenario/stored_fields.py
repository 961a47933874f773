"""What is stored, as the paths of rules and conditions name it: ``state.charge.refundedAmount``.

A path begins with a kind of object and goes on from field to field. Which fields there are is read
from the entities themselves, so a path that leads nowhere is refused when a file is read, and a new
field of an entity can be named at once. An entity may spell a field otherwise than the API does
(``refunded`` for ``refundedAmount``): rules may use either name, as their authors know those of the
answers. Secrets have no name.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

from mockserver.domain.batch import Batch
from mockserver.domain.charge import Charge
from mockserver.domain.customer import Customer
from mockserver.domain.errors import nearest
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.provider import Provider
from mockserver.domain.reading import camel, snake
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.vault import VaultItem
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.scenario.kinds import FLAG, NUMBER, TEXT, Kind, choice

STORED: Mapping[str, type] = {
    "charge": Charge,
    "vault": VaultItem,
    "payment_method": PaymentMethod,
    "provider": Provider,
    "transfer": Transfer,
    "subscription": Subscription,
    "webhook_subscription": WebhookSubscription,
    "batch": Batch,
    "payment_link": PaymentLink,
    "customer": Customer,
    "token": Token,
    "network_token": NetworkToken,
    "payto": Agreement,
}
"""Kinds of objects that a path may begin with."""

ALIASES: Mapping[str, str] = {
    "refunded_amount": "refunded",
    "authorisation_amount": "authorised",
    "date_added": "added",
    "success_date": "succeeded",
    "void_date": "voided",
    "provider_id": "provider.provider_id",
    "expire_date": "expires",
    "type": "instrument.type",
    "status": "state",
}
"""Wire names, in snake case, that the entities spell otherwise."""

SECRET = frozenset({"number", "ccv"})
"""Fields that no path leads to: what a rule tests, the journal quotes."""

_ANY_NAME = "*"


@cache
def names_of(annotation: object) -> Mapping[str, object]:
    """The names that a path may go on with from a value of a type, in camelCase, and the types that
    they lead to: its fields and properties, under their own names and those of the wire.

    ``*`` stands for any name, as of metadata. Secrets have no name, nor has ``seq``, the place of a
    row in its table, which no answer shows.
    """
    if _is_union(annotation):
        # Which of the types a value has is known only when it is read: a path may go on in any.
        of_any: dict[str, object] = {}
        for member in get_args(annotation):
            of_any |= names_of(member)
        return of_any
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        _, value_type = get_args(annotation)
        return {_ANY_NAME: value_type}
    if not isinstance(annotation, type) or not is_dataclass(annotation):
        return {}
    known = _members_of(annotation)
    for alias, path in ALIASES.items():
        first, *others = path.split(".")
        member_type = known.get(first)
        for part in others:
            member_type = names_of(member_type).get(camel(part))
        if member_type is not None:
            known.setdefault(alias, member_type)
    return {camel(name): member_type for name, member_type in known.items()}


def _members_of(entity: type) -> dict[str, object]:
    """The fields and properties of an entity under their own names, with their types."""
    hints = get_type_hints(entity)
    members: dict[str, object] = {}
    for column in fields(entity):
        is_hidden = column.name in SECRET or column.name == "seq" or column.name.startswith("_")
        if not is_hidden:
            members[column.name] = hints[column.name]
    for name, member in vars(entity).items():
        if isinstance(member, property):
            members[name] = get_type_hints(member.fget)["return"]
    return members


def followed(annotation: object, path: str) -> object:
    """The type to which a dotted path leads from a value of a type. Raises ``ValueError`` with the
    nearest name where it leads nowhere."""
    for part in path.split("."):
        known = names_of(annotation)
        name = camel(snake(part))
        if name not in known and _ANY_NAME not in known:
            allowed = f", allowed: {', '.join(known)}" if known else ", nothing lies below it"
            # Of a charge ``id`` means ``chargeId``.
            with_type = f"{getattr(annotation, '__name__', '')}{part[:40]}"
            hint = nearest(part[:40], known) or nearest(with_type, known)
            raise ValueError(f"{path[:60]}: no such field{hint}{allowed}")
        annotation = known.get(name, known.get(_ANY_NAME))
    return annotation


def kind_of(annotation: object) -> Kind:
    """How tests read the values of a type. One that may hold several types is compared as text:
    none of them is right for all."""
    types = {annotation}
    if _is_union(annotation):
        types = {member for member in get_args(annotation) if member is not NoneType}
    if len(types) > 1:
        return TEXT
    (only,) = types
    if only is bool:
        return FLAG
    if only in (int, Decimal):
        return NUMBER
    if isinstance(only, type) and issubclass(only, Enum):
        return choice(only)
    return TEXT


def _is_union(annotation: object) -> bool:
    """Both ways to write a union have a type of their own."""
    return get_origin(annotation) in (Union, UnionType)
