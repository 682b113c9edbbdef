//! The store of results: interrupted studies continue, several programs fill one store, and results are found again
//! from outside.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{TINY_DEVICE, TINY_WORKLOAD, WorkFolder, program};

/// A study with `points` points: fewer than 20, or a multiple of 20. All points begin with the same state of the drive.
fn study(points: usize) -> String {
    let values = |count: usize| (1..=count).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    format!(
        r#"name = "many"
device = "tiny.toml"
workload = "w.toml"
run = {{ precondition = ["fill"] }}
metrics = ["write.mean"]
[[axis]]
name = "depth"
key = "run.depth"
values = [{}]
[[axis]]
name = "warm-up"
key = "run.warm-up"
values = [{}]
"#,
        values(points.div_ceil(20)),
        values(points.min(20))
    )
}

fn place(points: usize) -> WorkFolder {
    WorkFolder::with(&[("tiny.toml", TINY_DEVICE), ("w.toml", TINY_WORKLOAD), ("s.toml", &study(points))])
}

/// The Parquet files of a store by their names.
fn files(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = fs::read_dir(store.join("points")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let name = |path: &Path| path.strip_prefix(store).expect("in the store").to_owned();
    files.map(|file| (name(&file.path()), fs::read(file.path()).unwrap_or_default())).collect()
}

/// The number in the message `N of M runs came from the store`; none without the message.
fn stored(said: &[u8]) -> usize {
    let said = String::from_utf8_lossy(said).into_owned();
    let words: Vec<&str> = said.split_whitespace().collect();
    let at = words.windows(3).position(|words| words == ["runs", "came", "from"]);
    at.map_or(0, |at| words[at - 3].parse().expect("a number"))
}

fn begin(place: &WorkFolder, store: &str) -> Child {
    let mut command = place.command(&["study", "s.toml", "--store", store, "--jobs", "2", "--quiet", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Waits until the store has `count` results, or the program has ended.
fn wait_for(child: &mut Child, store: &Path, count: usize) {
    let there = || {
        let folders = fs::read_dir(store.join("points")).into_iter().flatten().flatten();
        folders.map(|folder| fs::read_dir(folder.path()).into_iter().flatten().count()).sum::<usize>()
    };
    while there() < count && child.try_wait().expect("it runs").is_none() {
        std::thread::yield_now();
    }
}

/// Interrupts a study `times` times with a signal, and compares its result with an uninterrupted study's result.
fn ended_early(points: usize, signal: &str, times: usize) {
    let place = place(points);
    let whole = place.command(&["study", "s.toml", "--store", "whole", "--json"]).output().expect("it starts");
    assert!(whole.status.success() && stored(&whole.stderr) == 0, "{}", String::from_utf8_lossy(&whole.stderr));
    let wanted = files(&place.path("whole"));
    assert_eq!(wanted.len(), points);
    let store = place.path("store");
    let mut before = 0;
    for time in 1..=times {
        let mut child = begin(&place, "store");
        wait_for(&mut child, &store, points * time / (times + 1));
        let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        let output = child.wait_with_output().expect("it ends");
        assert!(!output.status.success(), "it was too fast for the signal");
        assert_eq!(stored(&output.stderr), 0, "a study that is ended early says nothing about its results");
        let there = files(&store);
        // Each result is stored when its run ends, so only the runs under way on the two workers are lost.
        assert!(there.len() > before && there.len() < points, "{} of {points}", there.len());
        assert!(there.iter().all(|(name, bytes)| wanted[name] == *bytes), "whole or not there");
        before = there.len();
    }
    let last = begin(&place, "store").wait_with_output().expect("it ends");
    assert_eq!((last.status.success(), stored(&last.stderr)), (true, before), "nothing that was there is done again");
    assert!(files(&store) == wanted, "the same files, byte for byte");
    assert!(last.stdout == whole.stdout, "the same results");
    // The folders have no other files: no half-written file.
    let gc = place.json(&["store", "gc", "--store", "store", "--json"]);
    assert_eq!((&gc["points"], &gc["leftovers"]), (&Value::from(0), &Value::from(0)), "{gc}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_study_that_is_killed_goes_on_where_it_was() {
    ended_early(200, "KILL", 3);
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "make soak"]
fn a_study_of_2000_points_that_is_killed_goes_on_where_it_was() {
    ended_early(2_000, "KILL", 3);
}

#[test]
#[cfg(target_os = "linux")]
fn a_study_that_is_interrupted_goes_on_where_it_was() {
    ended_early(60, "INT", 1);
}

#[test]
fn four_programs_fill_one_store_at_once() {
    let place = place(60);
    let alone = place.printed(&["study", "s.toml", "--no-store", "--json"]);
    let children: Vec<Child> = (0..4).map(|_| begin(&place, "store")).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !said.contains("damaged"), "{said}");
        assert!(output.stdout == alone.as_bytes(), "each has all results");
    }
    let files = files(&place.path("store"));
    assert_eq!(files.len(), 60);
    let again = place.command(&["study", "s.toml", "--store", "store", "--json"]).output().expect("it starts");
    assert_eq!((stored(&again.stderr), again.stdout), (60, alone.into_bytes()));
    let gc = place.json(&["store", "gc", "--store", "store", "--unusable", "--json"]);
    assert_eq!((&gc["points"], &gc["leftovers"]), (&Value::from(0), &Value::from(0)), "{gc}");
}

#[test]
fn the_default_store_is_in_the_folder_for_caches() {
    let place = place(2);
    let home = place.path("home");
    let run = |variables: &[(&str, &Path)], arguments: &[&str]| {
        let mut command = program();
        command.current_dir(place.0.path()).env_remove("FLASHLOOM_STORE").env_remove("XDG_CACHE_HOME");
        let output =
            command.env("HOME", &home).envs(variables.iter().copied()).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        stored(&output.stderr)
    };
    let study = ["study", "s.toml"];
    assert_eq!(run(&[], &["study", "s.toml", "--no-store"]), 0);
    assert!(!home.exists(), "--no-store keeps nothing");
    assert_eq!(run(&[("FLASHLOOM_STORE", Path::new(""))], &study), 0);
    assert!(!home.exists(), "an empty FLASHLOOM_STORE means none");
    assert_eq!(run(&[("FLASHLOOM_STORE", &place.path("mine"))], &study), 0);
    assert_eq!(run(&[], &["study", "s.toml", "--store", "mine"]), 2, "--store is the same folder");
    assert!(!home.exists());
    let (cache, other) = (place.path("cache"), place.path("other"));
    assert_eq!(run(&[("XDG_CACHE_HOME", &cache)], &study), 0);
    assert_eq!(files(&cache.join("flashloom")).len(), if cfg!(target_os = "linux") { 2 } else { 0 });
    assert_eq!(run(&[("XDG_CACHE_HOME", Path::new("relative"))], &study), 0, "the specification ignores it");
    assert!(home.exists() && !place.path("relative").exists());
    assert_eq!(run(&[], &study), 2);
    // A comparison stores its runs as a study does.
    let compare = ["compare", "w.toml", "tiny.toml", "--store", "other", "--json"];
    assert_eq!((run(&[], &compare), run(&[], &compare)), (0, 1));
    assert_eq!(files(&other).len(), 1);
}

#[test]
fn a_store_that_cannot_be_written_is_an_error_that_says_what_to_do() {
    let place = place(2);
    place.write("file", "mine");
    for store in ["file", "file/store"] {
        let output = place.flashloom(&["study", "s.toml", "--store", store]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{said}");
        assert!(said.contains("the store of results cannot be written") && said.contains("--no-store"), "{said}");
    }
    assert_eq!(place.read("file"), "mine");
    let output = place.flashloom(&["store", "list", "--store", "none"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("none: there is no store of results"), "{said}");
    let output = place.flashloom(&["study", "s.toml", "--store", "a", "--no-store"]);
    assert_eq!(output.status.code(), Some(2));
    let output = place.flashloom(&["store", "list"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("name one with --store DIR"), "{said}");
}

/// A default store that cannot be written only costs the stored results.
#[test]
#[cfg(unix)]
fn a_study_runs_without_the_default_store_if_that_cannot_be_written() {
    let place = place(2);
    place.write("file", "mine");
    let wanted = place.printed(&["study", "s.toml", "--no-store", "--json"]);
    for (variable, value) in
        [("HOME", "/proc".into()), ("HOME", place.path("file")), ("FLASHLOOM_STORE", place.path("file"))]
    {
        let mut command = program();
        command.current_dir(place.0.path()).env_remove("FLASHLOOM_STORE").env_remove("XDG_CACHE_HOME");
        let output = command.env(variable, &value).args(["study", "s.toml", "--json"]).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout), (Some(0), wanted.clone().into_bytes()), "{said}");
        assert!(said.contains("note: ") && said.contains("the store of results cannot be written"), "{said}");
        assert!(!said.contains("run a study first"), "{said}");
    }
    assert_eq!(place.read("file"), "mine");
}

#[test]
fn a_folder_in_the_place_of_a_file_of_the_store_is_named() {
    let place = place(2);
    let first = place.printed(&["study", "s.toml", "--store", "store", "--json"]);
    let point = place.path("store").join(files(&place.path("store")).keys().next().expect("a result"));
    fs::remove_file(&point).expect("it is there");
    fs::create_dir(&point).expect("a folder");
    let output = place.flashloom(&["study", "s.toml", "--store", "store", "--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout == first.into_bytes(), "{said}");
    let name = point.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(said.contains(&format!("{name}: is a folder in the place of a file of the store of results")), "{said}");
}

#[test]
fn results_are_listed_and_shown_and_their_runs_done_again() {
    let place = place(3);
    place.printed(&["study", "s.toml", "--store", "store"]);
    let json = place.json(&["store", "list", "--store", "store", "--json"]);
    let digests: Vec<&str> =
        json["points"].as_array().expect("points").iter().map(|of| of["digest"].as_str().expect("a text")).collect();
    assert_eq!(
        (digests.len(), &json["studies"][0]["name"], &json["studies"][0]["there"]),
        (3, &"many".into(), &3.into())
    );
    let table = place.printed(&["store", "list", "--store", "store"]);
    for digest in &digests {
        assert!(table.contains(&format!("{}   tiny     w", &digest[..12])), "{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80 || line.starts_with('/')), "{table}");
    let shown = place.printed(&["store", "show", digests[0], "--store", "store"]);
    assert!(shown.starts_with(digests[0]) && shown.contains("tiny under w (closed, depth "), "{shown}");
    let json = place.json(&["store", "show", &digests[0][..9], "--store", "store", "--json"]);
    place.write("KEY.json", place.printed(&["store", "show", digests[0], "--store", "store", "--key"]));
    let key: Value = serde_json::from_str(&place.read("KEY.json")).expect("JSON");
    assert_eq!((&key, json["digest"].as_str()), (&json["key"], Some(digests[0])));
    // Without a store, then into another store, then from it.
    for store in [&[][..], &["--store", "other"], &["--store", "other"]] {
        assert_eq!(place.json(&[&["point", "KEY.json"], store].concat()), json["summary"]);
    }
    assert_eq!(files(&place.path("other")).len(), 1);
    for (arguments, wanted) in [
        (&["store", "show", "xyz", "--store", "store"][..], "xyz: there is no such result in "),
        (&["store", "show", "", "--store", "store"], "is the beginning of 3 digests"),
        (&["point", "s.toml"], "s.toml: is not a key: "),
        (&["point", "none.json"], "none.json: cannot be read: there is no such file"),
        (&["store", "gc", "--store", "store", "--older-than", "soon"], "`soon` is not an age: write e.g. 30d"),
    ] {
        let output = place.flashloom(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty() && said.contains(wanted), "{said}");
    }
}

#[test]
fn a_damaged_result_is_a_warning_and_done_again() {
    let place = place(3);
    let first = place.printed(&["study", "s.toml", "--store", "store", "--json"]);
    let before = files(&place.path("store"));
    let damaged = before.keys().next().expect("three files");
    fs::write(place.path("store").join(damaged), "mine").expect("written");
    let output = place.flashloom(&["study", "s.toml", "--store", "store", "--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout == first.into_bytes());
    assert!(said.contains("is damaged or not a Parquet file") && said.contains("done again and replaces it"), "{said}");
    assert_eq!(stored(&output.stderr), 2, "{said}");
    assert!(files(&place.path("store")) == before);
    // An unusable result is listed as damaged, and removed on request.
    fs::write(place.path("store").join(damaged), "mine").expect("written");
    let table = place.printed(&["store", "list", "--store", "store"]);
    assert!(table.contains("damaged"), "{table}");
    let gc = place.printed(&["store", "gc", "--store", "store", "--unusable"]);
    assert_eq!(gc, "removed 1 result: 4B\n");
}
