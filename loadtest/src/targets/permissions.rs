//! The permissions: loopback, targets of the scenario's own, and those that `loadtest.toml` lists.

use super::class::AddressClass;
use super::guard::{NotPermitted, Refusal, RefusalCause};
use super::listed::{ListedTarget, Mistake};
use super::{Host, Origin};
use loadtest_model::protocol::MAX_CONFIGURATION_BYTES;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The file in which a team lists its targets.
pub(super) const FILE_NAME: &str = "loadtest.toml";

/// The places besides loopback that requests may go to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permissions {
    /// The file they were read from.
    pub(crate) file: Option<PathBuf>,
    /// Its targets.
    pub(crate) targets: Vec<ListedTarget>,
    /// Nothing but loopback can be reached, whatever is listed.
    pub(crate) offline: bool,
}

/// The verdict on a URL without a lookup.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Known<'a> {
    /// This machine, which may be tested.
    Loopback,
    /// It is listed, with this owner; its addresses are judged when they are known.
    Listed(&'a str),
    /// It may not be tested.
    Refused,
    /// A name that is not listed: permitted only where the hosts file has it, with loopback addresses alone.
    ByAddress,
}

/// A file that lists targets, and cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionsError {
    /// It cannot be read.
    #[error("could not read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It says something that has no meaning.
    #[error("{}", format_mistakes(path, mistakes))]
    Mistakes {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong in it.
        mistakes: Vec<Mistake>,
    },
}

/// The folder of the package that runs. Its list counts, not that of a library that a scenario comes from.
static RUNNING_PACKAGE: OnceLock<PathBuf> = OnceLock::new();

/// Remembers the folder of the package that runs; the first one counts.
pub(crate) fn set_running_package(root: &Path) {
    // A process is one program.
    let _ = RUNNING_PACKAGE.set(root.to_owned());
}

/// Returns the folder of the package that runs. A program without `loadtest::main!()` is of the package that
/// cargo runs, else of the current folder.
pub(crate) fn running_package() -> PathBuf {
    let of_cargo = || std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let known = RUNNING_PACKAGE.get().cloned().or_else(of_cargo);
    known
        .or_else(|| std::env::current_dir().ok())
        .unwrap_or_default()
}

/// Reads a file that is one, and no larger than a configuration: a pipe or a device might never end.
fn read_regular_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = std::fs::metadata(path)?;
    if !file.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if file.len() > MAX_CONFIGURATION_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    std::fs::read(path)
}

