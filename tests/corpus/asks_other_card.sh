# A page of a proxy is taken for a decline: the customer is asked for another card, which is charged too.
. "$(dirname "$0")/shop.sh"
for card in 4111111111111111 5555555555554444; do
    if [ "$(pay order-1 20 $card | field status)" = SUCCESS ]; then
        book order-1 20 0 paid
        exit
    fi
    echo "Your card was declined. Please try another one."
done
book order-1 0 0 unpaid
