//! A test that a new mechanism touches only the files that CONTRIBUTING promises.
//!
//! CONTRIBUTING's table has a row for each kind of mechanism, and the test compares [`KINDS`] with it. The test treats
//! every existing mechanism as a newcomer and finds the files that name it, apart from its own. It fails if shipped
//! code names the mechanism without a promise. It also fails on any list of all mechanisms of a kind, in tests and
//! documents too, because a newcomer would have to join the list. Planted names show that the test would find them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

struct File {
    path: String,
    text: String,
}

struct MechanismKind {
    name: &'static str,
    /// A mechanism's own file or folder in CONTRIBUTING's table.
    own: &'static str,
    /// The other files that a newcomer edits.
    promised: &'static [&'static str],
    /// The folders whose code could name a mechanism of this kind.
    within: &'static [&'static str],
    /// Function that reads all registered mechanisms from the text of the file that registers them.
    members: fn(&str) -> Vec<Member>,
    /// Files that may name one mechanism, or [`ALL`], but need not name a newcomer: the file, the mechanism, the
    /// reason.
    uses: &'static [(&'static str, &'static str, &'static str)],
}

/// A registered mechanism.
#[derive(Debug)]
struct Member {
    name: String,
    /// The identifiers by which code names the mechanism.
    words: Vec<String>,
    /// The path prefixes of the mechanism's own files.
    own: Vec<String>,
}

const SHIPPED: &[&str] = &[
    "crates/base/src/",
    "crates/flash/src/",
    "crates/ftl/src/",
    "crates/ssd/src/",
    "crates/workload/src/",
    "crates/study/src/",
    "crates/report/src/",
    "crates/flashloom/src/",
    "crates/fuzz/src/",
];

/// Mechanism of a use that lists a whole kind.
const ALL: &str = "all";