fn format_mistakes(path: &Path, mistakes: &[Mistake]) -> String {
    let line = |one: &Mistake| format!("{}: line {}: {}", path.display(), one.line, one.message);
    mistakes.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Permissions {
    /// Reads the permissions of a package: the first `loadtest.toml` from its folder upward to that of its
    /// workspace, which holds `Cargo.lock`; without one only that of its folder. If `offline`, nothing but
    /// loopback is permitted, whatever it lists.
    ///
    /// # Errors
    /// The file cannot be read, or has mistakes in its targets.
    pub fn of_package(root: &Path, offline: bool) -> Result<Self, PermissionsError> {
        let workspace = root
            .ancestors()
            .find(|folder| folder.join("Cargo.lock").exists())
            .unwrap_or(root);
        let folders = root.ancestors();
        for folder in folders.take_while(|folder| folder.starts_with(workspace)) {
            let path = folder.join(FILE_NAME);
            match read_regular_file(&path) {
                Ok(bytes) => return Self::read(&bytes, path, offline),
                Err(source) if source.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(PermissionsError::Io { path, source }),
            }
        }
        Ok(Self {
            offline,
            ..Self::default()
        })
    }

    /// Returns the file they were read from, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    fn read(bytes: &[u8], path: PathBuf, offline: bool) -> Result<Self, PermissionsError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            vec![Mistake {
                line: before.split(|byte| *byte == b'\n').count(),
                message: "this is not UTF-8, as TOML is".to_owned(),
            }]
        });
        match text.and_then(ListedTarget::read) {
            Ok(targets) => Ok(Self {
                file: Some(path),
                targets,
                offline,
            }),
            Err(mistakes) => Err(PermissionsError::Mistakes { path, mistakes }),
        }
    }

    /// Returns the verdict on an absolute URL; `None` if the URL cannot be read.
    pub fn known(&self, url: &str) -> Option<Known<'_>> {
        let origin = Origin::from_uri(&url.parse().ok()?).or_else(|_| Origin::of_socket(url));
        let origin = origin.ok()?;
        let entry = self.entry(&origin).map(|entry| entry.owner.as_str());
        Some(match origin.host {
            Host::Address(address) => match self.permit(&origin, address) {
                Ok(()) => entry
                    .filter(|_| AddressClass::from_address(address) == AddressClass::ListedTarget)
                    .map_or(Known::Loopback, Known::Listed),
                Err(_) => Known::Refused,
            },
            ref host if host.is_localhost() => Known::Loopback,
            Host::Name(_) => entry
                .filter(|_| !self.offline)
                .map_or(Known::ByAddress, Known::Listed),
        })
    }

    /// The entry that permits to send to `origin`; `None` where there is none.
    pub(crate) fn entry(&self, origin: &Origin) -> Option<&ListedTarget> {
        let host = origin.host.to_string();
        self.targets.iter().find(|target| {
            target.host == host && target.scheme == origin.scheme && target.port == origin.port
        })
    }

    /// Returns whether an entry is for this host, by whatever scheme and port.
    pub(crate) fn lists_host(&self, host: &str) -> bool {
        self.targets.iter().any(|target| target.host == host)
    }

    /// Permits to send to `origin` at `address`, or refuses it.
    ///
    /// # Errors
    /// [`NotPermitted`], which says why and what to write where.
    pub(crate) fn permit(&self, origin: &Origin, address: IpAddr) -> Result<(), NotPermitted> {
        let address = address.to_canonical();
        let why = match AddressClass::from_address(address) {
            AddressClass::Loopback => return Ok(()),
            AddressClass::Never(what) => RefusalCause::Never(what),
            AddressClass::ListedTarget if self.offline => RefusalCause::Offline,
            AddressClass::ListedTarget => match self.entry(origin) {
                Some(entry) if entry.has(address) => return Ok(()),
                Some(entry) => RefusalCause::NotPinned { line: entry.line },
                None => RefusalCause::NotListed {
                    instead: self.other_entry(origin).map(ListedTarget::origin),
                },
            },
        };
        Err(self.refusal(origin, Some(address), why))
    }

    /// Permits `origin` if each of its `addresses` is permitted: one foreign address among them is enough
    /// to refuse it.
    pub(crate) fn permit_all(
        &self,
        origin: &Origin,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<(), NotPermitted> {
        addresses
            .into_iter()
            .try_for_each(|address| self.permit(origin, address))
    }

    /// Permits `origin` at the addresses `now` that a later lookup returned, after those `before` the run. An
    /// entry without pins holds for the network that its name stood for then: a public name that turns into a
    /// private address is not the listed target.
    pub(crate) fn permit_again(
        &self,
        origin: &Origin,
        before: &[IpAddr],
        now: &[IpAddr],
    ) -> Result<(), NotPermitted> {
        self.permit_all(origin, now.iter().copied())?;
        let is_pinned = self
            .entry(origin)
            .is_some_and(|entry| !entry.addresses.is_empty());
        let strange = now.iter().find(|address| {
            !before
                .iter()
                .any(|known| same_network_kind(*known, **address))
        });
        match strange {
            Some(address)
                if !is_pinned
                    && AddressClass::from_address(*address) == AddressClass::ListedTarget =>
            {
                Err(self.refusal(origin, Some(*address), RefusalCause::Rebound))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a name that is neither listed nor in the hosts file.
    pub(crate) fn refuse_unlisted(&self, origin: &Origin) -> NotPermitted {
        self.refusal(origin, None, RefusalCause::NotListed { instead: None })
    }

    /// Refuses a name that turned up only during the run: to look it up would already send something.
    pub(crate) fn refuse_unknown(&self, origin: &Origin) -> NotPermitted {
        self.refusal(origin, None, RefusalCause::Unknown)
    }

    /// Refuses a name that cannot be looked up offline.
    pub(crate) fn refuse_offline(&self, origin: &Origin) -> NotPermitted {
        self.refusal(origin, None, RefusalCause::Offline)
    }

    /// Another entry of the same host.
    fn other_entry(&self, origin: &Origin) -> Option<&ListedTarget> {
        let host = origin.host.to_string();
        self.targets.iter().find(|target| target.host == host)
    }

    pub(crate) fn refusal(
        &self,
        origin: &Origin,
        address: Option<IpAddr>,
        why: RefusalCause,
    ) -> NotPermitted {
        NotPermitted::from(Refusal {
            host: origin.host.to_string(),
            origin: origin.to_string(),
            address,
            why,
            file: self.file.clone(),
        })
    }
}

/// Returns whether both addresses are private, or both public.
fn same_network_kind(one: IpAddr, other: IpAddr) -> bool {
    let is_private = |address: IpAddr| match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_private() || (v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64),
        IpAddr::V6(v6) => v6.is_unique_local(),
    };
    is_private(one) == is_private(other)
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.targets.iter().map(ListedTarget::origin).collect();
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SHOP: &str = "[[targets]]\nhost = \"shop.test\"\nowner = \"ada\"\n";

    fn found(root: &Path) -> Option<PathBuf> {
        Permissions::of_package(root, false).unwrap().file
    }

    #[test]
    fn the_list_is_that_of_the_package_or_of_its_workspace_and_of_none_further_up() {
        let outer = tempfile::tempdir().unwrap();
        let workspace = outer.path().join("workspace");
        let package = workspace.join("crates/shop");
        fs::create_dir_all(&package).unwrap();
        fs::write(outer.path().join(FILE_NAME), SHOP).unwrap();
        assert_eq!(found(&package), None, "no lock file says where it ends");
        fs::write(workspace.join("Cargo.lock"), "").unwrap();
        assert_eq!(found(&package), None);
        for folder in [&workspace, &package] {
            let file = folder.join(FILE_NAME);
            fs::write(&file, SHOP).unwrap();
            assert_eq!(found(&package), Some(file));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_list_that_is_a_device_is_refused() {
        let package = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", package.path().join(FILE_NAME)).unwrap();
        let error = Permissions::of_package(package.path(), false).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_name_keeps_to_the_kind_of_network_that_it_had_before_the_run() {
        let permissions = |pins: &str| Permissions {
            targets: ListedTarget::read(&format!("{SHOP}{pins}")).unwrap(),
            ..Permissions::default()
        };
        let origin = Origin::from_uri(&"https://shop.test".parse().unwrap()).unwrap();
        let again = |pins: &str, before: &str, now: &str| {
            let (before, now) = (before.parse().unwrap(), now.parse().unwrap());
            let permitted = permissions(pins).permit_again(&origin, &[before], &[now]);
            permitted.err().map(|refused| refused.why.clone())
        };
        for (before, now) in [("203.0.113.1", "198.51.100.7"), ("10.0.0.1", "fd00:ec3::1")] {
            assert_eq!(again("", before, now), None, "{before} {now}");
        }
        for (before, now) in [("203.0.113.1", "10.0.0.1"), ("10.0.0.1", "203.0.113.1")] {
            assert_eq!(again("", before, now), Some(RefusalCause::Rebound));
            assert_eq!(again("addresses = [\"0.0.0.0/0\"]\n", before, now), None);
        }
    }
}
