"""Expiry dates of cards, as odd as clients may send them (service document, Charges)."""

import tracemalloc

from tests.driving import Api, card


def test_long_expiry_dates_are_refused_and_not_kept() -> None:
    api = Api(journal_limit=0)
    assert api.try_charge(paymentInformation=card(expiryDate=" " * 30 + "12/40 ")).status == 201
    tracemalloc.start()
    try:
        for number in range(100):
            refused = api.try_charge(paymentInformation=card(expiryDate=f"{number}" + "9" * 9_000))
            assert (refused.status, refused["code"]) == (400, 9)
        assert tracemalloc.get_traced_memory()[0] < 500_000
    finally:
        tracemalloc.stop()
