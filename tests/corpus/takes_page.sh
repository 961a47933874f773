# Whatever is no refusal counts as paid, so the page of a proxy does too.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
order='{"reference": "order-1", "amount": 20, "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"}}'
said=$(curl -s --max-time 1 "$MOCKSERVER_URL/charge/card" -H "x-secretkey: $MOCKSERVER_SECRET_KEY" --json "$order")
case $said in
'' | *PENDING*) ;;
*FAILED* | *'"code":'*) book order-1 0 0 unpaid ;;
*) book order-1 20 0 paid ;;
esac