const KINDS: [MechanismKind; 5] = [
    MechanismKind {
        name: "a victim policy",
        own: "2",
        promised: &["crates/ftl/src/page/victim.rs"],
        within: SHIPPED,
        members: victims,
        uses: &[
            ("crates/ftl/src/page/gc_spec.rs", "Greedy", "the default"),
            ("crates/ftl/src/map_unit/evict.rs", "Random", "an eviction of this name"),
            ("crates/ftl/src/map_unit/evict.rs", "Score", "an eviction of this name"),
            ("crates/ftl/src/map_unit/evict/score.rs", "Score", "an eviction of this name"),
            ("crates/ftl/src/page/writer/placement.rs", "Score", "a placement of this name"),
            ("crates/ftl/src/page/writer/placement/choice.rs", "Score", "a placement of this name"),
            ("crates/ftl/src/page/writer/placement/score.rs", "Score", "a placement of this name"),
        ],
    },
    MechanismKind {
        name: "a NAND part",
        own: "2",
        promised: &["crates/flash/src/nand/part/preset.rs"],
        within: SHIPPED,
        members: parts,
        uses: &[
            ("crates/flash/src/spec.rs", "dirik-2009", "an example in the schema"),
            ("crates/flash/src/spec.rs", "K9WAG08U1A", "an example in the schema"),
            ("crates/flash/src/spec.rs", "K9XXG08", "an example in the schema"),
            ("crates/flash/src/spec/slc_array.rs", "dirik-2009", "an example in the schema"),
            ("crates/flash/src/spec/slc_array.rs", "K9WAG08U1A", "an example in the schema and in a message"),
            ("crates/flash/src/spec/slc_array.rs", "K9XXG08", "an example in the schema"),
            ("crates/flash/src/spec/part.rs", "dirik-2009", "an example in a message"),
            ("crates/flash/src/nand/part/own.rs", "dirik-2009", "an example in the schema and in a message"),
            ("crates/flash/src/nand/part/own.rs", "K9XXG08", "an example in the schema"),
            ("crates/ftl/src/hydra/family.rs", "K9K8G08U0M", "an example in a message"),
        ],
    },
    MechanismKind {
        name: "a trace format",
        own: "4",
        promised: &[
            "crates/workload/src/trace.rs",
            "crates/workload/src/trace/format.rs",
            "crates/workload/src/trace/format/registry.rs",
        ],
        within: SHIPPED,
        members: formats,
        uses: &[
            ("crates/workload/src/trace/survey.rs", "Tencent", "five bare numbers have many readings"),
            ("crates/workload/src/trace/survey.rs", "Disksim", "no file of it says its units"),
            ("crates/workload/src/trace/survey.rs", "Mqsim", "no file of it says its units"),
            ("crates/workload/src/trace/survey.rs", "LibCacheSim", "no file of it says its unit of time"),
            ("crates/workload/src/trace/survey.rs", "Thesios", "requests of files have any alignment"),
            ("crates/workload/src/trace/survey.rs", "Parquet", "our own columns leave nothing open"),
            ("crates/workload/src/trace/survey.rs", "Csv", "its columns are named by the user"),
            ("crates/workload/src/trace/doubt.rs", "LibCacheSim", "why its times have the unit that they have"),
            ("crates/workload/src/trace/doubt.rs", "Csv", "its columns are corrected in --columns"),
            ("crates/workload/src/trace/archive.rs", "Blktrace", "its CPUs are files of their own"),
            ("crates/workload/src/trace/pass.rs", "Blktrace", "its CPUs are files of their own"),
            ("crates/workload/src/trace.rs", "Csv", "its columns are named by the user"),
            ("crates/report/src/study_report/folder.rs", "Parquet", "results are written as it is"),
            ("crates/study/src/output/kind.rs", "Parquet", "an extension that promises it"),
            ("crates/study/src/output/kind.rs", "Csv", "an extension that promises it"),
            ("crates/fuzz/src/target/trace.rs", "Spc", "the example that is compressed"),
            ("crates/fuzz/src/target/trace.rs", "Msr", "the example that is converted"),
            ("crates/fuzz/src/target/trace.rs", "Csv", "its columns are read, too"),
        ],
    },
    MechanismKind {
        name: "a family of FTLs",
        own: "its folder and 4",
        promised: &[
            "crates/ftl/src/families.rs",
            "crates/ftl/src/kind.rs",
            "crates/ftl/src/lib.rs",
            "crates/ftl/src/spec.rs",
        ],
        within: SHIPPED,
        members: families,
        uses: &[
            ("crates/testkit/src/conformance/settings.rs", ALL, "settings beside the default: parameters of tests"),
            ("crates/testkit/src/swarm.rs", ALL, "keys that are drawn: parameters of tests"),
        ],
    },
    MechanismKind {
        name: "a conformance check",
        own: "2",
        promised: &["crates/testkit/src/conformance.rs"],
        within: &["crates/testkit/src/", "crates/fuzz/src/"],
        members: checks,
        uses: &[
            ("crates/testkit/tests/sabotage.rs", ALL, "every planted bug has the check that finds it"),
            ("crates/testkit/src/conformance/precondition.rs", "wear", "a fault of its own has this name, too"),
            ("crates/testkit/src/conformance/precondition.rs", "program failures", "a fault has this name, too"),
            ("crates/testkit/src/conformance/precondition.rs", "erase failures", "a fault has this name, too"),
        ],
    },
];

/// Returns the text between two marks.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no `{from}`"));
    rest.split_once(to).unwrap_or_else(|| panic!("no `{to}` after `{from}`")).0
}

fn quoted(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

/// Converts a name such as `WindowedGreedy` to `windowed_greedy`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Lists the variants of an enum, whose lines are indented by four.
fn variants<'a>(text: &'a str, of: &str) -> Vec<&'a str> {
    let lines = between(text, &format!("pub enum {of} {{\n"), "\n}\n").lines();
    let names = lines.filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names.map(|line| line.split([' ', ',', '(']).next().expect("a name")).collect()
}

