"""THE route table: every operation of the payments API, once. Served, printed and described from here.

Sources name a paragraph of the service document, or published facts (the paths that the document does not show).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockserver.web.lazy import lazy
from mockserver.web.route import Route, Success

if TYPE_CHECKING:
    from mockserver.web.endpoints import (
        charges,
        payment_links,
        payment_methods,
        providers,
        subscriptions,
        vault,
        webhook_subscriptions,
    )
    from mockserver.wire import charges as charge_shapes
    from mockserver.wire import payment_links as link_shapes
    from mockserver.wire import payment_methods as method_shapes
    from mockserver.wire import providers as provider_shapes
    from mockserver.wire import subscriptions as subscription_shapes
    from mockserver.wire import vault as vault_shapes
    from mockserver.wire import webhook_subscriptions as hook_shapes
else:  # the same names, imported when a request first needs them
    charges, payment_methods, providers, vault = lazy(
        "mockserver.web.endpoints", "charges", "payment_methods", "providers", "vault"
    )
    charge_shapes, method_shapes, provider_shapes, vault_shapes = lazy(
        "mockserver.wire", "charges", "payment_methods", "providers", "vault"
    )
    payment_links, webhook_subscriptions = lazy("mockserver.web.endpoints", "payment_links", "webhook_subscriptions")
    link_shapes, hook_shapes = lazy("mockserver.wire", "payment_links", "webhook_subscriptions")
    (subscriptions,) = lazy("mockserver.web.endpoints", "subscriptions")
    (subscription_shapes,) = lazy("mockserver.wire", "subscriptions")

_CREATED = Success.CREATED
_SUBSCRIPTION = subscription_shapes.SubscriptionReply
_CHARGE = charge_shapes.ChargeReply
_METHOD = method_shapes.PaymentMethodReply

ROUTES: tuple[Route, ...] = (
    # Charges
    Route("POST", "/charge/card", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_shapes.ProviderCardCharge, success=_CREATED, summary="Charge a card"),
    Route("POST", "/charge/card/least_cost", "charge.create", charges.create, _CHARGE, "published facts, 1.1 row 2",
          body=charge_shapes.CardCharge, success=_CREATED, summary="Charge a card, provider chosen by cost"),
    Route("POST", "/charge/payment_method", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_shapes.PaymentMethodCharge, success=_CREATED, summary="Charge a payment method"),
    Route("POST", "/charge/bank_account", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_shapes.BankCharge, success=_CREATED, summary="Charge a bank account"),
    Route("GET", "/charge/{charge_id}", "charge.get", charges.get, _CHARGE, "published facts, 1.1 row 9",
          summary="Get a charge"),
    Route("GET", "/charge", "charge.search", charges.search, charge_shapes.ChargesReply, "service document, Charges",
          query=charge_shapes.ChargeQuery, summary="Search charges"),
    Route("POST", "/charge/{charge_id}", "charge.capture", charges.capture, _CHARGE, "service document, Charges",
          body=charge_shapes.Capture, summary="Capture an authorised charge"),
    Route("POST", "/charge/{charge_id}/capture", "charge.capture", charges.capture, _CHARGE,
          "published facts, 1.1 row 11b", body=charge_shapes.Capture, summary="Capture an authorised charge"),
    Route("DELETE", "/charge/{charge_id}/void", "charge.void", charges.void, _CHARGE, "service document, Charges",
          summary="Void an authorised charge"),
    Route("DELETE", "/charge/{charge_id}", "charge.refund", charges.refund_or_void, _CHARGE,
          "published facts, 8 rows 2-4", query=charge_shapes.RefundQuery,
          summary="Refund a charge, or void an authorised one"),
    Route("DELETE", "/refund/{charge_id}", "charge.refund", charges.refund, _CHARGE, "service document, Charges",
          query=charge_shapes.RefundQuery, summary="Refund a charge"),
    # Vault
    Route("POST", "/vault", "vault.create", vault.create, vault_shapes.VaultReply, "service document, Vault",
          body=vault_shapes.VaultCreation, success=_CREATED, summary="Create a vault item"),
    Route("GET", "/vault/{vault_id}", "vault.get", vault.get, vault_shapes.VaultSecretsReply,
          "service document, Vault", summary="Get a vault item"),
    Route("DELETE", "/vault/{vault_id}", "vault.delete", vault.delete, vault_shapes.VaultReply,
          "service document, Vault", summary="Delete a vault item"),
    # Payment methods
    Route("POST", "/payment_method/card", "payment_method.create", payment_methods.create_from_card, _METHOD,
          "service document, Payment methods", body=method_shapes.CardMethodCreation, success=_CREATED,
          summary="Create a payment method from a card"),
    Route("POST", "/payment_method/vault", "payment_method.create", payment_methods.switch_provider, _METHOD,
          "service document, Payment methods", body=method_shapes.ProviderSwitch, success=_CREATED,
          summary="Create a payment method from a vaulted one: switch provider"),
    Route("GET", "/payment_method/{payment_method_id}", "payment_method.get", payment_methods.get, _METHOD,
          "published facts, 1.1 row 37", summary="Get a payment method"),
    # Payment links
    Route("POST", "/payment_link", "payment_link.create", payment_links.create, link_shapes.PaymentLinkReply,
          "service document, Payment links", body=link_shapes.PaymentLinkCreation, success=_CREATED,
          summary="Create a payment link"),
    Route("GET", "/payment_link/{payment_link_id}", "payment_link.get", payment_links.get,
          link_shapes.PaymentLinkReply, "service document, Payment links", summary="Get a payment link"),
    Route("GET", "/payment_link", "payment_link.search", payment_links.search, link_shapes.PaymentLinksReply,
          "published facts, 1.1 row 45", query=link_shapes.PaymentLinkQuery, summary="List payment links"),
    # Subscriptions
    Route("POST", "/subscription/payment_method", "subscription.create", subscriptions.create, _SUBSCRIPTION,
          "published facts, 1.1 row 63", body=subscription_shapes.SubscriptionCreation, success=_CREATED,
          summary="Create a subscription"),
    Route("GET", "/subscription/{subscription_id}", "subscription.get", subscriptions.get, _SUBSCRIPTION,
          "published facts, 1.1 row 64", summary="Get a subscription"),
    Route("DELETE", "/subscription/{subscription_id}", "subscription.cancel", subscriptions.cancel, _SUBSCRIPTION,
          "published facts, 1.1 row 65", summary="Cancel a subscription"),
    Route("GET", "/subscription", "subscription.search", subscriptions.search,
          subscription_shapes.SubscriptionsReply, "published facts, 1.1 row 66",
          query=subscription_shapes.SubscriptionQuery, summary="Search subscriptions"),
    Route("PUT", "/subscription/{subscription_id}", "subscription.update", subscriptions.update, _SUBSCRIPTION,
          "published facts, 1.1 row 67", body=subscription_shapes.SubscriptionChange,
          summary="Update a subscription"),
    Route("PUT", "/subscription/{subscription_id}/status", "subscription.status", subscriptions.set_status,
          _SUBSCRIPTION, "published facts, 1.1 row 68", body=subscription_shapes.SubscriptionStatus,
          summary="Update the status of a subscription"),
    # Webhook subscriptions
    Route("POST", "/webhook/subscription", "webhook_subscription.create", webhook_subscriptions.create,
          hook_shapes.WebhookSubscriptionReply, "published facts, 1.1 row 72",
          body=hook_shapes.WebhookSubscriptionCreation, success=_CREATED, summary="Subscribe to webhooks"),
    Route("GET", "/webhook/subscription/{webhook_subscription_id}", "webhook_subscription.get",
          webhook_subscriptions.get, hook_shapes.WebhookSubscriptionReply, "published facts, 1.1 row 73",
          summary="Get a webhook subscription"),
    Route("GET", "/webhook/subscription", "webhook_subscription.search", webhook_subscriptions.search,
          hook_shapes.WebhookSubscriptionsReply, "published facts, 1.1 row 74",
          query=hook_shapes.WebhookSubscriptionQuery, summary="List webhook subscriptions"),
    Route("DELETE", "/webhook/subscription/{webhook_subscription_id}", "webhook_subscription.delete",
          webhook_subscriptions.delete, hook_shapes.WebhookSubscriptionReply, "published facts, 1.1 row 75",
          summary="End a webhook subscription"),
    # Providers
    Route("POST", "/provider", "provider.create", providers.create, provider_shapes.ProviderReply,
          "published facts, 1.1 row 55", body=provider_shapes.ProviderFields, success=_CREATED,
          summary="Create a provider"),
    Route("PUT", "/provider/{provider_id}", "provider.update", providers.update, provider_shapes.ProviderReply,
          "published facts, 1.1 row 56", body=provider_shapes.ProviderFields, summary="Update a provider"),
    Route("DELETE", "/provider/{provider_id}", "provider.delete", providers.delete, provider_shapes.ProviderReply,
          "published facts, 1.1 row 57", summary="Delete a provider"),
)  # fmt: skip
