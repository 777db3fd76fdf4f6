//! A private network of this process with nothing but loopback. A list of targets cannot promise that,
//! since a scenario is code that may open sockets.

use loadtest_model::protocol::{OFFLINE_VARIABLE, is_offline_wanted};
use loadtest_model::record::Offline;
use std::sync::OnceLock;

/// The reason why this process cannot be kept from the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfflineDenied {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// The result of the one attempt to go offline.
static OFFLINE_STATE: OnceLock<Result<Option<Offline>, OfflineDenied>> = OnceLock::new();

/// Leaves the network behind where the environment asks for it; to be called while nothing else runs.
pub(crate) fn enter() {
    OFFLINE_STATE.get_or_init(|| {
        let value = std::env::var_os(OFFLINE_VARIABLE);
        let value = value.as_ref().map(|value| value.to_string_lossy());
        let is_wanted = is_offline_wanted(value.as_deref()).map_err(|message| OfflineDenied {
            message,
            help: None,
        })?;
        is_wanted.then(system::enter_namespace).transpose()
    });
}

/// Returns the proof that only loopback can be reached, if it was asked for.
pub(crate) fn proof() -> Option<&'static Offline> {
    OFFLINE_STATE.get()?.as_ref().ok()?.as_ref()
}

/// Returns why that failed, if it was asked for.
pub(crate) fn denied() -> Option<&'static OfflineDenied> {
    OFFLINE_STATE.get()?.as_ref().err()
}

#[cfg(target_os = "linux")]
mod system {
    //! A user namespace, which lets anybody have a network namespace, and that.

    use super::{Offline, OfflineDenied};
    use nix::errno::Errno;
    use nix::sched::{CloneFlags, unshare};
    use socket2::{Domain, Protocol, Socket, Type};
    use std::fs;
    use std::io::{self, Read as _};
    use std::os::unix::fs::MetadataExt as _;

