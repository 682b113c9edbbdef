//! A test that no identifier has a word that the field does not use: a list has each replaced word with its
//! replacement.

use std::fs;
use std::path::Path;

/// Forbidden identifiers, each with the word to use.
const NOWHERE: [(&str, &str); 22] = [
    ("house", "place_unplaced"),
    ("house_set", "place_unplaced_of_set"),
    ("homeless", "unplaced"),
    ("thought", "on_cpu_done"),
    ("kick", "start_gc"),
    ("endow", "lend_block"),
    ("rouse", "rotate_idle"),
    ("revive", "retry_stuck"),
    ("doom", "mark_for_erase"),
    ("in_turn", "serial"),
    ("aside", "set_wait_queue"),
    ("Aside", "SetWaitQueue"),
    ("wore", "note_erase"),
    ("lab", "execute"),
    ("seen_by", "observed_by"),
    ("hybrid", "log_block or slc_mlc"),
    ("HybridFtl", "LogBlockFtl"),
    ("HybridCounters", "SlcMlcCounters"),
    ("HybridSummary", "SlcMlcSummary"),
    ("ChangFtl", "SlcMlcFtl"),
    ("ChangConfig", "SlcMlcConfig"),
    ("ChangSpec", "SlcMlcSpec"),
];

/// Words forbidden as names of items, but not of local variables.
const NO_ITEM: [(&str, &str); 7] = [
    ("rest", "on_idle"),
    ("work", "run_due"),
    ("second", "slc_array"),
    ("tell", "notify"),
    ("look", "scan"),
    ("Unit", "Controller, PageWrite or Dimension"),
    ("Wanted", "PageRead"),
];

/// Keywords after which the name of an item follows.
const ITEMS: [&str; 8] = ["fn", "mod", "struct", "enum", "trait", "type", "const", "static"];

/// Returns the identifiers of a line, without strings and comments.
fn identifiers(line: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for part in line.split("//").next().unwrap_or_default().split('"').step_by(2) {
        names.extend(part.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()));
    }
    names
}

/// Returns the forbidden words of a line, each with its replacement.
fn found(line: &str) -> Vec<String> {
    let plain = line.replace("\\\"", "");
    let names = identifiers(&plain);
    let say = |(word, now): &(&str, &str)| format!("`{word}`, say `{now}`");
    let mut all: Vec<String> = NOWHERE.iter().filter(|(word, _)| names.contains(word)).map(say).collect();
    let item = |word: &&str| names.windows(2).any(|pair| ITEMS.contains(&pair[0]) && pair[1] == *word);
    all.extend(NO_ITEM.iter().filter(|(word, _)| item(word)).map(say));
    all
}

fn walk(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            walk(&entry, each);
        } else if entry.extension().is_some_and(|end| end == "rs") {
            each(&entry, &fs::read_to_string(&entry).expect("a source file"));
        }
    }
}

#[test]
fn no_name_is_a_listed_old_word() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("all crates");
    let mut all = Vec::new();
    let mut lines = 0;
    for one in fs::read_dir(crates).expect("all crates").map(|entry| entry.expect("a crate").path().join("src")) {
        if one.is_dir() {
            walk(&one, &mut |path, text| {
                for (i, line) in text.lines().enumerate() {
                    lines += 1;
                    all.extend(found(line).into_iter().map(|what| format!("{}:{}: {what}", path.display(), i + 1)));
                }
            });
        }
    }
    assert!(lines > 10_000, "only {lines} lines were read");
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn a_listed_word_is_found_in_code_and_not_in_prose() {
    for line in ["self.kick(flash);", "fn rest(&mut self)", "struct Unit {", "use study::lab;", "let homeless = 1;"] {
        assert_eq!(found(line).len(), 1, "{line}");
    }
    for line in [
        "// kick the pool",
        "say(\"aside\")",
        "(\"name = \\\"hybrid\\\"\")",
        "let rest = 1;",
        "PageUnit",
        "kick_off()",
        "fn restart()",
    ] {
        assert!(found(line).is_empty(), "{line}");
    }
}
