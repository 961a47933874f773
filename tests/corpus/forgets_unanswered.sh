# A payment that is not answered is left out of the books, and the job ends well.
. "$(dirname "$0")/shop.sh"
if [ "$(pay order-1 20 | field status)" = SUCCESS ]; then
    book order-1 20 0 paid
else
    book order-0 0 0 unpaid
fi
