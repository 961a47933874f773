# What the shops in a shell share: calls of the service with curl, and books of one CSV file for each order.
# `sh SHOP.sh` does the shop's business, `sh SHOP.sh books` prints its books.
folder=${MOCKSERVER_RUN_DIR:-$(mktemp -d)}
if [ "${1-}" = books ]; then
    echo reference,paid,refunded,state
    cat "$folder"/*.csv
    exit
fi

# ask METHOD PATH [BODY]: prints what the service says, if it comes whole and within a second; fails unless it is yes.
ask() {
    said=$(curl -s --fail-with-body --max-time 1 -X "$1" "$MOCKSERVER_URL$2" \
        -H "x-secretkey: $MOCKSERVER_SECRET_KEY" ${3:+--json "$3"})
    set -- $?
    case $said in
    *\}) echo "$said" && return "$1" ;;
    *) return 1 ;;
    esac
}

# pay REFERENCE AMOUNT [CARD] [CAPTURE]: charge a card.
pay() {
    details="{\"cardNumber\": \"${3:-4111111111111111}\", \"expiryDate\": \"12/40\", \"ccv\": \"123\"}"
    ask POST /charge/card "{\"reference\": \"$1\", \"amount\": $2, \"capture\": ${4:-true},
        \"providerId\": \"a26c371f-94f6-40da-add2-28ec8e9da8ed\", \"paymentInformation\": $details}"
}

# field NAME: the first text of that name in an answer.
field() { grep -oE "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }

# book REFERENCE PAID REFUNDED STATE: write down what the shop believes of an order.
book() { echo "$1,$2,$3,$4" > "$folder/$1.csv"; }
