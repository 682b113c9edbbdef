//! Tests of the house rules that no compiler checks, over the whole repository.
//!
//! A rule reads files and lists violations. Every rule comes with planted violations, which check the rule itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A text file of the repository: its path, with `/` between the parts, and its text.
struct File {
    path: String,
    text: String,
}

/// A violation: the file, the line (0 for the whole file) and the reason.
type Violation = (String, usize, String);

struct Rule {
    name: &'static str,
    check: fn(&[File]) -> Vec<Violation>,
    /// Files that break the rule: the path, the text, and the lines of the violations.
    planted: &'static [(&'static str, &'static str, &'static [usize])],
    /// Files that look like violations but keep the rule.
    innocent: &'static [(&'static str, &'static str)],
}

fn at(file: &File, line: usize, why: impl Into<String>) -> Violation {
    (file.path.clone(), line, why.into())
}

fn rust(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.path.ends_with(".rs"))
}

/// Returns the lines of a file with their numbers, without comments.
fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().map(|(i, line)| (i + 1, line.split("//").next().unwrap_or("")))
}

/// Returns true if `line` has `word`, and not as a part of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + word.len()..]);
        let longer =
            word.starts_with(name) && before.ends_with(name) || word.ends_with(name) && after.starts_with(name);
        !longer
    })
}

// --- merges are finished ---

fn conflict_markers(files: &[File]) -> Vec<Violation> {
    let marks = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    let lines = files.iter().flat_map(|file| file.text.lines().enumerate().map(move |(i, line)| (file, i + 1, line)));
    lines.filter(|(.., line)| marks(line)).map(|(file, i, _)| at(file, i, "a merge was left unfinished")).collect()
}

// --- imports run only downward ---

/// The crates of the workspace that a crate may depend on.
const ARROWS: [(&str, &[&str]); 19] = [
    ("align", &["base", "ssd"]),
    ("base", &[]),
    ("nvme", &[]),
    ("flash", &["base"]),
    ("ftl", &["base", "flash"]),
    ("ssd", &["base", "flash", "ftl"]),
    ("raid", &["base", "flash", "ssd"]),
    ("translation", &["base", "flash", "ssd"]),
    ("workload", &["base"]),
    ("study", &["base", "flash", "ftl", "ssd", "raid", "translation", "workload"]),
    ("report", &["base", "flash", "ftl", "ssd", "workload", "study"]),
    ("verify", &["base", "ssd"]),
    ("serve", &["base", "nvme", "flash", "ftl", "ssd", "raid", "translation", "workload", "study", "report", "verify"]),
    ("torture", &["base", "flash", "ssd", "workload", "study", "serve"]),
    (
        "flashloom",
        &["base", "flash", "ftl", "ssd", "workload", "study", "report", "verify", "serve", "torture", "testkit"],
    ),
    (
        "python",
        &["align", "base", "flash", "ftl", "ssd", "workload", "study", "report", "serve", "testkit", "flashloom"],
    ),
    ("testkit", &["base", "flash", "ftl", "ssd", "raid", "translation", "workload", "study"]),
    ("bench", &["base", "flash", "ftl", "nvme", "ssd", "workload", "study", "testkit"]),
    ("fuzz", &["base", "nvme", "flash", "ftl", "ssd", "workload", "study", "serve", "testkit"]),
];

/// Lists the dependencies of a manifest, without the dependencies of tests, with their lines.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (i, line) in manifest.lines().enumerate() {
        if let Some(table) = line.trim().strip_prefix('[') {
            let table = table.trim_end_matches(']');
            let table = table.rsplit_once("'.").map_or(table, |(_, table)| table);
            inside = matches!(table, "dependencies" | "build-dependencies");
            let named = ["dependencies.", "build-dependencies."].iter().find_map(|t| table.strip_prefix(t));
            found.extend(named.map(|name| (i + 1, name)));
        } else if inside && let Some(end) = line.find(['.', '=', ' ']) {
            found.push((i + 1, &line[..end]));
        }
    }
    found
}

