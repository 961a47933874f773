"""THE route table: every operation of the payments API, once. Served, printed and described from here.

Sources name a paragraph of the service document, or published facts (the paths that the document does not show).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockserver.web.lazy import lazy
from mockserver.web.route import Auth, Route, Success

if TYPE_CHECKING:
    from mockserver.web.endpoints import (
        batches,
        charges,
        customers,
        info,
        payment_links,
        payment_methods,
        providers,
        subscriptions,
        tokens,
        transfers,
        vault,
        webhook_subscriptions,
    )
    from mockserver.wire import batches as batch_shapes
    from mockserver.wire import charge_bodies, method_bodies
    from mockserver.wire import charges as charge_shapes
    from mockserver.wire import customers as customer_shapes
    from mockserver.wire import info as info_shapes
    from mockserver.wire import payment_links as link_shapes
    from mockserver.wire import payment_methods as method_shapes
    from mockserver.wire import payto as payto_shapes
    from mockserver.wire import providers as provider_shapes
    from mockserver.wire import subscriptions as subscription_shapes
    from mockserver.wire import tokens as token_shapes
    from mockserver.wire import transfers as transfer_shapes
    from mockserver.wire import vault as vault_shapes
    from mockserver.wire import webhook_subscriptions as hook_shapes
else:  # the same names, imported when a request first needs them
    charges, payment_methods, providers, vault = lazy(
        "mockserver.web.endpoints", "charges", "payment_methods", "providers", "vault"
    )
    charge_shapes, method_shapes, provider_shapes, vault_shapes = lazy(
        "mockserver.wire", "charges", "payment_methods", "providers", "vault"
    )
    customers, tokens = lazy("mockserver.web.endpoints", "customers", "tokens")
    charge_bodies, method_bodies, customer_shapes, payto_shapes, token_shapes = lazy(
        "mockserver.wire", "charge_bodies", "method_bodies", "customers", "payto", "tokens"
    )
    payment_links, webhook_subscriptions = lazy("mockserver.web.endpoints", "payment_links", "webhook_subscriptions")
    link_shapes, hook_shapes = lazy("mockserver.wire", "payment_links", "webhook_subscriptions")
    info, subscriptions, transfers = lazy("mockserver.web.endpoints", "info", "subscriptions", "transfers")
    info_shapes, subscription_shapes, transfer_shapes = lazy("mockserver.wire", "info", "subscriptions", "transfers")
    (batches,) = lazy("mockserver.web.endpoints", "batches")
    (batch_shapes,) = lazy("mockserver.wire", "batches")

_CREATED = Success.CREATED
_SUBSCRIPTION = subscription_shapes.SubscriptionReply
_CHARGE = charge_shapes.ChargeReply
_CUSTOMER = customer_shapes.CustomerReply
_METHOD = method_shapes.PaymentMethodReply
_TOKEN = token_shapes.TokenReply

ROUTES: tuple[Route, ...] = (
    # Charges
    Route("POST", "/charge/card", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_bodies.ProviderCardCharge, success=_CREATED, summary="Charge a card"),
    Route("POST", "/charge/card/least_cost", "charge.create", charges.create, _CHARGE, "published facts, 1.1 row 2",
          body=charge_bodies.CardCharge, success=_CREATED, summary="Charge a card, provider chosen by cost"),
    Route("POST", "/charge/payment_method", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_bodies.PaymentMethodCharge, success=_CREATED, summary="Charge a payment method"),
    Route("POST", "/charge/bank_account", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_bodies.BankCharge, success=_CREATED, summary="Charge a bank account"),
    Route("POST", "/charge/customer", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_bodies.CustomerCharge, success=_CREATED, summary="Charge a customer"),
    Route("POST", "/charge/token", "charge.create", charges.create, _CHARGE, "service document, Charges",
          body=charge_bodies.TokenCharge, success=_CREATED, summary="Charge a token"),
    Route("POST", "/charge/network_token", "charge.create", charges.create, _CHARGE, "published facts, 1.1 row 7",
          body=charge_bodies.NetworkTokenCharge, success=_CREATED, summary="Charge a network token"),
    Route("POST", "/charge/token/apple", "charge.create", charges.create_from_wallet, _CHARGE,
          "published facts, 1.1 row 8", body=charge_bodies.WalletCharge, query=token_shapes.ProviderQuery,
          headers=("ProviderId",), auth=Auth.PUBLIC, success=_CREATED, summary="Charge a wallet"),
    Route("POST", "/charge/checkout", "charge.create", charges.create, _CHARGE, "published facts, 7.1: addCheckout",
          body=charge_bodies.CheckoutCharge, auth=Auth.PUBLIC, success=_CREATED,
          summary="Charge what a payer approved at a checkout"),
    Route("GET", "/charge/{charge_id}", "charge.get", charges.get, _CHARGE, "published facts, 1.1 row 9",
          summary="Get a charge"),
    Route("GET", "/charge", "charge.search", charges.search, charge_shapes.ChargesReply, "service document, Charges",
          query=charge_bodies.ChargeQuery, ahead=charges.look_ahead, summary="Search charges"),
    Route("POST", "/charge/{charge_id}", "charge.capture", charges.capture, _CHARGE, "service document, Charges",
          body=charge_bodies.Capture, summary="Capture an authorised charge"),
    Route("POST", "/charge/{charge_id}/capture", "charge.capture", charges.capture, _CHARGE,
          "published facts, 1.1 row 11b", body=charge_bodies.Capture, summary="Capture an authorised charge"),
    Route("DELETE", "/charge/{charge_id}/void", "charge.void", charges.void, _CHARGE, "service document, Charges",
          summary="Void an authorised charge"),
    Route("DELETE", "/charge/{charge_id}", "charge.refund", charges.refund_or_void, _CHARGE,
          "published facts, 8 rows 2-4", query=charge_bodies.RefundQuery,
          summary="Refund a charge, or void an authorised one"),
    Route("DELETE", "/refund/{charge_id}", "charge.refund", charges.refund, _CHARGE, "service document, Charges",
          query=charge_bodies.RefundQuery, summary="Refund a charge"),
    # Vault
    Route("POST", "/vault", "vault.create", vault.create, vault_shapes.VaultReply, "service document, Vault",
          body=vault_shapes.VaultCreation, success=_CREATED, summary="Create a vault item"),
    Route("GET", "/vault/{vault_id}", "vault.get", vault.get, vault_shapes.VaultSecretsReply,
          "service document, Vault", summary="Get a vault item"),
    Route("DELETE", "/vault/{vault_id}", "vault.delete", vault.delete, vault_shapes.VaultReply,
          "service document, Vault", summary="Delete a vault item"),
    # Customers
    Route("POST", "/customer/card", "customer.create", customers.create, _CUSTOMER, "service document, Customers",
          body=customer_shapes.CardCustomer, success=_CREATED, summary="Create a customer with a card"),
    Route("POST", "/customer/token", "customer.create", customers.create, _CUSTOMER, "service document, Customers",
          body=customer_shapes.TokenCustomer, success=_CREATED, summary="Create a customer with a token"),
    Route("POST", "/customer/provider_token", "customer.create", customers.create, _CUSTOMER,
          "published facts, 1.1 row 16", body=customer_shapes.ProviderTokenCustomer, success=_CREATED,
          summary="Create a customer with a provider token"),
    Route("POST", "/customer/provider_single_use_token", "customer.create", customers.create, _CUSTOMER,
          "published facts, 1.1 row 17", body=customer_shapes.SingleUseTokenCustomer, success=_CREATED,
          summary="Create a customer with a provider's single-use token"),
    Route("POST", "/customer/payto", "customer.create", customers.create, _CUSTOMER, "published facts, 1.1 row 18",
          body=customer_shapes.PayToCustomer, success=_CREATED, summary="Create a customer with a PayTo agreement"),
    Route("POST", "/customer/bank_account", "customer.create", customers.create, _CUSTOMER,
          "published facts, 1.1 row 19", body=customer_shapes.BankCustomer, success=_CREATED,
          summary="Create a customer with a bank account"),
    Route("GET", "/customer/{customer_id}", "customer.get", customers.get, _CUSTOMER, "published facts, 1.1 row 20",
          summary="Get a customer"),
    Route("GET", "/customer", "customer.search", customers.search, customer_shapes.CustomersReply,
          "service document, Customers", query=customer_shapes.CustomerQuery,
          ahead=customers.look_ahead, summary="Search customers"),
    Route("PUT", "/customer/{customer_id}", "customer.update", customers.update, _CUSTOMER,
          "published facts, 1.1 row 22", body=customer_shapes.CustomerUpdate, summary="Update a customer"),
    Route("DELETE", "/customer/{customer_id}", "customer.delete", customers.delete, _CUSTOMER,
          "published facts, 1.1 row 23", query=method_bodies.Removal, summary="Delete a customer"),
    Route("GET", "/customer/{customer_id}/payment_method", "customer.payment_methods", customers.list_methods,
          method_shapes.MethodListReply, "published facts, 1.1 row 24", summary="List a customer's payment methods"),
    Route("GET", "/customer/{customer_id}/payment_methods", "customer.payment_methods", customers.list_methods,
          method_shapes.MethodListReply, "assumption customer.methods_second_path",
          summary="List a customer's payment methods"),
    Route("POST", "/customer/{customer_id}/payment_method/card", "payment_method.create", customers.add_method,
          _METHOD, "published facts, 1.1 row 25", body=method_bodies.CardMethodCreation, success=_CREATED,
          summary="Add a card to a customer"),
    Route("POST", "/customer/{customer_id}/payment_method/token", "payment_method.create", customers.add_method,
          _METHOD, "published facts, 1.1 row 26", body=method_bodies.TokenMethodCreation, success=_CREATED,
          summary="Add a token to a customer"),
    Route("POST", "/customer/{customer_id}/payment_method/payto", "payment_method.create", customers.add_method,
          _METHOD, "published facts, 1.1 row 27", body=payto_shapes.NewPayToAgreement, success=_CREATED,
          summary="Add a PayTo agreement to a customer"),
    Route("POST", "/customer/{customer_id}/bank_account", "payment_method.create", customers.add_method, _METHOD,
          "published facts, 1.1 row 28", body=method_bodies.BankMethodCreation, success=_CREATED,
          summary="Add a bank account to a customer"),
    Route("POST", "/customer/{customer_id}/payment_method/bank_account", "payment_method.create",
          customers.add_method, _METHOD, "assumption customer.bank_alias", body=method_bodies.BankMethodCreation,
          success=_CREATED, summary="Add a bank account to a customer"),
    # Payment methods
    Route("POST", "/payment_method/card", "payment_method.create", payment_methods.create, _METHOD,
          "service document, Payment methods", body=method_bodies.CardMethodCreation, success=_CREATED,
          summary="Create a payment method from a card"),
    Route("POST", "/payment_method/vault", "payment_method.create", payment_methods.create, _METHOD,
          "service document, Payment methods", body=method_bodies.ProviderSwitch, success=_CREATED,
          summary="Create a payment method from a vaulted one, with another provider"),
    Route("GET", "/payment_method/{payment_method_id}", "payment_method.get", payment_methods.get, _METHOD,
          "published facts, 1.1 row 37", summary="Get a payment method"),
    Route("POST", "/payment_method/token", "payment_method.create", payment_methods.create, _METHOD,
          "service document, Payment methods", body=method_bodies.TokenMethodCreation, success=_CREATED,
          summary="Create a payment method from a token"),
    Route("POST", "/payment_method/payto", "payment_method.create", payment_methods.create, _METHOD,
          "published facts, 1.1 row 32", body=payto_shapes.NewPayToAgreement, success=_CREATED,
          summary="Create a payment method from a PayTo agreement"),
    Route("POST", "/payment_method/provider_single_use_token", "payment_method.create", payment_methods.create,
          _METHOD, "published facts, 1.1 row 33", body=method_bodies.SingleUseTokenMethodCreation, success=_CREATED,
          summary="Create a payment method from a provider's single-use token"),
    Route("POST", "/payment_method/provider_token", "payment_method.create", payment_methods.create, _METHOD,
          "published facts, 1.1 row 34", body=method_bodies.ProviderTokenMethodCreation, success=_CREATED,
          summary="Create a payment method from a provider token"),
    Route("POST", "/payment_method/bank_account", "payment_method.create", payment_methods.create, _METHOD,
          "published facts, 1.1 row 35", body=method_bodies.BankMethodCreation, success=_CREATED,
          summary="Create a payment method from a bank account"),
    Route("GET", "/payment_method", "payment_method.search", payment_methods.search,
          method_shapes.PaymentMethodsReply, "published facts, 1.1 row 36", query=method_bodies.PaymentMethodQuery,
          ahead=payment_methods.look_ahead, summary="Search payment methods"),
    Route("DELETE", "/payment_method/{payment_method_id}", "payment_method.delete", payment_methods.delete, _METHOD,
          "published facts, 1.1 row 38", query=method_bodies.Removal, summary="Delete a payment method"),
    Route("PUT", "/payment_method/{payment_method_id}", "payment_method.update", payment_methods.update, _METHOD,
          "published facts, 1.1 row 39", body=method_bodies.CardUpdate, summary="Update the card of a payment method"),
    # Tokens
    Route("POST", "/token/card", "token.create", tokens.create_from_card, _TOKEN, "published facts, 1.1 row 50",
          body=token_shapes.CardTokenCreation, query=token_shapes.ProviderQuery, headers=("ProviderId",),
          auth=Auth.PUBLIC, success=_CREATED, summary="Create a token from a card"),
    Route("POST", "/token/card/least_cost", "token.create", tokens.create_least_cost, _TOKEN,
          "published facts, 1.1 row 51", body=token_shapes.LeastCostTokenCreation, auth=Auth.PUBLIC, success=_CREATED,
          summary="Create a token from a card, provider chosen by cost"),
    Route("POST", "/token/payto", "token.create", tokens.create_from_payto, _TOKEN, "published facts, 1.1 row 52",
          body=payto_shapes.NewPayToAgreement, auth=Auth.PUBLIC, success=_CREATED,
          summary="Create a token from a PayTo agreement"),
    Route("GET", "/token/{token}", "token.get", tokens.get, _TOKEN, "published facts, 1.1 row 53",
          summary="Get a token"),
    Route("GET", "/token", "token.search", tokens.search, token_shapes.TokensReply, "published facts, 1.1 row 54",
          query=token_shapes.TokenQuery, ahead=tokens.look_ahead, summary="Search tokens"),
    # Payment links
    Route("POST", "/payment_link", "payment_link.create", payment_links.create, link_shapes.PaymentLinkReply,
          "service document, Payment links", body=link_shapes.PaymentLinkCreation, success=_CREATED,
          summary="Create a payment link"),
    Route("GET", "/payment_link/{payment_link_id}", "payment_link.get", payment_links.get,
          link_shapes.PaymentLinkReply, "service document, Payment links", summary="Get a payment link"),
    Route("GET", "/payment_link", "payment_link.search", payment_links.search, link_shapes.PaymentLinksReply,
          "published facts, 1.1 row 45", query=link_shapes.PaymentLinkQuery,
          ahead=payment_links.look_ahead, summary="List payment links"),
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
          query=subscription_shapes.SubscriptionQuery, ahead=subscriptions.look_ahead, summary="Search subscriptions"),
    Route("PUT", "/subscription/{subscription_id}", "subscription.update", subscriptions.update, _SUBSCRIPTION,
          "published facts, 1.1 row 67", body=subscription_shapes.SubscriptionChange,
          summary="Update a subscription"),
    Route("PUT", "/subscription/{subscription_id}/status", "subscription.status", subscriptions.set_status,
          _SUBSCRIPTION, "published facts, 1.1 row 68", body=subscription_shapes.SubscriptionStatus,
          summary="Update the status of a subscription"),
    # Transfers and settlements
    Route("POST", "/transfer", "transfer.create", transfers.create, transfer_shapes.TransferReplies,
          "published facts, 1.1 row 69", body=transfer_shapes.TransferGroup, success=_CREATED,
          summary="Create a group of transfers"),
    Route("GET", "/transfer/{transfer_id}", "transfer.get", transfers.get, transfer_shapes.TransferReply,
          "published facts, 1.1 row 70", summary="Get a transfer"),
    Route("GET", "/transfer", "transfer.search", transfers.search, transfer_shapes.TransfersReply,
          "published facts, 1.1 row 71", query=transfer_shapes.TransferQuery,
          ahead=transfers.look_ahead, summary="Search transfers"),
    Route("GET", "/settlements", "settlement.search", transfers.settled, transfer_shapes.SettlementReplies,
          "published facts, 1.1 row 76", query=transfer_shapes.SettlementQuery, summary="List settlements"),
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
    # Batches
    Route("POST", "/batch/transaction/payment_method", "batch.create", batches.create, batch_shapes.BatchStatusReply,
          "service document, Batches", body=batch_shapes.BatchCreation, success=_CREATED, ahead=batches.read_ahead,
          summary="Create a batch of payment-method transactions"),
    Route("GET", "/batch/{batch_id}/status", "batch.status", batches.status, batch_shapes.BatchStatusReply,
          "service document, Batches", summary="Get the status of a batch"),
    Route("GET", "/batch/{batch_id}", "batch.get", batches.get, batch_shapes.BatchReply, "service document, Batches",
          ahead=batches.write_ahead, is_dated=True, summary="Get a batch with its results"),
    Route("GET", "/batch", "batch.search", batches.search, batch_shapes.BatchesReply, "published facts, 1.1 row 49",
          query=batch_shapes.BatchQuery, summary="List batches"),
    # What the account can do
    Route("GET", "/info", "info.get", info.general, info_shapes.InfoReply, "published facts, 1.1 row 58",
          auth=Auth.PUBLIC, summary="Countries, currencies and time zones"),
    Route("GET", "/info/providers", "info.get", info.offered, info_shapes.InfoProvidersReply,
          "published facts, 1.1 row 59, 7.2", query=info_shapes.OfferQuery, auth=Auth.PUBLIC,
          summary="Ways to pay that are offered"),
    Route("GET", "/info/providers/{provider_id}", "info.get", info.one_provider, info_shapes.InfoProviderReply,
          "published facts, 1.1 row 60", query=info_shapes.OfferQuery, auth=Auth.PUBLIC,
          summary="What a browser needs to know of a provider"),
    Route("GET", "/info/providers/token/{token}", "info.get", info.provider_of_token,
          info_shapes.InfoProviderReply, "published facts, 1.1 row 61", query=info_shapes.OfferQuery,
          auth=Auth.PUBLIC, summary="What a browser needs to know of a token's provider"),
    Route("GET", "/info/default_fallback_provider", "info.get", info.default_fallback,
          provider_shapes.ProviderReply, "published facts, 1.1 row 62", summary="The default fallback provider"),
    Route("GET", "/version", "info.get", info.version, info_shapes.VersionReply, "published facts, 1.1 row 77",
          auth=Auth.PUBLIC, summary="The release of the service"),
    # Providers
    Route("POST", "/provider", "provider.create", providers.create, provider_shapes.ProviderReply,
          "published facts, 1.1 row 55", body=provider_shapes.ProviderFields, success=_CREATED,
          summary="Create a provider"),
    Route("PUT", "/provider/{provider_id}", "provider.update", providers.update, provider_shapes.ProviderReply,
          "published facts, 1.1 row 56", body=provider_shapes.ProviderFields, summary="Update a provider"),
    Route("DELETE", "/provider/{provider_id}", "provider.delete", providers.delete, provider_shapes.ProviderReply,
          "published facts, 1.1 row 57", summary="Delete a provider"),
)  # fmt: skip
