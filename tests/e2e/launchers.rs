//! Launchers for several machines: an array job on a real Slurm, and the schemas of Kubernetes and Compose.

use crate::call::{self, Call, wait_for};
use crate::project::{Files, Project};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tokio::time::Instant;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![needing "slurmctld":
        an_array_job_makes_the_load_and_ends_with_the_gate,
    ];
    trials.extend(trials![needing "kubernetes-validate":
        manifests_are_valid_in_several_releases,
    ]);
    trials.extend(trials![needing "check-jsonschema":
        services_are_valid,
    ]);
    trials
}

const LAUNCHED: &str = r#"use loadtest::prelude::*;

#[scenario(load = iterations(9, users = 3), thresholds(errors < 50%))]
fn visit() {
    #[setup]
    async fn account(http: &mut Http) -> Result<String, Error> {
        Ok(http.post("/accounts").send().await?.text().await?)
    }

    #[feed]
    fn user() -> Feed<Value> {
        Feed::csv("data/users.csv").stop()
    }

    #[step]
    fn look(account: &String, user: &Value) -> Request {
        Request::get(format!("/{account}/{}", user["name"].as_str().unwrap()))
    }

    #[teardown]
    async fn remove(account: &String, http: &mut Http) -> Result<(), Error> {
        http.delete(format!("/accounts/{account}")).send().await?;
        Ok(())
    }
}

loadtest::main!();
"#;

fn launched(name: &'static str) -> Project {
    Files::single(name, LAUNCHED)
        .file("data/users.csv", "name\na\nb\nc\nd\ne\nf\ng\nh\ni\n")
        .create()
}

