//! The sources of secrets: an environment variable, or the file that one names.

use super::{Secret, known};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest file of a secret, in bytes.
const MAX_FILE_SIZE: u64 = 64 * 1024;

/// The secrets that were looked up; a file may be a pipe that can be read once.
static FOUND_SECRETS: Mutex<Vec<Secret>> = Mutex::new(Vec::new());
/// The first secret that code asked for and did not get.
static FIRST_MISSING: Mutex<Option<MissingSecret>> = Mutex::new(None);

thread_local! {
    /// The secrets that this thread looked up, so that threads do not wait for each other.
    static THREAD_SECRETS: RefCell<HashMap<Box<str>, Secret>> = RefCell::default();
    /// The same as [`FIRST_MISSING`] for what this thread asked for.
    static THREAD_MISSING: RefCell<Option<MissingSecret>> = const { RefCell::new(None) };
}

/// A secret that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingSecret {
    name: String,
    why: MissingCause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MissingCause {
    /// No variable of the environment can have such a name.
    Misnamed,
    Unset,
    Empty(SecretPlace),
    /// It is given twice.
    Both,
    NoText(SecretPlace),
    Unreadable(PathBuf, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SecretPlace {
    Variable,
    File(PathBuf),
}

impl MissingSecret {
    /// Returns whether it is absent, rather than given wrongly.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.why, MissingCause::Unset | MissingCause::Empty(_))
    }

    /// Returns how to give it.
    pub(crate) fn help(&self) -> String {
        let name = &self.name;
        match self.why {
            MissingCause::Misnamed => {
                "a secret is named after the variable that holds it, such as `API_TOKEN`".to_owned()
            }
            MissingCause::Both => format!("keep one of them: unset `{name}` or `{name}_FILE`"),
            _ => format!(
                "set the environment variable `{name}` to its value, or `{name}_FILE` to the path of a file \
                 that holds it"
            ),
        }
    }
}

impl fmt::Display for MissingSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.why {
            // It may be the secret itself.
            MissingCause::Misnamed => f.write_str("`secret(..)` got an invalid name of a variable"),
            MissingCause::Unset => write!(f, "the secret `{name}` is missing"),
            MissingCause::Empty(SecretPlace::Variable) => write!(f, "the secret `{name}` is empty"),
            MissingCause::Empty(SecretPlace::File(path)) => {
                write!(
                    f,
                    "the secret `{name}` is empty: `{}` holds nothing",
                    path.display()
                )
            }
            MissingCause::Both => write!(
                f,
                "the secret `{name}` is given twice: by `{name}` and by `{name}_FILE`"
            ),
            MissingCause::NoText(SecretPlace::Variable) => {
                write!(f, "the secret `{name}` is not text in UTF-8")
            }
            MissingCause::NoText(SecretPlace::File(path)) => write!(
                f,
                "the secret `{name}`: `{}` is not text in UTF-8",
                path.display()
            ),
            MissingCause::Unreadable(path, error) => {
                write!(f, "the secret `{name}`: `{}`: {error}", path.display())
            }
        }
    }
}

/// The secret `name`, from where it is given.
///
/// # Errors
/// It cannot be had.
pub(crate) fn look_up(name: &str) -> Result<Secret, MissingSecret> {
    if let Some(secret) = THREAD_SECRETS.with_borrow(|near| near.get(name).cloned()) {
        return Ok(secret);
    }
    let mut found = lock_ignoring_poison(&FOUND_SECRETS);
    let known = found.iter().find(|secret| secret.name() == name);
    let value = if let Some(known) = known {
        known.expose().to_owned()
    } else {
        let why = |why| MissingSecret {
            name: name.to_owned(),
            why,
        };
        let value = read_secret(name, |name| std::env::var_os(name)).map_err(why)?;
        let secret = Secret::unregistered(name, value.clone());
        known::keep_secret(&secret);
        found.push(secret);
        value
    };
    drop(found);
    // One for each thread: they would quarrel about who counts its users.
    let near = Secret::unregistered(name, value);
    THREAD_SECRETS.with_borrow_mut(|known| known.insert(name.into(), near.clone()));
    Ok(near)
}

/// The secret `name`, for code that cannot go on without it.
#[track_caller]
pub(super) fn require_secret(name: &str) -> Secret {
    match look_up(name) {
        Ok(secret) => secret,
        Err(missing) => {
            lock_ignoring_poison(&FIRST_MISSING).get_or_insert_with(|| missing.clone());
            THREAD_MISSING.with_borrow_mut(|here| {
                here.get_or_insert_with(|| missing.clone());
            });
            panic!("{missing}; {}", missing.help());
        }
    }
}

/// The first secret that the code of any thread asked for and did not get, since it was last forgotten.
pub(crate) fn first_missing() -> Option<MissingSecret> {
    lock_ignoring_poison(&FIRST_MISSING).clone()
}

/// The same for the code of this thread alone.
pub(crate) fn missing_here() -> Option<MissingSecret> {
    THREAD_MISSING.with_borrow(Clone::clone)
}

