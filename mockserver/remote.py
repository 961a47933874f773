"""One sandbox of a running server, as a Python object: what a test asks for, in the words of the
control API.

The pytest plugin hands one of these to each test; any other program may make its own. Everything
here is one HTTP call to the documented control API (docs/control-api.md), so nothing can be done
that ``curl`` cannot do too. What a sandbox is stays on the server: an object here holds its key,
and what its caller has to know when the test ends, such as whether a verification has failed
already.

Control calls go over connections of Python's own (``ControlLine``), which many sandboxes share. The
client for a test's own requests is httpx, which takes long to load: it is loaded when asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from json import dumps, loads
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    import httpx

    from mockserver.domain.invariants import Invariant


TIMEOUT_SECONDS = 30.0
"""How long an answer may take. A test that waits for good would not even say for what."""

PAGE = 1_000
"""Journal entries that one call answers at most."""

__tracebackhide__ = True
"""Reports of failing tests end at the line of the test, not in here."""

_MODES = ("real", "manual", "fast")
_SCENARIO_SUFFIXES = (".yaml", ".yml", ".json")
_LONGEST_NAME = 100
"""Characters of a scenario's name. Of a longer path the end is taken, where the file's name is."""

_AS_IT_IS = "/?&=%:+,;@!$'()*~-._[]"
"""Characters that stand as they are in the target of a call; all others are spelt as ``%20``."""

_JSON = {"content-type": "application/json"}
_YAML = {"content-type": "application/yaml"}


Duration = str | int | float | timedelta
"""How long: ``1h30m``, a number of seconds, or a timedelta."""

JsonObject = dict[str, Any]
"""An object of an answer, as ``json.loads`` reads it: docs/control-api.md has its members."""


class ControlRefused(Exception):
    """A control call was refused. ``status`` and ``body`` are the answer's."""

    def __init__(self, call: str, status: int, body: object) -> None:
        self.status, self.body = status, body
        super().__init__(f"{call} answered {status}: {_words(body)}")


class VerificationFailed(AssertionError):
    """A verification or a wait failed; the text holds the differences."""


