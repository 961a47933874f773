# As retries_decline.sh, but a card is charged again only when the issuer has said that this may help.
. "$(dirname "$0")/shop.sh"
for try in 1 2 3; do
    book order-1 0 0 unknown
    answer=$(pay order-1 20)
    if [ "$(echo "$answer" | field status)" = SUCCESS ]; then
        book order-1 20 0 paid
        exit
    fi
    echo "$answer" | grep -q '"code":' || exit 3
    book order-1 0 0 failed
    echo "$answer" | grep -q '"isRetryable":true' || exit 1
done
