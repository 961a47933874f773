# As leaves_hold.sh, but the order is cancelled when its charge is; else a person is told.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
charge=$(pay order-1 20 4111111111111111 false | field chargeId)
[ "$charge" ] || exit 3
book order-1 0 0 held
for try in 1 2 3; do
    ask DELETE "/charge/$charge/void" > "$folder/void.log"
    if [ "$(ask GET "/charge/$charge" | field status)" = AUTHORISE_CANCELLED ]; then
        book order-1 0 0 cancelled
        exit
    fi
done
book order-1 0 0 unknown
exit 3
