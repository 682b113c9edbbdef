//! The public names of the library, each in a line of `surface.txt`, so that no change adds or removes a name by
//! accident.

use std::fs;
use std::path::Path;

/// The names that a file exports with `pub use`, each with the modules it is in, sorted.
fn surface(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut module = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("pub ") {
        // A closing brace in the first column ends a module.
        if rest[..at].contains("\n}") {
            module.clear();
        }
        rest = &rest[at + "pub ".len()..];
        if let Some((name, after)) = rest.strip_prefix("mod ").and_then(|rest| rest.split_once(" {")) {
            module = format!("{name}::");
            rest = after;
        } else if let Some((paths, after)) = rest.strip_prefix("use ").and_then(|rest| rest.split_once(';')) {
            let list = paths.split_once('{').map_or(paths, |(_, list)| list.trim_end_matches('}'));
            let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            names.extend(entries.map(|entry| {
                let name = entry.rsplit_once(" as ").map_or(entry, |(_, name)| name);
                format!("{module}{}", name.rsplit("::").next().unwrap_or(name))
            }));
            rest = after;
        } else {
            let item = rest.lines().next().unwrap_or_default();
            names.push(format!("{module}{item}"));
        }
    }
    names.sort();
    names
}

#[test]
fn the_public_names_are_those_of_surface_txt() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).expect(path);
    let (here, said) = (surface(&read("src/lib.rs")), read("tests/surface.txt"));
    let said: Vec<_> = said.lines().filter(|line| !line.starts_with('#')).collect();
    let come = here.iter().filter(|name| !said.contains(&name.as_str())).map(|name| format!("+ {name}\n"));
    let gone = said.iter().filter(|name| !here.iter().any(|here| here == *name)).map(|name| format!("- {name}\n"));
    let changes: String = come.chain(gone).collect();
    assert!(
        changes.is_empty(),
        "\n{changes}the library's surface is another: if that is on purpose, write it into crates/flashloom/tests/surface.txt \
         and into CHANGELOG.md"
    );
    assert_eq!(here, said, "surface.txt is sorted and names nothing twice");
}

#[test]
fn every_form_of_export_is_listed() {
    let text = "pub use a::b;\n\n/// Doc.\npub mod m {\n    pub use c::{\n        D, E as F, g::H,\n    };\n}\n\npub use x::{Y};\npub fn z() {}\n";
    assert_eq!(surface(text), ["Y", "b", "fn z() {}", "m::D", "m::F", "m::H"]);
}
