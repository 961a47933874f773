"""The client script ``/js/payfurl.js``: the published browser script's calls, against this server.

Source: published facts, 7.1.
"""

from __future__ import annotations

from mockserver.web import static_files
from mockserver.web.page import Page, PageCall

_READABLE_ANYWHERE = (
    (b"access-control-allow-origin", b"*"),
    (b"cross-origin-resource-policy", b"cross-origin"),
)


def serve(call: PageCall) -> Page:
    """The script; any shop may load it."""
    return static_files.answer(call, static_files.named("payfurl.js"), *_READABLE_ANYWHERE)
