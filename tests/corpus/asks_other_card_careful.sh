# As asks_other_card.sh, but no card is charged before the shop has seen that the order holds no money.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
for card in 4111111111111111 5555555555554444; do
    status=$(pay order-1 20 $card | field status)
    if [ "$status" != SUCCESS ]; then
        found=$(ask GET "/charge?Reference=order-1") || exit 3
        status=$(echo "$found" | field status)
    fi
    case $status in
    SUCCESS)
        book order-1 20 0 paid
        exit
        ;;
    PENDING*) exit 3 ;;
    *) echo "Your card was declined. Please try another one." ;;
    esac
done
book order-1 0 0 unpaid
