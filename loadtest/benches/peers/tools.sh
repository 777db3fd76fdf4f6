# What the measurements beside peers share; to be sourced. Where things are built is `folder`, which
# `PEERS_DIR` names and keeps; without it, whoever sources this removes it at the end.

unset RUSTFLAGS
benches=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
repository=$benches/../..
folder=${PEERS_DIR:-$(mktemp -d)}
mkdir -p "$folder"

needs() {
    local needed
    for needed in "$@" curl taskset; do
        command -v "$needed" >/dev/null || { echo "$needed is needed" >&2; exit 1; }
    done
    [[ $(nproc) -ge 2 ]] || { echo "two cores are needed" >&2; exit 1; }
}

# package NAME SOURCE DEPENDENCIES: a program built in the release profile, as cargo has it; its path
package() {
    local package=$folder/$1
    mkdir -p "$package/src"
    # what is as it was is left alone, so that cargo has nothing to do
    cmp --silent "$2" "$package/src/main.rs" || cp "$2" "$package/src/main.rs"
    printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2024"\n\n[workspace]\n\n[dependencies]\n%s\n' \
        "$1" "$3" >"$package/Cargo.toml"
    [[ $1 = goose-peer || -f $package/Cargo.lock ]] || cp "$repository/Cargo.lock" "$package/Cargo.lock"
    (cd "$package" && cargo build --release --quiet --target-dir "$folder/target") >&2 && echo "$folder/target/release/$1"
}

# What the programs depend on that send requests.
OURS="loadtest = { path = \"$repository/loadtest\" }
loadtest-model = { path = \"$repository/loadtest/model\" }
tokio = { version = \"1\", features = [\"macros\", \"rt\"] }"
BARE='bytes = "1"
hdrhistogram = { version = "7", default-features = false }
http-body-util = "0.1"
hyper = { version = "1", features = ["client", "http1"] }
hyper-util = { version = "0.1", features = ["tokio"] }
tokio = { version = "1", features = ["net", "rt"] }'

# certificate: a certificate for this machine, and its key
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
}

# system NAME: the path of a program of the system; nothing where it is not installed
system() {
    command -v "$1" || true
}

# crates_oha: the path of oha, which cargo installs; nothing where it cannot
crates_oha() {
    command -v oha && return
    [[ -x $folder/bin/oha ]] || cargo install --quiet --locked --root "$folder" oha >&2 || return 0
    echo "$folder/bin/oha"
}

# crates_goose: the path of a program with Goose in it, which cargo builds; nothing where it cannot
crates_goose() {
    package goose-peer "$benches/peers/goose.rs" 'goose = "0.19"
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt"] }' || true
}

# absent PEER..: says which of them are
absent() {
    local peer
    for peer in "$@"; do
        [[ ${!peer} ]] || echo "$peer is absent: it is not installed here"
    done
}

# pinned COMMAND..: runs it on the first core; what it says goes to files, its CPU time in seconds to stdout
pinned() {
    local times TIMEFORMAT='%U %S'
    times=$({ time timeout 100 taskset -c 0 "$@" >"$folder/output" 2>"$folder/errors"; } 2>&1) || {
        echo "failed: $*" >&2
        tail -n 5 "$folder/output" "$folder/errors" >&2
        return 1
    }
    awk '{ print $1 + $2 }' <<<"$times"
}

# measure WORK TOOL COMMAND..: a line `WORK TOOL microseconds`, by the requests that `served` of the script counts
measure() {
    local work=$1 tool=$2 before cpu
    shift 2
    before=$(served)
    cpu=$(pinned "$@") || return 0
    # one request more is the question itself
    awk -v n=$(($(served) - before - 1)) -v w="$work" -v t="$tool" '{ printf "%s %s %.3f\n", w, t, $1 * 1e6 / n }' <<<"$cpu"
}

# medians FILE: of its lines `WORK TOOL microseconds`, and the median of the ratios by round to loadtest
medians() {
    awk '
        function median(list,    n, sorted, i, j, t) {
            n = split(list, sorted, " ")
            for (i = 2; i <= n; i++) for (j = i; j > 1 && sorted[j] + 0 < sorted[j - 1] + 0; j--) {
                t = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = t
            }
            return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
        }
        $2 == "loadtest" { mine[$1] = $3 }
        { key = $1 " " $2; if (!(key in all)) order[++count] = key; all[key] = all[key] " " $3; ratio[key] = ratio[key] " " mine[$1] / $3 }
        END {
            print "work   tool      us CPU per request   loadtest is .. times this"
            for (i = 1; i <= count; i++) {
                split(order[i], k, " ")
                printf "%-6s %-9s %12.2f %20.2f\n", k[1], k[2], median(all[order[i]]), median(ratio[order[i]])
            }
        }' "$1"
}
