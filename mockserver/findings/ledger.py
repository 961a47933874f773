"""The findings of one sandbox: each kind about each thing once, with a count and its evidence.

A mistake that is made a thousand times is one finding with a count: a list of a thousand lines
would be read by nobody. What was worse once stays so, and what another finding explains better is
taken back (``withdraw``).

A store and the control API ask for what is new. Each raise has a number (``raised``), and a finding
has that of its newest (``newest``); what was taken back has none, so ``cleared`` counts that, and a
reader with an older number of it takes all findings anew.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from mockserver.domain.clock import Micros
from mockserver.domain.record import mutable, record
from mockserver.engine.observer import FoundLines
from mockserver.findings.catalogue import CATALOGUE, FindingKind, Severity
from mockserver.findings.policy import Policy

MOST = 1_000
"""Findings that are kept; later ones are counted only."""

MOST_EVIDENCE = 10
"""Lines of evidence that a finding keeps: the oldest, and the newest in place of the last."""


_Subject: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""What makes two raises one finding: its name, and what it is about."""


class _Mark(NamedTuple):
    """Until when a store has the findings: so many raises and clearings."""

    raised: int
    cleared: int


@record
class Evidence:
    """One line: a journal entry or a webhook, and what it was. Carries no card number, ccv or
    key."""

    line: str
    entry: int | None = None
    webhook: str | None = None


@record
class Circumstances:
    """What was seen of a mistake. ``is_mild``: not what makes its kind an error, so that it is a
    warning; ``is_informed``: the client had learnt how its first call had ended before it acted
    again, so that it may have been meant."""

    is_mild: bool = False
    is_informed: bool = False


USUAL = Circumstances()


@mutable
class Finding:
    """Something that the client did wrong. ``when``, ``first`` and ``last`` are sandbox time;
    ``newest`` is the number of the last raise among all of the sandbox. ``is_mild``: what makes its
    kind an error has not been seen each time, so it is a warning. ``is_informed``: each time the
    client had learnt how its first call had ended before it acted again."""

    id: str
    name: str
    about: Mapping[str, str]
    first: Micros
    last: Micros
    newest: int
    count: int = 1
    evidence: list[Evidence] = field(default_factory=list)
    is_mild: bool = False
    is_informed: bool = False

    @property
    def number(self) -> int:
        """Its number among the findings of its sandbox."""
        return int(self.id.rpartition("-")[2])

    @property
    def kind(self) -> FindingKind:
        return CATALOGUE[self.name]

    @property
    def severity(self) -> Severity:
        """That of its kind; where it is mild a warning at most."""
        if self.is_mild:
            return min(self.kind.severity, Severity.WARNING)
        return self.kind.severity

    def show(self, lines: Iterable[Evidence | None]) -> None:
        """Take in lines of evidence, without those that are None or there already. Where there are
        too many the oldest stay, which tell how it began, and the newest, which tells that it goes
        on."""
        known = {(line.entry, line.webhook) for line in self.evidence}
        for line in lines:
            if line is None or (line.entry, line.webhook) in known:
                continue
            if len(self.evidence) == MOST_EVIDENCE:
                self.evidence.pop()
            self.evidence.append(line)
        # A judge may have given the later of two calls first.
        self.evidence = _by_age(self.evidence)


