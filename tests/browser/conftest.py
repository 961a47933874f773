"""A real browser and a real server for the tests of the pages; skipped, with the reason, where
there is none."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from mockserver.engine.sandbox import sandbox_id_of
from tests import needs
from tests.served import serve

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""What Chromium is called; the first is the one without any window, which does the same for a third
less."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    # Nothing is looked for outside of this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)  # fmt: skip
START = "2031-03-01T09:30:00Z"
PATIENCE_MS = 30_000
ROOT = Path(__file__).resolve().parents[2]
DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"


@dataclass(frozen=True, slots=True)
class Box:
    """A sandbox of the test's own on the running server."""

    url: str
    key: str
    http: httpx.Client

    @property
    def sandbox_id(self) -> str:
        return sandbox_id_of(self.key)

    @property
    def public_key(self) -> str:
        return "pk_" + self.key.removeprefix("sk_")

    def call(self, method: str, path: str, body: object = None) -> Any:
        reply = self.http.request(method, path, json=body)
        return reply.json()

    def charge(self, number: str = "4111111111111111", **fields: object) -> Any:
        card = {
            "cardNumber": number,
            "expiryDate": "12/40",
            "ccv": "123",
            "cardholder": "Ann Example",
        }
        body = {
            "amount": 20,
            "currency": "AUD",
            "providerId": DUMMY,
            "paymentInformation": card,
            **fields,
        }
        return self.call("POST", "/charge/card", body)

    def link(self, **fields: object) -> str:
        """The address of the page of a new payment link."""
        made: str = self.call(
            "POST", "/payment_link", {"title": "A lamp", "amount": 20, "currency": "AUD", **fields}
        )["url"]
        return made

    def charges(self) -> list[Any]:
        return self.call("GET", "/charge")["charges"]


def client(url: str, key: str) -> httpx.Client:
    """A client with a secret key. It loads no certificates, which takes longer than most requests
    do."""
    return httpx.Client(
        base_url=url, headers={"x-secretkey": key}, timeout=15, trust_env=False, verify=False
    )


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """A server process with a clock that stands still in every sandbox; its address."""
    server = serve("--clock", START, *options, errors=folder / "log")
    try:
        yield server.url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server for all tests."""
    with serving(tmp_path_factory.mktemp("pages")) as url:
        yield url


@pytest.fixture
def sandbox(server_url: str, request: pytest.FixtureRequest) -> Iterator[Box]:
    """A sandbox of this test alone."""
    key = "sk_" + re.sub(
        r"[^a-z0-9]+", "_", f"{request.node.path.stem} {request.node.name}".lower()
    )
    with client(server_url, key) as http:
        yield Box(server_url, key, http)


@dataclass(frozen=True, slots=True)
class Site:
    """A web site of somebody else: pages and scripts by path, on another port and so of another
    origin.

    ``headers`` go out with each of them; ``requests`` are what browsers sent: method, target and
    body.
    """

    url: str
    pages: dict[str, str]
    headers: dict[str, str]
    requests: list[tuple[str, str, str]]


@pytest.fixture
def other_site() -> Iterator[Site]:
    """An empty site that serves what a test puts into ``pages``."""
    pages: dict[str, str] = {}
    headers: dict[str, str] = {}
    requests: list[tuple[str, str, str]] = []

    class Serve(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            requests.append((self.command, self.path, body))
            path = self.path.partition("?")[0]
            kind = "javascript" if path.endswith(".js") else "html"
            self.send_response(200 if path in pages else 404)
            for name, value in {"content-type": f"text/{kind}; charset=utf-8", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(pages.get(path, "").encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Serve) as serving:
        thread = Thread(target=serving.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield Site(f"http://127.0.0.1:{serving.server_port}", pages, headers, requests)
        serving.shutdown()
        thread.join()


def rows(page: Any, of: str = "requests") -> Any:
    """The rows of a list on the control page."""
    return page.get_by_test_id(of).get_by_role("option")


def visit(page: Any, box: Box, where: str = "") -> Any:
    """The control page of a sandbox, once it hears of what happens there."""
    page.goto(f"{box.url}/__admin/?sandbox={box.sandbox_id}#{where}")
    expect = needs.library("playwright.sync_api").expect
    expect(page.get_by_test_id("live")).to_have_text("live")
    return page


def fields(page: Any, kind: str = "card") -> Any:
    """What a payer types into: it stands in a frame of the server."""
    return page.frame_locator(f"[data-testid=payfurl-{kind}]")


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Any, asyncio.AbstractEventLoop]]:
    """Chromium without a window, and the event loop that runs in this thread for as long as
    Playwright does."""
    playwright = needs.library("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    playwright.expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as running:
        loop = asyncio.get_running_loop()
        launched = running.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        asyncio._set_running_loop(None)
        yield launched, loop
        asyncio._set_running_loop(loop)
        launched.close()


@pytest.fixture
def browser(chromium: tuple[Any, asyncio.AbstractEventLoop]) -> Iterator[Any]:
    """Chromium, for one test. Only meanwhile is its event loop the running one: other tests run
    loops of their own."""
    launched, loop = chromium
    asyncio._set_running_loop(loop)
    yield launched
    asyncio._set_running_loop(None)


@dataclass(frozen=True, slots=True)
class Tab:
    """A page that tests use one after another: a new one costs more than all that most of them do.

    ``thrown`` is what its scripts threw.
    """

    page: Any
    thrown: list[str]

    @classmethod
    def opened(cls, browser: Any, options: dict[str, Any]) -> Tab:
        """A page of a fresh browser profile."""
        thrown: list[str] = []
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: thrown.append(str(error)))
        page.on(
            "console",
            lambda said: (
                thrown.append(said.text) if "Content Security Policy" in said.text else None
            ),
        )
        return cls(page, thrown)

    def left(self, *, scripted: bool) -> None:
        """Leave nothing to the next test. The control page is left at once: its stream keeps a
        connection, and the next address may be the same one."""
        page, context = self.page, self.page.context
        if scripted and page.url.startswith("http"):
            page.evaluate("sessionStorage.clear(); localStorage.clear()")
        if "/__admin/" in page.url:
            page.goto("about:blank")
        for other in context.pages[1:]:
            other.close()
        context.unroute_all()
        context.clear_cookies()
        assert self.thrown == []


@pytest.fixture(scope="session")
def tabs() -> dict[str, Tab]:
    """The open pages, by the options of their contexts. They end with the browser."""
    return {}


@pytest.fixture
def context_options() -> dict[str, Any]:
    """Options of the browser's context: override or parametrize to change them."""
    return {}


