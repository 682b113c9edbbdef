//! Manual pages: one for the command and one for each of its subcommands, from the same definitions as the help.

use std::fs;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use study::output::{Kind, MANUAL, Outputs, publish};

use crate::args::Cli;
use crate::exit::{CODES, Failure, note, say};
use crate::help::EXAMPLES;

/// Writes the manual pages into a directory, which is created if it does not exist.
pub(crate) fn man(dir: &Path, force: bool) -> Result<(), Failure> {
    let made = !dir.exists();
    if made {
        let cannot =
            |error| Failure::Input(format!("{}: cannot be made: {error}; choose another directory", dir.display()));
        fs::create_dir(dir).map_err(cannot)?;
    }
    let written = write(dir, force);
    if made && written.is_err() {
        // Removes the directory only if it is empty.
        let _ = fs::remove_dir(dir);
    }
    written
}

fn write(dir: &Path, force: bool) -> Result<(), Failure> {
    let mut outputs = Outputs::new([""; 0], force);
    let mut files = Vec::new();
    for (name, text) in pages() {
        let mut file = outputs.file("DIR", &dir.join(&name), Kind::Manual)?;
        file.fill(|out| std::io::Write::write_all(out, text.as_bytes()))?;
        files.push(file);
    }
    let count = files.len();
    publish(files, None)?.iter().for_each(note);
    say(format_args!("{count} manual pages; read one with: man -l {}", dir.join("flashloom.1").display()));
    Ok(())
}

/// Every page, with the name of its file.
fn pages() -> Vec<(String, String)> {
    let mut all = Vec::new();
    collect(&Cli::plain(), &[], &mut all);
    all
}

/// Collects the page of a command and the pages of its subcommands.
fn collect(command: &Command, way: &[&str], all: &mut Vec<(String, String)>) {
    let way = [way, &[command.get_name()]].concat();
    let (dashed, spaced) = (way.join("-"), way.join(" "));
    let mut own = command.clone().display_name(dashed.clone()).bin_name(spaced.clone()).disable_help_subcommand(true);
    let inner = own.get_subcommands_mut().map(|inner| {
        let name = format!("{spaced} {}", inner.get_name());
        *inner = inner.clone().bin_name(name);
    });
    inner.for_each(drop);
    all.push((format!("{dashed}.1"), page(&own, &way[1..].join(" "))));
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        collect(inner, &way, all);
    }
}

fn page(command: &Command, way: &str) -> String {
    let man = Man::new(command.clone()).section("1").manual("Flashloom");
    let mut text = MANUAL.as_bytes().to_vec();
    let mut section =
        |render: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| render(&mut text).expect("memory takes it");
    section(&|out| man.render_title(out));
    section(&|out| man.render_name_section(out));
    section(&|out| man.render_synopsis_section(out));
    section(&|out| man.render_description_section(out));
    if command.get_arguments().next().is_some() {
        section(&|out| man.render_options_section(out));
    }
    if command.has_subcommands() {
        section(&|out| man.render_subcommands_section(out));
    }
    let mut text = String::from_utf8(text).expect("text");
    text.push_str(".SH \"EXIT STATUS\"\n");
    for (code, meaning) in CODES {
        text.push_str(&format!(".TP\n.B {code}\n{}\n", plain(meaning)));
    }
    let examples: Vec<_> = EXAMPLES.iter().filter(|example| example.of == way).collect();
    if !examples.is_empty() {
        text.push_str(".SH EXAMPLES\n");
    }
    for example in examples {
        text.push_str(&format!(".TP\n.B {}\n{}\n", plain(example.line), plain(example.does)));
    }
    text
}

/// A line of text, escaped so that roff does not take it for a request.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options_and_the_exit_codes() {
        fn leaves(command: &Command, count: &mut usize) {
            *count += 1;
            command.get_subcommands().for_each(|inner| leaves(inner, count));
        }
        let mut count = 0;
        leaves(&Cli::plain(), &mut count);
        let all = pages();
        assert_eq!(all.len(), count);
        for (name, text) in &all {
            assert!(text.starts_with(MANUAL), "{name}");
            for wanted in [".TH", ".SH NAME", ".SH SYNOPSIS", "EXIT STATUS", "\\n.B 130\\n"] {
                assert!(text.contains(&wanted.replace("\\n", "\n")), "{name}: {wanted}");
            }
        }
        let (_, run) = all.iter().find(|(name, _)| name == "flashloom-run.1").expect("there");
        assert!(run.contains("precondition") && run.contains(".SH EXAMPLES"), "{run}");
        assert!(run.contains("flashloom run"), "{run}");
        assert!(all.iter().any(|(name, _)| name == "flashloom-trace-info.1"));
    }

    #[test]
    fn text_is_no_request_to_roff() {
        assert_eq!(plain(".so it"), "\\&.so it");
        assert_eq!(plain("a\\b --c"), "a\\eb \\-\\-c");
    }
}
