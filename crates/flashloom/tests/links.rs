//! Every link between the pages of the repository leads to a file, and to a heading if it names one. The test uses no
//! network.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::shown::{MarkdownPage, root};

/// Folders that git does not keep.
const IGNORED: [&str; 3] = ["target", "out", "node_modules"];

fn walk(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() && !name.starts_with('.') && !IGNORED.contains(&name.as_str()) {
            walk(&entry.path(), found);
        } else if kind.is_file() && name.ends_with(".md") {
            found.push(entry.path().strip_prefix(root()).expect("below it").display().to_string());
        }
    }
}

/// All pages in Markdown below a folder of the repository, as paths from its root.
pub(crate) fn pages_below(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    found.sort();
    found
}

/// The text without fenced blocks.
fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The text outside code spans, and the spans.
fn without_code(text: &str) -> (String, Vec<&str>) {
    let parts: Vec<&str> = text.split('`').collect();
    (parts.iter().step_by(2).copied().collect(), parts.into_iter().skip(1).step_by(2).collect())
}

fn links(text: &str) -> Vec<String> {
    let (text, _) = without_code(text);
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// The anchors of the headings of a text, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in prose(text).lines().filter(|line| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let again = (1..).map(|n| format!("{anchor}-{n}"));
        let free = std::iter::once(anchor.clone()).chain(again).find(|anchor| !all.contains(anchor));
        all.extend(free);
    }
    all
}

/// A path without `.` and `..`; none if it leaves the repository.
fn plain(path: &Path) -> Option<PathBuf> {
    path.components().try_fold(PathBuf::new(), |mut parts, part| match part {
        Component::ParentDir => parts.pop().then_some(parts),
        Component::Normal(name) => Some(parts.join(name)),
        _ => Some(parts),
    })
}

/// The reason why a link of a page is broken.
fn fault(page: &str, target: &str) -> Option<String> {
    if ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(page).parent().expect("a folder");
    let path = if file.is_empty() { Some(PathBuf::from(page)) } else { plain(&folder.join(file)) };
    let Some(path) = path else { return Some("leads out of the repository".into()) };
    // The book is built from docs/src alone.
    if page.starts_with("docs/src/") && !path.starts_with("docs/src") {
        return Some("leads out of the book".into());
    }
    if !root().join(&path).exists() {
        return Some(format!("there is no {}", path.display()));
    }
    if anchor.is_empty() {
        return None;
    }
    let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
    (!anchors(&text).contains(anchor)).then(|| format!("{} has no heading for #{anchor}", path.display()))
}

/// Paths in code spans that a reader would open.
fn named_files(text: &str) -> Vec<String> {
    let (_, spans) = without_code(text);
    let is_path = |span: &&str| {
        let folders = ["crates/", "devices/", "docs/", "studies/", "workloads/", ".ci/"];
        let is_plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        is_plain && folders.iter().any(|folder| span.starts_with(folder))
    };
    spans.into_iter().filter(is_path).map(ToOwned::to_owned).collect()
}

#[test]
fn every_link_and_every_path_in_a_page_exists() {
    let (mut faults, mut links_seen) = (Vec::new(), 0);
    for name in pages_below("") {
        let text = prose(&MarkdownPage::at(&name).text);
        for target in links(&text) {
            links_seen += 1;
            faults.extend(fault(&name, &target).map(|why| format!("{name}: ({target}) {why}")));
        }
        // The changelog names removed files.
        if name != "CHANGELOG.md" {
            let missing = named_files(&text).into_iter().filter(|path| !root().join(path).exists());
            faults.extend(missing.map(|path| format!("{name}: there is no `{path}`")));
        }
    }
    assert!(links_seen >= 20, "{links_seen} links");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_table_of_contents_lists_every_page_once() {
    let summary = MarkdownPage::at("docs/src/SUMMARY.md");
    let mut listed: Vec<String> = links(&summary.text).iter().map(|target| format!("docs/src/{target}")).collect();
    listed.push("docs/src/SUMMARY.md".to_owned());
    listed.sort();
    assert_eq!(listed, pages_below("docs/src"));
}

#[test]
fn a_broken_link_is_found() {
    assert_eq!(fault("README.md", "Makefile"), None);
    assert_eq!(fault("README.md", "https://example.org/nothing"), None);
    assert_eq!(fault("workloads/recorded/README.md", "../record/record.sh"), None);
    for (page, target) in [
        ("README.md", "NOTHING.md"),
        ("README.md", "../README.md"),
        ("README.md", "CONTRIBUTING.md#nothing"),
        ("docs/src/SUMMARY.md", "../../README.md"),
    ] {
        assert!(fault(page, target).is_some(), "{page}: {target}");
    }
    let text = "# A `b`, c-d!\n## A b c-d\n```text\n# no\n[x](y)\n```\n[a](b#c) `[d](e)` `crates/f.rs` `crates/<g>`\n";
    let expected = ["a-b-c-d", "a-b-c-d-1"].map(ToOwned::to_owned);
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(links(&prose(text)), ["b#c"]);
    assert_eq!(named_files(&prose(text)), ["crates/f.rs"]);
}
