//! Checks before a run that the machine has what the load needs.

use super::cgroup;
use std::collections::BTreeMap;

/// Files of a worker besides its connections: those of its runtime and its timer.
const WORKER_FILES: u64 = 8;
/// Files of the process besides workers and connections: journal, record, data.
const RESERVED_FILES: u64 = 16;

/// The needs of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineNeed {
    /// Virtual users, each with a connection of its own.
    pub(crate) users: u32,
    /// True if the number is only a ceiling: the most users that an open load may make.
    pub(crate) is_ceiling: bool,
    /// Worker threads.
    pub(crate) workers: u32,
    /// The target of the connections.
    pub(crate) target: Option<String>,
    /// The number of target addresses that the users are spread over.
    pub(crate) addresses: u64,
    /// The target has its ends of the connections in this process too.
    pub(crate) target_in_process: bool,
}

/// The reason why a load cannot fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineShortage {
    /// The missing resource.
    pub(crate) message: String,
    /// The remedy.
    pub(crate) help: String,
}

/// The limits of this process.
#[derive(Debug, Clone, Default, PartialEq)]
struct ProcessLimits {
    /// Open files at once.
    files: Option<u64>,
    /// Files that are open.
    open: u64,
    /// Local ports for connections to one address.
    ports: Option<u64>,
    /// Processors at a time, where the system rations them.
    quota: Option<f64>,
}

/// Raises the limit of open files as far as the system lets it, and checks what `loads` that run at once
/// need. Returns what may become a problem, in words.
///
/// # Errors
/// [`MachineShortage`]: what was asked for cannot fit.
pub(crate) fn check_machine(loads: &[MachineNeed]) -> Result<Vec<String>, MachineShortage> {
    let limits = ProcessLimits {
        files: raise_file_limit(),
        open: count_open_files(),
        ports: local_ports(),
        quota: cgroup::cgroup_folders()
            .iter()
            .filter_map(|folder| cgroup::cpu_quota(folder))
            .min_by(f64::total_cmp),
    };
    limits.check_loads(loads)
}

impl ProcessLimits {
    fn check_loads(&self, loads: &[MachineNeed]) -> Result<Vec<String>, MachineShortage> {
        let mut warnings = Vec::new();
        self.check_files(loads, &mut warnings)?;
        self.check_ports(loads, &mut warnings)?;
        let workers: u32 = loads.iter().map(|load| load.workers).sum();
        if let Some(quota) = self.quota.filter(|quota| f64::from(workers) >= *quota) {
            warnings.push(format!(
                "the control group of this process may use {quota} processors, and {workers} worker \
                 {} can use up all of it; then the system stops them for the rest of each period, and \
                 the run is DEGRADED as throttled: raise the limit of the container, or lower the load",
                if workers == 1 { "thread" } else { "threads" }
            ));
        }
        Ok(warnings)
    }

    fn check_files(
        &self,
        loads: &[MachineNeed],
        warnings: &mut Vec<String>,
    ) -> Result<(), MachineShortage> {
        let Some(limit) = self.files else {
            return Ok(());
        };
        let workers: u64 = loads.iter().map(|load| u64::from(load.workers)).sum();
        let apart = self.open + RESERVED_FILES + WORKER_FILES * workers;
        let connections = |users: fn(&MachineNeed) -> u32| -> u64 {
            let ends = |load| u64::from(users(load)) * (1 + u64::from(load.target_in_process));
            loads.iter().map(ends).sum()
        };
        let (asked, most) = (
            connections(MachineNeed::certain_users),
            connections(|load| load.users),
        );
        let help = |files: u64| {
            format!(
                "use fewer users, or let a process open {files} files: `ulimit -n {files}`, \
                 `LimitNOFILE=` of a systemd unit, `--ulimit nofile=` of a container"
            )
        };
        if apart + asked > limit {
            return Err(MachineShortage {
                message: format!(
                    "the virtual users need {asked} open connections and the rest {apart} files, and this \
                     process may open {limit} in all"
                ),
                help: help(apart + asked),
            });
        }
        if apart + most > limit {
            warnings.push(format!(
                "up to {most} virtual users may be needed, and this process can open {} connections; \
                 beyond that requests fail as `local.fds` and the run is INVALID: set `max_users`, or {}",
                limit - apart,
                help(apart + most)
            ));
        }
        Ok(())
    }

    fn check_ports(
        &self,
        loads: &[MachineNeed],
        warnings: &mut Vec<String>,
    ) -> Result<(), MachineShortage> {
        let Some(ports) = self.ports else {
            return Ok(());
        };
        let mut targets: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for load in loads {
            let Some(target) = &load.target else {
                continue;
            };
            let (asked, most, room) = targets.entry(target).or_default();
            *asked += u64::from(load.certain_users());
            *most += u64::from(load.users);
            *room = ports * load.addresses.max(1);
        }
        for (target, (asked, most, room)) in targets {
            if asked > room {
                return Err(MachineShortage {
                    message: format!(
                        "{asked} virtual users need as many local ports for their connections to \
                         {target}, and this machine has {room}"
                    ),
                    help: "use fewer users, widen the range of local ports \
                           (`sysctl net.ipv4.ip_local_port_range`), or give the target more addresses"
                        .to_owned(),
                });
            }
            if most > room {
                warnings.push(format!(
                    "up to {most} virtual users may be needed, and this machine has {room} local ports for \
                     connections to {target}; beyond that requests fail as `local.ports` and the run is \
                     INVALID: set `max_users`, or widen the range of local ports \
                     (`sysctl net.ipv4.ip_local_port_range`)"
                ));
            }
        }
        Ok(())
    }
}

