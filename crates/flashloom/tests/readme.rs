//! README.md: every file that it shows is one, every command runs, and prints what is shown.

pub(crate) mod blocks;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blocks::{Block, README, Shown, blocks};
use study::watch::journey::Part;

/// Commands that take half a minute of a processor or more. A test of its own runs each and compares what is shown here.
const ELSEWHERE: [(&str, &str); 2] = [("make demo", "readme.rs"), ("flashloom reproduce dirik", "studies.rs")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn makefile() -> String {
    fs::read_to_string(root().join("Makefile")).expect("a Makefile")
}

fn assert_target(target: &str) {
    let is_there = makefile().lines().any(|line| line.starts_with(&format!("{target}: ")));
    assert!(is_there, "README.md names `make {target}`, which the Makefile has not");
}

/// What a target of the Makefile runs.
fn recipe(target: &str) -> Vec<String> {
    assert_target(target);
    let text = makefile();
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("{target}: ")));
    lines.skip(1).take_while(|line| line.starts_with('\t')).map(ToOwned::to_owned).collect()
}

fn flashloom(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashloom")).args(arguments).current_dir(folder).output().expect("it starts")
}

/// Runs a command as a reader would who has the repository and has built it.
fn run(shown: &Shown, folder: &Path) -> Output {
    let words: Vec<&str> = shown.command.split_whitespace().collect();
    match words[..] {
        ["flashloom", ref arguments @ ..] => flashloom(arguments, folder),
        ["make", target] => {
            let recipe = recipe(target);
            let run = recipe.iter().find_map(|line| line.split_once("-p flashloom -- ")).expect("it runs Flashloom").1;
            fs::create_dir_all(folder.join("out")).expect("created");
            flashloom(&run.split_whitespace().collect::<Vec<_>>(), folder)
        }
        _ => panic!("README.md:{}: `{}` is neither flashloom nor make", shown.line, shown.command),
    }
}

/// A command in README.md, with what is shown of its output.
pub(crate) fn shown(command: &str) -> Shown {
    let all = blocks(README).into_iter().filter_map(|block| match block {
        Block::Console(all) => Some(all),
        _ => None,
    });
    all.flatten().find(|shown| shown.command == command && !shown.output.is_empty()).expect("README.md shows it")
}

/// A place with what the commands of README.md read.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for folder in ["workloads", "devices", "studies"] {
        std::os::unix::fs::symlink(root().join(folder), place.path().join(folder)).expect("linked");
    }
    place
}

/// Runs a command of README.md and compares what it prints.
fn compare(shown: &Shown, folder: &Path) {
    let output = run(shown, folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "README.md:{}: `{}`: {said}", shown.line, shown.command);
    assert!(!shown.output.is_empty(), "README.md:{}: show what it prints", shown.line);
    let printed = String::from_utf8_lossy(&output.stdout);
    if let Some(wrong) = shown.differs(&printed) {
        panic!("README.md:{}: `{}`: {wrong}\n\nIt prints:\n{printed}", shown.line, shown.command);
    }
}

/// `watch.rs` runs a little of it in `make test`.
#[test]
#[ignore = "make soak"]
fn the_demo_prints_what_is_shown() {
    compare(&shown("make demo"), place().path());
}

#[test]
fn every_block_is_a_file_or_a_command_and_prints_what_is_shown() {
    let place = place();
    let (mut files, mut used) = (Vec::new(), BTreeSet::new());
    let mut compared = 0;
    for block in blocks(README) {
        match block {
            Block::File(name, text) => {
                fs::write(place.path().join(&name), text).expect("written");
                files.push(name);
            }
            Block::Console(all) => {
                for shown in all {
                    used.extend(shown.command.split_whitespace().map(ToOwned::to_owned));
                    if shown.command.starts_with("make ") && shown.output.is_empty() {
                        assert_target(shown.command.trim_start_matches("make "));
                        continue;
                    }
                    if ELSEWHERE.iter().any(|(command, _)| *command == shown.command) {
                        continue;
                    }
                    compare(&shown, place.path());
                    compared += 1;
                }
            }
            Block::Forms(_) => {}
            Block::Unknown(line, kind) => {
                panic!("README.md:{line}: ```{kind} is neither `toml NAME`, `console` nor `text`, so nothing tests it")
            }
        }
    }
    assert!(compared >= 3 && !files.is_empty(), "{compared} commands, {files:?}");
    for file in files {
        assert!(used.contains(&file), "README.md shows {file}, and no command that uses it");
    }
}

