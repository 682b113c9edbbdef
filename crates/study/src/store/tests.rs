//! Tests of a store on files, filled by real runs.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;
use testkit::small::STUDY;

use super::*;
use crate::config::Document;
use crate::execute::{self, Program, ResultStore, StudyOutcome};
use crate::plan::Plan;
use crate::testing::{DEVICES, described};

/// A store in a folder of its own, with the warnings about it.
struct TestStore {
    folder: TempDir,
    store: Store,
    said: Mutex<Vec<String>>,
}

impl TestStore {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let store = Store::open(&folder.path().join("store")).expect("writable");
        Self { folder, store, said: Mutex::default() }
    }

    fn run(&self, text: &str) -> StudyOutcome {
        let warn = |said: &dyn Display| self.said.lock().expect("no panic").push(said.to_string());
        let result_store = ResultStore::new(&self.store, &warn);
        execute::run_in(self.plan(text), &program(), NonZeroUsize::new(2), Some(&result_store), &|_, _| {})
            .expect("it runs")
    }

    fn plan(&self, text: &str) -> Plan {
        let document = Document::parse(&self.folder.path().join("s.toml"), text.to_owned()).expect("TOML");
        Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"))
    }

    fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().expect("no panic"))
    }

    /// The files of the results and of the states, with their bytes.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut points: Vec<PathBuf> = self.store.contents().points.into_iter().map(|point| point.path).collect();
        points.extend(states::states(&self.store.folder).into_iter().map(|state| state.path));
        points.sort();
        points.into_iter().map(|path| (path.clone(), fs::read(path).expect("there"))).collect()
    }
}

/// The number of states of [`DEVICES`] after a fill: two devices differ only in their map units, and share one.
const KEPT: usize = DEVICES.len() - 1;

fn program() -> Program {
    Program { version: "1.2.3".into(), commit: "abc".into() }
}

fn plain(plan: Plan) -> StudyOutcome {
    execute::run(plan, &program(), None, &|_, _| {}).expect("it runs")
}

/// The differences between the numbers of two outcomes, in words.
fn differences(found: &StudyOutcome, wanted: &StudyOutcome) -> Vec<String> {
    fn walk(at: &str, [a, b]: [&Value; 2], into: &mut Vec<String>) {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
                a.iter().for_each(|(key, value)| walk(&format!("{at}/{key}"), [value, &b[key]], into));
            }
            (a, b) if a != b => into.push(format!("{at}: {a} is not {b}")),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for (point, [a, b]) in found.runs.iter().zip(&wanted.runs).map(|(a, b)| [a, b]).enumerate() {
        let labels: Vec<&str> = found.labels(point).iter().map(crate::plan::Label::as_str).collect();
        let [a, b] =
            [a, b].map(|runs| Value::Array(runs.iter().map(|run| serde_json::to_value(run).expect("JSON")).collect()));
        let runs = [&a, &b].map(|runs| runs.as_array().expect("runs"));
        runs[0].iter().zip(runs[1]).for_each(|(a, b)| walk(&labels.join(" "), [a, b], &mut all));
    }
    assert_eq!(found.runs == wanted.runs, all.is_empty(), "JSON has every number");
    all
}

/// A study with every family under a mixed load, at two depths, both of which share the state of their drive.
fn families(place: &TestStore, run: &str) -> String {
    let points = DEVICES.map(|device| {
        fs::write(place.folder.path().join(format!("{}.toml", device.0)), described(device)).expect("written");
        format!("[[axis.point]]\nat = \"{0}\"\ndevice = \"{0}.toml\"\n", device.0)
    });
    fs::write(
        place.folder.path().join("w.toml"),
        "name = \"w\"\nrequests = 400\narrivals = { kind = \"closed\", depth = 2 }\n[[stream]]\nreads = \"50%\"\n\
         discards = \"5%\"\nsizes = [{ size = \"2KiB..8KiB\" }]\naddress = { pattern = \"uniform\" }\nflush = { every = 50 }\n",
    )
    .expect("written");
    format!(
        "name = \"families\"\ndevice = \"page.toml\"\nworkload = \"w.toml\"\n[run]\n{run}\n\
         [[axis]]\nname = \"family\"\n{}[[axis]]\nname = \"depth\"\nkey = \"run.depth\"\nvalues = [1, 4]\n",
        points.concat()
    )
}

