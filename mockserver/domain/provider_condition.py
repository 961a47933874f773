"""When a provider is offered: for which currency, and for which amounts.

Source: published facts, 2.12 (``hideConfiguration``, ``requireConfiguration``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class ProviderCondition:
    """One row: a currency and bounds of an amount; None means any. The bounds themselves are not inside."""

    currency: str | None = None
    less_than: Decimal | None = None
    greater_than: Decimal | None = None
    applies_conversion: bool = False

    def holds(self, amount: Decimal | None, currency: str | None) -> bool:
        """Whether a payment fits; what the caller does not say is unknown and fits nothing."""
        if self.currency is not None and self.currency != currency:
            return False
        if self.less_than is not None and (amount is None or amount >= self.less_than):
            return False
        return self.greater_than is None or (amount is not None and amount > self.greater_than)


def is_offered(
    hide: Sequence[ProviderCondition],
    require: Sequence[ProviderCondition],
    amount: Decimal | None,
    currency: str | None,
) -> bool:
    """Whether no row hides the payment, and one of those required, if any, fits it."""
    if any(row.holds(amount, currency) for row in hide):
        return False
    return not require or any(row.holds(amount, currency) for row in require)
