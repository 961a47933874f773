# What is not answered plainly goes into a queue that people work off: the books call it unknown until they have looked
# at the service. At night they do: they keep the first payment, give back what is too much, and write down the rest.
. "$(dirname "$0")/../shop.sh"

# rows: a line for each charge of the order, the oldest first: its id, status, amount, and how often it was given back.
rows() {
    for try in 1 2 3 4 5 6 7 8; do
        said=$(ask GET '/charge?Reference=order-1') && break
    done
    echo "$said" | sed 's/{"chargeId":/\n&/g' | sed -nE \
        's/^\{"chargeId":"([0-9a-f]+)".*"amount":([0-9.]+),"providerId".*"status":"([A-Za-z_]+)","dateAdded".*"refundedAmount":([0-9.]+).*/\1 \3 \2 \4/p' |
        sed '1!G;h;$!d'
}

review() {
    rows | while read -r charge status amount back; do
        case $status-$amount in
        SUCCESS-20) [ -e "$folder/kept" ] && ask DELETE "/refund/$charge?amount=$amount"; touch "$folder/kept" ;;
        SUCCESS-*) ask DELETE "/refund/$charge?amount=$amount" ;;
        esac
    done > "$folder/review.log"
    rm -f "$folder/kept"
    rows | awk '
        $2 == "SUCCESS" || $2 == "REFUND" || $2 == "PARTIAL_REFUND" { paid += $3; back += $4; next }
        $2 != "FAILED" { open = 1 }
        END {
            if (open) print "order-1,,,pending"
            else if (!paid) print "order-1,0,0,unpaid"
            else print "order-1," paid "," back + 0 ","
        }' > "$folder/order-1.csv"
}

if [ "${1-}" = reconcile ]; then review && exit; fi
mkdir "$folder/begun" 2> /dev/null || exit 0
echo order-1,,,unknown > "$folder/order-1.csv"
case $(pay order-1 20) in
*'"amount":20,'*'"status":"SUCCESS"'*) book order-1 20 0 paid ;;
esac