class RemoteSandbox:
    """The sandbox that ``secret_key`` opens on the server at ``url``.

    ``folders`` are searched for scenario files given by a relative path, ``admin_token`` is what a
    server with ``--admin-token`` wants, ``line`` is shared with other sandboxes. Close it when
    done: it holds connections.

    What a test has done so far, for its end: ``judged`` says that a verification has failed and its
    caller was informed, ``has_books`` that the shop's books were compared; ``invariants`` are still
    to be judged; ``is_unsafe`` says that an assertion about money has failed, ``has_raised`` that
    another exception has left such a block (``money_safe``). ``idle`` is what scenarios waited for
    of which no rule had fired when findings were last asked for. ``since`` is the last mark, and
    ``after`` the journal entry behind which it stands.
    """

    def __init__(
        self,
        url: str,
        secret_key: str,
        folders: Sequence[Path] = (),
        *,
        admin_token: str | None = None,
        line: ControlLine | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.secret_key = secret_key
        self.judged = False
        self.idle: list[str] = []
        self.since: str | None = None
        self.invariants: list[Invariant] = []
        self.after = 0
        self.is_unsafe = self.has_raised = self.has_books = False
        self._pinned: str | None = None
        self._folders = tuple(folders)
        self._own_line = line is None
        self._line = line or ControlLine(self.url)
        self._token = {} if admin_token is None else {"x-admin-token": admin_token}
        self.clock = RemoteClock(self)
        self.inbox = Inbox(self)
        self.journal = RemoteJournal(self)

    def __repr__(self) -> str:
        # Shown in the reports of failing tests, which many people read: no key, and the same in
        # every run.
        return f"<sandbox {sha256(self.secret_key.encode()).hexdigest()[:6]}>"

    @cached_property
    def client(self) -> httpx.Client:
        """An HTTP client with this server as its base URL and this sandbox's key in
        ``x-secretkey``."""
        import httpx

        return httpx.Client(
            base_url=self.url,
            headers={"x-secretkey": self.secret_key, **self._token},
            timeout=TIMEOUT_SECONDS,
            trust_env=False,
            verify=not self.url.startswith("http:"),
        )

    @cached_property
    def public_key(self) -> str:
        """The public key that pairs with the secret key (settled fact ``public_key``)."""
        from mockserver.engine.sandbox import public_key_of

        return public_key_of(self.secret_key)

    def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        content: str | None = None,
        params: Mapping[str, object] | None = None,
        patience: float | None = TIMEOUT_SECONDS,
    ) -> Any:
        """The body of the answer to a control call; ``patience`` in seconds, None without end.

        Raises :class:`ControlRefused` for any answer but 2xx.
        """
        headers: Mapping[str, str] = {}
        if content is not None:
            # JSON is YAML too.
            headers = _YAML
        elif method in ("POST", "PUT", "DELETE"):
            content = dumps({} if json is None else json)
            headers = _JSON
        # What is no Unicode goes as it is: the server refuses it with line and column.
        raw = None if content is None else content.encode("utf-8", "surrogatepass")
        target = path
        if params:
            query = {name: _query_value(value) for name, value in params.items()}
            target = f"{path}?{urlencode(query)}"
        all_headers = {"x-secretkey": self.secret_key, **self._token, **headers}
        status, answer = self._line.exchange(method, target, raw, all_headers, patience=patience)
        body = body_of(answer)
        if not 200 <= status < 300:
            raise ControlRefused(f"{method} {path}", status, body)
        return body

    def scenario(self, text_or_path: str | Path | Mapping[str, object]) -> None:
        """Put a scenario in force, in the place of all others but the built-in test values.

        It is a map, YAML or JSON text, the path of a file, or the name of a shipped scenario.
        Raises :class:`ControlRefused` (400) with line and column of every fault,
        ``FileNotFoundError`` and ``ScenarioRefused`` for an unknown name.
        """
        text, name = self._scenario_text(text_or_path)
        params = {"name": name} if name else {}
        self.call("PUT", "/__admin/scenarios", content=text, params=params)
        if self._pinned is not None:
            # It has been replaced with the others.
            self.pin(self._pinned)

    def pin(self, text: str) -> None:
        """Add a scenario that stays in force, before all others, whatever ``scenario`` replaces:
        the fault that an exploration tries, under a test that puts its own scenarios in force."""
        self._pinned = text
        self.call("POST", "/__admin/scenarios", content=text)

    def unpin(self, name: str) -> None:
        """Take what was added so, a scenario of that name, out of force."""
        self._pinned = None
        self.call("DELETE", "/__admin/scenarios", params={"name": name})

    def assume(self, overrides: Mapping[str, object]) -> None:
        """Override rows of the assumption table: ``{"vault.ccv_delay": "10s"}``; ``profile``
        chooses the profile."""
        self.call("PUT", "/__admin/assumptions", json=dict(overrides))

    def reset(self) -> None:
        """Empty this sandbox; its scenario stays, and so does the place from which a test
        judges."""
        self.call("POST", "/__admin/reset")
        # The journal begins anew, so the place has another number in it.
        if self.since is not None:
            self.mark(self.since)

    def rules(self) -> list[JsonObject]:
        """Every rule with its counters."""
        return self.rows("/__admin/rules", "rules")

    def rows(self, path: str, name: str, **params: object) -> list[JsonObject]:
        """The rows under a name in the answer to a question of the control API."""
        return list(self.call("GET", path, params=params)[name])

    def wait_for(
        self,
        conditions: Mapping[str, object] | None = None,
        /,
        *,
        timeout: Duration | None = None,
        advance: bool = False,
        within: Duration | None = None,
        **more: object,
    ) -> JsonObject:
        """Wait until all conditions hold, and return the answer of ``POST /__admin/wait``.

        ``wait_for(charge={"id": ..., "status": "SUCCESS"}, inbox="shop")``. With ``advance`` the
        sandbox's clock is moved to what is due next, and so on, no further than ``within`` (``31d``
        by default). ``timeout`` is a duration of real time, ``5s`` by default, with ``advance``
        ``30s``. Raises :class:`VerificationFailed` saying why, when the conditions did not hold in
        time.
        """
        if conditions is not None and not isinstance(conditions, Mapping):
            raise TypeError(
                f"got {conditions!r}, wanted kinds by name, such as wait_for(inbox='shop')"
            )
        body: JsonObject = {"for": {**(conditions or {}), **more}, "advance": advance}
        if timeout is not None:
            body["timeout"] = _duration(timeout)
        if within is not None:
            body["within"] = _duration(within)
        # The server ends the wait, and says why it was in vain.
        answer: JsonObject = self.call("POST", "/__admin/wait", json=body, patience=None)
        if answer["held"]:
            return answer
        how = f"waited {body.get('timeout', '5s')}"
        if advance:
            how = f"moved the clock by {answer['waited']}"
        reasons = [f"{name}: {why}" for name, why in answer["why"].items()]
        if answer.get("hint"):
            reasons.append(answer["hint"])
        raise VerificationFailed(f"{how}: {'; '.join(reasons)}")

    def verify(
        self, *requests: Mapping[str, object] | str, rules: bool = True, **request: object
    ) -> None:
        """Check what was asked of the sandbox; with ``rules`` also that every rule's ``expect`` was
        met.

        Each request is ``{"op": "charge.create", "where": {"request.reference": "r-1"}, "count":
        1}``; one alone may be given by keywords. Without ``where`` every request of the operation
        counts, without ``count`` one is enough. Raises :class:`VerificationFailed` with the
        differences and near misses.
        """
        wanted = list(requests)
        if request:
            wanted.append(request)
        verdict = self._verdict({"requests": wanted, "rules": rules})
        if not verdict["verified"]:
            # The test fails by this: its end need not say it again.
            self.judged = True
            raise VerificationFailed(_words(verdict))

    def _verdict(self, expectations: Mapping[str, object]) -> JsonObject:
        """The answer of ``POST /__admin/verify``, whether all that is expected holds or not. Where
        it does not, the server refuses, so that ``curl --fail`` fails in a script; the verdict is
        the body of the refusal."""
        try:
            return dict(
                self.call("POST", "/__admin/verify", json=expectations, params=self.from_mark)
            )
        except ControlRefused as refused:
            if not isinstance(refused.body, dict) or "verified" not in refused.body:
                raise
            return refused.body

    def end_of_test(
        self, findings: str | None, allow: Collection[str] = (), *, rules: bool = True
    ) -> JsonObject:
        """Judge what is still to be judged when a test has ended: expectations of ``rules``,
        invariants, and findings. The answer of ``POST /__admin/verify``: ``differences`` is what
        does not hold, ``findings`` are all of them.

        ``findings`` is the least severity of those that fail the test (``warning``, ``error``;
        with ``none`` there may be none at all), but for those of the names ``allow``; None: nobody
        asks for findings, and the story of the client does not end.
        """
        # A test that has failed by its rules or books has said so already.
        is_to_judge = rules and not self.judged
        # Rules count from the beginning of a sandbox alone: in one that several tests share, where
        # each begins at its mark, they would count what the others did.
        judge_rules = is_to_judge and self.since is None
        has_expectations = judge_rules or bool(self.invariants)
        if findings is None and not has_expectations:
            # Nothing is to be judged: most tests cost no call here.
            return {"findings": [], "rules": []}
        body = {
            "rules": judge_rules,
            "money": [invariant.text for invariant in self.invariants],
            "allow": [*allow],
        }
        if findings is not None:
            body |= {"finish": True, "findings": findings}
        verdict = self._verdict(body)
        self.idle = verdict.get("idle", [])
        return verdict

    def findings(self, severity: str = "note", *, finish: bool = False) -> list[JsonObject]:
        """What the client did wrong, of at least a severity, oldest first; since the last mark when
        one was set.

        With ``finish`` the story ends: what was left open is judged too. Empty with ``--findings
        off``.
        """
        params = {"severity": severity, **self.from_mark}
        try:
            if finish:
                page = self.call("POST", "/__admin/findings/finish", params=params)
            else:
                page = self.call("GET", "/__admin/findings", params=params)
        except ControlRefused as refused:
            # A server without findings has found none: who runs all tests against it, to measure
            # speed, need not change them.
            if refused.status == 400 and "--findings off" in str(refused):
                return []
            raise
        self.idle = page["idle"]
        return list(page["findings"])

    def books(
        self, rows: Sequence[Mapping[str, Any]], *, states: Mapping[str, str] | None = None
    ) -> None:
        """Compare what the shop believes about its orders with what this sandbox knows, since the
        last mark when one was set (docs/books.md). ``states`` says what the shop's own states mean.

        Raises :class:`VerificationFailed` with the differences.
        """
        self.has_books = True
        findings = self.compare_books(rows, self.since, states)["findings"]
        errors = []
        for finding in findings:
            # What differs stands in the first evidence.
            if finding["severity"] == "error":
                errors.append(f"{finding['finding']}: {finding['evidence'][0]['line']}")
        if errors:
            self.judged = True
            raise VerificationFailed("\n".join(errors))

    def invariant(self, text: str) -> None:
        """What must hold of the money at the end: ``net("order-1") <= 20`` (docs/books.md). Raises
        ``ValueError`` now, at the line of the test that wrote it; it is judged by
        ``end_of_test``."""
        from mockserver.domain.invariants import Invariant

        self.invariants.append(Invariant(text))

    @contextmanager
    def money_safe(self) -> Iterator[None]:
        """Assertions in this block are about money: one that fails under a fault of an exploration
        makes the failure unsafe, where others only say that the test has noticed. So does any other
        exception, where the shop's books then lack an order that was paid."""
        try:
            yield
        except AssertionError:
            self.is_unsafe = True
            raise
        except Exception:
            self.has_raised = True
            raise

    def money(self, since: str | None = None) -> JsonObject:
        """The money of this sandbox: its orders, all or those touched since a mark, with totals and
        calls in doubt."""
        params: JsonObject = {"limit": PAGE}
        if since is not None:
            params["since"] = since
        return self._whole_money(self.call("GET", "/__admin/books", params=params), params)

    def _whole_money(self, first_page: JsonObject, params: Mapping[str, object]) -> JsonObject:
        """A first page of the money with the orders of all further pages. Totals and calls in doubt
        are those of the first: each page has them of all orders."""
        page = first_page
        while page["next"] is not None:
            page = self.call("GET", "/__admin/books", params={**params, "after": page["next"]})
            first_page["orders"] += page["orders"]
        return first_page

    def run(self, *, timeout: Duration, finish: bool = False) -> JsonObject:
        """What a run came to, since the last mark when one was set: the answer of ``POST
        /__admin/run``, with all orders. What is under way may take so long to finish; with
        ``finish`` the story ends."""
        body = {"timeout": _duration(timeout), "finish": finish}
        result: JsonObject = self.call("POST", "/__admin/run", json=body, params=self.from_mark)
        self._whole_money(result["money"], {"limit": PAGE, **self.from_mark})
        return result

    def compare_books(
        self,
        rows: Sequence[Mapping[str, Any]],
        since: str | None = None,
        states: Mapping[str, str] | None = None,
        *,
        settled: bool = False,
    ) -> JsonObject:
        """What the shop's books and the sandbox say differently, as findings. Raises
        :class:`ControlRefused`."""
        body = {"rows": rows, "since": since, "states": states, "settled": settled}
        members = {name: value for name, value in body.items() if value is not None}
        # A Decimal goes as the text that it is: as a number it would lose digits.
        text = dumps(members, default=str)
        return dict(self.call("POST", "/__admin/books/compare", content=text))

    def mark(self, name: str) -> None:
        """Name this place: findings, verification and timeline begin here from now on."""
        self.after = self.call("POST", "/__admin/marks", json={"name": name})["after"]
        self.since = name

    @property
    def from_mark(self) -> dict[str, str]:
        """The parameter that leaves out what came before the last mark, when one was set."""
        if self.since is None:
            return {}
        return {"since": self.since}

    def report(self, parts: str = "timeline,findings,books") -> str:
        """Timeline, findings and money of this sandbox as text, since the last mark when one was
        set."""
        return str(self.call("GET", "/__admin/report", params={"parts": parts, **self.from_mark}))

    def close(self) -> None:
        """Give the connections back: the sandbox itself stays on its server."""
        if "client" in self.__dict__:
            self.client.close()
        if self._own_line:
            self._line.close()

    def _scenario_text(
        self, text_or_path: str | Path | Mapping[str, object]
    ) -> tuple[str, str | None]:
        """The text, and what it is called where it does not say so itself. A text over several
        lines, with ``key: value`` or a brace is a scenario itself; any other is the path of a file,
        or else the name of a shipped scenario."""
        if isinstance(text_or_path, Mapping):
            return dumps(text_or_path), None
        text = str(text_or_path)
        is_yaml = "\n" in text or ": " in text
        is_json = text.lstrip().startswith("{")
        # Whatever characters a ``Path`` has, it is one.
        if isinstance(text_or_path, str) and (is_yaml or is_json):
            return text, None
        for folder in (*self._folders, Path()):
            path = folder / text
            if path.is_file():
                return path.read_text("utf-8"), path.name[-_LONGEST_NAME:]
        from mockserver.adapters.scenario_files import shipped_file

        # Shipped scenarios are named without it: a file was meant.
        if Path(text).suffix in _SCENARIO_SUFFIXES:
            folders = dict.fromkeys(str(folder) for folder in (*self._folders, Path.cwd()))
            raise FileNotFoundError(f"no scenario file {text} in {' and '.join(folders)}")
        return shipped_file(text).read_text("utf-8"), text


