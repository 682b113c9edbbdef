//! A drive with a bug that shows at its interface. A bug that sits inside a mechanism is planted there, in the line that
//! it breaks; see [`Sabotage`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors, Time};
use flash::nand::Stamp;
use ssd::{Completion, Drive, Request, ResolvedDevice, Sabotage, Ssd, Tag};

/// The seed of a drive: this seed, or with [`Sabotage::Undetermined`] another one at each call.
pub(crate) fn seed(resolved: &ResolvedDevice, seed: u64) -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    if resolved.has_planted(Sabotage::Undetermined) { seed ^ CALLS.fetch_add(1, Ordering::Relaxed) } else { seed }
}

/// A drive that answers its host as the bug makes it answer. Without a bug it is the drive.
#[derive(Clone, Debug)]
pub(crate) struct SabotagedDrive {
    pub(crate) ssd: Ssd<Stamp>,
    /// Completions of requests that the drive never received.
    acknowledged: Vec<Completion<Stamp>>,
    /// The requests that the bug has changed, as the host submitted them.
    asked: BTreeMap<Tag, Io>,
}

impl SabotagedDrive {
    pub(crate) const fn new(ssd: Ssd<Stamp>) -> Self {
        Self { ssd, acknowledged: Vec::new(), asked: BTreeMap::new() }
    }

    fn has(&self, bug: Sabotage) -> bool {
        self.ssd.resolved().has_planted(bug)
    }

    /// Submits a request at the current time.
    pub(crate) fn submit(&mut self, mut request: Request<Stamp>) {
        let now = self.ssd.now();
        let is_forgotten = match request.io.kind {
            IoKind::Flush => self.has(Sabotage::FlushLies),
            IoKind::Discard => self.has(Sabotage::DiscardForgotten),
            _ => false,
        };
        if is_forgotten {
            return self.acknowledged.push(Completion::of(request, now));
        }
        let asked = request.io;
        match asked.kind {
            IoKind::Discard if self.has(Sabotage::PartDiscarded) => request.io = self.widened(&asked),
            IoKind::Write if self.has(Sabotage::HandleShared) => request.io.placement = PlacementId::default(),
            _ => {}
        }
        if request.io != asked {
            self.asked.insert(request.tag, asked);
        }
        self.ssd.submit(now, request);
    }

    /// The mapping units that an extent touches, as an extent.
    fn widened(&self, io: &Io) -> Io {
        let unit = self.ssd.discard_granularity().get();
        let start = io.start.get() / unit * unit;
        let end = io.end().get().next_multiple_of(unit).min(self.ssd.capacity().get());
        Io { start: Lba::new(start), sectors: Sectors::new(end - start), ..*io }
    }

    pub(crate) fn next_event(&self) -> Option<Time> {
        if self.acknowledged.is_empty() { self.ssd.next_event() } else { Some(self.ssd.now()) }
    }

    /// See [`Drive::advance`].
    pub(crate) fn advance(&mut self, to: Time, completions: &mut Vec<Completion<Stamp>>) {
        if !self.acknowledged.is_empty() {
            return completions.append(&mut self.acknowledged);
        }
        let first = completions.len();
        self.ssd.advance(to, completions);
        for completion in &mut completions[first..] {
            self.spoil(completion);
        }
    }

    /// Changes an answer of the drive into the answer with the bug.
    fn spoil(&mut self, completion: &mut Completion<Stamp>) {
        let Completion { tag, io, data, .. } = completion;
        *io = self.asked.remove(tag).unwrap_or(*io);
        let unit = self.ssd.discard_granularity().get();
        match io.kind {
            IoKind::Read if self.has(Sabotage::FirstPartServes) => {
                let first = unit - io.start.get() % unit;
                data.iter_mut().skip(first as usize).for_each(|sector| *sector = Stamp::default());
            }
            IoKind::Read if self.has(Sabotage::PieceSkips) => {
                let chop = self.ssd.resolved().host.chop.map_or(u64::MAX, u64::from);
                for (sector, stamp) in (io.start.get()..).zip(data) {
                    let lpn = sector / unit;
                    if lpn > io.start.get() / unit && lpn.is_multiple_of(chop) {
                        *stamp = Stamp::default();
                    }
                }
            }
            _ => {}
        }
    }

    /// Cuts the power. Returns the tags of the requests that had not completed.
    pub(crate) fn cut_power(&mut self) -> Vec<Tag> {
        self.asked.clear();
        let lost = self.acknowledged.drain(..).map(|completion| completion.tag);
        lost.chain(self.ssd.cut_power()).collect()
    }

    /// Replaces the drive by another one with the same bug, which has no requests under way.
    pub(crate) fn replace(&mut self, ssd: Ssd<Stamp>) {
        *self = Self::new(ssd);
    }
}
