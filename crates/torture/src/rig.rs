//! Recorded runs of small drives, for tests.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroUsize;

use base::engine::Rng;
use base::units::{Lba, Sectors};
use ssd::{Drive, Precondition, Spec};
use study::catalogue::Device;
use tempfile::NamedTempFile;

use crate::cut::PointsSpec;
use crate::journal::RequestKind;
use crate::laboratory::{CutResult, Laboratory};
use crate::play::Play;
use crate::replay::Honesty;

/// A small page-mapped drive with a buffer of eight mapping units.
pub(crate) const BUFFERED: &str = r#"name = "buffered"
flash = { part = "dirik-2009", channels = 2, chips = 1, blocks = 12, pages = 8 }
[ftl]
over-provisioning = "40%"
[buffer]
size = "32KiB"
"#;

pub(crate) fn device(text: &str) -> Device {
    Device::parse(text).unwrap_or_else(|faults| panic!("{faults}"))
}

pub(crate) fn device_of(spec: &Spec) -> Device {
    let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{}: {faults:?}", spec.name));
    Device { name: spec.name.clone(), resolved, replaced: Vec::new() }
}

/// One worker thread.
pub(crate) const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// A run in the manner of software that keeps a log and a tree: it overwrites a few places again and again, and mostly
/// waits for its flushes.
pub(crate) fn live(play: &mut Play<impl std::io::Write>, seed: u64, requests: u64) {
    let mut rng = Rng::stream(seed, "torture.life");
    let capacity = play.drive().capacity().get();
    let unit = play.drive().discard_granularity().get();
    let places = (capacity / unit).min(40);
    for number in 0..requests {
        let size = 1 + rng.below(3 * unit);
        let start = (rng.below(places) * unit + rng.below(unit)).min(capacity - size);
        let (start, sectors) = (Lba::new(start), Sectors::new(size));
        let (kind, waits) = match rng.below(20) {
            0 => (RequestKind::Read, false),
            1 => (RequestKind::Discard, false),
            2 => (RequestKind::WriteZeroes { fua: rng.chance(0.5) }, false),
            3 | 4 => (RequestKind::Write { fua: true }, true),
            5..=8 => (RequestKind::Flush, rng.chance(0.8)),
            _ => (RequestKind::Write { fua: false }, rng.chance(0.2)),
        };
        let extent = if kind == RequestKind::Flush { (Lba::new(0), Sectors::new(0)) } else { (start, sectors) };
        let data = if let RequestKind::Write { .. } = kind { play.content(size) } else { Vec::new() };
        play.ask(kind, extent.0, extent.1, &data).expect("recorded");
        if waits {
            while play.outstanding() > 0 && play.step().expect("recorded") {}
            play.say(&format!("request {number} is done")).expect("recorded");
        } else {
            for _ in 0..rng.below(6) {
                play.step().expect("recorded");
            }
        }
    }
}

/// A recorded run of [`live`].
pub(crate) fn recorded(device: &Device, seed: u64, requests: u64, steps: &[Precondition]) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a file");
    let to = BufWriter::new(File::create(file.path()).expect("a file"));
    let mut play = Play::begin(device, seed, steps, to).expect("recorded");
    live(&mut play, seed, requests);
    play.finish().expect("recorded");
    file
}

/// Cuts the power of a recorded run at every promise and at random moments.
pub(crate) fn tortured(laboratory: &Laboratory, honesty: Honesty, random: u32) -> Vec<CutResult> {
    let points = PointsSpec { promises: true, random, most: 0 };
    let cuts = laboratory.cuts(&points, 1).unwrap_or_else(|diverged| panic!("{diverged}"));
    laboratory.test(&cuts, honesty, None, ONE, &|_| {}).expect("no check, no fault")
}
