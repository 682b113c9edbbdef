//! Wear: with static wear levelling, the erase counts of a pool's blocks differ by no more than the setting promises,
//! even if most of the drive is never written again.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use ssd::{Drive, FtlSpec, MapSpec, WearSpec};

use super::{Trial, Work};

/// The largest difference between the erase counts of two blocks of a pool of `blocks`.
///
/// Wear levelling scans after every `check_every` erases and moves the data of the least worn superblock once it lags
/// more than `threshold` behind a free one. If all others lag as well, each scan frees one of them, so the last waits
/// for `blocks` scans. The erases in between go to the superblocks in use, of which there are at least two: the open
/// one and the free one behind it. A scan that finds a collection under way waits for its end, which costs another
/// erase for each superblock being collected. The last copies of a collection would wait until they fill a program, and keep the
/// scan waiting through one collection after another: while a scan waits and a superblock lags, they are padded.
///
/// With several streams of copies a scan does not wait for them. Each further stream may hold one more victim.
///
/// With the map on flash each copy may store a translation page, and as many erases again go to the superblocks of those.
fn bound(ftl: &FtlSpec, blocks: u32) -> Option<u32> {
    let wear = &ftl.wear;
    let pools = if matches!(ftl.map, MapSpec::Ram | MapSpec::Table { .. }) { 1 } else { 2 };
    let between_looks = (wear.check_every + ftl.gc.parallel + ftl.streams.copies_apart()) * pools;
    wear.threshold.map(|threshold| threshold + (blocks * between_looks).div_ceil(2) + 1)
}

/// The largest difference between erase counts under Hydra's FTL. The FTL levels when the drive is idle, until no free
/// superblock is more than the threshold ahead of a mapped one. Between two idle times each write causes one merge at
/// most, and the merges go to at least two superblocks; one scan may also come too early. Without dynamic levelling the
/// least worn superblock is not taken first, so a superblock that is mapped in an idle time, and cannot be levelled,
/// wears again before the next idle time.
fn bound_at_rest(wear: &WearSpec) -> Option<u32> {
    let bursts = if wear.dynamic { 1 } else { 2 };
    wear.threshold.map(|threshold| threshold + bursts * BURST / 2 + wear.check_every + 1)
}

/// The number of writes between two idle times.
const BURST: u32 = 64;

pub(super) fn wear(trial: &Trial<'_>) -> Work {
    let geometry = &trial.resolved.geometry;
    let ftl = &trial.resolved.ftl;
    let hydra = trial.resolved.family.downcast_ref::<ftl::HydraConfig>();
    let bound = match hydra {
        Some(_) => bound_at_rest(&ftl.wear),
        None => bound(ftl, geometry.blocks),
    };
    let Some(bound) = bound else { return Work::default() };
    let page = trial.resolved.family.downcast_ref::<ftl::PageConfig>();
    let set_aside = page.map_or(0, |page| page.set_aside() * geometry.stripe) as usize;
    let mut host = trial.filled();
    let mut rng = Rng::stream(trial.seed, "conformance.wear");
    let blocks = (geometry.blocks * geometry.stripe) as usize;
    let hot = trial.capacity() / 8;
    let goal = u64::from(trial.effort.erases) * u64::from(geometry.block_count());
    loop {
        let counts = host.ssd().erase_counts();
        for (pool, counts) in counts.chunks(blocks).enumerate() {
            // Spares, the reserved areas and the static part of an SLC cache wear in a different way, so the bound does
            // not cover them.
            let counts = hydra.map_or(counts, |hydra| &counts[..hydra.data_blocks() as usize]);
            let counts = &counts[set_aside..];
            let (least, most) = (counts.iter().min().expect("blocks"), counts.iter().max().expect("blocks"));
            assert!(most - least <= bound, "pool {pool}: erase counts from {least} to {most}, {bound} apart at most");
        }
        if counts.iter().copied().map(u64::from).sum::<u64>() >= goal {
            break;
        }
        for _ in 0..BURST {
            let start = Lba::new(rng.below(hot));
            host.submit(Io::new(IoKind::Write, start, Sectors::new(1)));
        }
        // A buffer of superblocks would absorb all writes to the only superblock in use.
        if hydra.is_some() {
            host.submit(Io::FLUSH);
        }
        host.run_until_idle();
    }
    host.ssd().check();
    assert!(host.ssd().counters().flash.rows().any(|(_, cause, _)| cause == flash::backend::Cause::Wear));
    Work::of(&host)
}
