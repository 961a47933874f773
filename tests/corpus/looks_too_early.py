"""The shop takes no answer for the truth: it looks the payment up, and pays again when the list
does not have it."""

from contextlib import suppress

from shop import Lost, book, look, main, pay


def trade():
    book("order-1", state="unknown")
    for _ in range(2):
        with suppress(Lost):
            pay("order-1", 20)
        if look("order-1"):
            break
    book("order-1", paid=20, state="paid")


main(trade)
