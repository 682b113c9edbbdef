//! Reads and checks TOML files of every kind and fio job files, without running them.

use std::path::Path;

use base::units::Sectors;
use ssd::Spec;
use study::catalogue::{WorkloadFile, device_from};
use study::config::Document;
use study::plan::Plan;
use workload::fio;
use workload::generate::Generator;
use workload::trace::TraceOptions;

use crate::{Damage, Scratch, Target, Verdict, verdict};

const CAPACITY: Sectors = Sectors::new(1 << 22);

/// A study with an axis, a metric and a claim.
const STUDY: &str = "name = \"s\"\ndevice = \"dirik-1x1\"\nworkload = \"random-read-4k\"\nseeds = [1, 2]\n\
    run = { precondition = [\"preload:26KiB:8MiB\"], limit = 150 }\nset = { device = { flash = { size = \"64MiB\" } } }\n\
    metrics = [\"read.mean\", \"waf\"]\n\n[[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [1, 2, 4]\n\n\
    [[claim]]\nid = \"A\"\nsays = \"banks help\"\n[[claim.expect]]\nmetric = \"read.mean\"\n\
    ratio = { at = { banks = 2 }, to = { banks = 1 }, between = [0.4, 0.6] }\n\
    [[claim.expect]]\nmetric = \"mean\"\nmonotonic = { along = \"banks\", direction = \"falls\" }\n";

/// A script of requests.
const SCRIPT: &str = "name = \"two\"\nrequest = [\n  { at = \"0us\", kind = \"write\", start = \"0B\", size = \"4KiB\" },\n  \
    { at = \"10us\", kind = \"read\", start = \"0B\", size = \"4KiB\" },\n]\n";

const JOBS: &str = "[global]\nioengine=libaio\ndirect=1\nbs=4k\niodepth=32\nsize=64m\n\n[fill]\nrw=write\nbs=128k\n\n\
    [random]\nstonewall\nrw=randrw\nrwmixread=70\nrandom_distribution=zipf:1.1\nnumber_ios=1000\n";

fn document(input: &[u8]) -> Result<Document, study::config::Faults> {
    Document::parse(Path::new("fuzz.toml"), String::from_utf8_lossy(input).into_owned())
}

fn device(input: &[u8], _: u64, _: &Scratch) -> Verdict {
    verdict(document(input).and_then(|document| device_from(&document).map(|device| device.config())))
}

/// A generator or a script.
fn described(input: &[u8], seed: u64, _: &Scratch) -> Verdict {
    let document = match document(input) {
        Ok(document) => document,
        Err(faults) => return verdict::<(), _>(Err(faults)),
    };
    match WorkloadFile::Described(document).open(&TraceOptions::default(), CAPACITY, seed) {
        Ok(mut workload) => {
            for stage in &mut workload.stages {
                for _ in 0..200 {
                    match stage.source.next() {
                        Ok(Some(arrival)) => assert!(arrival.io.end().get() <= CAPACITY.get(), "beyond the drive"),
                        Ok(None) => break,
                        Err(error) => return verdict::<(), _>(Err(error)),
                    }
                }
            }
            Verdict::Taken
        }
        Err(error) => verdict::<(), _>(Err(error)),
    }
}

fn study(input: &[u8], _: u64, _: &Scratch) -> Verdict {
    verdict(document(input).and_then(|document| Plan::new(&document)))
}

fn refused(faults: &[base::fault::Fault]) -> Verdict {
    assert!(!faults.is_empty(), "refused without a fault");
    Verdict::Refused(
        faults.iter().map(|fault| format!("{}: {}; {}\n", fault.path, fault.message, fault.remedy)).collect(),
    )
}

fn jobs(input: &[u8], seed: u64, _: &Scratch) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let mut file = match fio::parse("fuzz", &text) {
        Ok(file) => file,
        Err(faults) => return refused(&faults),
    };
    if let Err(faults) = file.fit(CAPACITY) {
        return refused(&faults);
    }
    if let Some(zoned) = &file.zoned {
        return zoned.open(CAPACITY, seed).map_or_else(|faults| refused(&faults), |_| Verdict::Taken);
    }
    let made = file.specs().try_for_each(|spec| Generator::new(spec, CAPACITY, seed).map(|_| ()));
    made.map_or_else(|faults| refused(&faults), |()| Verdict::Taken)
}

/// Devices that come with Flashloom, and one with every table.
fn devices() -> Vec<Vec<u8>> {
    let mut all: Vec<_> = ssd::builtin().iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
    // Device files with all defaults written out.
    for name in ["demo", "chang-c3", "sung-tmcd"] {
        let document = study::catalogue::device(Path::new(name)).expect("it is built in");
        let spec: Spec = document.decode().expect("it is sound");
        all.push(toml::to_string(&spec).expect("a table").into_bytes());
    }
    all
}

pub(super) fn targets() -> Vec<Target> {
    let generators: Vec<_> = workload::generate::builtin().iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
    let described_corpus =
        generators.into_iter().filter(|text| !text.starts_with(b"[global]")).chain([SCRIPT.as_bytes().to_vec()]);
    vec![
        Target { name: "device".into(), corpus: devices(), damage: Damage::Toml, run: Box::new(device) },
        Target {
            name: "workload".into(),
            corpus: described_corpus.collect(),
            damage: Damage::Toml,
            run: Box::new(described),
        },
        Target {
            name: "study".into(),
            corpus: vec![STUDY.as_bytes().to_vec()],
            damage: Damage::Toml,
            run: Box::new(study),
        },
        Target {
            name: "jobs".into(),
            corpus: vec![JOBS.as_bytes().to_vec()],
            damage: Damage::Bytes(&[
                "[job]",
                "rw=",
                "bs=",
                "size=",
                "k",
                "g",
                "%",
                ":",
                "-",
                "randread",
                "stonewall",
                "runtime=",
                "thinktime=",
                "\n",
            ]),
            run: Box::new(jobs),
        },
    ]
}
