//! A mount from a checkpoint: which spare areas the mount reads, which entries it uses, and the time that this takes.
//!
//! The mount reads the spare area of the first page of every superblock, which tells when the superblock was opened.
//! Then it scans superblocks, the youngest first, until one holds the last page of a record. That record vouches for
//! the superblocks that were closed when its checkpoint began and were not opened since; all others are scanned.
//! Records found there may be newer, because a record never vouches for the superblock of a later record. Without a
//! record all superblocks have been scanned, and the mount is that of a drive without checkpoints.
//!
//! From here on a slot counts if it was scanned, or if an entry of the checkpoint leads to it in a superblock that the
//! record vouches for. The highest version wins, as without a checkpoint. The map has no versions, but a scanned slot
//! newer than the checkpoint's own version is newer than any entry. For other slots the mount reads the spare area to
//! which the entry leads.

use base::units::{Lpn, Psn, Span, SuperblockId};
use flash::nand::{Geometry, Media, Spare};

use super::record::CheckpointRecord;
use super::{CheckpointPages, Checkpoints, Complete};
use crate::page::PageConfig;
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::{Map, Reads};

/// The checkpoint that counts at a mount.
#[derive(Debug)]
struct Newest<'a> {
    complete: Complete,
    record: CheckpointRecord<'a>,
    /// For each superblock: true if the record vouches for it.
    vouched: Vec<bool>,
}

/// The result of the search for the newest checkpoint.
#[derive(Debug)]
pub(in crate::page) struct Search<'a> {
    newest: Option<Newest<'a>>,
    /// For each superblock: true if the mount scans it.
    scanned: Vec<bool>,
}

/// The programmed superblocks, the youngest first. A superblock whose first page cannot be read comes first, because it
/// may be of any age.
fn youngest_first(media: &Media) -> Vec<SuperblockId> {
    let all = (0..media.geometry().superblock_count()).map(SuperblockId::new);
    let mut programmed: Vec<_> = all.filter(|sb| !media.is_bad(*sb) && !media.is_erased(*sb)).collect();
    programmed.sort_unstable_by_key(|sb| std::cmp::Reverse(opened(media, *sb).unwrap_or(u64::MAX)));
    programmed
}

/// The number of superblocks opened before this superblock, if its first page can be read.
fn opened(media: &Media, superblock: SuperblockId) -> Option<u64> {
    match media.spare(media.geometry().slot(superblock, 0)) {
        Spare::Data { .. } => Some(media.birth(superblock).order),
        Spare::Empty | Spare::Torn => None,
    }
}

fn slots(geometry: &Geometry, superblock: SuperblockId) -> impl Iterator<Item = Psn> + use<'_> {
    (0..geometry.superblock_slots()).map(move |offset| geometry.slot(superblock, offset))
}

impl<'a> Search<'a> {
    /// Searches the media for the newest checkpoint. `first` is the logical number of the first page of a checkpoint,
    /// `image` the number of the record's image.
    pub(in crate::page) fn of(
        shape: CheckpointPages,
        (first, image): (u32, u32),
        media: &'a Media,
        planted: PlantedBug,
    ) -> Self {
        let geometry = media.geometry();
        let last_page = |generation: u32| first + generation * shape.each + shape.each - 1;
        let newest_in = |superblock: SuperblockId, than: Option<u32>| {
            let found = slots(geometry, superblock).filter_map(|psn| {
                let Spare::Data { lpn, version } = media.spare(psn) else { return None };
                let generation = (0..2).find(|generation| last_page(*generation) == lpn.get())?;
                // Only a record that no newer record has replaced still has an image.
                let words = media.image(image, version)?;
                let complete = Complete { generation, version };
                than.is_none_or(|than| version > than).then_some((complete, words))
            });
            found.max_by_key(|(complete, _)| complete.version)
        };
        let mut scanned = vec![false; geometry.superblock_count() as usize];
        let programmed = youngest_first(media);
        let mut newest: Option<Newest<'a>> = None;
        for superblock in &programmed {
            scanned[superblock.index()] = true;
            if let Some((complete, words)) = newest_in(*superblock, None) {
                newest = Some(Newest::of(complete, words, shape, media, planted));
                break;
            }
        }
        while let Some(found) = &newest {
            let mut newer = None;
            for superblock in programmed.iter().filter(|superblock| !found.vouched[superblock.index()]) {
                scanned[superblock.index()] = true;
                let than = newer.map_or(found.complete, |(complete, _): (Complete, _)| complete);
                newer = newest_in(*superblock, Some(than.version)).or(newer);
            }
            let Some((complete, words)) = newer else { break };
            newest = Some(Newest::of(complete, words, shape, media, planted));
        }
        Self { newest, scanned }
    }

    /// True if a programmed slot counts at the mount.
    pub(in crate::page) fn counts(&self, superblock: SuperblockId, psn: Psn) -> bool {
        match &self.newest {
            Some(newest) if newest.vouched[superblock.index()] => newest.record.leads(psn),
            _ => true,
        }
    }

    /// True if the mount believes a checkpoint's entries in a superblock.
    #[cfg(test)]
    pub(super) fn vouches(&self, superblock: SuperblockId) -> bool {
        self.newest.as_ref().is_some_and(|newest| newest.vouched[superblock.index()])
    }

    /// The version of the checkpoint; all slots to which its entries lead are older.
    pub(in crate::page) fn version(&self) -> Option<u32> {
        self.newest.as_ref().map(|newest| newest.complete.version)
    }

