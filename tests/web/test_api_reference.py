"""``/docs``: every call of both APIs, with Swagger UI where the extra is installed and as a table
where it is not."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from mockserver.web import api_reference
from mockserver.web.control.routes import CONTROL_ROUTES
from mockserver.web.routes import ROUTES
from tests import needs
from tests.driving import Api

DRAWN = "swagger-ui-bundle.js"


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_reference, "library_files", dict)


@pytest.mark.usefixtures("without_the_extra")
@pytest.mark.parametrize(
    ("address", "routes", "document"),
    [
        ("/docs", CONTROL_ROUTES, "/__admin/openapi.json"),
        ("/docs?api=payments", ROUTES, "/openapi.json"),
        ("/docs?api=nothing", CONTROL_ROUTES, "/__admin/openapi.json"),
    ],
)
def test_without_the_extra_every_call_is_a_row_of_a_table(
    api: Api, address: str, routes: Sequence[Any], document: str
) -> None:
    shown = api.send("GET", address)
    text = shown.raw.decode()
    assert shown.status == 200
    calls = re.findall(r"<td><code>([A-Z]+ [^<]+)</code></td>", text)
    assert calls == [f"{row.method} {row.path}" for row in routes]
    assert f'href="{document}"' in text
    assert "pip install mkdocs-swagger-ui-tag" in text
    assert DRAWN not in text


@pytest.mark.parametrize(
    ("address", "document"),
    [("/docs", "/__admin/openapi.json"), ("/docs?api=payments", "/openapi.json")],
)
def test_with_the_extra_swagger_ui_draws_the_document(
    api: Api, address: str, document: str
) -> None:
    needs.library("mkdocs_swagger_ui_tag")
    shown = api.send("GET", address)
    text = shown.raw.decode()
    assert f'data-document="{document}"' in text
    addresses = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert f"/__static/{DRAWN}" in addresses
    assert [
        one for one in addresses if not one.startswith("/") or api.send("GET", one).status != 200
    ] == []
    policy = shown.headers["content-security-policy"]
    assert "script-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy


def test_a_browser_keeps_the_library_by_its_tag(api: Api) -> None:
    needs.library("mkdocs_swagger_ui_tag")
    first = api.send("GET", f"/__static/{DRAWN}")
    assert (first.status, first.headers["cache-control"]) == (200, "no-cache")
    again = api.send("GET", f"/__static/{DRAWN}", headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.raw) == (304, b"")
