"""Descriptions that are costly to make are made once."""

from __future__ import annotations

import json

from mockserver.scenario.reference import json_schema
from mockserver.web.openapi import document
from tests.driving import Api


def test_a_description_is_made_once_for_each_address() -> None:
    assumed = Api().app.world.directory.assumed
    first = document(assumed, "http://a.test")
    assert document(assumed, "http://a.test") is first
    assert document(assumed, "http://b.test")["servers"] == [{"url": "http://b.test"}]


def test_the_schema_of_scenarios_is_the_one_that_is_made_of_them() -> None:
    assert Api().call("GET", "/__admin/scenarios/schema").raw == json.dumps(json_schema()).encode()