@mutable
class Ledger:
    """What was raised, oldest first, but kinds that the ``policy`` allows, by which all judge from
    now on. ``raised`` and ``cleared`` count raises and clearings, ``dropped`` the findings that are
    not kept (numbers go on after them); ``unreported`` are those that the log has not told."""

    policy: Policy
    raised: int = 0
    dropped: int = 0
    cleared: int = 0
    unreported: list[Finding] = field(default_factory=list)
    _by_subject: dict[_Subject, Finding] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._by_subject.values())

    def __len__(self) -> int:
        return len(self._by_subject)

    def add(
        self,
        name: str,
        at: Micros,
        evidence: Iterable[Evidence | None],
        seen: Circumstances = USUAL,
        /,
        **about: str | None,
    ) -> None:
        """Raise a finding about something, or count it once more. What was worse once stays so."""
        if name in self.policy.allow:
            return
        known = {key: value for key, value in about.items() if value is not None}
        self.raised += 1
        finding = self._by_subject.get((name, tuple(known.items())))
        if finding is None:
            finding = self._opened(name, known, at)
        if finding is None:
            # More than are kept.
            return
        # A new one is as mild as its first raise says; each later raise can only make it worse.
        is_first = finding.count == 0
        finding.is_mild = seen.is_mild and (is_first or finding.is_mild)
        finding.is_informed = seen.is_informed and (is_first or finding.is_informed)
        self._count(finding, at)
        finding.show(evidence)

    def worsen(
        self, name: str, at: Micros, evidence: Iterable[Evidence | None], **about: str
    ) -> None:
        """What makes a finding an error has been seen: it is no longer mild. It is the same mistake
        as before, so its count stays."""
        finding = self._by_subject.get((name, tuple(about.items())))
        if finding is not None and finding.is_mild:
            # A reader that asks for what is new gets it again.
            self.raised += 1
            finding.is_mild = False
            finding.last, finding.newest = at, self.raised
            finding.show(evidence)

    def _opened(self, name: str, about: Mapping[str, str], at: Micros) -> Finding | None:
        """A new finding; None when no more are kept."""
        if len(self._by_subject) >= MOST:
            self.dropped += 1
            return None
        number = len(self._by_subject) + self.dropped + 1
        finding = Finding(
            f"finding-{number}", name, about, first=at, last=at, newest=self.raised, count=0
        )
        self._by_subject[name, tuple(about.items())] = finding
        self.unreported.append(finding)
        return finding

    def explains(self, entry: int, name: str) -> bool:
        """Whether a finding of a kind was raised of a journal entry."""
        for finding in self:
            if finding.name == name and any(line.entry == entry for line in finding.evidence):
                return True
        return False

    def withdraw(self, entry: int, *names: str) -> None:
        """Take back what was raised of a journal entry, which another finding explains."""
        for finding in self:
            if finding.name not in names:
                continue
            left = [line for line in finding.evidence if line.entry != entry]
            if len(left) < len(finding.evidence):
                # Of the times that it was raised the others stay.
                self.cleared += 1
                finding.count -= 1
                finding.evidence = left
        self._forget([finding for finding in self if finding.count == 0])

    def retract(self, names: Collection[str]) -> None:
        """Forget every finding of some kinds: what they were judged by is read anew."""
        retracted = [finding for finding in self if finding.name in names]
        self.cleared += len(retracted)
        self._forget(retracted)

    def again(self, name: str, at: Micros, **about: str) -> bool:
        """Count a finding once more when its evidence is complete, which spares its judge to word
        another line; False when it is to be raised."""
        finding = self._by_subject.get((name, tuple(about.items())))
        if finding is None or len(finding.evidence) < MOST_EVIDENCE:
            return False
        self.raised += 1
        self._count(finding, at)
        return True

    def _count(self, finding: Finding, at: Micros) -> None:
        """Count a raise; a reader that asks for what is new gets the finding again."""
        finding.count += 1
        finding.last, finding.newest = at, self.raised

    def select(
        self,
        *,
        least: Severity = Severity.NOTE,
        name: str | None = None,
        after: int = 0,
        raised: int = 0,
    ) -> list[Finding]:
        """Findings of at least a severity, of one kind or all, after a journal entry and so many
        raises, in order."""
        selected = []
        for finding in self:
            is_asked_for = finding.severity >= least and name in (None, finding.name)
            is_new = finding.newest > raised
            if is_asked_for and is_new and (after == 0 or _is_after(finding, after)):
                selected.append(finding)
        return selected

    def news(self) -> list[Finding]:
        """What the log has not told yet, each once."""
        new, self.unreported = self.unreported, []
        return new

    def lines(self, since: object) -> FoundLines:
        """The findings that have changed since a store asked; all of them when any was taken back
        since."""
        mark = _Mark(self.raised, self.cleared)
        if since == mark:
            return FoundLines(mark, {}, is_all=False)
        # A store that has nothing yet gives no mark, and one that has findings which were taken
        # back since cannot tell which: both get all.
        if isinstance(since, _Mark) and since.cleared == self.cleared:
            changed = [finding for finding in self if finding.newest > since.raised]
            return FoundLines(mark, _by_number(changed), is_all=False)
        return FoundLines(mark, _by_number(self), is_all=True)

    def take_over(self, findings: Iterable[Finding]) -> None:
        """Go on with the findings of a store, which have been reported."""
        self._by_subject = {_subject_of(finding): finding for finding in findings}

    def clear(self) -> None:
        """Forget all findings; their numbers go on."""
        self.cleared += 1
        self._forget(list(self))

    def _forget(self, findings: Sequence[Finding]) -> None:
        """Forget some findings. Their numbers are not given again, so that an id in a log means one
        finding."""
        for finding in findings:
            del self._by_subject[_subject_of(finding)]
        self.dropped += len(findings)
        forgotten = {finding.id for finding in findings}
        self.unreported = [finding for finding in self.unreported if finding.id not in forgotten]


def _subject_of(finding: Finding) -> _Subject:
    """What a finding is known by."""
    return finding.name, tuple(finding.about.items())


def _is_after(finding: Finding, entry: int) -> bool:
    """Whether a finding has evidence of what came after a journal entry."""
    return any(line.entry is not None and line.entry > entry for line in finding.evidence)


def _by_number(findings: Iterable[Finding]) -> dict[int, Finding]:
    """Findings by their numbers, as a store keeps them."""
    return {finding.number: finding for finding in findings}


def _by_age(lines: Iterable[Evidence]) -> list[Evidence]:
    """Lines in the order of the journal; one without an entry stays behind that which it
    followed."""
    aged: list[tuple[int, Evidence]] = []
    age = 0
    for line in lines:
        if line.entry:
            age = line.entry
        aged.append((age, line))
    return [line for _, line in sorted(aged, key=itemgetter(0))]
