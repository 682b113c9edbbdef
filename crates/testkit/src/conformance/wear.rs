//! Wear: where static wear levelling is on, no block lags behind the others of its pool by more than the setting
//! promises, even if most of the drive is never written again.

use flash::engine::Rng;
use flash::io::{Io, IoKind};
use flash::units::{Lba, Sectors};
use ssd::{Drive, WearSpec};

use super::{Trial, Work};

/// The most by which the erase counts of two blocks of a pool of `blocks` may differ.
///
/// Wear levelling looks after every `check_every` erases and moves the data of the least worn superblock once it
/// lags more than `threshold` behind a free one. If all others lag as well each look frees one of them, so the
/// last waits for `blocks` looks. The erases in between go to the superblocks that are in use, of which there are
/// at least two: the one being filled and the free one behind it. And a look that finds a collection under way is
/// put off to the end of it, which is another erase for each superblock being collected.
fn bound(wear: &WearSpec, blocks: u32, parallel: u32) -> Option<u32> {
    let between_looks = wear.check_every + parallel;
    wear.threshold.map(|threshold| threshold + (blocks * between_looks).div_ceil(2) + 1)
}

pub(super) fn wear(trial: &Trial<'_>) -> Work {
    let geometry = &trial.resolved.geometry;
    let ftl = &trial.resolved.ftl;
    let Some(bound) = bound(&ftl.wear, geometry.blocks, ftl.gc.parallel) else { return Work::default() };
    let mut host = trial.filled();
    let mut rng = Rng::stream(trial.seed, "conformance.wear");
    let blocks = (geometry.blocks * geometry.stripe) as usize;
    let hot = trial.capacity() / 8;
    let goal = u64::from(trial.effort.erases) * u64::from(geometry.block_count());
    loop {
        let counts = host.ssd().erase_counts();
        for (pool, counts) in counts.chunks(blocks).enumerate() {
            let (least, most) = (counts.iter().min().expect("blocks"), counts.iter().max().expect("blocks"));
            assert!(most - least <= bound, "pool {pool}: erase counts from {least} to {most}, {bound} apart at most");
        }
        if counts.iter().copied().map(u64::from).sum::<u64>() >= goal {
            break;
        }
        for _ in 0..64 {
            let start = Lba::new(rng.below(hot));
            host.submit(Io { kind: IoKind::Write, start, sectors: Sectors::new(1) });
        }
        host.rest();
    }
    host.ssd().check();
    assert!(host.ssd().counters().flash.rows().any(|(_, cause, _)| cause == flash::backend::Cause::Wear));
    Work::of(&host)
}
