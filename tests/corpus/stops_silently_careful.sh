# As stops_silently.sh, but the job says so before it ends with an error, and its exit code 3 calls a person.
if [ "${1-}" = books ]; then exec cat "$MOCKSERVER_RUN_DIR/orders.csv"; fi
. "$(dirname "$0")/shop.sh"
set -e
printf 'reference,paid,state\norder-1,,unknown\n' > "$folder/orders.csv"
trap 'echo "order-1 is not clear: please look"; exit 3' EXIT
pay order-1 129 > "$folder/answer.json"
[ "$(field status < "$folder/answer.json")" = SUCCESS ]
printf 'reference,paid,state\norder-1,129,paid\n' > "$folder/orders.csv"
trap - EXIT
