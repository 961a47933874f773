"""Takes the pictures of README.md and docs anew: python -m tools.screenshots. With a folder, every
view of the control page instead, wide and narrow, light and dark, into it, to be looked at. Needs
Playwright, Pillow, Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

from tools.docs import ROOT

FOLDER = ROOT / "docs" / "screenshots"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
START = "2031-03-01T09:30:00Z"
DUMMY = "a26c371f-94f6-40da-add2-28ec8e9da8ed"
COLOURS = 256
DESK, PHONE = {"width": 1440, "height": 800}, {"width": 390, "height": 844}
REPORT = {"width": 1280, "height": 836}
NARROW = 360
LAMP = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 350 140" width="350" height="140">
<rect width="350" height="140" fill="#e8dcc0"/><circle cx="175" cy="56" r="35" fill="#c98f2d"/>
<path d="M170 88h10v34h-10z" fill="#7a5a1c"/><path d="M140 121h70v10h-70z" fill="#7a5a1c"/></svg>"""


@contextmanager
def _serving() -> Iterator[str]:
    """A server whose clock stands still; its address."""
    command = [sys.executable, "-m", "mockserver", "--port", "0", "--seed", "42", "--clock", START]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            if server.stdout is None:
                raise RuntimeError("the server was started without a pipe")
            yield next(line for line in server.stdout if line.startswith("ready on ")).split()[-1]
        finally:
            server.terminate()


class _Shop:
    """A caller with a secret key."""

    def __init__(self, url: str, key: str = "sk_demo") -> None:
        self.url = url
        self.key = key

    def call(self, method: str, path: str, body: object = None) -> Any:
        raw = None if body is None else json.dumps(body).encode()
        headers = {"x-secretkey": self.key, "content-type": "application/json"}
        # The address is that of the server above.
        with urlopen(Request(self.url + path, raw, headers, method=method)) as answer:
            return json.loads(answer.read())

    def charge(self, number: str, **fields: object) -> Any:
        card = {
            "cardNumber": number,
            "expiryDate": "12/40",
            "ccv": "123",
            "cardholder": "Ann Example",
        }
        body = {"amount": 42.5, "currency": "AUD", "providerId": DUMMY, "reference": "Order 1017"}
        try:
            return self.call("POST", "/charge/card", {**body, "paymentInformation": card, **fields})
        except OSError:
            return None

    def story(self) -> dict[str, str]:
        """A morning of a shop; the addresses of the pages to show."""
        made = self.charge("4111111111111111", capture=False)["chargeId"]
        self.call("POST", f"/charge/{made}", {"amount": 40})
        self.call("DELETE", f"/charge/{made}?amount=15")
        self.charge("4000000000009995")
        self.charge("5555555555554444")
        self.call(
            "POST",
            "/vault",
            {"cardNumber": "4111111111111111", "ccv": "123", "expireSeconds": 3600},
        )
        challenged = self.charge("4000000000003220")
        link = {
            "title": "Brass reading lamp",
            "description": "Hand-finished brass, warm light, with a linen shade.\nShips in two "
            "days.",
            "amount": 129,
            "currency": "AUD",
            "allowedPaymentTypes": ["card", "paypal", "googlepay", "zip"],
            "image": "data:image/svg+xml;base64," + b64encode(LAMP).decode(),
        }
        page = self.call("POST", "/payment_link", link)["paymentLinkId"]
        self.charge("4000000000009979")
        self.charge("378282246310005", paymentInformation=_amex())
        self.charge("4000000000000069")
        return {
            "payment-page": f"/pay/{page}",
            "three-ds": f"/3ds/{challenged['chargeId']}",
            "demo-shop": "/demo?key=pk_demo",
        }

    def double_charge(self) -> None:
        """A checkout that sends a charge again whose answer was lost, without a look."""
        lost = {
            "id": "lost",
            "when": {"op": "charge.create"},
            "limit": 1,
            "then": {"transport": _LOST},
        }
        self.call("POST", "/__admin/sandboxes", {"key": self.key, "name": "Checkout tests"})
        self.call(
            "PUT", "/__admin/scenarios", {"version": 1, "name": "lost-answer", "rules": [lost]}
        )
        for reference in ("Order 1017", "Order 1017", None):
            self.charge("4111111111111111", reference=reference)


_LOST = {"at": "answer", "reset": True}


