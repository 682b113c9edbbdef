//! The guide's pages on the five papers: their claims, verdicts, numbers and quotes are those of the repository.
//!
//! `papers/NAME.txt` pins what the studies measure. `make test` holds the pages against it and runs the shortest
//! studies, `make soak` runs all of them (`flashloom reproduce NAME`) and compares every finding.

mod pinned;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::shown::MarkdownPage;
use pinned::{Number, ReproducedFinding, Studies, findings, numbers, shows, verdict};

use crate::common::program;

const PAPERS: [&str; 5] = ["chang", "dirik", "fmmu", "hydra", "sung"];

/// Studies that take a second or less in a development build.
const SHORT: [&str; 6] =
    ["dirik/orthogonal", "dirik/pair", "hydra/energy", "hydra/units", "sung/merges", "sung/spread"];

/// The section whose numbers come from traces outside the repository.
const REAL_TRACES: &str = "## Under real traces";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn page(paper: &str) -> String {
    read(&format!("docs/src/papers/{paper}.md"))
}

/// A row of a page's table of claims: identifier, claim, the paper's number, ours, verdict.
struct ClaimRow<'a> {
    id: &'a str,
    claim: &'a str,
    paper: &'a str,
    here: &'a str,
    verdict: &'a str,
}

fn is_id(text: &str) -> bool {
    let (letters, digits) = text.split_at(text.len().min(2));
    letters.len() == 2
        && letters.bytes().all(|byte| byte.is_ascii_uppercase())
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn rows(page: &str) -> Vec<ClaimRow<'_>> {
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        if let [id, claim, paper, here, verdict] = cells(line)[..]
            && is_id(id)
        {
            rows.push(ClaimRow { id, claim, paper, here, verdict });
        }
    }
    rows
}

/// The reasons why claims hold in part: the list items that begin with an identifier in bold.
fn reasons(page: &str) -> BTreeMap<&str, String> {
    let mut reasons = BTreeMap::new();
    let mut at = None;
    for line in page.lines() {
        if let Some((id, rest)) = line.strip_prefix("- **").and_then(|rest| rest.split_once("**")) {
            at = is_id(id).then_some(id);
            if let Some(id) = at {
                let other = reasons.insert(id, rest.to_owned());
                assert!(other.is_none(), "{id} has two reasons");
            }
        } else if let Some(id) = at.filter(|_| line.starts_with("  ")) {
            reasons.entry(id).or_default().push_str(line);
        } else {
            at = None;
        }
    }
    reasons
}

/// The text without fenced blocks and the section on real traces.
fn prose(page: &str) -> String {
    let mut prose = String::new();
    let (mut is_fenced, mut is_exempt) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            if line.starts_with("## ") {
                is_exempt = line == REAL_TRACES;
            }
            if !is_exempt {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    prose
}

/// A line without code spans, link targets, and the numbers of sections, figures and tables.
fn without_code(line: &str) -> String {
    let outside: String = line.split('`').step_by(2).collect();
    let mut text = String::new();
    for (at, part) in outside.split("](").enumerate() {
        text.push_str(if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) });
    }
    let mut words = Vec::new();
    let mut is_place = false;
    for word in text.split(' ') {
        if !is_place {
            words.push(word);
        }
        is_place = ["Sec.", "Fig.", "Figs.", "Table"].contains(&word.trim_start_matches('('));
    }
    words.join(" ")
}

fn assert_pinned(paper: &str, place: &str, text: &str, texts: &[&str], measured: &[f64]) {
    let said: Vec<Number> = texts.iter().flat_map(|text| numbers(text)).collect();
    for number in numbers(&without_code(text)) {
        let is_said = said.iter().any(|other| (other.value - number.value).abs() < 1e-9);
        let is_measured = measured.iter().any(|value| shows(number, *value));
        assert!(is_said || is_measured, "{paper}.md, {place}: nothing pins {}: {text}", number.value);
    }
}

