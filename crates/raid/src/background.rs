//! The RAID's own work: the rebuild of a spare, and the repair of parity and mirrors after a power cut. Windows of
//! stripes are read and written one after another, at a limited rate.

use base::units::{Rate, SECTOR, Time};
use flash::nand::Sector;

use crate::layout::Layout;
use crate::members::Members;
use crate::operation::Purpose;

/// Bytes of each drive in a window, unless a chunk is larger. Assumed: small enough to delay the host little, and large enough for most of
/// the bandwidth of a drive.
const WINDOW: u64 = 128 << 10;

/// A step of the RAID's own work: the stripes to read and write.
#[derive(Clone, Debug)]
pub(crate) struct StripeWindow {
    pub(crate) purpose: Purpose,
    pub(crate) stripes: std::ops::Range<u64>,
}

/// The schedule of the work.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    rate: Rate,
    /// The window under way.
    window: Option<StripeWindow>,
    /// The earliest time at which the next window may begin.
    earliest: Time,
    /// Rows from this row on may have wrong copies or parity.
    pub(crate) in_doubt: u64,
}

impl Background {
    pub(crate) const fn new(rate: Rate, is_in_doubt: bool) -> Self {
        Self { rate, window: None, earliest: Time::ZERO, in_doubt: if is_in_doubt { 0 } else { u64::MAX } }
    }

    /// The time at which the next window may begin; `None` while a window is under way.
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        self.window.is_none().then_some(self.earliest.max(now))
    }

    /// Begins the next window: first rows in doubt since a power cut, then spares, the lowest place first.
    pub(crate) fn begin<S: Sector>(
        &mut self,
        layout: &Layout,
        members: &Members<S>,
        now: Time,
    ) -> Option<StripeWindow> {
        let (purpose, first) = if self.in_doubt < layout.stripes() {
            (Purpose::Repair, self.in_doubt)
        } else {
            let unfinished =
                |place: &u32| members.drive_at(*place).is_some() && members.stripes_at(*place) < layout.stripes();
            let place = (0..layout.drives()).find(unfinished)?;
            let spare = members.drive_at(place)?;
            (Purpose::Rebuild { place, spare }, members.stripes_at(place))
        };
        let chunk = SECTOR * layout.chunk();
        let stripes = first..(first + (WINDOW / chunk.get()).max(1)).min(layout.stripes());
        self.earliest = now + self.rate.time(chunk * (stripes.end - stripes.start));
        let window = StripeWindow { purpose, stripes };
        self.window = Some(window.clone());
        Some(window)
    }

    /// Ends the window under way and returns it.
    pub(crate) fn end(&mut self, layout: &Layout) -> Option<StripeWindow> {
        let window = self.window.take()?;
        if window.purpose == Purpose::Repair {
            self.in_doubt = if window.stripes.end == layout.stripes() { u64::MAX } else { window.stripes.end };
        }
        Some(window)
    }

    /// Marks all rows as possibly wrong, because the wrong rows are not known.
    pub(crate) const fn doubt(&mut self) {
        self.in_doubt = 0;
    }

    /// Handles a power loss: the window under way will be repeated, and unless the RAID `is_clean`, all rows are in
    /// doubt.
    pub(crate) fn lose_power(&mut self, is_clean: bool) {
        self.window = None;
        if !is_clean {
            self.doubt();
        }
    }
}
