"""Every option of the server: one table that feeds the command line, the environment, ``config``
and the docs.

An option has two places. Its row in ``settings.csv`` says what it is called, in words what is
allowed, and by which reader its text becomes a value (``Setting.reads``, a name of ``_READERS`` or
a form such as ``0 to 65535``); its field in ``Settings`` has the type and the default. Nothing else
knows the options: the command line, the environment, ``mockserver config`` and the docs are made
of the rows, so a new option is in all of them at once.

Precedence: flag, then environment (``MOCKSERVER_<OPTION>``), then default. This module is the only
reader of the environment. A bad value is refused with the name of the flag or variable, what was
got, what is allowed and, for a choice, the nearest allowed value.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from mockserver.domain.masking import mask_start
from mockserver.domain.record import read_table, record


def read_whole(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers within both bounds."""

    def read(text: str) -> int:
        # Of digits alone: ``int`` takes signs, spaces and underscores too.
        if not (text.isascii() and text.isdecimal()):
            raise ValueError(text)
        # Twenty digits are above all bounds, and ``int`` takes seconds over a million of them.
        number = int(text.lstrip("0")[:20] or "0")
        if not low <= number <= high:
            raise ValueError(text)
        return number

    return read


def read_choice(*choices: str) -> Callable[[str], str]:
    """A reader of one of some words, in any letter case: environments often have capitals."""

    def read(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(text)
        return text.lower()

    return read


def read_host(text: str) -> str:
    """A host name or an IP address, the brackets of an IPv6 address taken off: sockets want it
    without, URLs with them (``bracketed``). What only a URL has is refused."""
    bare = text
    if text.startswith("[") and text.endswith("]"):
        bare = text[1:-1]
    # Other parts of a URL; a * would let in the pages of every host (--allow-host).
    has_other_parts = any(mark in bare for mark in "/@?#*")
    if not bare or has_other_parts or any(map(str.isspace, bare)):
        raise ValueError(text)
    return bare


_SWITCHES = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def read_switch(text: str) -> bool:
    """True or false, in the words that environments use."""
    word = read_choice(*_SWITCHES)(text)
    return _SWITCHES[word]


def read_negated_switch(text: str) -> bool:
    """The value of a field whose flag begins with ``--no-``."""
    return not read_switch(text)


def read_text(text: str) -> str:
    """A text of printable characters: a line end in a log or a header would begin a line that
    nobody wrote."""
    if not text or not text.isprintable():
        raise ValueError(text)
    return text


def read_header_text(text: str) -> str:
    """A text that a header can hold."""
    if not text.isascii():
        raise ValueError(text)
    return read_text(text)


_LENGTH = re.compile(r"[1-9]\d{0,6}(s|m|h|d)")


def read_length(text: str) -> str:
    """A length of time, as it is: settings know no durations, and whoever uses it reads it."""
    if not _LENGTH.fullmatch(text):
        raise ValueError(text)
    return text


def read_clock(text: str) -> str:
    """A mode of the clock, or the instant at which it stands still."""
    if text.lower() in ("real", "manual"):
        return text.lower()
    # Read for its errors alone: a text is kept as the user wrote it.
    datetime.fromisoformat(text)
    return text


_UNFIT = frozenset(" \"'<>\\;,*")
"""Characters that would mean something else where an address stands in the policy of a page."""


def read_url(text: str) -> str:
    """An http or https address without query; its trailing slashes are taken off."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(text)
    # Paths of calls are put behind the address, where they would become a part of these.
    if parts.query or parts.fragment:
        raise ValueError(text)
    if parts.port == 0:
        # Nothing listens there: 0 asks for a free port, and which one that was is known to the
        # server alone.
        raise ValueError(text)
    is_plain = text.isascii() and text.isprintable()
    if not is_plain or _UNFIT & set(text):
        raise ValueError(text)
    # A part of a host name that is empty or too long is met on calling alone, as an error of its
    # own.
    parts.hostname.encode("idna")
    return text.rstrip("/")


_SIZES = {"kb": 1_000, "mb": 1_000_000, "kib": 1_024, "mib": 1_048_576, "b": 1, "": 1}


def read_size(text: str) -> int:
    """A size in bytes from 1 KB to 1000 MB: less holds no payment, more does not fit in memory."""
    digits = text.rstrip("BbIiKkMm ")
    unit = text[len(digits) :].strip().lower()
    if unit not in _SIZES:
        raise ValueError(text)
    size = read_whole(1, 1_000_000_000)(digits) * _SIZES[unit]
    if not 1_000 <= size <= 1_000_000_000:
        raise ValueError(text)
    return size


PREFIX = "MOCKSERVER_"
DEFAULT_WEBHOOK_KEY = "mockserver-webhook-key"
LOG_LEVELS = ("info", "warning", "error")
"""The lowest level that the log shows."""


Single: TypeAlias = str | int | bool
"""What the text of an option may mean."""

Value: TypeAlias = Single | tuple[Single, ...] | None
"""The value of an option: a single one, several of a list, or none that was given."""


class LogRecord(Protocol):
    """Something to be logged; ``level`` is one of ``LOG_LEVELS``. It makes its own lines, since how
    it is best told differs: for people, or as JSON for what collects logs."""

    @property
    def level(self) -> str: ...

    def lines(self, *, as_json: bool) -> list[str]:
        """Its lines, without line ends."""


class SettingsError(ValueError):
    """Settings that cannot be used. The text names the option, what was got and what is allowed."""


@record
class Settings:
    """The options of one server. Units and limits of each field are in its row of :data:`SETTINGS`.

    The defaults here are the only ones: the table, the command line and the docs read them from
    this class.
    """

    host: str = "127.0.0.1"
    port: int = 4111
    port_file: str | None = None
    tether: bool = False
    tls_port: int | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    profile: str = "documented"
    scenario: tuple[str, ...] = ()
    watch: bool = False
    seed: int = 1
    clock: str = "real"
    keys: tuple[str, ...] = ()
    public_url: str | None = None
    strict: bool = False
    test_values: bool = True
    test_cards_only: bool = False
    webhook_key: str = DEFAULT_WEBHOOK_KEY
    admin_token: str | None = None
    allow_host: tuple[str, ...] = ()
    max_body: int = 1_000_000
    rate_limit: int | None = None
    most_sandboxes: int = 100_000
    sandbox_idle: str | None = None
    store: str | None = None
    store_sync: str = "normal"
    journal_limit: int = 1_000
    journal_memory: int = 500_000_000
    findings: str = "on"
    log_format: str = "text"
    log_level: str = "info"
    mcp: bool = False
    data_dir: str | None = None
    fast_lane: bool = True

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other: each by itself is right, so no reader of one
        option sees it. Raises ``SettingsError``."""
        if self.tls_cert is not None and self.tls_key is None:
            raise SettingsError("--tls-cert is given without --tls-key: allowed: both or none")
        if self.tls_key is not None and self.tls_cert is None:
            raise SettingsError("--tls-key is given without --tls-cert: allowed: both or none")
        if self.tls_cert is not None and self.tls_port is None:
            raise SettingsError(
                "--tls-cert is given without --tls-port, so nobody would see it: allowed: both or "
                "none"
            )
        if self.tls_port is not None and self.tls_port == self.port != 0:
            raise SettingsError(
                f"--tls-port: got {self.tls_port}, which is also --port: allowed: another port"
            )

    @property
    def is_loopback(self) -> bool:
        """True when only this machine can reach the address that is listened on. Otherwise the
        server warns of a control API without a token. A name is not looked up: it may mean anything
        later."""
        from ipaddress import ip_address

        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def address(self) -> str:
        """Where this server listens, as a URL without trailing slash."""
        return f"http://{bracketed(self.host)}:{self.port}"

    @property
    def url(self) -> str:
        """Under which address others reach it, without trailing slash: behind a proxy another than
        it listens on. Pages and links of answers are made with it."""
        return (self.public_url or self.near_address).rstrip("/")

    @property
    def near_address(self) -> str:
        """Where programs on this machine reach it, as a URL without trailing slash."""
        return f"http://{bracketed(self.near_host)}:{self.port}"

    @property
    def near_host(self) -> str:
        """A host under which programs on this machine reach it. ``0.0.0.0`` and ``::`` stand for
        every address of the machine: nobody can open them in a browser."""
        from ipaddress import ip_address

        try:
            everywhere = ip_address(self.host)
        except ValueError:
            return self.host
        if not everywhere.is_unspecified:
            return self.host
        if everywhere.version == 4:
            return "127.0.0.1"
        # The name means whichever loopback the machine has.
        return "localhost"

    @staticmethod
    def load(flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
        """The settings that the given flags and environment amount to.

        ``flags`` maps field names to what the command line gave: text, a sequence of texts for a
        repeatable flag, or a bool for a switch. None, an empty sequence and an unset switch mean
        "not given". Raises :class:`SettingsError`.
        """
        # Each is of the type of its field: the column ``reads`` of its row sees to that.
        values: dict[str, Any] = {}
        for chosen in resolve(flags, environ):
            values[chosen.setting.name] = chosen.value
        return Settings(**values)

    def override(self, values: Mapping[str, Any]) -> tuple[Settings, dict[str, Any]]:
        """These settings with the named fields replaced, and the values whose names are not
        fields: ``create_app`` takes both among its keywords."""
        names = {item.name for item in fields(Settings)}
        own: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for name, value in values.items():
            if name in names:
                own[name] = value
            else:
                others[name] = value
        return replace(self, **own), others


def read_address(text: str) -> str:
    """The address of a server that runs, as ``read_url`` reads it. Raises ``ValueError`` with the
    right spelling."""
    _, has_scheme, behind_scheme = text.partition("://")
    if not has_scheme:
        behind_scheme = text
    authority, _, _ = behind_scheme.partition("/")
    if "@" in authority:
        # What stands before the @ may be a password: it is not repeated.
        raise ValueError("wanted an address without a user and a password")
    with suppress(ValueError):
        return read_url(text)
    right = Settings().address
    if not has_scheme:
        with suppress(ValueError):
            # Only the scheme is missing.
            right = read_url(f"http://{text}")
    raise ValueError(
        f"got '{mask_start(text, 200)}', wanted an http or https address without query, such as "
        f"{right}"
    )


def bracketed(host: str) -> str:
    """A host as URLs write it: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


@record
class Setting:
    """One option: a row of ``settings.csv``. ``allowed`` says in words what ``reads`` reads; the
    value of one that is ``secret`` is never shown."""

    flag: str
    reads: str
    allowed: str
    metavar: str
    secret: str
    help: str

    @property
    def name(self) -> str:
        """Its field in ``Settings``. A flag ``--no-X`` turns off what the field ``X`` has on."""
        return self.flag.removeprefix("--").removeprefix("no-").replace("-", "_")

    @property
    def default(self) -> Value:
        """Its value in ``Settings``, which alone says it."""
        value: Value = getattr(_DEFAULTS, self.name)
        return value

    @property
    def is_list(self) -> bool:
        """A list is repeatable, and several values in one text are parted by commas."""
        return self.reads.startswith(_LIST)

    @property
    def is_switch(self) -> bool:
        """A switch is a flag without a value."""
        return self.reads in ("switch", "negated")

    def read(self, text: str) -> Single:
        """The value of a text, or of one item of a list. Raises ``ValueError`` when it is not
        allowed."""
        return _reader(self.reads.removeprefix(_LIST))(text)

    @property
    def variable(self) -> str:
        """Its variable of the environment, named by the flag: ``MOCKSERVER_NO_X=1`` turns off
        too."""
        return PREFIX + self.flag.removeprefix("--").replace("-", "_").upper()

    def parse(self, text: str, origin: str) -> Value:
        """The value of ``text`` as written at ``origin`` (a flag or a variable). Raises
        :class:`SettingsError`."""
        try:
            if not self.is_list:
                return self.read(text.strip())
            stripped = map(str.strip, text.split(","))
            parts = [part for part in stripped if part]
            if not parts:
                # No value would mean "not given", which for some options means "all": refused.
                raise ValueError(text)
            return tuple(self.read(part) for part in parts)
        except ValueError:
            raise SettingsError(self._refusal(text, origin)) from None

    def plain(self, value: Value) -> object:
        """``value`` as JSON has it; the value of a secret option only as "(set)"."""
        if self.secret and value != self.default:
            return "(set)"
        if isinstance(value, bool):
            # As the flag reads, not as the field does: --no-test-values is true when test values
            # are off.
            return value is self.read("true")
        if isinstance(value, tuple):
            return list(value)
        return value

    def show(self, value: Value) -> str:
        """``value`` as a person would write it on the command line, a hyphen for none; the value of
        a secret option only as "(set)"."""
        plain = self.plain(value)
        if isinstance(plain, bool):
            return str(plain).lower()
        if plain is None or plain == []:
            return "-"
        if isinstance(plain, list):
            return ",".join(plain)
        return str(plain)

    def _refusal(self, text: str, origin: str) -> str:
        """Why a text at a flag or in a variable is refused, and what may be meant. A secret is not
        repeated: refusals end in logs."""
        got = "a value that is not shown" if self.secret else repr(text)
        # Of the words of a choice, text|json. Capitals stand for what the user fills in.
        choices = [word for word in self.metavar.split("|") if word.islower()]
        hints = _nearest(text.strip().lower(), choices, similarity=0.4)
        if origin.startswith(PREFIX) and text.startswith("tcp://"):
            # Kubernetes and legacy container links inject <SERVICE>_PORT for a service that is
            # called "mockserver".
            hints += (
                "; this looks injected by the orchestrator: rename its service or turn "
                "service links off"
            )
        return f"{origin}: got {got}, allowed: {self.allowed}{hints}"


@record
class Chosen:
    """The value of one option and where it came from: ``flag``, ``environment`` or ``default``."""

    setting: Setting
    value: Value
    source: str


_READERS: Mapping[str, Callable[[str], Single]] = {
    "text": read_text,
    "header text": read_header_text,
    "host": read_host,
    "url": read_url,
    "size": read_size,
    "length": read_length,
    "clock": read_clock,
    "switch": read_switch,
    "negated": read_negated_switch,
}
"""How texts are read, by the column ``reads`` of ``settings.csv``. Each raises ``ValueError`` for a
text that is not allowed; the refusal takes its words from the row."""

_LIST, _CHOICE, _RANGE = "list of ", "one of ", " to "
"""Forms of that column: ``list of text``, ``one of on off``, ``0 to 65535``."""


def _reader(reads: str) -> Callable[[str], Single]:
    """What reads a text, by the column ``reads`` without its ``list of``."""
    if reads.startswith(_CHOICE):
        return read_choice(*reads.removeprefix(_CHOICE).split())
    if _RANGE in reads:
        low, high = reads.split(_RANGE)
        return read_whole(int(low), int(high))
    return _READERS[reads]


_DEFAULTS = Settings()
SETTINGS = read_table("settings", Setting, Path(__file__).parent)
"""Every option; ``settings.csv`` has them."""


def resolve(flags: Mapping[str, object], environ: Mapping[str, str]) -> list[Chosen]:
    """Every option's value and source, in the order of :data:`SETTINGS`. An empty variable counts
    as not set.

    Raises :class:`SettingsError`.
    """
    return [
        _choose(setting, flags.get(setting.name), environ.get(setting.variable, ""))
        for setting in SETTINGS
    ]


def _choose(setting: Setting, flag: object, variable: str) -> Chosen:
    """The value of an option: that of the command line, else of its variable, else the default.

    ``flag`` is what the command line has: True for a switch, a text, or all the texts of an option
    that may be given several times. One that was not given is False, None or empty.
    """
    if flag is True:
        return Chosen(setting, setting.read("true"), "flag")
    if isinstance(flag, str):
        flag = [flag]
    if isinstance(flag, Sequence) and flag:
        return Chosen(setting, _of_flags(setting, flag), "flag")
    # Compose files write X= for an option that is to have its default.
    if variable.strip():
        return Chosen(setting, setting.parse(variable, setting.variable), "environment")
    return Chosen(setting, setting.default, "default")


def _of_flags(setting: Setting, texts: Sequence[object]) -> Value:
    """What an option says that stands once or more on the command line: of a list all, else the
    last, so that a script's own options can be overridden behind them."""
    values = [setting.parse(str(text), setting.flag) for text in texts]
    if not setting.is_list:
        return values[-1]
    lists = [value for value in values if isinstance(value, tuple)]
    return tuple(chain.from_iterable(lists))


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """One sentence for each ``MOCKSERVER_`` variable that no option reads, with the nearest that
    one does.

    A warning and not a refusal: orchestrators inject such variables for a service that is called
    "mockserver".
    """
    known = [setting.variable for setting in SETTINGS]
    sentences = []
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            sentences.append(f"{name} is not a known variable{_nearest(name, known)}")
    return sentences


def _nearest(word: str, known: Sequence[str], similarity: float = 0.6) -> str:
    """Words that name the nearest of what is known; none where nothing is so similar. Loaded for a
    mistake alone, as every start of a command waits for this module."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1, cutoff=similarity)
    return f"; nearest: {near[0]}" if near else ""


def trace_protocol(environ: Mapping[str, str]) -> str | None:
    """How spans are sent, by the variables of OpenTelemetry; None without an endpoint, or if SDK or
    exporter is off."""

    def value(name: str) -> str:
        return environ.get(f"OTEL_{name}", "").strip()

    def value_for_traces(name: str) -> str:
        # What is said of traces alone comes before what is said of all that is exported.
        return value(f"EXPORTER_OTLP_TRACES_{name}") or value(f"EXPORTER_OTLP_{name}")

    if value("SDK_DISABLED").lower() == "true" or value("TRACES_EXPORTER").lower() == "none":
        return None
    if not value_for_traces("ENDPOINT"):
        return None
    # The default of the specification of OpenTelemetry.
    return value_for_traces("PROTOCOL") or "http/protobuf"


def data_directory(
    settings: Settings, environ: Mapping[str, str], platform: str = sys.platform
) -> Path:
    """The folder for files that outlive a run: ``--data-dir``, else the platform's per-user data
    folder."""
    if settings.data_dir is not None:
        return Path(settings.data_dir).expanduser()
    match platform:
        case "win32":
            usual = Path.home() / "AppData" / "Local"
            folder = environ.get("LOCALAPPDATA") or usual
        case "darwin":
            folder = Path.home() / "Library" / "Application Support"
        case _:
            usual = Path.home() / ".local" / "share"
            folder = environ.get("XDG_DATA_HOME") or usual
    return Path(folder) / "mockserver"
