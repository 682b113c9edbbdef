//! Reclaim: makes room in the MLC flash by the [fold](super::fold) of a chain or, with a map of pages, by the
//! [collection](super::collect) of a block. Wear levelling moves cold data by the same tasks.

use flash::backend::Cause;

use super::collect::Collection;
use super::density::Change;
use super::disk::Disk;
use super::fold::Fold;
use super::mapping::SlcMlcMapping;
use super::mlc::Mlc;
use super::wear::ColdDataMove;

/// A task that frees a block: a fold or a collection.
#[derive(Debug)]
pub(super) enum Reclaim {
    Fold(Fold),
    Collect(Collection),
}

/// The way to get space for a page without a place.
#[derive(Debug)]
pub(super) enum Space {
    /// The page waits for this task, which makes room.
    After(Reclaim),
    /// Collection gains nothing. The host's lanes now work without new blocks, so the page may find a place.
    MakeDo,
    /// None: no chain can make room.
    None,
}

/// Chooses a task that makes room.
pub(super) fn make_room(disk: &mut Disk) -> Space {
    if disk.mlc.worn_out {
        return Space::None;
    }
    let SlcMlcMapping::Pages(pages) = &mut disk.mlc.mapping else { return fold_chain(disk) };
    match pages.victim() {
        Some(block) => Space::After(Reclaim::Collect(Collection::new(&mut disk.vectors, block, Cause::Gc, None))),
        None if pages.make_do() => Space::MakeDo,
        None => Space::None,
    }
}

fn fold_chain(disk: &mut Disk) -> Space {
    match next_change(&mut disk.mlc) {
        Some(change) => Space::After(Reclaim::Fold(Fold::new(&mut disk.vectors, change, Cause::Gc, None))),
        None => Space::None,
    }
}

/// The next chain to fold: one whose mode must change, the victim of garbage collection, or one that leaves SLC mode.
fn next_change(mlc: &mut Mlc) -> Option<Change> {
    let chains = mlc.mapping.chains_mut();
    let density = &mut mlc.density;
    if let Some(density) = density
        && let Some(change) = density.next_change(|lba| chains.has_log(lba), |lba| chains.is_slc(lba))
    {
        return Some(change);
    }
    if let Some(lba) = chains.victim() {
        let mode = density.as_ref().map(|density| density.mode_of(lba, chains.mode(lba)));
        return Some(Change { lba, mode: mode.unwrap_or_default() });
    }
    density.as_mut()?.raise_density(|lba| chains.is_slc(lba))
}

/// The task that moves the data of a cold block to a worn one, if their wear differs enough.
pub(super) fn level(disk: &mut Disk) -> Option<Reclaim> {
    let Mlc { mapping, levelling, .. } = &mut disk.mlc;
    let blocks = mapping.blocks();
    let ColdDataMove { from, onto } = levelling.as_mut()?.scan(|block| blocks[block].spare)?;
    match mapping {
        SlcMlcMapping::Chains(chains) => {
            let lba = chains.blocks[from].lba()?;
            let change = Change { lba, mode: chains.mode(lba) };
            let is_spare = chains.blocks.take_this(onto);
            is_spare.then(|| Reclaim::Fold(Fold::new(&mut disk.vectors, change, Cause::Wear, Some(onto))))
        }
        SlcMlcMapping::Pages(pages) => {
            if !pages.take_closed(from) {
                return None;
            }
            assert!(pages.blocks.take_this(onto), "block {onto} is spare");
            Some(Reclaim::Collect(Collection::new(&mut disk.vectors, from, Cause::Wear, Some(onto))))
        }
    }
}
