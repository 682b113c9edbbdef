//! The pictures of the guide and of README.md are committed, so each may fall behind the program. `docs/drawn-from.txt` has for
//! each picture a digest of the data that it was drawn from; `make docs` draws the pictures and writes the digests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shown::root;

/// The file with a line for each picture: its path, and the digest of the data that it shows.
const DRAWN_FROM: &str = "docs/drawn-from.txt";

/// The timelines that pictures show: `picture | file | window in ms | rows | title`.
const TIMELINES: &str = "docs/timelines.txt";

/// README's picture, from the report of `make demo`.
pub(crate) const OF_README: &str = "docs/report.png";

/// The report of `make demo`.
pub(crate) const DEMO: &str = "out/demo/report.html";

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A part of a timeline in a picture.
struct Panel {
    line: String,
    file: String,
    /// The shown window in microseconds.
    window: (f64, f64),
    rows: Vec<String>,
}

/// The timelines of a picture, from a table of them.
fn panels(table: &str, picture: &str) -> Vec<Panel> {
    let mut panels = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [of, file, window, rows, _] = cells[..] else { panic!("{TIMELINES}: five cells: {line}") };
        if of == picture {
            let us = |ms: &str| ms.parse::<f64>().expect("a time in ms") * 1000.0;
            let (from, until) = window.split_once("..").expect("FROM..UNTIL");
            panels.push(Panel {
                line: cells.join("|"),
                file: format!("{file}.json"),
                window: (us(from), us(until)),
                rows: rows.split(',').map(|row| row.trim().to_owned()).collect(),
            });
        }
    }
    panels
}

/// The files from which a picture is drawn, as names in the folder of its page.
pub(crate) fn sources(picture: &str) -> Vec<String> {
    let panels = panels(&read(&root().join(TIMELINES)), picture);
    if panels.is_empty() {
        vec![format!("{picture}.html")]
    } else {
        panels.into_iter().map(|panel| panel.file).collect()
    }
}

/// The part of a page between two texts.
fn between<'a>(page: &'a str, from: &str, until: &str) -> &'a str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("a report has {from:?}")).1;
    rest.split_once(until).unwrap_or_else(|| panic!("a report has {until:?}")).0
}

/// The content of a report that a picture shows: its title, tiles and tables, and the data of its charts. Left out are the line
/// with the version, the commit and the event hash, and parts that a reader must open or scroll to: the table of all numbers and
/// the configuration.
fn shown_by_report(page: &str) -> String {
    let main = between(page, "<main>", "</main>");
    let open = main.split("<details").enumerate().filter_map(|(at, part)| match at {
        0 => Some(part),
        _ => part.split_once("</details>").map(|(_, rest)| rest),
    });
    format!(
        "{}\n{}\n{}",
        between(page, "<h1>", "</h1>"),
        open.collect::<String>(),
        between(page, "{\"figures\":", ",\n\"result\":")
    )
}

/// The content of a timeline that a picture shows: names of tracks, bars and requests that reach into its window.
fn shown_by_timeline(panel: &Panel, timeline: &str) -> String {
    let timeline: Value = serde_json::from_str(timeline).expect("JSON");
    let (from, until) = panel.window;
    let mut shown = panel.line.clone();
    let has = |kind: &str| panel.rows.iter().any(|row| row.split(' ').next() == Some(kind));
    let processes =
        [(1, has("die")), (2, has("channel")), (3, has("controller")), (4, has("requests") || has("slowest"))];
    for event in timeline["traceEvents"].as_array().expect("events") {
        if !processes.iter().any(|(process, is_shown)| *is_shown && event["pid"] == *process) {
            continue;
        }
        let at = event["ts"].as_f64().unwrap_or(from);
        let end = at + event["dur"].as_f64().unwrap_or_default();
        // A request consists of two events, and the picture may show the time between them.
        if event["ph"] != "X" || at < until && end > from {
            let keys = ["ph", "pid", "tid", "name", "cat", "id", "ts", "dur"].map(|key| &event[key]);
            let about = ["name", "operation", "request"].map(|key| &event["args"][key]);
            for value in keys.into_iter().chain(about) {
                shown.push_str(&format!("{value} "));
            }
            shown.push('\n');
        }
    }
    shown
}

