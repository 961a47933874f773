"""Faults of the network and of the service's front door, as a file says them and as they run; and
``edit`` and ``omit``, which change single members of a JSON text: of an answer, or of a webhook.

A path names members from the outside in, ``paymentInformation.card``; a number names an element of
a list from 0, ``*`` each of them. Source: docs/scenario-language.md, transport.
``web.transport_faults`` performs the faults.

A fault is of one kind, alone or with a delay. ``_KINDS`` says of each kind where it fits and what
it leaves the client with, and those who ask (placing, findings, explorations) ask ``Transport`` for
that, not for the kind: a new kind is a row. What matters most is the ``doubt``: a client that gets
no readable answer cannot know whether its payment was taken.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from mockserver.domain.clock import SECOND, Micros, duration_text
from mockserver.domain.facts import UncertainResult
from mockserver.domain.masking import mask_text
from mockserver.domain.record import record
from mockserver.scenario.file_model import file_model
from mockserver.scenario.scalars import Duration, DurationText, Switch, Text, read_duration, whole
from mockserver.scenario.values import excerpt

_FIRST_BAD, _BROKEN = 400, 500
UNAVAILABLE = 503
"""The status that says that a request was not taken."""
_BODILESS = (204, 205, 304)
_FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Headers that say where an answer ends: with a wrong one it cannot be read."""

_UNREADABLE = _FRAMING | {"content-encoding"}
_HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEADER_VALUE = r"[\t\x20-\x7e\xa0-\xff]*"
_LONGEST_PAUSE = 86_400
MOST_COPIES = 10


At = StrEnum("At", "CONNECT UPLOAD RECEIVE ANSWER")
"""Where in an operation's life a transport fault strikes: as its body is sent, before anything
happened, or after all of it did."""


FaultKind = StrEnum(
    "FaultKind",
    "STATUS DELAY RESET CLOSE_AFTER TRUNCATE DRIBBLE GARBAGE HANG HOLD MALFORMED_JSON "
    "SLOW COPIES EDIT",
)
"""Everything that a scenario can make the network do to an answer."""

HoldUntil = StrEnum("HoldUntil", "RELEASED ALL")
"""Until when a call is held: until it is released (``DELETE /__admin/hold``) or its client leaves;
with ``all`` every other request, answer and webhook of the sandbox is held with it."""


@record
class _KindRow:
    """What is true of every fault of a kind: the ``places`` where it fits; the ``doubt`` in which
    it leaves the client; whether it takes the client's time; whether it strikes the reading of a
    body, which then goes on; whether it ends the connection itself (``cuts``); and whether a
    request that it meets at its receipt is acted on all the same (``goes_on``)."""

    places: tuple[At, ...]
    doubt: UncertainResult | None = None
    is_slow: bool = False
    is_reading: bool = False
    cuts: bool = False
    goes_on: bool = False


_WHOLE, _ANSWER = (At.RECEIVE, At.ANSWER), (At.ANSWER,)
_KINDS: Mapping[str, _KindRow] = {
    FaultKind.STATUS: _KindRow(_WHOLE),
    FaultKind.DELAY: _KindRow(_WHOLE, is_slow=True, goes_on=True),
    FaultKind.RESET: _KindRow(tuple(At), UncertainResult.RESET, cuts=True),
    FaultKind.CLOSE_AFTER: _KindRow(_ANSWER, UncertainResult.CUT, cuts=True),
    FaultKind.TRUNCATE: _KindRow(_ANSWER, UncertainResult.CUT, cuts=True),
    FaultKind.DRIBBLE: _KindRow(_ANSWER, is_slow=True),
    FaultKind.GARBAGE: _KindRow(_WHOLE, UncertainResult.GARBLED, cuts=True),
    FaultKind.HANG: _KindRow(
        (At.UPLOAD, *_WHOLE), UncertainResult.TIMED_OUT, is_slow=True, cuts=True
    ),
    FaultKind.HOLD: _KindRow(_WHOLE, is_slow=True, goes_on=True),
    FaultKind.MALFORMED_JSON: _KindRow(_ANSWER, UncertainResult.GARBLED),
    FaultKind.SLOW: _KindRow((At.UPLOAD,), is_reading=True),
    FaultKind.COPIES: _KindRow((At.RECEIVE,), goes_on=True),
    FaultKind.EDIT: _KindRow(_ANSWER),
}
_MISPLACED = {
    At.ANSWER: "{word} comes before anything happens; use at: receive",
    At.RECEIVE: "{word} changes an answer, and at: receive there is none; use at: answer",
    At.UPLOAD: "{word} cannot be used at: upload, which has only reset, hang and slow",
    At.CONNECT: "{word} cannot be used at: connect, which has only reset",
}
_MISPLACED_READING = {
    At.CONNECT: "{word} reads a body, and at: connect there is none; use at: upload",
    At.RECEIVE: "{word} reads a body, and at: receive it has been read; use at: upload",
    At.ANSWER: "{word} reads a body, and at: answer it has been read; use at: upload, or dribble",
}
"""The refusal of a fault at a place where it does not fit; of one that strikes the reading of a
body."""