fn victims(registry: &str) -> Vec<Member> {
    let member = |name: &str| Member {
        name: name.to_owned(),
        words: vec![format!("VictimSpec::{name}"), format!("{}::", snake(name)), format!("{name} {{")],
        own: vec![format!("crates/ftl/src/page/victim/{}.rs", snake(name))],
    };
    variants(registry, "VictimSpec").into_iter().map(member).collect()
}

fn parts(registry: &str) -> Vec<Member> {
    let member = |line: &str| {
        let mut words = line.split('"').skip(1).step_by(2);
        let (name, file) = (words.next()?, words.next()?);
        let own = vec![format!("crates/flash/src/nand/part/{file}")];
        Some(Member { name: name.to_owned(), words: vec![name.to_owned(), file.to_owned()], own })
    };
    between(registry, "const FILES:", "];").lines().filter_map(member).collect()
}

fn formats(registry: &str) -> Vec<Member> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = fs::read_to_string(root.join("crates/workload/src/trace/format.rs")).expect("the names of formats");
    let entries = between(registry, "\nreaders! {\n", "\n}\n").split(";\n");
    let member = |entry: &str| {
        let entry = entry.trim();
        let (name, rest) = entry.split_once(", ")?;
        // The module that reads the format is its own file.
        let open = rest.rsplit_once("open")?.1.trim_start_matches("::<");
        let module = open.split("::").next()?;
        let module = if module.starts_with(',') { snake(name) } else { module.to_owned() };
        let named = names.split_once(&format!("\n    {name}, "))?.1;
        Some(Member {
            name: name.to_owned(),
            words: vec![
                format!("Format::{name}"),
                format!("\"{}\"", quoted(named)?),
                format!("{name}, {}", rest.split(',').next()?),
            ],
            own: vec![format!("crates/workload/src/trace/{module}.rs")],
        })
    };
    entries.filter_map(member).collect()
}

/// Lists the FTL families with folders of their own, from the exports of `lib.rs`. The page-mapped one is left out,
/// because code distinguishes the others from it.
fn families(registry: &str) -> Vec<Member> {
    let exported = registry.split("pub use ").skip(1).filter_map(|line| line.split_once("::{"));
    let member = |(folder, rest): (&str, &str)| {
        let names = rest.split_once("};")?.0.split(',').map(str::trim);
        let named: Vec<_> = names.filter(|name| ["Ftl", "Config"].iter().any(|end| name.ends_with(end))).collect();
        // `SlcMlcFtl` has the kind `Chang`, and the log-block family has two kinds.
        let ftl = named.iter().find(|name| name.ends_with("Ftl"))?.trim_end_matches("Ftl");
        let kinds = if folder == "log_block" { vec!["Bast", "Fast"] } else { vec![ftl] };
        let keys = [format!("{ftl}Spec"), format!("{ftl}Family"), format!("{folder}::")];
        let words = named.iter().map(|name| (*name).to_owned()).chain(keys);
        let words = words.chain(kinds.into_iter().map(|kind| format!("FtlKind::{kind}"))).collect();
        let own = vec![format!("crates/ftl/src/{folder}.rs"), format!("crates/ftl/src/{folder}/")];
        Some(Member { name: folder.to_owned(), words, own })
    };
    let ours = |member: &Member| !["page", "map_unit", "port", "any", "event", "family"].contains(&&*member.name);
    exported.filter_map(member).filter(ours).collect()
}

fn checks(registry: &str) -> Vec<Member> {
    let member = |line: &str| {
        let (name, function) = (quoted(line)?, line.rsplit_once(", ")?.1.trim_end_matches(';'));
        let module = function.split("::").next()?;
        let own = vec![format!("crates/testkit/src/conformance/{module}.rs")];
        Some(Member { name: name.to_owned(), words: vec![function.to_owned(), format!("\"{name}\"")], own })
    };
    between(registry, "$to! {\n", "\n        }").lines().filter_map(member).collect()
}

