"""``mockserver sample``: fills a sandbox of a running server with invented customers and charges,
as any client would.

Everything is drawn from one seed, and expiries are counted from the sandbox's own clock, so the
same call on a fresh sandbox makes the same objects. Source: docs/cli.md, mockserver sample.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.options import options
from mockserver.commands.servers import served
from mockserver.domain.cards import TEST_CARDS
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.domain.record import mutable
from mockserver.remote import ControlRefused, JsonObject, RemoteSandbox

if TYPE_CHECKING:
    from faker import Faker

MOST_CHARGES = 4
"""Charges of one customer at most."""

# Names of test cards: of good ones, and of those whose charge is declined.
_GOOD_CARDS = ("visa", "visa_2", "mastercard", "amex", "discover", "jcb", "diners")
_BAD_CARDS = ("do_not_honour", "insufficient_funds", "lost_card", "wrong_ccv", "processing_error")
_COMMENTS = ("Wrong size", "Arrived broken", "Changed my mind", "Sent twice")


@mutable
class Sampler:
    """Posts sample data to a sandbox, and raises what ``RemoteSandbox.call`` raises. ``counts`` are
    of what it has made, by kind. ``year`` is that of the sandbox's clock.
    """

    sandbox: RemoteSandbox
    fake: Faker
    year: int
    counts: Counter[str] = field(default_factory=Counter)

    def customers(self, count: int) -> Iterator[JsonObject]:
        """Make customers with their charges, one after the other; each is yielded when it is
        complete."""
        for number in range(1, count + 1):
            customer = self._customer(number)
            self.counts["customers"] += 1
            for order in range(1, self.fake.random_int(1, MOST_CHARGES) + 1):
                # 5.00 to 500.00: a shop's usual orders.
                cents = self.fake.random_int(500, 50_000)
                story = self._drawn_story()
                charge = self.charge(customer, f"order-{number}-{order}", cents, story)
                self.counts[f"charges {charge['status']}"] += 1
            yield customer

    def charge(self, customer: JsonObject, reference: str, cents: int, story: str) -> JsonObject:
        """Charge a customer's card, and do what the story, one of ``STORIES``, says then; the
        charge as stored."""
        first, *later_steps = story.split(", ")
        if first == "decline":
            return self._declined(customer, reference, cents)
        body: JsonObject = {
            "customerId": customer["customerId"],
            "amount": _money(cents),
            "reference": reference,
        }
        if first == "authorise":
            body["capture"] = False
        charge = self._call("POST", "/charge/customer", json=body)
        for step in later_steps:
            charge = self._take_step(charge["chargeId"], step, cents)
        return charge

    def _take_step(self, charge_id: str, step: str, cents: int) -> JsonObject:
        """Capture, void or refund a charge; with ``part`` less than the whole, drawn by the seed.
        The charge afterwards."""
        verb, _, part = step.partition(" ")
        amount: JsonObject = {}
        if part:
            amount["amount"] = _money(self.fake.random_int(1, cents - 1))
        match verb:
            case "capture":
                return self._call("POST", f"/charge/{charge_id}", json=amount)
            case "void":
                return self._call("DELETE", f"/charge/{charge_id}/void")
            case _:
                query = {"comment": self.fake.random_element(_COMMENTS), **amount}
                return self._call("DELETE", f"/refund/{charge_id}", params=query)

    def _declined(self, customer: JsonObject, reference: str, cents: int) -> JsonObject:
        """Charge another card of the customer's, which is declined; the charge as stored. The
        stored card is good, so a declined one is sent with the charge."""
        card = self._card(self.fake.random_element(_BAD_CARDS), customer)
        body = {
            "providerId": DEFAULT_PROVIDER_ID,
            "amount": _money(cents),
            "paymentInformation": card,
        }
        answer = self.sandbox.client.post("/charge/card", json={**body, "reference": reference})
        problem = answer.json()
        charge_id = None
        if answer.status_code == 400 and problem["details"]:
            # A decline names the charge that failed; any other refusal is none.
            charge_id = problem["details"].get("ChargeId")
        if charge_id is None:
            raise ControlRefused("a declined card: POST /charge/card", answer.status_code, problem)
        return self._call("GET", f"/charge/{charge_id}")

    def _drawn_story(self) -> str:
        """One of ``STORIES``, each as often as its weight says; drawn by the seed like all else."""
        weighted: list[str] = []
        for story, weight in STORIES.items():
            weighted += [story] * weight
        return weighted[self.fake.random_int(1, len(weighted)) - 1]

    def _customer(self, number: int) -> JsonObject:
        """Make a customer with a card that is good: one that is declined could not be stored."""
        names = {"firstName": self.fake.first_name(), "lastName": self.fake.last_name()}
        # Without what an address cannot hold, as of O'Brien.
        mailbox = ".".join(names.values()).lower().replace(" ", "-").replace("'", "")
        body = {
            **names,
            "providerId": DEFAULT_PROVIDER_ID,
            "reference": f"customer-{number}",
            "email": f"{mailbox}@example.com",
            "phone": self.fake.phone_number(),
            "address": {
                "line1": self.fake.street_address(),
                "city": self.fake.city(),
                "state": self.fake.state_abbr(),
                "postalCode": self.fake.postcode(),
                "country": "AU",
            },
            "paymentInformation": self._card(self.fake.random_element(_GOOD_CARDS), names),
        }
        return self._call("POST", "/customer/card", json=body)

    def _card(self, name: str, holder: JsonObject) -> JsonObject:
        """A test card that is good for years by the sandbox's clock, whatever that of the
        machine."""
        month = self.fake.random_int(1, 12)
        year = self.year + self.fake.random_int(1, 4)
        # American Express prints four digits on its cards, all others three.
        digits_of_ccv = "####" if name == "amex" else "###"
        return {
            "cardNumber": TEST_CARDS[name],
            "expiryDate": f"{month:02d}/{year % 100:02d}",
            "ccv": self.fake.numerify(digits_of_ccv),
            "cardholder": f"{holder['firstName']} {holder['lastName']}",
        }

    def _call(self, method: str, path: str, **arguments: Any) -> JsonObject:
        answer: JsonObject = self.sandbox.call(method, path, **arguments)
        return answer


STORIES: Mapping[str, int] = {
    "charge": 45,
    "authorise": 8,
    "authorise, capture": 8,
    "authorise, capture part": 5,
    "authorise, void": 4,
    "charge, refund": 8,
    "charge, refund part": 8,
    "decline": 14,
}
"""What happens to an order, by weight: how it begins, then each step, of the whole amount or of a
part."""


def sampler(sandbox: RemoteSandbox, seed: int) -> Sampler:
    """A sampler for a sandbox. Raises what ``RemoteSandbox.call`` raises, also when what answers is
    not a sandbox."""
    clock = sandbox.call("GET", "/__admin/clock")
    if not isinstance(clock, dict) or "now" not in clock:
        raise ControlRefused("GET /__admin/clock", 200, clock)
    # Takes a third of a second to import, which nobody waits for where no server answers.
    from faker import Faker

    fake = Faker("en_AU")
    fake.seed_instance(seed)
    return Sampler(sandbox, fake, int(clock["now"][:4]))


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


MOST = 100_000


@click.command()
@click.argument("count", type=click.IntRange(1, MOST), metavar="N")
@options("sample")
def sample(count: int, url: str, admin_token: str | None, key: str, seed: int) -> None:
    """Post N invented customers with cards and charges (paid, authorised, captured, refunded,
    declined) to a server.

    Exit code 5 when no server answers, 1 when it refuses what it should take.
    """
    with served(url, key, Exit.INTERNAL, admin_token) as sandbox:
        maker = sampler(sandbox, seed)
        customers = maker.customers(count)
        with click.progressbar(customers, length=count, label="customers", file=sys.stderr) as bar:
            # To ask for the next customer is to make it.
            for _ in bar:
                pass
    for kind, number in sorted(maker.counts.items()):
        click.echo(f"{number:>6} {kind}")