#[test]
fn results_of_every_family_are_read_back_exactly_and_states_change_none() {
    let place = TestStore::new();
    for run in [
        "precondition = [\"fill\", \"random:x0.5\"]\nverify = true\nexplain = true",
        "precondition = [\"fill\", \"random:x0.5\"]\nwarm-up = 50",
    ] {
        let text = families(&place, run);
        let alone = plain(place.plan(&text));
        let first = place.run(&text);
        assert_eq!((first.stored, differences(&first, &alone)), (0, Vec::new()), "a loaded state changes no result");
        let second = place.run(&text);
        assert_eq!(
            (second.stored, differences(&second, &alone)),
            (DEVICES.len() * 2, Vec::new()),
            "every number is read back"
        );
        assert_eq!(place.said(), [""; 0]);
    }
    // Verification does not change the state, so it adds none.
    assert_eq!(place.store.contents().states, KEPT);
    for (path, _) in place.files() {
        if path.extension().is_some_and(|extension| extension == "parquet") {
            row::tests::check_columns(&path);
        }
    }
}

/// A mount of a drive with a cached map that was overwritten writes translation pages, which leave an open superblock.
/// The shared state is that before the mount, unless the mount would draw faults.
#[test]
fn a_state_is_not_shared_if_a_loaded_drive_would_differ() {
    for (map, gc, program_failures, shared) in [
        ("fmmu", "shared-log = true", "0%", true),
        ("fmmu", "start = 2", "0%", true),
        ("dftl", "start = 2", "0%", true),
        ("dftl", "start = 2", "0.01%", false),
        ("ram", "shared-log = true", "0%", true),
        ("ram", "shared-log = true", "0.01%", true),
    ] {
        let place = TestStore::new();
        let device = format!(
            "name = \"d\"\nflash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 40, pages = 16, \
             faults = {{ program-failures = \"{program_failures}\" }} }}\n\
             ftl = {{ map-unit = \"1KiB\", over-provisioning = \"50%\", map = {{ kind = \"{map}\" }}, gc = {{ {gc} }} }}"
        );
        fs::write(place.folder.path().join("d.toml"), device).expect("written");
        let text = "name = \"s\"\ndevice = \"d.toml\"\nworkload = \"random-write-4k\"\nmetrics = [\"simulated\"]\n\
                    run = { precondition = [\"fill\", \"random:x1.0\"], limit = 200 }\n\
                    [[axis]]\nname = \"depth\"\nkey = \"run.depth\"\nvalues = [1, 2, 4]";
        let found = place.run(text);
        let case = format!("{map} {gc} {program_failures}");
        assert_eq!(differences(&found, &plain(place.plan(text))), Vec::<String>::new(), "{case}");
        assert_eq!(states::states(&place.store.folder).len(), usize::from(shared), "{case}");
        assert_eq!(place.said(), Vec::<String>::new());
    }
}

