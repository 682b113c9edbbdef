//! The state of the FTL from nothing but the media.
//!
//! Every programmed page carries its unit and version. Of several copies the highest version wins, of equal ones that
//! in the older block: so the destination of a merge that was interrupted holds nothing, and is erased. A block in
//! which every page is at its own offset can be a data block; of several for one logical block the one with the most
//! pages that count is it. What else holds a page that counts is a log block. So there may be more log blocks than
//! there should be, until they have been merged.

use base::units::{Psn, SuperblockId};
use flash::nand::{BlockBirth, Media, Sector, Spare};

use super::HybridFtl;
use super::address::Lbn;
use super::blocks::State;
use super::logs::Role;
use crate::sabotage::Sabotage;

/// What a block turned out to hold.
#[derive(Clone, Copy, Debug)]
struct Found {
    superblock: SuperblockId,
    /// Pages that count.
    valid: u32,
    /// The logical block that all its pages belong to, if there is only one.
    block: Option<Lbn>,
    /// Each page is at its own offset.
    in_place: bool,
    /// And there is none missing before the last.
    in_order: bool,
    /// The page behind the last programmed one, or behind all if a program failed.
    next: u32,
}

impl HybridFtl {
    pub(super) fn recover_state<S: Sector>(&mut self, media: &Media<S>) {
        let mut programmed: Vec<(BlockBirth, SuperblockId)> = Vec::new();
        for superblock in (0..self.geometry.superblock_count()).map(SuperblockId::new) {
            if media.is_bad(superblock) {
                self.block(superblock).state = State::Bad;
            } else if media.is_erased(superblock) {
                let wear = if self.planted.is(Sabotage::WearForgotten) { 0 } else { media.erases(superblock) };
                self.allocator.put(self.geometry.die_of(superblock), superblock, wear);
            } else {
                self.block(superblock).open();
                self.block(superblock).failing = media.is_failing(superblock);
                programmed.push((media.birth(superblock), superblock));
            }
        }
        programmed.sort_unstable();
        let newest = self.newest(media, &programmed);
        self.found = newest.iter().flatten().count() as u32;
        let found: Vec<Found> = programmed.iter().map(|(_, block)| self.look_at(media, *block, &newest)).collect();
        let data = self.choose_data_blocks(&found);
        let mut logs = Vec::new();
        for block in found {
            match block.block.filter(|lbn| data[*lbn as usize] == Some(block.superblock)) {
                Some(lbn) => {
                    self.data[lbn as usize] = Some(block.superblock);
                    self.block(block.superblock).next = block.next;
                }
                None if block.valid > 0 => logs.push(block),
                None => self.useless.push(block.superblock),
            }
        }
        self.take_logs(media, &logs, &newest);
        let orphans = (0..self.address.blocks()).filter(|lbn| self.data[*lbn as usize].is_none());
        self.orphans = orphans.filter(|lbn| !self.logs.is_empty(*lbn)).count() as u32;
    }

    /// The newest copy of every unit.
    fn newest<S: Sector>(&mut self, media: &Media<S>, programmed: &[(BlockBirth, SuperblockId)]) -> Vec<Option<Psn>> {
        // A new drive has nothing to be looked for.
        let units = if programmed.is_empty() { 0 } else { self.units };
        let mut newest: Vec<Option<Psn>> = vec![None; units as usize];
        for (_, superblock) in programmed {
            for page in 0..self.pages {
                let psn = self.geometry.slot(*superblock, page);
                let Spare::Data { lpn, version } = media.spare(psn) else { continue };
                self.versions.note(version);
                let Some(best) = newest.get_mut(lpn.index()) else { continue };
                let known = best.map(|best| match media.spare(best) {
                    Spare::Data { version, .. } => version,
                    Spare::Empty | Spare::Torn => 0,
                });
                let older = self.planted.is(Sabotage::OlderRecovered);
                if known.is_none_or(|known| if older { version < known } else { version > known }) {
                    *best = Some(psn);
                }
            }
        }
        newest
    }

    fn look_at<S: Sector>(&self, media: &Media<S>, superblock: SuperblockId, newest: &[Option<Psn>]) -> Found {
        let mut found = Found { superblock, valid: 0, block: None, in_place: true, in_order: true, next: 0 };
        let mut blocks = 0;
        let mut pages = 0;
        for page in 0..self.pages {
            let psn = self.geometry.slot(superblock, page);
            let spare = media.spare(psn);
            let torn = spare == Spare::Torn && self.planted.is(Sabotage::TornPageForgotten);
            if spare != Spare::Empty && !torn {
                found.next = page + 1;
            }
            let Spare::Data { lpn, .. } = spare else { continue };
            let (lbn, offset) = self.address.split(lpn);
            if found.block != Some(lbn) {
                found.block = Some(lbn);
                blocks += 1;
            }
            pages += 1;
            found.in_place &= offset == page;
            found.valid += u32::from(newest.get(lpn.index()).copied().flatten() == Some(psn));
        }
        found.block = found.block.filter(|_| blocks == 1);
        found.in_place &= found.block.is_some();
        found.in_order = found.in_place && pages == found.next;
        if media.is_failing(superblock) {
            // It takes no more.
            (found.next, found.in_order) = (self.pages, false);
        }
        found
    }

    /// The data block of each logical block, if there is one that can be it.
    fn choose_data_blocks(&self, found: &[Found]) -> Vec<Option<SuperblockId>> {
        let mut best: Vec<Option<&Found>> = vec![None; self.address.blocks() as usize];
        for block in found.iter().filter(|block| block.in_place && block.valid > 0) {
            let Some(lbn) = block.block else { continue };
            let best = &mut best[lbn as usize];
            if best.is_none_or(|best| block.valid > best.valid) {
                *best = Some(block);
            }
        }
        best.into_iter().map(|best| Some(best?.superblock)).collect()
    }

    /// Log blocks go on with their role as far as there can be one of each.
    fn take_logs<S: Sector>(&mut self, media: &Media<S>, logs: &[Found], newest: &[Option<Psn>]) {
        let kinds: Vec<_> = logs.iter().map(|log| (log.block, log.in_order)).collect();
        let trusted = self.planted.is(Sabotage::InOrderTrusted);
        for (found, role) in logs.iter().zip(self.policy.roles(&kinds)) {
            let id = self.logs.open(found.superblock, role);
            self.block(found.superblock).log = Some(id);
            let log = self.logs.log_mut(id);
            log.next = found.next;
            log.in_order = (found.in_order || trusted) && role != Role::Random;
            for page in 0..found.next {
                let psn = self.geometry.slot(found.superblock, page);
                let Spare::Data { lpn, .. } = media.spare(psn) else { continue };
                if newest.get(lpn.index()).copied().flatten() == Some(psn) {
                    let (lbn, offset) = self.address.split(lpn);
                    self.logs.link(lbn, offset, self.logs.place(id, page));
                }
            }
        }
    }
}