    pub(super) fn enter_namespace() -> Result<Offline, OfflineDenied> {
        let before = current_namespace()
            .map_err(|error| system_failure("could not inspect the network", &error))?;
        // Inside a user namespace, no user exists until one is mapped.
        let process = fs::metadata("/proc/self")
            .map_err(|error| system_failure("could not read its user", &error))?;
        match unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET) {
            Ok(()) => {}
            // It may be kept from the network already: `docker run --network none`.
            Err(errno) => return prove_isolation().map_err(|()| namespace_refused(errno)),
        }
        // Files keep their owner, and who runs this keeps their name.
        map_identity(process.uid(), process.gid())
            .map_err(|error| system_failure("could not stay the same user", &error))?;
        raise_loopback().map_err(|error| system_failure("could not set loopback up", &error))?;
        let offline = read_interfaces()
            .map_err(|error| system_failure("could not inspect the network", &error))?;
        if offline.namespace == before {
            let same = io::Error::other("the network did not change");
            return Err(system_failure("could not leave the network", &same));
        }
        Ok(offline)
    }

    /// The proof without a namespace of one's own, where there is only loopback in this one.
    fn prove_isolation() -> Result<Offline, ()> {
        let offline = read_interfaces().map_err(drop)?;
        (offline.interfaces == ["lo"]).then_some(offline).ok_or(())
    }

    fn read_interfaces() -> io::Result<Offline> {
        Ok(Offline {
            namespace: current_namespace()?,
            interfaces: parse_interfaces(&fs::read_to_string("/proc/self/net/dev")?),
        })
    }

    fn current_namespace() -> io::Result<String> {
        let link = fs::read_link("/proc/self/ns/net")?;
        Ok(link.to_string_lossy().into_owned())
    }

    /// Parses the interface names of `/proc/net/dev`, which has two lines of headings.
    pub(super) fn parse_interfaces(table: &str) -> Vec<String> {
        let names = table
            .lines()
            .skip(2)
            .filter_map(|line| line.split_once(':'));
        names.map(|(name, _)| name.trim().to_owned()).collect()
    }

    fn map_identity(user: u32, group: u32) -> io::Result<()> {
        fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))
    }

    const REQUEST: u16 = 0x1;
    const ACKNOWLEDGE: u16 = 0x4;
    const NEW_LINK: u16 = 16;
    const ERROR: u16 = 2;
    const UP: u32 = 0x1;
    /// Loopback is the first interface of every network.
    const LOOPBACK: u32 = 1;
    const ROUTE_NETLINK: (i32, i32) = (16, 0);

    /// Does what `ip link set lo up` does: one message of rtnetlink(7) and its answer.
    fn raise_loopback() -> io::Result<()> {
        let (domain, protocol) = ROUTE_NETLINK;
        let mut socket = Socket::new(
            Domain::from(domain),
            Type::DGRAM,
            Some(Protocol::from(protocol)),
        )?;
        socket.send(&set_up_message(LOOPBACK))?;
        let mut answer = [0; 64];
        let length = socket.read(&mut answer)?;
        match parse_errno(&answer[..length]) {
            Some(0) => Ok(()),
            Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
            None => Err(io::Error::other("the system did not answer the question")),
        }
    }

    /// A header and a `struct ifinfomsg`, in the byte order of the machine.
    fn set_up_message(interface: u32) -> Vec<u8> {
        const LENGTH: u32 = 32;
        let mut message = Vec::with_capacity(LENGTH as usize);
        message.extend(LENGTH.to_ne_bytes());
        message.extend(NEW_LINK.to_ne_bytes());
        message.extend((REQUEST | ACKNOWLEDGE).to_ne_bytes());
        // Number and sender of the message; family and type of the interface: whatever they are.
        message.extend([0; 12]);
        for number in [interface, UP, UP] {
            message.extend(number.to_ne_bytes());
        }
        message
    }

    /// Returns the error number of an acknowledgement: zero, or a negative number.
    fn parse_errno(answer: &[u8]) -> Option<i32> {
        let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
        let errno = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
        (kind == ERROR).then_some(errno)
    }

    fn system_failure(what: &str, error: &io::Error) -> OfflineDenied {
        OfflineDenied {
            message: format!("{NOT_OFFLINE}: {what}: {error}"),
            help: Some(format!("{}{ELSEWHERE}", unprivileged_namespaces_hint())),
        }
    }

    fn namespace_refused(errno: Errno) -> OfflineDenied {
        let why = match errno {
            Errno::EINVAL => {
                "this process has threads already, or its system has no user namespaces"
            }
            Errno::ENOSPC | Errno::EUSERS => "no further user namespaces are allowed",
            _ => "the system does not let it have a network of its own",
        };
        OfflineDenied {
            message: format!("{NOT_OFFLINE}: {why} ({})", errno.desc()),
            help: Some(format!("{}{ELSEWHERE}", unprivileged_namespaces_hint())),
        }
    }

    const NOT_OFFLINE: &str =
        "this load test cannot be isolated from the network, so nothing was run";
    const ELSEWHERE: &str = "if that is not possible, run everything without a network: \
                             `docker run --network none ..`";

    /// The settings that are known to forbid it.
    const SETTINGS: [(&str, &str, &str); 3] = [
        (
            "/proc/sys/user/max_user_namespaces",
            "0",
            "user.max_user_namespaces=10000",
        ),
        (
            "/proc/sys/kernel/unprivileged_userns_clone",
            "0",
            "kernel.unprivileged_userns_clone=1",
        ),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ];

    fn unprivileged_namespaces_hint() -> String {
        let forbids = |(path, value, _): &&(&str, &str, &str)| {
            fs::read_to_string(path).is_ok_and(|text| text.trim() == *value)
        };
        let remedies: Vec<_> = SETTINGS
            .iter()
            .filter(forbids)
            .map(|(_, _, remedy)| format!("`sudo sysctl -w {remedy}`"))
            .collect();
        match remedies.as_slice() {
            [] => {
                "a container must allow `unshare` with new user namespaces (its seccomp profile); "
                    .to_owned()
            }
            all => format!("{} allows it; ", all.join(" and ")),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn interfaces_are_read_as_the_system_lists_them() {
            let table = "Inter-|   Receive\n face |bytes\n    lo:  84 1\nenp3s0: 9 9\n";
            assert_eq!(parse_interfaces(table), ["lo", "enp3s0"]);
            let own = read_interfaces().unwrap();
            assert!(own.interfaces.iter().any(|name| name == "lo"));
            assert!(own.namespace.starts_with("net:["), "{}", own.namespace);
        }

        #[test]
        fn an_answer_of_the_system_says_what_went_wrong() {
            let mut answer = [0_u8; 36];
            answer[4..6].copy_from_slice(&ERROR.to_ne_bytes());
            assert_eq!(parse_errno(&answer), Some(0));
            answer[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
            assert_eq!(parse_errno(&answer), Some(-1));
            assert_eq!(parse_errno(&answer[..18]), None);
            answer[4] = 3;
            assert_eq!(parse_errno(&answer), None);
            assert_eq!(set_up_message(LOOPBACK).len(), 32);
        }

        #[test]
        fn a_process_with_threads_is_told_so_and_stays_where_it_is() {
            let before = current_namespace().unwrap();
            // The harness of the tests has threads.
            let denied = enter_namespace().unwrap_err();
            assert!(denied.message.contains("threads already"), "{denied:?}");
            assert!(denied.help.unwrap().contains("--network none"));
            assert_eq!(current_namespace().unwrap(), before);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Offline, OfflineDenied};

    pub(super) fn enter_namespace() -> Result<Offline, OfflineDenied> {
        Err(OfflineDenied {
            message: "only Linux can keep a load test from the network, so nothing was run"
                .to_owned(),
            help: Some("run it in a container of Linux, or without `--offline`".to_owned()),
        })
    }
}