/// For each key that preconditioning does not depend on: a drive and two values.
const UNSEEN: [(&str, &str, [&str; 2]); 27] = [
    ("name", "", ["'a'", "'b'"]),
    ("description", "", ["'a'", "'b'"]),
    ("host.link", "", ["'none'", "'ata-100'"]),
    ("host.queue-depth", "", ["1", "32"]),
    ("host.chop", "", ["'2KiB'", "'8KiB'"]),
    ("ram", "", ["{ rate = '100MB/s', look-up = '64B' }", "{ rate = '1GB/s', look-up = '128B' }"]),
    ("buffer.low", "buffer.size = '64KiB'", ["'10%'", "'20%'"]),
    ("buffer.high", "buffer.size = '64KiB'", ["'80%'", "'90%'"]),
    ("buffer.max-superblocks", SUPERBLOCKS, ["2", "3"]),
    ("flash.width", "", ["8", "16"]),
    ("flash.lane-rate", "", ["'20MB/s'", "'33MB/s'"]),
    ("flash.arbitration", "", ["{ commands = 'fifo' }", "{ commands = 'read-first', bus = 'read-first' }"]),
    ("flash.custom-part.name", "", ["'a'", "'b'"]),
    ("flash.custom-part.source", "", ["'a'", "'b'"]),
    ("flash.custom-part.bus", "", ["{ rate = '20MB/s' }", "{ rate = '40MB/s', transfer_spare = false }"]),
    ("flash.custom-part.electrical", "", ["{ read_current = '15mA' }", "{ read_current = '25mA' }"]),
    ("slc.lane-rate", SLC, ["'20MB/s'", "'33MB/s'"]),
    ("slc.custom-part.name", SLC, ["'a'", "'b'"]),
    ("slc.custom-part.source", SLC, ["'a'", "'b'"]),
    ("slc.custom-part.bus", SLC, ["{ rate = '20MB/s' }", "{ rate = '40MB/s' }"]),
    ("slc.custom-part.electrical", SLC, ["{ read_current = '15mA' }", "{ read_current = '25mA' }"]),
    ("power", "", ["{ controller = { active = '2W' } }", "{ controller = { active = '3W' } }"]),
    ("ftl.map.costs", "ftl.map-unit = '1KiB'\nftl.map.kind = 'cdftl'\nftl.map.cores = 2", ["'ideal'", "'published'"]),
    ("ftl.map.service", "ftl.map-unit = '1KiB'\nftl.map.kind = 'uncached'", ["'1us'", "'300us'"]),
    (
        "ftl.hydra.processor",
        "ftl.kind = 'hydra'\nftl.hydra.chips = 1",
        ["{ mhz = 20 }", "{ mhz = 200, synthesizer = false }"],
    ),
    ("ftl.chang.density.read", DENSITY, ["'30us'", "'60us'"]),
    ("ftl.chang.density.program", DENSITY, ["'200us'", "'800us'"]),
];

const SUPERBLOCKS: &str =
    "ftl.kind = 'hydra'\nftl.hydra.chips = 1\nbuffer.size = '64KiB'\nbuffer.policy = 'superblock'";
const SLC: &str = "ftl.kind = 'chang'\nslc.part = 'K9K8G08U0M'\nslc.blocks = 8\nslc.pages = 8";
const DENSITY: &str = "ftl.kind = 'chang'\nftl.chang.density.extra = '64KiB'\nftl.chang.density.rank-every = 100";

#[test]
fn a_state_serves_drives_that_differ_in_what_preconditioning_does_not_see() {
    assert_eq!(UNSEEN.map(|(key, ..)| key), ssd::UNSEEN_KEYS);
    for (key, like, values) in UNSEEN {
        assert_eq!(states_of_two((key, like, values), "'fill', 'random:x1.0'"), 1, "{key}");
    }
}

/// For each key that preconditioning of a family, or its fill, does not depend on: a drive and two values.
const UNSEEN_IN_FAMILY: [(&str, &str, [&str; 2]); 13] = [
    ("flash.controllers", "", ["'none'", "'per-die'"]),
    ("ftl.map", "ftl.map-unit = '1KiB'", ["{ kind = 'cdftl', cores = 2 }", "{ kind = 'fmmu' }"]),
    ("slc", CHANG, [SMALL_SLC, "{ part = 'dirik-2009', blocks = 20, pages = 16 }"]),
    ("ftl.chang.threshold", WHOLE, ["'partition'", "'alternation'"]),
    ("ftl.chang.recluster-every", WHOLE, ["2", "300"]),
    ("ftl.chang.hash-entries", WHOLE, ["16", "128"]),
    ("ftl.chang.probing", WHOLE, ["'linear'", "'quadratic'"]),
    ("ftl.chang.probes", WHOLE, ["1", "8"]),
    ("ftl.chang.throttle", WHOLE, ["false", "true"]),
    ("ftl.chang.throttle-step", WHOLE, ["1", "2"]),
    ("ftl.chang.throttle-every", WHOLE, ["2", "9"]),
    ("ftl.chang.copy-back", WHOLE, ["false", "true"]),
    ("ftl.chang.safety-valve", WHOLE, ["'50%'", "'90%'"]),
];

