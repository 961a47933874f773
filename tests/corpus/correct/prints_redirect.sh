# A shop of the command line: where the bank wants to hear from the payer it prints the address, and the order waits.
. "$(dirname "$0")/../shop.sh"
book order-1 "" "" unknown
answer=$(pay order-1 20)
case $(echo "$answer" | field status) in
SUCCESS) book order-1 20 0 paid ;;
PENDING_CHECKOUT)
    book order-1 "" "" pending
    echo "Please confirm your payment: $(echo "$answer" | field threeDsRedirectUrl)"
    ;;
FAILED) book order-1 0 0 unpaid ;;
*) exit 3 ;;
esac
