"""What a webhook reports: a stored object as it stands, or data of the caller's own.

Source: docs/spec/published-facts.md, 6; docs/control-api.md (``/__admin/events``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.domain.clock import Micros
from mockserver.domain.events import Subject
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.payto import Agreement
from mockserver.domain.record import record


@record
class Notice:
    """``data`` at the instant ``at``: an object of ``kind``, or the caller's own data when that is None.

    ``extra`` members stand beside those of the object. A customer comes with its ``default_method``, a payment method
    with its ``agreement`` and ``network_token``.
    """

    at: Micros
    data: Any
    kind: Subject | None = None
    default_method: PaymentMethod | None = None
    agreement: Agreement | None = None
    network_token: NetworkToken | None = None
    extra: Mapping[str, object] | None = None