WITHOUT_CONNECTION = tuple(kind for kind, row in _KINDS.items() if not row.cuts)
"""Faults that any server can perform."""

_JOINING = (FaultKind.DELAY, FaultKind.EDIT)
_ALONE = tuple(kind for kind in FaultKind if kind not in _JOINING)
_WORDS = (*FaultKind, "omit", "headers")


@record
class ErrorBody:
    """The service's own error object, worded when it is sent. ``code`` is None for the one that
    fits the status and the operation, ``message`` for the text of the code."""

    code: int | None = None
    message: str | None = None


OURS = ErrorBody()
"""The body of a status whose body the file leaves to us."""


@file_model
class Dribble:
    """The answer, or a body that is read, in small pieces."""

    chunk: Annotated[int, whole(1, 1_000_000)]
    every: Duration


def _hold(value: object) -> Micros | HoldUntil:
    """How long a call is held: a time, or a word."""
    if isinstance(value, str) and value in list(HoldUntil):
        return HoldUntil(value)
    with suppress(ValueError):
        length = read_duration(value)
        if length > 0:
            return length
    raise ValueError(
        f"got {excerpt(value)}, wanted a duration above 0 such as 300ms, or released, or all"
    )


Hold = Annotated[int | HoldUntil, BeforeValidator(_hold, HoldUntil | DurationText)]


def _header_name(name: str) -> str:
    """Refuse a name that HTTP does not allow: the server could not send it."""
    if re.fullmatch(_HEADER_NAME, name) is None:
        raise ValueError(f"got '{name[:60]}', which is not the name of a header")
    return name


def _header_value(text: str) -> str:
    """Refuse what does not fit one header: a line break would begin another."""
    if re.fullmatch(_HEADER_VALUE, text) is None:
        raise ValueError("wanted one line of Latin-1 text")
    return text


def _pause(value: object) -> object:
    """Whole seconds, as Retry-After has them: a number of them, or a duration."""
    if isinstance(value, str) and not value.isdigit():
        pause = read_duration(value)
        if pause % SECOND:
            raise ValueError(f"got '{value}', wanted whole seconds: Retry-After has no fractions")
        value = pause // SECOND
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LONGEST_PAUSE:
        return value
    raise ValueError(
        f"got {excerpt(value)}, wanted whole seconds from 0 to {_LONGEST_PAUSE}, such as 3 or 3s"
    )


_LONGEST_PATH = 200
_EACH = "*"


def _path(text: str) -> str:
    """A path of members."""
    if len(text) > _LONGEST_PATH or not all(text.split(".")):
        raise ValueError(
            f"got '{text[:60]}', wanted the path of a member, such as paymentInformation.card"
        )
    return text


EditPath = Annotated[Text, AfterValidator(_path)]
Edit = Annotated[dict[EditPath, object], Field(min_length=1, max_length=100)]
Omit = Annotated[tuple[EditPath, ...], Field(min_length=1, max_length=100)]

Headers = dict[
    Annotated[str, AfterValidator(_header_name)], Annotated[Text, AfterValidator(_header_value)]
]
Pause = Annotated[
    int,
    BeforeValidator(_pause, Annotated[int, Field(ge=0, le=_LONGEST_PAUSE)] | str),
]