const CHANG: &str = "ftl.kind = 'chang'\nftl.capacity = '2MiB'";
const WHOLE: &str = "ftl.kind = 'chang'\nftl.capacity = '2MiB'\nslc.part = 'K9K8G08U0M'\nslc.blocks = 8\nslc.pages = 8";
const SMALL_SLC: &str = "{ part = 'K9K8G08U0M', blocks = 8, pages = 8 }";

#[test]
fn a_fill_serves_drives_that_differ_in_what_it_does_not_see() {
    for case in UNSEEN_IN_FAMILY {
        assert_eq!(states_of_two(case, "'fill'"), 1, "{case:?}");
    }
    // The last request may be a small write, if it has only a part of a block.
    let with_rest = "ftl.kind = 'chang'\nftl.capacity = '2052KiB'";
    assert_eq!(states_of_two(("slc", with_rest, UNSEEN_IN_FAMILY[2].2), "'fill'"), 0, "each has its own");
    // A block of two pages of 2 KiB is a small write.
    let small_blocks = "ftl.kind = 'chang'\nftl.capacity = '256KiB'\nflash.pages = 2";
    assert_eq!(states_of_two(("slc", small_blocks, UNSEEN_IN_FAMILY[2].2), "'fill'"), 0, "each has its own");
    let maps = ["{ kind = 'cdftl', cores = 2 }", "{ kind = 'fmmu' }"];
    assert_eq!(states_of_two(("ftl.map", "ftl.map-unit = '1KiB'", maps), "'fill', 'random:x1.0'"), 1);
    let other_format = [maps[0], "{ kind = 'table' }"];
    assert_eq!(states_of_two(("ftl.map", "ftl.map-unit = '1KiB'", other_format), "'fill'"), 0);
    let of_hydra = "ftl.kind = 'hydra'\nftl.hydra.chips = 1";
    assert_eq!(states_of_two(("flash.controllers", of_hydra, ["{ shared = 2 }", "{ shared = 4 }"]), "'fill'"), 0);
}

/// Runs two drives that differ in a key, and compares the results with those without a store. Returns the number of
/// states that they shared.
fn states_of_two((key, like, [one, other]): (&str, &str, [&str; 2]), steps: &str) -> usize {
    let place = TestStore::new();
    let spare = if like.contains("ftl.capacity") { "" } else { "ftl.over-provisioning = '60%'\n" };
    let pages = if like.contains("flash.pages") { "" } else { "flash.pages = 16\n" };
    let device = format!(
        "name = 'd'\nflash.part = 'K9K8G08U0M'\nflash.channels = 2\nflash.chips = 2\nflash.planes = 1\n\
         flash.blocks = 40\n{pages}{spare}{like}\n"
    );
    for (name, value) in [("one.toml", one), ("other.toml", other)] {
        let replaced: String =
            device.lines().filter(|line| !line.starts_with(&format!("{key} "))).collect::<Vec<_>>().join("\n");
        fs::write(place.folder.path().join(name), format!("{replaced}\n{key} = {value}\n")).expect("written");
    }
    let text = format!(
        "name = 's'\ndevice = 'one.toml'\nworkload = 'random-write-4k'\nmetrics = ['simulated']\n\
         run = {{ precondition = [{steps}], limit = 100 }}\n\
         [[axis]]\nname = 'drive'\npoint = [{{ at = 'one', device = 'one.toml' }}, {{ at = 'other', device = 'other.toml' }}]"
    );
    let found = place.run(&text);
    assert_eq!(place.said(), Vec::<String>::new(), "{key}");
    assert_eq!(differences(&found, &plain(place.plan(&text))), Vec::<String>::new(), "{key}");
    states::states(&place.store.folder).len()
}

