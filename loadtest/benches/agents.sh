#!/usr/bin/env bash
# What a controller of many agents takes: CPU time for each second of an agent, bytes, and how far apart they begin.
#
#   loadtest/benches/agents.sh [AGENTS] [SECONDS]      1000 agents, 20 seconds
#
# The agents make no load, but answer, write a journal of thirty steps, each with a hundred executions a second, and
# send it on by a real NATS server, as agents do. They share one process; the controller has another thread. The
# result is compared with what was written, bucket by bucket. Needs `nats-server` (`LOADTEST_NATS_SERVER`, or of the
# path).
set -euo pipefail

agents=${1:-1000} seconds=${2:-20}
server=${LOADTEST_NATS_SERVER:-$(command -v nats-server)} || { echo 'nats-server is missing' >&2; exit 1; }
folder=$(mktemp -d)
ulimit -n "$(ulimit -Hn)"
"$server" -a 127.0.0.1 -p -1 -js -sd "$folder/store" --ports_file_dir "$folder" 2>/dev/null &
process=$!
trap 'kill "$process"; wait "$process" || true; rm -rf "$folder"' EXIT
until url=$(grep -o 'nats://127[^"]*' "$folder"/nats-server_*.ports 2>/dev/null); do sleep 0.1; done

# of the whole workspace: with the features of one package alone, much would be compiled again
LOADTEST_CLUSTER_URL=$url SIMULATED_AGENTS=$agents SIMULATED_SECONDS=$seconds \
    cargo test --quiet --release --workspace --lib cluster::simulation -- --ignored --nocapture | grep -v '^$\|running\|test result'
echo "the server took $(ps -o cputimes= -p "$process" | tr -d ' ') s of CPU"
