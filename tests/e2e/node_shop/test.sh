#!/bin/sh
# Tests a shop that runs on, at $SHOP, with curl: each test begins at a mark and ends with a judgement.
# Wanted: SHOP, MOCKSERVER_URL and MOCKSERVER_SECRET_KEY, as the shop was given them. Exit code 1 for any error found.
set -eu

begin() {
    curl -sS --fail -o /dev/null "$MOCKSERVER_URL/__admin/marks" \
        -H "x-secretkey: $MOCKSERVER_SECRET_KEY" -H "content-type: application/json" -d "{\"name\": \"$1\"}"
}

judge() {
    mockserver findings --since "$1" --finish
}

begin paid
test "$(curl -sS -X POST "$SHOP/orders/order-1?amount=20.00")" = paid
judge paid

curl -sS --fail -o /dev/null -X PUT "$MOCKSERVER_URL/__admin/scenarios" -H "x-secretkey: $MOCKSERVER_SECRET_KEY" \
    -H "content-type: application/yaml" --data-binary "
version: 1
name: lost
rules:
  - {id: lost, when: {op: charge.create}, limit: 1, then: {transport: {at: answer, reset: true}}}"
begin lost
test "$(curl -sS -X POST "$SHOP/orders/order-2?amount=20.00")" = paid
judge lost
