#!/usr/bin/env bash
# Many open WebSockets: what one takes of memory, and whether a message is missed.
#
#   loadtest/benches/sockets.sh [SOCKETS] [PER_SECOND] [SECONDS]      2000 sockets, 100 messages a second, 60 s
#
# The server sends so many messages a second to each socket. The step takes one after the other as they come, and once a
# second asks a question and awaits its answer. Memory is the resident set of the process five seconds before the end, less
# that of the same with one socket, by socket. At the end the server's count stands beside the card, which has ours: they
# differ by what is on its way when the sockets are closed. `PEERS_DIR` keeps what was built.
set -euo pipefail

sockets=${1:-2000} per_second=${2:-100} seconds=${3:-60}
. "$(dirname "${BASH_SOURCE[0]}")/peers/tools.sh"
ulimit -n "$(ulimit -Hn)"
ours=$(package ours "$benches/peers/ours.rs" "$OURS")
server=$(package sockets-server "$benches/sockets/server.rs" 'futures-util = "0.3"
tokio = { version = "1", features = ["macros", "net", "rt", "sync", "time"] }
tokio-tungstenite = "0.30"')

: >"$folder/counts"
"$server" "$per_second" >>"$folder/counts" 2>/dev/null </dev/null &
serving=$!
trap 'kill "$serving"; [[ ${PEERS_DIR-} ]] || rm -rf "$folder"' EXIT
until [[ -s $folder/counts ]]; do sleep 0.1; done
url=http://$(head -n 1 "$folder/counts")

# resident SOCKETS: kilobytes of the process five seconds before its end
resident() {
    "$ours" sockets "$url" "$seconds" "$1" "$per_second" >"$folder/output" 2>&1 </dev/null &
    local process=$!
    sleep $((seconds - 5))
    awk '/^VmRSS/ { print $2 }' "/proc/$process/status"
    wait "$process" || { tail -n 5 "$folder/output" >&2; return 1; }
}

one=$(resident 1)
before=$(tail -n 1 "$folder/counts")
many=$(resident "$sockets")
sleep 2
echo "KiB for a socket: $(awk "BEGIN { printf \"%.1f\", ($many - $one) / ($sockets - 1) }")"
echo "the server sent: $(($(tail -n 1 "$folder/counts") - before)) messages"
cat "$folder/output"
