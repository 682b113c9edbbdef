//! What comes with Flashloom, and what its files may hold.

use std::fmt::Write as _;
use std::io::Write;

use flash::nand::Part;
use workload::generate::{GeneratorSpec, builtin};

use crate::args::Schema;
use crate::exit::{Failure, print};

/// Prints the names of the workloads, or the text of one.
pub(crate) fn workloads(name: Option<&str>, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        let names: String = builtin().iter().map(|(name, _)| format!("{name}\n")).collect();
        return print(results, &names);
    };
    let found = builtin().iter().find(|(other, _)| *other == name);
    let (_, text) = found.ok_or_else(|| unknown(name, "workload", "workloads"))?;
    print(results, text)
}

/// Prints the NAND parts, or one of them as it would be written in a file.
pub(crate) fn parts(name: Option<&str>, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        let mut text = String::new();
        for part in Part::presets() {
            let _ = writeln!(text, "{}", part.name);
        }
        return print(results, &text);
    };
    let part = Part::preset(name).ok_or_else(|| unknown(name, "part", "parts"))?;
    let text = toml::to_string(&part)
        .map_err(|error| Failure::Bug { message: error.to_string(), replay: format!("flashloom parts {name}") })?;
    print(results, &text)
}

/// Prints a JSON schema.
pub(crate) fn schema(of: Schema, results: &mut dyn Write) -> Result<(), Failure> {
    let schema = match of {
        Schema::Workload => schemars::schema_for!(GeneratorSpec),
    };
    print(results, &format!("{:#}\n", schema.as_value()))
}

fn unknown(name: &str, kind: &str, command: &str) -> Failure {
    Failure::Input(format!("there is no {kind} `{name}`; `flashloom {command}` lists them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(of: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> String {
        let mut results = Vec::new();
        of(&mut results).expect("it prints");
        String::from_utf8(results).expect("text")
    }

    #[test]
    fn everything_listed_can_be_printed() {
        for name in printed(|out| workloads(None, out)).lines() {
            assert!(!printed(|out| workloads(Some(name), out)).is_empty());
        }
        for name in printed(|out| parts(None, out)).lines() {
            assert!(printed(|out| parts(Some(name), out)).contains(name));
        }
        assert!(printed(|out| schema(Schema::Workload, out)).contains("\"properties\""));
    }

    #[test]
    fn a_stranger_is_refused() {
        let failure = workloads(Some("none"), &mut Vec::new()).expect_err("unknown");
        assert_eq!(failure.to_string(), "error: there is no workload `none`; `flashloom workloads` lists them");
        assert!(parts(Some("none"), &mut Vec::new()).is_err());
    }
}
