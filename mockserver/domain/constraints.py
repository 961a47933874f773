"""What fields of stored objects allow beyond their types, written beside the type: ``Annotated[int,
Within(1, 12)]``.

Requests are judged by rules of their own. These hold state documents, which may have been edited by
hand, to what the rules would have let in.
"""

from decimal import Decimal
from typing import Annotated

from mockserver.domain.errors import nearest
from mockserver.domain.money import number_text
from mockserver.domain.record import record

MOST = 10**11
"""More than any real count, with room to go on counting."""


@record
class Within:
    """A number from ``low`` to ``high``; None means no upper bound."""

    low: int | Decimal
    high: int | Decimal | None = None

    def fault(self, value: int | Decimal) -> str | None:
        """What is wrong with a value, None when nothing is."""
        if self.low <= value and (self.high is None or value <= self.high):
            return None
        allowed = f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"
        got = number_text(value) if isinstance(value, Decimal) else value
        return f"got {got}, wanted {allowed}"


@record
class OneOf:
    """One of some texts."""

    words: tuple[str, ...]

    def fault(self, value: str) -> str | None:
        """What is wrong with a value, None when nothing is."""
        if value in self.words:
            return None
        return f"got '{value[:40]}', which is not a known value{nearest(value[:40], self.words)}"


@record
class Ascii:
    """A secret text of at most ``most`` characters of ASCII."""

    most: int

    def fault(self, value: str) -> str | None:
        """What is wrong with a value, None when nothing is."""
        if value.isascii() and len(value) <= self.most:
            return None
        return f"got {len(value)} characters, wanted at most {self.most} of ASCII"


@record
class IdIn:
    """The id of a row of a table of the sandbox."""

    table: str


@record
class CodeOfCurrency:
    """The code of a currency, in capital letters."""


@record
class InCurrency:
    """An amount in the currency that the row names in its field ``currency``: neither negative nor
    finer than that."""


Amount = Annotated[Decimal, InCurrency()]
CurrencyCode = Annotated[str, CodeOfCurrency()]
NonNegative = Annotated[int, Within(0, MOST)]

BatchId = Annotated[str, IdIn("batches")]
ChargeId = Annotated[str, IdIn("charges")]
CustomerId = Annotated[str, IdIn("customers")]
NetworkTokenId = Annotated[str, IdIn("network_tokens")]
PaymentLinkId = Annotated[str, IdIn("payment_links")]
PaymentMethodId = Annotated[str, IdIn("payment_methods")]
PayToId = Annotated[str, IdIn("payto")]
ProviderId = Annotated[str, IdIn("providers")]
SubscriptionId = Annotated[str, IdIn("subscriptions")]
TokenId = Annotated[str, IdIn("tokens")]
VaultId = Annotated[str, IdIn("vault")]
