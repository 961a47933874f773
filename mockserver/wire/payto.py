"""PayTo agreements on the wire. Source: docs/spec/service.md, NewPayToAgreement, and Payment method, payTo."""

from __future__ import annotations

from pydantic import Field

from mockserver.domain.commands import NewPayToMethod
from mockserver.domain.payto import LEAST_MAXIMUM, MOST_MAXIMUM, PayIdDetails
from mockserver.wire.base import Body, Required, Whole
from mockserver.wire.shapes import StoringTerms


class PayIdFields(Body):
    """The payer's PayID."""

    makes = PayIdDetails

    pay_id: str | None = None
    pay_id_type: str | None = Field(None, description="free text, such as EMAIL")


class NewPayToAgreement(StoringTerms):
    """An agreement that a payer is asked for."""

    payer_name: Required
    payer_pay_id_details: PayIdFields | None = None
    description: Required
    maximum_amount: Whole = Field(description=f"{LEAST_MAXIMUM} to {MOST_MAXIMUM}")
    provider_id: Required

    def command(self) -> NewPayToMethod:
        payer = self.payer_pay_id_details
        return self.made(NewPayToMethod, pay_id=payer.command() if payer else None, terms=self.terms())
