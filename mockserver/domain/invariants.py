"""Sentences about the money that must hold at the end of a run: ``net("order-1") <= 20 and held(*)
== 0``.

Source: docs/books.md, Invariants.
"""

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TypeAlias

from mockserver.domain.charge import ZERO
from mockserver.domain.errors import nearest
from mockserver.domain.figures import OrderMoney, money_text
from mockserver.domain.money import CURRENCIES

LONGEST = 1_000
"""Characters of an invariant."""

FUNCTIONS = ("net", "captured", "refunded", "held", "pending", "transferred", "charges", "total")
"""What may be asked of an order, by its name or of each (``*``); ``total(AUD)`` is the net of a
currency."""

_COMPARED: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
_TERM = r"""-?\d+(?:\.\d+)?|\w+\(\s*(?:\*|\w+|"[^"]*"|'[^']*')\s*\)"""
_COMPARISON = re.compile(rf"\s*({_TERM})\s*({'|'.join(_COMPARED)})\s*({_TERM})\s*(?:(and|or)\b|$)")

_Term: TypeAlias = Decimal | tuple[str, str | None]
"""A number, or a function and what it asks about: None for each order."""


class Invariant:
    """One sentence. Raises ``ValueError`` with what was got and what is allowed."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise ValueError(f"got {len(text)} characters, at most {LONGEST} are allowed")
        self._alternatives: list[list[tuple[_Term, str, _Term]]] = [[]]
        at, joint = 0, "and"
        while joint:
            found = _COMPARISON.match(text, at)
            if found is None:
                raise ValueError(
                    f"got '{text[at:][:80]}', wanted comparisons with and, or: net(\"order-1\") "
                    "<= 20"
                )
            self._alternatives[-1].append((_term(found[1]), found[2], _term(found[3])))
            at, joint = found.end(), found[4]
            self._alternatives += [[]] if joint == "or" else []

    def judged(self, orders: Iterable[OrderMoney]) -> Iterator[str]:
        """Where it does not hold, in words: each currency by itself, and with ``*`` each order.
        Empty texts where it does, and nothing behind the first fault."""
        known = {(one.key[1], one.currency): one for one in orders}
        totals = defaultdict[str, Decimal](Decimal)
        for one in known.values():
            totals[one.currency] += one.figures.net
        terms = [
            term for each in self._alternatives for left, _, right in each for term in (left, right)
        ]
        is_of_each = any(not isinstance(term, Decimal) and term[1] is None for term in terms)
        for each in (known if is_of_each else [("", one) for one in totals]) or [("", "")]:
            asked = {term: _asked(term, each, known, totals) for term in terms}
            if not self._holds({term: value for term, (value, _) in asked.items()}):
                said = dict.fromkeys(words for _, words in asked.values() if words)
                yield f"{self.text} does not hold: {', '.join(said)}"
                return
            yield ""

    def _holds(self, values: Mapping[_Term, Decimal]) -> bool:
        return any(
            all(_COMPARED[by](values[left], values[right]) for left, by, right in every)
            for every in self._alternatives
        )


def _asked(
    term: _Term,
    each: tuple[str, str],
    known: Mapping[tuple[str, str], OrderMoney],
    totals: Mapping[str, Decimal],
) -> tuple[Decimal, str]:
    """What a term is, and that in words; ``each`` is the order that ``*`` stands for, with its
    currency."""
    if isinstance(term, Decimal):
        return term, ""
    function, name = term[0], each[0] if term[1] is None else term[1]
    if function == "total":
        total = totals.get(name, ZERO)
        return total, f"the total is {money_text(total, name)}"
    order = known.get((name, each[1]), OrderMoney(("", name), each[1]))
    if function == "charges":
        return Decimal(len(order.charges)), f"charges of {name} is {len(order.charges)}"
    found: Decimal = getattr(order.figures, function)
    return found, f"{function} of {name} is {money_text(found, each[1])}"


def _term(text: str) -> _Term:
    function, is_call, name = text.removesuffix(")").partition("(")
    name = name.strip()
    if not is_call:
        return Decimal(text)
    if function not in FUNCTIONS:
        raise ValueError(
            f"got {function}(), allowed: {', '.join(FUNCTIONS)}{nearest(function, FUNCTIONS)}"
        )
    if function == "total" and name not in CURRENCIES:
        raise ValueError(
            f"got total({name}), wanted a currency such as AUD{nearest(name, CURRENCIES)}"
        )
    if function != "total" and name != "*" and name[0] not in "\"'":
        raise ValueError(f"got {function}({name}), wanted an order in quotes, or *")
    return function, None if name == "*" else name.strip("\"'")
