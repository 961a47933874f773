"""Checks of a sandbox that was read: long tables with pauses, whatever their rows say."""

from mockserver.domain.customer import Customer
from mockserver.engine import consistency
from tests.driving import Api


def test_rows_that_name_nothing_are_looked_at_with_pauses(api: Api) -> None:
    api.charge()
    sandbox, count = next(iter(api.app.world.sandboxes)), 100
    for number in range(count):
        sandbox.customers.add(Customer(f"c{number}", sandbox.now))
    sandbox.ids.counters["customer"] = count
    # Once for their order, once for what they say.
    assert sum(1 for _ in consistency.faults(sandbox)) >= 2 * count
