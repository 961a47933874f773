"""A text of hundreds of megabytes in parts."""

from __future__ import annotations

from mockserver.wire.long_text import Parts
from tests.rows import each


def filled(sizes: list[int], *, shared: bool = False) -> tuple[Parts, bytes]:
    parts, whole = Parts(), b""
    for number, size in enumerate(sizes):
        if shared:
            parts.append(b"shared")
            whole += b"shared"
        text = (b"%d," % number) * (size // len(b"%d," % number))
        parts.add([text[:7], text[7:]])
        whole += text
    return parts, whole


@each("shared", [False, True])
@each("sizes", [[10], [100_000] * 100, [5_000_000, 20, 9_000_000, 1, 0, 300_000], [3_999_999, 3]])
def test_it_is_what_was_added(sizes: list[int], shared: bool) -> None:
    parts, whole = filled(sizes, shared=shared)
    assert (parts.length, parts.whole()) == (len(whole), whole)
    assert parts.beginning(20_000) == whole[:20_000]
    assert parts.beginning(len(whole) + 5) == whole
    pieces = list(parts.taken())
    assert (b"".join(pieces), len(parts)) == (whole, 0)
    assert max(map(len, pieces)) <= 250_000
