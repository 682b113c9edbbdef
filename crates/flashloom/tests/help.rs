//! The help of each command: its examples run, and the descriptions of the examples are right.

use std::process::Command;

use crate::common::{ALL_KINDS, NO_STORE, TRACE, WorkFolder, buffered};
use crate::mqsim::{CONFIG, FLOWS};
use crate::torture::TORTURE;

/// The commands that are listed in a help text, without `help`.
fn listed(help: &str) -> Vec<String> {
    let Some((_, after)) = help.split_once("Commands:\n") else { return Vec::new() };
    let lines = after.lines().take_while(|line| line.starts_with("  "));
    // The further lines of a long description are indented more.
    let names = lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(ToOwned::to_owned).collect()
}

/// The help texts of all commands without subcommands.
fn helps(place: &WorkFolder, way: &[&str]) -> Vec<(String, String)> {
    let help = place.printed(&[way, &["--help"]].concat());
    let inner = listed(&help);
    if inner.is_empty() {
        return vec![(way.join(" "), help)];
    }
    inner.iter().flat_map(|name| helps(place, &[way, &[name]].concat())).collect()
}

fn examples(help: &str) -> Vec<&str> {
    let Some((_, after)) = help.split_once("Examples:\n") else { return Vec::new() };
    after.lines().take_while(|line| !line.is_empty()).map(str::trim).filter(|line| !line.starts_with('#')).collect()
}

/// A drive that survives the loss of a die, has three operational power states and asks for memory of the host.
const STRIPED: &str = r"name = 'striped'
flash = { part = 'dirik-2009', channels = 2, chips = 2, blocks = 40, pages = 16, controllers = 'none' }
ftl = { over-provisioning = '70%', superblock-dies = 4, parity = true, map = { kind = 'dftl', hmb = {} } }
power = { controller = { active = '1W', idle = '1W' }, operational = [{ power = '3W' }, { power = '2W' }, { power = '1.1W' }] }
";

/// A RAID that survives the loss of a drive.
const MIRRORED: &str = r"name = 'mirrored'
flash = { part = 'dirik-2009', channels = 2, chips = 2, blocks = 40, pages = 16 }
ftl = { over-provisioning = '40%' }
raid = { level = 'raid1', drives = 2, chunk = '64KiB' }
";

/// Serves a device that takes commands at this socket.
fn served(socket: &std::path::Path, text: &str) -> serve::Engine {
    let device = study::catalogue::Device::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let options = serve::EngineOptions { control: Some(socket.to_owned()), ..serve::EngineOptions::new(device) };
    serve::Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_example_of_the_help_runs() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_flashloom")).parent().expect("a folder");
    let path = format!("{}:/usr/bin:/bin", program.display());
    let place = WorkFolder::new();
    place.printed(&["compare", "w.toml", "d.toml", "--precondition", "none", "--store", "s"]);
    let key = place.printed(&["store", "show", "last", "--key", "--store", "s"]);
    let mut ran = 0;
    for (command, help) in helps(&place, &[]) {
        let all = examples(&help);
        assert!(!all.is_empty(), "`flashloom {command}` has no example");
        for line in all {
            // All studies of `sung` take minutes; `papers.rs` checks their claims. `serve demo` runs until a signal, as in
            // `serve.rs`.
            if line == "flashloom reproduce sung" || line == "flashloom serve demo" {
                continue;
            }
            // Dask comes with the Python package, whose tests run this example.
            if line.contains("--on ") {
                continue;
            }
            let here =
                WorkFolder::with(&[("mine.csv", "0,W,0,8192\n90,R,0,4096\n"), ("msr.csv", TRACE), ("KEY.json", &key)]);
            here.write("ssd.xml", CONFIG);
            here.write("flows.xml", FLOWS);
            let sockets = [("drive.ctl", STRIPED), ("raid.ctl", MIRRORED)];
            let named = sockets.into_iter().find(|(name, _)| line.contains(name));
            let served = named.map(|(name, text)| served(&here.path(name), text));
            here.write("torture.toml", TORTURE);
            here.write("d.toml", buffered(""));
            here.write("w.toml", ALL_KINDS);
            let mut shell = Command::new("sh");
            shell.args(["-ec", line]).current_dir(here.path(".")).env("PATH", &path).env(NO_STORE.0, NO_STORE.1);
            let output = shell.output().expect("a shell");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{line}: {told}");
            drop(served.and_then(|drive| drive.stop()));
            let files = testkit::names(&here.path("."));
            assert!(!output.stdout.is_empty() || files.len() > 6, "{line} gives nothing");
            ran += 1;
        }
    }
    assert!(ran > 20, "{ran}");
}
