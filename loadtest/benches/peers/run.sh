#!/usr/bin/env bash
# loadtest beside its peers: CPU time per request.
#
#   loadtest/benches/peers/run.sh [SECONDS] [ROUNDS] [USERS]      4 seconds, 5 rounds, 64 users
#
# So many users against nginx on loopback, HTTP/1.1 with keep-alive; the generator on one core, nginx on another,
# the tools in turn in each round. CPU time is user + sys of the whole process, start and end included;
# requests are those that nginx counted. Needs nginx and curl. cargo installs oha and builds Goose; a peer
# that is not installed, such as wrk or k6, is reported as absent.
# `CARGO_NET_OFFLINE=true` leaves out what is not built yet. `PEERS_DIR` keeps what was built.
set -euo pipefail

seconds=${1:-4} rounds=${2:-5} users=${3:-64}
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
here=$benches/peers
needs nginx
ulimit -n "$(ulimit -Hn)"
[[ ${PEERS_DIR-} ]] || trap 'rm -rf "$folder"' EXIT

ours=$(package ours "$here/ours.rs" "$OURS")
bare=$(package bare "$here/hyper.rs" "$BARE")
goose=$(crates_goose) oha=$(crates_oha) wrk=$(system wrk) k6=$(system k6)

port=$((20000 + RANDOM % 10000))
url=http://127.0.0.1:$port
cat >"$folder/nginx.conf" <<EOF
worker_processes 1;
daemon on;
pid $folder/nginx.pid;
error_log $folder/nginx.log;
worker_rlimit_nofile 20000;
events { worker_connections 16384; }
http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path $folder/body;
    default_type application/json;
    server {
        listen 127.0.0.1:$port backlog=16384;
        location = /status { stub_status; }
        location = /login { return 200 '{"token":"5f2b8c","user":{"id":7,"name":"ada"}}'; }
        location / { return 200 '{"id":1,"token":"abcdef"}'; }
    }
}
EOF
taskset -c 1 nginx -c "$folder/nginx.conf"
stop() { kill "$(cat "$folder/nginx.pid")"; }
trap 'stop; [[ ${PEERS_DIR-} ]] || rm -rf "$folder"' EXIT

served() { curl -s "$url/status" | awk 'NR == 3 { print $3 }'; }

for ((round = 1; round <= rounds; round++)); do
    echo "round $round of $rounds" >&2
    for journey in one three; do
        measure "$journey" loadtest "$ours" "$journey" "$url" "$seconds" "$users"
        [[ $journey = three ]] || measure one hyper "$bare" "$url" "$seconds" "$users"
        [[ ! $wrk ]] || measure "$journey" wrk "$wrk" -t1 "-c$users" "-d${seconds}s" "$url/"
        [[ ! $oha || $journey = three ]] || measure one oha "$oha" --no-tui -z "${seconds}s" -c "$users" "$url/"
        [[ ! $goose ]] || JOURNEY=$journey measure "$journey" goose "$goose" --host "$url" --users "$users" --increase-rate 1000 --run-time "${seconds}s" --no-print-metrics --quiet
        [[ ! $k6 ]] || JOURNEY=$journey URL=$url measure "$journey" k6 "$k6" run --quiet --vus "$users" --duration "${seconds}s" "$here/k6.js"
    done
done >"$folder/figures"

medians "$folder/figures"
absent wrk oha goose k6