fn arrows(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in files {
        let inside = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml"));
        let Some(name) = inside else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            found.push(at(file, 0, format!("crate `{name}` has no place in ARROWS")));
            continue;
        };
        for (line, on) in dependencies(&file.text) {
            if ARROWS.iter().any(|(ours, _)| *ours == on) && !allowed.contains(&on) {
                found.push(at(file, line, format!("`{name}` must not build on `{on}`")));
            }
        }
    }
    found
}

// --- the core reads only its arguments ---

const CORE: [&str; 9] = [
    "crates/base/src/",
    "crates/nvme/src/",
    "crates/flash/src/",
    "crates/ftl/src/",
    "crates/ssd/src/",
    "crates/raid/src/",
    "crates/translation/src/",
    "crates/workload/src/generate/",
    "crates/workload/src/generate.rs",
];
const FORBIDDEN: [&str; 5] = ["fs", "env", "thread", "net", "process"];
/// Words of `std::io` that do I/O; its traits alone pass bytes in and out.
const STREAMS: [&str; 6] = ["stdin", "stdout", "stderr", "println!", "eprintln!", "print!"];

fn sans_io(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    let core = |file: &&File| CORE.iter().any(|core| file.path.starts_with(core)) && !file.path.ends_with("/tests.rs");
    for file in rust(files).filter(core) {
        for (line, text) in code(file) {
            let grouped = text.trim_start().strip_prefix("use std::{");
            let module = |name: &str| {
                has_word(text, &format!("std::{name}")) || grouped.is_some_and(|group| has_word(group, name))
            };
            let clock = has_word(text, "Instant") || has_word(text, "SystemTime");
            let prints = STREAMS.iter().any(|word| has_word(text, word));
            if clock || prints || has_word(text, "rand::") || FORBIDDEN.iter().any(|name| module(name)) {
                found.push(at(file, line, "the core is handed time, data and randomness; it fetches none"));
            }
        }
    }
    found
}

// --- closed streams cause no panic ---

/// Macros that panic if the standard output or error is full or closed.
const PANICKING: [&str; 4] = ["println!", "eprintln!", "print!", "eprint!"];

fn printing(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    const SHIPPED: [&str; 3] = ["crates/flashloom/src/", "crates/report/src/", "crates/study/src/"];
    let shipped = |file: &&File| SHIPPED.iter().any(|at| file.path.starts_with(at));
    for file in rust(files).filter(shipped) {
        let panicking = code(file).filter(|(_, text)| PANICKING.iter().any(|name| has_word(text, name)));
        found.extend(panicking.map(|(line, _)| at(file, line, "panics if nobody listens: use `exit::say` or `print`")));
    }
    found
}

// --- the shape of files ---

const LINES: usize = 600;

fn length(files: &[File]) -> Vec<Violation> {
    let long = rust(files).map(|file| (file, file.text.lines().count())).filter(|(_, lines)| *lines > LINES);
    long.map(|(file, lines)| at(file, 0, format!("{lines} lines, more than {LINES}: split it"))).collect()
}

fn reachable(files: &[File]) -> Vec<Violation> {
    let mut named = BTreeSet::new();
    for file in rust(files) {
        let folder = match file.path.rsplit_once('/') {
            Some((folder, "lib.rs" | "main.rs")) => folder,
            _ => file.path.trim_end_matches(".rs"),
        };
        for (_, line) in code(file) {
            let Some(declared) = line.trim().strip_suffix(';') else { continue };
            if let Some((visibility, module)) = declared.rsplit_once("mod ")
                && (visibility.is_empty() || visibility.starts_with("pub"))
            {
                named.insert(format!("{folder}/{module}.rs"));
            }
        }
    }
    let dead = |file: &&File| {
        // A test file that no `mod` names does not run: `tests/main.rs` is the only test program of a crate.
        let inside = ["/src/", "/tests/"].iter().any(|folder| file.path.contains(folder));
        let in_source = file.path.starts_with("crates/") && inside;
        let root = ["/src/lib.rs", "/src/main.rs", "/tests/main.rs"].iter().any(|root| file.path.ends_with(root));
        in_source && !root && !file.path.contains("/src/bin/") && !named.contains(&file.path)
    };
    rust(files).filter(dead).map(|file| at(file, 0, "no `mod` in the file above it names it")).collect()
}

