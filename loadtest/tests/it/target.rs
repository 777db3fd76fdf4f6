//! A target that the run starts: a real child process, ready, dying, and gone when it should be.
use loadtest::targets::{Target, TargetCommand, TargetError};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A shell script as the target; `$0` is the port.
fn script(script: &str) -> TargetCommand {
    Target::binary("/bin/sh").args(["-c", script, "{port}"])
}

/// A file of the test called `test`, which is not there yet.
fn file(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("target-{test}"));
    let _ = fs::remove_file(&path);
    path
}

/// What a child wrote into `path`, once it has written a whole line.
fn line_in(path: &Path) -> String {
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim_end().to_owned(),
            _ => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Serves in the place of a child which says in `path` where it should listen: answers with each
/// status in turn, then stops. Returns the request lines.
fn serve(path: PathBuf, statuses: &'static [u16]) -> JoinHandle<Vec<String>> {
    thread::spawn(move || {
        let port: u16 = line_in(&path).parse().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        statuses
            .iter()
            .map(|status| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let length = stream.read(&mut request).unwrap();
                write!(stream, "HTTP/1.1 {status} -\r\ncontent-length: 0\r\n\r\n").unwrap();
                let request = String::from_utf8_lossy(&request[..length]);
                request.lines().next().unwrap_or_default().to_owned()
            })
            .collect()
    })
}

/// A target that is ready, and the id of its process.
fn running(test: &str) -> (Target, String) {
    let (port, pid) = (file(test), file(&format!("{test}-pid")));
    let server = serve(port.clone(), &[200]);
    let target = script(&format!(
        "echo $$ > {}; echo $0 > {}; exec sleep 60",
        pid.display(),
        port.display()
    ))
    .ready("/health")
    .start()
    .unwrap();
    server.join().unwrap();
    let pid = line_in(&pid);
    assert!(is_alive(&pid));
    (target, pid)
}

