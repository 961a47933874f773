# As asks_other_card.sh, but no card is charged before the shop has seen that the order holds no money.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
for card in 4111111111111111 5555555555554444; do
    paid=$(pay order-1 20 $card | field status)
    if [ "$paid" != SUCCESS ]; then
        found=$(ask GET "/charge?Reference=order-1&Status=SUCCESS") || exit 3
        paid=$(echo "$found" | field status)
    fi
    if [ "$paid" = SUCCESS ]; then
        book order-1 20 0 paid
        exit
    fi
    echo "Your card was declined. Please try another one."
done
book order-1 0 0 unpaid
