//! The control groups of this process, as far as they ration processors. Linux only; elsewhere there
//! are none.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The usual mount point of control groups.
const CGROUP_MOUNT: &str = "/sys/fs/cgroup";

/// The folders of the groups: the innermost first, those of version 1 and version 2.
pub(super) fn cgroup_folders() -> Vec<PathBuf> {
    read_to_string("/proc/self/cgroup").map_or_else(|_| Vec::new(), |text| parse_membership(&text))
}

fn parse_membership(membership: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let mount = if controllers.is_empty() {
            PathBuf::from(CGROUP_MOUNT)
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            Path::new(CGROUP_MOUNT).join("cpu")
        } else {
            continue;
        };
        // Any group above may have a quota of its own. In a container the path may be that outside of it,
        // and only the mount is there.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            folders.push(mount.join(group));
        }
    }
    folders
}

/// The processors that a group may use at a time, where it has a quota.
pub(super) fn cpu_quota(folder: &Path) -> Option<f64> {
    let read = |file: &str| read_to_string(folder.join(file)).ok();
    let text = read("cpu.max").or_else(|| {
        let quota = read("cpu.cfs_quota_us")?;
        Some(format!("{quota} {}", read("cpu.cfs_period_us")?))
    })?;
    parse_quota(&text)
}

/// Reads `<quota> <period>`; without a quota the first is `max` or -1.
fn parse_quota(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Returns the time a group was throttled until now, summed over the processors, if the system counts it.
pub(super) fn throttled_time(folder: &Path) -> Option<Duration> {
    parse_throttled(&read_to_string(folder.join("cpu.stat")).ok()?)
}

fn parse_throttled(stat: &str) -> Option<Duration> {
    stat.lines().find_map(|line| {
        let (name, figure) = line.split_once(' ')?;
        let figure: u64 = figure.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(Duration::from_micros(figure)),
            "throttled_time" => Some(Duration::from_nanos(figure)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_above_is_looked_at() {
        let paths = |text| -> Vec<String> {
            let folders = parse_membership(text).into_iter();
            folders
                .map(|path| path.to_string_lossy().trim_end_matches('/').to_owned())
                .collect()
        };
        assert_eq!(
            paths("0::/pods/a\n"),
            [
                "/sys/fs/cgroup/pods/a",
                "/sys/fs/cgroup/pods",
                "/sys/fs/cgroup"
            ]
        );
        assert_eq!(
            paths("5:memory:/m\n4:cpu,cpuacct:/docker/x\n"),
            [
                "/sys/fs/cgroup/cpu/docker/x",
                "/sys/fs/cgroup/cpu/docker",
                "/sys/fs/cgroup/cpu"
            ]
        );
        assert_eq!(paths("3:cpuset:/\nnonsense\n"), Vec::<String>::new());
    }

    #[test]
    fn both_versions_of_quotas_are_read() {
        assert_eq!(parse_quota("50000 100000\n"), Some(0.5));
        assert_eq!(parse_quota("250000\n 100000\n"), Some(2.5));
        for none in ["max 100000\n", "-1\n 100000\n", "", "100000"] {
            assert_eq!(parse_quota(none), None, "{none:?}");
        }
    }

    #[test]
    fn both_versions_of_throttling_are_read() {
        let new = "usage_usec 9\nnr_periods 7\nnr_throttled 3\nthrottled_usec 412000\n";
        let old = "nr_periods 7\nnr_throttled 3\nthrottled_time 412000000\n";
        assert_eq!(parse_throttled(new), Some(Duration::from_millis(412)));
        assert_eq!(parse_throttled(old), Some(Duration::from_millis(412)));
        assert_eq!(parse_throttled("usage_usec 9\nuser_usec 7\n"), None);
    }
}
