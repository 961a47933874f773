"""The documentation as it comes with the product: pages of Markdown by name, for programs.

A coding agent that works against this server reads here what the release in front of it does; what
it has learnt elsewhere may be of another. ``/llms.txt`` lists the pages (https://llmstxt.org), with
the documents in which this server describes itself; tools for coding agents hand out the same
pages. They are texts as they stand in the repository, and their links lead to each other as they do
there. People read the site that is made of them.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mockserver.domain.errors import nearest
from mockserver.web.page import TEXT, NoSuchPage, PageCall
from mockserver.web.request import NOSNIFF, Reply

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "_docs", _PACKAGE.parent / "docs")
"""Where the pages are: in an installed package, or in a checkout beside it."""

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
_ALL_ARE_LISTED = "All are listed at /llms.txt."


@cache
def pages() -> Mapping[str, Path]:
    """The file of every page by its name, such as ``spec/service``. Only these are ever read: a
    name out of a request is looked up, and never becomes a part of a path."""
    folder = next(filter(Path.is_dir, _FOLDERS))
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.md")):
        files[path.relative_to(folder).with_suffix("").as_posix()] = path
    return files


def title_of(page: str) -> str:
    """The first heading of a page."""
    return page.partition("\n")[0].removeprefix("# ").strip()


def page_text(name: str | None) -> str:
    """The text of a page, or without a name the list of all. A name may be the path of the page,
    as links have it: ``docs/spec/service.md``. Raises ``LookupError`` with the nearest name."""
    files = pages()
    if name is None:
        return "\n".join(f"{page}: {_title_in(path)}" for page, path in files.items())
    page = name.removesuffix(".md").removeprefix("docs/")
    if page not in files:
        raise LookupError(
            f"got '{name[:60]}', which is not a page{nearest(name, files)}; without name all are "
            "listed"
        )
    return files[page].read_text("utf-8")


def _title_in(path: Path) -> str:
    return title_of(path.read_text("utf-8"))


def llms_txt(call: PageCall) -> Reply:
    """``/llms.txt``: where a program that reads texts finds what it needs."""
    return _text_reply(_list_of_pages())


@cache
def _list_of_pages() -> str:
    links = [f"- [{_title_in(path)}](/docs/{page}.md)" for page, path in pages().items()]
    return "\n".join([_LIST_BEGINS, *links, ""])


def page_of_path(call: PageCall) -> Reply:
    """A page as text, by the path that the links of other pages lead to: ``/docs/cli.md``,
    ``/docs/spec/service.md``. Raises ``NoSuchPage``."""
    name = "/".join(call.path.values())
    if not name.endswith(".md"):
        raise NoSuchPage("No such page", f"A page ends in .md. {_ALL_ARE_LISTED}")
    try:
        return _text_reply(page_text(name))
    except LookupError:
        raise NoSuchPage(
            "No such page", f"The documentation has no page {name}. {_ALL_ARE_LISTED}"
        ) from None


def _text_reply(text: str) -> Reply:
    """A text that a client may keep, if it asks each time whether it is still right: the next
    release has others under the same paths."""
    return Reply(200, text.encode(), headers=(TEXT, NOSNIFF, (b"cache-control", b"no-cache")))