#[test]
fn a_state_that_a_later_study_needs_is_kept_by_the_first() {
    let place = TestStore::new();
    let device = "name = 'd'\nflash = { part = 'dirik-2009', channels = 1, chips = 2, blocks = 40, pages = 64 }\n\
                  ftl = { over-provisioning = '50%' }";
    fs::write(place.folder.path().join("d.toml"), device).expect("written");
    let plan = |requests: u32, step: &str| {
        place.plan(&format!(
            "name = 's'\ndevice = 'd.toml'\nworkload = 'random-write-4k'\nmetrics = ['simulated']\n\
             run = {{ precondition = [{step}], limit = {requests} }}"
        ))
    };
    let plans = [plan(10, "'fill'"), plan(20, "'fill'"), plan(10, "'fill', 'random:x0.5'")];
    let shared = execute::shared_states(&plans);
    assert_eq!((shared.len(), execute::shared_states(&plans[..1]).len()), (1, 0));
    let result_store = ResultStore::new(&place.store, &|said| panic!("{said}")).keeping(&shared);
    for plan in plans {
        execute::run_in(plan, &program(), None, Some(&result_store), &|_, _| {}).expect("it runs");
        assert_eq!(states::states(&place.store.folder).len(), 1, "the first run keeps it, and the last has its own");
    }
}

#[test]
fn a_state_is_not_kept_if_it_is_made_faster_than_loaded() {
    for (step, kept) in [("preload:64KiB:256KiB", 0), ("preload:64KiB:4MiB", 1), ("fill", 1), ("random:x0.1", 0)] {
        let place = TestStore::new();
        let text = format!(
            "name = \"s\"\ndevice = \"d.toml\"\nworkload = \"random-write-4k\"\nmetrics = [\"simulated\"]\n\
             run = {{ precondition = [\"{step}\"], limit = 20 }}\n\
             [[axis]]\nname = \"depth\"\nkey = \"run.depth\"\nvalues = [1, 2]"
        );
        let device = "name = \"d\"\nflash = { part = \"dirik-2009\", channels = 1, chips = 2, blocks = 40, pages = 64 }\n\
                      ftl = { over-provisioning = \"50%\" }";
        fs::write(place.folder.path().join("d.toml"), device).expect("written");
        place.run(&text);
        assert_eq!(states::states(&place.store.folder).len(), kept, "{step}");
    }
}

#[test]
fn a_state_that_is_damaged_is_made_again() {
    let place = TestStore::new();
    let text = families(&place, "precondition = [\"fill\"]");
    let first = place.run(&text);
    for point in place.store.contents().points {
        fs::remove_file(point.path).expect("removed");
    }
    for (i, state) in states::states(&place.store.folder).into_iter().enumerate() {
        let bytes = fs::read(&state.path).expect("read");
        let left = if i % 2 == 0 { &bytes[..bytes.len() / 2] } else { b"a few words of somebody else, no state" };
        fs::write(state.path, left).expect("written");
    }
    let second = place.run(&text);
    assert_eq!((second.stored, differences(&second, &first)), (0, Vec::new()));
    let said = place.said();
    let with = |reason: &str| {
        let end = format!(".state: {reason}; the run preconditions its drive itself");
        said.iter().filter(|said| said.ends_with(&end)).count()
    };
    let (damaged, foreign) =
        (with("is damaged: it was cut short or changed"), with("is not a snapshot of a flash array"));
    assert!(damaged > 0 && foreign > 0 && damaged + foreign == said.len(), "{said:?}");
    assert!(said.len() >= KEPT, "{said:?}");
}

