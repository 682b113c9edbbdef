//! The condition of a RAID: the places of its drives, the progress of rebuilds and repairs, and the mapped units.

use base::units::{Lpn, Time};
use flash::nand::Sector;
use ssd::RaidSpec;

use super::Raid;
use crate::layout::Layout;
use crate::members::Place;

impl<S: Sector> Raid<S> {
    /// The description of the RAID.
    #[must_use]
    pub const fn spec(&self) -> &RaidSpec {
        &self.spec
    }

    /// The present simulated time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The places in the stripes, in their order.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        self.members.places()
    }

    /// The number of places in the stripes without a drive.
    #[must_use]
    pub fn empty_places(&self) -> u32 {
        (0..self.layout.drives()).filter(|place| self.members.drive_at(*place).is_none()).count() as u32
    }

    /// The layout of data and parity over the places of the stripes.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The drive of the journal, if there is one.
    #[must_use]
    pub fn journal_drive(&self) -> Option<u32> {
        self.journal.as_ref().map(|journal| journal.drive)
    }

    /// True if a drive has failed.
    ///
    /// # Panics
    /// If there is no such drive.
    #[must_use]
    pub fn has_failed(&self, drive: u32) -> bool {
        self.members.has_failed(drive)
    }

    /// The number of stripes that hold data; the stripe numbers are below it.
    #[must_use]
    pub const fn stripes(&self) -> u64 {
        self.layout.stripes()
    }

    /// The number of stripes whose parity or mirrors are still to be repaired after a power cut.
    #[must_use]
    pub const fn unrepaired_stripes(&self) -> u64 {
        self.layout.stripes().saturating_sub(self.background.in_doubt)
    }

    /// True if a mapping unit of the host may hold data; false if it was never written, or was discarded, and reads as zeros. The answer
    /// takes no time and changes nothing.
    ///
    /// # Panics
    /// If the RAID has no power, or no such mapping unit.
    #[must_use]
    pub fn may_hold(&self, unit: u64) -> bool {
        let sectors = self.members.unit();
        let bands = self.layout.bands(unit * sectors, (unit + 1) * sectors);
        bands.iter().any(|band| {
            let lpn = Lpn::new(((band.stripe * self.layout.chunk() + band.from) / sectors) as u32);
            // A chunk is a whole number of mapping units, so the band has one shard.
            let places = (0..self.layout.copies()).map(|copy| self.layout.place(band.stripe, band.first, copy));
            let mut held = places.filter(|place| self.members.holds(*place, band.stripe)).peekable();
            // Data that no drive has is computed from the other drives.
            let is_computed = held.peek().is_none();
            let drives = held.filter_map(|place| self.members.drive_at(place));
            is_computed || { drives }.any(|drive| self.members.drives()[drive as usize].may_hold(lpn))
        })
    }

    /// The number of times at which a drive, or the RAID itself, had an event, including events that are not in the
    /// event hash.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }
}
