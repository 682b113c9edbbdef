//! Snapshots: the saved state of a drive.

use std::path::Path;

use flash::nand::Stamp;
use ssd::{Precondition, Ssd};
use study::catalogue::{Device, device, device_from};
use study::snapshot::{load, save};

use crate::{Damage, Scratch, Target, Verdict, verdict};

/// A drive of 3 MiB.
fn small() -> Device {
    let mut document = device(Path::new("dirik-1x1")).expect("it is built in");
    for assignment in ["flash.size=4MiB", "flash.pages=8", "ftl.over-provisioning=60%"] {
        document.set(assignment).expect("a key");
    }
    device_from(&document).unwrap_or_else(|faults| panic!("{faults}"))
}

fn saved(device: &Device) -> Vec<u8> {
    let mut ssd = Ssd::<Stamp>::new(&device.resolved, 1);
    ssd.precondition(Precondition::Fill, &mut |_, _| {});
    let mut bytes = Vec::new();
    save(&ssd, &mut bytes).expect("memory");
    bytes
}

pub(super) fn target() -> Target {
    let device = small();
    Target {
        name: "snapshot".into(),
        corpus: vec![saved(&device)],
        damage: Damage::Bytes(&[]),
        run: Box::new(move |input: &[u8], seed: u64, scratch: &Scratch| -> Verdict {
            let path = scratch.file("snapshot", input);
            verdict(load::<Stamp>(&path, &device.resolved, seed).map(|ssd| ssd.check()))
        }),
    }
}
