"""What is stored, as far as paths such as ``state.charge.status`` may name it: read from the entities themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

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
from mockserver.scenario.matching import FLAG, NUMBER, TEXT, Kind, choice

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
    "status": "status",
}
"""Wire names, in snake case, that the entities spell otherwise."""

SECRET = frozenset({"number", "ccv"})


@cache
def names_of(annotation: Any) -> Mapping[str, Any]:
    """The names that a path may go on with from a value of a type, in camelCase, and the types that they lead to.

    ``*`` stands for any name; secrets have none.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if _is_union(annotation):
        return {name: kind for arg in args for name, kind in names_of(arg).items()}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"*": args[1]}
    if not is_dataclass(annotation):
        return {}
    known: dict[str, Any] = {
        name: kind for name, kind in get_type_hints(annotation).items() if name not in SECRET and name != "seq"
    }
    for name, member in vars(annotation).items():
        if isinstance(member, property):
            known[name] = get_type_hints(member.fget)["return"]
    for alias, path in ALIASES.items():
        first, *others = path.split(".")
        kind = known.get(first)
        for part in others:
            kind = names_of(kind).get(camel(part))
        if kind is not None:
            known.setdefault(alias, kind)
    if "state" in known:
        known.setdefault("status", known["state"])
    return {camel(name): kind for name, kind in known.items()}


def followed(annotation: Any, path: str) -> Any:
    """The type to which a dotted path leads from a value of a type. Raises ``ValueError`` with the nearest name where
    it leads nowhere."""
    for part in path.split("."):
        known = names_of(annotation)
        name = camel(snake(part))
        if name not in known and "*" not in known:
            allowed = f", allowed: {', '.join(known)}" if known else ", nothing lies below it"
            whole = f"{getattr(annotation, '__name__', '')}{part[:40]}"
            raise ValueError(f"{path[:60]}: no such field{nearest(part[:40], known) or nearest(whole, known)}{allowed}")
        annotation = known.get(name, known.get("*"))
    return annotation


def kind_of(annotation: Any) -> Kind:
    """How tests read the values of a type."""
    kinds = {one for one in get_args(annotation) if one is not NoneType} if _is_union(annotation) else {annotation}
    only = kinds.pop() if len(kinds) == 1 else None
    if only is bool:
        return FLAG
    if only in (int, Decimal):
        return NUMBER
    if isinstance(only, type) and issubclass(only, Enum):
        return choice(only)
    return TEXT


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)
