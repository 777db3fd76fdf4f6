#!/usr/bin/env bash
# What the live view costs, or anything else that options of `run` choose: CPU time per request with A and with B.
#
#   loadtest/benches/live.sh [SECONDS] [PAIRS] [A] [B]      8 seconds, 7 pairs, no options and --quiet
#
# `cargo loadtest run` on a pseudo-terminal of 120 columns, with the options A and with the options B in turn;
# 64 users go through five steps against nginx on loopback. The tool, the load test that it starts and the
# terminal share one core, nginx has another. CPU time is what the scheduler counted for all threads of a
# process, requests are those that nginx counted, both within the run, its first and last 1.5 s left out. The
# ratios are taken pair by pair. Needs nginx, curl and `script`. `PEERS_DIR` keeps what was built.
set -euo pipefail

seconds=${1:-8} pairs=${2:-7} a=${3-} b=${4---quiet}
. "$(dirname "${BASH_SOURCE[0]}")/peers/tools.sh"
needs nginx script
[[ ${PEERS_DIR-} ]] || trap 'rm -rf "$folder"' EXIT
[[ -r /proc/self/schedstat ]] || { echo "the scheduler of this system counts nothing" >&2; exit 1; }

port=$((20000 + RANDOM % 10000))
url=http://127.0.0.1:$port
cat >"$folder/nginx.conf" <<EOF
worker_processes 1;
daemon on;
pid $folder/nginx.pid;
error_log $folder/nginx.log;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000000;
    server {
        listen 127.0.0.1:$port backlog=4096;
        location = /status { stub_status; }
        location / { return 200 'ok'; }
    }
}
EOF

project=$folder/live
mkdir -p "$project/src" "$project/tests"
: >"$project/src/lib.rs"
cat >"$project/Cargo.toml" <<EOF
[package]
name = "live"
version = "0.1.0"
edition = "2024"

[workspace]

[dev-dependencies]
loadtest = { path = "$repository/loadtest" }

[[test]]
name = "load"
harness = false
EOF
cat >"$project/tests/load.rs" <<'EOF'
use loadtest::prelude::*;

#[scenario(load = users(64, for = 10s))]
fn visit() {
    #[step(get = "/login")]
    fn login();
    #[step(get = "/browse")]
    fn browse();
    #[step(get = "/search")]
    fn search();
    #[step(get = "/basket")]
    fn basket();
    #[step(get = "/order")]
    fn order();
}

loadtest::main!();
EOF
[[ -f $project/Cargo.lock ]] || cp "$repository/Cargo.lock" "$project/Cargo.lock"
(cd "$repository" && cargo build --release --quiet --package cargo-loadtest --target-dir "$folder/target")
tool=$folder/target/release/cargo-loadtest
export CARGO_TARGET_DIR=$folder/target TERM=${TERM:-xterm}
[[ $TERM != dumb ]] || TERM=xterm
unset CI
cd "$project"
"$tool" loadtest list >"$folder/list" 2>&1 || { tail -5 "$folder/list" >&2; exit 1; }

taskset -c 1 nginx -c "$folder/nginx.conf"
stop() { kill "$(cat "$folder/nginx.pid")"; }
trap 'stop; [[ ${PEERS_DIR-} ]] || rm -rf "$folder"' EXIT

served() { curl -s "$url/status" | awk 'NR == 3 { print $3 }'; }
# used PROCESS: nanoseconds that its threads have had a processor
used() { cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { print sum }'; }
# seen: requests, and the CPU time of the tool and of the load test
seen() { echo "$(served) $(used "$process") $(used "$child")"; }

# measure OPTIONS: microseconds per request of the load test, of both, and milliseconds per second of the tool
measure() {
    local terminal process child before after
    before=$(served)
    taskset -c 0 script -qec "stty columns 120 rows 40; exec '$tool' loadtest run $1 --base-url $url --users 64 --duration ${seconds}s" \
        /dev/null >"$folder/terminal" 2>&1 </dev/null &
    terminal=$!
    # the question itself is a request as well
    until (($(served) - before > 1000)); do sleep 0.1; done
    process=$(pgrep -x -P "$terminal" cargo-loadtest)
    child=$(pgrep -P "$process")
    sleep 1.5
    before=$(seen)
    sleep $((seconds - 3))
    after=$(seen)
    # How it is graded does not matter here.
    wait "$terminal" || true
    awk -v before="$before" -v after="$after" -v seconds=$((seconds - 3)) 'BEGIN {
        split(before, a, " "); split(after, b, " ")
        n = b[1] - a[1]; tool = b[2] - a[2]; child = b[3] - a[3]
        printf "%.4f %.4f %.3f\n", child / n / 1e3, (child + tool) / n / 1e3, tool / seconds / 1e6
    }'
}

for ((pair = 1; pair <= pairs; pair++)); do
    with_a=$(measure "$a")
    with_b=$(measure "$b")
    echo "$with_a $with_b"
    echo "pair $pair of $pairs: A $with_a, B $with_b" >&2
done >"$folder/figures"

# median COLUMN-EXPRESSION: of all pairs, with the least and the most
median() {
    awk "{ printf \"%.4f\n\", $1 }" "$folder/figures" | sort -n |
        awk '{ all[NR] = $1 } END { printf "%10.3f %10.3f %10.3f\n", NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2, all[1], all[NR] }'
}
echo "                                            median      least       most"
echo "load test, us per request, A            $(median '$1')"
echo "load test, us per request, B            $(median '$4')"
echo "  ratio                                 $(median '$1 / $4')"
echo "with the tool, us per request, A        $(median '$2')"
echo "with the tool, us per request, B        $(median '$5')"
echo "  ratio                                 $(median '$2 / $5')"
echo "the tool, ms per second, A              $(median '$3')"
echo "the tool, ms per second, B              $(median '$6')"
