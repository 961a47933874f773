# As takes_page.sh, but only a charge that says so is paid, and what is no charge is looked up.
. "$(dirname "$0")/shop.sh"
book order-1 0 0 unknown
said=$(pay order-1 20) || said=$(ask GET '/charge?Reference=order-1')
case $said in
*'"status":"SUCCESS"'*) book order-1 20 0 paid ;;
*'"status":"FAILED"'* | *'"count":0'*) book order-1 0 0 unpaid ;;
esac
