#!/usr/bin/env bash
# What a waiting user takes of memory: loadtest beside wrk and bare hyper.
#
#   loadtest/benches/many_users.sh [USERS] [MILLISECONDS] [SECONDS]      10000 users, 1000 ms, 60 s
#
# Each user has a connection and waits for a server that answers after so many milliseconds. Memory is the
# resident set of the process a second before the load ends, less that of the same with one user, by user.
# CPU time is user + sys of the whole process by request that it reports. A user's connection to hyper takes
# more after some 64 requests: with 1000 ms give it that many seconds. wrk is
# left out where it is not there. `PEERS_DIR` keeps what was built.
set -euo pipefail

users=${1:-10000} pause=${2:-1000} seconds=${3:-60}
. "$(dirname "${BASH_SOURCE[0]}")/peers/tools.sh"
here=$benches/peers
ulimit -n "$(ulimit -Hn)"
[[ $(ulimit -n) = unlimited || $(ulimit -n) -gt $((users + 100)) ]] || { echo "$users connections are too many files here" >&2; exit 1; }

ours=$(package ours "$here/ours.rs" "$OURS")
bare=$(package bare "$here/hyper.rs" "$BARE")
slow=$(package slow "$here/slow.rs" 'tokio = { version = "1", features = ["io-util", "macros", "net", "rt", "time"] }')
wrk=$(system wrk)

"$slow" "$pause" >"$folder/address" 2>/dev/null </dev/null &
server=$!
stop() {
    kill "$server"
    [[ ${PEERS_DIR-} ]] || rm -rf "$folder"
}
trap stop EXIT
until [[ -s $folder/address ]]; do sleep 0.1; done
url=http://$(cat "$folder/address")

# resident COMMAND..: kilobytes of the process a second before its end, and its CPU time in seconds
resident() {
    local process ticks kilobytes
    "$@" >"$folder/output" 2>&1 </dev/null &
    process=$!
    sleep $((seconds - 1))
    kilobytes=$(awk '/^VmRSS/ { print $2 }' "/proc/$process/status")
    ticks=$(awk '{ print $14 + $15 }' "/proc/$process/stat")
    wait "$process" || { echo "failed: $*" >&2; tail -5 "$folder/output" >&2; return 1; }
    echo "$kilobytes $ticks"
}

hertz=$(getconf CLK_TCK)
# row TOOL COMMAND..: COMMAND is given the number of users
row() {
    local tool=$1 one many
    shift
    one=$(resident "$@" 1)
    many=$(resident "$@" "$users")
    # Each user sends one request at a time.
    awk -v tool="$tool" -v users="$users" -v pause="$pause" -v seconds="$seconds" -v hertz="$hertz" -v one="$one" -v many="$many" 'BEGIN {
        split(one, a, " "); split(many, b, " ")
        printf "%-10s %10.1f %14.1f %16.2f\n", tool, b[1] / 1024, (b[1] - a[1]) / (users - 1), b[2] / hertz * 1e6 / (users * (seconds - 1) * 1000 / pause)
    }'
}

loadtest() { exec "$ours" one "$url" "$seconds" "$1"; }
hyper() { exec "$bare" "$url" "$seconds" "$1"; }
wrk() { exec "$wrk" -t1 "-c$1" "-d${seconds}s" --timeout 30s "$url/"; }

echo "$users users, answers after $pause ms"
echo "tool         MiB in all   KiB for a user   us CPU per request"
row loadtest loadtest
row hyper hyper
[[ ! $wrk ]] || row wrk wrk