#[test]
fn what_is_compared_elsewhere_is_shown_and_compared() {
    for (command, test) in ELSEWHERE {
        let all = blocks(README);
        let shown = all.iter().any(|block| {
            matches!(block, Block::Console(all) if all.iter().any(|one| one.command == command && !one.output.is_empty()))
        });
        assert!(shown, "README.md does not show `{command}`");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(test);
        let text = fs::read_to_string(path).expect("a test");
        assert!(text.contains(&format!("shown(\"{command}\")")), "{test} does not compare `{command}`");
    }
}

/// The commands and options in the forms that `What it does` lists, and in the text.
#[test]
fn every_command_and_option_that_is_named_is_there() {
    let place = tempfile::tempdir().expect("a directory");
    let help = |command: &[&str]| {
        let output = flashloom(&[command, &["--help"]].concat(), place.path());
        assert!(output.status.success(), "README.md names `flashloom {}`", command.join(" "));
        String::from_utf8(output.stdout).expect("text")
    };
    let every: String =
        ["run", "compare", "explain", "study", "reproduce", "check"].map(|command| help(&[command])).concat();
    let mut commands = BTreeSet::new();
    // Spans of code about other programs name options of theirs.
    let ours: Vec<&str> = README.split('`').filter(|span| !span.starts_with("cargo ")).collect();
    let ours = ours.join("`");
    let words: Vec<&str> = ours.split(|c: char| c.is_whitespace() || "`,;|()[]{}".contains(c)).collect();
    for pair in words.windows(2).filter(|pair| pair[0] == "flashloom") {
        let command = pair[1].trim_end_matches(['.', ':']);
        if command.chars().all(|c| c.is_ascii_lowercase()) && !command.is_empty() {
            commands.insert(command);
        }
    }
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        help(&[command]);
    }
    let is_option =
        |word: &&&str| word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    for option in words.iter().filter(is_option) {
        let option = option.trim_end_matches(['.', ':', ',']);
        let listed = every.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == option);
        assert!(listed, "README.md names {option}, which no command has");
    }
    for target in README.split("`make ").skip(1).filter_map(|rest| rest.split('`').next()) {
        assert_target(target);
    }
}

#[test]
fn the_parts_of_explain_are_named_as_its_table_names_them() {
    let forms = blocks(README).into_iter().find_map(|block| match block {
        Block::Forms(text) => Some(text),
        _ => None,
    });
    let forms = forms.expect("what it does");
    let of = forms.split("percentile band:").nth(1).expect("the parts").split("\nflashloom").next().expect("their end");
    let named: Vec<&str> = of.split(',').map(str::trim).collect();
    assert_eq!(named, Part::ALL.map(Part::name));
}

#[test]
fn the_comparison_notices_what_differs() {
    let shown = |output: &str| Shown {
        line: 1,
        command: "flashloom".into(),
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
    let text =
        "x\n```console\n$ flashloom a \\\n    --b c   # why\nout\n```\n```toml f.toml\nk = 1\n```\n```\nold\n```\n";
    match &blocks(text)[..] {
        [Block::Console(all), Block::File(name, toml), Block::Unknown(line, _)] => {
            assert_eq!((all[0].command.as_str(), all[0].output.join("")), ("flashloom a --b c", "out".to_owned()));
            assert_eq!((name.as_str(), toml.as_str(), *line), ("f.toml", "k = 1\n", 10));
        }
        other => panic!("{other:?}"),
    }
}