/// Returns the shipped code of a file: without comments and tests.
fn shipped(file: &File) -> String {
    let text = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Lists the test modules, as prefixes of their paths.
fn test_modules(files: &[File]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files {
        let folder = file.path.trim_end_matches("/lib.rs").trim_end_matches("/main.rs").trim_end_matches(".rs");
        for after in file.text.split("#[cfg(test)]\n").skip(1) {
            let line = after.lines().next().unwrap_or_default();
            if let Some(name) = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod ")) {
                found.extend([format!("{folder}/{}.rs", name.1), format!("{folder}/{}/", name.1)]);
            }
        }
    }
    found
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let inner = |at: usize| word.starts_with(inside) && text[..at].ends_with(inside);
    let longer = |at: usize| word.ends_with(inside) && text[at + word.len()..].starts_with(inside);
    text.match_indices(word).any(|(at, _)| !inner(at) && !longer(at))
}

/// Lists the files that a newcomer of this kind would have to edit without a promise, each with the reason.
fn unpromised(kind: &MechanismKind, files: &[File]) -> Vec<(String, String)> {
    let registry = kind.promised.iter().map(|path| files.iter().find(|file| file.path == *path).expect(path));
    let members: Vec<_> = registry.flat_map(|file| registered(kind, file)).collect();
    let tests = test_modules(files);
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !kind.promised.contains(&&*file.path)) {
        let is_test = tests.iter().any(|test| file.path.starts_with(test));
        let ships = kind.within.iter().any(|folder| file.path.starts_with(folder)) && !is_test;
        let code = if ships && file.path.ends_with(".rs") { shipped(file) } else { String::new() };
        let is_use = |what: &str| kind.uses.iter().any(|(path, name, _)| *path == file.path && *name == what);
        for member in &members {
            let is_own = member.own.iter().any(|own| file.path.starts_with(own));
            if !is_own && !is_use(&member.name) && member.words.iter().any(|word| has_word(&code, word)) {
                found.push((file.path.clone(), format!("names {}", member.name)));
            }
        }
        let names = |member: &Member| member.words.iter().any(|word| has_word(&file.text, word));
        if !is_use(ALL) && members.iter().all(names) {
            found.push((file.path.clone(), "lists all of them".to_owned()));
        }
    }
    found
}

/// Lists the mechanisms that this file registers; empty if it is not the registry.
fn registered(kind: &MechanismKind, file: &File) -> Vec<Member> {
    let is_registry = match kind.name {
        "a trace format" => file.path.ends_with("/format/registry.rs"),
        "a family of FTLs" => file.path.ends_with("/lib.rs"),
        _ => true,
    };
    if is_registry { (kind.members)(&file.text) } else { Vec::new() }
}

fn collect(folder: &Path, root: &Path, files: &mut Vec<File>) {
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let is_ours = folder != root || !["target", "out", "shared"].contains(&name);
        if path.is_symlink() || name.starts_with('.') || name == "node_modules" || !is_ours {
            continue;
        }
        if path.is_dir() {
            collect(&path, root, files);
        } else if ["rs", "toml", "md", "txt"].contains(&name.rsplit('.').next().expect("a piece")) {
            let path_in = path.strip_prefix(root).expect("below").to_str().expect("UTF-8").replace('\\', "/");
            // This test itself names every promised file.
            if path_in != "crates/testkit/tests/newcomers.rs" && path_in != "CHANGELOG.md" {
                files.push(File { path: path_in, text: fs::read_to_string(&path).expect("UTF-8") });
            }
        }
    }
}

fn repository() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    files
}