fn measured<'a>(findings: impl Iterator<Item = &'a ReproducedFinding>) -> Vec<f64> {
    findings.flat_map(|finding| numbers(&finding.measured)).map(|number| number.value).collect()
}

#[test]
fn every_claim_is_on_its_page_with_its_verdict() {
    for paper in PAPERS {
        let (page, studies, findings) = (page(paper), Studies::of(paper), findings(paper));
        let shown: Vec<&str> = rows(&page).iter().map(|row| row.id).collect();
        let mut known: Vec<&str> = studies.said.keys().map(String::as_str).collect();
        known.sort_by_key(|id| id[2..].parse::<u32>().expect("a number"));
        assert_eq!(shown, known, "{paper}.md: all claims of the studies, in order");
        let reasons = reasons(&page);
        for row in rows(&page) {
            assert_eq!(row.verdict, verdict(&findings, row.id), "{paper}.md: {}", row.id);
            assert_eq!(reasons.contains_key(row.id), row.verdict != "holds", "{paper}.md: the reason of {}", row.id);
        }
    }
}

/// The pinned findings must equal the findings of the present studies.
#[test]
fn the_pinned_findings_are_those_the_studies_expect() {
    for paper in PAPERS {
        let mut expected = Studies::of(paper).expected;
        expected.sort_by(|a, b| (&a.id, &a.study).cmp(&(&b.id, &b.study)));
        let mut found = findings(paper);
        found.sort_by(|a, b| (&a.id, &a.study).cmp(&(&b.id, &b.study)));
        for (found, expected) in found.iter().zip(&expected) {
            let of = (&*found.id, &*found.study, found.verdict == "differs");
            let why = "the same expectations, and a reason (`known`) where a finding differs and nowhere else";
            assert_eq!(of, (&*expected.id, &*expected.study, expected.is_explained), "{paper}: {why}");
        }
        assert_eq!(found.len(), expected.len(), "{paper}");
    }
}

#[test]
fn every_number_of_a_page_is_pinned() {
    for paper in PAPERS {
        let (page, studies, findings) = (page(paper), Studies::of(paper), findings(paper));
        let reasons = reasons(&page);
        for row in rows(&page) {
            let said = &studies.said[row.id];
            let measured = measured(findings.iter().filter(|finding| finding.id == row.id));
            assert_pinned(paper, row.id, row.claim, &[said], &[]);
            assert_pinned(paper, row.id, row.paper, &[said], &[]);
            assert_pinned(paper, row.id, row.here, &[said], &measured);
            assert_pinned(paper, row.id, reasons.get(row.id).map_or("", String::as_str), &[said], &measured);
        }
        let mut texts = vec![studies.text];
        for folder in [format!("devices/{paper}"), "crates/flash/src/nand/part".to_owned()] {
            for entry in fs::read_dir(root().join(folder)).expect("a folder") {
                texts.push(fs::read_to_string(entry.expect("an entry").path()).expect("a text"));
            }
        }
        // Outputs that the page shows, which `guide.rs` compares.
        texts.extend(
            MarkdownPage::at(&format!("docs/src/papers/{paper}.md"))
                .commands()
                .into_iter()
                .flat_map(|shown| shown.output),
        );
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let measured = measured(findings.iter());
        for line in prose(&page).lines().filter(|line| !line.starts_with("| ")) {
            assert_pinned(paper, "text", line, &texts, &measured);
        }
    }
}

