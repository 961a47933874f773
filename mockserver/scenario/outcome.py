"""What a rule can make happen: closed sets of outcomes, one module for each level of an operation's life.

Each is a part of a file and the value that runs, with the words that explanations say.
"""

from __future__ import annotations

from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.record import record
from mockserver.scenario.batch_script import BatchScript
from mockserver.scenario.later_step import Later
from mockserver.scenario.provider_outcome import Latency, ProviderOutcome
from mockserver.scenario.transport import Transport
from mockserver.scenario.webhook_plan import WebhookPlan


@record
class Outcome:
    """Everything that one rule makes happen, level by level; None or empty where it says nothing.

    With ``lag`` a read sees things as they stood so long ago; with ``replay`` a call is given the first answer of its
    key.
    """

    provider: ProviderOutcome | None = None
    latency: Latency | None = None
    transport: Transport | None = None
    webhook: WebhookPlan | None = None
    batch: BatchScript | None = None
    later: tuple[Later, ...] = ()
    lag: Micros = 0
    replay: bool = False

    @property
    def words(self) -> str:
        levels = (self.provider, self.latency, self.transport, self.webhook, self.batch, *self.later)
        said = [level.words for level in levels if level is not None]
        said += [f"as things stood {duration_text(self.lag)} ago"] if self.lag else []
        said += ["the first answer of its key"] if self.replay else []
        return "; ".join(said) or "the usual outcome"


NOTHING = Outcome()
"""No rule decided: the usual outcome."""
