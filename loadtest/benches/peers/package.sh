# For the scripts that measure beside peers: builds their programs. Wants `here`, `repository` and `folder`.
# shellcheck shell=bash disable=SC2034,SC2154

unset RUSTFLAGS

# package NAME SOURCE DEPENDENCIES: a program built in the release profile, as cargo has it; its path
package() {
    local package=$folder/$1
    mkdir -p "$package/src"
    printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2024"\n\n[workspace]\n\n[dependencies]\n%s\n' \
        "$1" "$3" >"$package/Cargo.toml"
    cp "$2" "$package/src/main.rs"
    [[ $1 = goose-peer || -f $package/Cargo.lock ]] || cp "$repository/Cargo.lock" "$package/Cargo.lock"
    (cd "$package" && cargo build --release --quiet --target-dir "$folder/target") >&2 && echo "$folder/target/release/$1"
}

# What the programs depend on.
OURS="loadtest = { path = \"$repository/loadtest\" }
tokio = { version = \"1\", features = [\"macros\", \"rt\"] }"
BARE='bytes = "1"
hdrhistogram = { version = "7", default-features = false }
http-body-util = "0.1"
hyper = { version = "1", features = ["client", "http1"] }
hyper-util = { version = "0.1", features = ["tokio"] }
tokio = { version = "1", features = ["net", "rt"] }'
