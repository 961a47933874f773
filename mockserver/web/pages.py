"""THE table of pages: what a browser can open, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockserver.web.lazy import lazy
from mockserver.web.page import PageRoute

if TYPE_CHECKING:
    from mockserver.web import client_script, control_page, demo, hosted, static_files, three_ds
else:  # the same names, imported when a browser first needs them
    client_script, control_page, demo, hosted, static_files, three_ds = lazy(
        "mockserver.web", "client_script", "control_page", "demo", "hosted", "static_files", "three_ds"
    )

PAGE_ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/pay/{payment_link_id}", hosted.page, "Payment page of a payment link", hosted.sandbox),
    PageRoute("POST", "/pay/{payment_link_id}", hosted.pay, "Pay on the page of a payment link", hosted.sandbox),
    PageRoute("GET", "/3ds/{charge_id}", three_ds.page, "3-D Secure challenge of a charge", three_ds.sandbox),
    PageRoute("POST", "/3ds/{charge_id}", three_ds.answer, "Answer a 3-D Secure challenge", three_ds.sandbox),
    PageRoute(
        "GET",
        "/3ds/token/{token_id}",
        three_ds.token_page,
        "3-D Secure challenge before a token is used",
        three_ds.token_sandbox,
    ),
    PageRoute(
        "POST",
        "/3ds/token/{token_id}",
        three_ds.token_answer,
        "Answer a challenge before a token is used",
        three_ds.token_sandbox,
    ),
    PageRoute("GET", "/js/payfurl.js", client_script.serve, "Client script of a shop"),
    PageRoute("GET", "/js/fields", client_script.fields, "Card and PayTo fields of the client script, for a frame"),
    PageRoute("GET", "/demo", demo.shop, "Demo shop", demo.sandbox),
    PageRoute("POST", "/demo/order", demo.order, "Order in the demo shop", demo.sandbox),
    PageRoute("POST", "/demo/thanks", demo.challenge_ended, "The demo shop learns that a challenge has ended"),
    PageRoute("GET", "/demo/thanks", demo.thanks, "What became of an order", demo.sandbox),
    PageRoute("GET", "/", control_page.front, "Leads a browser to the control page", control_page.sandbox),
    PageRoute("GET", "/__admin", control_page.page, "Control page"),
    PageRoute("GET", "/__admin/events-stream", control_page.stream, "Server-sent events of the control page"),
    PageRoute("GET", "/__static/{name}", static_files.serve, "Style sheets and scripts of the pages"),
)
