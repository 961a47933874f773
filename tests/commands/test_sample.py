"""``mockserver sample`` against a server process: what it makes, twice the same, and what it says
when it cannot."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

import mockserver
from mockserver.cli import main
from mockserver.commands.sample import STORIES, sampler
from mockserver.remote import ControlRefused, RemoteSandbox
from tests.served import serve

pytestmark = pytest.mark.slow

ROOT = Path(mockserver.__file__).resolve().parents[1]
STATUSES = [
    "SUCCESS",
    "Authorised",
    "SUCCESS",
    "SUCCESS",
    "AUTHORISE_CANCELLED",
    "REFUND",
    "PARTIAL_REFUND",
    "FAILED",
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    process = serve("--clock", "2031-03-01T00:00:00Z")
    yield process.url
    process.stop()


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["sample", *args])


def everything(url: str, key: str) -> tuple[list[object], list[object]]:
    """Customers and charges without what differs from sandbox to sandbox."""
    with httpx.Client(base_url=url, headers={"x-secretkey": key}, verify=False) as client:
        customers = client.get("/customer?limit=1000").json()["customers"]
        charges = client.get("/charge?limit=1000").json()["charges"]
    names = ("reference", "firstName", "lastName", "email", "phone", "address")
    facts = ("reference", "status", "amount", "refundedAmount")
    return [[c[name] for name in names] for c in customers], [
        [c[fact] for fact in facts] for c in charges
    ]


def test_it_makes_customers_with_charges_of_many_kinds(url: str) -> None:
    done = run("30", "--url", url, "--key", "sk_a")
    assert done.exit_code == 0, done.output
    customers, charges = everything(url, "sk_a")
    assert len(customers) == 30
    assert 30 <= len(charges) <= 120
    counted = dict(reversed(line.split(None, 1)) for line in done.stdout.splitlines())
    assert counted.pop("customers") == "30"
    assert sum(map(int, counted.values())) == len(charges)
    assert {"charges SUCCESS", "charges FAILED"} < set(counted)


def test_one_seed_makes_the_same_everywhere_and_another_something_else(url: str) -> None:
    for key, seed in (("sk_b", "7"), ("sk_c", "7"), ("sk_d", "8")):
        assert run("5", "--url", f"{url}/", "--key", key, "--seed", seed).exit_code == 0
    assert everything(url, "sk_b") == everything(url, "sk_c") != everything(url, "sk_d")


@pytest.mark.parametrize("number", range(len(STORIES)))
def test_every_story_ends_as_it_is_reported(url: str, number: int) -> None:
    making = sampler(RemoteSandbox(url, "sk_e"), number)
    (customer,) = making.customers(1)
    assert making.charge(customer, "story", 1000, [*STORIES][number])["status"] == STATUSES[number]
    making.sandbox.close()


def test_cards_expire_after_the_sandboxs_own_date(url: str) -> None:
    assert run("3", "--url", url, "--key", "sk_f").exit_code == 0
    with httpx.Client(base_url=url, headers={"x-secretkey": "sk_f"}, verify=False) as client:
        customers = client.get("/customer").json()["customers"]
    years = {
        int(customer["defaultPaymentMethod"]["card"]["expiryDate"][3:]) for customer in customers
    }
    assert years <= set(range(32, 36))


def test_without_a_server_it_says_so() -> None:
    done = run("1", "--url", "http://127.0.0.1:1")
    assert (done.exit_code, "no server at http://127.0.0.1:1: " in done.stderr) == (5, True)
    assert run("1", "--url", "nonsense").exit_code == 2
    assert run("1", "--url", "http://[").exit_code == 2


def test_a_refused_key_is_reported(url: str) -> None:
    done = run("1", "--url", url, "--key", "invalid-key")
    assert done.exit_code == 1
    assert "GET /__admin/clock answered 401" in done.stderr
    assert "keys that begin with 'invalid' are always refused" in done.stderr


def test_a_declined_card_that_is_not_declined_is_reported(url: str) -> None:
    making = sampler(RemoteSandbox(url, "sk_g"), 1)
    making.sandbox.assume({"charge.declined_reply": "charge"})
    (customer,) = making.customers(1)
    with pytest.raises(ControlRefused, match="a declined card: POST /charge/card answered 20"):
        making.charge(customer, "d", 500, "decline")
    making.sandbox.close()


@pytest.mark.parametrize("count", ["0", "-1", "many", "100001"])
def test_a_senseless_number_is_bad_usage(count: str) -> None:
    assert run(count).exit_code == 2
