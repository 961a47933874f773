"""Certificates for the TLS listener: an authority of this machine's user, and a certificate for the
loopback names.

The published SDKs call ``https://localhost:5001`` in their LOCAL environment and some of them check
the certificate (published facts, 1), so the authority must be one that a user can trust once and
keep: it is made on first use in the per-user data folder, and ``mockserver ca`` prints it. Its key
is readable by its owner only; each start has a certificate of its own, which is kept nowhere.
"""

import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate
from trustme import CA

from mockserver.adapters.machine_clock import write_whole
from mockserver.scenario.scenario import Certificate, TlsMap
from mockserver.settings import Settings, data_directory

# Clients refuse certificates of a server that are valid for more than 398 days.
LEAF_LIFE = timedelta(days=397)
RENEW_BEFORE = timedelta(days=30)
# Clocks of containers and virtual machines run a little apart.
BACKDATE = timedelta(hours=1)
OTHER_NAME = "another.example"
NAMES = ("localhost", "127.0.0.1", "::1")


def listener_context(settings: Settings, plan: TlsMap | None) -> ssl.SSLContext:
    """The TLS settings of the listener: TLS 1.2 or later, with the given files or with a
    certificate made here; with ``plan`` what scenarios want to be wrong with them
    (docs/scenario-language.md, tls).

    Raises :class:`OSError` when a file cannot be read or written (:class:`ssl.SSLError` is one) and
    :class:`ValueError` when a stored file is not a certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    flaw = None if plan is None else plan.certificate
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if plan is not None and plan.min_version == "1.3":
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if plan is not None and plan.refuse is not None:
        # The alert that this returns ends the handshake.
        context.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE
    # The files given have no flaw: a certificate with one is made here.
    if flaw is None and settings.tls_cert is not None:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
        return context
    now = datetime.now(UTC)
    if flaw is Certificate.UNTRUSTED_CHAIN:
        authority = CA(organization_name="nobody knows")
    else:
        authority = _authority(data_directory(settings, os.environ), now)
    names = (OTHER_NAME,) if flaw is Certificate.WRONG_NAME else NAMES
    end = now - BACKDATE + LEAF_LIFE
    if flaw is Certificate.EXPIRED:
        end = now - timedelta(days=1)
    leaf = authority.issue_cert(
        *names, common_name=names[0], not_before=end - LEAF_LIFE, not_after=end
    )
    leaf.configure_cert(context)
    return context


def authority_pem(directory: Path, now: datetime | None = None) -> bytes:
    """The authority's certificate (PEM); made when there is none or it is near its end."""
    return _authority(directory, now or datetime.now(UTC)).cert_pem.bytes()


def _authority(directory: Path, now: datetime) -> CA:
    """The stored authority, or a new one when a file is missing, the two do not belong together, or
    it ends before a certificate that is made now would. Raises :class:`ValueError` when a file is
    not what its name says."""
    certificate_file, key_file = directory / "ca.pem", directory / "ca-key.pem"
    if certificate_file.exists() and key_file.exists():
        certificate = load_pem_x509_certificate(certificate_file.read_bytes())
        key = load_pem_private_key(key_file.read_bytes(), password=None)
        belong_together = key.public_key() == certificate.public_key()
        if belong_together and certificate.not_valid_after_utc >= now + LEAF_LIFE + RENEW_BEFORE:
            return CA.from_pem(certificate_file.read_bytes(), key_file.read_bytes())
    authority = CA(
        path_length=0,
        organization_name="mockserver",
        organization_unit_name="mockserver local authority",
    )
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(key_file, authority.private_key_pem.bytes(), 0o600)
    write_whole(certificate_file, authority.cert_pem.bytes(), 0o644)
    return authority
