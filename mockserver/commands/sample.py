"""``mockserver sample``: fills a sandbox of a running server with invented customers and charges, as any client would.

Everything is drawn from one seed, and expiries are counted from the sandbox's own clock, so the same call on a fresh
sandbox makes the same objects. Source: docs/cli.md, mockserver sample.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from mockserver.adapters.exit_codes import Exit
from mockserver.commands.findings import served
from mockserver.commands.options import options
from mockserver.domain.cards import TEST_CARDS
from mockserver.domain.provider import DEFAULT_PROVIDER_ID
from mockserver.domain.record import mutable, record
from mockserver.remote import ControlRefused, RemoteSandbox

if TYPE_CHECKING:
    from faker import Faker

MOST_CHARGES = 4
"""Charges of one customer at most."""

_GOOD_CARDS = ("visa", "visa_2", "mastercard", "amex", "discover", "jcb", "diners")
_BAD_CARDS = ("do_not_honour", "insufficient_funds", "lost_card", "wrong_ccv", "processing_error")
_COMMENTS = ("Wrong size", "Arrived broken", "Changed my mind", "Sent twice")

Json: TypeAlias = dict[str, Any]


@record
class SampleOrder:
    """What a customer is charged for."""

    customer: Json
    reference: str
    cents: int


@mutable
class Sampler:
    """Posts sample data to a sandbox, and raises what ``RemoteSandbox.call`` raises. ``made`` counts what it made.
    ``year`` is that of the sandbox's clock.
    """

    sandbox: RemoteSandbox
    fake: Faker
    year: int
    made: Counter[str] = field(default_factory=Counter)

    def customers(self, count: int) -> Iterator[Json]:
        """Make customers with their charges, one after the other; each is yielded when it is complete."""
        for number in range(1, count + 1):
            customer = self._customer(number)
            self.made["customers"] += 1
            for step in range(1, self.fake.random_int(1, MOST_CHARGES) + 1):
                order = SampleOrder(customer, f"order-{number}-{step}", self.fake.random_int(500, 50_000))
                charge = self._story()(self, order)
                self.made[f"charges {charge['status']}"] += 1
            yield customer

    def charge(self, order: SampleOrder, **more: object) -> Json:
        """Charge the customer's card."""
        body = {"customerId": order.customer["customerId"], "amount": _money(order.cents), **more}
        return self._call("POST", "/charge/customer", json={**body, "reference": order.reference})

    def declined(self, order: SampleOrder) -> Json:
        """Charge another card of the customer's, which is declined; the charge as stored."""
        card = self._card(self.fake.random_element(_BAD_CARDS), order.customer)
        body = {"providerId": DEFAULT_PROVIDER_ID, "amount": _money(order.cents), "paymentInformation": card}
        answer = self.sandbox.client.post("/charge/card", json={**body, "reference": order.reference})
        said = answer.json()
        if answer.status_code != 400 or "ChargeId" not in (said["details"] or {}):
            raise ControlRefused("a declined card: POST /charge/card", answer.status_code, said)
        return self._call("GET", f"/charge/{said['details']['ChargeId']}")

    def capture(self, charge: Json, cents: int | None = None) -> Json:
        """Capture a charge, or some cents of it."""
        body = {} if cents is None else {"amount": _money(cents)}
        return self._call("POST", f"/charge/{charge['chargeId']}", json=body)

    def void(self, charge: Json) -> Json:
        """Void an authorised charge."""
        return self._call("DELETE", f"/charge/{charge['chargeId']}/void")

    def refund(self, charge: Json, cents: int | None = None) -> Json:
        """Refund a charge, or some cents of it."""
        query = {"comment": self.fake.random_element(_COMMENTS)} | ({} if cents is None else {"amount": _money(cents)})
        return self._call("DELETE", f"/refund/{charge['chargeId']}", params=query)

    def part(self, order: SampleOrder) -> int:
        """Some cents of an order, less than all."""
        return self.fake.random_int(1, order.cents - 1)

    def _story(self) -> Callable[[Sampler, SampleOrder], Json]:
        draw = self.fake.random_int(1, sum(weight for weight, _ in STORIES))
        for weight, story in STORIES:
            draw -= weight
            if draw <= 0:
                return story
        raise AssertionError("the draw lies within the sum of the weights")

    def _customer(self, number: int) -> Json:
        names = {"firstName": self.fake.first_name(), "lastName": self.fake.last_name()}
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

    def _card(self, name: str, holder: Json) -> Json:
        month, year = self.fake.random_int(1, 12), self.year + self.fake.random_int(1, 4)
        return {
            "cardNumber": TEST_CARDS[name],
            "expiryDate": f"{month:02d}/{year % 100:02d}",
            "ccv": self.fake.numerify("####" if name == "amex" else "###"),
            "cardholder": f"{holder['firstName']} {holder['lastName']}",
        }

    def _call(self, method: str, path: str, **more: Any) -> Json:
        answer: Json = self.sandbox.call(method, path, **more)
        return answer


STORIES: tuple[tuple[int, Callable[[Sampler, SampleOrder], Json]], ...] = (
    (45, lambda make, order: make.charge(order)),
    (8, lambda make, order: make.charge(order, capture=False)),
    (8, lambda make, order: make.capture(make.charge(order, capture=False))),
    (5, lambda make, order: make.capture(make.charge(order, capture=False), make.part(order))),
    (4, lambda make, order: make.void(make.charge(order, capture=False))),
    (8, lambda make, order: make.refund(make.charge(order))),
    (8, lambda make, order: make.refund(make.charge(order), make.part(order))),
    (14, lambda make, order: make.declined(order)),
)
"""What happens to an order, by weight: paid, authorised, captured, captured in part, voided, refunded, refunded in
part, declined."""


def sampler(sandbox: RemoteSandbox, seed: int) -> Sampler:
    """A sampler for a sandbox. Raises what ``RemoteSandbox.call`` raises, also when what answers is not a sandbox."""
    clock = sandbox.call("GET", "/__admin/clock")
    if not isinstance(clock, dict) or "now" not in clock:
        raise ControlRefused("GET /__admin/clock", 200, clock)
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
    """Post N invented customers with cards and charges (paid, authorised, captured, refunded, declined) to a server.

    Exit code 5 when no server answers, 1 when it refuses what it should take.
    """
    with served(url, key, Exit.INTERNAL, admin_token) as sandbox:
        making = sampler(sandbox, seed)
        customers = making.customers(count)
        with click.progressbar(customers, length=count, label="customers", file=sys.stderr) as bar:
            for _ in bar:
                pass
    for what, number in sorted(making.made.items()):
        click.echo(f"{number:>6} {what}")
