"""Ids and draws: everything that looks random is computed from (seed, sandbox, purpose, counter).

So a run that repeats its requests gets the same ids, whatever other sandboxes do meanwhile, and a
fork goes on with ids of its own from the same counters. Each kind has its own counter: another
customer does not change the ids of charges.

An id is its counter, mixed by steps that can each be undone (a multiplication by an odd number, an
exclusive or with its own upper bits): two counters never give one id, without a list of those that
are taken.

Shapes: published facts, 5.4 (32 lower-case hex digits for objects, dashed UUIDs for providers, 24
hex for tokens).
"""

from hashlib import blake2b
from typing import Literal, NewType, TypeAlias, get_args

Salt = NewType("Salt", int)
"""64 bits that look random. A state document writes them as text: many readers of JSON would round
them."""

Seed = NewType("Seed", int)
"""From 0 to 2^63 - 1."""

Kind: TypeAlias = Literal[
    "batch",
    "charge",
    "customer",
    "gateway_token",
    "network_token",
    "page_view",
    "payment_link",
    "payment_method",
    "payto",
    "provider",
    "provider_latency",
    "provider_payment_method",
    "replay",
    "scheme_token",
    "subscription",
    "token",
    "transfer",
    "vault",
    "webhook",
    "webhook_subscription",
]
"""What is counted: a sandbox has no counters but these, and those of a document that it was made
from."""

KINDS = frozenset[str](get_args(Kind))

_MASK_128 = (1 << 128) - 1
_ODD = 0x9E3779B97F4A7C15F39CC0605CEDC835


def digest(*parts: object, size: int = 16) -> bytes:
    """A hash of the parts, each of them framed by its length so that no two lists of parts run
    together."""
    state = blake2b(digest_size=size)
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(4, "big"))
        state.update(raw)
    return state.digest()


class Ids:
    """Ids of one sandbox. A bijection of a counter, so that no two are equal."""

    def __init__(self, seed: int, sandbox: str) -> None:
        self._seed_parts = (seed, sandbox)
        self._keys: dict[str, int] = {}
        self.counters: dict[str, int] = {}

    def hex32(self, kind: Kind) -> str:
        """The next id of ``kind``: 32 lower-case hex digits."""
        counters = self.counters
        counters[kind] = count = counters.get(kind, 0) + 1
        key = self._keys.get(kind)
        if key is None:
            key = self._keys[kind] = int.from_bytes(digest("id", *self._seed_parts, kind), "big")
        # A mixing of 128 bits in the manner of SplitMix64.
        mixed = (count * _ODD + key) & _MASK_128
        mixed ^= mixed >> 67
        mixed = (mixed * _ODD) & _MASK_128
        return (mixed ^ (mixed >> 61)).to_bytes(16, "big").hex()

    def hex24(self, kind: Kind) -> str:
        """The next id of ``kind``: 24 lower-case hex digits (tokens)."""
        return self.hex32(kind)[:24]

    def uuid(self, kind: Kind) -> str:
        """The next id of ``kind`` in the form of a random UUID, version and variant included
        (providers)."""
        raw = self.hex32(kind)
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-a{raw[17:20]}-{raw[20:]}"
