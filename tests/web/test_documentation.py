"""What a program may read at the server: the list of its documents, and each of them."""

import re

import pytest

from mockserver.web.documentation import pages
from tests.driving import Api


def test_the_list_leads_to_every_page_and_to_the_documents_of_the_server(api: Api) -> None:
    told = api.send("GET", "/llms.txt")
    assert (told.status, told.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    text = told.raw.decode()
    assert text.startswith("# mockserver\n\n> A local, stateful sandbox")
    paths = re.findall(r"^- \[[^\]]+\]\((\S+)\)", text, re.MULTILINE)
    assert {f"/docs/{name}.md" for name in pages()} < set(paths)
    assert {"/openapi.json", "/asyncapi.json", "/__admin/openapi.json"} < set(paths)
    assert [path for path in paths if api.send("GET", path).status != 200] == []


def test_a_page_is_the_text_of_the_repository(api: Api) -> None:
    shown = api.send("GET", "/docs/spec/service.md")
    assert (shown.status, shown.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert shown.raw.decode() == pages()["spec/service"].read_text("utf-8")


@pytest.mark.parametrize("path", ["/docs/tme.md", "/docs/time", "/docs/..%2fREADME.md"])
def test_what_is_not_a_page_is_not_found(api: Api, path: str) -> None:
    refused = api.send("GET", path)
    assert refused.status == 404
    assert "/llms.txt" in refused.raw.decode() or "no such route" in refused.raw.decode()