@pytest.fixture
def page(browser: Any, tabs: dict[str, Tab], context_options: dict[str, Any]) -> Iterator[Any]:
    """An empty page. Anything that a script throws fails the test."""
    name = repr(context_options)
    if name not in tabs:
        tabs[name] = Tab.opened(browser, context_options)
    # What a failed test leaves behind must not fail the next.
    tab = tabs.pop(name)
    yield tab.page
    try:
        tab.left(scripted=context_options.get("java_script_enabled", True))
    except BaseException:
        tab.page.context.close()
        raise
    tabs[name] = tab


@pytest.fixture
def own_page(browser: Any, context_options: dict[str, Any]) -> Iterator[Any]:
    """A page of a profile that no other test has used or will use: one whose clock is changed, for
    example."""
    tab = Tab.opened(browser, context_options)
    yield tab.page
    tab.page.context.close()
    assert tab.thrown == []


WIDE, NARROW = 1440, 360


def accessible(page: Any, where: str, widths: tuple[int, ...] = (WIDE, NARROW)) -> list[str]:
    """What axe finds wrong in a page and its frames, and whether it is cut off. Every rule at each
    width; contrasts in both colour schemes where there is most to see, else in the dark one."""
    axe = needs.library("axe_playwright_python.base").AXE_SCRIPT
    found: list[str] = []
    before = page.viewport_size
    for frame in page.frames:
        if frame.evaluate("typeof axe") == "undefined":
            frame.evaluate(axe)
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark") if width == WIDE else ("dark",):
            page.emulate_media(color_scheme=scheme)
            found += [f"{where}, {width}, {scheme}: {one}" for one in page.evaluate(CONTRAST)]
        found += [f"{where}, {width}: {one}" for one in page.evaluate(ALL_ELSE)]
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            found.append(f"{where}, {width}: cut off")
    page.set_viewport_size(before)
    return found


ALL_ELSE = """async () => (await axe.run(document, {
    resultTypes: ["violations"], preload: false, rules: { "color-contrast": { enabled: false } },
  })).violations.map((one) => `${one.id} ${one.nodes[0].html.slice(0, 120)}`)"""

CONTRAST = """async () => {
  // One text of each look, once in the life of a page: what else looks the same is as easy to read.
  const known = window.looks ??= new Set();
  const grounds = new Map([[null, ""]]);
  const ground = (at) => {
    if (!grounds.has(at)) {
      const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(at);
      const own = [backgroundColor, backgroundImage, opacity, filter].join();
      grounds.set(at, (own === "rgba(0, 0, 0, 0),none,1,none" ? "" : `${own} `) + ground(at.parentElement));
    }
    return grounds.get(at);
  };
  const look = (at) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(at);
    return [color, fontSize, fontWeight, textShadow, at.matches(":disabled, :disabled *"), ground(at)].join();
  };
  const shown = (at) => at.checkVisibility({ visibilityProperty: true });
  const reads = (at) => at.matches("input, select, textarea")
    || [...at.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const all = [...document.querySelectorAll("body *")];
  const unknown = ([key]) => !known.has(key);
  const texts = all.filter((at) => reads(at) && shown(at)).map((at) => [look(at), at]).filter(unknown);
  const found = [];
  const judge = async (include) => {
    if (!include.length) return;
    const { passes, violations } = await axe.run({ include }, {
      resultTypes: ["passes", "violations"], preload: false, runOnly: ["color-contrast"], elementRef: true,
    });
    const judged = [...passes, ...violations].flatMap(({ nodes }) => nodes).filter(({ element }) => element);
    for (const { element } of judged) known.add(look(element));
    found.push(...violations.map((one) => `${one.id} ${one.nodes[0].html.slice(0, 120)}`));
  };
  await judge([...new Map(texts.reverse()).values(), ...all.filter((at) => at.shadowRoot || at.matches("iframe"))]);
  // What is out of sight cannot be judged: another one of the same look may be.
  await judge(texts.filter(unknown).map(([, at]) => at));
  return found;
}"""
