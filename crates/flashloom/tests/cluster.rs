//! Studies on several machines: shards in stores of their own, the merge of these, and a key for each run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::common::{TINY_DEVICE, TINY_WORKLOAD, WorkFolder};

/// Twenty points with two seeds each.
const STUDY: &str = r#"name = "many"
device = "tiny.toml"
workload = "w.toml"
seeds = [1, 2]
run = { precondition = ["fill"] }
metrics = ["write.mean"]
[[axis]]
name = "depth"
key = "run.depth"
values = [1, 2, 3, 4]
[[axis]]
name = "limit"
key = "run.limit"
values = [10, 20, 50, 100, 200]
"#;
const RUNS: usize = 40;

fn place() -> WorkFolder {
    WorkFolder::with(&[("tiny.toml", TINY_DEVICE), ("w.toml", TINY_WORKLOAD), ("s.toml", STUDY)])
}

/// The files below a folder by their names.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("inside").to_owned();
                found.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

fn points(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(&store.join("points"))
}

fn whole(place: &WorkFolder) {
    place.printed(&["study", "s.toml", "--store", "whole", "--out", "whole-out", "--quiet"]);
}

/// Runs each shard in a process of its own, with a store of its own.
fn run_shards(place: &WorkFolder, count: usize) -> Vec<Value> {
    let begin = |number: usize| -> Child {
        let (shard, store) = (format!("{number}/{count}"), format!("shard-{number}"));
        let mut command =
            place.command(&["study", "s.toml", "--shard", &shard, "--store", &store, "--jobs", "1", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let children: Vec<Child> = (1..=count).map(begin).collect();
    let result = |child: Child| {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    children.into_iter().map(result).collect()
}

fn merge(place: &WorkFolder, from: &[String], into: &str) -> Value {
    let from: Vec<&str> = from.iter().map(String::as_str).collect();
    place.json(&[&["store", "merge"], &from[..], &["--store", into, "--json"]].concat())
}

/// The numbers of results that a merge took, that existed already, and that it left.
fn counts(merged: &Value) -> [usize; 3] {
    ["taken", "there", "left"].map(|key| merged[key].as_u64().expect("a number") as usize)
}

#[test]
fn sixteen_shards_in_stores_of_their_own_give_the_files_of_one_run() {
    let place = place();
    whole(&place);
    let results = run_shards(&place, 16);
    let mut digests: Vec<&str> = Vec::new();
    for (number, result) in results.iter().enumerate() {
        let head = ["schema", "shard", "shards", "all_runs"].map(|key| &result[key]);
        assert_eq!(json!(head), json!(["flashloom-shard-1", number + 1, 16, RUNS]));
        let runs = result["runs"].as_array().expect("runs");
        assert!((1..=5).contains(&runs.len()) && runs.iter().all(|run| run["stored"] == false), "{result}");
        digests.extend(runs.iter().map(|run| run["digest"].as_str().expect("a digest")));
        assert_eq!(points(&place.path(&format!("shard-{}", number + 1))).len(), runs.len());
    }
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), RUNS, "each run is in one shard");
    let stores: Vec<String> = (1..=16).map(|number| format!("shard-{number}")).collect();
    let merged = merge(&place, &stores, "all");
    assert_eq!(counts(&merged), [RUNS, 0, 0]);
    assert!(points(&place.path("all")) == points(&place.path("whole")), "byte for byte");
    let output = place.flashloom(&["study", "s.toml", "--store", "all", "--out", "all-out", "--quiet"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains(&format!("{RUNS} of {RUNS} runs came from the store")), "{said}");
    let [all, one] = ["all-out", "whole-out"].map(|folder| files(&place.path(folder)));
    assert!(all.keys().any(|name| name.extension().is_some_and(|end| end == "parquet")), "{:?}", all.keys());
    assert_eq!(all.keys().collect::<Vec<_>>(), one.keys().collect::<Vec<_>>());
    for (name, bytes) in &all {
        assert!(one[name] == *bytes, "{}: other bytes", name.display());
    }
    // A second merge finds all results there, and changes nothing.
    let before = files(&place.path("all"));
    let again = merge(&place, &stores, "all");
    assert_eq!(counts(&again), [0, RUNS, 0]);
    assert!(files(&place.path("all")) == before);
    // A shard that was run before runs nothing again.
    let text = place.printed(&["study", "s.toml", "--shard", "16/16", "--store", "shard-16"]);
    let count = results[15]["runs"].as_array().expect("runs").len();
    assert!(
        text.starts_with(&format!("shard 16 of 16: {count} of 40 runs, {count} of them were in the store\n")),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let csv = place.printed(&["study", "s.toml", "--shard", "16/16", "--store", "shard-16", "--csv"]);
    assert!(
        csv.starts_with("study,point,seed,digest,stored\nmany,\"depth ") && csv.lines().count() == count + 1,
        "{csv}"
    );
}

#[test]
fn shards_fill_one_store_at_once_and_follow_from_the_studies_alone() {
    let place = place();
    whole(&place);
    place.write("t.toml", STUDY.replace("\"many\"", "\"more\"").replace("200]", "199]"));
    let run = |shard: &str, store: &str| {
        let mut command = place.command(&["study", "s.toml", "t.toml", "--shard", shard, "--store", store, "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let children = ["1/3", "2/3", "3/3"].map(|shard| run(shard, "one"));
    let results = children.map(|child| child.wait_with_output().expect("it ends"));
    let runs = results.each_ref().map(|output| {
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        result["runs"].as_array().expect("runs").clone()
    });
    assert_eq!(runs.iter().map(Vec::len).sum::<usize>(), 2 * RUNS);
    assert!(runs.iter().all(|runs| (24..=30).contains(&runs.len())), "{:?}", runs.each_ref().map(Vec::len));
    // Known run times do not change which runs a shard has.
    let again: Value =
        serde_json::from_slice(&run("2/3", "whole").wait_with_output().expect("it ends").stdout).expect("JSON");
    let digests = |runs: &[Value]| runs.iter().map(|run| run["digest"].clone()).collect::<Vec<_>>();
    assert_eq!(digests(again["runs"].as_array().expect("runs")), digests(&runs[1]));
    // If a study has fewer runs than shards, some shards have none.
    place.write("u.toml", "name = \"u\"\ndevice = \"tiny.toml\"\nworkload = \"w.toml\"\nrun = { limit = 5 }\n");
    let text = place.printed(&["study", "u.toml", "--shard", "2/2", "--store", "one"]);
    assert_eq!(text, "shard 2 of 2: 0 of 1 runs, 0 of them were in the store\n");
}

#[test]
fn a_wrong_shard_is_one_error_that_says_what_to_write() {
    let place = place();
    for shard in ["0/16", "17/16", "x/y", "3", "1/0", "1/1000001"] {
        let output = place.flashloom(&["study", "s.toml", "--shard", shard, "--store", "store"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{said}");
        assert!(said.contains(&format!("`{shard}` is not a shard: write")) && said.contains("e.g. 3/16"), "{said}");
        assert_eq!(said.matches("error").count(), 1, "{said}");
    }
    assert!(!place.path("store").exists());
    for options in [
        &["--shard", "1/2", "--no-store"][..],
        &["--shard", "1/2", "--out", "o"],
        &["--shard", "1/2", "--keys", "k"],
        &["--keys", "k", "--report", "r.html"],
    ] {
        let output = place.flashloom(&[&["study", "s.toml"], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
    }
    // The tests set the variable of the default store to nothing.
    let output = place.flashloom(&["study", "s.toml", "--shard", "1/2"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("write --store DIR"), "{said}");
}

#[test]
fn what_cannot_be_used_is_left_with_a_line_and_a_damaged_result_is_replaced() {
    let place = place();
    whole(&place);
    run_shards(&place, 2);
    let stores = ["shard-1", "shard-2"].map(str::to_owned);
    let of = |store: &str| {
        points(&place.path(store)).keys().map(|name| place.path(store).join("points").join(name)).collect::<Vec<_>>()
    };
    let first = of("shard-1");
    let sound = fs::read(&first[0]).expect("there");
    fs::write(&first[0], "half").expect("written");
    fs::write(&first[1], fs::read(&first[2]).expect("there")).expect("written");
    let output = place.flashloom(&["store", "merge", "shard-1", "shard-2", "--store", "all"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(text, format!("took {} results from 2 stores; 0 were there, 2 cannot be used\n", RUNS - 2));
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.contains("is damaged or not a Parquet file") && said.contains("is the result of another run"),
        "{said}"
    );
    assert!(said.lines().all(|line| line.starts_with("note: ") && line.ends_with("; it stays where it is")), "{said}");
    assert_eq!(fs::read(&first[0]).expect("there"), b"half");
    // The study runs these two again, and no others.
    let output = place.flashloom(&["study", "s.toml", "--store", "all", "--quiet"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("{} of {RUNS} runs came from the store", RUNS - 2)), "{said}");
    assert!(points(&place.path("all")) == points(&place.path("whole")));
    // The merge replaces a damaged result in its own store by a sound one.
    let there =
        place.path("all").join("points").join(first[3].strip_prefix(place.path("shard-1").join("points")).expect("in"));
    fs::write(&there, "half").expect("written");
    fs::write(&first[0], &sound).expect("written");
    let merged = merge(&place, &stores, "all");
    assert_eq!(counts(&merged), [1, RUNS - 1, 0]);
    assert!(points(&place.path("all")) == points(&place.path("whole")));
    for (arguments, wanted) in [
        (&["store", "merge", "all", "--store", "all"][..], "is the store that takes the results"),
        (&["store", "merge", "shard-1", "none", "--store", "new"], "none: there is no store of results"),
        (&["store", "merge", "shard-1"], "name one with --store DIR"),
    ] {
        let output = place.flashloom(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty() && said.contains(wanted), "{said}");
    }
    assert!(!place.path("new").exists());
}

/// A merge that is killed leaves whole results only, and the next merge takes the other results.
#[test]
#[cfg(target_os = "linux")]
fn a_merge_that_is_killed_goes_on_where_it_was() {
    let place = place();
    place.write("s.toml", STUDY.replace("[1, 2, 3, 4]", &format!("{:?}", (1..=40).collect::<Vec<u32>>())));
    whole(&place);
    let wanted = points(&place.path("whole"));
    assert_eq!(wanted.len(), 400);
    let mut there = 0;
    for time in 1..=3 {
        let mut command = place.command(&["store", "merge", "whole", "--store", "all"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let count = || {
            let folders = fs::read_dir(place.path("all/points")).into_iter().flatten().flatten();
            folders.map(|folder| fs::read_dir(folder.path()).into_iter().flatten().count()).sum::<usize>()
        };
        while count() < 100 * time && child.try_wait().expect("it runs").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        let found: BTreeMap<_, _> =
            points(&place.path("all")).into_iter().filter(|(name, _)| wanted.contains_key(name)).collect();
        assert!(found.len() > there && found.len() < wanted.len(), "{} of {}", found.len(), wanted.len());
        assert!(found.iter().all(|(name, bytes)| wanted[name] == *bytes), "whole or not there");
        there = found.len();
    }
    let merged = merge(&place, &["whole".to_owned()], "all");
    assert_eq!(counts(&merged), [wanted.len() - there, there, 0]);
    place.printed(&["store", "gc", "--store", "all"]);
    assert!(points(&place.path("all")) == wanted);
}

#[test]
fn points_that_run_from_keys_give_the_store_of_the_study() {
    let place = place();
    let listed = place.json(&["study", "s.toml", "--keys", "keys", "--store", "mine", "--json"]);
    assert!(!place.path("mine").exists(), "nothing runs, and no store is made");
    assert_eq!(serde_json::from_str::<Value>(&place.read("keys/keys.json")).expect("JSON"), listed);
    let runs = listed["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), RUNS);
    let memory = place.json(&["check", "tiny.toml", "--json"])[0]["memory"]["plain"]["bytes"].clone();
    assert!(runs.iter().all(|run| run["memory_bytes"] == memory && run["stored"] == false), "{listed}");
    assert!(runs.iter().all(|run| run["seconds"].is_null()), "nothing is known of the time");
    let requests: Vec<u64> = runs.iter().map(|run| run["requests"].as_u64().expect("a limit")).collect();
    assert!(requests.is_sorted_by(|a, b| a >= b) && requests[0] == 200, "the longest come first");
    for run in &runs[10..] {
        place.printed(&["point", &format!("keys/{}", run["file"].as_str().expect("a name")), "--store", "mine"]);
    }
    // Once the store knows how long a request takes on this device, finished runs come last.
    let listed = place.json(&["study", "s.toml", "--keys", "keys", "--store", "mine", "--json"]);
    let again = listed["runs"].as_array().expect("runs");
    assert!(again[..10].iter().all(|run| run["stored"] == false && run["basis"] == "device"), "{listed}");
    assert!(again[..10].iter().all(|run| run["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0)), "{listed}");
    assert!(again[10..].iter().all(|run| run["stored"] == true && run["seconds"] == 0.0), "{listed}");
    let text = place.printed(&["study", "s.toml", "--keys", "keys", "--store", "mine"]);
    assert!(text.starts_with("keys: 40 keys, longest runs first\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let csv = place.printed(&["study", "s.toml", "--keys", "keys", "--store", "mine", "--csv"]);
    assert!(csv.starts_with("file,memory_bytes,time_s,requests,stored,study,point,seed\n"), "{csv}");
    for run in &again[..10] {
        place.printed(&["point", &format!("keys/{}", run["file"].as_str().expect("a name")), "--store", "mine"]);
    }
    whole(&place);
    assert!(points(&place.path("mine")) == points(&place.path("whole")), "byte for byte");
    // Keys of an earlier list are removed; other files stay.
    place.write("keys/notes.txt", "mine");
    place.write("u.toml", "name = \"u\"\ndevice = \"tiny.toml\"\nworkload = \"w.toml\"\nrun = { limit = 5 }\n");
    place.printed(&["study", "u.toml", "--keys", "keys"]);
    assert_eq!(files(&place.path("keys")).len(), 3, "a key, the list and the notes");
    // A folder of keys that Flashloom did not write is not replaced.
    fs::create_dir(place.path("other")).expect("made");
    place.write("other/keys.json", "mine");
    let output = place.flashloom(&["study", "u.toml", "--keys", "other"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("--force"), "{said}");
    assert_eq!((place.read("other/keys.json").as_str(), files(&place.path("other")).len()), ("mine", 1));
    place.printed(&["study", "u.toml", "--keys", "other", "--force"]);
    // The trace of a pipe cannot be read a second time by a key's run.
    let output = place.flashloom(&["study", "u.toml", "--workload", "-", "--keys", "k"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && said.contains("is a pipe") && said.contains("write it into a file"),
        "{said}"
    );
    assert!(!place.path("k").exists());
}

/// The program asks `python3` for the package and is replaced by it. In this test a script plays the part of Python.
#[cfg(unix)]
#[test]
fn a_cluster_is_reached_through_python() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    fs::create_dir(place.path("bin")).expect("a folder");
    let run = |script: &str| {
        let python = place.path("bin/python3");
        let _ = fs::remove_file(&python);
        if !script.is_empty() {
            fs::write(&python, format!("#!/bin/sh\n{script}\n")).expect("written");
            fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let mut command = place.command(&["study", "s.toml", "--on", "tcp://scheduler:8786", "--csv"]);
        let output = command.env("PATH", place.path("bin")).output().expect("it starts");
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), out, err)
    };
    for (script, said) in [
        ("", "python3 cannot be started ("),
        ("exit 1", "python3 does not have the package flashloom"),
        ("echo", "is there without Dask"),
        ("echo 0.0.0", "has version 0.0.0 of the package flashloom, and this is version "),
    ] {
        let (code, out, err) = run(script);
        assert!(err.starts_with("error: --on: ") && err.contains(said), "{script}: {err}");
        assert!(err.contains("pip install 'flashloom[cluster]'") && err.lines().count() == 1, "{err}");
        assert_eq!((code, out.as_str()), (Some(2), ""));
    }
    let version = env!("CARGO_PKG_VERSION");
    let script = format!("if [ \"$1\" = -c ]; then echo {version}; else echo \"$@\"; exit 1; fi");
    let (code, out, err) = run(&script);
    assert_eq!(out, "-m flashloom study s.toml --on tcp://scheduler:8786 --csv\n", "{err}");
    assert_eq!((code, err.as_str()), (Some(1), ""));
}
