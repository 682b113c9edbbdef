//! README.md: every file that it shows parses, and every command runs and prints the output shown.

use std::fs;
use std::path::Path;

use study::watch::journey::JourneyPart;

use crate::pictures::assert_demo_fresh;
use crate::shown::blocks::{FencedBlock, ShownCommand, blocks};
use crate::shown::{MarkdownPage, Share, furnish};

/// Commands that take half a minute or more. Other tests run them and compare the output shown here.
const ELSEWHERE: [(&str, &str); 2] = [("make demo", "readme.rs"), ("flashloom reproduce dirik", "studies.rs")];

fn readme() -> MarkdownPage {
    MarkdownPage::at("README.md")
}

/// A command in README.md, with the output that README shows.
pub(crate) fn shown(command: &str) -> ShownCommand {
    let all = readme().commands();
    all.into_iter().find(|shown| shown.command == command && !shown.output.is_empty()).expect("README.md shows it")
}

/// A folder with the files that the commands of README.md read.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    furnish(place.path());
    place
}

/// `watch.rs` runs a part of `make demo` in `make test`.
#[test]
#[ignore = "make soak"]
fn make_demo_prints_the_output_shown() {
    let place = place();
    assert_eq!(readme().compare(&shown("make demo"), place.path()), 0);
    assert_demo_fresh(place.path());
}

#[test]
fn every_block_is_a_file_or_a_command_that_prints_the_output_shown() {
    let elsewhere = |shown: &ShownCommand| ELSEWHERE.iter().any(|(command, _)| *command == shown.command);
    let compared = readme().play(place().path(), Share::All, elsewhere);
    assert!(compared >= 3, "{compared} commands");
}

#[test]
fn commands_compared_by_other_tests_are_shown_and_compared() {
    for (command, test) in ELSEWHERE {
        let is_shown = readme().commands().iter().any(|one| one.command == command && !one.output.is_empty());
        assert!(is_shown, "README.md does not show `{command}`");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(test);
        let text = fs::read_to_string(path).expect("a test");
        assert!(text.contains(&format!("shown(\"{command}\")")), "{test} does not compare `{command}`");
    }
}

/// Every command and option in `What it does` and in the text exists.
#[test]
fn every_named_command_and_option_exists() {
    readme().assert_names();
}

#[test]
fn the_readme_names_the_parts_of_explain_as_its_table_does() {
    let forms = readme().blocks().into_iter().find_map(|block| match block {
        FencedBlock::Forms(text) => Some(text),
        _ => None,
    });
    let forms = forms.expect("what it does");
    let of = forms.split("percentile band:").nth(1).expect("the parts").split("\nflashloom").next().expect("their end");
    let named: Vec<&str> = of.split(',').map(str::trim).collect();
    assert_eq!(named, JourneyPart::ALL.map(JourneyPart::name));
}

#[test]
fn the_comparison_finds_a_changed_line() {
    let shown = |output: &str| ShownCommand {
        line: 1,
        command: "flashloom".into(),
        takes_minutes: false,
        output_at: 0,
        output: output.lines().map(ToOwned::to_owned).collect(),
    };
    let printed = "a\nb\nc\nd\n";
    for same in ["a\nb\nc\nd", "...\nd", "a\n...", "a\n...\nc\n...", "...\nb\nc\n...", "a\n...\nd"] {
        assert_eq!(shown(same).differs(printed), None, "{same}");
    }
    for other in
        ["a\nb\nc", "b\nc\nd", "a\n...\nx\n...", "...\nc\nb\n...", "a\n...\nc", "a\nb\nc\nd\ne", "...\nb\n...\na\n..."]
    {
        assert!(shown(other).differs(printed).is_some(), "{other}");
    }
    let text = "x\n```console\n$ flashloom a \\\n    --b c   # two minutes\nout\n```\n```toml f.toml\nk = 1\n```\n```\nold\n```\n";
    match &blocks(text)[..] {
        [FencedBlock::Console(all), FencedBlock::File(name, toml), FencedBlock::Unknown(line, _)] => {
            assert_eq!((all[0].command.as_str(), all[0].output.join("")), ("flashloom a --b c", "out".to_owned()));
            assert!(all[0].takes_minutes);
            assert_eq!((name.as_str(), toml.as_str(), *line), ("f.toml", "k = 1\n", 10));
        }
        other => panic!("{other:?}"),
    }
}
