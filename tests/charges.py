"""A charge as a value, without a sandbox that made it."""

from decimal import Decimal

from mockserver.domain.charge import Charge
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import Instrument, PaymentType
from mockserver.domain.states import ChargeState


def charge_in(state: ChargeState, charge_id: str = "ch_1", **fields: object) -> Charge:
    """A charge of 20 AUD in a state."""
    known = {
        "charge_id": charge_id,
        "provider_charge_id": None,
        "amount": Decimal(20),
        "currency": "AUD",
        "status": state,
        "provider": ProviderSummary("p", "dummy", "Dummy"),
        "instrument": Instrument(PaymentType.CARD),
        "added": 0,
        "reference": "order-5",
    }
    return Charge(**{**known, **fields})  # type: ignore[arg-type]
