"""``/docs``: the calls of this server, to read and to try in a browser.

Swagger UI draws the page from the OpenAPI documents that the server has anyway, so nothing about a
call is written twice. It weighs more than this package, so it is not a part of it: the extra
``reference`` installs a package that carries its files (``mkdocs-swagger-ui-tag``, with which the
documentation site draws the same page), and they are served from there. Without the extra the page
is a plain table of the calls, which says what to install. Either way a browser loads nothing from
another server.
"""

from collections.abc import Iterable

from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.page import PageCall, html, library_files
from mockserver.web.request import Reply
from mockserver.web.routes import ROUTES

_DOCUMENTS = {"control": "/__admin/openapi.json", "payments": "/openapi.json"}
"""Where the document of each API is, by the value of ``?api=``; the first is the default."""


def page(call: PageCall) -> Reply:
    """The calls of one of the two APIs: drawn by Swagger UI where its files are there, which needs
    scripts, else as a table."""
    api = call.query.get("api")
    if api not in _DOCUMENTS:
        api = next(iter(_DOCUMENTS))
    is_drawn = "swagger-ui-bundle.js" in library_files()
    return html(
        200,
        "reference.html" if is_drawn else "calls.html",
        scripts=is_drawn,
        framed=False,
        reaches=None,
        api=api,
        document=_DOCUMENTS[api],
        calls=[] if is_drawn else list(_calls(api)),
    )


def _calls(api: str) -> Iterable[tuple[str, str, str]]:
    """Method, path and summary of each call."""
    if api == "payments":
        return ((row.method, row.path, row.summary) for row in ROUTES)
    return ((row.method, row.path, row.summary) for row in CONTROL_ROUTES)
