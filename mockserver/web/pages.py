"""THE table of pages: what a browser can open, once, in ``pages.csv``. Functions are those of ``mockserver.web``."""

from __future__ import annotations

from pathlib import Path

from mockserver.domain.reference_data import read_table
from mockserver.web.lazy import deferred
from mockserver.web.page import PageRoute, nobody


def _page(method: str, path: str, page: str, sandbox: str, summary: str) -> PageRoute:
    found = deferred("mockserver.web", sandbox) or nobody
    return PageRoute(method, path, deferred("mockserver.web", page), summary, found)


PAGE_ROUTES = read_table("pages", _page, Path(__file__).parent)
