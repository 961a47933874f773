"""The sandbox: objects, clock, ids, rules and schedule of one secret key, isolated from all others.

A test wants two things of a payments service that no real one gives it: that the same requests get
the same answers, and that time passes when it says so. Both follow from how a sandbox changes.

It changes in steps alone. A step is one request, or one piece of due work (``due``). It is one
synchronous function at one instant, ``now``: nothing else runs meanwhile, so the event loop is its
lock, and nobody ever sees half a change. A step checks all before it changes anything: one that is
refused has changed no object.

What time causes, such as the expiry of an authorisation, stands in the ``schedule`` as data. It
happens when the clock is brought up to a later instant, which every request does first: nothing
depends on a timer that has fired, or not yet. Ids, draws and digests are hashes of the seed, the
key and a counter. So a sandbox is a function of its seed, clock, scenarios and requests in their
order, byte for byte, whatever other sandboxes of the server do.

Rows are values: a change puts a new value in the place of the old one (``indexed_table``). So a
fork shares them, reads can look a little into the past (``past``), and a document is a copy of
lists. Those who want more of a sandbox than its answers watch it (``observer``); where it is kept
beside the memory, ``storage`` says.
"""

from collections.abc import Callable, Sized
from dataclasses import field
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit
from weakref import proxy

from mockserver.assumptions import Assumed
from mockserver.domain.bounded_cache import Recent
from mockserver.domain.clock import Micros
from mockserver.domain.ids import Ids, Kind, digest
from mockserver.domain.provider import default_provider
from mockserver.domain.record import mutable
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.config import Beginning, SandboxConfig
from mockserver.engine.delivery_log import DeliveryLog
from mockserver.engine.inboxes import Inboxes
from mockserver.engine.journal import Journal
from mockserver.engine.observer import Observer
from mockserver.engine.past import Past
from mockserver.engine.result import MOST_FIRSTS, First, FirstAnswer
from mockserver.engine.schedule import Schedule
from mockserver.engine.tables import ROW_CLASSES, Tables
from mockserver.scenario.attempt import Attempt, Stage
from mockserver.scenario.director import Decision, Director
from mockserver.scenario.provider_outcome import ProviderOutcome
from mockserver.scenario.transport import HoldUntil


@mutable
class Holding:
    """What a scenario holds in one sandbox, until it is released, and which calls are under way
    (docs/scenario-language.md, transport).

    ``held`` counts what waits for its release, ``is_all`` says that everything else waits with it;
    ``waiting`` are the calls that wait for the next one that moves money, of which ``came`` have
    come; ``releases`` counts releases. ``in_flight`` are the steps that are not answered yet, where
    a rule looks at them, by what distinguishes them."""

    held: int = 0
    is_all: bool = False
    waiting: int = 0
    came: int = 0
    releases: int = 0
    # Their type is ``Step``, whose module imports this one.
    in_flight: dict[int, Any] = field(default_factory=dict)

    def begin(self, until: HoldUntil) -> Callable[[], bool]:
        """Hold something until it is released; what says whether it is."""
        self.held += 1
        self.is_all = self.is_all or until is HoldUntil.ALL
        releases_before = self.releases

        def is_released() -> bool:
            # ``held`` alone would not do: something else may be held by then.
            return self.releases > releases_before

        return is_released

    def release(self) -> int:
        """Let everything go on; how much was held."""
        released = self.held
        self.held, self.is_all = 0, False
        self.releases += 1
        return released