class ControlLine:
    """Connections to a server for control calls, which many sandboxes may share, in any thread: a
    test that only makes some of these need not load a client library, nor connect anew."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        # A server may be reached under a path, behind a proxy.
        self._path = place.path
        kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
        self._connect = partial(kind, place.hostname or "", place.port)
        self._free: list[HTTPConnection] = []

    def exchange(
        self,
        method: str,
        target: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        patience: float | None,
    ) -> tuple[int, bytes]:
        """One call: the status and the body. Raises ``httpx.TransportError`` when it is not
        answered, ``ValueError`` for a header that HTTP cannot carry."""
        connection = self._taken()
        try:
            # One that is open already has a socket, which keeps the patience of its last call.
            connection.timeout = patience
            if connection.sock is not None:
                connection.sock.settimeout(patience)
            connection.request(
                method, quote(self._path + target, safe=_AS_IT_IS), content, dict(headers)
            )
            answer = connection.getresponse()
            status = answer.status
            body = answer.read()
        except (OSError, HTTPException) as problem:
            connection.close()
            # Errors as a client of httpx has them, whichever way a test talks to the server.
            from httpx import ReadTimeout, TransportError

            if isinstance(problem, TimeoutError):
                raise ReadTimeout(str(problem)) from problem
            raise TransportError(str(problem)) from problem
        # Whole answers alone give a connection back: on any other the rest of one may still come.
        self._free.append(connection)
        return status, body

    def _taken(self) -> HTTPConnection:
        """A connection that nobody else uses, and that the server has not closed."""
        while self._free:
            connection = self._free.pop()
            if connection.sock is None:
                # It was closed behind its last answer, and connects by itself.
                return connection
            # Nothing was asked: what can be read is the end, which the server has sent.
            readable, _, _ = select([connection.sock], [], [], 0)
            if not readable:
                return connection
            connection.close()
        return self._connect()

    def close(self) -> None:
        """Give the connections back."""
        while self._free:
            self._free.pop().close()


class RemoteClock:
    """The clock of a sandbox. Instants are aware date-times in UTC; durations are texts such as
    ``1h30m``."""

    def __init__(self, sandbox: RemoteSandbox) -> None:
        self._sandbox = sandbox

    @property
    def now(self) -> datetime:
        """The sandbox's time."""
        return _instant(self._sandbox.call("GET", "/__admin/clock")["now"])

    def advance(self, by: Duration) -> datetime:
        """Move forward by a duration, running all that comes due; the new time. Raises as
        ``to``."""
        return self._advance({"by": _duration(by)})

    def to(self, instant: datetime | str) -> datetime:
        """Move forward to an instant, running all that comes due; the new time.

        Webhooks on the way are sent, and answered, before time goes on. Raises
        :class:`VerificationFailed` when that takes longer than ten minutes of real time.
        """
        text = instant.isoformat() if isinstance(instant, datetime) else instant
        return self._advance({"to": text})

    def start(self, mode_or_instant: str) -> None:
        """Begin the time of an unused sandbox: ``real``, ``manual``, ``fast``, or standing still at
        an instant."""
        plan = {"mode": "manual", "start": mode_or_instant}
        if mode_or_instant in _MODES:
            plan = {"mode": mode_or_instant}
        scenario = {"version": 1, "name": "clock-of-the-test", "clock": plan}
        self._sandbox.call("POST", "/__admin/scenarios", json=scenario)

    def freeze(self) -> datetime:
        """Stand still from now on; the time."""
        return _instant(self._sandbox.call("PUT", "/__admin/clock", json={"mode": "manual"})["now"])

    def _advance(self, where: Mapping[str, str]) -> datetime:
        """Move forward; the new time. Only a move that was broken off has a ``hint``, after which
        the test would go on at the wrong time."""
        moved = self._sandbox.call("POST", "/__admin/clock/advance", json=where, patience=None)
        if "hint" in moved:
            raise VerificationFailed(moved["hint"])
        return _instant(moved["now"])


