//! The glossary has every term that a public name of the library, a metric, a column or a label of a report uses.

use std::collections::{BTreeMap, BTreeSet};

use flash::backend::{Cause, Op};
use report::catalogue::files;
use study::metric::catalogue;
use study::watch::journey::JourneyPart;

use crate::reference::page;

const SURFACE: &str = include_str!("surface.txt");

/// Words of names that are plain English, or Rust's own.
const ORDINARY: &str = "NAME STAT alone moved accepted accumulated address alpha any at birth bytes callback cluster config copied default end error expected file for free from full given id io kind \
    limit max mean measurement memory min most number of on op options order per picosecond plain progress ps ref replaced rest rng saved saving seed settings \
    share simple sink small spec spread start status step stop summary target time timing to up us wanted with";

/// A word without its ending, so that `flushed` and `flushes` are `flush`.
fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let endings = ["ing", "ed", "es", "s", "e"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() > 2));
    cut.unwrap_or(&word).to_owned()
}

/// The words of a name or a text, without numbers.
fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    // The words of a type's name begin with capitals.
    let words = parts.flat_map(|part| {
        let mut words: Vec<String> = Vec::new();
        let mut after_capital = true;
        for c in part.chars() {
            match words.last_mut() {
                Some(word) if !c.is_uppercase() || after_capital => word.push(c),
                _ => words.push(c.to_string()),
            }
            after_capital = c.is_uppercase();
        }
        words
    });
    words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()).filter(|word| word.len() > 1)
}

/// The entries of the glossary: the term with the names that papers use, and the explanation.
fn entries(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("- **")?.split_once(": ")).collect()
}

/// The stems of all words that the glossary explains: words of terms, and words in italics.
fn explained(text: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for (term, explanation) in entries(text) {
        let italics = explanation.split('*').skip(1).step_by(2);
        known.extend([term].into_iter().chain(italics).flat_map(words).map(|word| stem(&word)));
    }
    known
}

/// Every name that a user sees, and its place.
fn names() -> Vec<(String, &'static str)> {
    let mut names: Vec<(String, &str)> = Vec::new();
    let surface = SURFACE.lines().filter(|line| !line.starts_with('#'));
    names.extend(surface.map(|name| (name.rsplit("::").next().unwrap_or(name).to_owned(), "the library's surface")));
    let metrics = catalogue().into_iter().flat_map(|group| group.entries);
    names.extend(metrics.map(|entry| (entry.name, "the metrics")));
    let columns = files().into_iter().flat_map(|file| file.columns);
    names.extend(columns.map(|column| (column.name.into_owned(), "the columns")));
    names.extend(JourneyPart::ALL.iter().map(|part| (part.name().to_owned(), "the parts of a response time")));
    names.extend(Cause::ALL.iter().map(|cause| (cause.name().to_owned(), "the causes")));
    names.extend(Op::ALL.iter().map(|op| (op.name().to_owned(), "the operations")));
    names
}

#[test]
fn every_term_is_in_the_glossary() {
    let text = page("glossary.md");
    let mut known = explained(&text);
    known.extend(words(ORDINARY).map(|word| stem(&word)));
    let mut missing: BTreeMap<String, String> = BTreeMap::new();
    for (name, of) in names() {
        for word in words(&name) {
            if !known.contains(&stem(&word)) {
                missing.insert(word, format!("{name} of {of}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/src/glossary.md does not have {missing:#?}");
}

#[test]
fn the_glossary_is_short_and_sorted() {
    let text = page("glossary.md");
    let entries = entries(&text);
    assert!(entries.len() > 100, "{} terms", entries.len());
    let mut wrong = Vec::new();
    let mut last = String::new();
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("- ") || line.starts_with("## ")) {
        if let Some(letter) = line.strip_prefix("## ") {
            last = letter.to_lowercase();
            continue;
        }
        let term = line.trim_start_matches("- **").split("**").next().unwrap_or_default().to_lowercase();
        let letter = last.chars().next();
        if term.chars().next() != letter || term < last {
            wrong.push(format!("{term} is out of order, behind {last}"));
        }
        if !seen.insert(term.clone()) {
            wrong.push(format!("{term} is there twice"));
        }
        if line.len() > 300 {
            wrong.push(format!("{term} has {} characters", line.len()));
        }
        last = term;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_split_into_words() {
    let of = |text: &str| words(text).collect::<Vec<_>>();
    assert_eq!(of("FtlKind"), ["Ftl", "Kind"]);
    assert_eq!(of("flash_wait_ps"), ["flash", "wait", "ps"]);
    assert_eq!(of("KIND_requests"), ["KIND", "requests"]);
    assert_eq!(of("read.p99_9"), ["read"]);
    assert_eq!(of("Bytes512"), ["Bytes"]);
    assert_eq!(["flushes", "flushed", "flush"].map(stem), ["flush"; 3]);
    assert_eq!(["erases", "erase"].map(stem), ["eras"; 2]);
}
