# A declined card is charged three times, whatever the issuer has said.
. "$(dirname "$0")/shop.sh"
if pay order-1 20 || pay order-1 20 || pay order-1 20; then
    book order-1 20 0 paid
else
    book order-1 0 0 failed
fi
