#!/usr/bin/env bash
# loadtest beside its peers over HTTP/2: CPU time per request, without TLS and with it.
#
#   loadtest/benches/peers/http2.sh [SECONDS] [ROUNDS]      4 seconds, 5 rounds
#
# 64 users with a connection each and one request at a time, against nginx on loopback; the generator on one core, nginx
# on another, the tools in turn in each round. CPU time is user + sys of the whole process, start and end
# included; requests are those that nginx counted. Needs nginx, curl and openssl. cargo installs oha; h2load is in the
# package nghttp2-client. A peer that is not installed is reported as absent. `PEERS_DIR` keeps what was built.
set -euo pipefail

seconds=${1:-4} rounds=${2:-5}
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
here=$benches/peers
needs nginx openssl
[[ ${PEERS_DIR-} ]] || trap 'rm -rf "$folder"' EXIT

ours=$(package ours "$here/ours.rs" "$OURS")
oha=$(crates_oha) h2load=$(system h2load)

certificate
port=$((20000 + RANDOM % 10000))
cat >"$folder/http2.conf" <<EOF
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
    server { listen 127.0.0.1:$port; location = /status { stub_status; } }
    server {
        listen 127.0.0.1:$((port + 1)) http2 backlog=4096;
        listen 127.0.0.1:$((port + 2)) ssl http2 backlog=4096;
        location / { return 200 '{"id":1,"token":"abcdef"}'; }
    }
}
EOF
taskset -c 1 nginx -c "$folder/http2.conf"
trap 'kill "$(cat "$folder/nginx.pid")"; [[ ${PEERS_DIR-} ]] || rm -rf "$folder"' EXIT

served() { curl -s "http://127.0.0.1:$port/status" | awk 'NR == 3 { print $3 }'; }

for ((round = 1; round <= rounds; round++)); do
    echo "round $round of $rounds" >&2
    for work in plain tls; do
        url=http://127.0.0.1:$((port + 1))/
        [[ $work = plain ]] || url=https://127.0.0.1:$((port + 2))/
        measure "$work" loadtest "$ours" http2 "${url%/}" "$seconds"
        [[ ! $oha ]] || measure "$work" oha "$oha" --no-tui --http2 --insecure -z "${seconds}s" -c 64 -p 1 "$url"
        [[ ! $h2load ]] || measure "$work" h2load "$h2load" -t1 -c64 -m1 "--duration=$seconds" "$url"
    done
done >"$folder/figures"

medians "$folder/figures"
absent oha h2load
