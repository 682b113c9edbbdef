//! An oracle that knows the legal contents of every sector, also after power cuts.
//!
//! A read returns the newest completed write. After a power cut a sector may hold its last durable content or anything
//! written since. A discard makes no promise across power cuts (ATA calls it non-deterministic): until the sector is
//! durably written again, a cut may bring back any of its former contents, unless discards are durable. Apart from
//! that, a sector never holds anything older than its last durable content, and never the content of another sector.
//! [`ssd::Completeness`] says what a refused request leaves.

use std::sync::Arc;

use base::io::{Io, IoKind};
use base::units::Lba;
use flash::nand::Stamp;
use ssd::History;

/// A possible content after a power cut.
#[derive(Clone, Copy, Debug)]
struct Possible {
    /// Position of the write in the order of submission, from 1 on; 0 for a discard and for the initial content.
    order: u64,
    stamp: Stamp,
    /// True if the request of the content has completed.
    done: bool,
}

/// The contents that one sector may hold.
#[derive(Clone, Debug, Default)]
struct Sector {
    /// Possible contents after a power cut: first of completed requests in the order of completion, then of the others.
    /// The first content is durable. A drive with several queues does not keep the order of submission: it completes
    /// overlapping requests in the order in which it serves them.
    possible: Vec<Possible>,
    /// Content that a read returns.
    now: Stamp,
    /// Contents of refused requests, which a read may return instead. The first read decides.
    refused: Vec<Stamp>,
    /// True if a discard is among the possible contents.
    discarded: bool,
    /// The contents ever written to this sector.
    history: Vec<Stamp>,
}

impl Sector {
    /// Rules out the contents before position `at`, because the one at `at` is durable.
    fn confirm(&mut self, at: usize) {
        let discard = self.possible[at..].iter().any(|one| one.order == 0 && one.stamp == Stamp(0));
        self.possible.drain(..at);
        self.discarded &= discard;
    }

    /// Marks the request of a content as completed. Returns the new position of the content.
    fn complete(&mut self, which: impl Fn(&Possible) -> bool) -> usize {
        let from = self.possible.iter().position(|one| !one.done && which(one)).expect("it was submitted");
        let mut one = self.possible.remove(from);
        one.done = true;
        let to = self.possible.iter().position(|one| !one.done).unwrap_or(self.possible.len());
        self.possible.insert(to, one);
        self.refused.clear();
        to
    }

    /// Marks the request of a content as refused: the sector may hold the content or not.
    fn refuse(&mut self, which: impl Fn(&Possible) -> bool) {
        let mut refused = std::mem::take(&mut self.refused);
        let at = self.complete(which);
        refused.push(self.possible[at].stamp);
        self.refused = refused;
    }

    /// Fixes the content that a read has found.
    fn decide(&mut self, got: Stamp) {
        if std::mem::take(&mut self.refused).contains(&got) {
            self.now = got;
        }
    }
}

/// The legal contents of all sectors of a device.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// The sectors that the host has written or discarded, `None` for others; copies of this oracle share each until it
    /// changes.
    sectors: Vec<Option<Arc<Sector>>>,
    /// True if a write is durable when it is acknowledged.
    write_through: bool,
    /// True if a discard is durable when it is acknowledged, and an older content does not come back before that.
    durable_discards: bool,
    /// The number of sectors of a mapping unit, because only whole mapping units are discarded.
    unit: u64,
    writes: u64,
    stamps: u64,
    /// The writes of preconditioning; `None` if there was none.
    before: Option<History>,
}

impl Oracle {
    /// Creates an oracle for a new device without durable discards.
    #[must_use]
    pub const fn new(write_through: bool, unit: u64) -> Self {
        Self { sectors: Vec::new(), write_through, durable_discards: false, unit, writes: 0, stamps: 0, before: None }
    }

    /// Sets whether the device has durable discards.
    #[must_use]
    pub const fn with_durable_discards(mut self, durable: bool) -> Self {
        self.durable_discards = durable;
        self
    }

    /// Adds the writes of preconditioning.
    #[must_use]
    pub fn after(mut self, history: Option<History>) -> Self {
        self.before = history;
        self
    }

    /// Returns the content of a sector that the host has not touched; `None` if it is unknown.
    fn untouched(&self, sector: u64) -> Option<Stamp> {
        self.before.as_ref().map_or(Some(Stamp(0)), |history| history.content(Lba::new(sector)))
    }

    /// Returns the entry of a sector; a new one starts with the content before the host touched it.
    fn entry(&mut self, sector: u64) -> &mut Sector {
        let at = sector as usize;
        if self.sectors.len() <= at {
            self.sectors.resize(at + 1, None);
        }
        if self.sectors[at].is_none() {
            let now = self.untouched(sector).unwrap_or_default();
            let possible = vec![Possible { order: 0, stamp: now, done: true }];
            self.sectors[at] = Some(Arc::new(Sector { possible, now, history: vec![now], ..Sector::default() }));
        }
        self.touched(sector)
    }

    /// Returns the entry of a sector that the host has touched.
    fn touched(&mut self, sector: u64) -> &mut Sector {
        Arc::make_mut(self.sectors[sector as usize].as_mut().expect("it was submitted"))
    }

    /// Creates the stamps of a write that is about to be submitted; from now on a power cut may leave them.
    pub fn submit_write(&mut self, io: &Io) -> Vec<Stamp> {
        self.writes += 1;
        let order = self.writes;
        (io.start.get()..io.end().get())
            .map(|sector| {
                self.stamps += 1;
                let stamp = Stamp(self.stamps);
                let entry = self.entry(sector);
                entry.possible.push(Possible { order, stamp, done: false });
                entry.history.push(stamp);
                stamp
            })
            .collect()
    }

