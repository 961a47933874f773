"""Sentences about the money that must hold at the end of a run: ``net("order-1") <= 20 and held(*) == 0``.

Source: docs/books.md, Invariants.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any

from mockserver.books.comparison import money_text
from mockserver.books.figures import Figures
from mockserver.books.shop_rows import KEYS
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
class OrderMoney:
    """One order in one currency: its name, its figures and how many charges it has."""

    order: str
    currency: str
    figures: Figures
    charges: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> OrderMoney:
        """An order as ``GET /__admin/books`` shows it."""
        name = next(row[kind] for kind in KEYS if row[kind] is not None)
        return cls(str(name), row["currency"], Figures.of(row), len(row["charges"]))

    def asked(self, function: str) -> Decimal:
        """What a function says of it."""
        return Decimal(self.charges) if function == "charges" else getattr(self.figures, function)


class Invariant:
    """One sentence. Raises ``ValueError`` with what was got and what is allowed."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise ValueError(f"got {len(text)} characters, at most {LONGEST} are allowed")
        try:
            self._tree = ast.parse(text.replace(f"({_EACH})", f'("{_EACH}")').strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"got '{text[:80]}', wanted a comparison such as {_EXAMPLE}") from None
        self._text = text.replace(f"({_EACH})", f'("{_EACH}")').strip()
        _check_truth(self._tree)

    def broken(self, orders: Iterable[OrderMoney]) -> str | None:
        """Where it does not hold, in words: each currency by itself, and with ``*`` each order; None when it holds."""
        known = {(one.order, one.currency): one for one in orders}
        for currency in dict.fromkeys(one.currency for one in known.values()) or ("",):
            each = [one.order for one in known.values() if one.currency == currency] if self._asks_each else [""]
            for order in each:
                scope = _Scope(known, currency, order)
                if not scope.holds(self._tree):
                    return f"{self.text} does not hold: {', '.join(dict.fromkeys(scope.said))}"
        return None

    @property
    def _asks_each(self) -> bool:
        return any(isinstance(node, ast.Constant) and node.value == _EACH for node in ast.walk(self._tree))


@record
class _Scope:
    """What the names of an invariant mean: in one currency, ``*`` being one order. ``said`` is what was looked at."""

    known: Mapping[tuple[str, str], OrderMoney]
    currency: str
    each: str
    said: list[str] = field(default_factory=list)

    def holds(self, node: ast.expr) -> bool:
        match node:
            case ast.BoolOp(op=ast.And()):
                return all(self.holds(one) for one in node.values)
            case ast.BoolOp():
                return any(self.holds(one) for one in node.values)
            case ast.UnaryOp(operand=operand):
                return not self.holds(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.value(one) for one in (left, *others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_COMPARED[type(op)](before, after) for op, before, after in pairs)
            case _:
                raise AssertionError(node)

    def value(self, node: ast.expr) -> Decimal:
        match node:
            case ast.Constant(value=number):
                return Decimal(str(number))
            case ast.UnaryOp(operand=operand):
                return -self.value(operand)
            case ast.Call(func=ast.Name(id="total"), args=[ast.Name(id=currency)]):
                found = sum((one.figures.net for one in self.known.values() if one.currency == currency), ZERO)
                self.said.append(f"the total is {money_text(found, currency)}")
                return found
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=name)]):
                order = self.each if name == _EACH else str(name)
                one = self.known.get((order, self.currency))
                found = ZERO if one is None else one.asked(function)
                shown = number_text(found) if function == "charges" else money_text(found, self.currency)
                self.said.append(f"{function} of {order} is {shown}")
                return found
            case _:
                raise AssertionError(node)


def _check_truth(node: ast.expr) -> None:
    match node:
        case ast.BoolOp(values=values):
            for one in values:
                _check_truth(one)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            _check_truth(operand)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
            for one in (left, *others):
                _check_value(one)
        case _:
            raise ValueError(f"got '{ast.unparse(node)[:80]}', wanted comparisons with and, or, not: {_EXAMPLE}")


def _check_value(node: ast.expr) -> None:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            _check_value(operand)
        case ast.Call(func=ast.Name(id="total"), args=[ast.Name(id=currency)], keywords=[]):
            if currency not in CURRENCIES:
                raise ValueError(f"got total({currency}), wanted a currency such as AUD{nearest(currency, CURRENCIES)}")
        case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str())], keywords=[]):
            if function not in FUNCTIONS:
                known = (*FUNCTIONS, "total")
                raise ValueError(f"got {function}(), allowed: {', '.join(known)}{nearest(function, known)}")
        case _:
            raise ValueError(f"got '{ast.unparse(node)[:80]}', wanted a number or one of {', '.join(FUNCTIONS)}, total")
