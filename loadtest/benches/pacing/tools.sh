# What the two measurements in time share; to be sourced after `peers/tools.sh`: our server, which logs when
# each request comes, and the programs that are measured in both.

pacing=$benches/pacing
server=$(package server "$pacing/server.rs" 'nix = { version = "0.31", features = ["event", "socket"] }')
ours=$(package ours-in-time "$pacing/ours.rs" "$OURS")
sleeper=$(package sleep-in-time "$pacing/sleep.rs" 'bytes = "1"
http-body-util = "0.1"
hyper = { version = "1", features = ["client", "http1"] }
hyper-util = { version = "0.1", features = ["tokio"] }
nix = { version = "0.31", features = ["time"] }
tokio = { version = "1", features = ["net", "rt", "time"] }')
oha=$(crates_oha) goose=$(crates_goose)
hey=$(system hey) vegeta=$(system vegeta) wrk2=$(system wrk2) k6=$(system k6)

# serve [ANSWER_US [STALL_AT_MS STALL_MS]]: starts the server on the second core and sets `url`
serve() {
    : >"$folder/port"
    taskset -c 1 "$server" "$@" >"$folder/port" &
    serving=$!
    while [[ ! -s $folder/port ]]; do sleep 0.05; done
    url=http://127.0.0.1:$(<"$folder/port")
}

# What the server saw since it was last asked: requests, and of the middle part their rate, and gap p50, p99, max
figures() { curl -s "$url/figures"; }

# hush: ends the server
hush() {
    [[ ! $serving ]] || { kill "$serving" && wait "$serving" || true; } 2>/dev/null
    serving=
}
serving=
trap 'hush; [[ ${PEERS_DIR-} ]] || rm -rf "$folder"' EXIT
