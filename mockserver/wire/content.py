"""What the head of a request says of its body: the type, and the coding in which it is sent.

Types and codings are those of HTTP (RFC 9110); types that end in ``+json`` are JSON too (RFC 6839).
Sources: docs/spec/service.md, Endpoints (JSON both ways); docs/spec/published-facts.md, 1.0.
"""

from mockserver.domain.masking import mask_start

JSON = "application/json"
"""The type that the service's document shows. Published clients send it, some with a charset."""

_ALSO_JSON = frozenset({JSON, "text/json"})
_NOT_CODED = frozenset({"", "identity"})
_LONGEST_SHOWN = 60


def is_json(content_type: str) -> bool:
    """Whether a content type names JSON, whatever parameters follow. A blank one names nothing
    else."""
    if content_type in _ALSO_JSON:
        return True
    name = content_type.partition(";")[0].strip().lower()
    is_suffixed = name.startswith("application/") and name.endswith("+json")
    return not name or name in _ALSO_JSON or is_suffixed


def media_words(content_type: str) -> str:
    """What to say of a body whose type names no JSON."""
    return f"got '{mask_start(content_type, _LONGEST_SHOWN)}', wanted {JSON}"


def coding_fault(content_encoding: str) -> str | None:
    """What to say of a body that must be decoded to be read; None of one that can be read as it
    is."""
    codings = {coding.strip().lower() for coding in content_encoding.split(",")}
    if codings <= _NOT_CODED:
        return None
    shown = mask_start(content_encoding, _LONGEST_SHOWN)
    return f"got '{shown}', wanted a body that is not encoded"
