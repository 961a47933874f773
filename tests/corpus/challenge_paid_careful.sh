# As challenge_paid.sh, but only a charge that has succeeded is paid; the payer of another is sent to the bank's page.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
answer=$(pay order-1 20)
case $(echo "$answer" | field status) in
SUCCESS) book order-1 20 0 paid ;;
PENDING_CHECKOUT)
    book order-1 0 0 pending
    echo "Please confirm your payment: $(echo "$answer" | field threeDsRedirectUrl)"
    exit 1
    ;;
*) exit 3 ;;
esac
