"""The client script ``/js/payfurl.js``: the published browser script's calls, against this server.

What a payer types stands in a frame of this server (``/js/fields``), as with the published script. A closed shadow root
would not do: key and input events come out of it, and the listeners of the shop hear them first.
Source: published facts, 7.1.
"""

from __future__ import annotations

from mockserver.web import static_files
from mockserver.web.page import PageCall, html, policy
from mockserver.web.request import Reply
from mockserver.web.templating import render

_READABLE_ANYWHERE = (
    (b"access-control-allow-origin", b"*"),
    (b"cross-origin-resource-policy", b"cross-origin"),
)


def serve(call: PageCall) -> Reply:
    """The script; any shop may load it."""
    return static_files.answer(call, static_files.named("payfurl.js"), *_READABLE_ANYWHERE)


def fields(call: PageCall) -> Reply:
    """The frame for the fields of a card or a PayTo agreement; any shop may show it."""
    return html(200, render("entry.html"), policy(scripts=True, forms_to="'none'"))
