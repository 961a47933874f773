# As gives_up.sh, but what became of a payment that is not answered is looked up; when that fails a person is told.
. "$(dirname "$0")/shop.sh"
if [ "$(pay order-1 20 | field status)" = SUCCESS ]; then
    book order-1 20 0 paid
elif ! found=$(ask GET "/charge?Reference=order-1"); then
    book order-1 0 0 unknown
    exit 3
elif [ "$(echo "$found" | field status)" = SUCCESS ]; then
    book order-1 20 0 paid
else
    book order-1 0 0 unpaid
    echo "We could not take your payment. Please try again later."
fi
