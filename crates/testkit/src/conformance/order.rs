//! Order: writes that the device works on together enter a full buffer in the order of submission, unless another
//! request conflicts with them. No write is overtaken, so none starves.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Drive, Precondition, QueueId, Request, Ssd};

use super::{Trial, Work};

/// The number of writes of the check, at most; each writes its own mapping unit.
const WRITES: u64 = 64;

pub(super) fn order(trial: &Trial<'_>) -> Work {
    if trial.resolved.buffer.is_none() {
        return Work::default();
    }
    let mut ssd = Ssd::<Stamp>::new(trial.resolved, trial.seed);
    ssd.precondition(Precondition::Fill, &mut |_, _| {});
    let unit = ssd.discard_granularity();
    let writes = WRITES.min(u64::from(trial.resolved.units));
    for tag in 0..writes {
        let io = Io::new(IoKind::Write, Lba::new(tag * unit.get()), unit);
        let data = vec![Stamp(tag + 1); unit.get() as usize];
        ssd.submit(ssd.now(), Request { tag, queue: QueueId::default(), io, data });
    }
    let mut completions = Vec::new();
    ssd.drain(&mut completions);
    let tags: Vec<u64> = completions.iter().map(|completion| completion.tag).collect();
    assert_eq!(tags, (0..writes).collect::<Vec<_>>(), "writes in the order of their completion");
    assert_eq!(Sectors::new(writes * unit.get()), Sectors::new(ssd.counters().sectors[IoKind::Write as usize]));
    Work { requests: writes, ..Work::default() }
}
