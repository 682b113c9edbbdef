//! Rules for the options of all commands.

use super::*;
use clap::{CommandFactory, FromArgMatches};

#[test]
fn the_command_line_passes_the_checks_of_clap() {
    Cli::command().debug_assert();
    RunArgs::augment_args(clap::Command::new("run")).debug_assert();
}

fn parsed(arguments: &[&str]) -> Result<RunArgs, clap::Error> {
    let command = RunArgs::augment_args(clap::Command::new("run"));
    let all = ["run", "d.toml", "w.toml"].iter().chain(arguments);
    command.try_get_matches_from(all).and_then(|matches| RunArgs::from_arg_matches(&matches))
}

/// Tries a wrong value on every option of every command that takes one: the error must not name Rust's types.
#[test]
fn no_error_about_an_option_names_a_type_of_rust() {
    fn options(command: &clap::Command, way: &[String], all: &mut Vec<(Vec<String>, String)>) {
        for inner in command.get_subcommands() {
            options(inner, &[way, &[inner.get_name().to_owned()]].concat(), all);
        }
        let valued = command.get_opts().filter(|option| option.get_action().takes_values());
        all.extend(valued.filter_map(|option| Some((way.to_vec(), option.get_long()?.to_owned()))));
    }
    let mut all = Vec::new();
    options(&Cli::command(), &["flashloom".to_owned()], &mut all);
    assert!(all.len() > 60, "{all:?}");
    let mut refused = 0;
    for (way, option) in &all {
        for value in ["-2", "x", "", "0", "1.5", "99999999999999999999999", "1e999", "0x10", "4294967296"] {
            let option = format!("--{option}={value}");
            let arguments = way.iter().map(String::as_str).chain([option.as_str()]);
            let Err(error) = Cli::command().try_get_matches_from(arguments) else { continue };
            if error.kind() != clap::error::ErrorKind::ValueValidation {
                continue;
            }
            refused += 1;
            let text = error.to_string();
            assert!(["e.g.", "choose one of", "; write "].iter().any(|way| text.contains(way)), "{option}: {text}");
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
            for word in ["digit", "u32", "u64", "non-zero", "type", "parse", "literal", "float", "string"] {
                assert!(!words.contains(&word), "{option}: {text}");
            }
        }
    }
    assert!(refused > 150, "{refused}");
}

#[test]
fn options_are_parsed_and_checked() {
    let args = parsed(&["--depth", "32", "--precondition", "fill,random:x2", "--set", "a.b=1", "--set", "c=2"])
        .expect("sound");
    assert_eq!(args.issue.pacing(), Some(Pacing::Closed { depth: 32 }));
    assert_eq!(args.state.precondition, [Precondition::Fill, Precondition::RandomOverwrite(2.0)]);
    assert_eq!(args.set, ["a.b=1", "c=2"]);
    assert_eq!(parsed(&["--open"]).expect("sound").issue.pacing(), Some(Pacing::Open));
    for wrong in [
        &["--depth", "0"][..],
        &["--depth", "4", "--open"],
        &["--time-scale", "-1"],
        &["--limit", "0"],
        &["--repeat", "0"],
        &["--precondition", "filled"],
        &["--extent", "clip"],
    ] {
        assert_eq!(parsed(wrong).expect_err("refused").exit_code(), 2, "{wrong:?}");
    }
}