class Inbox:
    """The built-in receiver of webhooks."""

    def __init__(self, sandbox: RemoteSandbox) -> None:
        self._sandbox = sandbox
        self._opened = False

    def url(self, name: str = "inbox") -> str:
        """The address to give as a webhook's ``url``; it names the sandbox, as webhooks carry no
        key."""
        if not self._opened:
            # Neither a public key nor reading opens a sandbox.
            self._sandbox.assume({})
            self._opened = True
        public_key = quote(self._sandbox.public_key)
        return f"{self._sandbox.url}/__inbox/{quote(name, safe='')}?publicKey={public_key}"

    def messages(self, name: str = "inbox") -> list[JsonObject]:
        """What has arrived, in order."""
        return self._sandbox.rows(f"/__admin/inbox/{quote(name, safe='')}", "messages")

    def clear(self, name: str = "inbox") -> None:
        """Forget what has arrived."""
        self._sandbox.call("DELETE", f"/__admin/inbox/{quote(name, safe='')}")


class RemoteJournal:
    """What was asked of a sandbox and why it answered so, in order. Iterate it, or filter it by
    calling it. Each of these asks the server anew: the journal grows while a test looks at it."""

    def __init__(self, sandbox: RemoteSandbox) -> None:
        self._sandbox = sandbox

    def __iter__(self) -> Iterator[JsonObject]:
        return iter(self())

    def __len__(self) -> int:
        return len(self())

    def __getitem__(self, index: int) -> JsonObject:
        return self()[index]

    def __call__(self, **filters: object) -> list[JsonObject]:
        """Every kept entry that passes the filters of ``GET /__admin/journal``:
        ``journal(op="charge.create")``."""
        # From the first entry on: without ``after`` a page has the newest.
        params: dict[str, object] = {"limit": PAGE, "after": 0, **filters}
        entries: list[JsonObject] = []
        while True:
            page = self._sandbox.rows("/__admin/journal", "entries", **params)
            entries += page
            if len(page) < PAGE:
                return entries
            params["after"] = page[-1]["id"]

    def read(self, entry: str | int) -> JsonObject:
        """One entry in full, with the rules that lost and why."""
        return dict(self._sandbox.call("GET", f"/__admin/journal/{entry}"))


