"""A browser without JavaScript: it opens pages and sends forms with all that they hold, hidden
fields included."""

from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.driving import Api, Reply


class Document(HTMLParser):
    """What a page holds: texts by ``data-testid``, hidden fields, references from inputs to their
    errors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.texts: dict[str, str] = {}
        self.hidden: dict[str, str] = {}
        self.inputs: dict[str, dict[str, str]] = {}
        self.labels: set[str] = set()
        self.tags: set[str] = set()
        self._open: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        name = given.get("data-testid")
        if name is not None:
            self.texts.setdefault(name, "")
        if tag == "input":
            self.inputs[given["name"]] = given
            if given.get("type") == "hidden":
                self.hidden[given["name"]] = given.get("value", "")
        if tag == "label":
            self.labels.add(given["for"])
        if tag not in ("input", "img", "meta", "link", "br"):
            self._open.append((tag, name))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for _, name in self._open:
            if name is not None:
                self.texts[name] = " ".join((self.texts[name] + " " + data).split())


def document(reply: Reply) -> Document:
    assert reply.headers["content-type"] == "text/html; charset=utf-8", reply.raw
    return Document(reply.raw.decode())


def submit(api: Api, path: str, **fields: str) -> Reply:
    """One form as a browser sends it."""
    sent = {"content-type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1"}
    return api.send("POST", path, urlencode(fields).encode(), sent)


def visit(api: Api, path: str) -> Reply:
    """A page as a browser opens it: redirected once, when a new view of it begins."""
    reply = api.send("GET", path)
    return api.send("GET", reply.headers["location"]) if reply.status == 303 else reply
