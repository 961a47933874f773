"""A client that openapi-python-client makes from our OpenAPI document pays at a real server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs, warm
from tests.served import PROVIDER, serve

PROGRAM = """\
import sys
from shop_client.api.charge import get_charge_by_charge_id, post_charge_card
from shop_client.client import AuthenticatedClient
from shop_client.models import ProviderCardCharge

client = AuthenticatedClient(base_url=sys.argv[1], token="sk_made", prefix="", auth_header_name="x-secretkey")
for number in sys.argv[3:]:
    card = {"cardNumber": number, "expiryDate": "12/40", "ccv": "123"}
    order = {"providerId": sys.argv[2], "amount": 12.5, "currency": "AUD", "paymentInformation": card}
    answer = post_charge_card.sync(client=client, body=ProviderCardCharge.from_dict(order))
    if hasattr(answer, "charge_id"):
        answer = get_charge_by_charge_id.sync(client=client, charge_id=answer.charge_id)
        print(type(answer).__name__, answer.status, answer.amount)
    else:
        print(type(answer).__name__, answer.code, answer.message)
"""


CARDS = ("4111111111111111", "4000000000009995")


@pytest.mark.slow
def test_a_generated_client_pays_and_reads_a_decline(tmp_path: Path) -> None:
    needs.library("openapi_python_client")
    document = subprocess.run(
        [*warm.python(), "-m", "mockserver", "openapi"], capture_output=True, check=True, text=True
    ).stdout
    (tmp_path / "openapi.json").write_text(document)
    # Some enumerations spell one value in several ways, which make no names of constants.
    (tmp_path / "config.yaml").write_text("literal_enums: true\npost_hooks: []\n")
    words = [
        "generate",
        "--path",
        "openapi.json",
        "--config",
        "config.yaml",
        "--output-path",
        "shop_client",
    ]
    made = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *words, "--meta", "none"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (made.returncode, "Warning" in made.stdout) == (0, False), made.stdout
    server = serve("--seed", "5")
    try:
        told = subprocess.run(
            [
                *warm.python(),
                "-u",
                "-c",
                PROGRAM,
                f"http://127.0.0.1:{server.port}",
                PROVIDER,
                *CARDS,
            ],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    finally:
        server.stop()
    assert told.splitlines() == ["Charge SUCCESS 12.5", "Problem 15 Insufficient Funds"]
