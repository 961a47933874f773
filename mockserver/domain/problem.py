"""The one error shape: integer code, boolean isRetryable, flat details (published facts, 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from mockserver.domain.masking import mask_text

_ANCHOR = "https://docs.payfurl.com/errorcodes#"


class Problem(TypedDict):
    """An error as it is sent."""

    message: str
    code: int
    isRetryable: bool
    type: str
    resource: str | None
    details: dict[str, str] | None
    gatewayCode: str | None
    gatewayMessage: str | None
    httpStatus: int


def problem(
    status: int,
    code: int,
    message: str,
    resource: str | None,
    details: Mapping[str, str] | None = None,
    *,
    is_retryable: bool = False,
    gateway_code: str | None = None,
    gateway_message: str | None = None,
) -> Problem:
    """An error body. Whatever in the details could be a card number is masked."""
    return {
        "message": message,
        "code": code,
        "isRetryable": is_retryable,
        "type": f"{_ANCHOR}{code}",
        "resource": mask_text(resource) if resource else resource,
        "details": {mask_text(name): mask_text(text) for name, text in details.items()} if details else None,
        "gatewayCode": gateway_code,
        "gatewayMessage": gateway_message,
        "httpStatus": status,
    }