/// A Slurm of three nodes on this machine, with ports, keys and folders of its own.
struct Slurm {
    folder: TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let host = host.trim().split('.').next().unwrap_or_default().to_owned();
        // All at once, so that they differ.
        let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let ports = listeners
            .each_ref()
            .map(|listener| listener.local_addr().expect("its address").port());
        drop(listeners);
        let nodes = [1, 2, 3].map(|n| {
            let port = ports[n];
            format!("NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1\n")
        });
        let nodes = nodes.concat();
        let configuration = format!(
            "ClusterName=loadtest\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={}\n\
             StateSaveLocation={}\nSlurmctldPidFile={}\nSlurmdPidFile={}\nSlurmdSpoolDir={}\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdParameters=config_overrides\n\
             SchedulerParameters=sched_min_interval=0\nMailProg=/bin/true\n\
             {nodes}PartitionName=main Nodes=n[1-3] Default=YES MaxTime=10 State=UP\n",
            ports[0],
            at("munge.socket"),
            at("state"),
            at("slurmctld.pid"),
            at("%n.pid"),
            at("%n.spool"),
        );
        fs::write(at("slurm.conf"), configuration).expect("a file");
        fs::create_dir(at("state")).expect("a folder");
        private_key(Path::new(&at("key")));
        let mut slurm = Self {
            daemons: Vec::new(),
            folder,
        };
        let munge = ["key-file", "socket", "pid-file", "log-file", "seed-file"]
            .into_iter()
            .zip([
                "key",
                "munge.socket",
                "munge.pid",
                "munge.log",
                "munge.seed",
            ])
            .map(|(option, name)| format!("--{option}={}", slurm.path(name).display()));
        let munge: Vec<String> = ["--foreground".into(), "--force".into()]
            .into_iter()
            .chain(munge)
            .collect();
        slurm.launch("munged", &munge);
        wait_for("the socket of munge", || {
            slurm.path("munge.socket").exists().then_some(())
        });
        slurm.launch("slurmctld", &["-D".to_owned()]);
        for node in ["n1", "n2", "n3"] {
            slurm.launch(
                "slurmd",
                &["-D".to_owned(), "-N".to_owned(), node.to_owned()],
            );
        }
        wait_for("three idle nodes", || {
            let nodes = slurm.command("sinfo").args(["-h", "-o", "%D %t"]).output();
            (nodes.expect("sinfo").stdout == b"3 idle\n").then_some(())
        });
        slurm
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    fn launch(&mut self, program: &str, arguments: &[String]) {
        let log = fs::File::create(self.path(&format!("{}.log", self.daemons.len())));
        let child = self
            .command(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.expect("a file"))
            .spawn();
        self.daemons.push(child.expect("a program"));
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// `cargo loadtest export LAUNCHER ..`, which takes its options behind the name of the launcher.
fn launcher(project: &Project, line: &str) -> Call {
    Call::tool(project.root()).arg("export").line(line)
}

/// Writes a key that no other user can read.
fn private_key(path: &Path) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .expect("a file");
    let mut random = [0; 64];
    std::io::Read::read_exact(
        &mut fs::File::open("/dev/urandom").expect("random bytes"),
        &mut random,
    )
    .expect("random bytes");
    file.write_all(&random).expect("a key");
}

fn accounts(request: &Request) -> Reply {
    match &*request.method {
        "POST" => Reply::text("ada"),
        _ => Reply::text("ok"),
    }
}

fn an_array_job_makes_the_load_and_ends_with_the_gate() {
    let project = launched("launched");
    let shared = tempfile::tempdir().expect("a folder");
    let file = |name: &str| shared.path().join(name);
    let bundle = file("visit.bundle");
    project
        .tool("bundle", "visit -o")
        .arg(&bundle)
        .run()
        .exits(0);
    let begin = Instant::now();
    launcher(
        &project,
        "slurm --profile test visit --shards 3 --cpus 1 --limit 5m -o",
    )
    .arg(file("visit.slurm.sh"))
    .run()
    .exits(0);
    // The three jobs have to be ready when the load begins: each takes some times as long as one call of the tool.
    let lead = 10 + (30 * begin.elapsed()).as_secs();
    let slurm = Slurm::start();
    let server = Server::recording(accounts);
    let tool = call::tool().parent().expect("a folder").to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tool].into_iter().chain(std::env::split_paths(&path)));
    let submit = |url: &str| {
        Call::program("bash", shared.path())
            .arg("visit.slurm.sh")
            .env("SLURM_CONF", slurm.path("slurm.conf"))
            .env("PATH", path.as_ref().expect("a path"))
            .env("LOADTEST_BASE_URL", url)
            .env("LEAD", lead.to_string())
            .run()
    };
    submit(&server.url())
        .exits(0)
        .prints(&["PASSED", "9 iterations shared by 3 users"]);
    let sent = server.recorded();
    let of = |method: &str| {
        let own = sent.iter().filter(|request| request.method == method);
        let mut targets: Vec<_> = own.map(|request| request.target.clone()).collect();
        targets.sort();
        targets
    };
    assert_eq!(of("POST"), ["/accounts"]);
    assert_eq!(of("DELETE"), ["/accounts/ada"]);
    let rows = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    assert_eq!(of("GET"), rows.map(|row| format!("/ada/{row}")));

    // A setup that fails ends it before any load.
    let gone = server.url();
    drop(server);
    submit(&gone).exits(100).prints(&["setup `account` failed"]);
}

fn manifests_are_valid_in_several_releases() {
    let project = launched("manifests");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("visit.yaml");
    launcher(&project, "kubernetes --profile test visit --agents 3 -o")
        .arg(&file)
        .args(["--image", "registry.example.com/loadtest@sha256:5f70bf18"])
        .args(["--base-url", "https://staging.example.com"])
        .run()
        .exits(0);
    for release in ["1.31", "1.33", "1.34"] {
        Call::program("kubernetes-validate", folder.path())
            .args(["--strict", "-k", release])
            .arg(&file)
            .run()
            .exits(0);
    }
}

fn services_are_valid() {
    let project = launched("services");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("compose.yaml");
    launcher(
        &project,
        "compose --profile test visit --agents 3 --image loadtest -o",
    )
    .arg(&file)
    .run()
    .exits(0);
    let ours = crate::project::workspace().join("examples/cluster/compose.yaml");
    for file in [file, ours] {
        Call::program("check-jsonschema", folder.path())
            .args(["--builtin-schema", "vendor.compose-spec"])
            .arg(file)
            .run()
            .exits(0);
    }
}
