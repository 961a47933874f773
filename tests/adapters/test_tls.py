"""Certificates: an authority that is made on first use, kept and renewed, and what it signs,
accepted in a real handshake by a client that checks it."""

import ssl
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from trustme import CA

from mockserver import Settings
from mockserver.adapters.tls import LEAF_LIFE, NAMES, authority_pem, listener_context

NOW = datetime.now(UTC)


def leaf(directory: Path) -> x509.Certificate:
    """The certificate that a server with this folder shows."""
    context = listener_context(Settings(data_dir=str(directory)), None)
    shown = handshake(context, authority_pem(directory), "localhost").getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown)


def handshake(server: ssl.SSLContext, trusted: bytes, name: str) -> ssl.SSLObject:
    """Shake hands over memory; the client's end. Raises ssl.SSLError when the client refuses."""
    client_context = ssl.create_default_context(cadata=trusted.decode())
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=name)
    peer = server.wrap_bio(to_server, to_client, server_side=True)
    open_ends = [client, peer]
    while open_ends:
        for end in list(open_ends):
            try:
                end.do_handshake()
                open_ends.remove(end)
            except ssl.SSLWantReadError:
                continue
    return client


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_a_client_that_trusts_the_authority_accepts_the_leaf(tmp_path: Path, name: str) -> None:
    context = listener_context(Settings(data_dir=str(tmp_path)), None)
    assert handshake(context, authority_pem(tmp_path), name).version() in ("TLSv1.2", "TLSv1.3")


def test_a_client_refuses_another_name_and_another_authority(tmp_path: Path) -> None:
    context = listener_context(Settings(data_dir=str(tmp_path / "one")), None)
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(context, authority_pem(tmp_path / "one"), "pay.example.test")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(context, authority_pem(tmp_path / "two"), "localhost")


def test_what_was_made_is_kept(tmp_path: Path) -> None:
    assert authority_pem(tmp_path, NOW) == authority_pem(tmp_path, NOW + timedelta(days=300))


def ending(days: int) -> tuple[bytes, bytes]:
    """An authority of an earlier version, which ends ``days`` after NOW: its certificate and its
    key (PEM)."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mockserver local authority")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        # Python 3.13 wants it beside a path length.
        .add_extension(SIGNS, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM), private


SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@pytest.mark.parametrize(
    ("days", "kept"), [(LEAF_LIFE.days + 40, True), (LEAF_LIFE.days + 20, False)]
)
def test_an_authority_near_its_end_is_made_again_and_its_leaf_with_it(
    tmp_path: Path, days: int, kept: bool
) -> None:
    stored, key = ending(days)
    (tmp_path / "ca.pem").write_bytes(stored)
    (tmp_path / "ca-key.pem").write_bytes(key)
    made = leaf(tmp_path)
    assert (authority_pem(tmp_path, NOW) == stored) is kept
    made.verify_directly_issued_by(x509.load_pem_x509_certificate(authority_pem(tmp_path, NOW)))


def test_a_lost_authority_is_made_again(tmp_path: Path) -> None:
    first, authority = leaf(tmp_path), authority_pem(tmp_path)
    (tmp_path / "ca.pem").unlink()
    assert leaf(tmp_path).issuer == first.issuer
    assert authority_pem(tmp_path) != authority


def test_a_key_of_another_pair_is_not_used(tmp_path: Path) -> None:
    authority = authority_pem(tmp_path / "one")
    authority_pem(tmp_path / "two")
    (tmp_path / "one" / "ca-key.pem").write_bytes((tmp_path / "two" / "ca-key.pem").read_bytes())
    assert authority_pem(tmp_path / "one") != authority
    assert leaf(tmp_path / "one")


def test_a_leaf_lives_at_most_397_days(tmp_path: Path) -> None:
    made = leaf(tmp_path)
    assert made.not_valid_after_utc - made.not_valid_before_utc <= LEAF_LIFE <= timedelta(days=397)


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
def test_private_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    leaf(tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"ca.pem": 0o644, "ca-key.pem": 0o600}


def test_given_files_are_served_instead(tmp_path: Path) -> None:
    theirs = CA()
    made, chain, key = theirs.issue_cert(*NAMES), tmp_path / "chain.pem", tmp_path / "key.pem"
    made.cert_chain_pems[0].write_to_path(str(chain))
    made.private_key_pem.write_to_path(str(key))
    context = listener_context(
        Settings(
            data_dir=str(tmp_path / "unused"), tls_port=0, tls_cert=str(chain), tls_key=str(key)
        ),
        None,
    )
    assert handshake(context, theirs.cert_pem.bytes(), "localhost")
    assert not (tmp_path / "unused").exists()


def test_a_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    bad = str(tmp_path / "bad.pem")
    with pytest.raises(ssl.SSLError):
        listener_context(
            Settings(data_dir=str(tmp_path), tls_port=0, tls_cert=bad, tls_key=bad), None
        )
