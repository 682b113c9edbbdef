//! Tests that the version of the model changes whenever a run may have another result.
//!
//! A store of results keeps them for years under a key with that version, so results of another model must have another
//! key.

use std::path::Path;

use study::catalogue::{self, Device, WorkloadFile};
use study::session::{Session, Stop};
use study::store::{Digest, MODEL};
use study::summary::Summary;
use workload::trace::TraceOptions;

use super::reference::{RUNS, ReferenceLine};

/// Each version of the model: the digest of the reference table, and the digest of the results of small runs.
const VERSIONS: [(u32, &str, &str); 15] = [
    (
        1,
        "71e37885e0d285732e2c73cb0b23ab84a15c8eecf6176c3567a373a684d72818",
        "623cbdfbcf97be22c6799f0877b03ef00219bc08d4ec7eac67d6a42ee10e13cf",
    ),
    // Erase counts of SLC/MLC drives by ranges of blocks; an overload by the growth of its backlog.
    (
        2,
        "71e37885e0d285732e2c73cb0b23ab84a15c8eecf6176c3567a373a684d72818",
        "0796f5d7eb076a2fe9c95881c76bb65f3a65f28314c589b9a5c8bce573a3f88d",
    ),
    // Event hashes are sums; DFTL and CDFTL test one block of the cache in 21 cycles.
    (
        3,
        "e68d1876f27f89963af82e31cfb0488ac353bd58a2a37d50cd92535afb43e10f",
        "8f4d9f60d54e0341411eb03665a6432cdcc8c80a79ffc2fb262cc251a78e84e9",
    ),
    // A copy-back that follows another on its die takes over the place of its end in the order of events.
    (
        4,
        "e4aed683ecfded23c2c4ad569d5664d6a56b93826e2f0d9db5e54a0d9c9c4708",
        "8f4d9f60d54e0341411eb03665a6432cdcc8c80a79ffc2fb262cc251a78e84e9",
    ),
    // Map units take no time while time is off, and preconditioned drives begin at the time at which preconditioning began.
    (
        5,
        "3f93f5d521e5dbb7acf37cb397bdf07e6224684535820212e7b498fedea37f6e",
        "24dd6a37581ab507ce87cea1a0deba761e445cb1ca932465522ef96ddbf51181",
    ),
    // Preconditioning stores each translation page once, at its end, whatever the map unit.
    (
        6,
        "5b4cedf97c2a482a04b0d2c8663d64ec899773cbf6cb540fc2946ff13f3dad0a",
        "3e81321751ceca7a85910868bcad151d647ddbcee3314977895bc54a62df9adb",
    ),
    // Collection that starts at zero pads a program only if it gains something all the same. Pools help each other earlier.
    (
        7,
        "76fb7740aca10261760b9c689f1c640f567726e735b210529d4263e417bd94fc",
        "3e81321751ceca7a85910868bcad151d647ddbcee3314977895bc54a62df9adb",
    ),
    // A full write buffer hands over what the dies can take; results count what succeeded.
    (
        8,
        "6d3ba04b11b403c9026a557c9b82b1248040a680626d8c7630e0a76c6fa3a44f",
        "1ba39fb87a09aeff00170c754640a9542f6d6c00bd5ad007e6ae8219b7c30b63",
    ),
    // A log of fio is replayed with its waits.
    (
        9,
        "6d3ba04b11b403c9026a557c9b82b1248040a680626d8c7630e0a76c6fa3a44f",
        "a936cc23571b32c77b7430d7b1fd4c5d5f0dc2b49f53607ce632bac1d9c5945c",
    ),
    // Results have the write amplification in bytes and the endurance.
    (
        10,
        "6d3ba04b11b403c9026a557c9b82b1248040a680626d8c7630e0a76c6fa3a44f",
        "7bd478e85d9dbf945d84e423cc64ff8e5a985354b2fcfc7c0b3e32fae88f8041",
    ),
    // A channel chooses its next transfer last; FMMU's parts have command cycles; results have suspensions and planes.
    (
        11,
        "cc9fdd0ad637392be73ddaad7641fa7d40aff1a29620eb76b13e45e9fa6fd3d4",
        "16f4c05d72922ce680b0a504f6900a793def96faccb02d063ecb16a6efc93dfc",
    ),
    // Results have what suspensions gained. Four reference runs with suspension, planes of their own and variation.
    (
        12,
        "69bcb8ab67159eb4eba8fcb711c534aa62e6b547af938523af1de9d156e11b92",
        "84ff2fda40bab5dee76f8d396ec1644d948efadd03d0ed9aab2c2b17937c5e60",
    ),
    // Results have the longest gap between completions, the attempts of reads, and an SLC cache.
    (
        13,
        "69bcb8ab67159eb4eba8fcb711c534aa62e6b547af938523af1de9d156e11b92",
        "01cd166d9d44e87d95acde77286669ec9c18d579ea5937ad5d77ac176f0aeb38",
    ),
    // A waiting check of wear levelling pads copies. A run that levels wear.
    (
        14,
        "69bcb8ab67159eb4eba8fcb711c534aa62e6b547af938523af1de9d156e11b92",
        "1d714645a27e17b57f9d1e6520b7ddad66638e6915c94122218573088e5eb34b",
    ),
    // Events of the drives of a RAID at one time have an order. A run of a RAID.
    (
        15,
        "69bcb8ab67159eb4eba8fcb711c534aa62e6b547af938523af1de9d156e11b92",
        "282486931fddcee678d2babf948c112999b01df95c446d999932348b555d3ddb",
    ),
];

