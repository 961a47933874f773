# As forgets_unanswered.sh, but the job ends with an error, and a person looks after the order.
. "$(dirname "$0")/shop.sh"
if [ "$(pay order-1 20 | field status)" = SUCCESS ]; then
    book order-1 20 0 paid
else
    book order-0 0 0 unpaid
    echo "Please look after order-1: it may be paid."
    exit 3
fi