def _amex() -> dict[str, str]:
    return {
        "cardNumber": "378282246310005",
        "expiryDate": "12/40",
        "ccv": "1234",
        "cardholder": "Ann Example",
    }


def _control(browser: Browser, url: str) -> None:
    """The requests, objects and scenarios of the control page."""
    page = browser.new_page(viewport=DESK)
    page.goto(f"{url}/__admin/")
    page.get_by_test_id("requests").get_by_role("option").filter(
        has_text="Insufficient"
    ).first.click()
    page.get_by_test_id("fired").wait_for()
    page.screenshot(path=FOLDER / "control-requests.png")
    page.get_by_test_id("tab-objects").click()
    page.get_by_test_id("objects").get_by_role("option").last.click()
    page.get_by_test_id("diagram").wait_for()
    page.screenshot(path=FOLDER / "control-objects.png")
    page.get_by_test_id("tab-scenarios").click()
    page.get_by_test_id("shipped").select_option("declines-by-reason")
    page.get_by_test_id("dry-run").click()
    page.get_by_test_id("dry-run-result").get_by_text("would have fired").first.wait_for()
    page.screenshot(path=FOLDER / "control-scenarios.png")
    page.close()


def _findings(browser: Browser, url: str) -> None:
    """The findings of the control page."""
    page = browser.new_page(viewport=DESK)
    page.goto(f"{url}/__admin/#findings")
    page.get_by_test_id("findings").get_by_role("option").first.click()
    page.get_by_test_id("evidence").wait_for()
    page.screenshot(path=FOLDER / "control-findings.png")
    page.close()


def _explored(browser: Browser) -> None:
    """The report of the shop of docs/explore.md."""
    text = (ROOT / "docs" / "explore.md").read_text("utf-8")
    _, _, after = text.partition("<!-- file: explore pay.sh -->\n```sh\n")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pay.sh").write_text(after.partition("```")[0])
        asked = ["--books", "sh pay.sh books", "--client-timeout", "1s", "--", "sh", "pay.sh"]
        command = [sys.executable, "-m", "mockserver", "explore", *asked]
        told = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=folder, env=told, capture_output=True, check=False)
        page = browser.new_page(viewport=REPORT)
        page.goto(f"file://{folder}/explored/report.html")
        page.screenshot(path=FOLDER / "explore.png")
        page.close()


def _views(folder: Path) -> None:
    """Every view of the control page with something in it, and the payer's pages."""
    folder.mkdir(parents=True, exist_ok=True)
    with _serving() as url, _browser() as browser:
        pages = _Shop(url).story()
        _Shop(url).double_charge()
        _Shop(url).charge(
            "4242424242424242", reference="Order 1018", webhook={"url": f"{url}/__inbox/shop"}
        )
        for width, scheme in product((DESK["width"], NARROW), ("light", "dark")):
            page = browser.new_page(
                viewport={"width": width, "height": DESK["height"]}, color_scheme=scheme
            )
            page.goto(f"{url}/__admin/")
            for tab in page.get_by_role("tab").all():
                tab.click()
                name = (tab.get_attribute("id") or "").removeprefix("tab-")
                page.wait_for_timeout(700)
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
                row = page.get_by_role("option").and_(page.locator(".row")).first
                if row.count():
                    row.click()
                    page.wait_for_timeout(300)
                    page.screenshot(path=folder / f"{name}-chosen-{width}-{scheme}.png")
            for name, path in pages.items():
                page.goto(url + path)
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
            page.close()


@contextmanager
def _browser() -> Iterator[Browser]:
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def main() -> None:
    """Take every picture."""
    if len(sys.argv) > 1:
        return _views(Path(sys.argv[1]))
    with _serving() as url, _browser() as browser:
        pages = _Shop(url).story()
        _control(browser, url)
        _Shop(url, "sk_checkout").double_charge()
        _findings(browser, url)
        _explored(browser)
        for name, path in pages.items():
            page = browser.new_page(viewport=PHONE)
            page.goto(url + path)
            if name == "demo-shop":
                page.get_by_test_id("try-1").click()
                card = page.frame_locator("[data-testid=payfurl-card]")
                expect(card.get_by_label("Name on the card")).to_have_value("Ann Example")
            page.screenshot(path=FOLDER / f"{name}.png", full_page=True)
            page.close()
    for picture in FOLDER.glob("*.png"):
        Image.open(picture).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
            picture, optimize=True
        )


if __name__ == "__main__":
    main()