/// Checks that code includes files of its own crate only: a package contains only its crate's folder.
fn packaged(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in rust(files).filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/")) {
        let depth = file.path.split('/').count() - "crates/NAME/FILE".split('/').count();
        for (line, text) in code(file) {
            let included =
                text.split("include_").skip(1).filter_map(|rest| rest.split_once("!(\"")?.1.split('"').next());
            let outside = included.filter(|path| path.split('/').take_while(|part| *part == "..").count() > depth);
            found
                .extend(outside.map(|path| at(file, line, format!("`{path}` is not in the package: link its folder"))));
        }
    }
    found
}

fn documented(files: &[File]) -> Vec<Violation> {
    let silent =
        rust(files).filter(|file| !["//! ", "#![doc = include_str!"].iter().any(|start| file.text.starts_with(start)));
    silent.map(|file| at(file, 1, "begin with `//!` and what the file is for")).collect()
}

fn whitespace(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in files {
        for (i, line) in file.text.split('\n').enumerate() {
            if line.ends_with(char::is_whitespace) {
                found.push(at(file, i + 1, "whitespace at the end of the line"));
            }
        }
        if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
            found.push(at(file, 0, "end with exactly one newline"));
        }
    }
    found
}

fn ascii(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") || file.path.ends_with(".toml")) {
        for (i, line) in file.text.lines().enumerate() {
            if let Some(odd) = line.chars().find(|c| !c.is_ascii()) {
                found.push(at(file, i + 1, format!("`{odd}` is not ASCII")));
            }
        }
    }
    found
}

// --- prose and markers ---

/// Words that mark unfinished work, concatenated here so that this file keeps its own rule.
const MARKERS: [&str; 6] = [
    concat!("to", "do!"),
    concat!("unimpl", "emented!"),
    concat!("db", "g!"),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

fn finished(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in files {
        for (i, line) in file.text.lines().enumerate() {
            if let Some(marker) = MARKERS.iter().find(|marker| has_word(line, marker)) {
                found.push(at(file, i + 1, format!("`{marker}`: finish it, or write down where it stands")));
            }
        }
    }
    found
}

/// Returns the last type argument of the generic whose arguments begin `rest`, if there is more than one.
fn last_argument(rest: &str) -> Option<&str> {
    let (mut depth, mut comma) = (1u32, None);
    for (i, c) in rest.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if rest[..i].ends_with('-') => {}
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 1 => comma = Some(i + 1),
            _ => {}
        }
        if depth == 0 {
            return comma.map(|start| rest[start..i].trim());
        }
    }
    None
}

fn typed_errors(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in rust(files).filter(|file| file.path.contains("/src/")) {
        for (line, text) in code(file) {
            let errors = text.match_indices("Result<").filter_map(|(i, start)| last_argument(&text[i + start.len()..]));
            let associated = ["type Err = ", "type Error = "].iter().find_map(|t| text.trim().strip_prefix(t));
            let errors = errors.chain(associated.map(|error| error.trim_end_matches(';')));
            let untyped = errors.filter(|error| matches!(*error, "String" | "&str" | "&'static str"));
            found.extend(untyped.map(|error| at(file, line, format!("`{error}` as an error: give it a type"))));
        }
    }
    found
}

fn sentinels(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in rust(files).filter(|file| file.path.contains("/src/")) {
        for (line, text) in code(file) {
            let hidden = ["-1 as u", "-1_i64 as u", "-1i64 as u", "-1i32 as u", "!0 as u"];
            let minus = |at: usize| text[..at].trim_end().ends_with(['=', '(', ',', '{', '[', '<', '>', '&', '|']);
            if hidden
                .iter()
                .any(|word| text.match_indices(word).any(|(at, _)| minus(at) || text[..at].trim().is_empty()))
            {
                found.push(at(file, line, "a number that stands for none: use an Option"));
            }
        }
    }
    found
}

fn ignored(files: &[File]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in rust(files) {
        let silent = code(file).filter(|(_, text)| text.trim() == "#[ignore]");
        found.extend(silent.map(|(line, _)| at(file, line, "say why the test is not run: #[ignore = \"...\"]")));
    }
    found
}