class Sandbox(Tables):
    """All of one secret key. ``now`` is the instant of the step being taken; ``under_way`` counts
    the requests whose answers are still to be given.

    ``opened`` are the counters of ids and schedule when it was opened, None for one that was made
    from a document. ``used`` is the greater the later something happened in it, 0 while nothing
    has; ``touched`` is the machine's time at which it was opened or last asked for. ``setup`` are
    the answers of the calls with which it was opened, by scenario and id. ``horizon`` is the
    instant that due work is being brought up to; ``scripts`` holds, for each batch under way, what
    the scenario says of its rows (from 1). ``origin`` is the account in which its first objects
    were made: another one's in a copy. ``observers`` watch it; ``arrivals`` counts the calls of
    which they heard before these were acted on.
    """

    def __init__(self, key: str, config: SandboxConfig, real: Micros) -> None:
        super().__init__()
        self.key = key
        self.public_key = public_key_of(key)
        self.origin = self.account_id
        self.config = config
        self.clock = config.start_clock(real)
        self.now = self.horizon = self.clock.read(real)
        self.assumed = config.assumed
        self.own: Assumed | None = None
        self.ids = Ids(config.seed, key)
        self.director = Director(config.rules, config.seed, key)
        self.cards = CardRegistry(digest("salt", config.seed, key).hex())
        self.schedule = Schedule(0, [])
        self.journal = Journal(config.journal_limit, self.now)
        self.under_way = self.arrivals = 0
        self.holding = Holding()
        self.warned: set[str] = set()
        self.used = 0
        self.touched = real
        self.setup: dict[str, dict[str, object]] = {}
        self.opened: tuple[dict[str, int], int] | None = None
        self.deliveries = DeliveryLog(config.journal_limit)
        self.inboxes = Inboxes(config.journal_limit)
        self.idempotency: Recent[str, First] = Recent(MOST_FIRSTS)
        self.scripts: dict[str, dict[int, ProviderOutcome]] = {}
        # No cycle keeps a sandbox that is gone.
        present = proxy(self)
        self.observers: tuple[Observer, ...] = tuple(make(present) for make in config.observers)
        self._limit_observers()
        self.providers.add(default_provider(self.now))
        self._take_providers()
        self.replays: Recent[str, FirstAnswer] = Recent(MOST_FIRSTS)
        self.past: Past | None = None
        self.look_back()

    @property
    def account_id(self) -> str:
        """The account of its secret key, named by links, tokens and webhook subscriptions."""
        return digest("account", self.key).hex()

    @property
    def beginning(self) -> Beginning:
        """How it begins again when it is emptied."""
        return Beginning(self.config, self.own, tuple(self.journal.marks))

    @property
    def is_copy(self) -> bool:
        """Whether another sandbox has, or had, the same objects under the same ids."""
        return self.origin != self.account_id

    def page(self, path: str, /, **query: str) -> str:
        """The place of a page of this sandbox on its server, behind the path of ``--public-url``. A
        copy names itself: the ids alone name the original."""
        if self.is_copy:
            query["sandbox"] = self.public_key
        place = urlsplit(self.config.public_url).path + path
        if not query:
            return place
        return f"{place}?{urlencode(query)}"

    def address(self, path: str) -> str:
        """The whole address of a page of this sandbox, as others reach it."""
        return urljoin(self.config.public_url, self.page(path))

    def contents(self) -> list[Sized]:
        """The lists and dictionaries of it that may be long: who drops it frees them in a thread,
        as those of 100,000 charges take a while."""
        tables = [part for name in ROW_CLASSES for part in getattr(self, name).contents()]
        rows = [batch.rows for batch in self.batches]
        return [*tables, *rows, self.journal.entries, self.schedule.entries, self.idempotency]

    def apply_config(self, config: SandboxConfig) -> None:
        """Put other scenarios in force in a sandbox that lives: rules, assumptions and providers,
        not what has happened."""
        self.config = config
        self.settle(self.own)
        self.look_back()
        self.journal.gap_reason = "other scenarios were put in force"
        self.director.replace(config.rules)
        self._limit_observers()
        self._take_providers()

    def _limit_observers(self) -> None:
        """Tell those who watch what the scenarios in force say of findings."""
        for observer in self.observers:
            observer.limited(self.config.limits)

    def _take_providers(self) -> None:
        """Add the providers that the scenarios describe, and bring those that are there up to
        date."""
        for provider in self.config.providers(self.now, self.providers.get):
            known = self.providers.get(provider.provider_id)
            if known is None:
                self.providers.add(provider)
            else:
                self.providers.replace(known, provider)

    def settle(self, own: Assumed | None) -> None:
        """Let the profile and overrides of this sandbox alone count before those of its config;
        None forgets them."""
        self.own = own
        self.assumed = self.config.assumed
        if own is not None:
            # Scenarios may override as well; what a client has set for its own sandbox is nearer.
            overrides = {**self.assumed.overrides, **own.overrides}
            self.assumed = self.assumed.reused_or_new(own.profile, overrides)

    def is_untouched(self) -> bool:
        """Whether nothing has been made or held in it since it was opened, so that it can as well
        be opened anew."""
        was_held = self.holding.held or self.holding.releases
        return not was_held and self.opened == (self.ids.counters, self.schedule.order)

    def note_opened(self) -> None:
        """It has been opened, and its set-up calls have run."""
        self.opened = (dict(self.ids.counters), self.schedule.order)
        self.forget_past()

    def forget_past(self) -> None:
        """Reads that lag see all that there is now."""
        if self.past is not None:
            self.past.forget()

    def look_back(self) -> None:
        """Keep what has changed, as far back as the rules in force let reads lag; nothing where
        none does, as each change costs."""
        longest = self.config.rules.longest_lag
        if self.past is not None:
            self.past.longest = max(self.past.longest, longest)
        elif longest:
            # No cycle keeps the rows of a sandbox that is gone.
            present = proxy(self)
            tables = (getattr(self, name) for name in ROW_CLASSES)
            self.past = Past(lambda: (present.now, present.journal.last), tables, longest)

    def decide(self, stage: Stage, attempt: Attempt) -> Decision:
        """Let the scenario decide, and count it."""
        decision = self.director.decide(stage, attempt)
        self.config.counts.decided(decision)
        return decision

    def draw(self, purpose: Kind, below: int) -> int:
        """A whole number from 0 to ``below`` - 1, the next of its purpose: the same in every
        run."""
        count = self.ids.counters.get(purpose, 0) + 1
        self.ids.counters[purpose] = count
        drawn = digest("draw", self.config.seed, self.key, purpose, count, size=8)
        return int.from_bytes(drawn, "big") % below


def public_key_of(key: str) -> str:
    """The public key of a secret key (settled fact ``public_key``): ``sk_X`` pairs with ``pk_X``,
    others are derived."""
    if key.startswith("sk_"):
        return "pk_" + key[3:]
    return "pk_" + digest("public", key, size=12).hex()


def sandbox_id_of(key: str) -> str:
    """The id by which lists name the sandbox of a key."""
    return digest("sandbox", key, size=8).hex()


def masked_key(key: str) -> str:
    """A key as logs and listings show it: a few first characters, less than half of a short key,
    and a short digest by which keys differ."""
    shown = min(3, (len(key) - 1) // 2)
    told_apart_by = digest("masked", key, size=3).hex()
    return f"{key[:shown]}***{told_apart_by}"
