"""The documentation as it comes with the product: pages of Markdown by name, for programs.

``/llms.txt`` lists them (https://llmstxt.org), with the documents in which this server describes
itself; tools for coding agents hand out the same pages.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mockserver.domain.errors import nearest
from mockserver.web.page import TEXT, NoSuchPage, PageCall
from mockserver.web.request import NOSNIFF, Reply

_PACKAGE = Path(__file__).resolve().parent.parent
# In a checkout they are beside the package.
_FOLDERS = (_PACKAGE / "_docs", _PACKAGE.parent / "docs")

_LIST_BEGINS = """# mockserver

> A local, stateful sandbox of the payFURL payments API and its white labels; unofficial

Any secret key that does not look live, in the header x-secretkey, opens a sandbox of its own. The
control API moves its clock, puts failures in force and says what the client did wrong.

## This server

- [Payments API](/openapi.json): an OpenAPI document
- [Webhooks](/asyncapi.json): an AsyncAPI document
- [Control API](/__admin/openapi.json): an OpenAPI document
- [Calls of both APIs](/docs): a page for people, to read and to try
- [Operations](/__admin/operations): the calls of the payments API by the names that rules use

## Documentation
"""
_WHERE = "All are listed at /llms.txt."


@cache
def pages() -> Mapping[str, Path]:
    """The file of every page by its name, such as ``spec/service``."""
    folder = next(filter(Path.is_dir, _FOLDERS))
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.md"))
    }


def title_of(page: str) -> str:
    """The first heading of a page."""
    return page.partition("\n")[0].removeprefix("# ").strip()


def page_text(name: str | None) -> str:
    """The text of a page, or without a name the list of all. Raises ``LookupError`` with the
    nearest name."""
    known = pages()
    if name is None:
        return "\n".join(
            f"{one}: {title_of(path.read_text('utf-8'))}" for one, path in known.items()
        )
    bare = name.removesuffix(".md").removeprefix("docs/")
    if bare not in known:
        raise LookupError(
            f"got '{name[:60]}', which is not a page{nearest(name, known)}; without name all are "
            "listed"
        )
    return known[bare].read_text("utf-8")


def listed(call: PageCall) -> Reply:
    """``/llms.txt``: where a program that reads texts finds what it needs."""
    return _text(_list_of_pages())


@cache
def _list_of_pages() -> str:
    rows = [
        f"- [{title_of(path.read_text('utf-8'))}](/docs/{name}.md)"
        for name, path in pages().items()
    ]
    return "\n".join([_LIST_BEGINS, *rows, ""])


def served(call: PageCall) -> Reply:
    """A page as text, by the path that the links of other pages lead to."""
    name = "/".join(call.path.values())
    if not name.endswith(".md"):
        raise NoSuchPage("No such page", f"A page ends in .md. {_WHERE}")
    try:
        return _text(page_text(name))
    except LookupError:
        raise NoSuchPage(
            "No such page", f"The documentation has no page {name}. {_WHERE}"
        ) from None


def _text(text: str) -> Reply:
    return Reply(200, text.encode(), headers=(TEXT, NOSNIFF, (b"cache-control", b"no-cache")))