    /// Mapping units of the scanned slots that are no newer than the checkpoint, in order.
    fn doubtful(&self, first: u32, media: &Media) -> Vec<u32> {
        let Some(version) = self.version() else { return Vec::new() };
        let all = (0..media.geometry().superblock_count()).map(SuperblockId::new);
        let scanned = all.filter(|superblock| self.scanned[superblock.index()]);
        let mut units: Vec<u32> = scanned
            .flat_map(|superblock| slots(media.geometry(), superblock))
            .filter_map(|psn| match media.spare(psn) {
                Spare::Data { lpn, version: found } if found <= version && lpn.get() < first => Some(lpn.get()),
                _ => None,
            })
            .collect();
        units.sort_unstable();
        units.dedup();
        units
    }
}

impl<'a> Newest<'a> {
    fn of(complete: Complete, words: &'a [u32], shape: CheckpointPages, media: &Media, planted: PlantedBug) -> Self {
        let record = CheckpointRecord::read(words, shape.superblocks);
        let vouches = |superblock: SuperblockId| {
            let old = |opened: u64| opened < record.openings() || planted.is(Sabotage::RewrittenVouched);
            record.was_closed(superblock)
                && !media.is_bad(superblock)
                && !media.is_erased(superblock)
                && opened(media, superblock).is_some_and(old)
        };
        let vouched = (0..shape.superblocks).map(SuperblockId::new).map(vouches).collect();
        Self { complete, record, vouched }
    }
}

/// The time of a mount: four steps, one after another, each with all dies and channels in parallel:
/// * the spare areas of the first row of each superblock;
/// * the spare areas of the other programmed rows of the superblocks that are scanned;
/// * the pages of the checkpoint;
/// * the spare areas to which entries lead for mapping units of which a scanned slot may be older.
pub(in crate::page) fn time(config: &PageConfig, media: &Media) -> Span {
    let (geometry, timing, shape) = (media.geometry(), &config.timing, config.checkpoint_pages);
    let place = place(config);
    let search = Search::of(shape, place, media, PlantedBug::default());
    let spares = config.spare_transfer * u64::from(geometry.stripe);
    let row_of = |psn: Psn| {
        let (superblock, offset) = geometry.locate(psn);
        (superblock, offset / geometry.row_slots())
    };
    let mut steps = [(); 4].map(|()| Reads::new(geometry, &timing.read));
    let [heads, scan, pages, doubts] = &mut steps;
    let doubtful = search.doubtful(place.0, media);
    for superblock in (0..geometry.superblock_count()).map(SuperblockId::new) {
        if media.is_bad(superblock) {
            continue;
        }
        heads.add(superblock, 0, spares);
        let (scanned, mut row, mut asked) = (search.scanned[superblock.index()], 0, None);
        if !scanned && doubtful.is_empty() {
            continue;
        }
        let mut read = 0;
        for psn in slots(geometry, superblock) {
            let (_, here) = row_of(psn);
            let spare = media.spare(psn);
            if scanned && here != row && spare != Spare::Empty {
                scan.add(superblock, here, spares);
                row = here;
            }
            let Spare::Data { lpn, version } = spare else { continue };
            if scanned && lpn.get() >= place.0 && search.version() == Some(version) {
                // Each page of a row is read once, and the spare areas of all its slots cross the channel.
                let time = if read == here + 1 { Span::ZERO } else { timing.read[here as usize % timing.read.len()] };
                pages.add_times(superblock, time, timing.transfer[1]);
                read = here + 1;
            }
            let doubted = !scanned && asked != Some(here) && doubtful.binary_search(&lpn.get()).is_ok();
            if doubted && search.counts(superblock, psn) {
                doubts.add(superblock, here, spares);
                asked = Some(here);
            }
        }
    }
    steps.into_iter().map(Reads::time).fold(Span::ZERO, |sum, step| sum + step)
}

/// The logical number of the first page of a checkpoint, and the number of the record's image.
pub(in crate::page) const fn place(config: &PageConfig) -> (u32, u32) {
    let behind = config.map_pages.count + config.trim_pages.count;
    (config.units + behind, behind)
}

impl Checkpoints {
    /// Takes the places of the newest checkpoint's pages out of the map that recovery found, and drops all other pages
    /// of checkpoints. At most `window` pages of the next checkpoint are under way at once.
    pub(in crate::page) fn recover(
        config: &PageConfig,
        search: &Search<'_>,
        media: &Media,
        window: u32,
        found: &mut Map,
    ) -> Box<Self> {
        let shape = config.checkpoint_pages;
        let (first, image) = place(config);
        let valid = search.newest.as_ref().map(|newest| newest.complete);
        let mut directory = Map::new(shape.count());
        for page in 0..shape.count() {
            let lpn = Lpn::new(first + page);
            let ours = |valid: &Complete| page / shape.each == valid.generation;
            match (valid.filter(ours), found.get(lpn)) {
                (Some(valid), Some(psn)) if crate::toolkit::recovery::version_of(media, psn) == Some(valid.version) => {
                    directory.set(Lpn::new(page), Some(psn));
                }
                (Some(valid), _) => panic!("page {page} of checkpoint {} is gone", valid.version),
                (None, _) => {
                    found.set(lpn, None);
                }
            }
        }
        let opened = search.scanned.iter().filter(|scanned| **scanned).count() as u32;
        Box::new(Self {
            shape,
            units: config.units,
            first,
            image,
            directory,
            valid,
            writing: None,
            window,
            began_at: 0_u32.wrapping_sub(opened),
            used: false,
            wanted: false,
            #[cfg(test)]
            stored: std::collections::BTreeMap::new(),
        })
    }
}
