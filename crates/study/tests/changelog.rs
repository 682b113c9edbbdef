//! Tests that every change of a pin has a row in the changelog, and that the changelog is short.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use study::store::MODEL;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first eight digits of the digest of all pins: event hashes of the reference runs, and findings of the papers' studies.
fn pins() -> String {
    let folder = root().join("crates/flashloom/tests/papers");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files.insert(0, root().join("crates/study/tests/reference.txt"));
    assert_eq!(files.len(), 6, "{files:?}");
    let mut digest = Sha256::new();
    files.iter().for_each(|path| digest.update(fs::read(path).expect("a file of pins")));
    digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn changelog() -> String {
    fs::read_to_string(root().join("CHANGELOG.md")).expect("CHANGELOG.md")
}

#[test]
fn the_newest_row_of_results_has_the_version_and_the_pins_of_today() {
    let text = changelog();
    let newest = text.lines().skip_while(|line| !line.starts_with("| --- |")).nth(1).expect("a row of results");
    let [model, digest] = [1, 2].map(|cell| newest.split('|').nth(cell).expect("a cell").trim());
    assert_eq!(
        (model, digest),
        (MODEL.to_string().as_str(), pins().as_str()),
        "a pin or the version of the model changed: add a row to *Results* of CHANGELOG.md with the digest on the right, that says what \
         changed and by how much"
    );
}

#[test]
fn a_version_takes_at_most_sixty_lines() {
    let text = changelog();
    let versions: Vec<&str> = text.split("\n## [").skip(1).collect();
    assert!(versions.len() >= 2, "the unreleased changes and a version");
    for version in versions {
        let name = version.split(']').next().expect("a name");
        let lines = version.lines().count();
        assert!(lines <= 60, "{name} takes {lines} lines of CHANGELOG.md");
    }
}
