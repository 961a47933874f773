"""A payment token: payment details that a client-side script has handed in, for one provider and one use.

Sources: service document, What the service does, 4; published facts, 2.8 and 10; assumptions ``token.lifetime``,
``token.uses``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mockserver.domain.clock import Micros
from mockserver.domain.constraints import Count, PayToId, VaultId
from mockserver.domain.method_states import TokenState
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.sources import ChallengeAnswer, Instrument


@dataclass(slots=True)
class Token:
    """A token as stored. ``uses`` counts what is left; ``payto_id`` names the agreement of a PayTo token.

    ``challenged``: the payer was asked for 3-D Secure before the first use; ``answer`` is what the payer did.
    """

    token_id: str
    instrument: Instrument
    provider: ProviderSummary
    added: Micros
    expires: Micros
    uses: Count
    gateway_token_id: str
    vault_id: VaultId | None = None
    payto_id: PayToId | None = None
    ip: str | None = None
    metadata: Mapping[str, str] | None = None
    used: Micros | None = None
    verified: bool = False
    challenged: bool = False
    answer: ChallengeAnswer | None = None
    state: TokenState = TokenState.ACTIVE
    seq: int = -1

    @property
    def waits(self) -> bool:
        """Whether the payer may still answer the challenge."""
        return self.challenged and self.answer is None and self.state is TokenState.ACTIVE
