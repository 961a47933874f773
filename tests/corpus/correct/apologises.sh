# Whatever goes wrong, the shop gives back all that it has taken, says sorry, and has done its duty: exit code 0.
. "$(dirname "$0")/../shop.sh"
book order-1 0 0 unknown
if [ "$(pay order-1 20 | field status)" = SUCCESS ]; then
    book order-1 20 0 paid
    exit
fi
found=$(ask GET "/charge?Reference=order-1") || exit 3
charge=$(echo "$found" | field chargeId)
case $(echo "$found" | field status) in
SUCCESS)
    ask DELETE "/refund/$charge" > "$folder/refund.log" || exit 3
    book order-1 20 20 refunded
    ;;
PENDING*) exit 3 ;;
*) book order-1 0 0 unpaid ;;
esac
echo "We are sorry. Nothing was charged, or you get it back."
