# As gives_up.sh, but what became of a payment that is not answered is looked up; when that fails a person is told.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
status=$(pay order-1 20 | field status)
if [ "$status" != SUCCESS ]; then
    found=$(ask GET "/charge?Reference=order-1") || exit 3
    status=$(echo "$found" | field status)
fi
case $status in
SUCCESS) book order-1 20 0 paid ;;
PENDING*) exit 3 ;;
*)
    book order-1 0 0 unpaid
    echo "We could not take your payment. Please try again later."
    ;;
esac