#[test]
fn only_missing_and_damaged_results_are_made_again_and_files_are_equal() {
    let place = TestStore::new();
    let first = place.run(STUDY);
    let files = place.files();
    // Three points with two seeds each; no two have one state.
    assert_eq!((first.stored, files.len()), (0, 6));
    fs::write(&files[1].0, "half").expect("written");
    fs::write(&files[2].0, &files[3].1).expect("written");
    // Changes a byte of the compressed summary, which is the last text.
    let mut changed = files[4].1.clone();
    let magic = changed.windows(4).rposition(|bytes| bytes == [0x28, 0xB5, 0x2F, 0xFD]).expect("zstd");
    changed[magic + 200] ^= 1;
    fs::write(&files[4].0, &changed).expect("written");
    fs::remove_file(&files[5].0).expect("removed");
    let second = place.run(STUDY);
    assert_eq!((second.stored, differences(&second, &first)), (2, Vec::new()), "{:?}", place.said());
    assert_eq!(place.files(), files, "byte for byte");
    let said = place.said();
    assert_eq!(said.len(), 3, "{said:?}");
    let with = |text: &str| said.iter().filter(|said| said.contains(text)).count();
    assert_eq!([with(" is damaged"), with(" is the result of another run")], [2, 1], "{said:?}");
    assert!(said.iter().all(|said| said.ends_with("; its run is done again and replaces it")), "{said:?}");
}

#[test]
fn a_key_has_all_that_determines_a_result_and_nothing_else() {
    let place = TestStore::new();
    fs::create_dir(place.folder.path().join("elsewhere")).expect("made");
    let trace = |name: &str, text: &str| fs::write(place.folder.path().join(name), text).expect("written");
    trace("t.csv", "128166372003061629,hm,0,Read,0,4096,100\n");
    trace("elsewhere/t.csv", "128166372003061629,hm,0,Read,0,4096,100\n");
    trace("u.csv", "128166372003061629,hm,0,Read,0,4096,100\n");
    let digest = |more: &str, workload: &str, seed: u64| {
        let text = format!("name = \"s\"\ndevice = \"demo\"\nworkload = \"{workload}\"\n{more}\n");
        let plan = place.plan(&text);
        Key::of(&plan.points[0], seed, &mut Digests::default()).unwrap_or_else(|error| panic!("{error}")).digest()
    };
    let base = digest("", "oltp", 1);
    assert_eq!(base, digest("metrics = [\"read.p99\"]", "oltp", 1), "what a study shows");
    assert_eq!(base, digest("run = { extent = \"wrap\" }", "oltp", 1), "how to read a trace, without one");
    let changes = ["flash = { channels = 8 }", "host = { queue-depth = 7 }", "name = \"other\""];
    let mut all: Vec<Digest> =
        changes.iter().map(|change| digest(&format!("set.device = {{ {change} }}"), "oltp", 1)).collect();
    let runs =
        ["limit = 7", "depth = 3", "verify = true", "explain = true", "precondition = [\"fill\"]", "warm-up = 9"];
    all.extend(runs.iter().map(|change| digest(&format!("run = {{ {change} }}"), "oltp", 1)));
    all.extend([
        base,
        digest("", "oltp", 2),
        digest("", "mixed-70-30-4k", 1),
        digest("set.workload = { requests = 9 }", "oltp", 1),
    ]);
    let recorded = digest("", "t.csv", 1);
    assert_eq!(recorded, digest("", "elsewhere/t.csv", 1), "where a trace lies");
    all.extend([recorded, digest("", "u.csv", 1), digest("run = { extent = \"wrap\" }", "t.csv", 1)]);
    trace("t.csv", "128166372003061629,hm,0,Read,512,4096,100\n");
    all.push(digest("", "t.csv", 1));
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "each has its own digest");
}

