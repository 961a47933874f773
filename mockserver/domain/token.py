"""A payment token: payment details that a client-side script has sent, for one provider and one
use.

Sources: docs/spec/service.md, What the service does, 4; docs/spec/published-facts.md, 2.8 and 10;
assumptions ``token.lifetime``, ``token.uses``.
"""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.clock import Micros
from mockserver.domain.constraints import NonNegative, PayToId, VaultId
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.record import record, replace
from mockserver.domain.sources import ChallengeAnswer, Instrument
from mockserver.domain.states import TOKEN, TokenEvent, TokenState


@record
class Token:
    """A token as stored. ``uses`` counts what is left; ``payto_id`` names the agreement of a PayTo
    token.

    ``challenged``: the payer was asked for 3-D Secure before the first use; ``answer`` is what the
    payer did.
    """

    token_id: str
    instrument: Instrument
    provider: ProviderSummary
    added: Micros
    expires: Micros
    uses: NonNegative
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
        """Whether the payer may still answer the challenge: not twice, and not once a payment was
        made with the token."""
        return self.challenged and self.answer is None and self.state is TokenState.ACTIVE

    def after_use(self, now: Micros) -> Token:
        """Used once more; after the last use it is used up. Raises ``WrongState`` (51)."""
        event = TokenEvent.USED if self.uses > 1 else TokenEvent.USED_UP
        return replace(self, state=TOKEN.advance(self.state, event), uses=self.uses - 1, used=now)

    def after_expiry(self) -> Token:
        """Expired. Raises ``WrongState`` (51)."""
        return replace(self, state=TOKEN.advance(self.state, TokenEvent.EXPIRED))

    def after_challenge(self, answer: ChallengeAnswer) -> Token:
        """With the payer's answer; passed, its payments are verified."""
        return replace(self, answer=answer, verified=answer is ChallengeAnswer.PASS)
