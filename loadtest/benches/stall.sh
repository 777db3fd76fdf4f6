#!/usr/bin/env bash
# What each tool says of a target that stalls once: loadtest beside its peers, and arithmetic.
#
#   loadtest/benches/stall.sh [ANSWER_US]      2200
#
# 1,000 requests a second for 10 s. A server of ours answers each after ANSWER_US microseconds, but 4 s after
# the first it stalls for 2 s. An answer takes what it took a bare blocking socket before that, to the same
# server and back, which is printed first; what is due at a time `t` of the stall takes `6 s - t` longer: that,
# over all 10,000 requests, is the row `arithmetic`. Each tool's own report follows, with the requests it says it sent.
# `closed` is loadtest with two users who send their next request when the last was answered: what they measure
# is right, but it is another question, since while the target stalls they ask for nothing.
# One core is the server's, which spins; the tools are pinned to another. Needs curl; a peer
# that is not installed is reported as absent. `PEERS_DIR` keeps what was built.
set -euo pipefail

answer=${1:-2200} rate=1000 seconds=10
. "$(dirname "${BASH_SOURCE[0]}")/peers/tools.sh"
needs
. "$benches/pacing/tools.sh"

row() { printf '%-26s %9s %9s %9s %9s %8s\n' "$@"; }

# milliseconds: the times of its input, in any unit, as milliseconds; other words as they are
milliseconds() {
    sed -E 's/µs/us/g' | awk '{
        for (i = 1; i <= NF; i++) {
            if ($i ~ /^[0-9.]+us$/) $i = sprintf("%.2f", $i / 1e3)
            else if ($i ~ /^[0-9.]+ms$/) $i = sprintf("%.2f", $i + 0)
            else if ($i ~ /^[0-9.]+s$/) $i = sprintf("%.2f", $i * 1e3)
        }
        print
    }'
}

# measure NAME READ COMMAND..: a row; READ makes `p50 p90 p99 max sent` of what the tool says, and `{url}` in the
# command is the server's
measure() {
    local name=$1 read=$2
    shift 2
    serve "$answer" 4000 2000
    if pinned "${@//\{url\}/$url}" >/dev/null; then
        # shellcheck disable=SC2046
        row "$name" $("$read" <"$folder/output" | milliseconds)
    fi
    hush
}

numbers() { awk 'NF >= 5 { print $2 "us", $3 "us", $4 "us", $5 "us", $1 }'; }
of_oha() {
    awk -F'[:,]' '
        /"latencyPercentiles"/ { inside = 1 }
        inside && /"p50"/ { p50 = $2 } inside && /"p90"/ { p90 = $2 } inside && /"p99"/ { p99 = $2; inside = 0 }
        /"slowest"/ && !max { max = $2 } /^ *"200"/ { sent = $2 }
        END { print p50 + 0 "s", p90 + 0 "s", p99 + 0 "s", max + 0 "s", sent + 0 }'
}
of_wrk2() {
    awk '$1 == "50.000%" { p50 = $2 } $1 == "90.000%" { p90 = $2 } $1 == "99.000%" { p99 = $2 }
        $1 == "100.000%" { max = $2 } / requests in / { sent = $1 } END { print p50, p90, p99, max, sent }'
}
of_hey() {
    awk '$1 == "Slowest:" { max = $2 "s" } $1 == "50%" { p50 = $3 "s" } $1 == "90%" { p90 = $3 "s" }
        $1 == "99%" { p99 = $3 "s" } $1 == "[200]" { sent = $2 } END { print p50, p90, p99, max, sent }'
}
of_vegeta() {
    awk '/^Requests/ { sent = $5 } /^Latencies/ { print $12, $13, $15, $16, sent }' | tr -d ,
}
of_k6() {
    awk -F'[= ]+' '/http_req_duration\.*:/ { for (i = 1; i < NF; i++) value[$i] = $(i + 1) }
        /http_reqs\.*:/ { sent = $3 } END { print value["p(50)"], value["p(90)"], value["p(99)"], value["max"], sent }'
}

serve "$answer"
pinned "$sleeper" answer "$url" 300 3 >/dev/null
took=$(cut -d' ' -f2 "$folder/output")
hush
echo "an answer takes a bare socket $took us"
row tool 'p50 (ms)' p90 p99 max sent
# shellcheck disable=SC2046
row arithmetic $(awk -v answer="$took" -v rate=$rate -v seconds=$seconds 'BEGIN {
    for (i = 0; i < rate * seconds; i++) {
        at = i / rate
        time = answer / 1e3 + (at >= 4 && at < 6 ? (6 - at) * 1e3 : 0)
        # in hundredths of a millisecond
        count[int(time * 100 + 0.5)]++
    }
    n = split("0.5 0.9 0.99 1", share, " ")
    for (k = 1; k <= n; k++) {
        left = share[k] * rate * seconds
        for (time = 0; left > 0; time++) left -= count[time]
        printf "%.2f ", (time - 1) / 100
    }
    print rate * seconds
}')
measure 'loadtest, open' numbers "$ours" open '{url}' $rate $seconds
measure 'loadtest, closed, 2 users' numbers "$ours" closed '{url}' 2 $seconds
[[ ! $wrk2 ]] || measure 'wrk2, 50 connections' of_wrk2 "$wrk2" -t1 -c50 -d${seconds}s -R$rate --latency '{url}'
[[ ! $vegeta ]] || measure vegeta of_vegeta bash -c "echo GET {url} | $vegeta attack -rate=$rate -duration=${seconds}s | $vegeta report"
for users in 3000 100; do
    [[ ! $k6 ]] || RATE=$rate TIME=${seconds}s USERS=$users measure "k6, $users users" of_k6 "$k6" run --quiet -e URL='{url}' "$pacing/k6.js"
done
[[ ! $oha ]] || {
    measure 'oha, 50 connections' of_oha "$oha" --no-tui --output-format json -z ${seconds}s -c 50 -q $rate '{url}'
    measure 'oha --latency-correction' of_oha "$oha" --no-tui --output-format json --latency-correction -z ${seconds}s -c 50 -q $rate '{url}'
}
[[ ! $hey ]] || measure 'hey, 50 workers' of_hey "$hey" -z ${seconds}s -c 50 -q $((rate / 50)) '{url}'
[[ ! $goose ]] || measure 'Goose throttled, 50 users' numbers "$goose" --host '{url}' --users 50 --increase-rate 1000 --throttle-requests $rate --run-time ${seconds}s --no-print-metrics --quiet
absent wrk2 vegeta k6 oha hey goose
