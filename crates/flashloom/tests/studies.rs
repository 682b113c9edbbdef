//! Studies from the command line, and the claims of the papers.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::readme::shown;

use crate::common::program;

fn flashloom(arguments: &[&str]) -> Output {
    program().args(arguments).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// The claims of Dirik and Jacob, each with its verdict. A changed verdict must change this list, because it is news on
/// the model.
const DIRIK: [(&str, &str); 17] = [
    ("DJ1", "partly"),
    ("DJ2", "partly"),
    ("DJ3", "partly"),
    ("DJ4", "partly"),
    ("DJ5", "holds"),
    ("DJ6", "partly"),
    ("DJ7", "holds"),
    ("DJ8", "partly"),
    ("DJ9", "partly"),
    ("DJ10", "holds"),
    ("DJ11", "partly"),
    ("DJ12", "holds"),
    ("DJ13", "holds"),
    ("DJ14", "partly"),
    ("DJ15", "partly"),
    ("DJ16", "partly"),
    ("DJ17", "partly"),
];

/// The claims whose studies take seconds, for `make test`. For DJ4 and DJ8 only one of their two studies counts here.
const DIRIK_SHORT: [(&str, &str); 9] = [
    ("DJ3", "partly"),
    ("DJ4", "holds"),
    ("DJ8", "holds"),
    ("DJ9", "partly"),
    ("DJ10", "holds"),
    ("DJ11", "partly"),
    ("DJ12", "holds"),
    ("DJ13", "holds"),
    ("DJ16", "partly"),
];

/// The claims of Woo and Min whose studies take seconds. The others are in `flashloom reproduce fmmu`,
/// which takes minutes.
const FMMU: [(&str, &str); 2] = [("FM8", "partly"), ("FM11", "holds")];

/// The claims of Woo and Min about flushes; in this test they alone decide FM9.
const FMMU_FLUSHES: [(&str, &str); 1] = [("FM9", "partly")];

/// The claims of Seong et al. whose studies take seconds. For HY1, HY4 and HY7 only some of their studies count here.
const HYDRA: [(&str, &str); 10] = [
    ("HY1", "holds"),
    ("HY2", "holds"),
    ("HY4", "holds"),
    ("HY7", "holds"),
    ("HY8", "holds"),
    ("HY9", "holds"),
    ("HY11", "holds"),
    ("HY15", "holds"),
    ("HY20", "holds"),
    ("HY21", "holds"),
];

/// The claims of Sung's thesis.
const SUNG: [(&str, &str); 12] = [
    ("SU1", "holds"),
    ("SU2", "partly"),
    ("SU3", "holds"),
    ("SU4", "partly"),
    ("SU5", "partly"),
    ("SU6", "holds"),
    ("SU7", "holds"),
    ("SU8", "holds"),
    ("SU9", "holds"),
    ("SU10", "holds"),
    ("SU11", "holds"),
    ("SU12", "holds"),
];

/// The claims of the mixtures beside their parents. MX5 to MX9 are in `flashloom reproduce mix`: filling their drives
/// takes a while.
const MIX: [(&str, &str); 4] = [("MX1", "partly"), ("MX2", "partly"), ("MX3", "partly"), ("MX4", "partly")];

/// The claims about features of today's drives. Filling the drives takes minutes.
const TODAY: [(&str, &str); 55] = [
    ("TD1", "differs"),
    ("TD2", "holds"),
    ("TD3", "holds"),
    ("TD4", "holds"),
    ("TD5", "partly"),
    ("TD6", "differs"),
    ("TD7", "holds"),
    ("TD8", "holds"),
    ("TD9", "holds"),
    ("TD10", "holds"),
    ("TD11", "differs"),
    ("TD12", "partly"),
    ("TD13", "holds"),
    ("TD14", "holds"),
    ("TD15", "holds"),
    ("TD16", "partly"),
    ("TD17", "partly"),
    ("TD18", "holds"),
    ("TD19", "partly"),
    ("TD20", "partly"),
    ("TD21", "partly"),
    ("TD22", "holds"),
    ("TD23", "partly"),
    ("TD24", "partly"),
    ("TD25", "partly"),
    ("TD26", "partly"),
    ("TD27", "differs"),
    ("TD28", "differs"),
    ("TD29", "differs"),
    ("TD30", "partly"),
    ("TD31", "partly"),
    ("TD32", "partly"),
    ("TD33", "holds"),
    ("TD34", "holds"),
    ("TD35", "holds"),
    ("TD36", "holds"),
    ("TD37", "partly"),
    ("TD38", "holds"),
    ("TD39", "holds"),
    ("TD40", "holds"),
    ("TD41", "holds"),
    ("TD42", "partly"),
    ("TD43", "holds"),
    ("TD44", "holds"),
    ("TD45", "holds"),
    ("TD46", "holds"),
    ("TD47", "differs"),
    ("TD48", "partly"),
    ("TD49", "holds"),
    ("TD50", "holds"),
    ("TD51", "holds"),
    ("TD60", "holds"),
    ("TD61", "holds"),
    ("TD62", "partly"),
    ("TD63", "holds"),
];

/// The claims of Chang for which two drives under two workloads suffice. The others are in `flashloom
/// reproduce chang`, which takes minutes; CH10 is judged here by some of their studies.
const CHANG: [(&str, &str); 6] =
    [("CH1", "holds"), ("CH10", "holds"), ("CH11", "holds"), ("CH12", "holds"), ("CH13", "holds"), ("CH14", "holds")];

/// The claims of studies, each with its verdict.
fn verdicts(arguments: &[&str]) -> Vec<(String, &'static str)> {
    let output = flashloom(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let claims = json["claims"].as_array().expect("claims");
    claims
        .iter()
        .map(|claim| {
            let findings = claim["findings"].as_array().expect("findings");
            let any = |verdict| findings.iter().any(|finding| finding["verdict"] == verdict);
            for finding in findings {
                // A claim that holds must not have a reason for differing.
                let explained = finding["verdict"] == "differs";
                assert_eq!(finding["reason"].is_string(), explained, "{}: {finding}", claim["id"]);
                assert!(finding["paper"].as_str().is_some_and(|paper| !paper.is_empty()), "{}", claim["id"]);
            }
            let verdict = match (any("fails"), any("differs"), any("holds")) {
                (true, ..) => "fails",
                (_, true, true) => "partly",
                (_, true, false) => "differs",
                _ => "holds",
            };
            (claim["id"].as_str().expect("an id").to_owned(), verdict)
        })
        .collect()
}

#[test]
fn the_short_claims_of_dirik_have_their_known_verdicts() {
    let known = DIRIK_SHORT.map(|(id, verdict)| (id.to_owned(), verdict));
    let names =
        ["bus", "channels", "fixed-bandwidth", "orthogonal", "pair", "single"].map(|name| format!("dirik/{name}"));
    let mut arguments = vec!["study"];
    arguments.extend(names.iter().map(String::as_str));
    arguments.extend(["--json", "--quiet"]);
    assert_eq!(verdicts(&arguments), known);
}

#[test]
#[ignore = "make soak"]
fn the_claims_of_dirik_have_their_known_verdicts() {
    let known = DIRIK.map(|(id, verdict)| (id.to_owned(), verdict));
    let place = tempfile::tempdir().expect("a directory");
    let out = place.path().join("out").display().to_string();
    assert_eq!(verdicts(&["reproduce", "dirik", "--json", "--quiet", "--out", &out]), known);
    // The claims as a table, and the lines that README.md shows of that table.
    let claims = fs::read_to_string(place.path().join("out/claims.txt")).expect("there");
    let claims = claims.strip_prefix("# Written by Flashloom\n").expect("it says who wrote it");
    let shown = shown("flashloom reproduce dirik");
    if let Some(wrong) = shown.differs(claims) {
        panic!("README.md:{}: `{}`: {wrong}\n\nIt prints:\n{claims}", shown.line, shown.command);
    }
}

#[test]
fn the_claims_of_fmmu_have_their_known_verdicts() {
    let known = FMMU.map(|(id, verdict)| (id.to_owned(), verdict));
    let studies = ["study", "fmmu/agreement", "fmmu/scalability", "--json", "--quiet"];
    assert_eq!(verdicts(&studies), known);
}

#[test]
#[ignore = "make soak"]
fn the_claims_of_fmmu_about_flushes_have_their_known_verdicts() {
    let known = FMMU_FLUSHES.map(|(id, verdict)| (id.to_owned(), verdict));
    assert_eq!(verdicts(&["study", "fmmu/flush", "--json", "--quiet"]), known);
}

#[test]
fn the_claims_of_hydra_have_their_known_verdicts() {
    let known = HYDRA.map(|(id, verdict)| (id.to_owned(), verdict));
    let names =
        ["ceilings", "energy", "flush", "interleave", "priority", "score", "units"].map(|name| format!("hydra/{name}"));
    let mut arguments = vec!["study"];
    arguments.extend(names.iter().map(String::as_str));
    arguments.extend(["--json", "--quiet"]);
    assert_eq!(verdicts(&arguments), known);
}

#[test]
fn the_claims_of_sung_have_their_known_verdicts() {
    let known = SUNG.map(|(id, verdict)| (id.to_owned(), verdict));
    assert_eq!(verdicts(&["reproduce", "sung", "--json", "--quiet"]), known);
}

#[test]
fn the_claims_of_the_mixtures_have_their_known_verdicts() {
    let known = MIX.map(|(id, verdict)| (id.to_owned(), verdict));
    assert_eq!(verdicts(&["study", "mix/parents", "--json", "--quiet"]), known);
}

#[test]
#[ignore = "make soak"]
fn the_claims_about_drives_of_today_have_their_known_verdicts() {
    let known = TODAY.map(|(id, verdict)| (id.to_owned(), verdict));
    assert_eq!(verdicts(&["reproduce", "today", "--json", "--quiet"]), known);
}

#[test]
fn the_claims_of_chang_have_their_known_verdicts() {
    let known = CHANG.map(|(id, verdict)| (id.to_owned(), verdict));
    assert_eq!(verdicts(&["study", "chang/model", "--json", "--quiet"]), known);
}

#[test]
fn a_trace_under_a_study_is_compared_with_its_baseline() {
    let place = tempfile::tempdir().expect("a directory");
    let trace = place.path().join("t.trace");
    // Every second write is an update: 4 KiB each, all over a MiB.
    let line = |i: u64| format!("{}.0 0 {} 8 0\n", i * 5, i * 7 % 128 * 16);
    fs::write(&trace, (0..1_500).map(line).collect::<String>()).expect("written");
    let output =
        flashloom(&["study", "sung/traces", "--workload", &trace.display().to_string(), "--quiet", "--verify"]);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(printed.contains("less by") && !printed.contains("PCMark") && printed.contains("idle"), "{printed}");
    let own = printed.lines().filter(|line| line.contains(" same ") && line.ends_with(" 0.00%"));
    assert_eq!(own.count(), 2, "the baseline of the comparison: {printed}");
}

/// The sizes of this trace may be sectors or pages: eight sectors, or eight pages.
#[test]
fn a_comparison_takes_the_unit_of_sizes_of_a_trace() {
    let place = tempfile::tempdir().expect("a directory");
    let trace = place.path().join("t.trace");
    let lines = (0..60_u64).map(|i| format!("{}.0 0 {} 8 1\n", i * 5, i * 64)).collect::<String>();
    fs::write(&trace, lines).expect("written");
    let compare = |more: &[&str]| {
        let trace = trace.display().to_string();
        let output =
            flashloom(&[&["compare", &trace, "demo", "--json", "--quiet", "--precondition", "none"], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        json["rows"][0]["runs"][0]["kinds"]["read"]["bytes"].as_u64().expect("bytes")
    };
    assert_eq!(compare(&[]), 60 * 8 * 512);
    assert_eq!(compare(&["--format", "disksim-pages"]), 60 * 8 * 4096);
}

#[test]
fn every_builtin_study_is_listed_and_in_its_folder() {
    let listed = text(&flashloom(&["studies"]).stdout);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut files = Vec::new();
    for paper in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        for file in fs::read_dir(&paper).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let part = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
            files.push(format!("{}/{}", part(&paper), part(&file)));
        }
    }
    files.sort();
    assert_eq!(names, files);
    for name in names {
        let printed = text(&flashloom(&["studies", name]).stdout);
        assert!(printed.contains(&format!("name = \"{name}\"")), "{name}");
    }
}

const STUDY: &str = r#"name = "mine"
device = "d.toml"
workload = "w.toml"
metrics = ["read.mean"]
[[axis]]
name = "banks"
key = "device.flash.chips"
values = [1, 2]
[[claim]]
id = "M1"
says = "two banks are slower"
[[claim.expect]]
metric = "mean"
monotonic = { along = "banks", direction = "rises" }
"#;

const DEVICE: &str = r#"name = "d"
[flash]
part = "dirik-2009"
channels = 1
chips = 1
size = "64MiB"
[ftl]
over-provisioning = "20%"
"#;

const WORKLOAD: &str = r#"name = "w"
requests = 200
arrivals = { kind = "closed", depth = 8 }
[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

fn place(study: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for (name, text) in [("s.toml", study), ("d.toml", DEVICE), ("w.toml", WORKLOAD)] {
        fs::write(place.path().join(name), text).expect("written");
    }
    place
}

#[test]
fn a_study_from_a_file_runs_and_its_failing_claim_is_reported() {
    let place = place(STUDY);
    let path = place.path().join("s.toml").display().to_string();
    let out = place.path().join("out").display().to_string();
    let output = flashloom(&["study", &path, "--out", &out, "--jobs", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "claims that fail without a stated reason: M1\n");
    let printed = text(&output.stdout);
    for wanted in ["banks   read.mean", "FAILS", "1 claim: 0 hold, 1 FAIL", "two banks are slower"] {
        assert!(printed.contains(wanted), "{wanted}: {printed}");
    }
    assert!(place.path().join("out/study.json").is_file() && place.path().join("out/mine.parquet").is_file());
    // A second run replaces the result.
    assert_eq!(flashloom(&["study", &path, "--out", &out, "--quiet"]).status.code(), Some(1));
}

#[test]
fn a_stated_reason_that_is_out_of_date_exits_with_1() {
    let falls = STUDY.replace("\"rises\"", "\"falls\"");
    let place = place(&format!("{falls}known = \"banks did harm yesterday\"\n"));
    let path = place.path().join("s.toml").display().to_string();
    let output = flashloom(&["study", &path, "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "claims whose stated reason is out of date: M1\n");
    let printed = text(&output.stdout);
    for wanted in ["STALE", "1 are STALE", "it holds, but the study has a reason why it does not"] {
        assert!(printed.contains(wanted), "{wanted}: {printed}");
    }
}

#[test]
fn faults_of_a_study_are_reported_before_any_run() {
    let study = STUDY.replace("chips\"", "chipz\"").replace("read.mean", "read.median");
    let place = place(&study);
    let path = place.path().join("s.toml").display().to_string();
    let out = place.path().join("out");
    let output = flashloom(&["study", &path, "--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("s.toml:4: metrics[0]: `read.median` is not a metric"));
    assert!(!out.exists());
    fs::write(&path, STUDY.replace("chips\"", "chipz\"")).expect("written");
    let said = text(&flashloom(&["study", &path]).stderr);
    assert!(
        said.contains("s.toml:8: axis[0].values[0]: at banks=1, sets flash.chipz of ")
            && said.contains(": is not a known key; did you mean `chips`?"),
        "{said}"
    );
    for (arguments, wanted) in [
        (&["study", "no-such-study"][..], "no-such-study: is neither a file nor a study that comes with Flashloom"),
        (&["study", "fmmu/traces", "--workload", "no-such-trace.csv"], "no-such-trace.csv"),
        (
            &["reproduce", "einstein"],
            "there are no studies of `einstein`; choose one of all, chang, dirik, fmmu, hydra, mix, sung",
        ),
        (&["studies", "einstein"], "there is no study `einstein`; `flashloom studies` lists them"),
    ] {
        let output = flashloom(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(wanted), "{}", text(&output.stderr));
    }
}
