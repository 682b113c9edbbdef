//! Programs of pages: their checks, their content, and pages that a failed program or a power cut leaves torn.

use std::ops::Range;

use base::units::Psn;

use super::{Contents, Media, Mode, Stream, Target};
use crate::nand::Spare;

impl Media {
    /// Number of slots programmed with data that could not be read before, since the array was made or loaded.
    #[must_use]
    pub const fn unreadable_copies(&self) -> u64 {
        self.unreadable_copies
    }

    /// True if a slot was programmed with data that could not be read, and no FTL has said that it stays so. An FTL
    /// that programs such data again ignores the slot when it mounts.
    #[must_use]
    pub fn is_tentative(&self, psn: Psn) -> bool {
        !self.tentative.is_empty() && self.tentative.contains_key(&psn.get())
    }

    /// Notes that the data of a slot programmed with unreadable data is programmed again elsewhere: the slot is no copy
    /// of unreadable data.
    pub fn make_again(&mut self, psn: Psn) {
        if let Some(again) = self.tentative.get_mut(&psn.get()) {
            self.unreadable_copies -= u64::from(!std::mem::replace(again, true));
        }
    }

    /// Notes for all slots that were programmed with unreadable data that their data is programmed again. So a mount
    /// ignores the slots on which the FTL had not decided when the power was cut.
    pub fn make_all_again(&mut self) {
        let new = self.tentative.values_mut().filter_map(|again| (!std::mem::replace(again, true)).then_some(1));
        self.unreadable_copies -= new.sum::<u64>();
    }

    /// Notes that the data of a slot stays lost, because there is no source to make it from.
    pub fn keep_lost(&mut self, psn: Psn) {
        self.tentative.remove(&psn.get());
    }

    /// Programs pages from `target` on. `spare_of(i)` returns the spare area of the i-th of `count` slots, and true if
    /// its data is known to be lost; the rest of the last page is padding. Returns true if no page failed; the slots of
    /// a failed page are torn.
    ///
    /// # Panics
    ///
    /// If the rules of NAND forbid the program: on a page that is not erased or out of order in its block; in a bad
    /// block or behind a failed program of its block; not at a page boundary; in another mode than the block was opened
    /// in, or behind its last page in that mode; or on pages that no single command programs.
    #[inline]
    pub(crate) fn program(
        &mut self,
        target: Target,
        count: u32,
        (stream, mode): (Stream, Mode),
        spare_of: impl Fn(usize) -> (Spare, bool),
        payload: &[u8],
    ) -> bool {
        let payload = Contents::new(self.kind, payload, &[]);
        self.program_slots(target, count, (stream, mode), spare_of, payload)
    }

    /// Programs slots as [`Self::program`] does, with content that may be given by first sectors.
    #[inline]
    pub(crate) fn program_slots(
        &mut self,
        target: Target,
        count: u32,
        (stream, mode): (Stream, Mode),
        spare_of: impl Fn(usize) -> (Spare, bool),
        payload: Contents<'_>,
    ) -> bool {
        let slots = self.geometry.slots;
        let (row, plane) = self.geometry.page_and_plane(target.offset);
        assert!((row * self.geometry.stripe + plane) * slots == target.offset, "program inside a page: {target:?}");
        assert!(count > 0, "a program of nothing: {target:?}");
        let last_row = if count <= slots { row } else { self.geometry.page_and_plane(target.offset + count - 1).0 };
        self.check_rows(target, (row, last_row), mode);
        let (mut place, mut first) = ((row, plane), 0);
        let mut all_well = true;
        loop {
            let end = (first + slots).min(count);
            all_well &= self.program_page(target, place, first..end, (stream, mode), &spare_of, payload);
            if end == count {
                let well = all_well || self.note_failures(target, count);
                if self.kind.is_present() && self.backing.is_some() {
                    self.store_program(target, count, payload.all());
                }
                return well;
            }
            first = end;
            place = self.geometry.page_and_plane(target.offset + first);
        }
    }

    /// Checks that the rows of a program exist in its mode, and that a single command programs them.
    #[inline]
    fn check_rows(&self, target: Target, (first, last): (u32, u32), mode: Mode) {
        let pages = self.pages_in(mode);
        assert!(last < pages, "program of page {last} of {}, which has {pages} pages in its mode", target.superblock);
        assert!(
            first == last || first / self.one_shot == last / self.one_shot,
            "one program command over rows {first} to {last} of {}: more than a word line",
            target.superblock
        );
    }

    /// Programs one page of a program: the slots of `range`, counted from the program's target on. Returns false if the
    /// page failed.
    #[inline]
    fn program_page(
        &mut self,
        target: Target,
        (page, plane): (u32, u32),
        range: Range<u32>,
        (stream, mode): (Stream, Mode),
        spare_of: &impl Fn(usize) -> (Spare, bool),
        payload: Contents<'_>,
    ) -> bool {
        let opened = self.births;
        let block = self.block_mut(target.superblock, plane);
        assert!(!block.bad, "program of a bad block: page {page}, plane {plane} of {}", target.superblock);
        assert!(
            !block.failing,
            "program of page {page}, plane {plane} of {}, behind a program that failed in this block",
            target.superblock
        );
        assert!(
            block.next_page <= page,
            "program of page {page}, plane {plane} of {}: page {} is the next erased one",
            target.superblock,
            block.next_page
        );
        let opens = block.next_page == 0;
        if opens {
            (block.opened, block.stream, block.mode) = (opened, stream, mode);
        }
        let in_mode = block.mode;
        assert!(in_mode == mode, "program of {} in mode {mode:?}, opened in {in_mode:?}", target.superblock);
        if block.next_page < page {
            block.sparse = true;
        }
        block.next_page = page + 1;
        self.births += u64::from(opens);
        let well = !self.faults.program_fails() && !self.is_dead(target.superblock);
        let Range { start, end } = range;
        self.note_program(self.geometry.slot(target.superblock, target.offset + start));
        for i in start..end {
            let psn = self.geometry.slot(target.superblock, target.offset + i);
            let (spare, lost) = if well { spare_of(i as usize) } else { (Spare::Torn, true) };
            self.spares.set(psn.index(), spare);
            if lost {
                self.unreadable.insert(psn.get());
                self.unreadable_copies += u64::from(well);
                if well {
                    self.tentative.insert(psn.get(), false);
                }
            }
        }
        if well && spare_of(start as usize).0 == Spare::Empty {
            self.block_mut(target.superblock, plane).sparse = true;
        }
        if self.kind.is_present() && !self.backing.is_some() {
            let psn = self.geometry.slot(target.superblock, target.offset + start);
            self.keep_page((target.superblock, plane, page), (psn, start..end), !well, payload);
        }
        well
    }
}
