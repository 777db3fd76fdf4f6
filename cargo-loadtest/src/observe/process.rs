//! The processes that listen at a port of this machine, and what they use, from `/proc` of Linux.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processes start others; they are looked for once in so many readings.
const SEARCH_EVERY: u32 = 5;

/// A figure of the processes of a target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProcessFigure {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) value: f64,
}

/// What the processes of a target used.
#[derive(Debug)]
pub(super) struct ProcessReading {
    /// The name of the first: `process 4711 (shop)`.
    pub(super) name: String,
    /// The time since the reading before, which rates are about.
    pub(super) span: Duration,
    pub(super) figures: Vec<ProcessFigure>,
}

/// The processes of a target: those that listen at its port, and those that they started.
#[derive(Debug, Default)]
pub(super) struct ProcessGroup {
    readings: u32,
    /// The one that started the others is the first.
    processes: Vec<u32>,
    /// The name of the first.
    name: String,
    before: Option<Before>,
}

/// What grows, as it was at the last reading.
#[derive(Debug)]
struct Before {
    at: Instant,
    ticks: BTreeMap<u32, u64>,
    switches: BTreeMap<u32, u64>,
}

/// What one process uses.
#[derive(Debug, Default, PartialEq, Eq)]
struct ProcessStat {
    name: String,
    parent: u32,
    ticks: u64,
    threads: u64,
    resident_pages: u64,
}

impl ProcessGroup {
    /// Reads what the processes at a port use; `None` where there are none, and at the first reading: rates need two.
    pub(super) fn read(&mut self, port: u16) -> Option<ProcessReading> {
        if self.readings.is_multiple_of(SEARCH_EVERY) || self.processes.is_empty() {
            self.processes = find_processes(port);
        }
        self.readings += 1;
        let (mut threads, mut pages, mut files) = (0, 0, 0);
        let (mut ticks, mut switches) = (BTreeMap::new(), BTreeMap::new());
        for process in &self.processes {
            let folder = PathBuf::from(format!("/proc/{process}"));
            let Some(stat) = read_stat(&folder) else {
                continue;
            };
            threads += stat.threads;
            pages += stat.resident_pages;
            files += fs::read_dir(folder.join("fd")).map_or(0, Iterator::count) as u64;
            ticks.insert(*process, stat.ticks);
            switches.insert(*process, count_switches(&folder));
            if self.name.is_empty() {
                self.name = format!("process {process} ({})", stat.name);
            }
        }
        if ticks.is_empty() {
            self.before = None;
            self.processes.clear();
            return None;
        }
        let now = now();
        let before = self.before.replace(Before {
            at: now,
            ticks: ticks.clone(),
            switches: switches.clone(),
        })?;
        let span = now.duration_since(before.at);
        let seconds = span.as_secs_f64();
        let cores = growth(&before.ticks, &ticks) / ticks_per_second() / seconds;
        let figures = vec![
            figure("target cpu", "cores", cores),
            figure("target memory", "bytes", pages as f64 * page_size()),
            figure("target threads", "", threads as f64),
            figure("target open files", "", files as f64),
            figure(
                "target context switches",
                "/s",
                growth(&before.switches, &switches) / seconds,
            ),
        ];
        Some(ProcessReading {
            name: self.name.clone(),
            span,
            figures,
        })
    }
}

const fn figure(name: &'static str, unit: &'static str, value: f64) -> ProcessFigure {
    ProcessFigure { name, unit, value }
}

/// Returns by how much the counters of processes grew; a process that is new counts from its first reading.
fn growth(before: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>) -> f64 {
    let grown = now.iter().filter_map(|(process, count)| {
        let before = before.get(process)?;
        Some(count.saturating_sub(*before))
    });
    grown.sum::<u64>() as f64
}

/// Returns the processes that listen at a port, and those that they started, behind the one that started them.
fn find_processes(port: u16) -> Vec<u32> {
    let sockets = find_listeners(port);
    if sockets.is_empty() {
        return Vec::new();
    }
    let mut parents = BTreeMap::new();
    let mut found = BTreeSet::new();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in all {
        let Some(process) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if let Some(stat) = read_stat(&entry.path()) {
            parents.insert(process, stat.parent);
        }
        if has_one_of(&entry.path(), &sockets) {
            found.insert(process);
        }
    }
    let is_child = |process: &u32, found: &BTreeSet<u32>| {
        let parent = parents.get(process);
        parent.is_some_and(|parent| found.contains(parent))
    };
    loop {
        let all = parents.keys().copied();
        let children = all.filter(|process| !found.contains(process) && is_child(process, &found));
        let children: Vec<u32> = children.collect();
        if children.is_empty() {
            break;
        }
        found.extend(children);
    }
    let mut processes: Vec<u32> = found.iter().copied().collect();
    processes.sort_by_key(|process| is_child(process, &found));
    processes
}

/// Returns the names of the sockets that listen at a port, as links of `/proc/PID/fd` have them.
fn find_listeners(port: u16) -> BTreeSet<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let tables = tables.into_iter().flatten();
    tables
        .flat_map(|table| read_listeners(&table, port))
        .collect()
}

