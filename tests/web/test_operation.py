"""What every operation of the payments API has in common."""

import pytest

from mockserver.domain.codes import Code
from mockserver.domain.errors import Full
from mockserver.domain.record import replace
from mockserver.web.operation import OperationEndpoint
from tests.driving import Api


def test_an_operation_that_may_be_tried_later_says_when(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> object:
        raise Full(Code.RETRY_LATER, {"Reference": "no room"}, 7)

    found = api.app.lookup.at("/charge")
    assert found is not None
    endpoint = found.endpoints.by_method["GET"]
    assert isinstance(endpoint, OperationEndpoint)
    assert "retry-after" not in api.get("/charge").headers
    assert "retry-after" not in api.get("/charge", Limit="many").headers
    monkeypatch.setattr(endpoint, "route", replace(endpoint.route, handle=refuse))
    later = api.get("/charge")
    assert (later.status, later["code"], later.headers["retry-after"]) == (503, 37, "7")
