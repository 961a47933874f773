# A cancelled order is cancelled in the books, and nobody sees that its authorisation was not voided.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
charge=$(pay order-1 20 4111111111111111 false | field chargeId)
[ "$charge" ] || exit 3
book order-1 0 0 held
ask DELETE "/charge/$charge/void" > "$folder/void.log"
book order-1 0 0 cancelled
