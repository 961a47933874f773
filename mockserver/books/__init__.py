"""What the sandbox knows of the money, and what the shop believes of it.

A shop can pass every test of its calls and still have wrong books: a payment that it counts and
that never came, one that came and that it does not know. The sandbox alone knows both sides.
``totals`` and ``orders`` say what it has taken and given back, in all and by order; ``shop_text``
and ``shop_rows`` read what the shop believes. ``compared_books`` sets the two side by side,
``comparison`` says of one order where they differ and what it cost, and ``book_report`` reports
that as findings.
"""
