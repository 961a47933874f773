"""A local, stateful sandbox of a payments service.

The public face is small: :func:`create_app` builds the whole sandbox as a plain ASGI application,
:class:`Settings` holds its options, and the ``mockserver`` command serves it. Importing this
package imports no third-party library, so that ``mockserver version`` and a test session that never
uses the sandbox stay quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockserver.version import __version__

if TYPE_CHECKING:
    from mockserver.settings import Settings
    from mockserver.web.app import Application

__all__ = ["Settings", "__version__", "create_app"]


def __getattr__(name: str) -> Any:
    if name == "Settings":
        from mockserver.settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def create_app(settings: Settings | None = None, **overrides: Any) -> Application:
    """Build the sandbox as an ASGI application, for in-process use or for any ASGI server.

    ``overrides`` are names of :class:`Settings` fields (``create_app(profile="sdk", seed=7)``); any
    other name is passed on to :func:`mockserver.web.app.create_app` (``real_clock``, ``traces``).
    The environment is not read: pass ``Settings.load({}, os.environ)`` when it should be.

    Raises :class:`TypeError` for a name that is neither, :class:`mockserver.settings.SettingsError`
    for settings that contradict each other.
    """
    from mockserver.settings import Settings
    from mockserver.web import app

    chosen, rest = (settings or Settings()).override(overrides)
    return app.create_app(chosen, **rest)