    /// The number of writes submitted so far, which is the number of the latest one.
    #[must_use]
    pub const fn writes(&self) -> u64 {
        self.writes
    }

    /// Notes a completed write.
    pub fn complete_write(&mut self, io: &Io, stamps: &[Stamp]) {
        for (sector, stamp) in (io.start.get()..).zip(stamps) {
            let write_through = self.write_through;
            let entry = self.touched(sector);
            entry.now = *stamp;
            let at = entry.complete(|one| one.stamp == *stamp);
            if write_through {
                entry.confirm(at);
            }
        }
    }

    /// Notes a refused write.
    pub fn refuse_write(&mut self, io: &Io, stamps: &[Stamp]) {
        for (sector, stamp) in (io.start.get()..).zip(stamps) {
            self.touched(sector).refuse(|one| one.stamp == *stamp);
        }
    }

    /// Notes a completed flush, submitted when the writes with `covered(order)` were complete.
    pub fn complete_flush(&mut self, covered: impl Fn(u64) -> bool) {
        for entry in self.sectors.iter_mut().flatten() {
            let last = entry.possible.iter().rposition(|one| one.order > 0 && covered(one.order));
            if let Some(at) = last.filter(|at| *at > 0) {
                Arc::make_mut(entry).confirm(at);
            }
        }
    }

    /// Notes a discard that is about to be submitted: from now on a power cut may leave any former content. The drive
    /// may forget the mapping unit before the host gets the answer, and the following erase may be torn.
    pub fn submit_discard(&mut self, io: &Io) {
        let durable = self.durable_discards;
        for sector in self.discarded(io) {
            let entry = self.entry(sector);
            entry.discarded |= !durable;
            entry.possible.push(Possible { order: 0, stamp: Stamp(0), done: false });
        }
    }

    /// Notes a completed discard.
    pub fn complete_discard(&mut self, io: &Io) {
        let durable = self.durable_discards;
        for sector in self.discarded(io) {
            let entry = self.touched(sector);
            let at = entry.complete(|one| one.order == 0 && one.stamp == Stamp(0));
            entry.now = Stamp(0);
            if durable {
                entry.confirm(at);
            }
        }
    }

    /// Notes a refused discard.
    pub fn refuse_discard(&mut self, io: &Io) {
        for sector in self.discarded(io) {
            self.touched(sector).refuse(|one| one.order == 0 && one.stamp == Stamp(0));
        }
    }

    /// Returns the sectors of the whole mapping units in a discard.
    fn discarded(&self, io: &Io) -> std::ops::Range<u64> {
        debug_assert_eq!(io.kind, IoKind::Discard);
        io.start.get().div_ceil(self.unit) * self.unit..io.end().get() / self.unit * self.unit
    }

    /// Checks the data of a completed read.
    ///
    /// # Panics
    /// If a sector does not hold the newest completed write.
    pub fn check_read(&mut self, io: &Io, data: &[Stamp]) {
        assert_eq!(data.len() as u64, io.sectors.get());
        for (sector, got) in (io.start.get()..).zip(data) {
            let open = self.sectors.get_mut(sector as usize).and_then(Option::as_mut);
            if let Some(entry) = open.filter(|entry| !entry.refused.is_empty()) {
                Arc::make_mut(entry).decide(*got);
            }
            let entry = self.sectors.get(sector as usize).and_then(Option::as_ref);
            let known = entry.map(|entry| entry.now).or_else(|| self.untouched(sector));
            let Some(expected) = known else { continue };
            assert_eq!(*got, expected, "sector {sector} holds {} instead of {}", called(*got), called(expected));
        }
    }

    /// Checks the content of a sector after a power cut, and expects it from now on.
    ///
    /// # Panics
    /// If the content is not possible.
    pub fn check_recovered(&mut self, sector: u64, got: Stamp) {
        let untouched = self.untouched(sector);
        let Some(entry) = self.sectors.get_mut(sector as usize).and_then(Option::as_mut) else {
            let Some(expected) = untouched else { return };
            assert_eq!(got, expected, "sector {sector} holds {} instead of {}", called(got), called(expected));
            return;
        };
        let known = entry.possible.iter().any(|one| one.stamp == got);
        // The history has only the last preconditioning write of each sector; any earlier version came before it.
        let earlier = match (got.as_preconditioned(), untouched.and_then(Stamp::as_preconditioned)) {
            (Some((at, version)), Some((_, last))) => at.get() == sector && version < last,
            _ => false,
        };
        let possible = known || (entry.discarded && (earlier || entry.history.contains(&got)));
        assert!(possible, "sector {sector} holds {got:?} after a power cut, which must be one of {:?}", entry.possible);
        let settled = entry.possible.len() == 1 && entry.refused.is_empty();
        let certain = settled && !entry.discarded && entry.now == got;
        if !certain {
            let entry = Arc::make_mut(entry);
            entry.now = got;
            entry.discarded = false;
            entry.refused.clear();
            entry.possible = vec![Possible { order: 0, stamp: got, done: true }];
        }
    }
}

/// Describes a stamp in words.
fn called(stamp: Stamp) -> String {
    match stamp.as_preconditioned() {
        Some((sector, version)) => format!("what preconditioning wrote to {sector} as version {version}"),
        None if stamp == Stamp(0) => "zeros".into(),
        None => format!("{stamp:?}"),
    }
}
