//! The pinned facts about a paper's claims: the text of its studies, and their measured values.

use std::collections::BTreeMap;
use std::fs;

use super::root;

/// A number as a page shows it: its value, and half of the value of its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    pub(super) half: f64,
}

/// The numbers of a text, e.g. `1,165` and `0.16`. Digits of a name (`HY3`, `W2`) are no numbers.
pub(super) fn numbers(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !first.is_ascii_digit() || before.is_ascii_alphabetic() && before != 'x' {
            let in_name = first.is_ascii_digit();
            before = if in_name { before } else { first };
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && !".,_".contains(c)).unwrap_or(rest.len());
        let digits: String = rest[..end].trim_end_matches(['.', ',']).chars().filter(|c| !",_".contains(*c)).collect();
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if let (Ok(value), Ok(decimals)) = (digits.parse(), i32::try_from(decimals)) {
            found.push(Number { value, half: 0.5 * 10_f64.powi(-decimals) });
        }
        before = ' ';
        rest = &rest[end..];
    }
    found
}

/// True if the shown number may stand for the measured value: rounded, in another unit of measure, as a share, or for a difference
/// as a ratio or as the remaining percentage.
pub(super) fn shows(shown: Number, measured: f64) -> bool {
    let forms = [
        measured,
        measured * 1000.0,
        measured / 1000.0,
        measured * 100.0,
        measured / 100.0,
        1.0 + measured / 100.0,
        1.0 - measured / 100.0,
        100.0 - measured,
        (measured - 1.0) * 100.0,
        (1.0 - measured) * 100.0,
    ];
    forms.iter().any(|form| (form - shown.value).abs() <= shown.half * 1.000_001)
}

/// An expectation of a study: the claim, the study, and whether the study explains why it does not hold.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
pub(super) struct PinnedExpectation {
    pub(super) id: String,
    pub(super) study: String,
    pub(super) is_explained: bool,
}

/// A finding of `flashloom reproduce`.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(super) struct ReproducedFinding {
    pub(super) id: String,
    pub(super) study: String,
    pub(super) measured: String,
    pub(super) verdict: String,
}

pub(super) struct Studies {
    /// The expectations, in the order of the studies' names and of the expectations in each.
    pub(super) expected: Vec<PinnedExpectation>,
    /// The studies' texts on a claim, numbers included.
    pub(super) said: BTreeMap<String, String>,
    /// The text of all study files.
    pub(super) text: String,
}

impl Studies {
    pub(super) fn of(paper: &str) -> Self {
        let mut studies = Self { expected: Vec::new(), said: BTreeMap::new(), text: String::new() };
        let mut files: Vec<_> = fs::read_dir(root().join("studies").join(paper))
            .expect("a folder of studies")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).expect("a study");
            let document: toml::Table = text.parse().expect("TOML");
            let name = document["name"].as_str().expect("a name").to_owned();
            for claim in document.get("claim").and_then(toml::Value::as_array).into_iter().flatten() {
                let id = claim["id"].as_str().expect("an id").to_owned();
                // An expectation may only isolate a reason of another study's result.
                for expectation in claim.get("expect").and_then(toml::Value::as_array).into_iter().flatten() {
                    studies.expected.push(PinnedExpectation {
                        id: id.clone(),
                        study: name.clone(),
                        is_explained: expectation.get("known").is_some(),
                    });
                }
                let said = studies.said.entry(id).or_default();
                said.push_str(&claim.to_string());
                said.push('\n');
            }
            studies.text.push_str(&text);
        }
        studies
    }
}

/// The findings of `flashloom reproduce` for a paper, from `tests/papers/NAME.txt`.
pub(super) fn findings(paper: &str) -> Vec<ReproducedFinding> {
    let file = root().join("crates/flashloom/tests/papers").join(format!("{paper}.txt"));
    let text = fs::read_to_string(&file).expect("findings");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| match line.split(" | ").collect::<Vec<_>>()[..] {
            [id, study, measured, verdict] => ReproducedFinding {
                id: id.to_owned(),
                study: study.to_owned(),
                measured: measured.to_owned(),
                verdict: verdict.to_owned(),
            },
            _ => panic!("{}: `{line}` is not `ID | STUDY | MEASURED | VERDICT`", file.display()),
        })
        .collect()
}

/// The verdict on a claim from those on its expectations.
pub(super) fn verdict(findings: &[ReproducedFinding], id: &str) -> &'static str {
    let any = |verdict| findings.iter().any(|finding| finding.id == id && finding.verdict == verdict);
    match (any("fails"), any("differs"), any("holds")) {
        (true, ..) => "fails",
        (_, true, true) => "in part",
        (_, true, false) => "differs",
        _ => "holds",
    }
}
