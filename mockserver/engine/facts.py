"""What rules may see of the stored state: ``state.charge.status``, ``state.customer.reference`` and the like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from mockserver.domain.errors import nearest
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.store import Table

KINDS: Mapping[str, tuple[str, Callable[[Sandbox], Table[Any]]]] = {
    "charge": ("charge_id", lambda box: box.charges),
    "vault": ("vault_id", lambda box: box.vault),
    "payment_method": ("payment_method_id", lambda box: box.payment_methods),
    "provider": ("provider_id", lambda box: box.providers),
    "transfer": ("transfer_id", lambda box: box.transfers),
    "subscription": ("subscription_id", lambda box: box.subscriptions),
    "webhook_subscription": ("webhook_subscription_id", lambda box: box.webhook_subscriptions),
    "batch": ("batch_id", lambda box: box.batches),
    "payment_link": ("payment_link_id", lambda box: box.payment_links),
    "customer": ("customer_id", lambda box: box.customers),
    "token": ("token", lambda box: box.tokens),
    "network_token": ("network_token_id", lambda box: box.network_tokens),
    "payto": ("payto_id", lambda box: box.payto),
}
"""Kinds of objects that a path may begin with: the name of their id, and where they are kept."""

_ALIASES: Mapping[str, str] = {
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

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET = frozenset({"number", "ccv"})


def state_of(box: Sandbox, path: str) -> object:
    """The stored value at a dotted path of the step being taken, or None where there is none."""
    kind, _, rest = path.partition(".")
    found = _object(box, snake(kind))
    return value_at(found, rest)


def value_at(found: object, path: str) -> object:
    """The value at a dotted path of an object, or None where there is none."""
    for part in path.split(".") if path else ():
        found = _member(found, part)
    return found.value if isinstance(found, Enum) else found


def _object(box: Sandbox, kind: str) -> object:
    turn = box.turn
    known = turn.about.get(kind)
    if known is not None or kind not in KINDS:
        return known
    id_name, table = KINDS[kind]
    given = turn.path.get(id_name) or turn.request.get(camel(id_name))
    return table(box).get(given) if isinstance(given, str) else None


def _member(found: object, part: str) -> object:
    if isinstance(found, Mapping):
        return found.get(part)
    name = snake(part)
    if name in _SECRET:
        return None
    value = getattr(found, name, None)
    if value is None and name in _ALIASES:
        value = found
        for step in _ALIASES[name].split("."):
            value = getattr(value, step, None)
    return value


@cache
def names_of(annotation: Any) -> Mapping[str, Any]:
    """The names that a path may go on with from a value of a type, in camelCase, and the types that they lead to.

    ``*`` stands for any name; secrets have none.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return {name: kind for arg in args for name, kind in names_of(arg).items()}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"*": args[1]}
    if not is_dataclass(annotation):
        return {}
    known: dict[str, Any] = {
        name: kind for name, kind in get_type_hints(annotation).items() if name not in _SECRET and name != "seq"
    }
    for name, member in vars(annotation).items():
        if isinstance(member, property):
            known[name] = get_type_hints(member.fget)["return"]
    for alias, path in _ALIASES.items():
        first, *others = path.split(".")
        kind = known.get(first)
        for part in others:
            kind = names_of(kind).get(camel(part))
        if kind is not None:
            known.setdefault(alias, kind)
    if "state" in known:
        known.setdefault("status", known["state"])
    return {camel(name): kind for name, kind in known.items()}


def fault_of(annotation: Any, path: str) -> str | None:
    """Why a dotted path leads nowhere from a value of a type, with the nearest name that does; None when it does."""
    for part in path.split("."):
        known = names_of(annotation)
        name = camel(snake(part))
        if name not in known and "*" not in known:
            told = f", allowed: {', '.join(known)}" if known else ", nothing lies below it"
            return f"{path[:60]}: no such field{nearest(part[:40], known)}{told}"
        annotation = known.get(name, known.get("*"))
    return None


def snake(name: str) -> str:
    """A wire name as the entities spell it."""
    return _HUMP.sub("_", name).lower()


def camel(name: str) -> str:
    """An entity's name as the wire spells it."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
