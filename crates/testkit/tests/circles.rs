//! A test that the files of a crate use each other in one direction only.
//!
//! A file uses another if it names an item that the other defines; re-exports are followed to the definition. Two cases
//! are no cycle: a file in a folder may use the declarations of the file above, because it adds a mechanism to that
//! type, and tests may use any file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::imports::single_paths;

/// A module's path from the root of its crate.
type Module = Vec<String>;

/// The files of a crate, each with its code.
type Files = BTreeMap<Module, String>;

/// The imports of a file, and its re-exports by name.
#[derive(Default)]
struct Imports {
    used: Vec<Module>,
    exported: BTreeMap<String, Module>,
}

fn words(path: &str) -> Module {
    path.split("::").map(str::trim).filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
}

/// Returns the code of a file without comments and tests.
fn shipped(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    code.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn imports(code: &str) -> Imports {
    let mut imports = Imports::default();
    for statement in code.split(';') {
        let Some(start) = statement.rfind("use ").filter(|start| {
            let line = statement[..*start].rsplit('\n').next().unwrap_or("").trim();
            line.is_empty() || line.starts_with("pub")
        }) else {
            continue;
        };
        let public = statement[..start].rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with("pub"));
        for path in single_paths(&statement[start + 4..]) {
            let path = words(path.split(" as ").next().unwrap_or(""));
            match path.iter().rev().find(|word| *word != "self") {
                Some(name) if public => {
                    imports.exported.insert(name.clone(), path.clone());
                }
                _ => imports.used.push(path),
            }
        }
    }
    // Paths that the code itself names, outside a `use`.
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root).filter(|(at, _)| !code[..*at].ends_with("::")) {
            let path: String = code[at..].chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
            imports.used.push(words(path.trim_end_matches(':')));
        }
    }
    imports
}

/// Finds the file that defines the item of a path; `None` if there is none in this crate.
fn definition(files: &Files, all: &BTreeMap<Module, Imports>, path: &[String], depth: usize) -> Option<Module> {
    let end = (0..=path.len()).rev().find(|end| files.contains_key(&path[..*end]))?;
    let (file, rest) = path.split_at(end);
    let Some(name) = rest.first().filter(|name| *name != "self") else { return Some(file.to_vec()) };
    match all[file].exported.get(name).filter(|_| depth < 8) {
        Some(exported) => definition(files, all, &absolute(files, file, exported)?, depth + 1),
        None => Some(file.to_vec()),
    }
}

/// Returns a path from the root of the crate; `None` if it leads to another crate.
fn absolute(files: &Files, file: &[String], path: &[String]) -> Option<Module> {
    let (mut at, mut rest) = (file.to_vec(), path);
    match path.first()?.as_str() {
        "crate" => return Some(path[1..].to_vec()),
        "super" | "self" => {
            while let Some(("super" | "self", tail)) = rest.split_first().map(|(first, tail)| (first.as_str(), tail)) {
                if rest[0] == "super" {
                    at.pop();
                }
                rest = tail;
            }
        }
        child => {
            let inside = [file, &[child.to_owned()]].concat();
            if !files.contains_key(&inside) {
                return None;
            }
        }
    }
    at.extend_from_slice(rest);
    Some(at)
}

/// Finds the groups of a crate's files that use each other.
fn circles(files: &Files) -> Vec<Vec<String>> {
    let all: BTreeMap<Module, Imports> =
        files.iter().map(|(file, text)| (file.clone(), imports(&shipped(text)))).collect();
    let mut edges: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (file, imports) in &all {
        for path in &imports.used {
            let Some(path) = absolute(files, file, path) else { continue };
            // A path to a module itself does not count as a use.
            let Some(other) = definition(files, &all, &path, 0).filter(|other| *other != path) else { continue };
            if other != *file && !file.starts_with(&other) {
                edges.entry(file).or_default().insert(other);
            }
        }
    }
    let reach = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            for other in edges.get(file).into_iter().flatten() {
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = files.keys().map(|file| (file, reach(file))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (file, others) in reached.iter().filter(|(file, others)| others.contains(**file)) {
        let circle = others.iter().filter(|other| reached[**other].contains(*file));
        found.insert(circle.map(|file| file.join("::")).collect());
    }
    found.into_iter().collect()
}

/// Reads the files that the `mod` lines of a crate name.
fn read(source: &Path, file: &Path, module: Module, into: &mut Files) {
    let text = fs::read_to_string(source.join(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let folder = if module.is_empty() { Path::new("").to_owned() } else { file.with_extension("") };
    let mut tests = false;
    for line in text.lines() {
        let declared = line.trim().strip_suffix(';').and_then(|line| line.rsplit_once("mod "));
        let declared = declared.filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
        if let Some((_, name)) = declared.filter(|_| !tests) {
            let inside = [module.as_slice(), &[name.to_owned()]].concat();
            read(source, &folder.join(format!("{name}.rs")), inside, into);
        }
        tests = line.trim() == "#[cfg(test)]";
    }
    into.insert(module, text);
}

#[test]
fn no_modules_of_a_crate_use_each_other() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/");
    let mut read_files = 0;
    for entry in fs::read_dir(crates).expect("crates/") {
        let folder = entry.expect("a folder").path();
        let source = folder.join("src");
        if !source.join("lib.rs").is_file() {
            continue;
        }
        let mut files = Files::new();
        read(&source, Path::new("lib.rs"), Module::new(), &mut files);
        read_files += files.len();
        let name = folder.file_name().expect("a name").display();
        let found = circles(&files);
        assert!(found.is_empty(), "files of {name} that use each other: {found:?}");
    }
    assert!(read_files > 1000, "{read_files} files");
}

#[test]
fn planted_circles_are_found_and_no_others() {
    let files = |texts: &[(&str, &str)]| -> Files {
        texts.iter().map(|(file, text)| (words(file), (*text).to_owned())).collect()
    };
    let plain = [
        ("", "mod a;\nmod b;\npub use a::{Name, deep::Deep};\n"),
        ("a", "mod deep;\nuse crate::b::Other;\npub struct Name(deep::Deep);\n"),
        ("a::deep", "use super::Name;\npub struct Deep;\nimpl Name {}\n"),
        ("b", "pub struct Other;\n#[cfg(test)]\nmod tests {\n    use crate::a::Name;\n}\n"),
    ];
    assert_eq!(circles(&files(&plain)), [[""; 0]; 0]);
    for back in
        ["use crate::Name;\n", "use crate::{x, Name as N};\n", "fn f() { crate::a::Name; }\n", "use super::a::Name;\n"]
    {
        let mut planted = plain;
        planted[3].1 = back;
        let found = circles(&files(&planted));
        assert!(found.iter().any(|circle| circle.contains(&"b".to_owned())), "{back}: {found:?}");
    }
}
