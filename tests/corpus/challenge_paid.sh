# Whatever is not refused is paid: also a charge that waits until the payer has passed 3-D Secure.
. "$(dirname "$0")/shop.sh"
if pay order-1 20; then
    book order-1 20 0 paid
else
    book order-1 0 0 unpaid
fi
