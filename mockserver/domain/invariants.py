"""Sentences about the money that must hold at the end of a run: ``net("order-1") <= 20 and held(*)
== 0``.

A sentence is alternatives (``or``), each of comparisons that must all hold (``and``); there are no
brackets. It is judged for each currency by itself, since amounts of two cannot be compared, and
where it names each order (``*``) for each of them. A number has no currency: ``20`` is twenty of
whatever is judged. What no charge has named has no money, so that a sentence about an order that
was never paid can hold.

Source: docs/books.md, Invariants.
"""

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain
from typing import NamedTuple, TypeAlias

from mockserver.domain.charge import ZERO
from mockserver.domain.errors import nearest
from mockserver.domain.figures import OrderKey, OrderMoney, money_text
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


class _Function(NamedTuple):
    """``net("order-1")``; ``name`` is None for ``*``, each order."""

    function: str
    name: str | None


_Term: TypeAlias = Decimal | _Function


class _Comparison(NamedTuple):
    left: _Term
    sign: str
    right: _Term


class _Place(NamedTuple):
    """Where a sentence is judged: in a currency, and for the order that ``*`` stands for."""

    order: str
    currency: str


class _Value(NamedTuple):
    """What a term is, and that in words, which are empty for a number."""

    amount: Decimal
    words: str


class Invariant:
    """One sentence. Raises ``ValueError`` with what was got and what is allowed."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise ValueError(f"got {len(text)} characters, at most {LONGEST} are allowed")
        self._alternatives: list[list[_Comparison]] = [[]]
        position, joint = 0, "and"
        while joint:
            match = _COMPARISON.match(text, position)
            if match is None:
                raise ValueError(
                    f"got '{text[position:][:80]}', wanted comparisons with and, or: "
                    'net("order-1") <= 20'
                )
            left, sign, right, joint = match.groups()
            self._alternatives[-1].append(_Comparison(_term(left), sign, _term(right)))
            if joint == "or":
                self._alternatives.append([])
            position = match.end()

    def judged(self, orders: Iterable[OrderMoney]) -> Iterator[str]:
        """Where it does not hold, in words: each currency by itself, and with ``*`` each order.
        Empty texts where it does, so that a caller may pause, and nothing behind the first
        fault."""
        money = {_Place(order.key.name, order.currency): order for order in orders}
        totals = defaultdict[str, Decimal](Decimal)
        for order in money.values():
            totals[order.currency] += order.figures.net
        terms = list[_Term]()
        for comparison in chain.from_iterable(self._alternatives):
            terms += [comparison.left, comparison.right]
        if any(isinstance(term, _Function) and term.name is None for term in terms):
            places = list(money)
        else:
            places = [_Place("", currency) for currency in totals]
        # Of a sandbox without any money it is judged once: every figure is 0.
        for place in places or [_Place("", "")]:
            values = {term: _value_of(term, place, money, totals) for term in terms}
            if not self._holds(values):
                words = dict.fromkeys(value.words for value in values.values() if value.words)
                yield f"{self.text} does not hold: {', '.join(words)}"
                return
            yield ""

    def _holds(self, values: Mapping[_Term, _Value]) -> bool:
        """Whether all comparisons of one of the alternatives are right."""
        for comparisons in self._alternatives:
            if all(
                _COMPARED[sign](values[left].amount, values[right].amount)
                for left, sign, right in comparisons
            ):
                return True
        return False


def _value_of(
    term: _Term,
    place: _Place,
    money: Mapping[_Place, OrderMoney],
    totals: Mapping[str, Decimal],
) -> _Value:
    """What a term is at a place; of an order that no charge names, every figure is 0."""
    if isinstance(term, Decimal):
        return _Value(term, "")
    name = place.order if term.name is None else term.name
    if term.function == "total":
        # The one function whose name is a currency.
        total = totals.get(name, ZERO)
        return _Value(total, f"the total is {money_text(total, name)}")
    order = money.get(_Place(name, place.currency), OrderMoney(OrderKey("", name), place.currency))
    if term.function == "charges":
        count = len(order.charges)
        return _Value(Decimal(count), f"charges of {name} is {count}")
    amount: Decimal = getattr(order.figures, term.function)
    return _Value(amount, f"{term.function} of {name} is {money_text(amount, place.currency)}")


def _term(text: str) -> _Term:
    """A number or a function. Raises ``ValueError`` with what was got and what is allowed."""
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
    return _Function(function, None if name == "*" else name.strip("\"'"))
