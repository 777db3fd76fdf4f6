//! Tests in a network of their own, in which there are addresses that are no loopback and lead nowhere else.
//! Each is run once more, by itself, within it.

use crate::call::tool;
use crate::project::list_built;
use libtest_mimic::{Completion, Failed, Trial};
use std::path::Path;
use std::process::Command;

/// Set within the network of its own.
const INSIDE: &str = "LOADTEST_E2E_INSIDE";
/// The programs that are built already, for a process within.
pub(crate) const BUILT: &str = "LOADTEST_E2E_BUILT";
/// `64:ff9b::a63:2` is what a translator makes of 10.99.0.2; `hosts` is read in place of the system's; `out0` is there to
/// be seen, and down.
const NETWORK: &str = "ip link set lo up && ip addr add 10.99.0.1/32 dev lo && \
                       ip addr add 10.99.0.2/32 dev lo && ip addr add 169.254.169.254/32 dev lo && \
                       ip link add out0 type veth peer name out1 && \
                       ip -6 addr add 64:ff9b::a63:2/128 dev lo nodad && \
                       mount --bind \"$0\" /etc/hosts && exec \"$@\"";

/// Makes a trial of each test; `prepare` does what the network is too lonely for.
pub(crate) fn trials(module: &str, prepare: fn(), all: &[(&'static str, fn())]) -> Vec<Trial> {
    let trial = |(name, test): &(&'static str, fn())| {
        let (name, test) = (format!("{module}::{name}"), *test);
        Trial::ignorable_test(name.clone(), move || inside(&name, prepare, test))
    };
    all.iter().map(trial).collect()
}

/// Whether this process is a test in a network of its own, with others beside it.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Where a test within writes what `/etc/hosts` is to say.
pub(crate) fn hosts() -> std::path::PathBuf {
    std::env::var_os(INSIDE).expect("a test within").into()
}

/// Runs the trial `name` once more, by itself, in a network of its own; there, runs `test`.
pub(crate) fn inside(name: &str, prepare: fn(), test: impl FnOnce()) -> Result<Completion, Failed> {
    if is_inside() {
        test();
        return Ok(Completion::Completed);
    }
    let hosts = tempfile::NamedTempFile::new()?;
    std::fs::write(hosts.path(), "127.0.0.1 localhost\n")?;
    if !within(hosts.path())
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Ok(Completion::ignored_with(
            "`unshare`, `ip` and `mount` are not installed, or may not make a network of their own",
        ));
    }
    prepare();
    tool();
    let output = within(hosts.path())
        .arg(std::env::current_exe()?)
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, hosts.path())
        .env(BUILT, list_built())
        .output()?;
    if output.status.success() {
        return Ok(Completion::Completed);
    }
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}{}", shown(&output.stdout), shown(&output.stderr)).into())
}

fn within(hosts: &Path) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["-Urnm", "sh", "-c", NETWORK]).arg(hosts);
    unshare
}

/// Names tests after themselves.
macro_rules! tests {
    ($($test:ident,)*) => {
        &[$((stringify!($test), $test as fn()),)*]
    };
}
pub(crate) use tests;
