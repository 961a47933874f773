"""Customer use cases: create with a first payment method, add more, change, read, remove.

Payment methods show who their customer is, as they are listed and reported without one. So each has
a copy of that (``payer``), and a change of a customer is shown on them in the same step
(``show_on``).

Sources: docs/spec/service.md, Customers; docs/spec/published-facts.md, 1.1 rows 14-28; assumption
``removed.customer_methods``; settled facts ``removed.customer_or_method``, ``gateway_delete``.
"""

from itertools import islice

from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCustomer, NewMethod
from mockserver.domain.customer import Customer, CustomerDetails
from mockserver.domain.errors import Invalid, WrongState
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.reading import whole_of
from mockserver.domain.record import replace, updated
from mockserver.domain.states import Presence
from mockserver.engine import payment_methods
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step, finder, method_in_use

SHOWN = 2_000
"""Payment methods that show a change of their customer in one step: others wait no longer than that
takes."""

get = finder(Customer, Code.INVALID_CUSTOMER_ID)
"""A customer, removed ones included. Raises ``NotFound`` (52)."""


def create(step: Step, command: NewCustomer) -> Customer:
    """Create a customer with a payment method, which becomes the default. Raises ``Invalid`` as
    ``payment_methods.checked``, or ``ProviderRefused``; then nothing is stored."""
    sandbox = step.sandbox
    wanted = payment_methods.checked(step, command.method)
    payment_methods.ask(step, "customer.create", wanted)
    bare = Customer(
        sandbox.ids.hex32("customer"),
        sandbox.now,
        metadata=command.metadata,
        webhook=command.webhook,
    )
    customer = updated(bare, command.details)
    method = payment_methods.store(step, wanted, customer)
    return step.add(replace(customer, default_payment_method_id=method.payment_method_id))


def add_method(step: Step, customer_id: str, command: NewMethod) -> PaymentMethod:
    """Store another payment method of a customer; the first one, and one with ``set_default``, is
    the default. Raises ``NotFound`` 52, ``WrongState`` 72 (removed), and what
    ``payment_methods.create`` raises."""
    customer = _present(step, customer_id)
    wanted = payment_methods.checked(step, command, customer)
    payment_methods.ask(step, "payment_method.create", wanted)
    method = payment_methods.store(step, wanted, customer)
    if command.terms.set_default or customer.default_payment_method_id is None:
        after = replace(customer, default_payment_method_id=method.payment_method_id)
        step.change(customer, after, "updated")
    return method


def update(
    step: Step, customer_id: str, details: CustomerDetails, default_payment_method_id: str | None
) -> Customer:
    """Change the fields that are given; null leaves a field as it is (published facts, 8 row 17).
    Raises ``NotFound`` 52, ``WrongState`` 72 (removed), ``Invalid`` 56 (no such method of this
    customer), 73 (removed method)."""
    customer = _present(step, customer_id)
    if default_payment_method_id is not None:
        method = step.sandbox.payment_methods.get(default_payment_method_id)
        # Whose it is comes before whether it was removed: nothing is told of another's method.
        if method is not None and method.customer_id != customer_id:
            words = "this payment method is not the customer's"
            raise Invalid(Code.INVALID_PAYMENT_METHOD_ID, {"DefaultPaymentMethodId": words})
        method_in_use(step, default_payment_method_id, "DefaultPaymentMethodId")
    after = customer.after_update(details, default_payment_method_id)
    show_on(step, after)
    return step.change(customer, after, "updated")


def delete(step: Step, customer_id: str, *, ask_provider: bool) -> Customer:
    """Remove a customer, and with it its payment methods (assumption ``removed.customer_methods``).
    Raises ``NotFound`` 52, ``WrongState`` 72 (removed before), ``ProviderRefused``; then nothing is
    removed."""
    customer = get(step, customer_id)
    # Raises for one that was removed before, while no provider has forgotten anything yet.
    after = customer.after_removal(step.sandbox.now)
    newest_first = list(step.sandbox.payment_methods.find("in_use", customer_id))
    newest_first.reverse()
    # All providers are asked before any method goes: one that refuses keeps the customer whole.
    if ask_provider:
        for method in newest_first:
            payment_methods.ask_to_forget(step, "customer.delete", method)
    if step.assume("removed.customer_methods") == "yes":
        payer = after.payer()
        for method in newest_first:
            payment_methods.remove(step, method, payer)
    show_on(step, after)
    return step.change(customer, after, "removed")


def methods(step: Step, customer_id: str) -> list[PaymentMethod]:
    """The payment methods of a customer. Raises ``NotFound`` (52).

    Assumptions ``removed.in_customer_list`` and ``paging.order`` say which, and in what order.
    """
    get(step, customer_id)
    shows_removed = step.assume("removed.in_customer_list") == "shown"
    index = "customer" if shows_removed else "in_use"
    found = list(step.sandbox.payment_methods.find(index, customer_id))
    if step.assume("paging.order") == "newest_first":
        found.reverse()
    return found


def default_method(sandbox: Sandbox, customer: Customer) -> PaymentMethod | None:
    """The default payment method, when there is one."""
    return sandbox.payment_methods.get(customer.default_payment_method_id or "")


def _present(step: Step, customer_id: str) -> Customer:
    """A customer who can still be changed. Raises ``NotFound`` 52, ``WrongState`` 72."""
    customer = get(step, customer_id)
    if customer.state is Presence.REMOVED:
        raise WrongState(
            Code.INVALID_CUSTOMER_ID_REMOVED, {"CustomerId": "a removed customer cannot be changed"}
        )
    return customer


def show_on(step: Step, customer: Customer, begin: str = "0") -> None:
    """A customer has changed: its payment methods show it. Of very many, which can only be removed
    ones, the rest follows in the next steps of this instant; ``begin`` counts those that show it
    already."""
    payer, methods = customer.payer(), step.sandbox.payment_methods
    start = whole_of(begin, 0, len(methods)) or 0
    for method in islice(methods.find("customer", customer.customer_id), start, start + SHOWN):
        if method.payer != payer:
            step.change(method, replace(method, payer=payer))
    end = start + SHOWN
    if methods.count("customer", customer.customer_id) > end:
        now, schedule = step.sandbox.now, step.sandbox.schedule
        schedule.plan(now, Due.CUSTOMER_SHOWN, customer.customer_id, str(end))
