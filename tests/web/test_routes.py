"""The tables of routes name functions and models that there are."""

from mockserver.web.control.call import CONTROL_ROUTES
from mockserver.web.page import PAGE_ROUTES
from mockserver.web.routes import ROUTES
from mockserver.wire.fields import Body


def test_every_row_names_functions() -> None:
    named = [route.handle for route in ROUTES] + [route.ahead for route in ROUTES if route.ahead is not None]
    named += [route.handle for route in CONTROL_ROUTES]
    named += [route.serve for route in PAGE_ROUTES]
    named += [route.find for route in PAGE_ROUTES if route.find is not None]
    assert all(map(callable, named))


def test_every_row_names_models() -> None:
    named = [model for route in ROUTES for model in (route.body, route.query)]
    named += [model for route in CONTROL_ROUTES for model in (route.body, route.query)]
    assert all(issubclass(model, Body) for model in named if model is not None)
    assert all(route.reply is not None for route in ROUTES)


def test_no_two_rows_have_one_method_and_path() -> None:
    places = [(route.method, route.path) for route in (*ROUTES, *CONTROL_ROUTES, *PAGE_ROUTES)]
    assert len(places) == len(set(places))
