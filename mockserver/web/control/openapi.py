"""The descriptions of the payments API and of this one (``/openapi.json``, ``/__admin/openapi.json``)."""

from __future__ import annotations

from mockserver.web.control.call import ControlCall


def payments(call: ControlCall) -> tuple[int, object]:
    """The payments API as an OpenAPI document; with a secret key, as the sandbox of that key speaks."""
    from mockserver.web.openapi import document

    return 200, document(call.assumed(), call.host.charter.public_url)


def control(call: ControlCall) -> tuple[int, object]:
    """The control API as an OpenAPI document."""
    from mockserver.web.control.description import document

    return 200, document(call.host.charter.public_url)