// --- tests leave the user's folders alone ---

fn stores(files: &[File]) -> Vec<Violation> {
    let tests = rust(files).filter(|file| file.path.starts_with("crates/flashloom/tests/"));
    let mut found = Vec::new();
    for file in tests.filter(|file| !file.path.ends_with("/common.rs") && !file.text.contains("NO_STORE")) {
        let started = code(file).filter(|(_, text)| has_word(text, "CARGO_BIN_EXE_flashloom"));
        let why = "start the command with `common::program`, which has no default store of results";
        found.extend(started.map(|(line, _)| at(file, line, why)));
    }
    found
}

// --- the rules ---

const LONG: &str = match str::from_utf8(&[b'\n'; LINES + 1]) {
    Ok(text) => text,
    Err(_) => unreachable!(),
};

const RULES: [Rule; 15] = [
    Rule {
        name: "merges are finished",
        check: conflict_markers,
        planted: &[("README.md", "one\n<<<<<<< HEAD\ntwo\n=======\nthree\n>>>>>>> other\n", &[2, 6])],
        innocent: &[("README.md", "Title\n=======\n\n    if a <<<<<<< b\n")],
    },
    Rule {
        name: "imports run only downward",
        check: arrows,
        planted: &[
            ("crates/flash/Cargo.toml", "[dependencies]\nssd.workspace = true\n", &[2]),
            ("crates/workload/Cargo.toml", "[dependencies]\nbase.workspace = true\nssd = { path = \"x\" }\n", &[3]),
            ("crates/ftl/Cargo.toml", "[dependencies]\nflash.workspace = true\nssd.workspace = true\n", &[3]),
            ("crates/ssd/Cargo.toml", "[build-dependencies]\ntestkit = { path = \"../testkit\" }\n", &[2]),
            ("crates/study/Cargo.toml", "[target.'cfg(unix)'.dependencies]\nreport.workspace = true\n", &[2]),
            ("crates/flashloom/Cargo.toml", "[dependencies.bench]\nworkspace = true\n", &[1]),
            ("crates/novel/Cargo.toml", "[dependencies]\n", &[0]),
        ],
        innocent: &[
            (
                "crates/study/Cargo.toml",
                "[dependencies]\nssd.workspace = true\n\n[dev-dependencies]\ntestkit.workspace = true\n",
            ),
            ("crates/ssd/Cargo.toml", "[package]\nname = \"ssd\"\n\n[dependencies]\nserde.workspace = true\n"),
            ("Cargo.toml", "[workspace.dependencies]\ntestkit = { path = \"crates/testkit\" }\n"),
        ],
    },
    Rule {
        name: "the core reads no clock, file, environment or thread",
        check: sans_io,
        planted: &[
            ("crates/flash/src/a.rs", "let text = std::fs::read(path);\nuse std::{fmt, thread};\n", &[1, 2]),
            ("crates/ssd/src/b.rs", "use std::time::Instant;\nlet x: u8 = rand::random();\n", &[1, 2]),
            ("crates/ssd/src/d.rs", "println!(\"{x}\");\nlet out = io::stdout();\n", &[1, 2]),
            ("crates/workload/src/generate/c.rs", "\nlet home = std::env::var(name);\n", &[2]),
        ],
        innocent: &[
            (
                "crates/flash/src/a.rs",
                "// std::fs is for others\nuse std::{fmt, mem};\nlet x = operand::Y;\nuse crate::io::X;\n",
            ),
            ("crates/workload/src/trace.rs", "use std::fs::File;\n"),
            ("crates/workload/src/generate/tests.rs", "let start = std::time::Instant::now();\n"),
        ],
    },
    Rule {
        name: "a message that nobody reads ends nothing",
        check: printing,
        planted: &[("crates/flashloom/src/a.rs", "eprintln!(\"{x}\");\n\nprint!(\"a\");\n", &[1, 3])],
        innocent: &[
            ("crates/flashloom/src/a.rs", "// eprintln! panics\nexit::print(results, text);\nwriteln!(out)\n"),
            ("crates/flashloom/tests/a.rs", "println!(\"skipped\");\n"),
        ],
    },
    Rule {
        name: "files are short",
        check: length,
        planted: &[("crates/ssd/src/long.rs", LONG, &[0])],
        innocent: &[("README.md", LONG), ("crates/ssd/src/short.rs", LONG.split_at(1).1)],
    },
    Rule {
        name: "every module is reachable",
        check: reachable,
        planted: &[
            ("crates/ssd/src/lib.rs", "mod used;\n", &[]),
            ("crates/ssd/src/used.rs", "// mod dead;\n", &[]),
            ("crates/ssd/src/used/dead.rs", "", &[0]),
            ("crates/ssd/src/other/mod.rs", "", &[0]),
            ("crates/ssd/tests/main.rs", "mod power;\n", &[]),
            ("crates/ssd/tests/forgotten.rs", "", &[0]),
        ],
        innocent: &[
            ("crates/ssd/src/lib.rs", "pub mod used;\n#[cfg(test)]\npub(crate) mod checks;\n"),
            ("crates/ssd/src/used.rs", "mod alive;\n"),
            ("crates/ssd/src/used/alive.rs", ""),
            ("crates/ssd/src/checks.rs", ""),
            ("crates/flashloom/src/main.rs", "mod args;\n"),
            ("crates/flashloom/src/args.rs", ""),
            ("crates/bench/src/bin/floor.rs", ""),
            ("crates/ssd/tests/main.rs", "mod power;\n"),
            ("crates/ssd/tests/power.rs", ""),
        ],
    },
    Rule {
        name: "a package holds what it compiles in",
        check: packaged,
        planted: &[
            ("crates/ssd/src/lib.rs", "const A: &str = include_str!(\"../../../README.md\");\n", &[1]),
            ("crates/ssd/src/spec/builtin.rs", "\n(\"a\", include_str!(\"../../../../devices/a.toml\")),\n", &[2]),
        ],
        innocent: &[
            ("crates/ssd/src/spec/builtin.rs", "(\"a\", include_str!(\"../../devices/a.toml\")),\n"),
            ("crates/ssd/src/lib.rs", "const A: &[u8] = include_bytes!(\"../a.bin\");\n"),
            ("crates/ssd/tests/a.rs", "const A: &str = include_str!(\"../../../README.md\");\n"),
        ],
    },
    Rule {
        name: "a file says what it is for",
        check: documented,
        planted: &[("crates/ssd/src/a.rs", "use std::fmt;\n", &[1]), ("crates/ssd/src/b.rs", "", &[1])],
        innocent: &[("crates/ssd/src/a.rs", "//! Garbage collection.\n")],
    },
    Rule {
        name: "nothing is left unfinished",
        check: finished,
        planted: &[
            (
                "crates/ssd/src/a.rs",
                concat!("to", "do!(\"later\");\nunimpl", "emented!();\ndb", "g!(x);\n"),
                &[1, 2, 3],
            ),
            ("docs/b.md", concat!("a line\nTO", "DO: more\nFIX", "ME\n"), &[2, 3]),
        ],
        innocent: &[("crates/ssd/src/a.rs", "let todos = methodo();\n")],
    },
    Rule {
        name: "no whitespace at the end of a line, one newline at the end of a file",
        check: whitespace,
        planted: &[("a.toml", "a = 1 \nb = 2", &[1, 0]), ("b.rs", "x\r\n\n\n", &[1, 0]), ("Makefile", "\t\n", &[1])],
        innocent: &[("a.toml", "a = 1\n\nb = 2\n"), ("empty.rs", "")],
    },
    Rule {
        name: "code is ASCII",
        check: ascii,
        planted: &[
            ("crates/ssd/src/a.rs", "// 25 \u{b5}s\n", &[1]),
            ("devices/b.toml", "\nname = \"\u{201c}x\u{201d}\"\n", &[2]),
        ],
        innocent: &[("README.md", "25 \u{b5}s\n")],
    },
    Rule {
        name: "an error is a type",
        check: typed_errors,
        planted: &[(
            "crates/flashloom/src/a.rs",
            "fn f() -> Result<(u8, Vec<String>), String> {\nlet x: Result<Vec<u8>, &'static str>;\ntype Err = String;\n",
            &[1, 2, 3],
        )],
        innocent: &[(
            "crates/flashloom/src/a.rs",
            "fn f() -> Result<BTreeMap<String, String>, Fault> {\nlet x: io::Result<String>;\nmatch Result<A, fn(B) -> C> {\ntype Error = Fault;\n",
        )],
    },
    Rule {
        name: "what is missing is an Option, not a magic number",
        check: sentinels,
        planted: &[(
            "crates/ssd/src/a.rs",
            "let none = -1 as u32;\nf(-1i64 as usize);\nlet none = !0 as u32;\n",
            &[1, 2, 3],
        )],
        innocent: &[("crates/ssd/src/a.rs", "let d = x -1 as u32;\n// = -1 as u32\n")],
    },
    Rule {
        name: "a test is not switched off without a reason",
        check: ignored,
        planted: &[("crates/ssd/src/a.rs", "#[ignore]\n#[test]\n", &[1])],
        innocent: &[("crates/ssd/src/a.rs", "#[test]\n#[ignore = \"minutes\"]\n")],
    },
    Rule {
        name: "a test uses no store of the user",
        check: stores,
        planted: &[("crates/flashloom/tests/a.rs", "\nlet a = env!(\"CARGO_BIN_EXE_flashloom\");\n", &[2])],
        innocent: &[
            ("crates/flashloom/tests/common.rs", "let a = env!(\"CARGO_BIN_EXE_flashloom\");\n"),
            (
                "crates/flashloom/tests/b.rs",
                "shell.env(NO_STORE.0, NO_STORE.1).arg(env!(\"CARGO_BIN_EXE_flashloom\"));\n",
            ),
        ],
    },
];

