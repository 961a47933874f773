"""Which addresses a webhook is sent to, judged by the pure functions: nothing is called here."""

import pytest

from mockserver.domain.addresses import LONGEST_ADDRESS, is_web_address, may_be_called, never_called

NEVER = """
169.254.169.254 169.254.170.2 169.254.0.1 0.0.0.0 0.1.2.3 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
168.63.129.16 192.0.0.192 192.0.0.170 100.100.100.200
fe80::1 fe80::a9fe:a9fe febf::1 ff02::1 :: fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42 fd00:a9fe:a9fe::1
::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:168.63.129.16 ::ffff:0.0.0.0 ::ffff:0:169.254.169.254 ::169.254.169.254
64:ff9b::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b::8.8.8.8 64:ff9b:1::1 64:ff9b:1:ffff::a9fe:a9fe
2002:a9fe:a9fe::1 2002:808:808::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2
2001:db8::5efe:169.254.169.254 fd00::200:5efe:a9fe:a9fe 2001:db8::5efe:a83f:8110
"""

ALLOWED = """
127.0.0.1 127.255.255.254 ::1 10.0.0.1 172.16.0.1 192.168.1.5 100.64.0.1 100.100.100.201 198.51.100.7 203.0.113.9
168.63.129.17 192.0.1.1 223.255.255.255 ::ffff:127.0.0.1 ::ffff:10.0.0.1 fd00::1 fd12:3456:789a::5 2001:db8::1
2001:1::1 2a00:1450::1 2003::1 64:ff9c::1 2001:db8::5efe:10.0.0.1 2001:db8::5eff:a9fe:a9fe
"""


@pytest.mark.parametrize("address", NEVER.split())
def test_nothing_is_sent_to(address: str) -> None:
    assert not may_be_called(address)
    assert not may_be_called(f"{address}%eth0") or ":" not in address
    literal = f"[{address}]" if ":" in address else address
    assert str(never_called(f"http://{literal}:8080/x")).startswith(f"got {address}; link-local")


@pytest.mark.parametrize("address", ALLOWED.split())
def test_webhooks_may_go_to(address: str) -> None:
    assert may_be_called(address)
    literal = f"[{address}]" if ":" in address else address
    assert never_called(f"http://{literal}:8080/x") is None


CONTROL = """
http://127.0.0.1:4111/__admin/reset?all=true http://localhost:4111/__admin/reset http://[::1]:4111/__admin/state
http://0.0.0.0:4111/__admin/reset https://localhost:5001/__admin/clock/advance http://sandbox.corp/payments/__admin/reset
http://tower:4111//__admin//reset/ http://127.0.0.1:4111/%5f%5fadmin/reset http://127.0.0.1:4111/%255f_admin/reset
http://127.0.0.1:4111/x/../__admin/reset http://127.0.0.1:4111/__ADMIN/reset http://127.0.0.1:4111/x\\__admin\\reset
http://127.0.0.1:4111/__admin http://host.docker.internal:8080/__admin/events
"""


@pytest.mark.parametrize("url", CONTROL.split())
def test_no_webhook_goes_to_a_control_api(url: str) -> None:
    assert (
        never_called(url) == "got a path with __admin; a control API is never called by a webhook"
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:4111/__inbox/shop?publicKey=pk_x",
        "https://localhost:5001/__inbox/shop",
        "http://shop.test/admin/hook",
        "http://shop.test/hook?next=/__admin/reset",
        "http://shop.test/my__admin/hook",
    ],
)
def test_an_inbox_and_the_receivers_of_a_shop_are_called(url: str) -> None:
    assert never_called(url) is None


def test_an_address_that_is_too_long_is_never_called() -> None:
    path = "http://shop.test/"
    assert never_called(path.ljust(LONGEST_ADDRESS, "a")) is None
    words = "got an address of 2049 characters; one of more than 2048 is never called"
    assert never_called(path.ljust(LONGEST_ADDRESS + 1, "a")) == words


SOUND = """
http://shop.test https://shop.test/ok?a=b#c http://shop.test:8080/ http://shop/ http://my_shop:80/ http://localhost
http://127.0.0.1/ http://[::1]:4111/x https://b\u00fccher.test/ http://shop.test./ http://user:pass@shop.test/ http://shop.test:/
"""

UNSOUND = """
http://*/ http://*:*/ https://*.test/ http://shop.test:*/ http://shop.test:99999/ http://shop.test:8x/ http:/// http://
http://a;script-src http://a'b/ http://a,b/ http://'self'/ http://[::1/ http://[x]/ http://-a/ http://a%2a/ http://.
javascript:alert(1) //shop.test/ /x shop.test ftp://shop.test/
"""


@pytest.mark.parametrize("url", SOUND.split())
def test_an_absolute_address_with_a_host_is_one(url: str) -> None:
    assert is_web_address(url)


@pytest.mark.parametrize(
    "url", [*UNSOUND.split(), "", "http://a b/", "http://shop.test/\n", "http://shop.test\x00/"]
)
def test_anything_else_is_no_web_address(url: str) -> None:
    assert not is_web_address(url)