impl MachineNeed {
    /// The users that there are for certain.
    fn certain_users(&self) -> u32 {
        if self.is_ceiling {
            self.users.min(1)
        } else {
            self.users
        }
    }
}

/// Raises the soft limit of open files to the hard one; what it is then.
#[cfg(unix)]
fn raise_file_limit() -> Option<u64> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    // macOS takes no more than its `OPEN_MAX`, even where the hard limit is endless.
    let raised = [hard, 10_240].into_iter().find(|&to| {
        to > soft && to <= hard && setrlimit(Resource::RLIMIT_NOFILE, to, hard).is_ok()
    });
    Some(raised.unwrap_or(soft))
}

#[cfg(not(unix))]
fn raise_file_limit() -> Option<u64> {
    None
}

/// Returns the number of open files; zero if the system does not tell.
fn count_open_files() -> u64 {
    std::fs::read_dir("/dev/fd").map_or(0, |entries| entries.count() as u64)
}

/// Returns the number of local ports for connections, if the system tells.
fn local_ports() -> Option<u64> {
    parse_port_range(&std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn parse_port_range(range: &str) -> Option<u64> {
    let mut numbers = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(users: u32) -> MachineNeed {
        MachineNeed {
            users,
            is_ceiling: false,
            workers: 2,
            target: Some("http://shop".to_owned()),
            addresses: 1,
            target_in_process: false,
        }
    }

    fn files(files: u64) -> ProcessLimits {
        ProcessLimits {
            files: Some(files),
            open: 8,
            ..ProcessLimits::default()
        }
    }

    #[test]
    fn users_that_cannot_all_be_connected_are_refused_with_the_remedy() {
        // 8 open, 16 to spare, twice 8 for the workers, and a connection for each user.
        assert_eq!(files(140).check_loads(&[need(100)]), Ok(Vec::new()));
        let shortage = files(139).check_loads(&[need(100)]).unwrap_err();
        assert_eq!(
            shortage.message,
            "the virtual users need 100 open connections and the rest 40 files, and this process may \
             open 139 in all"
        );
        assert!(
            shortage.help.contains("`ulimit -n 140`"),
            "{}",
            shortage.help
        );
    }

    #[test]
    fn a_target_in_the_same_process_needs_as_many_again() {
        let both = MachineNeed {
            target_in_process: true,
            ..need(100)
        };
        assert!(files(239).check_loads(std::slice::from_ref(&both)).is_err());
        assert_eq!(files(240).check_loads(&[both]), Ok(Vec::new()));
    }

    #[test]
    fn loads_that_run_at_once_share_the_limit() {
        assert!(files(255).check_loads(&[need(100), need(100)]).is_err());
        assert_eq!(
            files(256).check_loads(&[need(100), need(100)]),
            Ok(Vec::new())
        );
    }

    #[test]
    fn a_ceiling_that_nobody_asked_for_is_a_warning() {
        let ceiling = MachineNeed {
            is_ceiling: true,
            ..need(10_000)
        };
        let limits = ProcessLimits {
            ports: Some(5_000),
            ..files(1_024)
        };
        let warnings = limits.check_loads(&[ceiling]).unwrap();
        assert_eq!(warnings.len(), 2);
        assert!(
            warnings[0].contains("can open 984 connections"),
            "{warnings:?}"
        );
        assert!(warnings[0].contains("`max_users`") && warnings[0].contains("`ulimit -n 10040`"));
        assert!(warnings[1].contains("5000 local ports"), "{warnings:?}");
    }

    #[test]
    fn more_users_than_local_ports_are_refused_unless_the_target_has_more_addresses() {
        let limits = ProcessLimits {
            ports: parse_port_range("32768\t60999\n"),
            ..ProcessLimits::default()
        };
        assert_eq!(limits.ports, Some(28_232));
        assert_eq!(limits.check_loads(&[need(28_232)]), Ok(Vec::new()));
        let shortage = limits
            .check_loads(&[need(20_000), need(8_233)])
            .unwrap_err();
        assert_eq!(
            shortage.message,
            "28233 virtual users need as many local ports for their connections to http://shop, and this \
             machine has 28232"
        );
        assert!(shortage.help.contains("net.ipv4.ip_local_port_range"));
        let elsewhere = MachineNeed {
            target: Some("http://bank".to_owned()),
            ..need(8_233)
        };
        assert_eq!(
            limits.check_loads(&[need(20_000), elsewhere]),
            Ok(Vec::new())
        );
        let spread = MachineNeed {
            addresses: 2,
            ..need(50_000)
        };
        assert_eq!(limits.check_loads(&[spread]), Ok(Vec::new()));
    }

    #[test]
    fn a_quota_that_the_workers_can_use_up_is_a_warning() {
        let with = |quota| {
            let limits = ProcessLimits {
                quota,
                ..ProcessLimits::default()
            };
            limits.check_loads(&[need(1)]).unwrap().len()
        };
        assert_eq!((with(None), with(Some(2.5))), (0, 0));
        assert_eq!((with(Some(2.0)), with(Some(0.5))), (1, 1));
    }

    #[cfg(unix)]
    #[test]
    fn the_soft_limit_of_files_is_raised_to_the_hard_one() {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let lower = soft.min(256);
        setrlimit(Resource::RLIMIT_NOFILE, lower, hard).unwrap();
        let raised = raise_file_limit().unwrap();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap().0, raised);
        assert!(
            raised == hard || (raised > lower && hard > raised),
            "{raised} of {hard}"
        );
        assert!(count_open_files() < raised);
    }
}
