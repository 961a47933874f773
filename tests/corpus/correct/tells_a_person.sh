# A payment that is not clearly taken or declined is left to a person: the books say so, and so does the exit code.
. "$(dirname "$0")/../shop.sh"
book order-1 0 0 unknown
answer=$(pay order-1 20)
if [ "$(echo "$answer" | field status)" = SUCCESS ]; then
    book order-1 20 0 paid
elif echo "$answer" | grep -q '"code":'; then
    book order-1 0 0 failed
    exit 1
else
    echo "Please look after order-1: it may be paid."
    exit 3
fi
