#!/usr/bin/env bash
# What the journal of a long run costs: its bytes, and the time in which `cargo loadtest report` makes a record of it.
#
#   loadtest/benches/journal.sh [SECONDS] [RATE] [ROUNDS]      3600 seconds, 200 journeys a second, 3 rounds
#
# The checkout of the example runs for 12 s and its tool is killed, so that there is no record. The seconds of its
# journal are repeated, with numbers that grow, up to SECONDS. Then the run is reported by the tool that the alias
# `cargo loadtest` builds, and by one in release. CPU time and time by the clock, of the fastest round each.
set -euo pipefail

seconds=${1:-3600} rate=${2:-200} rounds=${3:-3}
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$repository"

cargo build --quiet --package shop --example cargo-loadtest
cargo build --quiet --release --package cargo-loadtest
target=${CARGO_TARGET_DIR:-target}
clone=$target/debug/examples/cargo-loadtest release=$target/release/cargo-loadtest

# The run, by the tool itself, so that it can be killed by its number.
export LOADTEST_STORE_DIRECTORY=$folder/runs
"$clone" loadtest run --exact shop::load::checkout --rate "$rate/s" --duration "${seconds}s" --quiet 2>"$folder/errors" &
tool=$!
for _ in {1..1200}; do
    journal=$(echo "$folder"/runs/*/journal-1.jsonl)
    [[ -f $journal && $(wc -l <"$journal") -ge 13 ]] && break
    kill -0 "$tool" 2>/dev/null || { cat "$folder/errors" >&2; exit 1; }
    sleep 0.5
done
kill -KILL "$tool"
wait "$tool" 2>/dev/null || true

run=$folder/20261121-143005-aaaa
mkdir "$run"
cp "${journal%/*}"/{run,request-1}.json "$run"
awk -v seconds="$seconds" '
    /^\{"start"/ { print }
    # The first seconds are those of the ramp.
    /^\{"frame"/ && lines < 12 && ++lines > 4 { frames[kept++] = $0 }
    END {
        for (second = 0; second < seconds; second++) {
            frame = frames[second % kept]
            sub(/"second":[0-9]+/, "\"second\":" second, frame)
            print frame
        }
    }' "$journal" >"$run/journal-1.jsonl"
bytes=$(wc -c <"$run/journal-1.jsonl")
echo "journal: $((bytes / seconds)) bytes a second, $(gzip -1 <"$run/journal-1.jsonl" | wc -c | awk -v n="$seconds" '{ print int($1 / n) }') compressed"

# milliseconds TOOL: `CPU clock` of the fastest report
milliseconds() {
    for _ in $(seq "$rounds"); do
        { TIMEFORMAT='%U %S %R'; time "$1" loadtest report "$run" >/dev/null 2>&1 || true; } 2>&1
    done | awk '{ print ($1 + $2) * 1000, $3 * 1000 }' | sort -n | head -1
}

printf '%-24s %10s %10s\n' "report of $seconds s" "CPU ms" "clock ms"
for tool in clone release; do
    read -r cpu clock <<<"$(milliseconds "${!tool}")"
    printf '%-24s %10.0f %10.0f\n' "$tool" "$cpu" "$clock"
done