/// The number of requests of a small run.
const REQUESTS: u64 = 300;

/// The digest of the results of one small run for each device of the table, with and without suspension: all numbers
/// that a result has.
fn results() -> Digest {
    let mut runs = ReferenceLine::all();
    runs.retain(|run| run.cuts == 0);
    let mut devices = std::collections::BTreeSet::new();
    runs.retain(|run| devices.insert((run.device, run.suspends())));
    assert!(runs.len() > 20, "every family");
    let summaries =
        runs.iter().map(|run| run.summary(REQUESTS)).chain([overloaded(), replayed(), levelled(), mirrored()]);
    let texts = summaries.map(|summary| serde_json::to_string(&summary).expect("JSON") + "\n");
    Digest::of(texts.collect::<String>().as_bytes())
}

/// An open load that exceeds the drive, so that the result has an overload.
const OVERLOAD: &str = r#"name = "too many"
requests = 2_000
arrivals = { kind = "fixed", rate = "5M/s" }
[[stream]]
reads = "100%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

fn overloaded() -> Summary {
    let device = catalogue::device(Path::new("demo")).and_then(|of| catalogue::device_from(&of));
    let device = device.unwrap_or_else(|faults| panic!("{faults}"));
    let session = Session::new(&device).seed(1);
    let file = WorkloadFile::parse(OVERLOAD.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    let summary = outcome.first().summary();
    assert!(summary.validity.overload.is_some(), "{:?}", summary.validity);
    summary
}

/// A log of fio with waits, because the conversion of traces to requests is a part of the model, too.
const IOLOG: &str = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a write 0 8192\n/dev/a wait 2 0\n\
    /dev/a read 4096 4096\n/dev/a wait 5 0\n/dev/a write 65536 4096\n/dev/a close\n";

/// The result of the log.
fn replayed() -> Summary {
    let device = catalogue::device(Path::new("demo")).and_then(|of| catalogue::device_from(&of));
    let device = device.unwrap_or_else(|faults| panic!("{faults}"));
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("waits.iolog");
    std::fs::write(&path, IOLOG).expect("written");
    let session = Session::new(&device).seed(1);
    let file = catalogue::workload(&path).unwrap_or_else(|faults| panic!("{faults}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    outcome.first().summary()
}

/// Writes that mostly go to a tenth of a full drive, which levels wear at small differences.
const HOT: &str = r#"name = "hot"
requests = 150_000
arrivals = { kind = "closed", depth = 8 }
[[stream]]
reads = "0%"
sizes = [{ size = "4KiB" }]
address = { pattern = "hot-cold", hot_space = "10%", hot_access = "95%" }
"#;

/// The result of the writes that level wear.
fn levelled() -> Summary {
    let mut document = catalogue::device(Path::new("demo")).unwrap_or_else(|faults| panic!("{faults}"));
    let small = ["flash.blocks=26", "flash.pages=24", "ftl.capacity=90MiB"];
    for set in small.into_iter().chain(["ftl.wear.threshold=2", "ftl.wear.check-every=1"]) {
        document.set(set).unwrap_or_else(|faults| panic!("{faults}"));
    }
    let device = catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"));
    let session = Session::new(&device).seed(1).precondition(vec![ssd::Precondition::Fill]);
    let file = WorkloadFile::parse(HOT.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    let summary = outcome.first().summary();
    assert!(summary.flash.iter().any(|row| row.cause == "wear"), "nothing was moved");
    summary
}

/// The result of a short run on a RAID of four drives, of which one fails.
fn mirrored() -> Summary {
    let set = [
        "raid.level=raid10",
        "raid.drives=4",
        "raid.chunk=64KiB",
        "raid.spares=1",
        "raid.failures=[{at=\"2ms\",drive=1}]",
    ];
    let device = Device::open_with("demo", set).unwrap_or_else(|faults| panic!("{faults}"));
    let session = Session::new(&device).seed(1).precondition(vec![ssd::Precondition::Fill]).stop(Stop::Requests(2_000));
    let file = catalogue::workload(Path::new("mixed-70-30-4k")).unwrap_or_else(|faults| panic!("{faults}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    let summary = outcome.first().summary();
    assert!(summary.raid.as_ref().is_some_and(|raid| raid.rebuilt_bytes > 0), "{:?}", summary.raid);
    summary
}

#[test]
fn another_model_has_another_version() {
    let hashes: String =
        RUNS.lines().filter(|line| !line.starts_with('#')).map(|line| line.to_owned() + "\n").collect();
    let (reference, results) = (Digest::of(hashes.as_bytes()).to_string(), results().to_string());
    let (version, known) = (VERSIONS[VERSIONS.len() - 1].0, &VERSIONS[VERSIONS.len() - 1]);
    assert_eq!(version, MODEL, "the last line of VERSIONS is that of study::store::MODEL");
    assert!(
        (known.1, known.2) == (&*reference, &*results),
        "runs have other results, or results another form, than those of version {MODEL} of the model. Results in stores \
         must not pass for today's: set `MODEL` in crates/study/src/store/model.rs to {next} and add this line to \
         VERSIONS:\n    ({next}, \"{reference}\", \"{results}\"),",
        next = MODEL + 1,
    );
    for (i, line) in VERSIONS.iter().enumerate() {
        let twice = VERSIONS[..i].iter().any(|other| (other.1, other.2) == (line.1, line.2));
        assert!(line.0 as usize == i + 1 && !twice, "version {} stands in its line, once", line.0);
    }
}