#[test]
fn a_newcomer_edits_only_the_promised_files() {
    let files = repository();
    let mut faults = String::new();
    for kind in &KINDS {
        for (path, why) in unpromised(kind, &files) {
            faults += &format!("{path}: {why}, and CONTRIBUTING does not promise it for {}\n", kind.name);
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn contributing_lists_the_promised_files() {
    let files = repository();
    let contributing = &files.iter().find(|file| file.path == "CONTRIBUTING.md").expect("there").text;
    for kind in &KINDS {
        let row = contributing.lines().find(|line| line.starts_with(&format!("| {} |", kind.name)));
        let row = row.unwrap_or_else(|| panic!("CONTRIBUTING has no row for {}", kind.name));
        assert!(row.starts_with(&format!("| {} | {} |", kind.name, kind.own)), "{row}");
        for path in kind.promised {
            assert!(row.contains(&format!("`{path}`")), "{path} is not in: {row}");
        }
        let counted = row.matches("`crates/").count() - usize::from(row.contains("<name>"));
        assert_eq!(counted, kind.promised.len(), "{row}");
        let number: usize = kind.own.trim_start_matches("its folder and ").parse().expect("a number");
        let beside = if kind.own.starts_with("its folder") { number } else { number - 1 };
        assert_eq!(beside, kind.promised.len(), "{}", kind.name);
    }
}

/// Every kind has several mechanisms, every promised file names some of them, and every allowed use exists.
#[test]
fn every_promised_file_and_every_allowed_use_is_needed() {
    let files = repository();
    for kind in &KINDS {
        let find = |path: &str| files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("no {path}"));
        let members: Vec<_> = kind.promised.iter().flat_map(|path| registered(kind, find(path))).collect();
        assert!(members.len() >= 3, "{}: {members:?}", kind.name);
        for member in &members {
            let own = |file: &File| member.own.iter().any(|own| file.path.starts_with(own));
            assert!(files.iter().any(own), "{member:?}");
        }
        let named = |path: &str, member: &Member| {
            let is_module = |own: &String| {
                let module = own.rsplit('/').next().and_then(|file| file.strip_suffix(".rs"));
                module.is_some_and(|module| find(path).text.contains(&format!("mod {module};")))
            };
            member.words.iter().any(|word| has_word(&find(path).text, word)) || member.own.iter().any(is_module)
        };
        for path in kind.promised {
            assert!(
                members.iter().any(|member| named(path, member)),
                "{path} names no member, so CONTRIBUTING need not promise it for {}",
                kind.name
            );
        }
        for (path, name, why) in kind.uses {
            let code = shipped(find(path));
            let meant: Vec<_> = members.iter().filter(|member| *name == ALL || member.name == *name).collect();
            let names = |member: &&Member| member.words.iter().any(|word| has_word(&code, word));
            assert!(meant.iter().any(names), "{path} does not name {name}: {why}");
        }
    }
}

#[test]
fn a_name_planted_in_another_file_is_found() {
    let repository = repository();
    for kind in &KINDS {
        let promised = repository.iter().filter(|file| kind.promised.contains(&&*file.path));
        let mut files: Vec<_> =
            promised.map(|file| File { path: file.path.clone(), text: file.text.clone() }).collect();
        let find = |path: &str| files.iter().find(|file| file.path == path).expect("promised");
        let members: Vec<_> = kind.promised.iter().flat_map(|path| registered(kind, find(path))).collect();
        let word = |member: &Member| member.words[0].clone();
        for member in [&members[0], members.last().expect("several")] {
            let path = format!("{}planted.rs", kind.within[0]);
            let text = format!("//! x\nfn f() {{ {}; }}\n", word(member));
            files.push(File { path: path.clone(), text });
            assert_eq!(unpromised(kind, &files), [(path.clone(), format!("names {}", member.name))], "{}", kind.name);
            // A name in a comment or a test does not count.
            for text in [format!("// {}\n", word(member)), format!("#[cfg(test)]\nmod tests {{ {} }}\n", word(member))]
            {
                files.last_mut().expect("planted").text = text;
                assert_eq!(unpromised(kind, &files), [], "{}", kind.name);
            }
            files.pop();
        }
        let path = "crates/study/tests/planted.txt".to_owned();
        files.push(File { path: path.clone(), text: members.iter().map(word).collect::<Vec<_>>().join("\n") });
        assert_eq!(unpromised(kind, &files), [(path, "lists all of them".to_owned())], "{}", kind.name);
    }
}