@file_model
class Transport:
    """A fault of the network, and its place in the operation's life."""

    at: At
    status: Annotated[int, whole(200, 599)] | None = None
    body: object = OURS
    headers: Headers | None = None
    retry_after: Pause | None = None
    edit: Edit | None = None
    omit: Omit = ()
    delay: Duration = 0
    virtual: Switch = False
    reset: Switch = False
    close_after: Annotated[int, whole(0, 10_000_000)] | None = None
    truncate: Switch = False
    dribble: Dribble | None = None
    slow: Dribble | None = None
    garbage: Switch = False
    hang: Switch = False
    hold: Hold | None = None
    malformed_json: Switch = False
    copies: Annotated[int, whole(2, MOST_COPIES)] | None = None
    kind: FaultKind = field(init=False)

    @classmethod
    def prepare(cls, data: Mapping[str, object]) -> Mapping[str, object]:
        """What is null is absent, but for the body. Refuses a fault that names none, or parts of an
        answer without its status."""
        said = {key: value for key, value in data.items() if value is not None or key == "body"}
        of_answer = [word for word in ("body", "retry_after") if word in said]
        if of_answer and "status" not in said:
            raise ValueError(f"{' and '.join(of_answer)} need status, which is missing")
        if said.keys().isdisjoint(_WORDS):
            raise ValueError(
                f"got {', '.join(said) or 'nothing'}, wanted one of {', '.join(_WORDS)}"
            )
        return said

    def __post_init__(self) -> None:
        kinds = [kind for kind in _ALONE if self._names(kind)]
        edits = [word for word in ("edit", "omit") if getattr(self, word)]
        if self.headers and self.status is None:
            # With a status they are those of its answer, else they change the real one.
            edits.append("headers")
        if len(kinds) > 1 or (kinds and edits):
            raise ValueError(
                f"got {' and '.join([*kinds, *edits])}, only one of them is allowed (delay may "
                "join any)"
            )
        if kinds:
            self._check_place(kinds[0], word=kinds[0])
        elif edits:
            # Its three keys say one thing, and may stand together.
            self._check_place(FaultKind.EDIT, word=edits[0])
        else:
            self._check_place(FaultKind.DELAY, word=FaultKind.DELAY)
        self._check_answer()
        is_success = self.status is None or self.status < _FIRST_BAD
        if is_success and self.body == OURS:
            # A success whose body the file leaves out has none: the error object would be a lie.
            object.__setattr__(self, "body", None)
        if self.retry_after is not None:
            headers = {**(self.headers or {}), "Retry-After": str(self.retry_after)}
            object.__setattr__(self, "headers", headers)

    def _names(self, kind: FaultKind) -> bool:
        """Whether the key of a kind is given; ``close_after: 0`` is, which cuts before the first
        byte."""
        value = getattr(self, kind.value)
        return value is not None and value is not False

    def _check_place(self, kind: FaultKind, word: str) -> None:
        """Set the kind, which a file names by ``word``, if it fits where the fault strikes: what
        changes an answer needs one, what slows the reading of a body is too late after that."""
        object.__setattr__(self, "kind", kind)
        may_be_virtual = self.delay > 0 and self.at in _WHOLE
        if self.virtual and not may_be_virtual:
            raise ValueError(
                "virtual needs delay and at: receive or answer: it says how that time passes"
            )
        row = _KINDS[kind]
        if self.at not in row.places:
            refusals = _MISPLACED_READING if row.is_reading else _MISPLACED
            raise ValueError(refusals[self.at].format(word=word))
        if self.at is At.CONNECT and self.delay:
            # A delay may join any kind: that of a reset passes the check above.
            raise ValueError("delay cannot be used at: connect, which has only reset")

    def _check_answer(self) -> None:
        """Refuse headers and a body that an answer of the status cannot have: no service sends
        these, and clients would read on into the next answer."""
        if self.status is None:
            return
        for name in self.headers or ():
            if name.lower() in _FRAMING:
                raise ValueError(
                    f"{name} is the server's own; use truncate for a wrong length, or headers "
                    "without a status"
                )
        has_body = self.body is not None and self.body != OURS
        if has_body and self.status in _BODILESS:
            raise ValueError(f"got a body, and an answer of status {self.status} has none")

    @property
    def doubt(self) -> UncertainResult | None:
        """Why the client cannot know how its call ended; None when the answer can be read."""
        match self.kind:
            case FaultKind.STATUS:
                is_broken = self.status is not None and self.status >= _BROKEN
                if is_broken and not self._is_told:
                    return UncertainResult.BAD_GATEWAY
                # A client believes a 4xx, as the service refuses with it before it acts.
                return None
            case FaultKind.EDIT:
                if self.lowered.keys().isdisjoint(_UNREADABLE):
                    return None
                return UncertainResult.GARBLED
            case kind:
                return _KINDS[kind].doubt

    @property
    def _is_told(self) -> bool:
        """Whether the answer of a status says what happened: an error body does. After the
        operation has happened a client believes it only with a status of 503, which says that the
        request was not taken."""
        if self.at is At.ANSWER and self.status != UNAVAILABLE:
            return False
        if isinstance(self.body, ErrorBody):
            return True
        # An error object of the scenario's own has a code; the page of a proxy tells nothing.
        return isinstance(self.body, Mapping) and "code" in self.body

    @property
    def may_retry(self) -> bool:
        """Whether a body of the scenario's own tells the client that it may try again: then a
        retry is not held against it."""
        return isinstance(self.body, Mapping) and self.body.get("isRetryable") is True

    @property
    def is_slow(self) -> bool:
        """Whether it takes the client's time."""
        return self.delay > 0 or _KINDS[self.kind].is_slow

    @property
    def goes_on(self) -> bool:
        """Whether a request that it meets at its receipt is acted on all the same."""
        return _KINDS[self.kind].goes_on

    @property
    def comes_first(self) -> bool:
        """Whether it must be decided before anything has been asked of a provider: what is to reach
        the service several times, or later, has not reached it yet."""
        comes_later = self.virtual or self.kind is FaultKind.HOLD
        comes_often = self.kind is FaultKind.COPIES
        return self.at is At.RECEIVE and (comes_later or comes_often)

    @property
    def is_reading(self) -> bool:
        """Whether it strikes the reading of a body, and the request goes on."""
        return _KINDS[self.kind].is_reading

    @property
    def lowered(self) -> Mapping[str, str]:
        """The headers that it sets, by their names in lower case."""
        return {name.lower(): value for name, value in (self.headers or {}).items()}

    @property
    def breaks_framing(self) -> bool:
        """Whether its headers announce another end of the answer than the real one."""
        return self.kind is FaultKind.EDIT and not _FRAMING.isdisjoint(self.lowered)

    @property
    def cuts(self) -> bool:
        """Whether it ends the connection itself, or holds it: only our own server hands that over,
        and in process it is an exception."""
        return _KINDS[self.kind].cuts or self.breaks_framing

    @property
    def words(self) -> str:
        length = duration_text(self.delay)
        if self.kind is FaultKind.DELAY and self.virtual:
            return f"transport at {self.at}: so much time passes: {length}"
        if self.kind is FaultKind.DELAY:
            return f"transport at {self.at}: delay {length}"
        words = f"transport at {self.at}: {self._kind_words()}"
        if self.delay:
            words += f" after {length}"
        return words

    def _kind_words(self) -> str:
        """What the fault does, without its place."""
        match self.kind:
            case FaultKind.STATUS:
                return f"status {self.status}"
            case FaultKind.EDIT:
                words: list[str] = []
                changes = {"edit": self.edit, "omit": self.omit, "headers": self.headers}
                for word, names in changes.items():
                    if names:
                        words.append(f"{word} {' and '.join(names)}")
                return ", ".join(words)
            case FaultKind.CLOSE_AFTER:
                return f"close after {self.close_after} bytes"
            case FaultKind.HOLD:
                if isinstance(self.hold, HoldUntil):
                    return f"hold {self.hold}"
                return f"hold {duration_text(self.hold or 0)}"
            case FaultKind.COPIES:
                return f"reaches the service {self.copies} times"
            case _:
                pieces = self.dribble or self.slow
                if pieces is None:
                    return self.kind.value
                return f"{self.kind} {pieces.chunk} bytes every {duration_text(pieces.every)}"


