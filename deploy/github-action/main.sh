#!/usr/bin/env bash
# What action.yml does once mockserver is installed. INPUT_MODE says what; the other inputs are options of the command.
set -euo pipefail
export PATH=$RUNNER_TEMP/mockserver/bin:$PATH
# What `serve` leaves for `judge`.
server=$RUNNER_TEMP/mockserver/server

refuse() {
    echo "::error title=mockserver::$1"
    exit 2
}

# An option for each line of a text that is not empty: words of `options`.
options=()
add_each() {
    local line
    while IFS= read -r line; do
        [[ -z ${line//[[:space:]]/} ]] || options+=("$1" "$line")
    done <<<"$2"
}

run() {
    [[ -n ${INPUT_COMMAND//[[:space:]]/} ]] || refuse "command: got nothing, wanted the lines of bash that test your code"
    add_each --books "$INPUT_BOOKS"
    add_each --invariant "$INPUT_INVARIANT"
    mockserver run "${options[@]}" --port "${INPUT_PORT:-0}" --fail-on "$INPUT_FAIL_ON" --format github \
        -- bash -e -o pipefail -c "$INPUT_COMMAND"
}

serve() {
    # A line break in it would set other variables of the job.
    [[ $INPUT_KEY =~ ^sk_[[:graph:]]+$ ]] || refuse "key: wanted a secret key that begins with sk_, without blanks"
    [[ ! -e $server ]] || refuse "mode: serve was asked for twice in this job, wanted judge in between"
    mkdir "$server"
    # On its own: a step ends with all that it has started and that still holds its output.
    nohup mockserver serve "${options[@]}" --port "${INPUT_PORT:-4111}" --port-file "$server/port" \
        --log-level warning </dev/null >"$server/log" 2>&1 &
    echo $! >"$server/pid"
    printf %s "$INPUT_KEY" >"$server/key"
    if ! mockserver healthcheck --port 0 --port-file "$server/port" --within 30; then
        cat "$server/log"
        stop
        refuse "the server did not start; its log stands above"
    fi
    local url public_key
    url=http://127.0.0.1:$(<"$server/port")
    public_key=pk_${INPUT_KEY#sk_}
    printf '%s\n' "url=$url" "secret-key=$INPUT_KEY" "public-key=$public_key" >>"$GITHUB_OUTPUT"
    printf '%s\n' "MOCKSERVER_URL=$url" "MOCKSERVER_SECRET_KEY=$INPUT_KEY" "MOCKSERVER_PUBLIC_KEY=$public_key" \
        >>"$GITHUB_ENV"
}

judge() {
    [[ -e $server/port ]] || refuse "mode: got judge, wanted a step with serve before it"
    [[ $INPUT_KEY == "$(<"$server/key")" ]] || refuse "key: wanted the one that serve was given"
    trap stop EXIT
    local asked=(--url "http://127.0.0.1:$(<"$server/port")" --key "$INPUT_KEY")
    if [[ -n $INPUT_BOOKS ]]; then
        case $INPUT_BOOKS in
            http://* | https://*) curl --silent --show-error --fail --max-time 30 "$INPUT_BOOKS" ;;
            *) bash -e -o pipefail -c "$INPUT_BOOKS" ;;
        esac >"$server/books"
        # Exit code 1 is a difference, which is a finding of the sandbox from now on: the next command tells it.
        mockserver books "${asked[@]}" --compare "$server/books" >"$server/differences" || (($? == 1))
    fi
    mockserver findings "${asked[@]}" --finish --fail-on "$INPUT_FAIL_ON" --format github
}

# When it returns, the port is free: the server may need a moment for what is under way.
stop() {
    local pid tries
    pid=$(<"$server/pid")
    kill "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 100; tries++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    rm -rf "$server"
}

if [[ $INPUT_MODE == run || $INPUT_MODE == serve ]]; then
    add_each --scenario "$INPUT_SCENARIO"
    options+=(--profile "$INPUT_PROFILE" --clock "$INPUT_CLOCK" --seed "$INPUT_SEED")
fi
case $INPUT_MODE in
    run | serve | judge) "$INPUT_MODE" ;;
    install) ;;
    *) refuse "mode: got '$INPUT_MODE', allowed: run, serve, judge, install" ;;
esac
