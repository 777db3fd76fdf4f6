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
    ticks: BTreeMap<u32, Ticks>,
    /// Of each process those of its threads.
    switches: BTreeMap<u32, BTreeMap<u32, u64>>,
}

/// The processor time of a process, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    parent: u32,
    own: u64,
    /// That of its children that have ended, and of theirs.
    children: u64,
    /// Its time before it was found, which counts when it has ended.
    unseen: u64,
    /// The time of children that have ended, which counted while they ran. It is yet to come among that of `children`.
    owed: u64,
}

/// What one process uses.
#[derive(Debug, Default, PartialEq, Eq)]
struct ProcessStat {
    name: String,
    parent: u32,
    ticks: u64,
    /// Those of children that have ended.
    children_ticks: u64,
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
            let used = Ticks {
                parent: stat.parent,
                own: stat.ticks,
                children: stat.children_ticks,
                ..Ticks::default()
            };
            ticks.insert(*process, used);
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
        let before = self.before.take();
        let mut grown = (0, 0, Duration::ZERO);
        if let Some(before) = &before {
            grown = (
                grow_ticks(&before.ticks, &mut ticks),
                grow_switches(&before.switches, &switches),
                now.duration_since(before.at),
            );
        }
        self.before = Some(Before {
            at: now,
            ticks,
            switches,
        });
        before?;
        let (ticks, switches, span) = grown;
        let seconds = span.as_secs_f64();
        let cores = ticks as f64 / ticks_per_second() / seconds;
        let figures = vec![
            figure("target cpu", "cores", cores),
            figure("target memory", "bytes", pages as f64 * page_size()),
            figure("target threads", "", threads as f64),
            figure("target open files", "", files as f64),
            figure("target context switches", "/s", switches as f64 / seconds),
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

/// Returns by how much the processor time grew. A process that is new counts from its first reading; what it used before
/// that, and what children used that came and went between two readings, counts once their parents have waited for them.
fn grow_ticks(before: &BTreeMap<u32, Ticks>, now: &mut BTreeMap<u32, Ticks>) -> u64 {
    for (process, used) in &mut *now {
        match before.get(process) {
            Some(before) => (used.unseen, used.owed) = (before.unseen, before.owed),
            None => used.unseen = used.own + used.children,
        }
    }
    let ended = before
        .iter()
        .filter(|(process, _)| !now.contains_key(process));
    let ended: Vec<Ticks> = ended.map(|(_, used)| *used).collect();
    for used in ended {
        // The time of one whose parent has ended, too, is among that of the next above.
        let mut parent = used.parent;
        for _ in 0..before.len() {
            match before.get(&parent) {
                Some(above) if !now.contains_key(&parent) => parent = above.parent,
                _ => break,
            }
        }
        if let Some(heir) = now.get_mut(&parent) {
            heir.owed += (used.own + used.children).saturating_sub(used.unseen);
        }
    }
    let grown = now.iter_mut().filter_map(|(process, used)| {
        let before = before.get(process)?;
        let inherited = used.children.saturating_sub(before.children);
        let counted = inherited.min(used.owed);
        used.owed -= counted;
        Some(used.own.saturating_sub(before.own) + inherited - counted)
    });
    grown.sum()
}

/// Returns by how much the context switches grew, of all threads of the processes that were there before.
fn grow_switches(
    before: &BTreeMap<u32, BTreeMap<u32, u64>>,
    now: &BTreeMap<u32, BTreeMap<u32, u64>>,
) -> u64 {
    let threads = now.iter().filter_map(|(process, threads)| {
        let before = before.get(process)?;
        let grown = threads.iter().map(|(thread, count)| {
            count.saturating_sub(before.get(thread).copied().unwrap_or_default())
        });
        Some(grown.sum::<u64>())
    });
    threads.sum()
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
        children_ticks: number(16)?.saturating_add(number(17)?),
        threads: number(20)?,
        resident_pages: number(24)?,
    })
}

