#!/usr/bin/env bash
# When each of many users that start at once has had its first answer: loadtest beside wrk.
#
#   loadtest/benches/first_answers.sh [USERS] [ROUNDS]      10000 users, 3 rounds
#
# nginx on one core writes down when it answers the first request of each connection; the generator is on the other.
# Between two runs it waits a minute: so long the system keeps the local ports of the last one, and it takes 2 ms
# to find a free port among so many that are taken. wrk is left out where it is not there. `PEERS_DIR` keeps what was built.
set -euo pipefail

users=${1:-10000} rounds=${2:-3}
. "$(dirname "${BASH_SOURCE[0]}")/peers/tools.sh"
needs nginx
ulimit -n "$(ulimit -Hn)"
ours=$(package ours "$benches/peers/ours.rs" "$OURS") wrk=$(system wrk)

port=$((20000 + RANDOM % 10000))
url=http://127.0.0.1:$port
cat >"$folder/first.conf" <<EOF
worker_processes 1;
daemon on;
pid $folder/nginx.pid;
error_log $folder/nginx.log;
worker_rlimit_nofile 20000;
events { worker_connections 16384; }
http {
    map \$connection_requests \$first { 1 1; default 0; }
    log_format when '\$msec';
    access_log $folder/first when if=\$first;
    keepalive_requests 1000000000;
    client_body_temp_path $folder/body;
    server {
        listen 127.0.0.1:$port backlog=16384;
        location / { return 200 '{"id":1,"token":"abcdef"}'; }
    }
}
EOF
taskset -c 1 nginx -c "$folder/first.conf"
trap 'kill "$(cat "$folder/nginx.pid")"; [[ ${PEERS_DIR-} ]] || rm -rf "$folder"' EXIT

# answered TOOL COMMAND..: the seconds from the start of the process to half, and to the last, of the first answers
answered() {
    local tool=$1 start
    shift
    sleep 61
    : >"$folder/first"
    start=$(date +%s.%N)
    pinned "$@" >/dev/null
    sort -n "$folder/first" | awk -v tool="$tool" -v start="$start" '
        { at[NR] = $1 - start }
        END { printf "%-9s %6d users, half after %.2f s, the last after %.2f s\n", tool, NR, at[int((NR + 1) / 2)], at[NR] }'
}

for ((round = 1; round <= rounds; round++)); do
    answered loadtest "$ours" one "$url" 4 "$users"
    [[ ! $wrk ]] || answered wrk "$wrk" -t1 "-c$users" -d4s "$url/"
done
absent wrk
