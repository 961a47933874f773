"""The documentation as it comes with the product: pages of Markdown, by name."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mockserver.domain.errors import nearest

_PACKAGE = Path(__file__).resolve().parent.parent
# In a checkout they are beside the package.
_FOLDERS = (_PACKAGE / "_docs", _PACKAGE.parent / "docs")


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