/// Returns the context switches of each thread of a process.
fn count_switches(process: &Path) -> BTreeMap<u32, u64> {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten();
    let threads = threads.flatten().filter_map(|thread| {
        let number = thread.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let counts = status.lines().filter_map(|line| {
            let (name, count) = line.split_once(':')?;
            let is_count = name.ends_with("voluntary_ctxt_switches");
            is_count.then(|| count.trim().parse::<u64>().ok())?
        });
        Some((number, counts.sum()))
    });
    threads.collect()
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
pub(super) fn now() -> Instant {
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
        let stat = "4711 (my (odd) server) S 12 4711 4711 0 -1 4194560 1 2 3 4 70 30 5 6 20 0 9 0 100 1000 256 18446744073709551615";
        let stat = parse_stat(stat).unwrap();
        let expected = ProcessStat {
            name: "my (odd) server".to_owned(),
            parent: 12,
            ticks: 100,
            children_ticks: 11,
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
        let before = [used(1, 0, 100, 0), used(2, 0, 50, 0)].into();
        let mut now = [used(1, 0, 130, 0), used(3, 1, 1_000, 0)].into();
        assert_eq!(grow_ticks(&before, &mut now), 30);
    }

    /// A process with its parent, its own time and that of its children.
    fn used(process: u32, parent: u32, own: u64, children: u64) -> (u32, Ticks) {
        let ticks = Ticks {
            parent,
            own,
            children,
            ..Ticks::default()
        };
        (process, ticks)
    }

    /// Returns the growth from each reading to the next.
    fn growths(readings: &[&[(u32, Ticks)]]) -> Vec<u64> {
        let mut readings = readings
            .iter()
            .map(|reading| reading.iter().copied().collect());
        let mut before: BTreeMap<u32, Ticks> = readings.next().unwrap();
        let growths = readings.map(|mut now| {
            let growth = grow_ticks(&before, &mut now);
            before = now;
            growth
        });
        growths.collect()
    }

    #[test]
    fn children_that_came_and_went_between_two_readings_count() {
        let of_one = [used(1, 0, 10, 100)];
        assert_eq!(growths(&[&of_one, &[used(1, 0, 11, 148)]]), [49]);
    }

    #[test]
    fn no_time_of_a_child_counts_twice() {
        // Found with 20 ticks, seen with 50, and ended with 60, which its parent learns a reading later.
        let readings: [&[_]; 5] = [
            &[used(1, 0, 10, 0)],
            &[used(1, 0, 10, 0), used(2, 1, 20, 0)],
            &[used(1, 0, 10, 0), used(2, 1, 50, 0)],
            &[used(1, 0, 11, 0)],
            &[used(1, 0, 11, 60)],
        ];
        assert_eq!(growths(&readings), [0, 30, 1, 30]);
        // One that was there from the beginning, and its own child, end together.
        let readings: [&[_]; 3] = [
            &[used(1, 0, 10, 0), used(2, 1, 500, 0), used(3, 2, 40, 0)],
            &[used(1, 0, 10, 0), used(2, 1, 505, 0), used(3, 2, 45, 0)],
            &[used(1, 0, 10, 551)],
        ];
        assert_eq!(growths(&readings), [10, 1]);
        // Its time never comes where the parent ignores the end of its children.
        let readings: [&[_]; 3] = [
            &[used(1, 0, 10, 0), used(2, 1, 500, 0)],
            &[used(1, 0, 12, 0)],
            &[used(1, 0, 14, 0)],
        ];
        assert_eq!(growths(&readings), [2, 2]);
    }

    #[test]
    fn the_switches_of_all_threads_count() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || ended.recv().is_err());
        let threads = count_switches(Path::new("/proc/self"));
        assert!(threads.len() >= 2, "{threads:?}");
        drop(end);
        assert!(thread.join().unwrap());
        let before = [(1, [(1, 10), (2, 100)].into())].into();
        let now = [
            (1, [(1, 12), (2, 105), (3, 7)].into()),
            (9, [(9, 50)].into()),
        ]
        .into();
        assert_eq!(
            grow_switches(&before, &now),
            14,
            "a thread that is new counts, a process does not"
        );
    }
}
