#!/usr/bin/env bash
# What `loadtest` costs at compile time.
#
#   loadtest/benches/compile_time.sh dependencies   crates and CPU time of a cold test build, beside
#                                                   a package that has reqwest and tokio
#   loadtest/benches/compile_time.sh steps          CPU time and size per step: 100 scenarios of 6
#                                                   steps in one file, beside a file with one scenario
#
# CPU time is user + sys, so that a busy machine disturbs little; of several runs the smallest counts.
# Crates that cargo does not have yet are fetched first; `CARGO_NET_OFFLINE=true` forbids that.
set -euo pipefail

library=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=$work/target CARGO_TERM_QUIET=true
# What was compiled before would be taken over where only the time of a file changed.
export CARGO_INCREMENTAL=0
unset RUSTFLAGS

# user + sys of a command, in seconds
cpu_time() {
    local TIMEFORMAT='%U %S' times
    times=$({ time "$@" >&2; } 2> >(tail -1)) || { echo "failed: $*" >&2; exit 1; }
    awk '{ print $1 + $2 }' <<<"$times"
}

package() {
    mkdir -p "$work/$1/src" "$work/$1/tests"
    printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2024"\n\n[workspace]\n\n%s\n' \
        "$1" "$2" >"$work/$1/Cargo.toml"
    : >"$work/$1/src/lib.rs"
}

load_test="[dev-dependencies]
loadtest = { path = \"$library\" }

[[test]]
name = \"load\"
harness = false"

scenario() {
    cat <<EOF
#[scenario(tags = ["generated"], load = rate(10/s, for = 10s))]
fn shop_$1() {
    #[step(post = "/login", json = { "user": "ada" }, expect = 200)]
    fn login() -> Login;
    #[step(get = "/products?for={{login.response.user.id}}", bearer = "{{login.response.token}}")]
    fn browse() -> Catalog;
    #[step(post = "/orders", json = { "id": {{browse.response.items[0].id}}, "count": 1 })]
    fn order() -> Value;
    #[step(weight = 0.5, think = 1s..2s)]
    fn detail(login: &Login, browse: &Catalog) -> Option<Request<Item>> {
        let item = browse.items.first()?;
        Some(Request::get(format!("/products/{}", item.id)).bearer_auth(&login.token))
    }
    #[step]
    fn pay(order: &Value, login: &Response<Login>) -> Request {
        Request::post("/payments").json(&json!({ "order": order["id"], "token": login.token }))
    }
    #[step(get = "/orders/{{order.response.id}}")]
    fn show();
}
EOF
}

scenarios() {
    printf '%s\n' 'use loadtest::prelude::*;' \
        '#[response] struct Login { token: String, user: User }' \
        '#[response] struct User { id: u64 }' \
        '#[response] struct Catalog { items: Vec<Item> }' \
        '#[response] struct Item { id: u64 }'
    for ((i = 1; i <= $1; i++)); do scenario "$i"; done
    echo 'loadtest::main!();'
}

least() { awk -v a="${1:-$2}" -v b="$2" 'BEGIN { print (a < b) ? a : b }'; }

dependencies() {
    package plain '[dependencies]
reqwest = { version = "0.13", default-features = false, features = ["rustls", "json"] }
tokio = { version = "1", features = ["macros", "rt"] }'
    cat >"$work/plain/tests/load.rs" <<'EOF'
#[tokio::test]
async fn nobody_listens() {
    assert!(reqwest::get("http://127.0.0.1:1/").await.is_err());
}
EOF
    package loaded "$load_test"
    scenarios 1 >"$work/loaded/tests/load.rs"
    local run name
    local -A best=()
    for name in plain loaded; do
        cp "$library/../Cargo.lock" "$work/$name/Cargo.lock"
        (cd "$work/$name" && cargo fetch)
    done
    for run in 1 2; do
        for name in plain loaded; do
            rm -rf "$CARGO_TARGET_DIR"
            best[$name]=$(least "${best[$name]-}" "$(cd "$work/$name" && cpu_time cargo build --tests -j2)")
        done
    done
    for name in plain loaded; do
        printf '%-8s %4d crates, %6.1f s of CPU time\n' "$name" "$(crates "$name")" "${best[$name]}"
    done
}

# How many crates the tests of a package need, its own not among them.
crates() {
    (cd "$work/$1" && cargo tree -e no-build --prefix none --no-dedupe) | sed 's/ (.*//' | grep -v "^$1 " | sort -u | wc -l
}

steps() {
    package steps "$load_test"
    cp "$library/../Cargo.lock" "$work/steps/Cargo.lock"
    cd "$work/steps"
    local profile command count run best
    for profile in check debug release; do
        case $profile in
            check) command=(cargo check --tests -j1) ;;
            debug) command=(cargo build --tests -j1) ;;
            release) command=(cargo build --tests -j1 --release) ;;
        esac
        local -A fastest=() size=()
        for count in 1 101; do
            scenarios "$count" >tests/load.rs
            "${command[@]}"
            best=
            for run in 1 2 3; do
                touch tests/load.rs
                best=$(least "$best" "$(cpu_time "${command[@]}")")
            done
            fastest[$count]=$best
            size[$count]=0
            [[ $profile = check ]] || size[$count]=$(wc -c <"$(binary "$profile")")
        done
        awk -v profile="$profile" -v time="${fastest[101]} ${fastest[1]}" -v size="${size[101]} ${size[1]}" 'BEGIN {
            split(time, t); split(size, s)
            printf "%-8s %4.1f ms", profile, (t[1] - t[2]) / 600 * 1000
            if (s[1]) printf " and %4.1f KB of binary", (s[1] - s[2]) / 600 / 1000
            print " a step" }'
    done
}

# The newest test binary of a profile.
binary() {
    local file newest=
    for file in "$CARGO_TARGET_DIR/$1"/deps/load-*; do
        [[ -x $file && ${file##*/} != *.* && ( -z $newest || $file -nt $newest ) ]] && newest=$file
    done
    echo "$newest"
}

case ${1-} in
    dependencies | steps) "$1" ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 2 ;;
esac
