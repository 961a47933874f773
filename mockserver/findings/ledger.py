"""The findings of one sandbox: each kind about each thing once, with a count and its evidence."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from operator import itemgetter

from mockserver.domain.clock import Micros
from mockserver.domain.record import mutable, record
from mockserver.engine.observer import FoundLines
from mockserver.findings.catalogue import CATALOGUE, FindingKind, Severity
from mockserver.findings.policy import Policy

MOST = 1_000
"""Findings that are kept; later ones are counted only."""

MOST_EVIDENCE = 10
"""FoundLines of evidence that a finding keeps: the oldest, and the newest in place of the last."""


@record
class Evidence:
    """One line: a journal entry or a webhook, and what it was. Carries no card number, ccv or
    key."""

    line: str
    entry: int | None = None
    webhook: str | None = None


@record
class Circumstances:
    """What was seen of a mistake. ``is_mild``: not what makes its kind an error; ``is_informed``:
    the client had learnt how its first call had ended before it acted again."""

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
        """That of its kind, but where it is mild."""
        return min(self.kind.severity, Severity.WARNING) if self.is_mild else self.kind.severity

    def show(self, lines: Iterable[Evidence | None]) -> None:
        """Take in lines of evidence, without those that are None or there already."""
        known = {(line.entry, line.webhook) for line in self.evidence}
        for line in lines:
            if line is not None and (line.entry, line.webhook) not in known:
                if len(self.evidence) == MOST_EVIDENCE:
                    self.evidence.pop()
                self.evidence.append(line)
        self.evidence = _by_age(self.evidence)


@mutable
class Ledger:
    """What was raised, oldest first, but kinds that the ``policy`` allows, by which all judge from
    now on; ``raised`` and ``cleared`` count raises and clearings."""

    policy: Policy
    raised: int = 0
    dropped: int = 0
    cleared: int = 0
    unreported: list[Finding] = field(default_factory=list)
    _by_subject: dict[tuple[str, tuple[tuple[str, str], ...]], Finding] = field(
        default_factory=dict
    )

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
        finding = self._by_subject.get((name, tuple(known.items()))) or self._opened(
            name, known, at
        )
        if finding is not None:
            is_first = finding.count == 0
            finding.is_mild = seen.is_mild and (is_first or finding.is_mild)
            finding.is_informed = seen.is_informed and (is_first or finding.is_informed)
            self._count(finding, at)
            finding.show(evidence)

    def worsen(
        self, name: str, at: Micros, evidence: Iterable[Evidence | None], **about: str
    ) -> None:
        """What makes a finding an error has been seen: it is no longer mild."""
        finding = self._by_subject.get((name, tuple(about.items())))
        if finding is not None and finding.is_mild:
            self.raised += 1
            finding.is_mild, finding.last, finding.newest = False, at, self.raised
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
        return any(
            line.entry == entry
            for finding in self
            if finding.name == name
            for line in finding.evidence
        )

    def withdraw(self, entry: int, *names: str) -> None:
        """Take back what was raised of a journal entry, which another finding explains."""
        for finding in [one for one in self if one.kind.name in names]:
            left = [line for line in finding.evidence if line.entry != entry]
            if len(left) < len(finding.evidence):
                self.cleared += 1
                finding.count -= 1
                finding.evidence = left
        self._forget(lambda finding: not finding.count)

    def retract(self, names: Collection[str]) -> None:
        """Forget every finding of some kinds: what they were judged by is read anew."""
        self.cleared += self._forget(lambda finding: finding.kind.name in names)

    def again(self, name: str, at: Micros, **about: str) -> bool:
        """Count a finding once more when its evidence is complete; False when it is to be
        raised."""
        finding = self._by_subject.get((name, tuple(about.items())))
        if finding is None or len(finding.evidence) < MOST_EVIDENCE:
            return False
        self.raised += 1
        self._count(finding, at)
        return True

    def _count(self, finding: Finding, at: Micros) -> None:
        finding.count, finding.last, finding.newest = finding.count + 1, at, self.raised

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
        found = (one for one in self if one.severity >= least and name in (None, one.kind.name))
        new = (one for one in found if one.newest > raised)
        return [
            one for one in new if not after or max(line.entry or 0 for line in one.evidence) > after
        ]

    def news(self) -> list[Finding]:
        new, self.unreported = self.unreported, []
        return new

    def lines(self, since: object) -> FoundLines:
        """The findings that have changed since a store asked; all of them when any was taken back
        since."""
        mark = self.raised, self.cleared
        if since == mark:
            return FoundLines(mark, {}, is_all=False)
        raised, cleared = since if isinstance(since, tuple) else (0, None)
        is_all = cleared != self.cleared
        changed = {one.number: one for one in self if is_all or one.newest > raised}
        return FoundLines(mark, changed, is_all)

    def take_over(self, findings: Iterable[Finding]) -> None:
        """Go on with the findings of a store, which have been reported."""
        self._by_subject = {(one.name, tuple(one.about.items())): one for one in findings}

    def clear(self) -> None:
        """Forget all findings; their numbers go on."""
        self.cleared += 1
        self._forget(lambda _: True)

    def _forget(self, is_gone: Callable[[Finding], bool]) -> int:
        gone = [subject for subject, finding in self._by_subject.items() if is_gone(finding)]
        for subject in gone:
            self.dropped += 1
            del self._by_subject[subject]
        self.unreported = [one for one in self.unreported if not is_gone(one)]
        return len(gone)


def _by_age(lines: Iterable[Evidence]) -> list[Evidence]:
    """FoundLines in the order of the journal; one without an entry stays behind that which it
    followed."""
    age = 0
    ages = [(age := line.entry or age, line) for line in lines]
    return [line for _, line in sorted(ages, key=itemgetter(0))]