/// FNV-1a with 64 bits, because these digests need not resist attacks.
fn digest(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// The digest of the data that a picture of a page would show today, from the files that the page's commands have written.
fn digest_of(picture: &str, folder: &Path) -> String {
    let panels = panels(&read(&root().join(TIMELINES)), picture);
    if panels.is_empty() {
        return digest_of_report(&folder.join(format!("{picture}.html")));
    }
    let shown = panels.iter().map(|panel| shown_by_timeline(panel, &read(&folder.join(&panel.file))));
    digest(&shown.collect::<String>())
}

fn digest_of_report(path: &Path) -> String {
    digest(&shown_by_report(&read(path)))
}

/// Path of each picture and the digest of the data that it was drawn from.
fn drawn_from() -> BTreeMap<String, String> {
    let text = read(&root().join(DRAWN_FROM));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').map(|(path, digest)| (path.into(), digest.into())).expect("a line")).collect()
}

/// True if `make docs` runs the tests: it then draws the pictures from the files of the pages.
#[allow(clippy::disallowed_methods)] // `make docs` asks the tests to write digests.
fn is_drawing() -> bool {
    std::env::var_os("FLASHLOOM_DRAW").is_some()
}

/// Compares the digest that a picture names with the digest of its data today. Under `make docs` the digest is written
/// for `docs/pictures` instead.
fn assert_drawn(path: &str, today: &str) {
    if is_drawing() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide/drawn");
        fs::create_dir_all(&folder).expect("created");
        let name = Path::new(path).file_stem().expect("a name");
        fs::write(folder.join(name), today).expect("written");
        return;
    }
    let drawn_from = drawn_from();
    let then = drawn_from.get(path).map(String::as_str);
    assert_eq!(then, Some(today), "{path} shows other data than the program of today: `make docs` redraws it");
}

/// Checks that the pictures of a page show the data that its commands have written into a folder.
pub(crate) fn assert_fresh(pictures: &[&str], folder: &Path) {
    for picture in pictures {
        assert_drawn(&format!("docs/src/img/{picture}.png"), &digest_of(picture, folder));
    }
}

/// Checks that README's picture shows the report that `make demo` has written into a folder.
pub(crate) fn assert_demo_fresh(folder: &Path) {
    assert_drawn(OF_README, &digest_of_report(&folder.join(DEMO)));
}

/// `make docs` draws a report that `make demo` has left.
#[test]
fn guide_draws_the_report_that_make_demo_left() {
    if is_drawing() && root().join(DEMO).is_file() {
        assert_demo_fresh(&root());
    }
}

#[test]
fn every_picture_has_a_digest_and_every_timeline_a_picture() {
    let pngs = |folder: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(root().join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "png")).collect()
    };
    let all = [pngs("docs"), pngs("docs/src/img")].concat();
    let mut there: Vec<String> =
        all.iter().map(|path| path.strip_prefix(root()).expect("below it").display().to_string()).collect();
    there.sort();
    assert_eq!(drawn_from().into_keys().collect::<Vec<_>>(), there, "{DRAWN_FROM} and the pictures");
    let table = read(&root().join(TIMELINES));
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let picture = line.split('|').next().expect("a cell").trim();
        assert!(there.contains(&format!("docs/src/img/{picture}.png")), "{TIMELINES}: {line}");
    }
}

#[test]
fn a_digest_changes_with_what_is_drawn_and_with_nothing_else() {
    let report = |commit: &str, mean: &str, point: &str, key: &str| {
        digest(&shown_by_report(&format!(
            "<h1>a</h1>\n<p>flashloom 0.1.0 ({commit})</p>\n<main>\n<dd>{mean}</dd>\n<details><summary>Configuration</summary>{key}\
             </details>\n</main>\n{{\"figures\":[{point}],\n\"result\":{{\"version\":\"{commit}\"}}}}"
        )))
    };
    let one = report("c0ffee", "1us", "[0,1]", "k");
    assert_eq!(one, report("decade", "1us", "[0,1]", "l"));
    assert_ne!(one, report("c0ffee", "2us", "[0,1]", "k"));
    assert_ne!(one, report("c0ffee", "1us", "[0,2]", "k"));

    let table =
        "# picture\np | a | 0..1 | die, requests | one\np | b | 0..1 | channel 0 = bus | two\nq | a | 0..1 | die |\n";
    let files = |picture| panels(table, picture).into_iter().map(|panel| panel.file).collect::<Vec<_>>();
    assert_eq!(
        (files("p"), files("q"), files("r").len()),
        (vec!["a.json".into(), "b.json".into()], vec!["a.json".into()], 0)
    );
    let timeline = |version: u32, from: u32, process: u32, waited: u32| {
        let events = format!(
            r#"{{"v":{version},"traceEvents":[{{"ph":"X","pid":{process},"ts":{from},"dur":9,"args":{{"waited_us":{waited}}}}}]}}"#
        );
        digest(&shown_by_timeline(&panels(table, "q")[0], &events))
    };
    let one = timeline(1, 10, 1, 0);
    assert_eq!(one, timeline(2, 10, 1, 3));
    assert_ne!(one, timeline(1, 11, 1, 0));
    assert_ne!(one, timeline(1, 10, 2, 0), "no row shows a channel");
    assert_eq!(timeline(1, 2000, 1, 0), timeline(1, 3000, 1, 0), "both are behind the window");
}
