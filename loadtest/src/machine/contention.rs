//! Measures the processor time that this process is denied, and the memory that it takes.

use super::cgroup;
use loadtest_model::metrics::Health;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::time::Duration;

/// The fewest ticks for a share of stolen time: of one or two, one stolen tick would be most of the time. A
/// processor has a hundred ticks per second.
const MIN_TICKS: u64 = 50;

/// Reads the system's own counters: of throttled control groups, and of time that the host of a virtual
/// machine gave to others.
#[derive(Debug)]
pub(crate) struct ContentionMeter {
    /// The control groups that count how long they were throttled, and the last count.
    groups: Vec<(PathBuf, Duration)>,
    ticks: Option<CpuTicks>,
}

/// Processor time of the machine since it was started, in units of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuTicks {
    all: u64,
    stolen: u64,
}

impl ContentionMeter {
    /// Begins to count.
    pub(crate) fn start() -> Self {
        let groups = cgroup::cgroup_folders().into_iter();
        Self {
            groups: groups
                .filter_map(|folder| {
                    cgroup::throttled_time(&folder).map(|throttled| (folder, throttled))
                })
                .collect(),
            ticks: CpuTicks::now(),
        }
    }

    /// Returns the contention since the last call.
    pub(crate) fn take_health(&mut self) -> Health {
        let mut throttled = Duration::ZERO;
        for (folder, before) in &mut self.groups {
            let now = cgroup::throttled_time(folder).unwrap_or(*before);
            throttled += now.saturating_sub(std::mem::replace(before, now));
        }
        Health {
            throttled_us: u64::try_from(throttled.as_micros()).unwrap_or(u64::MAX),
            stolen: CpuTicks::now().map_or(0.0, |now| self.stolen_share(now)),
            memory_bytes: read_to_string("/proc/self/status")
                .ok()
                .and_then(|status| resident_memory(&status))
                .unwrap_or(0),
            ..Health::default()
        }
    }

    /// The share of stolen time since the last report; none before there are ticks enough for one.
    fn stolen_share(&mut self, now: CpuTicks) -> f64 {
        match self.ticks {
            Some(before) if now.all.saturating_sub(before.all) < MIN_TICKS => 0.0,
            before => {
                self.ticks = Some(now);
                before.map_or(0.0, |before| now.stolen_since(before))
            }
        }
    }
}

/// Reads the bytes of a process that are in memory from its `/proc/PID/status`.
fn resident_memory(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kilobytes * 1024)
}

impl CpuTicks {
    fn now() -> Option<Self> {
        Self::from_stat(&read_to_string("/proc/stat").ok()?)
    }

    /// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; what
    /// follows is in user and nice already.
    fn from_stat(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let numbers: Vec<u64> = line
            .split_whitespace()
            .map_while(|number| number.parse().ok())
            .collect();
        Some(Self {
            all: numbers.iter().take(8).sum(),
            stolen: *numbers.get(7)?,
        })
    }

    fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        let stolen = self.stolen.saturating_sub(before.stolen);
        if all == 0 {
            0.0
        } else {
            stolen as f64 / all as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_time() {
        let before = CpuTicks::from_stat("cpu  100 0 50 800 10 0 20 20 7 7\ncpu0 1 2 3\n").unwrap();
        assert_eq!((before.all, before.stolen), (1_000, 20));
        let now = CpuTicks::from_stat("cpu  150 0 60 880 10 0 20 80 9 9\n").unwrap();
        assert!((now.stolen_since(before) - 0.3).abs() < 1e-9);
        assert!(now.stolen_since(now).abs() < 1e-9);
    }

    #[test]
    fn resident_memory_is_told_in_bytes() {
        let status = "Name:\tload\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\nThreads:\t3\n";
        assert_eq!(resident_memory(status), Some(10_485_760));
        assert_eq!(resident_memory("Name:\tload\nThreads:\t3\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_memory_of_this_process_is_known() {
        assert!(ContentionMeter::start().take_health().memory_bytes > 1_000_000);
    }

    #[test]
    fn a_few_ticks_say_nothing_by_themselves() {
        let ticks = |all, stolen| CpuTicks { all, stolen };
        let mut contention = ContentionMeter {
            groups: Vec::new(),
            ticks: Some(ticks(1_000, 0)),
        };
        assert!(contention.stolen_share(ticks(1_001, 1)).abs() < 1e-9);
        assert!(contention.stolen_share(ticks(1_049, 10)).abs() < 1e-9);
        // They are not lost: the next share is of them, too.
        assert!((contention.stolen_share(ticks(1_100, 20)) - 0.2).abs() < 1e-9);
        assert!(contention.stolen_share(ticks(1_200, 20)).abs() < 1e-9);
    }

    #[test]
    fn a_system_that_does_not_tell_steals_nothing() {
        for stat in ["", "cpu  1 2 3 4", "intr 5"] {
            assert_eq!(CpuTicks::from_stat(stat), None, "{stat}");
        }
    }

    #[test]
    fn only_what_is_new_counts() {
        let folder = tempfile::tempdir().unwrap();
        let throttled = |us: u64| {
            let text = format!("nr_throttled 1\nthrottled_usec {us}\n");
            std::fs::write(folder.path().join("cpu.stat"), text).unwrap();
        };
        throttled(500);
        let mut contention = ContentionMeter {
            groups: vec![(folder.path().to_owned(), Duration::from_micros(500))],
            ticks: None,
        };
        assert_eq!(contention.take_health().throttled_us, 0);
        throttled(7_500);
        assert_eq!(contention.take_health().throttled_us, 7_000);
        assert_eq!(contention.take_health().throttled_us, 0);
        std::fs::remove_file(folder.path().join("cpu.stat")).unwrap();
        assert_eq!(contention.take_health().throttled_us, 0);
    }
}
