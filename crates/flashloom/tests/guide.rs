//! The guide in `docs/src`: every command of every page runs and prints the output shown. Every picture has a command that makes
//! it, and shows the data that the command writes today. The files that pages write stay in `target/tmp/guide`, from which `make
//! docs` draws the pictures.

use std::fs;
use std::path::Path;

use study::watch::journey::JourneyPart;

use crate::links::pages_below;
use crate::pictures::{assert_fresh, sources};
use crate::shown::{MarkdownPage, Share, furnish};

const FOLDER: &str = "docs/src";

/// The files in `img` that a page shows.
fn shown(page: &MarkdownPage) -> impl Iterator<Item = &str> {
    let targets = page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter_map(|target| Some(target.split_once("img/")?.1))
}

/// The pictures of a page that are drawn from the output of its commands, without `.png`. Drawings (`.svg`) are made by hand.
fn pictures(page: &MarkdownPage) -> Vec<&str> {
    shown(page).filter_map(|file| file.strip_suffix(".png")).collect()
}

/// The pictures of a page whose data its commands have not written into `folder`.
fn unmade<'a>(page: &'a MarkdownPage, folder: &Path) -> Vec<&'a str> {
    let is_made = |picture: &&str| sources(picture).iter().all(|file| folder.join(file).is_file());
    pictures(page).into_iter().filter(|picture| !is_made(picture)).collect()
}

/// Runs a page of the guide in its own folder; returns the number of commands.
fn play(name: &str, share: Share) -> usize {
    let page = MarkdownPage::at(&format!("{FOLDER}/{name}.md"));
    let kept = if share == Share::Quick { "guide" } else { "guide-whole" };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(kept).join(name.replace('/', "-"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("removed");
    }
    fs::create_dir_all(&folder).expect("created");
    furnish(&folder);
    let ran = page.play(&folder, share, |_| false);
    page.assert_names();
    let unmade = unmade(&page, &folder);
    assert!(unmade.is_empty(), "{}: no command of the page writes {unmade:?}, as .html or .json", page.name);
    if share == Share::Quick {
        assert_fresh(&pictures(&page), &folder);
    }
    ran
}

macro_rules! chapters {
    ($($name:ident)*) => {
        /// Pages with a test of their own.
        const CHAPTERS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                let ran = play(&stringify!($name).replace('_', "-"), Share::Quick);
                assert!(ran >= 3, "{ran} commands");
            }
        )*
    };
}

chapters! {
    first_run
    describe_a_drive
    feed_it
    measure_it_well
    explain_it
    reads_that_do_not_wait
    errors
    lifetime
    host_memory
    your_own_policy
    write_streams
    data_placement
    raid
    zones
    translation
    compare_and_mix
    write_a_study
    keep_results
    on_a_cluster
    block_device
    keep_a_served_drive
    cut_the_power
    embed_it
    how_far_to_trust_it
}

/// The names of all pages of the guide below `docs/src`, without `.md`.
fn names() -> Vec<String> {
    let pages = pages_below(FOLDER).into_iter();
    pages.map(|path| path[FOLDER.len() + 1..].trim_end_matches(".md").to_owned()).collect()
}

#[test]
fn every_page_outside_the_chapters_runs_as_shown() {
    for name in names() {
        if !CHAPTERS.contains(&name.replace('-', "_").as_str()) {
            play(&name, Share::Quick);
        }
    }
}

#[test]
#[ignore = "make soak"]
fn every_slow_page_runs_as_shown() {
    for name in names() {
        let page = MarkdownPage::at(&format!("{FOLDER}/{name}.md"));
        if page.commands().iter().any(|shown| shown.takes_minutes) {
            play(&name, Share::All);
        }
    }
}

#[test]
fn picture_names_are_unique_and_every_picture_is_used() {
    let mut all: Vec<(String, String)> = Vec::new();
    for name in names() {
        let page = MarkdownPage::at(&format!("{FOLDER}/{name}.md"));
        all.extend(shown(&page).map(|file| (file.to_owned(), name.clone())));
    }
    all.sort();
    for pair in all.windows(2) {
        assert_ne!(pair[0].0, pair[1].0, "{} and {} have it", pair[0].1, pair[1].1);
    }
    let drawn = fs::read_dir(crate::shown::root().join(FOLDER).join("img")).expect("pictures");
    for file in drawn {
        let file = file.expect("a file").file_name().into_string().expect("a name");
        let is_shown = all.iter().any(|(picture, _)| *picture == file);
        assert!(is_shown, "no page shows {FOLDER}/img/{file}");
    }
}

#[test]
fn a_page_with_a_wrong_command_or_output_fails() {
    let place = tempfile::tempdir().expect("a directory");
    let page = |text: &str| MarkdownPage { name: "docs/src/page.md".into(), text: text.into() };
    let sound = "```toml d.toml\nname = 1\n```\n```console\n$ flashloom check d.toml | cat\n...\n$ echo $?\n2\n```\n";
    assert_eq!(page(sound).play(place.path(), Share::Quick, |_| false), 1);
    let slow = page("```console\n$ flashloom reproduce hydra   # four minutes\nall hold\n```\n");
    assert_eq!(slow.play(place.path(), Share::Quick, |_| false), 0);
    for (text, why) in [
        ("```\nan old block\n```\n", "nobody knows what it is"),
        ("```toml\nname = 1\n```\n", "a file without a name"),
        ("```toml f.toml\nname = 1\n```\n", "no command reads it"),
        ("```console\n$ flashloom check nothing.toml\n...\n```\n", "it fails, and no exit code is shown"),
        ("```console\n$ flashloom check nothing.toml\n...\n$ echo $?\n1\n```\n", "another exit code"),
        ("```console\n$ flashloom devices\n...\nno such line\n...\n```\n", "it prints something else"),
        ("```console\n$ flashloom devices\n```\n", "it prints more"),
        ("```console\n$ rm -r x\n```\n", "not a program of a page"),
        ("```rust\n{{#include ../../README.md}}\n```\n", "not an example"),
        ("```rust\n{{#include ../../crates/flashloom/examples/embed.rs:nothing}}\n```\n", "no such part of it"),
    ] {
        let page = page(text);
        let played = std::panic::catch_unwind(|| page.play(place.path(), Share::Quick, |_| false));
        assert!(played.is_err(), "{why}: {text}");
    }
    assert_eq!(unmade(&page("![](img/a.png) ![](img/b.png)"), place.path()), ["a", "b"]);
    fs::write(place.path().join("b.html"), "").expect("written");
    assert_eq!(unmade(&page("![](img/a.png) ![](img/b.png)"), place.path()), ["a"]);
}

#[test]
fn the_guide_explains_the_parts_of_a_latency_in_the_order_of_the_table() {
    let page = MarkdownPage::at(&format!("{FOLDER}/explain-it.md"));
    let (_, table) = page.text.split_once("| part | the request waits for |").expect("the table of parts");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let named: Vec<&str> = rows.map(|row| row.trim_matches('|').split('|').next().expect("a cell").trim()).collect();
    assert_eq!(named, JourneyPart::ALL.map(|part| format!("`{}`", part.name())));
}
