"""Certificates for the TLS listener: an authority of this machine's user, and a leaf for the loopback names.

The published SDKs call ``https://localhost:5001`` in their LOCAL environment and some of them check the certificate
(published facts, 1), so the authority must be one that a user can trust once and keep: it is made on first use in the
per-user data folder, and ``mockserver ca`` prints it. Private keys are readable by their owner only.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, KeyUsage, Name

AUTHORITY_LIFE = timedelta(days=3650)
# Clients refuse leaves that are valid for more than 398 days.
LEAF_LIFE = timedelta(days=397)
RENEW_BEFORE = timedelta(days=30)
# Clocks of containers and virtual machines run a little apart.
BACKDATE = timedelta(hours=1)
NAMES: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key."""

    certificate: Certificate
    key: EllipticCurvePrivateKey


def server_context(directory: Path, cert: str | None, key: str | None, now: datetime | None = None) -> ssl.SSLContext:
    """The TLS settings of the listener: TLS 1.2 or later, with the given files or with the certificate made here.

    Raises :class:`OSError` when a file cannot be read or written (:class:`ssl.SSLError` is one) and
    :class:`ValueError` when a stored file is not a certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert is not None and key is not None:
        context.load_cert_chain(cert, key)
    else:
        context.load_cert_chain(*leaf_files(directory, now or datetime.now(UTC)))
    return context


def authority_pem(directory: Path, now: datetime | None = None) -> bytes:
    """The authority's certificate (PEM); made when there is none or it is near its end."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return _authority(directory, now or datetime.now(UTC)).certificate.public_bytes(Encoding.PEM)


def leaf_files(directory: Path, now: datetime, names: Sequence[str] = NAMES) -> tuple[Path, Path]:
    """Paths of a certificate chain and key for ``names``, signed by the authority and not near their end."""
    authority = _authority(directory, now)
    chain, key = directory / "localhost.pem", directory / "localhost-key.pem"
    kept = _read(chain, key)
    if kept is None or _near_end(kept, now) or not _signed_by(kept, authority):
        _write(chain, key, _make_leaf(authority, now, names), chain_with=authority)
    return chain, key


def _authority(directory: Path, now: datetime) -> Pair:
    certificate, key = directory / "ca.pem", directory / "ca-key.pem"
    kept = _read(certificate, key)
    # An authority that ends before the leaf would cut the leaf's life short.
    if kept is not None and not _near_end(kept, now + LEAF_LIFE):
        return kept
    made = _make_authority(now)
    _write(certificate, key, made)
    return made


def _read(certificate: Path, key: Path) -> Pair | None:
    """The stored pair; None when a file is missing, when they do not belong together, or when it is of another kind."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    if not (certificate.exists() and key.exists()):
        return None
    private = load_pem_private_key(key.read_bytes(), password=None)
    public = load_pem_x509_certificate(certificate.read_bytes())
    if not isinstance(private, EllipticCurvePrivateKey) or private.public_key() != public.public_key():
        return None
    return Pair(public, private)


def _near_end(pair: Pair, now: datetime) -> bool:
    return pair.certificate.not_valid_after_utc - now < RENEW_BEFORE


def _signed_by(pair: Pair, authority: Pair) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        pair.certificate.verify_directly_issued_by(authority.certificate)
    except (InvalidSignature, ValueError):
        return False
    return True


def _make_authority(now: datetime) -> Pair:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("mockserver local authority")
    builder = (
        _builder(name, name, key, now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
    )
    return Pair(builder.sign(key, SHA256()), key)


def _make_leaf(authority: Pair, now: datetime, names: Sequence[str]) -> Pair:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    alternatives = [
        x509.DNSName(name) if (address := _address(name)) is None else x509.IPAddress(address) for name in names
    ]
    builder = (
        _builder(_name(names[0]), issuer.subject, key, now, LEAF_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    return Pair(builder.sign(authority.key, SHA256()), key)


def _builder(
    subject: Name, issuer: Name, key: EllipticCurvePrivateKey, now: datetime, life: timedelta
) -> CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now - BACKDATE + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common_name: str) -> Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _key_usage(*, authority: bool) -> KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _write(certificate: Path, key: Path, pair: Pair, chain_with: Pair | None = None) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    chain = [pair, chain_with] if chain_with else [pair]
    _put(key, pair.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
    _put(certificate, b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain), mode=0o644)


def _put(path: Path, content: bytes, *, mode: int) -> None:
    """Write a file in one step: another server may read the same folder at the same moment."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.chmod(temporary, mode)
    os.replace(temporary, path)
