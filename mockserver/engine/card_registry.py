"""The cards a sandbox has seen: facts shared by every object with the same card, found by leading
digits.

No number is kept but published test numbers: facts are looked up by a salted digest (settled fact
``charge.search_card_number``). Somebody may enter a real number by mistake, and a dump of the
memory or a store must not give it away. A search by leading digits finds the digests of prefixes of
certain lengths, which are worked out as a card is met.

Tests pay with the same few cards, so what is worked out of a card is kept and shared: its facts for
good, what else was made of it while it is one of the newest.
"""

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from mockserver.domain import cards
from mockserver.domain.bounded_cache import Recent
from mockserver.domain.clock import Micros
from mockserver.domain.sources import Instrument, PaymentType

MOST_INSTRUMENTS = 1_000
"""Instruments that are kept to be shared."""

CardAsSent: TypeAlias = tuple[str | None, str | None, str | None, str | None]
"""What is given of a card: number, expiry, cardholder, id of the 3-D Secure server transaction.
Only compared as a whole; one is made for each payment, so it is a plain tuple."""


class EnteredCard(NamedTuple):
    """A card as it may be remembered, and as something that can be charged and shown."""

    card: cards.Card
    instrument: Instrument


class AcceptedCard(NamedTuple):
    """What a card became that was accepted as it was given, and the instant at which it expires."""

    expires: Micros
    entered: EnteredCard


class CardRegistry:
    """Interned card facts of one sandbox, ``facts`` by their fingerprint, and the instruments of
    the cards that paid lately; ``accepted`` are published cards by what was given of them,
    ``alike`` is what was read of a store lately that many rows hold. ``salt`` is what the digests
    of card numbers begin with: a secret of at most 64 characters of ASCII."""

    def __init__(self, salt: str) -> None:
        self.salt = salt
        self.facts: dict[str, cards.CardNumber] = {}
        self._by_prefix: dict[str, list[str]] = {}
        self._instruments: Recent[cards.Card, EnteredCard] = Recent(MOST_INSTRUMENTS)
        self.accepted: Recent[CardAsSent, AcceptedCard] = Recent(MOST_INSTRUMENTS)
        self.alike: dict[Hashable, object] = {}

    def known(self, number: str) -> cards.CardNumber | None:
        """The facts of a number that was met before, found by its digest."""
        return self.facts.get(cards.fingerprint_of(self.salt, number))

    def meet(self, number: str) -> cards.CardNumber:
        """The facts of a number, which are kept from now on."""
        return self.remember(cards.read_number(number, self.salt))

    def remember(self, facts: cards.CardNumber) -> cards.CardNumber:
        """Keep facts that were read elsewhere (an imported state), or give those already kept."""
        known = self.facts.setdefault(facts.fingerprint, facts)
        if known is facts:
            # It is new: searches must find it.
            for prefix in facts.prefixes:
                self._by_prefix.setdefault(prefix, []).append(facts.fingerprint)
        return known

    def entered(self, card: cards.Card) -> EnteredCard:
        """A card, and it as something that can be charged and shown. Payments with the same card
        share one: 220 bytes of a charge."""
        if card not in self._instruments:
            instrument = Instrument(PaymentType.CARD, card, display_type=card.number.brand)
            self._instruments.put(card, EnteredCard(card, instrument))
        return self._instruments[card]

    def accept(self, as_sent: CardAsSent, accepted: AcceptedCard) -> None:
        """Keep a card that was accepted; one whose number is not published is left: here it would
        be kept in the clear."""
        number, *_ = as_sent
        if number in cards.TEST_NUMBERS:
            self.accepted.put(as_sent, accepted)

    def fingerprints(self, digits: str) -> list[str]:
        """Fingerprints of the cards whose number begins with, or is, ``digits`` (4, 6, 8 of them,
        or all)."""
        if len(digits) in cards.PREFIX_LENGTHS:
            return self._by_prefix.get(cards.prefix_digest(self.salt, digits), [])
        return [cards.fingerprint_of(self.salt, digits)]
