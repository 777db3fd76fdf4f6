//! The command line.

use crate::faults::Fault;

pub(crate) const USAGE: &str = "\
A small shop over HTTP, to be load tested

Usage: shop [--port PORT] [--fault JSON]...

  --port PORT        listen on this port of 127.0.0.1; 0 finds a free one [default: 3000]
  --fault JSON       be slow or fail below a path, from the start:
                     {\"path\": \"/orders\", \"delay_ms\": 50, \"fail_ratio\": 0.1, \"status\": 503}
                     (also as a list in SHOP_FAULTS, and at run time: POST and DELETE /faults)
  --help             print this";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Serve(Options),
    Help,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) port: u16,
    pub(crate) faults: Vec<Fault>,
}

/// Reads the arguments (without the program's name) and the value of `SHOP_FAULTS`.
pub(crate) fn parse(
    args: impl IntoIterator<Item = String>,
    faults: Option<&str>,
) -> Result<Command, String> {
    let mut options = Options {
        port: 3000,
        faults: Vec::new(),
    };
    if let Some(list) = faults {
        options.faults = serde_json::from_str(list)
            .map_err(|error| format!("SHOP_FAULTS is not a list of faults: {error}"))?;
    }
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let (flag, mut value) = match arg.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let mut value = || {
            value
                .take()
                .or_else(|| args.next())
                .ok_or_else(|| format!("{flag} needs a value"))
        };
        match flag {
            "--port" => {
                let port = value()?;
                options.port = port
                    .parse()
                    .map_err(|_| format!("`{port}` is not a port; use 0 to 65535"))?;
            }
            "--fault" => {
                let fault = value()?;
                options.faults.push(
                    serde_json::from_str(&fault)
                        .map_err(|error| format!("`{fault}` is not a fault: {error}"))?,
                );
            }
            "--help" | "-h" => return Ok(Command::Help),
            _ => return Err(format!("there is no option `{flag}`; try --help")),
        }
    }
    for fault in &options.faults {
        fault.check()?;
    }
    Ok(Command::Serve(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned), None)
    }

    #[test]
    fn flags_take_their_value_with_or_without_an_equals_sign() {
        for line in ["--port=81", "--port 81"] {
            let Ok(Command::Serve(options)) = parsed(line) else {
                panic!("not understood");
            };
            assert_eq!(options.port, 81, "{line}");
        }
        assert_eq!(parsed("--port 80 --help"), Ok(Command::Help));
    }

    #[test]
    fn faults_come_from_flags_and_environment() {
        let flag = r#"--fault={"path":"/orders","delay_ms":50}"#.to_owned();
        let list = r#"[{"path":"/products","fail_ratio":1}]"#;
        let Ok(Command::Serve(options)) = parse([flag], Some(list)) else {
            panic!("not understood");
        };
        let paths: Vec<_> = options.faults.iter().map(|fault| &*fault.path).collect();
        assert_eq!(paths, ["/products", "/orders"]);
        assert_eq!(options.faults[0].status, 503);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |line| parsed(line).unwrap_err();
        assert_eq!(error("--prot 1"), "there is no option `--prot`; try --help");
        assert_eq!(error("--port"), "--port needs a value");
        assert_eq!(
            error("--port 70000"),
            "`70000` is not a port; use 0 to 65535"
        );
        assert!(error("--fault {}").contains("missing field `path`"));
        assert!(error(r#"--fault {"path":"/","fail_ratio":2}"#).contains("from 0 to 1"));
        assert!(parse([], Some("x")).unwrap_err().starts_with("SHOP_FAULTS"));
    }
}
