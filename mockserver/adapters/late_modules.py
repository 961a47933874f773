"""Modules of other libraries that run when something of them is first asked for.

Libraries import at their top what one call in a thousand needs: of 952 million instructions to the first answer to a
charge such modules took 156, and 4.6 of 45 MiB. Only the ``mockserver`` command delays them; a program that imports
this package loads modules as usual.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from threading import RLock
from types import ModuleType
from typing import Any

_WHOLE: Mapping[str, str] = {}
_FOR_ANNOTATIONS = ("CoreConfig", "CoreSchema", "CoreSchemaType", "ErrorType")
LATE: Mapping[str, Mapping[str, str]] = {
    "anyio": _WHOLE,
    "anyio.abc": _WHOLE,
    "anyio.to_thread": _WHOLE,
    "asyncio.sslproto": _WHOLE,
    "asyncio.staggered": _WHOLE,
    "calendar": _WHOLE,
    "difflib": _WHOLE,
    "html": _WHOLE,
    "http.client": _WHOLE,
    "http.cookies": _WHOLE,
    "importlib.resources": _WHOLE,
    "linecache": _WHOLE,
    "logging.config": _WHOLE,
    "ntpath": _WHOLE,
    # Hundreds of types of schemas. Its importer uses these four in annotations only.
    "pydantic_core.core_schema": dict.fromkeys(_FOR_ANNOTATIONS, "typing.Any"),
    "shutil": _WHOLE,
    "textwrap": _WHOLE,
    "tokenize": _WHOLE,
    # Of the command of httpx, which is not called here.
    "rich.console": _WHOLE,
    "rich.markup": _WHOLE,
    "rich.progress": _WHOLE,
    "rich.syntax": _WHOLE,
    "rich.table": _WHOLE,
    # Without what runs servers in other processes.
    "uvicorn": {"Config": "uvicorn.config.Config"},
}
"""Modules that their importers do not use while these are imported themselves. A name that an importer takes from one
nevertheless is listed with what it is given instead, which has been loaded by then."""


class Late:
    """The loader of a module that does not run before something of it is asked for. A thread that asks for what is not
    there yet while it runs in another waits for its end."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain
        self._lock = RLock()
        self.waits = True

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module, or None, as the plain loader has it."""
        made: ModuleType | None = self._plain.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Let the module wait."""
        spec: Any = module.__spec__
        elsewhere, waiting = LATE[module.__name__], vars(module)

        def asked(name: str) -> Any:
            if name == "__path__":
                # Packages have it before they run; of all others it is asked while names are imported from them.
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            if name in elsewhere:
                home, _, its = elsewhere[name].rpartition(".")
                return getattr(sys.modules[home], its)
            with self._lock:
                if self.waits:
                    self.waits = False
                    spec.loader = module.__loader__ = self._plain
                    try:
                        self._plain.exec_module(module)
                    except BaseException:
                        self.waits = True
                        raise
                    # Some modules have such a function of their own.
                    if waiting["__getattr__"] is asked:
                        del waiting["__getattr__"]
            if waiting.get("__getattr__") is asked:
                # It runs, and what it imports asks for what it has not come to yet.
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r} yet")
            return getattr(module, name)

        waiting["__getattr__"] = asked


class _Finder:
    """Finds the modules that are to wait, where Python finds them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in LATE:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not _Finder)
        found = next(filter(None, others), None)
        if found is not None:
            found.loader = Late(found.loader)  # type: ignore[assignment]
        return found


def begin() -> None:
    """Let them wait from now on, those apart that have been imported."""
    sys.meta_path.insert(0, _Finder)
