//! A test that the map of the code names only modules that exist, and stays short.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects all modules of all crates, as `/crate/module/submodule`.
fn modules(folder: &Path, at: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        if path.is_dir() {
            modules(&path, &format!("{at}/{name}"), found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(format!("{at}/{name}"));
        }
    }
}

/// Collects the paths between backquotes, one for each name in braces.
fn named(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for span in text.split('`').skip(1).step_by(2) {
        let (before, names) =
            span.split_once('{').map_or((span, ""), |(before, rest)| (before, rest.trim_end_matches('}')));
        let is_path =
            |path: &str| path.contains("::") && path.chars().all(|c| c.is_ascii_lowercase() || "_:".contains(c));
        let each = names.split(", ").map(|name| format!("{before}{name}"));
        paths.extend(each.filter(|path| is_path(path)));
    }
    paths
}

#[test]
fn architecture_names_modules_that_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut there = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("the crates") {
        let path = entry.expect("a crate").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        if path.join("src").is_dir() {
            modules(&path.join("src"), &format!("/{name}"), &mut there);
        }
    }
    let paths = named(&text);
    let exists = |path: &&String| {
        let end = format!("/{}", path.trim_end_matches("::").replace("::", "/"));
        there.iter().any(|module| module.ends_with(&end))
    };
    let missing: Vec<_> = paths.iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names modules that do not exist: {missing:?}");
    assert!(paths.len() > 60, "{} modules are named", paths.len());
}

#[test]
fn architecture_and_model_stay_short() {
    for (name, most) in [("ARCHITECTURE.md", 250), ("MODEL.md", 400), ("README.md", 130)] {
        let lines = fs::read_to_string(root().join(name)).expect(name).lines().count();
        assert!(lines <= most, "{name} has {lines} lines, and at most {most} are read");
    }
}
