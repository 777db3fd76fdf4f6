#!/usr/bin/env bash
# When requests arrive: loadtest beside its peers at 1,000, 5,000 and 20,000 a second, and alone at 50,000.
#
#   loadtest/benches/pacing.sh [SECONDS] [ROUNDS]      4 seconds, 2 rounds
#
# A server of ours logs when each request arrives; it spins on one core, the generator is pinned to another,
# the tools run in turn. Rate and gaps are of the middle of a run, without its first and last second; CPU
# time is user + sys of the whole process by requests served. "late" is what a tool itself tells: from when
# a request was due to its start. The others are bare loops: `sleep`, the runtime's timer over hyper; `timer`
# and `spin`, one socket and a timer of the kernel or no sleep at all, which no generator on this machine is
# better than; `yardstick`, a thread that sleeps until each instant and sends nothing. Needs curl; a peer that is not installed
# is reported as absent. `PEERS_DIR` keeps what was built.
set -euo pipefail

seconds=${1:-4} rounds=${2:-2}
. "$(dirname "${BASH_SOURCE[0]}")/peers/tools.sh"
needs
. "$benches/pacing/tools.sh"
serve

# measure RATE TOOL COMMAND..: a line `RATE TOOL achieved gap-p50 gap-p99 cpu late-p50 late-p99 latest`
measure() {
    local rate=$1 tool=$2 cpu seen late='- - -'
    shift 2
    figures >/dev/null
    cpu=$(pinned "$@") || return 0
    seen=$(figures)
    case $tool in
        loadtest) late=$(cut -d' ' -f6-8 "$folder/output") ;;
        sleep | timer | spin) late=$(cut -d' ' -f2-4 "$folder/output") ;;
        yardstick) late=$(cut -d' ' -f2-4 "$folder/output") seen="$(cut -d' ' -f1 "$folder/output") - - - -" ;;
    esac
    awk -v rate="$rate" -v tool="$tool" -v cpu="$cpu" -v late="$late" '{
        achieved = $2 == "-" ? "-" : sprintf("%.2f", 100 * $2 / rate)
        print rate, tool, achieved, $3, $4, sprintf("%.1f", cpu * 1e6 / $1), late
    }' <<<"$seen"
}

for ((round = 1; round <= rounds; round++)); do
    echo "round $round of $rounds" >&2
    for rate in 1000 5000 20000; do
        measure $rate loadtest "$ours" open "$url" $rate "$seconds"
        measure $rate yardstick "$sleeper" thread - $rate "$seconds"
        for kind in timer spin; do
            measure $rate $kind "$sleeper" $kind "$url" $rate "$seconds"
        done
        measure $rate sleep "$sleeper" tokio "$url" $rate "$seconds"
        [[ ! $wrk2 ]] || measure $rate wrk2 "$wrk2" -t1 -c50 "-d${seconds}s" -R$rate "$url/"
        [[ ! $oha ]] || measure $rate oha "$oha" --no-tui -z "${seconds}s" -c 50 -q $rate "$url/"
        [[ ! $hey ]] || measure $rate hey "$hey" -z "${seconds}s" -c 50 -q $((rate / 50)) "$url/"
        [[ ! $vegeta ]] || measure $rate vegeta bash -c "echo GET $url/ | $vegeta attack -rate=$rate -duration=${seconds}s >/dev/null"
        [[ ! $goose ]] || measure $rate goose "$goose" --host "$url" --users 50 --increase-rate 1000 --throttle-requests $rate --run-time "${seconds}s" --no-print-metrics --quiet
        [[ ! $k6 ]] || URL=$url RATE=$rate TIME=${seconds}s USERS=50 measure $rate k6 "$k6" run --quiet "$benches/pacing/k6.js"
    done
    measure 50000 loadtest "$ours" open "$url" 50000 "$seconds"
done >"$folder/figures"

# Medians of the rounds.
awk '
    function median(list,    n, sorted, i, j, t) {
        n = split(list, sorted, " ")
        if (sorted[1] == "-") return "-"
        for (i = 2; i <= n; i++) for (j = i; j > 1 && sorted[j] + 0 < sorted[j - 1] + 0; j--) {
            t = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = t
        }
        return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
    }
    { key = $1 " " $2; if (!(key in seen)) { order[++count] = key; seen[key] = 1 } }
    { for (i = 3; i <= NF; i++) all[key, i] = all[key, i] " " $i }
    END {
        print " per s  tool       rate %  gap p50  gap p99  us CPU per request  late p50  late p99  latest (us)"
        for (i = 1; i <= count; i++) {
            split(order[i], k, " ")
            printf "%6s  %-9s %7s %8s %8s %19s %9s %9s %7s\n", k[1], k[2], median(all[order[i], 3]), median(all[order[i], 4]),
                median(all[order[i], 5]), median(all[order[i], 6]), median(all[order[i], 7]), median(all[order[i], 8]), median(all[order[i], 9])
        }
    }' "$folder/figures"
absent wrk2 oha hey vegeta goose k6