/// A block of `toml` follows a line that names its file, and the file has its lines in a row.
#[test]
fn every_quoted_block_stands_in_its_file() {
    for paper in PAPERS {
        let page = page(paper);
        let (mut file, mut quote) = ("", None::<String>);
        let mut quotes = 0;
        for line in page.lines() {
            match (&mut quote, line) {
                (Some(text), "```") => {
                    let is_there = format!("\n{}", read(file)).contains(&format!("\n{text}"));
                    assert!(is_there, "{paper}.md: {file} does not have:\n{text}");
                    (quote, quotes) = (None, quotes + 1);
                }
                (Some(text), line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, "```toml") => {
                    assert!(!file.is_empty(), "{paper}.md: a quote of no file");
                    quote = Some(String::new());
                }
                (None, line) => {
                    let named = line.split('`').skip(1).step_by(2).find(|span| {
                        span.ends_with(".toml")
                            && ["devices/", "studies/", "crates/"].iter().any(|at| span.starts_with(at))
                    });
                    file = named.unwrap_or(file);
                }
            }
        }
        assert!(quotes >= 3, "{paper}.md quotes {quotes} pieces of its device file");
    }
}

/// The claims on a paper's page that hold, and all of them.
fn counts(paper: &str) -> (usize, usize) {
    let page = page(paper);
    let rows = rows(&page);
    (rows.iter().filter(|row| row.verdict == "holds").count(), rows.len())
}

#[test]
fn the_overview_counts_the_claims_of_the_pages() {
    let overview = read("docs/src/papers.md");
    for paper in PAPERS {
        let (hold, all) = counts(paper);
        let line = overview.lines().find(|line| line.contains(&format!("(papers/{paper}.md)"))).expect("a row");
        let counts = format!("| {hold} of {all} |");
        assert!(line.ends_with(&counts), "papers.md: {paper}: {counts}: {line}");
    }
}

/// MODEL.md, README.md and the guide's page on trust repeat these counts.
#[test]
fn every_other_count_of_claims_is_that_of_the_pages() {
    let (model, trust, readme) = (read("MODEL.md"), read("docs/src/how-far-to-trust-it.md"), read("README.md"));
    let authors = ["Chang", "Dirik & Jacob", "Woo and Min", "Seong et al.", "Sung"];
    let (mut hold_of_all, mut all_of_all) = (0, 0);
    for (paper, author) in PAPERS.into_iter().zip(authors) {
        let (hold, all) = counts(paper);
        let row =
            model.lines().find(|line| line.starts_with("| the ") && line.contains(&format!(" claims of {author}")));
        let row = row.unwrap_or_else(|| panic!("MODEL.md: the claims of {author}"));
        assert!(row.starts_with(&format!("| the {all} claims of ")), "MODEL.md: {all}: {row}");
        for count in [format!("| {hold} hold, "), format!(" {} in part, ", all - hold)] {
            assert!(row.contains(&count), "MODEL.md: {count}: {row}");
        }
        let row = trust.lines().find(|line| line.starts_with(&format!("| {author}, ")));
        let row = row.unwrap_or_else(|| panic!("how-far-to-trust-it.md: {author}"));
        let count = format!(" | {all} | {hold} | {} |", all - hold);
        assert!(row.ends_with(&count), "how-far-to-trust-it.md: {count}: {row}");
        (hold_of_all, all_of_all) = (hold_of_all + hold, all_of_all + all);
    }
    let count = format!("Of {all_of_all} claims {hold_of_all} hold, and {} hold in part", all_of_all - hold_of_all);
    assert!(trust.contains(&count), "how-far-to-trust-it.md: {count}");
    let tally = readme.lines().find(|line| line.contains(" claims: ")).expect("the tally of Dirik and Jacob");
    let said: Vec<usize> = numbers(tally).iter().map(|number| number.value as usize).collect();
    let (hold, all) = counts("dirik");
    assert!(said[0] == all && said[1] + said[2] == hold && said[3] == all - hold, "README.md: {tally}");
}

/// No test runs `console,norun` blocks, so this one checks that their studies exist.
#[test]
fn every_study_that_a_page_runs_exists() {
    for paper in PAPERS {
        let studies: BTreeSet<String> = Studies::of(paper).expected.into_iter().map(|one| one.study).collect();
        let page = page(paper);
        for name in page.lines().filter_map(|line| line.strip_prefix("$ flashloom study ")) {
            assert!(studies.contains(name), "{paper}.md: {name}");
        }
        assert!(page.contains(&format!("\n$ flashloom reproduce {paper}\n")), "{paper}.md: its studies");
    }
}

