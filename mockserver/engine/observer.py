"""Those who watch a sandbox: they are told what happens in it, and can change nothing.

Some want more of a sandbox than its answers: whether the client pays twice after a lost answer,
what an order has cost it. Such questions are rooms of their own around this house, and nothing in
here knows them. Each of them makes an :class:`Observer` for each sandbox that opens, and the
sandbox tells all of its observers what happens, one after the other.

- They are told synchronously, in the order of steps: what one is told is in force as it hears it,
  and nothing has happened since. The same requests tell the same story, byte for byte.
- They hear values (``mockserver/domain/facts.py``) and answer nothing: no step waits for them, asks
  them or goes another way for what they think. A sandbox without observers gives the same answers.
- Every call is told. Nobody here foresees which ones are worth a look: an observer that has nothing
  to do with one returns at once.

A copy of a sandbox, and one that is emptied, opens with observers of its own: what the client did
elsewhere is not held against it. With a store an observer goes on where it was: its ``lines`` are
kept one by one as they change, its ``memories`` and ``counters`` beside them, all by their types.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import Call, UncertainResult, WebhookTry
from mockserver.domain.record import record
from mockserver.domain.states import Event


@record
class Remark:
    """What an observer says of the client in the log of the server: ``name`` is its kind,
    ``severity`` one of ``note``, ``warning`` and ``error``, ``about`` the ids by what they are,
    ``entries`` are of the journal. Carries no card number, ccv or key."""

    name: str
    severity: str
    about: Mapping[str, str]
    entries: Sequence[int]


@record
class FoundLines:
    """What an observer has found, each by its number: all of it, or what is new or different since
    an earlier ``mark``. This mark says until when."""

    mark: object
    by_number: Mapping[int, object]
    is_all: bool


@record
class Memory:
    """A dictionary that an observer remembers something in, for a store: its values are replaced,
    never changed in place. ``pair`` is the type of a key with its value."""

    name: str
    held: dict[Any, Any]
    pair: Any


class Observer:
    """One who watches one sandbox. This one cares for nothing: a class that has it as its base says
    what it does care for. ``lines_are`` is the name and the type of its lines, None where it has
    none."""

    lines_are: ClassVar[tuple[str, type] | None] = None

    def limited(self, limits: Sequence[object]) -> None:
        """Other scenarios are in force: what the ``findings`` of each say, in their order."""

    def arrived(self, call: Call) -> None:
        """A call has come that is acted on later, by the number ``waited_as``: ``called``
        follows."""

    def called(self, call: Call) -> None:
        """A call of the client was decided; ``ended`` follows when it is open."""

    def ended(self, entry: int, doubt: UncertainResult | None, at: Micros, real: Micros) -> None:
        """The answer of an open call has ended, whole (``doubt`` None) or not."""

    def missed(self, entry: int, at: Micros, what: str, near: str | None) -> None:
        """The client has asked for a path that there is not; ``near`` is the one that it meant."""

    def moved(self, event: Event, entry: int) -> None:
        """Time or a payer has moved an object, at a journal entry."""

    def row_charged(self, charge: Charge, at: Micros, entry: int) -> None:
        """A row of a batch was charged; ``entry`` is the newest of the journal."""

    def challenge_opened(self, charge_id: str) -> None:
        """A payer has opened the page of the 3-D Secure challenge of a charge."""

    def webhook_sent(self, delivery_id: str, entry: int) -> None:
        """A webhook is on its way to a receiver of the client."""

    def webhook_tried(self, tried: WebhookTry) -> None:
        """The receiver of a webhook has answered, or has not."""

    def finished(self, at: Micros, real: Micros) -> None:
        """A story has ended, such as a test: what was left open stays so."""

    def remarks(self) -> Sequence[Remark]:
        """What it has to say in the log, each thing once."""
        return ()

    def lines(self, since: object) -> FoundLines:
        """What it has found, for a store that has it until a mark; None for one that has
        nothing."""
        return FoundLines(None, {}, is_all=True)

    def take(self, lines: Iterable[Any]) -> None:
        """Go on with these lines, which a store has kept; the counters are taken before."""

    def memories(self) -> Sequence[Memory]:
        """What it remembers beside its lines."""
        return ()

    def counters(self) -> Mapping[str, int]:
        """What it counts, by names of its own."""
        return {}

    def take_counters(self, counters: Mapping[str, int]) -> None:
        """Go on counting from here."""
