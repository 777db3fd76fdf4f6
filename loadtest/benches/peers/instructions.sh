#!/usr/bin/env bash
# loadtest beside its peers: instructions in user space for each request, over HTTP/1.1 and HTTP/2.
#
#   loadtest/benches/peers/instructions.sh
#
# Callgrind counts a run of 2 s and one of 8 s, of 16 users against nginx on loopback; the difference, by the
# requests that nginx counted, leaves out start and end; what happens once a second is in it. Needs valgrind,
# nginx, curl and openssl; cargo installs oha. A peer that is not installed is reported as absent. `PEERS_DIR`
# keeps what was built.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
here=$benches/peers
needs nginx openssl valgrind

ours=$(package ours "$here/ours.rs" "$OURS")
bare=$(package bare "$here/hyper.rs" "$BARE")
oha=$(crates_oha) wrk=$(system wrk) h2load=$(system h2load)

certificate
port=$((20000 + RANDOM % 10000))
cat >"$folder/nginx.conf" <<EOF
worker_processes 1;
daemon on;
pid $folder/nginx.pid;
error_log $folder/nginx.log;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000000;
    default_type application/json;
    ssl_certificate $folder/certificate.pem;
    ssl_certificate_key $folder/key.pem;
    server { listen 127.0.0.1:$port; location = /status { stub_status; } location / { return 200 '{"id":1,"token":"abcdef"}'; } }
    server {
        listen 127.0.0.1:$((port + 1)) http2;
        listen 127.0.0.1:$((port + 2)) ssl http2;
        location / { return 200 '{"id":1,"token":"abcdef"}'; }
    }
}
EOF
nginx -c "$folder/nginx.conf"
trap 'kill "$(cat "$folder/nginx.pid")"; [[ ${PEERS_DIR-} ]] || rm -rf "$folder"' EXIT

served() { curl -s "http://127.0.0.1:$port/status" | awk 'NR == 3 { print $3 }'; }

# counted COMMAND..: how many requests it sent and how many instructions it took
counted() {
    local before
    before=$(served)
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >"$folder/output" 2>"$folder/errors"
    # one request more is the question itself
    echo "$(($(served) - before - 1)) $(awk '/Collected/ { print $NF }' "$folder/errors")"
}

# per_request WORK TOOL COMMAND..: a line; SECONDS in the command stands for the length of the run
per_request() {
    local work=$1 tool=$2
    shift 2
    echo "$(counted "${@/SECONDS/2}") $(counted "${@/SECONDS/8}")" |
        awk -v w="$work" -v t="$tool" '{ printf "%-8s %-9s %7.0f\n", w, t, ($4 - $2) / ($3 - $1) }'
}

url=http://127.0.0.1:$port
echo "work     tool      instructions per request"
per_request http1 loadtest "$ours" one "$url" SECONDS 16
per_request http1 hyper "$bare" "$url" SECONDS 16
[[ ! $wrk ]] || per_request http1 wrk "$wrk" -t1 -c16 -dSECONDSs "$url/"
[[ ! $oha ]] || per_request http1 oha "$oha" --no-tui -z SECONDSs -c 16 "$url/"
for work in h2c h2; do
    url=http://127.0.0.1:$((port + 1))
    [[ $work = h2c ]] || url=https://127.0.0.1:$((port + 2))
    per_request "$work" loadtest "$ours" http2 "$url" SECONDS 16
    [[ ! $oha ]] || per_request "$work" oha "$oha" --no-tui --http2 --insecure -z SECONDSs -c 16 -p 1 "$url/"
    [[ ! $h2load ]] || per_request "$work" h2load "$h2load" -t1 -c16 -m1 --duration=SECONDS "$url/"
done
absent wrk oha h2load
