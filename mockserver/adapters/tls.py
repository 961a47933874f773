"""Certificates for the TLS listener: an authority of this machine's user, and a certificate for the loopback names.

The published SDKs call ``https://localhost:5001`` in their LOCAL environment and some of them check the certificate
(published facts, 1), so the authority must be one that a user can trust once and keep: it is made on first use in the
per-user data folder, and ``mockserver ca`` prints it. Private keys are readable by their owner only.
"""

from __future__ import annotations

import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import Certificate, load_pem_x509_certificate
from trustme import CA

from mockserver.adapters.machine_clock import write_whole
from mockserver.scenario.scenario import Certificate as Flaw
from mockserver.scenario.scenario import TlsMap
from mockserver.settings import Settings, data_directory

# Clients refuse certificates of a server that are valid for more than 398 days.
LEAF_LIFE = timedelta(days=397)
RENEW_BEFORE = timedelta(days=30)
# Clocks of containers and virtual machines run a little apart.
BACKDATE = timedelta(hours=1)
OTHER_NAME = "another.example"
NAMES = ("localhost", "127.0.0.1", "::1")


def listener_context(settings: Settings, plan: TlsMap | None) -> ssl.SSLContext:
    """The TLS settings of the listener: TLS 1.2 or later, with the given files or with the certificate made here; with
    ``plan`` what scenarios want to be wrong with them (docs/scenario-language.md, tls); a certificate that a client
    must refuse is kept nowhere.

    Raises :class:`OSError` when a file cannot be read or written (:class:`ssl.SSLError` is one) and
    :class:`ValueError` when a stored file is not a certificate.
    """
    directory, now = data_directory(settings, os.environ), datetime.now(UTC)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    flaw = None if plan is None else plan.certificate
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if plan is not None and plan.min_version == "1.3":
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if plan is not None and plan.refuse is not None:
        context.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE
    if flaw is not None:
        authority = CA(organization_name="nobody knows") if flaw is Flaw.UNTRUSTED_CHAIN else _authority(directory, now)
        names = (OTHER_NAME,) if flaw is Flaw.WRONG_NAME else NAMES
        end = now - timedelta(days=1) if flaw is Flaw.EXPIRED else now + LEAF_LIFE
        leaf = authority.issue_cert(*names, common_name=names[0], not_before=end - LEAF_LIFE, not_after=end)
        leaf.configure_cert(context)
    elif settings.tls_cert is not None:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
    else:
        context.load_cert_chain(*leaf_files(directory, now))
    return context


def authority_pem(directory: Path, now: datetime | None = None) -> bytes:
    """The authority's certificate (PEM); made when there is none or it is near its end."""
    return _authority(directory, now or datetime.now(UTC)).cert_pem.bytes()


def leaf_files(directory: Path, now: datetime) -> tuple[Path, Path]:
    """Paths of a certificate chain for ``NAMES`` and its key, signed by the authority and not near their end."""
    authority = _authority(directory, now)
    chain, key = directory / "localhost.pem", directory / "localhost-key.pem"
    kept = _read(chain, key, until=now)
    if kept is None or not _signed_by(kept, authority):
        start = now - BACKDATE
        leaf = authority.issue_cert(
            *NAMES,
            common_name=NAMES[0],
            organization_name="mockserver",
            organization_unit_name="mockserver",
            not_before=start,
            not_after=start + LEAF_LIFE,
        )
        write_whole(key, leaf.private_key_pem.bytes(), 0o600)
        write_whole(chain, leaf.cert_chain_pems[0].bytes() + authority.cert_pem.bytes(), 0o644)
    return chain, key


def _authority(directory: Path, now: datetime) -> CA:
    certificate, key = directory / "ca.pem", directory / "ca-key.pem"
    # An authority that ends before the leaf would cut the leaf's life short.
    if _read(certificate, key, until=now + LEAF_LIFE):
        return CA.from_pem(certificate.read_bytes(), key.read_bytes())
    made = CA(path_length=0, organization_name="mockserver", organization_unit_name="mockserver local authority")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(key, made.private_key_pem.bytes(), 0o600)
    write_whole(certificate, made.cert_pem.bytes(), 0o644)
    return made


def _read(certificate: Path, key: Path, *, until: datetime) -> Certificate | None:
    """The stored certificate; None when a file is missing, the two do not belong together, or it ends near ``until``.

    Raises :class:`ValueError` when a file is not what its name says.
    """
    if not (certificate.exists() and key.exists()):
        return None
    stored = load_pem_x509_certificate(certificate.read_bytes())
    same = load_pem_private_key(key.read_bytes(), password=None).public_key() == stored.public_key()
    return stored if same and stored.not_valid_after_utc - until >= RENEW_BEFORE else None


def _signed_by(certificate: Certificate, authority: CA) -> bool:
    try:
        certificate.verify_directly_issued_by(load_pem_x509_certificate(authority.cert_pem.bytes()))
    except (InvalidSignature, ValueError):
        return False
    return True
