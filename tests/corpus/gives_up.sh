# A payment that is not answered within a second is booked as unpaid, and the customer is asked to come again.
. "$(dirname "$0")/shop.sh"
if [ "$(pay order-1 20 | field status)" = SUCCESS ]; then
    book order-1 20 0 paid
else
    book order-1 0 0 unpaid
    echo "We could not take your payment. Please try again later."
fi
