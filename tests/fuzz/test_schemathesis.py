"""The OpenAPI document against the application: requests made from it, answers held to it
(schemathesis)."""

from collections import Counter
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from mockserver.web.operations.route import Route
from mockserver.web.routes import ROUTES
from tests import needs
from tests.depth import tries
from tests.driving import DUMMY, Api
from tests.tables.test_document import Book

MODES = tries(("coverage", "examples"), ("coverage", "examples", "fuzzing"))
"""Requests at and beyond each bound of the document, and its examples; deep also by chance, as in
every run those of ``test_any_request`` are."""
STRIDE = tries(15, 1)
"""Of the kinds that fill an operation's fields in hundreds of ways, one in so many is sent."""
MANY = {"incorrect_type", "valid_object", "object_required_and_optional", "unspecified_http_method"}
FUZZ = settings(
    max_examples=20, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)


class Document:
    """What the application says of itself, and the application."""

    def __init__(self) -> None:
        import schemathesis
        from requests import Session
        from schemathesis import checks

        book = Book(key="sk_fuzz")
        api = book.api
        # Ids of what is in the sandbox, so that some requests meet objects that exist.
        self.known = {
            "charge_id": [api.charge()["chargeId"], api.charge(capture=False)["chargeId"]],
            "vault_id": [book.id_of("vault")],
            "payment_method_id": [book.id_of("method")],
            "customer_id": [book.id_of("customer")],
            "payment_link_id": [book.id_of("link")],
            "batch_id": [book.id_of("batch")],
            "token": [book.id_of("token")],
            "provider_id": [DUMMY],
        }
        self.schema = schemathesis.openapi.from_dict(api.get("/openapi.json").body)
        self.schema.hook("filter_case")(thinned())
        self.session = Session()
        self.session.trust_env = False
        self.session.mount("http://", in_process(api))
        self.checks = [
            checks.not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
        ]

    def ask(self, row: Route) -> None:
        """Send the requests that the document suggests for an operation."""
        from schemathesis.generation.hypothesis.builder import (
            HypothesisTestConfig,
            HypothesisTestMode,
            create_test,
        )

        def send(case: Any) -> None:
            for name, value in (case.path_parameters or {}).items():
                known = self.known.get(name)
                if known and len(str(value)) % 2:
                    case.path_parameters[name] = known[len(str(value)) // 2 % len(known)]
            headers = {"x-secretkey": "sk_fuzz"}
            case.call_and_validate(
                base_url="http://127.0.0.1",
                session=self.session,
                headers=headers,
                checks=self.checks,
            )

        modes = [HypothesisTestMode(mode) for mode in MODES]
        chosen = HypothesisTestConfig(project=self.schema.config, modes=modes, settings=FUZZ)
        create_test(operation=self.schema[row.path][row.method], test_func=send, config=chosen)()


def thinned() -> Callable[[object, Any], bool]:
    """Whether a request is sent."""
    seen: Counter[str] = Counter()

    def filter_case(_: object, case: Any) -> bool:
        kind = str(getattr(case.meta.phase.data, "scenario", None))
        seen[kind] += 1
        return kind not in MANY or seen[kind] % STRIDE == 0

    return filter_case


def in_process(api: Api) -> Any:
    """Brings requests to the application without the thread and the event loop of their own that
    each would start."""
    from requests import PreparedRequest, Response
    from requests.adapters import HTTPAdapter
    from urllib3 import HTTPResponse

    class InProcess(HTTPAdapter):
        def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
            raw = request.body.encode() if isinstance(request.body, str) else request.body or b""
            reply = api.send(str(request.method), request.path_url, raw, request.headers)
            received = HTTPResponse(
                BytesIO(reply.raw), reply.headers, reply.status, preload_content=False
            )
            return self.build_response(request, received)

    return InProcess()


@pytest.fixture(scope="module")
def document() -> Document:
    """Made once a run: schemathesis alone takes a second to load."""
    needs.library("schemathesis")
    return Document()


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row.method} {row.path}")
def test_no_generated_request_breaks_a_promise(document: Document, row: Route) -> None:
    document.ask(row)
