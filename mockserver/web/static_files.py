"""The style sheets and scripts of the pages, and the client script.

What a payer types into the client script ``/js/payfurl.js`` stands in a frame of this server (``/js/fields``), as with
the published script. A closed shadow root would not do: key and input events come out of it, and the listeners of the
shop hear them first. Source: docs/spec/published-facts.md, 7.1.
"""

from __future__ import annotations

from mockserver.web import templating
from mockserver.web.page import TEXT, PageCall, html, policy
from mockserver.web.request import Reply


def serve(call: PageCall) -> Reply:
    """A style sheet or a script by its name, under the path of any version: a page of another one may be open."""
    found = templating.static_files().get(call.path["name"])
    if found is None:
        return Reply(404, b"No such file.", headers=(TEXT,))
    if call.path.get("version") == templating.static_version():
        return Reply(200, found.body, headers=found.kept)
    return answer(call, found)


def answer(call: PageCall, found: templating.StaticFile, *extra: tuple[bytes, bytes]) -> Reply:
    """The file, or 304 to a browser that has it."""
    if call.headers.get("if-none-match") == found.tag:
        return Reply(304, b"", headers=(*found.headers, *extra))
    return Reply(200, found.body, headers=(*found.headers, *extra))


_READABLE_ANYWHERE = (
    (b"access-control-allow-origin", b"*"),
    (b"cross-origin-resource-policy", b"cross-origin"),
)


def script(call: PageCall) -> Reply:
    """The script; any shop may load it."""
    return answer(call, templating.static_files()["payfurl.js"], *_READABLE_ANYWHERE)


def entry_frame(call: PageCall) -> Reply:
    """The frame for the fields of a card or a PayTo agreement; any shop may show it."""
    return html(200, "entry.html", policy(scripts=True, forms_to="'none'"))