_GONE = object()
"""Stands for the new value of a member that is left out."""


def edited(value: object, edit: Mapping[str, object], omit: Sequence[str]) -> object:
    """A JSON value with members set, added or left out. A path through a missing member changes
    nothing. The value itself stays as it is."""
    for path, member in edit.items():
        value = _changed(value, path.split("."), member)
    for path in omit:
        value = _changed(value, path.split("."), _GONE)
    return value


def unfound(value: object, edit: Mapping[str, object], omit: Sequence[str]) -> list[str]:
    """The paths that change nothing of a JSON value, each in words: the journal warns of them, as a
    misspelt path spoils nothing, and the client seems to cope."""
    unfound = []
    for path, member in edit.items():
        # A value that is equal to none: what it may be set to may be what is there.
        if _changed(value, path.split("."), object()) == value:
            unfound.append(f"edit '{mask_text(path)}'")
        value = _changed(value, path.split("."), member)
    for path in omit:
        without = _changed(value, path.split("."), _GONE)
        if without == value:
            unfound.append(f"omit '{mask_text(path)}'")
        value = without
    return unfound


def _changed(value: object, path: Sequence[str], member: object) -> object:
    """A copy of a JSON value in which what a path names is ``member``, or is left out where that is
    ``_GONE``. An object gets a last member that it lacks; nothing else is added."""
    first, *rest = path
    if isinstance(value, dict):
        members = value.copy()
        # Of an object that is not there it is not known what else it would hold.
        is_added = not rest and member is not _GONE
        if first in value or is_added:
            _put(members, first, rest, member)
        return members
    if isinstance(value, list):
        items = value.copy()
        # From the end, as what is left out moves what follows.
        for index in reversed(_indexes(items, first)):
            _put(items, index, rest, member)
        return items
    return value


def _put(holder: Any, key: str | int, rest: Sequence[str], member: object) -> None:
    """Set a member of a holder, or one below it, or take it out. The holder is a copy already."""
    if rest:
        holder[key] = _changed(holder[key], rest, member)
    elif member is _GONE:
        del holder[key]
    else:
        holder[key] = member


def _indexes(items: Sequence[object], part: str) -> Sequence[int]:
    """The elements of a list that one part of a path names."""
    if part == _EACH:
        return range(len(items))
    # Other digits of Unicode are numbers for Python, and none for who writes a path.
    is_place = part.isascii() and part.isdigit()
    if is_place and int(part) < len(items):
        return (int(part),)
    return ()