fn read_listeners(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let suffix = format!(":{port:04X}");
    let rows = table.lines().skip(1).filter_map(|row| {
        let mut fields = row.split_whitespace().skip(1);
        let (local, state) = (fields.next()?, fields.nth(1)?);
        let inode = fields.nth(5)?;
        (local.ends_with(&suffix) && state == LISTEN).then(|| format!("socket:[{inode}]"))
    });
    rows.collect()
}

/// Returns true if a process, whose files we may see, holds one of the sockets.
fn has_one_of(process: &Path, sockets: &BTreeSet<String>) -> bool {
    let files = fs::read_dir(process.join("fd")).into_iter().flatten();
    files.flatten().any(|file| {
        fs::read_link(file.path())
            .ok()
            .and_then(|target| target.to_str().map(|target| sockets.contains(target)))
            .unwrap_or_default()
    })
}

/// Reads what a process uses; `None` once it has ended. One that nobody has waited for is still listed, without memory.
fn read_stat(process: &Path) -> Option<ProcessStat> {
    let stat = parse_stat(&fs::read_to_string(process.join("stat")).ok()?)?;
    (stat.resident_pages > 0).then_some(stat)
}

/// Reads `/proc/PID/stat`, see `proc_pid_stat(5)`; the name may hold spaces and brackets.
fn parse_stat(stat: &str) -> Option<ProcessStat> {
    let (head, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first field behind the name is the third of all.
    let number = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        name: head.split_once('(')?.1.to_owned(),
        parent: u32::try_from(number(4)?).ok()?,
        ticks: number(14)?.saturating_add(number(15)?),
        threads: number(20)?,
        resident_pages: number(24)?,
    })
}

fn count_switches(process: &Path) -> u64 {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let counts = status.lines().filter_map(|line| {
        let (name, count) = line.split_once(':')?;
        let is_count = name.ends_with("voluntary_ctxt_switches");
        is_count.then(|| count.trim().parse::<u64>().ok())?
    });
    counts.sum()
}

#[cfg(target_os = "linux")]
fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(target_os = "linux")]
fn page_size() -> f64 {
    rustix::param::page_size() as f64
}

#[cfg(not(target_os = "linux"))]
fn ticks_per_second() -> f64 {
    1.0
}

#[cfg(not(target_os = "linux"))]
fn page_size() -> f64 {
    1.0
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process is watched here; nothing is measured of the load, and no test pauses it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::OwnedFd;

    #[test]
    fn a_name_with_brackets_does_not_move_the_fields() {
        let stat = "4711 (my (odd) server) S 12 4711 4711 0 -1 4194560 1 2 3 4 70 30 0 0 20 0 9 0 100 1000 256 18446744073709551615";
        let stat = parse_stat(stat).unwrap();
        let expected = ProcessStat {
            name: "my (odd) server".to_owned(),
            parent: 12,
            ticks: 100,
            threads: 9,
            resident_pages: 256,
        };
        assert_eq!(stat, expected);
        assert_eq!(parse_stat("no such process"), None);
    }

    #[test]
    fn only_sockets_that_listen_at_the_port_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0 100 0 0 10 0\n\
             1: 0100007F:0BB8 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 12346 1 0 20 4 30 10 -1\n\
             2: 0100007F:0BB9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12347 1 0 100 0 0 10 0\n";
        assert_eq!(read_listeners(table, 3000), ["socket:[12345]"]);
        assert_eq!(read_listeners("", 3000), [""; 0]);
    }

    #[test]
    fn the_process_at_a_port_is_found_with_what_it_uses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut group = ProcessGroup::default();
        assert!(group.read(port).is_none());
        let ProcessReading { name, figures, .. } = group.read(port).unwrap();
        assert!(
            name.starts_with(&format!("process {} (", std::process::id())),
            "{name}"
        );
        let names: Vec<_> = figures.iter().map(|figure| figure.name).collect();
        assert_eq!(
            names,
            [
                "target cpu",
                "target memory",
                "target threads",
                "target open files",
                "target context switches"
            ]
        );
        assert!(
            figures[1..4].iter().all(|figure| figure.value > 0.0),
            "{figures:?}"
        );
        // Not dropped: a process that another test is just starting has the socket for a moment, too.
        let socket = TcpStream::from(OwnedFd::from(listener));
        socket.shutdown(Shutdown::Both).unwrap();
        group.processes.clear();
        assert!(group.read(port).is_none());
    }

    #[test]
    fn a_process_that_has_ended_and_nobody_has_waited_for_uses_nothing_that_could_be_read() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let folder = PathBuf::from(format!("/proc/{}", child.id()));
        let is_over = || {
            let stat = fs::read_to_string(folder.join("stat")).unwrap();
            parse_stat(&stat).unwrap().resident_pages == 0
        };
        for _ in 0..60_000 {
            if is_over() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(is_over());
        assert_eq!(read_stat(&folder), None);
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_process_counts_from_its_first_reading() {
        let before = [(1, 100), (2, 50)].into();
        let now = [(1, 130), (3, 1_000)].into();
        assert!((growth(&before, &now) - 30.0).abs() < f64::EPSILON);
    }
}
