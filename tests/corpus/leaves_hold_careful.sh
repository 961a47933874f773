# As leaves_hold.sh, but the order is cancelled when its charge is; else a person is told.
. "$(dirname "$0")/shop.sh"
charge=$(pay order-1 20 4111111111111111 false | field chargeId)
book order-1 0 0 held
for try in 1 2 3; do
    ask DELETE "/charge/$charge/void" > "$folder/void.log"
    if [ "$(ask GET "/charge/$charge" | field status)" = AUTHORISE_CANCELLED ]; then
        book order-1 0 0 cancelled
        exit
    fi
done
exit 3
