"""THE list of pages: what a browser can open, each with the function that serves it. Served,
printed and documented from here. A page with ``table`` shows an object of that table, which its
path names.
"""

from mockserver.web import (
    api_reference,
    challenge_page,
    control_page,
    demo,
    documentation,
    hosted,
    page,
)
from mockserver.web.page import PageRoute

PAGE_ROUTES = (
    PageRoute(
        "GET",
        "/pay/{payment_link_id}",
        hosted.page,
        "Payment page of a payment link",
        table="payment_links",
    ),
    PageRoute(
        "POST",
        "/pay/{payment_link_id}",
        hosted.pay,
        "Pay on the page of a payment link",
        table="payment_links",
    ),
    PageRoute(
        "GET",
        "/3ds/{charge_id}",
        challenge_page.challenge,
        "3-D Secure challenge of a charge",
        table="charges",
    ),
    PageRoute(
        "POST",
        "/3ds/{charge_id}",
        challenge_page.answer,
        "Answer a 3-D Secure challenge",
        table="charges",
    ),
    PageRoute(
        "GET",
        "/3ds/token/{token_id}",
        challenge_page.challenge,
        "3-D Secure challenge before a token is used",
        table="tokens",
    ),
    PageRoute(
        "POST",
        "/3ds/token/{token_id}",
        challenge_page.answer,
        "Answer a challenge before a token is used",
        table="tokens",
    ),
    PageRoute("GET", "/js/payfurl.js", page.script, "Client script of a shop"),
    PageRoute(
        "GET",
        "/js/fields",
        page.entry_frame,
        "Card and PayTo fields of the client script, for a frame",
    ),
    PageRoute("GET", "/demo", demo.shop, "Demo shop", find=demo.sandbox),
    PageRoute("POST", "/demo/order", demo.order, "Order in the demo shop", find=demo.sandbox),
    PageRoute(
        "POST",
        "/demo/thanks",
        demo.challenge_ended,
        "The demo shop learns that a challenge has ended",
    ),
    PageRoute("GET", "/demo/thanks", demo.thanks, "What became of an order", find=demo.sandbox),
    PageRoute(
        "GET",
        "/",
        control_page.front,
        "Leads a browser to the control page",
        find=control_page.sandbox,
    ),
    PageRoute("GET", "/__admin", control_page.page, "Control page"),
    PageRoute(
        "GET",
        "/__admin/events-stream",
        control_page.stream,
        "Server-sent events of the control page",
    ),
    PageRoute("GET", "/llms.txt", documentation.llms_txt, "List of what a program may read here"),
    PageRoute("GET", "/docs", api_reference.page, "Calls of both APIs, to read and to try"),
    PageRoute(
        "GET", "/docs/{page}", documentation.page_of_path, "Page of the documentation, as text"
    ),
    PageRoute(
        "GET", "/docs/{folder}/{page}", documentation.page_of_path, "The same of a folder of pages"
    ),
    PageRoute("GET", "/__static/{name}", page.static_file, "Style sheets and scripts of the pages"),
    PageRoute(
        "GET",
        "/__static/{version}/{name}",
        page.static_file,
        "The same by a path that browsers keep",
    ),
)