/// The only built file (see the README beside it), and the only third-party file of the tests.
const BUNDLES: [&str; 2] = ["crates/report/assets/echarts.min.js", "crates/flashloom/tests/axe/axe.min.js"];

/// Folders that the rules ignore.
const BESIDE: [&str; 5] = [".git", ".venv", "target", "out", "shared"];
const ELSEWHERE: [&str; 2] = ["node_modules", "__pycache__"];
const TEXT: [&str; 13] = ["rs", "toml", "md", "sh", "py", "pyi", "ts", "js", "mjs", "html", "css", "txt", "run"];

fn collect(folder: &Path, root: &Path, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let beside = folder == root && BESIDE.contains(&name);
        if path.is_symlink() || beside || ELSEWHERE.contains(&name) {
            continue;
        }
        if path.is_dir() {
            collect(&path, root, files);
        } else if TEXT.iter().any(|end| name.rsplit('.').next() == Some(end)) || name == "Makefile" {
            let parts = path.strip_prefix(root).expect("below the root").iter();
            let parts: Vec<_> = parts.map(|part| part.to_str().expect("a path in UTF-8")).collect();
            let path_in = parts.join("/");
            if !BUNDLES.contains(&path_in.as_str()) {
                files.push(File { path: path_in, text: fs::read_to_string(&path).expect("a text in UTF-8") });
            }
        }
    }
}

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    assert!(rust(&files).count() > 20, "the walk found only {} files", files.len());
    let mut complaints = String::new();
    for rule in &RULES {
        for (path, line, why) in (rule.check)(&files) {
            complaints += &format!("{path}:{line}: {why} ({})\n", rule.name);
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[test]
fn every_rule_finds_its_violations_and_nothing_else() {
    for rule in &RULES {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let planted: Vec<_> = rule.planted.iter().map(|(path, text, _)| file(path, text)).collect();
        let expected: BTreeSet<_> = rule
            .planted
            .iter()
            .flat_map(|(path, _, lines)| lines.iter().map(move |line| (path.to_string(), *line)))
            .collect();
        assert!(!expected.is_empty(), "{}: nothing is planted", rule.name);
        let found: BTreeSet<_> = (rule.check)(&planted).into_iter().map(|(path, line, _)| (path, line)).collect();
        assert_eq!(found, expected, "{}", rule.name);
        let innocent: Vec<_> = rule.innocent.iter().map(|(path, text)| file(path, text)).collect();
        assert_eq!((rule.check)(&innocent), [], "{}", rule.name);
    }
}
