"""``/docs`` in a browser: a call is found, read and tried, and nothing comes from elsewhere."""

from typing import Any

import pytest

from tests import needs
from tests.browser.conftest import Box

pytestmark = pytest.mark.slow


def test_a_call_is_tried_where_it_is_read(page: Any, sandbox: Box) -> None:
    needs.library("mkdocs_swagger_ui_tag")
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{sandbox.url}/docs")
    page.get_by_role("button", name="Authorize").click()
    secret = page.locator(".auth-container", has_text="secretKey")
    secret.locator("input").fill(sandbox.key)
    secret.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").first.click()
    call = page.locator("#operations-clock-post_admin_clock_advance")
    call.locator(".opblock-summary-control").click()
    call.get_by_role("button", name="Try it out").click()
    call.get_by_role("button", name="Execute").click()
    call.locator(".live-responses-table .response-col_status", has_text="200").wait_for()
    assert sandbox.call("GET", "/__admin/clock")["now"].startswith("2031-03-01T11:00:00")
    assert [url for url in asked if not url.startswith((sandbox.url, "data:"))] == []
    assert said == []