#[test]
fn every_page_shows_its_picture() {
    for paper in PAPERS {
        assert!(page(paper).contains(&format!("](../img/{paper}.png)")), "{paper}.md shows {paper}.png");
    }
}

/// The findings of a Flashloom command, in the order of the files.
fn found(arguments: &[&str]) -> Vec<ReproducedFinding> {
    let mut command = program();
    let output = command.args(arguments).args(["--json", "--quiet"]).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let mut found = Vec::new();
    for claim in json["claims"].as_array().expect("claims") {
        for finding in claim["findings"].as_array().expect("findings") {
            found.push(ReproducedFinding {
                id: text(&claim["id"]),
                study: text(&finding["study"]),
                measured: text(&finding["measured"]),
                verdict: text(&finding["verdict"]),
            });
        }
    }
    found
}

fn assert_found(mut found: Vec<ReproducedFinding>, mut pinned: Vec<ReproducedFinding>) {
    for all in [&mut found, &mut pinned] {
        all.sort_by(|a, b| (&a.id, &a.study).cmp(&(&b.id, &b.study)));
    }
    for (found, pinned) in found.iter().zip(&pinned) {
        assert_eq!(found, pinned, "crates/flashloom/tests/papers/*.txt, and a page of the guide, are out of date");
    }
    assert_eq!(found.len(), pinned.len());
}

#[test]
fn short_studies_give_the_pinned_findings() {
    let pinned = PAPERS.iter().flat_map(|paper| findings(paper)).filter(|one| SHORT.contains(&&*one.study)).collect();
    assert_found(found(&[&["study"], &SHORT[..]].concat()), pinned);
}

#[test]
#[ignore = "make soak"]
fn all_studies_give_the_pinned_findings() {
    for paper in PAPERS {
        assert_found(found(&["reproduce", paper]), findings(paper));
    }
}

#[test]
fn numbers_in_prose_are_parsed_and_compared() {
    let values = |text| numbers(text).iter().map(|number| number.value.to_string()).collect::<Vec<_>>();
    assert_eq!(values("HY3: 1,165 K/s, x2.44, -21%, 0.16 us."), ["1165", "2.44", "21", "0.16"]);
    let one = |text| numbers(text)[0];
    for (shown, measured) in
        [("28", 28.1), ("1.86", 86.0), ("79", 0.79), ("2,000", 2.0), ("144", 2.44), ("0.84", 16.0), ("89", 11.0)]
    {
        assert!(shows(one(shown), measured), "{shown}");
    }
    assert!(!shows(one("28.3"), 28.1) && !shows(one("85"), 86.0));
    assert_eq!(without_code("a `1.5` [b 2](c3.md) 4 (Sec. 3.1, Fig. 7) 5"), "a  [b 2 4 (Sec. Fig. 5");
}

#[test]
fn the_guide_lists_every_figure_that_a_study_draws() {
    let page = read("docs/src/papers.md");
    let names = ["Chang", "Dirik and Jacob", "FMMU", "Hydra", "Sung"];
    for (paper, name) in PAPERS.into_iter().zip(names) {
        let row = page.lines().find(|line| line.starts_with(&format!("| {name} | "))).expect(name);
        let listed: BTreeSet<String> = cells(row)[1].split(", ").map(ToOwned::to_owned).collect();
        let files = fs::read_dir(root().join("studies").join(paper)).expect(paper);
        let number = |line: &str| Some(line.strip_prefix("number = \"")?.strip_suffix('"')?.to_owned());
        let drawn: BTreeSet<String> = files
            .map(|file| fs::read_to_string(file.expect("a file").path()).expect("a text"))
            .flat_map(|text| text.lines().filter_map(number).collect::<Vec<_>>())
            .collect();
        assert_eq!(listed, drawn, "{name}");
    }
}