/// Forgets what was missing.
pub(crate) fn forget_missing() {
    *lock_ignoring_poison(&FIRST_MISSING) = None;
    THREAD_MISSING.set(None);
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_variable_name(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn read_secret(
    name: &str,
    variable: impl Fn(&str) -> Option<std::ffi::OsString>,
) -> Result<String, MissingCause> {
    if !is_variable_name(name) {
        return Err(MissingCause::Misnamed);
    }
    let value = variable(name);
    let file = variable(&format!("{name}_FILE")).filter(|path| !path.is_empty());
    match (value, file) {
        (Some(value), Some(_)) if !value.is_empty() => Err(MissingCause::Both),
        (_, Some(path)) => read_secret_file(Path::new(&path)),
        (Some(value), None) if value.is_empty() => Err(MissingCause::Empty(SecretPlace::Variable)),
        (Some(value), None) => value
            .into_string()
            .map_err(|_| MissingCause::NoText(SecretPlace::Variable)),
        (None, None) => Err(MissingCause::Unset),
    }
}

fn read_secret_file(path: &Path) -> Result<String, MissingCause> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_FILE_SIZE + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => return Err(MissingCause::Unreadable(whole, error.to_string())),
        Ok(read) if read as u64 > MAX_FILE_SIZE => {
            let why = format!("more than {} KiB cannot be a secret", MAX_FILE_SIZE / 1024);
            return Err(MissingCause::Unreadable(whole, why));
        }
        Ok(_) => {}
    }
    let Ok(mut value) = String::from_utf8(bytes) else {
        return Err(MissingCause::NoText(SecretPlace::File(whole)));
    };
    if value.ends_with('\n') {
        value.pop();
        if value.ends_with('\r') {
            value.pop();
        }
    }
    if value.is_empty() {
        return Err(MissingCause::Empty(SecretPlace::File(whole)));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of `T` in an environment of these variables.
    fn given(variables: &[(&str, &str)]) -> Result<String, MissingCause> {
        read_secret("T", |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    fn file(bytes: &[u8]) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, bytes).unwrap();
        (folder, path.to_str().unwrap().to_owned())
    }

    #[test]
    fn it_is_given_by_one_of_two_variables() {
        assert_eq!(given(&[("T", "value ")]).unwrap(), "value ");
        let (_folder, path) = file(b"of a file\n");
        assert_eq!(given(&[("T_FILE", &path)]).unwrap(), "of a file");
        assert_eq!(given(&[("T_FILE", &path), ("T", "")]).unwrap(), "of a file");
        assert_eq!(given(&[("T", "value"), ("T_FILE", "")]).unwrap(), "value");
        assert_eq!(
            given(&[("T", "value"), ("T_FILE", &path)]),
            Err(MissingCause::Both)
        );
    }

    #[test]
    fn one_line_end_of_a_file_is_dropped() {
        for (bytes, value) in [
            ("a", "a"),
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            (" a \nb", " a \nb"),
        ] {
            let (_folder, path) = file(bytes.as_bytes());
            assert_eq!(given(&[("T_FILE", &path)]).unwrap(), value, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_secret_is_refused() {
        assert_eq!(given(&[]), Err(MissingCause::Unset));
        assert_eq!(
            given(&[("T", "")]),
            Err(MissingCause::Empty(SecretPlace::Variable))
        );
        let large = vec![b'a'; 65 * 1024];
        for (bytes, part) in [
            (&b"\n"[..], "is empty: `"),
            (b"\xff", "is not text in UTF-8"),
            (&large, "more than 64 KiB cannot be a secret"),
        ] {
            let (_folder, path) = file(bytes);
            let why = given(&[("T_FILE", &path)]).unwrap_err();
            let name = "T".to_owned();
            let words = MissingSecret { name, why }.to_string();
            assert!(words.contains(part) && words.contains(&path), "{words}");
        }
        let why = given(&[("T_FILE", "/nowhere/token")]).unwrap_err();
        assert!(matches!(why, MissingCause::Unreadable(..)), "{why:?}");
        for name in ["", "sk-live-5", "a b", "7T"] {
            assert_eq!(
                read_secret(name, |_| Some("x".into())),
                Err(MissingCause::Misnamed)
            );
        }
    }

    #[test]
    fn a_missing_one_says_both_ways_to_give_it_and_a_misnamed_one_is_not_shown() {
        let missing = look_up("LOADTEST_UNIT_TEST_HAS_NO_SUCH_SECRET").unwrap_err();
        assert!(missing.is_absent());
        assert_eq!(
            missing.to_string(),
            "the secret `LOADTEST_UNIT_TEST_HAS_NO_SUCH_SECRET` is missing"
        );
        assert_eq!(
            missing.help(),
            "set the environment variable `LOADTEST_UNIT_TEST_HAS_NO_SUCH_SECRET` to its value, or \
             `LOADTEST_UNIT_TEST_HAS_NO_SUCH_SECRET_FILE` to the path of a file that holds it"
        );
        let misnamed = look_up("sk-live-51x").unwrap_err();
        assert!(!format!("{misnamed} {}", misnamed.help()).contains("51x"));
    }
}
