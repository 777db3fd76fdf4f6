//! Values of setups as JSON: noted where the setups run, given to the processes that share a load.

use super::SetupError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::any::type_name;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The values of setups in JSON, by the names of the setups.
pub(crate) type JsonValues = BTreeMap<String, Box<RawValue>>;

/// Where the values of setups come from.
#[derive(Debug, Clone, Default)]
pub(crate) enum SetupSource {
    /// The setups run.
    #[default]
    Run,
    /// The setups run, and their values are noted.
    Note(NotedValues),
    /// The setups ran in another process, and this is what they returned.
    Given(Arc<JsonValues>),
    /// The setups must run in one process for all, and nothing is given.
    Elsewhere,
}

/// The values that setups returned.
#[derive(Debug, Clone, Default)]
pub(crate) struct NotedValues(Arc<Mutex<JsonValues>>);

impl NotedValues {
    fn lock(&self) -> MutexGuard<'_, JsonValues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all values so far.
    pub(crate) fn all(&self) -> JsonValues {
        self.lock().clone()
    }
}

/// How values of a type become JSON and come back; nothing where they cannot.
#[derive(Debug)]
pub struct JsonForm<T>(Option<JsonFunctions<T>>);

#[derive(Debug)]
struct JsonFunctions<T> {
    write: fn(&T) -> serde_json::Result<Box<RawValue>>,
    read: fn(&str) -> serde_json::Result<T>,
}

/// The type of the value of a setup. Generated code asks it for its [`JsonForm`]; the traits below decide by what the
/// type implements.
#[derive(Debug)]
pub struct SetupType<T>(PhantomData<fn() -> T>);

impl<T> SetupType<T> {
    /// Names the type.
    #[expect(clippy::new_without_default, reason = "only generated code calls this")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

/// Types that serde writes and reads.
pub trait SerializedSetup<T> {
    /// Returns how.
    fn json_form(&self) -> JsonForm<T>;
}

impl<T: Serialize + DeserializeOwned> SerializedSetup<T> for SetupType<T> {
    fn json_form(&self) -> JsonForm<T> {
        JsonForm(Some(JsonFunctions {
            write: |value| serde_json::value::to_raw_value(value),
            read: |text| serde_json::from_str(text),
        }))
    }
}

/// All other types.
pub trait OpaqueSetup<T> {
    /// Returns that they have no form.
    fn json_form(&self) -> JsonForm<T>;
}

impl<T> OpaqueSetup<T> for &SetupType<T> {
    fn json_form(&self) -> JsonForm<T> {
        JsonForm(None)
    }
}

impl SetupSource {
    /// Returns the value of the setup `name` where it is given, else runs the setup.
    pub(super) fn obtain<T>(
        &self,
        name: &'static str,
        form: &JsonForm<T>,
        run: impl FnOnce() -> Result<T, SetupError>,
    ) -> Result<T, SetupError> {
        let refuse = |reason: String| SetupError::Setup {
            setup: name,
            reason,
        };
        let functions = || {
            form.0.as_ref().ok_or_else(|| {
                refuse(format!(
                    "its value of type `{}` goes to other processes as JSON: let the type derive `Serialize` and \
                     `Deserialize`",
                    type_name::<T>()
                ))
            })
        };
        match self {
            Self::Run => run(),
            Self::Note(noted) => {
                // Before it has done anything.
                let write = functions()?.write;
                let value = run()?;
                let json = write(&value);
                let json =
                    json.map_err(|error| refuse(format!("its value is not JSON: {error}")))?;
                noted.lock().insert(name.to_owned(), json);
                Ok(value)
            }
            Self::Given(values) => {
                let read = functions()?.read;
                let json = values
                    .get(name)
                    .ok_or_else(|| refuse("its value is not among the given values".to_owned()))?;
                // The text of an error may hold a value.
                read(json.get()).map_err(|error| {
                    refuse(format!(
                        "the value that is given is none of type `{}` (line {}, column {})",
                        type_name::<T>(),
                        error.line(),
                        error.column()
                    ))
                })
            }
            Self::Elsewhere => {
                functions()?;
                Err(refuse(
                    "it would run in every shard; run it once, with `cargo loadtest setup`, and give its value to \
                     all shards with `--setup-values`"
                        .to_owned(),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Opaque;

    fn form_of_number() -> JsonForm<u8> {
        SetupType::<u8>::new().json_form()
    }

    fn form_of_opaque() -> JsonForm<Opaque> {
        (&SetupType::<Opaque>::new()).json_form()
    }

    fn message<T>(value: Result<T, SetupError>) -> String {
        value.err().unwrap().to_string()
    }

    #[test]
    fn a_value_is_noted_and_given() {
        let noted = NotedValues::default();
        let source = SetupSource::Note(noted.clone());
        assert_eq!(
            source.obtain("count", &form_of_number(), || Ok(7)).unwrap(),
            7
        );
        let given = SetupSource::Given(Arc::new(noted.all()));
        let value = given.obtain("count", &form_of_number(), || unreachable!());
        assert_eq!(value.unwrap(), 7);
    }

    #[test]
    fn a_value_that_is_missing_or_of_another_type_is_refused() {
        let values = JsonValues::from([(
            "count".to_owned(),
            RawValue::from_string("\"many\"".to_owned()).unwrap(),
        )]);
        let given = SetupSource::Given(Arc::new(values));
        let wrong = given.obtain("count", &form_of_number(), || unreachable!());
        let wrong = message(wrong);
        assert!(
            wrong.contains("setup `count` failed: the value that is given is none of type `u8`"),
            "{wrong}"
        );
        assert!(!wrong.contains("many"), "{wrong}");
        let missing = given.obtain("other", &form_of_number(), || unreachable!());
        assert!(message(missing).contains("is not among the given values"));
    }

    #[test]
    fn a_type_without_json_is_refused_before_the_setup_runs() {
        for source in [
            SetupSource::Note(NotedValues::default()),
            SetupSource::Given(Arc::default()),
            SetupSource::Elsewhere,
        ] {
            let refused = message(source.obtain("shop", &form_of_opaque(), || unreachable!()));
            assert!(
                refused.contains("`Serialize` and `Deserialize`"),
                "{refused}"
            );
            assert!(refused.contains("Opaque"), "{refused}");
        }
        let alone = SetupSource::Run.obtain("shop", &form_of_opaque(), || Ok(Opaque));
        assert!(alone.is_ok());
        let shard = SetupSource::Elsewhere.obtain("count", &form_of_number(), || unreachable!());
        assert!(message(shard).contains("run it once, with `cargo loadtest setup`"));
    }
}
