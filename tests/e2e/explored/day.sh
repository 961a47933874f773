# bash day.sh PORT DAY: has a day of a shop run where everything is imported already, and ends as it ends.
exec 3<>"/dev/tcp/127.0.0.1/$1"
echo "$2 $MOCKSERVER_URL $MOCKSERVER_SECRET_KEY" >&3
code=70
while read -r line <&3; do
    [ -z "$last" ] || echo "$last"
    last=$line
done
exit "${last:-$code}"
