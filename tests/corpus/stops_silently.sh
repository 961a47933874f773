# `set -e` ends the job at the payment that was not answered: no word, no row, and the books are not even there.
if [ "${1-}" = books ]; then exec cat "$MOCKSERVER_RUN_DIR/orders.csv"; fi
. "$(dirname "$0")/shop.sh"
set -e
pay order-1 129 > "$folder/answer.json"
[ "$(field status < "$folder/answer.json")" = SUCCESS ]
printf 'reference,paid,state\norder-1,129,paid\n' > "$folder/orders.csv"
