"""What the end of a command tells: marks of a crash, words of its own, an exit code that is agreed,
or the failed assertion of a test."""

import pytest

from mockserver.explore.telling import Telling, ending_of

SHOP = ("python", "shop.py")
PYTHON = """paying order-1
Traceback (most recent call last):
  File "shop.py", line 9, in <module>
    pay()
  File "shop.py", line 3, in pay
    raise Lost(order)
shop.Lost: order-1
"""
HTTPX = """Traceback (most recent call last):
  File "shop.py", line 9, in <module>
    pay()
httpx.HTTPStatusError: Server error '502 Bad Gateway' for url 'http://127.0.0.1/charge/card'
For more information check: https://developer.mozilla.org/502
"""
NODE = """file:///shop.mjs:3
    throw new Lost("order-1");
          ^

Lost: order-1
    at pay (file:///shop.mjs:3:11)
    at file:///shop.mjs:5:1

Node.js v20.11.0
"""
PHP = "PHP Fatal error:  Uncaught Lost: order-1 in /shop.php:3\nStack trace:\n#0 {main}\n  thrown\n"
GO = "panic: order-1 is lost\n\ngoroutine 1 [running]:\nmain.main()\n\t/shop.go:3 +0x1d\nexit status 2\n"
JAVA = 'Exception in thread "main" java.lang.IllegalStateException: order-1\n\tat Shop.main(Shop.java)\n'
DOTNET = "Unhandled exception. System.Exception: order-1\n   at Shop.Main() in /Shop.cs:line 3\n"
CRASHES = {
    "python": (1, PYTHON, "shop.Lost: order-1"),
    "python, a message of two lines": (1, HTTPX, "Server error '502 Bad Gateway'"),
    "node": (1, NODE, "Lost: order-1"),
    "php": (255, PHP, "Uncaught Lost: order-1"),
    "php without a word of display_errors": (255, "paying\n", "paying"),
    "go": (2, GO, "panic: order-1 is lost"),
    "java": (1, JAVA, "IllegalStateException: order-1"),
    "dotnet": (134, DOTNET, "signal 6"),
    "a signal": (-9, "paying\n", "signal 9"),
    "a signal in a shell": (139, "Segmentation fault\n", "signal 11"),
    "not a word": (22, " \n", "not a word"),
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_tells_nobody(name: str) -> None:
    code, printed, words = CRASHES[name]
    ending = ending_of(code, printed.encode(), SHOP)
    assert ending.telling is Telling.CRASHED
    assert words in ending.words


@pytest.mark.parametrize(
    ("code", "printed", "argv", "telling"),
    [
        (0, PYTHON, SHOP, Telling.CONTENT),
        (None, "", SHOP, Telling.CONTENT),
        (1, "order-1: the desk looks\n", SHOP, Telling.SAID),
        (1, PYTHON + "order-1: the desk looks\n", SHOP, Telling.SAID),
        (3, "", SHOP, Telling.TOLD),
        (4, "order-1", SHOP, Telling.SAID),
        (1, PYTHON, ("python", "-m", "pytest", "-q"), Telling.ASSERTED),
        (1, "", ("go", "test", "./..."), Telling.ASSERTED),
        (1, "order-1", ("go", "run", "."), Telling.SAID),
        (3, "internal error", ("pytest",), Telling.SAID),
    ],
)
def test_everything_else_is_told(
    code: int | None, printed: str, argv: tuple[str, ...], telling: Telling
) -> None:
    assert ending_of(code, printed.encode(), argv).telling is telling


def test_the_codes_that_call_a_person_can_be_given() -> None:
    assert ending_of(1, b"", SHOP, (1,)).telling is Telling.TOLD
    assert ending_of(3, b"", SHOP, (1,)).telling is Telling.CRASHED


def test_a_card_number_in_an_exception_is_masked() -> None:
    ending = ending_of(1, PYTHON.replace("order-1", "4111111111111111").encode(), SHOP)
    assert "4111111111111111" not in ending.words