def _query_value(value: object) -> object:
    """A value as the control API reads it in a query: true and false in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    return value


def _duration(length: Duration) -> str:
    """A duration as the control API reads it: a text as it is, any other in seconds, without the
    exponent that Python writes for small ones."""
    if isinstance(length, str):
        return length
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    return f"{seconds:f}".rstrip("0").rstrip(".") + "s"


def _instant(text: str) -> datetime:
    """An instant of an answer, as a date-time."""
    # Seven digits of a second are sent; date-times here know six.
    return datetime.fromisoformat(text[:26]).replace(tzinfo=UTC)


def body_of(answer: bytes) -> Any:
    """What an answer holds: JSON, or the text that it is, as a report or the page of a proxy."""
    try:
        return loads(answer)
    except ValueError:
        return answer.decode("utf-8", "replace")


def _words(body: object) -> str:
    """What an answer that is no success says, for a person: of an error its message and all its
    details, of a verification what differs, of anything else the whole."""
    if not isinstance(body, dict):
        return str(body)
    details = body.get("details")
    if isinstance(details, dict) and details:
        faults = [f"{name}: {text}" for name, text in details.items()]
        return f"{body.get('message')}: {'; '.join(faults)}"
    if isinstance(body.get("differences"), list):
        return "\n".join(str(difference) for difference in body["differences"])
    return str(body)
