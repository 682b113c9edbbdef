//! Runs drives: from a damaged description to 2,000 requests, with every read checked.

use std::path::Path;

use base::engine::Rng;
use base::units::Bytes;
use ssd::{Precondition, Purpose};
use study::catalogue::{Device, WorkloadFile, device_from};
use study::config::Document;
use study::session::{Session, SessionError, Stop};
use testkit::swarm::{draw_device, draw_queues};
use workload::trace::TraceOptions;

use crate::{Damage, Scratch, Target, Verdict, verdict};

/// Requests of a run.
const REQUESTS: u64 = 2000;

/// The largest drive that runs. Damage turns small drives into large ones, which cost too much time and memory.
const LARGEST: Bytes = Bytes::new(64 << 20);

/// The most memory of a drive that runs; larger drives take too much time.
const MEMORY: Bytes = Bytes::new(256 << 20);

/// Devices in the corpus: of every family, with faults and queues.
const DEVICES: u64 = 200;

/// A mixture of all kinds of requests.
const WORKLOAD: &str = "name = \"w\"\nrequests = 2000\narrivals = { kind = \"closed\", depth = 8 }\n\n[[stream]]\nreads = \"45%\"\n\
    sizes = [{ size = \"512B\", share = \"20%\" }, { size = \"4KiB\", share = \"60%\" }, { size = \"32KiB\", share = \"20%\" }]\naddress = { pattern = \"uniform\" }\n";

fn document(input: &[u8]) -> Result<Document, study::config::Faults> {
    Document::parse(Path::new("fuzz.toml"), String::from_utf8_lossy(input).into_owned())
}

/// Runs a valid workload on a valid device.
fn run(device: &Device, workload: &WorkloadFile, seed: u64) -> Verdict {
    let session = Session::new(device).seed(seed).verify(true).check_drive(true).stop(Stop::Requests(REQUESTS));
    let flow = match session.open(workload, &TraceOptions::default()) {
        Ok(flow) => flow,
        Err(error) => return verdict::<(), _>(Err(error)),
    };
    let mut rng = Rng::stream(seed, "fuzz.run");
    let steps = [Precondition::Fill, Precondition::RandomOverwrite(0.5), Precondition::Steady];
    let chosen = match (rng.chance(0.5), rng.chance(0.3), rng.below(2)) {
        (false, ..) => Vec::new(),
        (true, false, _) => vec![steps[0]],
        (true, true, other) => vec![steps[0], steps[1 + other as usize]],
    };
    match session.precondition(chosen).flow(flow.first_stage()).run() {
        Ok(_) => Verdict::Taken,
        Err(SessionError::Precondition { .. }) => Verdict::Refused("it cannot be preconditioned".into()),
        Err(error) if error.is_bug() => panic!("{error}"),
        Err(error) => verdict::<(), _>(Err(error)),
    }
}

fn device(input: &[u8], seed: u64, _: &Scratch) -> Verdict {
    let device = match document(input).and_then(|document| device_from(&document)) {
        Ok(device) => device,
        Err(faults) => return verdict::<(), _>(Err(faults)),
    };
    let purpose = Purpose { verify: true, ..Purpose::default() };
    if device.capacity().bytes() > LARGEST || device.resolved.memory(purpose).total() > MEMORY {
        return Verdict::Refused("larger than there is time for".into());
    }
    let workload = WorkloadFile::Described(document(WORKLOAD.as_bytes()).expect("it is sound"));
    run(&device, &workload, seed)
}

fn workload(input: &[u8], seed: u64, _: &Scratch) -> Verdict {
    let workload = match document(input) {
        Ok(document) => WorkloadFile::Described(document),
        Err(faults) => return verdict::<(), _>(Err(faults)),
    };
    let spec = draw_device(&mut Rng::stream(seed, "fuzz.device"), false);
    let resolved = spec.resolve().expect("it was drawn to be valid");
    run(&Device { name: spec.name, resolved, replaced: Vec::new() }, &workload, seed)
}

fn devices() -> Vec<Vec<u8>> {
    let device = |seed| {
        let mut rng = Rng::stream(seed, "fuzz.corpus");
        let mut spec = draw_device(&mut rng, seed % 2 == 0);
        if seed % 5 < 2 {
            spec = draw_queues(&mut rng, &spec);
        }
        toml::to_string(&spec).expect("a table").into_bytes()
    };
    (0..DEVICES).map(device).collect()
}

pub(super) fn targets() -> Vec<Target> {
    vec![
        Target { name: "drive".into(), corpus: devices(), damage: Damage::Toml, run: Box::new(device) },
        Target {
            name: "drive-workload".into(),
            corpus: vec![WORKLOAD.as_bytes().to_vec()],
            damage: Damage::Toml,
            run: Box::new(workload),
        },
    ]
}
