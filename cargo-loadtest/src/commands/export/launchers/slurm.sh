#!/usr/bin/env bash
# The load test {{TITLE}} as an array job of {{AGENTS}} shards.
#
# From `cargo loadtest export slurm`: review and commit it; nothing is started yet. Every node needs `cargo-loadtest`
# and this folder, which they share.
#
#   cargo loadtest bundle {{SCENARIO_WORD}} --exact -o {{BUNDLE_WORD}}
#   LOADTEST_BASE_URL=https://staging.example.com bash {{FILE}}
#
# It submits three jobs, waits for them, and ends with the exit code of the merged run: a setup, the shards, and a merge
# with the teardown.
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{CPUS}}
#SBATCH --time={{MINUTES}}
set -euo pipefail

scenario={{SCENARIO}}
bundle={{BUNDLE}}
shards=${SHARDS:-{{AGENTS}}}
# Seconds that the first shard waits for a node for the last one, and from then to the start of the load.
patience=${PATIENCE:-600}
lead=${LEAD:-20}
{{BASE_URL}}
loadtest() {
    cargo-loadtest loadtest "$@" "$scenario" --bundle "$bundle"
}

submit() {
    # Exported: the jobs run this file too.
    RUN_FOLDER=$PWD/loadtest-runs/$(date -u +%Y%m%dT%H%M%SZ)-$$
    export RUN_FOLDER SHARDS=$shards
    mkdir -p "$RUN_FOLDER"
    echo "the jobs write to $RUN_FOLDER"
    local setup load
    setup=$(sbatch --parsable --job-name="$scenario setup" --output="$RUN_FOLDER/setup.log" "$0" setup)
    load=$(sbatch --parsable --job-name="$scenario" --output="$RUN_FOLDER/shard-%a.log" \
        --dependency="afterok:${setup%%;*}" --kill-on-invalid-dep=yes --array="0-$((shards - 1))" "$0" shard)
    local code=0
    sbatch --wait --job-name="$scenario merge" --output="$RUN_FOLDER/merge.log" \
        --dependency="afterany:${load%%;*}" "$0" merge || code=$?
    cat "$RUN_FOLDER/merge.log"
    exit "$code"
}

run_setup() {
    loadtest setup --values "$RUN_FOLDER/setup-values.json"
}

run_shard() {
    local k=$((SLURM_ARRAY_TASK_ID + 1))
    local ready
    : >"$RUN_FOLDER/ready.$k"
    # Whoever sees all of them names the start, once.
    until [[ -s $RUN_FOLDER/start ]]; do
        ready=("$RUN_FOLDER"/ready.*)
        if ((${#ready[@]} >= shards)); then
            date -u -d "+$lead seconds" +%Y-%m-%dT%H:%M:%SZ >"$RUN_FOLDER/start.$k"
            ln "$RUN_FOLDER/start.$k" "$RUN_FOLDER/start" 2>/dev/null || true
        elif ((SECONDS > patience)); then
            echo "only ${#ready[@]} of $shards shards got a node within $patience s" >&2
            exit 1
        else
            sleep 1
        fi
    done
    export LOADTEST_STORE_DIRECTORY=$RUN_FOLDER/shard-$k
    loadtest run --exact --shard "$k/$shards" --setup-values "$RUN_FOLDER/setup-values.json" --start-at "$(<"$RUN_FOLDER/start")"
}

run_merge() {
    if [[ ! -e $RUN_FOLDER/setup-values.json ]]; then
        cat "$RUN_FOLDER/setup.log"
        exit 100
    fi
    local code=0
    LOADTEST_STORE_DIRECTORY=$RUN_FOLDER/merged \
        cargo-loadtest loadtest merge --ci "$RUN_FOLDER"/shard-*/latest/record.json || code=$?
    loadtest teardown --values "$RUN_FOLDER/setup-values.json" || code=$((code == 0 ? 100 : code))
    exit "$code"
}

case ${1:-submit} in
submit) submit ;;
setup) run_setup ;;
shard) run_shard ;;
merge) run_merge ;;
*)
    echo "unknown step $1" >&2
    exit 2
    ;;
esac