#[test]
fn the_run_of_a_key_can_be_done_again_from_its_text() {
    let place = TestStore::new();
    let trace = place.folder.path().join("t.csv");
    fs::write(&trace, "128166372003061629,hm,0,Read,0,4096,100\n128166372003062629,hm,0,Write,8192,4096,100\n")
        .expect("written");
    for (workload, more) in
        [("oltp", "limit = 100, verify = true"), ("t.csv", "precondition = [\"fill\"]"), ("database.fio", "limit = 50")]
    {
        let text = format!(
            "name = \"s\"\ndevice = \"demo\"\nworkload = \"{workload}\"\nseeds = [18446744073709551615]\nrun = {{ {more} }}\n\
             set.device = {{ flash = {{ blocks = 26 }}, ftl = {{ capacity = \"100MiB\" }} }}\n"
        )
        .replace("18446744073709551615", "7");
        let outcome = place.run(&text);
        let [point] = &place.store.contents().points[..] else { panic!("one point") };
        let row = place.store.row(point.digest).expect("sound").expect("there");
        let key = Key::parse(&row.key.json()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((key.digest(), &key), (point.digest, &row.key));
        let again = execute::point(&key, &program()).unwrap_or_else(|error| panic!("{workload}: {error}"));
        assert_eq!(again, outcome.runs[0][0], "{workload}");
        fs::remove_file(&point.path).expect("removed");
        if workload == "t.csv" {
            fs::write(&trace, "128166372003061629,hm,0,Read,512,4096,100\n").expect("written");
            let refused = execute::point(&key, &program()).expect_err("another trace").to_string();
            assert!(
                refused.contains("t.csv: is not the file of the key") && refused.contains("put that file"),
                "{refused}"
            );
        }
    }
}

#[test]
fn keys_that_cannot_be_used_are_refused() {
    let place = TestStore::new();
    place.run("name = \"s\"\ndevice = \"demo\"\nworkload = \"oltp\"\nrun = { limit = 5 }\n");
    let key = place.store.row(place.store.contents().points[0].digest).expect("sound").expect("there").key;
    let text = key.json();
    for (from, to, wanted) in [
        (SCHEMA, "flashloom-key-9", "is a key of the form \"flashloom-key-9\""),
        (&*format!("\"model\": {MODEL}"), "\"model\": 99", "is a key for version 99 of the model"),
        ("\"seed\": 0", "\"sead\": 0", "is not a key: "),
        ("\"limit\": 5", "\"limit\": 5, \"extent\": \"clip\"", "`clip` is not a rule"),
        ("\"channels\": ", "\"chanels\": ", "chanels"),
        ("\"described\"", "\"recorded\"", "is not a key: "),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let refused = match Key::parse(&changed) {
            Err(error) => error.to_string(),
            Ok(key) => execute::point(&key, &program()).expect_err(to).to_string(),
        };
        assert!(refused.contains(wanted), "{refused}");
    }
}

#[test]
fn a_store_is_cleared_by_age_by_size_and_of_files_that_are_not_used() {
    let place = TestStore::new();
    let text = families(&place, "precondition = [\"fill\"]");
    place.run(&text);
    let before = place.store.contents();
    assert_eq!((before.points.len(), before.states), (DEVICES.len() * 2, KEPT));
    let nothing = place.store.discard(Discard {
        unusable: true,
        older: Some(std::time::Duration::from_secs(3600)),
        beyond: None,
    });
    assert_eq!(nothing, RemovedFiles::default());
    // A file of a program that was killed, and a damaged one.
    fs::write(before.points[0].path.with_file_name(".flashloom-1-0.part"), "half").expect("written");
    fs::write(&before.points[1].path, "half").expect("written");
    fs::write(before.points[0].path.with_file_name("notes.txt"), "mine").expect("written");
    let removed = place.store.discard(Discard { unusable: true, ..Discard::default() });
    assert_eq!(removed, RemovedFiles { points: 1, states: 0, leftovers: 1, bytes: 8 });
    let keep = place.store.contents();
    let newest = keep.points[0].bytes;
    let _ = place
        .store
        .discard(Discard { beyond: Some(Bytes::new(keep.point_bytes() + keep.state_bytes - 1)), ..Discard::default() });
    let after = place.store.contents();
    assert_eq!(after.points.len() + after.states, keep.points.len() + keep.states - 1, "the oldest goes first");
    assert!(newest > 0 && after.points.contains(&keep.points[0]));
    let all = place.store.discard(Discard { older: Some(std::time::Duration::ZERO), ..Discard::default() });
    assert_eq!((all.points, all.states), (after.points.len() as u64, after.states as u64));
    assert!(before.points[0].path.with_file_name("notes.txt").exists(), "files of others stay");
}

#[test]
fn states_that_were_used_last_are_kept_up_to_the_limit() {
    let place = TestStore::new();
    let put = |name: &str| {
        let digest = Digest::of(name.as_bytes());
        place.store.put_state(digest, |out| out.write_all(&[0; 1000])).expect("written");
        digest
    };
    let age = |digest: Digest, seconds: u64| {
        let file = File::options().append(true).open(place.store.folder.join(STATES).join(format!("{digest}.state")));
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        file.expect("there").set_modified(time).expect("set");
    };
    let [a, b, c] = ["a", "b", "c"].map(put);
    age(a, 1);
    age(b, 2);
    age(c, 3);
    assert!(place.store.state(a).is_some(), "used now");
    let small = place.store.clone().limit(Bytes::new(3000));
    small.put_state(Digest::of(b"d"), |out| out.write_all(&[0; 1000])).expect("written");
    let there = [a, b, c].map(|digest| place.store.state(digest).is_some());
    assert_eq!(there, [true, false, true]);
}

#[test]
fn a_merge_takes_studies_and_times_and_leaves_results_of_other_versions() {
    let (from, into) = (TestStore::new(), TestStore::new());
    from.run(STUDY);
    let points = from.store.contents().points;
    let Row { mut key, summary } = from.store.row(points[0].digest).expect("sound").expect("there");
    key.model = MODEL + 1;
    from.store.keep(&from.store.path(key.digest()), &row::write(&key, &summary)).expect("written");
    let merge = || {
        let mut merged = MergeReport::default();
        into.store.merge(&from.store, &mut merged).expect("writable");
        let left: Vec<String> = merged.left.iter().map(ToString::to_string).collect();
        assert!(left.len() == 1 && left[0].ends_with(": is a result of another version of Flashloom"), "{left:?}");
        (merged.taken, merged.there)
    };
    let count = points.len() as u64;
    assert_eq!(merge(), (count, 0));
    assert_eq!(into.store.studies(), from.store.studies());
    let times = |place: &TestStore| fs::read_to_string(place.store.folder.join("timings.jsonl")).expect("there");
    assert_eq!(times(&into).lines().count(), points.len());
    let before = (into.files(), times(&into));
    assert_eq!(merge(), (0, count));
    assert_eq!((into.files(), times(&into)), before, "a second merge changes nothing");
    assert!(into.store.path(points[0].digest).is_file() && !into.store.path(key.digest()).exists());
    // The study finds all of its results, so no time is recorded.
    let outcome = into.run(STUDY);
    assert_eq!((outcome.stored, times(&into)), (points.len(), before.1));
    assert!(into.store.is_same(&into.store.clone()) && !into.store.is_same(&from.store));
}

#[test]
fn every_flipped_bit_of_a_result_is_noticed() {
    let place = TestStore::new();
    place.run(STUDY);
    let digest = place.store.contents().points[0].digest;
    let Row { key, summary } = place.store.row(digest).expect("sound").expect("there");
    let bytes = Row::bytes(&key, &summary);
    assert_eq!(bytes, fs::read(place.store.path(digest)).expect("there"));
    assert_eq!(Row::parse(bytes.clone()).expect("sound").summary, summary);
    let unnoticed = |at: &usize| {
        let mut bytes = bytes.clone();
        bytes[*at] ^= 1 << (at % 8);
        Row::parse(bytes).is_ok()
    };
    let step = (bytes.len() / 400).max(1) | 1;
    let missed: Vec<usize> = (0..bytes.len()).step_by(step).filter(unnoticed).collect();
    assert!(missed.is_empty(), "{} of {}: {missed:?}", missed.len(), bytes.len() / step);
}
