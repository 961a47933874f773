"""One test that fails on purpose: its report shows what the sandbox saw."""

import pytest
from shop import Shop


@pytest.mark.mockserver(clock="2031-03-01T00:00:00Z")
def test_a_reservation_can_be_shipped_after_a_week(mockserver):
    shop = Shop(mockserver.url, mockserver.secret_key)
    assert shop.buy("order-1", 20, "4111111111111111", capture=False) == "reserved"
    mockserver.clock.advance("7d")
    assert shop.ship("order-1")
