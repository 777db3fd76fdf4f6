//! Files that no output may replace: what people wrote, and what cannot be made again.

use crate::config::FILE_NAME;
use crate::store;
use loadtest_console::error::Error;
use std::path::Path;

/// Refuses to replace a file that is there and is no output; a link is what it leads to.
///
/// # Errors
/// When it is part of a run, in a baseline, a source, a manifest or a configuration.
pub(crate) fn check_output(path: &Path) -> Result<(), Error> {
    let Some(what) = describe_protected(path) else {
        return Ok(());
    };
    let message = format!("refusing to overwrite `{}`, {what}", path.display());
    Err(Error::usage(message).with_help("give another name"))
}

/// Returns what a file is that nothing may replace; `None` where nothing is there, or what may be.
pub(crate) fn describe_protected(path: &Path) -> Option<&'static str> {
    let path = path.canonicalize().ok().filter(|path| path.is_file())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default();
    match &*name {
        FILE_NAME => Some("the configuration of load tests"),
        "Cargo.toml" | "Cargo.lock" => Some("a manifest"),
        _ if ending == "rs" => Some("a source"),
        _ if store::is_of_a_run(&path) => Some("part of the record of a run"),
        _ if store::is_packed_record(&path) => Some("a run in a baseline"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn what_people_wrote_and_what_was_measured_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let record = br#"{"schema_version":7,"run_id":"one","#;
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(record).unwrap();
        let packed = packed.finish().unwrap();
        for (name, bytes, what) in [
            ("loadtest.toml", &b""[..], Some("configuration")),
            ("Cargo.toml", b"", Some("manifest")),
            ("load.rs", b"", Some("source")),
            ("kept.json", record, Some("record")),
            ("kept.json.gz", &packed, Some("baseline")),
            ("report.json", b"{\"schema_version\":7,\"cards\":[]}", None),
            ("lines.jsonl.gz", b"\x1f\x8b", None),
        ] {
            let path = folder.path().join(name);
            assert_eq!(describe_protected(&path), None, "{name} is not there");
            fs::write(&path, bytes).unwrap();
            let link = folder.path().join(format!("{name}.link"));
            #[cfg(unix)]
            std::os::unix::fs::symlink(&path, &link).unwrap();
            #[cfg(not(unix))]
            fs::copy(&path, &link).unwrap();
            for path in [&path, &link] {
                let said = describe_protected(path);
                assert_eq!(said.is_some(), what.is_some(), "{name}: {said:?}");
                assert!(said.unwrap_or_default().contains(what.unwrap_or_default()));
            }
        }
        // The journal of a run, beside its record or its header.
        fs::write(folder.path().join("record.json"), record).unwrap();
        let journal = folder.path().join("journal-1.jsonl");
        fs::write(&journal, "").unwrap();
        let refused = check_output(&journal).unwrap_err().to_string();
        assert!(refused.contains("part of the record of a run"), "{refused}");
    }
}
