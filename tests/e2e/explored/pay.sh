# Pays for an order with nothing but curl and what the environment says; a lost payment is sent again without a look.
set -eu
order='{"amount": 20, "reference": "order-1", "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
  "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}}'
pay() {
    curl -sS --fail --max-time 1 "$MOCKSERVER_URL/charge/card" -H "x-secretkey: $MOCKSERVER_SECRET_KEY" \
        --json "$order" -o /dev/null
}
pay || pay