fn is_alive(pid: &str) -> bool {
    Command::new("/bin/sh")
        .args(["-c", "kill -0 $0", pid])
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn a_target_is_ready_when_its_health_answers_2xx() {
    let path = file("ready");
    let server = serve(path.clone(), &[503, 404, 200]);
    let target = script(&format!("echo $0 > {}; exec sleep 60", path.display()))
        .ready("/health")
        .start()
        .unwrap();
    assert_eq!(server.join().unwrap(), ["GET /health HTTP/1.1"; 3]);
    assert_eq!(
        target.url(),
        format!("http://127.0.0.1:{}", line_in(&path)),
        "the port in the arguments is the one in the URL"
    );
    target.check().unwrap();
}

#[test]
fn without_a_path_a_connection_is_enough() {
    let path = file("connect");
    let listening = path.clone();
    let server = thread::spawn(move || {
        let port: u16 = line_in(&listening).parse().unwrap();
        drop(TcpListener::bind(("127.0.0.1", port)).unwrap().accept());
    });
    let started = script(&format!("echo $0 > {}; exec sleep 60", path.display())).start();
    server.join().unwrap();
    started.unwrap();
}

#[test]
fn the_port_is_also_written_into_the_environment() {
    let path = file("env");
    let server = serve(path.clone(), &[200]);
    let target = Target::binary("/bin/sh")
        .arg("-c")
        .arg(format!(
            "echo ${{ADDRESS#*:}} > {}; exec sleep 60",
            path.display()
        ))
        .env("ADDRESS", "0.0.0.0:{port}")
        .ready("/")
        .start()
        .unwrap();
    server.join().unwrap();
    assert!(target.url().ends_with(&format!(":{}", line_in(&path))));
}

#[test]
fn a_target_that_ends_before_it_is_ready_shows_what_it_printed() {
    let error = script("echo reading config; echo 'no such database' >&2; exit 3")
        .start()
        .unwrap_err();
    assert!(matches!(error, TargetError::Exited { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with("the target `sh` ended before it was ready (exit status: 3)"),
        "{text}"
    );
    assert!(text.contains("    | reading config"), "{text}");
    assert!(text.contains("    | no such database"), "{text}");
}

#[test]
fn a_target_ends_with_its_owner() {
    let (target, pid) = running("dropped");
    drop(target);
    assert!(!is_alive(&pid), "killed, and reaped");
}

#[test]
fn what_a_target_started_ends_with_it() {
    let (port, pipe) = (file("started"), file("started-pipe"));
    let server = serve(port.clone(), &[200]);
    let target = script(&format!(
        "mkfifo {pipe}; sleep 60 > {pipe} & echo $0 > {}; exec sleep 60",
        port.display(),
        pipe = pipe.display(),
    ))
    .ready("/health")
    .start()
    .unwrap();
    server.join().unwrap();
    let (sender, ended) = mpsc::channel();
    let (opened, is_open) = mpsc::channel();
    thread::spawn(move || {
        // Both wait for the other end: the one until it is open, the other until it is closed.
        let mut pipe = fs::File::open(pipe).unwrap();
        opened.send(()).unwrap();
        sender.send(pipe.read(&mut [0]).unwrap()).unwrap();
    });
    is_open.recv().unwrap();
    ended.try_recv().unwrap_err();
    drop(target);
    assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(0));
}

#[test]
fn a_target_ends_with_a_panic_of_its_owner() {
    let (target, pid) = running("panic");
    let owner = thread::spawn(move || {
        let _target = target;
        panic!("on purpose");
    });
    owner.join().unwrap_err();
    assert!(!is_alive(&pid), "killed, and reaped");
}

#[test]
fn a_target_that_died_says_with_which_words() {
    let (path, go) = (file("died"), file("died-go"));
    let server = serve(path.clone(), &[200]);
    let target = script(&format!(
        "echo $0 > {}; until test -e {}; do sleep 0.01; done; echo out of memory; kill -9 $$",
        path.display(),
        go.display()
    ))
    .ready("/health")
    .start()
    .unwrap();
    server.join().unwrap();
    target.check().unwrap();
    fs::write(&go, "").unwrap();
    let error = loop {
        match target.check() {
            Ok(()) => thread::sleep(Duration::from_millis(2)),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(
        error,
        "the target `sh` died (signal: 9 (SIGKILL)); the last it printed:\n    | out of memory"
    );
}

#[test]
fn a_port_that_was_taken_is_replaced_by_another() {
    let (path, first) = (file("taken"), file("taken-first"));
    let server = serve(path.clone(), &[200]);
    let target = script(&format!(
        "if ! test -e {first}; then touch {first}; echo 'bind: Address already in use' >&2; exit 1; fi; \
         echo $0 > {path}; exec sleep 60",
        first = first.display(),
        path = path.display()
    ))
    .ready("/health")
    .start()
    .unwrap();
    server.join().unwrap();
    assert!(target.url().ends_with(&format!(":{}", line_in(&path))));
}

#[test]
fn a_target_whose_ports_are_always_taken_is_given_up() {
    let path = file("always-taken");
    let error = script(&format!(
        "echo $0 >> {}; echo 'Address already in use' >&2; exit 1",
        path.display()
    ))
    .start()
    .unwrap_err();
    assert!(matches!(error, TargetError::Exited { .. }), "{error:?}");
    assert_eq!(line_in(&path).lines().count(), 5);
}

#[test]
fn a_missing_binary_is_named_with_what_to_do() {
    let error = Target::binary("/nowhere/shop")
        .args(["--port", "{port}"])
        .start()
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("cannot start the target `/nowhere/shop`: "),
        "{text}"
    );
    assert!(text.contains("build it first"), "{text}");
}

#[test]
fn a_target_that_is_not_told_its_port_is_refused() {
    let error = Target::binary("/bin/sh").arg("-c").start().unwrap_err();
    assert!(error.to_string().contains("write `{port}`"), "{error}");
}

#[test]
fn an_external_target_is_never_ours() {
    let target = Target::external("http://127.0.0.1:9");
    assert_eq!(target.url(), "http://127.0.0.1:9");
    target.check().unwrap();
}
