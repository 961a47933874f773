"""Sentences about the money that must hold at the end of a run: ``net("order-1") <= 20 and held(*) == 0``.

Source: docs/books.md, Invariants.
"""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import TypeAlias

from mockserver.books.figures import Order, money_text
from mockserver.domain.charge import ZERO
from mockserver.domain.errors import nearest
from mockserver.domain.money import CURRENCIES, number_text
from mockserver.domain.record import record

LONGEST = 1_000
"""Characters of an invariant."""

FUNCTIONS = ("net", "captured", "refunded", "held", "pending", "charges")
"""What may be asked of an order, by its name or of each (``*``); ``total(AUD)`` is the net of a currency."""

_EACH = "*"
_EXAMPLE = 'net("order-1") <= 20'
_COMPARED: Mapping[type[ast.cmpop], Callable[[Decimal, Decimal], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@record
class _Scope:
    """What the names of an invariant mean: in one currency, ``*`` being one order. ``said`` is what was looked at."""

    known: Mapping[tuple[str, str], Order]
    totals: Mapping[str, Decimal]
    currency: str
    each: str
    said: dict[str, None] = field(default_factory=dict)

    def ask(self, function: str, name: str) -> Decimal:
        """What a function says of an order."""
        name = self.each if name == _EACH else name
        order = self.known.get((name, self.currency), Order(("", name), self.currency))
        counted = function == "charges"
        found: Decimal = Decimal(len(order.charges)) if counted else getattr(order.figures, function)
        shown = number_text(found) if counted else money_text(found, self.currency)
        self.said[f"{function} of {name} is {shown}"] = None
        return found

    def total(self, currency: str) -> Decimal:
        """The net of a currency."""
        found = self.totals.get(currency, ZERO)
        self.said[f"the total is {money_text(found, currency)}"] = None
        return found


_Truth: TypeAlias = Callable[[_Scope], bool]
_Value: TypeAlias = Callable[[_Scope], Decimal]


class Invariant:
    """One sentence. Raises ``ValueError`` with what was got and what is allowed."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise ValueError(f"got {len(text)} characters, at most {LONGEST} are allowed")
        try:
            tree = ast.parse(text.replace(f"({_EACH})", f'("{_EACH}")').strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"got '{text[:80]}', wanted a comparison such as {_EXAMPLE}") from None
        self._holds = _truth(tree)
        self._asks_each = any(isinstance(node, ast.Constant) and node.value == _EACH for node in ast.walk(tree))

    def judged(self, orders: Iterable[Order]) -> Iterator[str]:
        """Where it does not hold, in words: each currency by itself, and with ``*`` each order. Empty texts where it
        does, and nothing behind the first fault."""
        known = {(one.key[1], one.currency): one for one in orders}
        totals = defaultdict[str, Decimal](Decimal)
        for one in known.values():
            totals[one.currency] += one.figures.net
        each = known if self._asks_each else [("", currency) for currency in totals]
        for order, currency in each or [("", "")]:
            scope = _Scope(known, totals, currency, order)
            if not self._holds(scope):
                yield f"{self.text} does not hold: {', '.join(scope.said)}"
                return
            yield ""


def _truth(node: ast.expr) -> _Truth:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts, join = [_truth(one) for one in values], all if isinstance(op, ast.And) else any
            return lambda scope: join(part(scope) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _truth(operand)
            return lambda scope: not inner(scope)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
            return _comparison([_COMPARED[type(op)] for op in ops], [_value(one) for one in (left, *others)])
        case _:
            raise ValueError(f"got '{ast.unparse(node)[:80]}', wanted comparisons with and, or, not: {_EXAMPLE}")


def _comparison(compared: Sequence[Callable[[Decimal, Decimal], bool]], values: Sequence[_Value]) -> _Truth:
    def holds(scope: _Scope) -> bool:
        found = [value(scope) for value in values]
        return all(fits(before, after) for fits, before, after in zip(compared, found, found[1:], strict=False))

    return holds


def _value(node: ast.expr) -> _Value:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return lambda _: Decimal(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            positive = _value(operand)
            return lambda scope: -positive(scope)
        case ast.Call(func=ast.Name(id="total"), args=[ast.Name(id=currency)], keywords=[]):
            if currency not in CURRENCIES:
                raise ValueError(f"got total({currency}), wanted a currency such as AUD{nearest(currency, CURRENCIES)}")
            return lambda scope: scope.total(currency)
        case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(name))], keywords=[]):
            if function not in FUNCTIONS:
                known = (*FUNCTIONS, "total")
                raise ValueError(f"got {function}(), allowed: {', '.join(known)}{nearest(function, known)}")
            return lambda scope: scope.ask(function, name)
        case _:
            raise ValueError(f"got '{ast.unparse(node)[:80]}', wanted a number or one of {', '.join(FUNCTIONS)}, total")
