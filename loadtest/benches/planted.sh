#!/usr/bin/env bash
# Whether the comparison with a baseline finds a slowdown that was planted, and nothing where nothing was.
#
#   loadtest/benches/planted.sh [SECONDS [RUNS]]      300 2
#
# Real runs of the journey `checkout` of the example shop, 30 a second, one after another. The shop holds each
# request for 20 ms, as a service that does some work. First come three runs, which become two baselines: `one`
# has the first of them, `three` all. Then come RUNS of the same shop, then RUNS of one that holds orders for
# 26 ms, 30 % longer; logins and products are as they were. Each of these is compared with both baselines: a
# line says what came of it, and the lines below what became worse.
set -euo pipefail

seconds=${1:-300} runs=${2:-2}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --quiet --release -p cargo-loadtest
target=$(realpath "${CARGO_TARGET_DIR:-target}")
tool=$target/release/cargo-loadtest
# runs and baselines of its own, within the workspace
mkdir -p target
work=$(mktemp -d "$PWD/target/planted-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '[store]\ndirectory = "runs"\n' >loadtest.toml

# run MILLISECONDS: one of a shop that holds orders for so long
run() {
    local hold='{"path":"%s","delay_ms":%d}'
    # shellcheck disable=SC2059 # the format is ours
    SHOP_FAULTS="[$(printf "$hold,$hold,$hold" /login 20 /products 20 /orders "$1")]" \
        "$tool" run -p shop checkout --rate 30/s --ramp-up 5s --duration "${seconds}s" --quiet >/dev/null ||
        [[ $? = 99 ]] # its own limits are not the question
}

# judge NAME: the last run beside both baselines
judge() {
    for baseline in one three; do
        local code=0 said
        said=$("$tool" compare "$baseline" latest) || code=$?
        case $code in
        0) printf '%-28s %-6s nothing became worse\n' "$1" "$baseline" ;;
        99) printf '%-28s %-6s REGRESSED\n%s\n' "$1" "$baseline" "$(grep regressed <<<"$said")" ;;
        *) printf '%-28s %-6s not compared (exit code %d)\n%s\n' "$1" "$baseline" "$code" "$said" ;;
        esac
    done
}

for ((i = 0; i < 3; i++)); do
    run 20
    if ((i == 0)); then "$tool" baseline save one >/dev/null; fi
    "$tool" baseline save three >/dev/null
done
for ((i = 0; i < runs; i++)); do
    run 20
    judge 'the same'
done
for ((i = 0; i < runs; i++)); do
    run 26
    judge 'orders 30 % slower'
done
