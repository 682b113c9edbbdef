//! The files that run a result again: its device, its workloads, and the command.
//!
//! They have the resolved configuration, so this version of Flashloom reproduces the event hash, even if the original
//! files have changed. Traces are not copied.

use std::path::{Path, absolute};

use study::summary::Provenance;
use toml::{Table, Value};

/// The file with the command, in the folder of a result.
const COMMAND: &str = "command.txt";

/// All names that these files may have, with `flows` flows beside the first.
pub(super) fn names(flows: usize) -> Vec<String> {
    let plain = ["device.toml", "workload.toml", COMMAND].map(ToOwned::to_owned);
    plain.into_iter().chain((1..=flows).map(|number| format!("flow-{number}.toml"))).collect()
}

pub(super) fn files(about: &Provenance) -> Vec<(String, String)> {
    files_with(about, &[])
}

/// Names and contents of the files. The command gets these further options.
pub(super) fn files_with(about: &Provenance, also: &[String]) -> Vec<(String, String)> {
    let table = |key: &str| about.config.get(key).and_then(Value::as_table);
    let (Some(device), Some(workload)) = (table("device"), table("workload")) else { return Vec::new() };
    let run = table("run").cloned().unwrap_or_default();
    let mut files = vec![("device.toml".to_owned(), device.to_string())];
    let mut command = vec!["flashloom".to_owned(), "run".to_owned(), "device.toml".to_owned()];
    command.push(play(workload, "workload.toml", &mut files));
    let flows = about.config.get("flow").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all = || std::iter::once(workload).chain(flows.iter().filter_map(|flow| flow.get("workload")?.as_table()));
    if let Some(trace) = all().find(|workload| workload.contains_key("trace")) {
        options(
            trace,
            &[
                "format",
                "columns",
                "time-unit",
                "address-unit",
                "size-unit",
                "volume",
                "volumes",
                "event",
                "tolerance",
                "gap-limit",
                "skip",
                "repeat",
                "extent",
            ],
            &mut command,
        );
    }
    options(
        &run,
        &[
            "depth",
            "open",
            "time-scale",
            "limit",
            "warm-up",
            "until",
            "round",
            "rounds",
            "warranty",
            "measure",
            "series",
            "queue",
            "placement-id",
            "fairness",
            "verify",
        ],
        &mut command,
    );
    if let Some(path) = run.get("snapshot").and_then(Value::as_str) {
        command.extend(["--load-snapshot".to_owned(), whole(path)]);
    }
    let steps = run.get("precondition").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !steps.is_empty() {
        let steps: Vec<_> = steps.iter().filter_map(Value::as_str).collect();
        command.extend(["--precondition".to_owned(), steps.join(",")]);
    }
    for (number, flow) in (1..).zip(flows.iter().filter_map(Value::as_table)) {
        let Some(workload) = flow.get("workload").and_then(Value::as_table) else { continue };
        let mut text = play(workload, &format!("flow-{number}.toml"), &mut files);
        for key in ["queue", "placement-id", "depth", "name"] {
            if let Some(value) = flow.get(key) {
                text += &format!(",{key}={}", plain(value));
            }
        }
        if flow.contains_key("open") {
            text += ",open";
        }
        command.extend(["--flow".to_owned(), text]);
    }
    command.extend(["--seed".to_owned(), about.seed.to_string()]);
    let command: Vec<String> = command.iter().chain(also).map(|word| quoted(word)).collect();
    files.push((COMMAND.to_owned(), format!("{}\n", command.join(" "))));
    files
}

/// The argument that plays a workload. A workload that is not a trace becomes a file of this name.
fn play(workload: &Table, name: &str, files: &mut Vec<(String, String)>) -> String {
    match workload.get("trace").and_then(Value::as_str) {
        Some(trace) => whole(trace),
        None => {
            files.push((name.to_owned(), workload.to_string()));
            name.to_owned()
        }
    }
}

/// The absolute path, so that the command works in every directory.
fn whole(path: &str) -> String {
    absolute(Path::new(path)).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

/// Appends the options that correspond to these keys.
fn options(table: &Table, keys: &[&str], command: &mut Vec<String>) {
    for key in keys {
        match table.get(*key) {
            None | Some(Value::Boolean(false)) => {}
            Some(Value::Boolean(true)) => command.push(format!("--{key}")),
            Some(value) => command.extend([format!("--{key}"), plain(value)]),
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "._/:,=+@%-".contains(c);
    if !word.is_empty() && word.chars().all(harmless) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(config: &str) -> (Vec<String>, String) {
        let config: Table = toml::from_str(config).expect("TOML");
        let mut files = files(&Provenance { seed: u64::MAX, config, ..Provenance::default() });
        let (name, command) = files.pop().expect("a command");
        assert_eq!(name, COMMAND);
        (files.into_iter().map(|(name, _)| name).collect(), command)
    }

    #[test]
    fn the_rerun_command_has_every_option_of_the_run() {
        let (files, text) = command(
            r#"[device]
name = "d"
[workload]
name = "w"
[run]
depth = 3
open = true
time-scale = 0.5
limit = 9
queue = 1
verify = true
snapshot = "/a b"
precondition = ["fill", "random:x2"]
[[flow]]
name = "it's"
queue = 2
open = true
workload = { name = "v" }
"#,
        );
        assert_eq!(files, ["device.toml", "workload.toml", "flow-1.toml"]);
        assert_eq!(
            text,
            "flashloom run device.toml workload.toml --depth 3 --open --time-scale 0.5 --limit 9 --queue 1 --verify \
             --load-snapshot '/a b' --precondition fill,random:x2 --flow 'flow-1.toml,queue=2,name=it'\\''s,open' \
             --seed 18446744073709551615\n"
        );
        let (files, text) =
            command("device = {}\nworkload = { trace = \"/t.csv\", skip = 3, gap-limit = \"1s\" }\nrun = {}\n");
        assert_eq!(files, ["device.toml"]);
        assert_eq!(text, "flashloom run device.toml /t.csv --gap-limit 1s --skip 3 --seed 18446744073709551615\n");
    }
}
