"""Requests that are wrong by themselves: unknown fields, forms that the service does not document,
a secret key in a browser, a charge without a reference, amounts that are not exact
(``exact_amounts``), card numbers where they do not belong (``misplaced_cards``).
"""

from collections.abc import Mapping

from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.facts import ALSO_TAKEN, Call
from mockserver.domain.record import mutable
from mockserver.findings.exact_amounts import inexact
from mockserver.findings.intents import evidence_of
from mockserver.findings.ledger import Evidence, Ledger
from mockserver.findings.misplaced_cards import card_places, is_clean


@mutable
class RequestChecks:
    """Checks each request of one sandbox's client by itself. Keeps nothing but what it raises."""

    _ledger: Ledger

    def called(self, call: Call) -> None:
        """A call was decided."""
        if call.unknown:
            self._raise_unknown(call, call.unknown)
        if call.undocumented or call.misread:
            self._raise_unusual(call)
        # Where the service refuses every amount that is not exact, one that it took is exact.
        may_be_inexact = call.code is not None or call.op in ALSO_TAKEN
        if may_be_inexact and (where := inexact(call)) is not None:
            self._raise("amount-not-exact", call, f"{where} is not exact")
        if call.is_browser:
            self._raise("secret-key-in-browser", call, "sent by a browser with the secret key")
        if not is_clean(call.text, call.where, call.headers):
            for place in card_places(call):
                self._raise(
                    "card-number-outside-its-field", call, f"a card number in {place}", field=place
                )
        charge = call.charge
        if charge is not None and not charge.reference and call.op == "charge.create":
            self._judge_no_reference(call, charge)

    def _judge_no_reference(self, call: Call, charge: Charge) -> None:
        """Judge a charge without a reference: after a lost answer nobody could find it."""
        # What was refused need not be found. With a public key the charge is the client script's,
        # which has no reference to give.
        if call.code is not None or call.is_repeat or call.is_public:
            return
        # Load tests make a million of these: a line for each would cost more than it says.
        if self._ledger.again("no-reference", call.at, operation=call.op):
            return
        what = f"charge.create {charge.amount} {charge.currency} {charge.charge_id}"
        evidence = Evidence(f"{what}: no reference", entry=call.entry)
        self._ledger.add("no-reference", call.at, (evidence,), operation=call.op)

    def _raise_unusual(self, call: Call) -> None:
        """Raise what the service took in another form than its document shows, or read otherwise
        than it is written: another version of it may not."""
        for name, words in call.undocumented.items():
            self._raise("undocumented-form", call, f"{name}: {words}", field=name)
        for name, words in call.misread.items():
            self._raise("query-not-as-written", call, f"{name}: {words}", field=name)

    def _raise_unknown(self, call: Call, hints: Mapping[str, str]) -> None:
        """Raise the fields that nobody reads: what the client wanted with them does not happen."""
        for name, hint in hints.items():
            words = f"unknown field {name}"
            if hint:
                words = f"{words}, {hint}"
            self._raise("unknown-field", call, words, field=name)

    def missed(self, entry: int, at: Micros, what: str, nearest: str | None) -> None:
        """A call named a path or verb that does not exist."""
        line = f"{what}: no such operation"
        if nearest:
            line = f"{line}, nearest {nearest}"
        self._ledger.add("no-such-operation", at, (Evidence(line, entry=entry),), request=what)

    def _raise(self, finding: str, call: Call, said: str, **about: str) -> None:
        self._ledger.add(finding, call.at, (evidence_of(call, said),), operation=call.op, **about)
