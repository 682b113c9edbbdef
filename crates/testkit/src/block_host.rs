//! A host of a block drive that knows the legal result of every read, whatever lies between the host and the flash.
//!
//! Overlapping requests are carried out in the order of their submission, so the result of a read is known when it is
//! submitted.

use std::collections::{BTreeMap, BTreeSet};

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use flash::nand::Stamp;
use ssd::{Completion, Drive, QueueId, Request, Status, Tag};

/// A drive, or a layer above drives, whose power can be cut; the tests implement it for each layer that they check.
pub trait Layer: Drive<Stamp> {
    /// True if a power cut may bring back what was written before a discard, because discards are not recorded on
    /// flash.
    const FORGETS_DISCARDS: bool;

    /// Returns true if the power cut loses acknowledged changes that were not flushed.
    fn is_volatile(&self) -> bool;

    /// Returns true if preconditioning has written something.
    fn is_used(&self) -> bool;

    /// Cuts the power. Returns the tags of the requests that will never complete.
    fn cut_power(&mut self) -> Vec<Tag>;

    /// Switches the power on.
    fn power_on(&mut self, now: Time);

    /// Checks all invariants of the drive or layer.
    ///
    /// # Panics
    /// If an invariant is broken.
    fn check(&self);
}

#[derive(Clone, Debug, PartialEq)]
enum LegalContents {
    /// One of these stamps, of which the next read leaves one.
    OneOf(Vec<u64>),
    /// Any content; the next read decides.
    Unknown,
}

/// A host that submits random requests and checks every read.
#[derive(Debug)]
pub struct BlockHost<D> {
    /// The drive, or the layer above drives.
    pub drive: D,
    rng: Rng,
    held: Vec<LegalContents>,
    /// By tag, each request under way with the contents that it must return if it is a read.
    under_way: BTreeMap<Tag, (Io, Vec<LegalContents>)>,
    next_tag: Tag,
    is_volatile: bool,
    /// By sector, the contents before the changes that a power cut may undo, oldest first, each with the tag of the
    /// change.
    past: BTreeMap<u64, Vec<(Tag, LegalContents)>>,
    /// Tags of the changes that have completed and are not durable.
    ended: BTreeSet<Tag>,
    /// By tag of each flush under way, the tags of the changes that it will make durable.
    flushes: BTreeMap<Tag, BTreeSet<Tag>>,
    /// Addresses and lengths of random requests are multiples of this number of sectors.
    pub granularity: u64,
    /// The number of completed requests by status.
    pub by_status: BTreeMap<&'static str, u64>,
    /// True if requests may fail because data is lost.
    pub may_lose: bool,
    /// Sectors that were discarded and not written since, each with the tag of the discard.
    discarded: BTreeMap<u64, Tag>,
}

impl<D: Layer> BlockHost<D> {
    /// Creates a host of a drive that only preconditioning has written.
    #[must_use]
    pub fn new(drive: D, seed: u64) -> Self {
        let sectors = drive.capacity().get() as usize;
        let (is_used, is_volatile) = (drive.is_used(), drive.is_volatile());
        Self {
            drive,
            rng: Rng::stream(seed, "host"),
            held: vec![if is_used { LegalContents::Unknown } else { LegalContents::OneOf(vec![0]) }; sectors],
            under_way: BTreeMap::new(),
            next_tag: 1,
            is_volatile,
            past: BTreeMap::new(),
            ended: BTreeSet::new(),
            flushes: BTreeMap::new(),
            granularity: 1,
            by_status: BTreeMap::new(),
            may_lose: false,
            discarded: BTreeMap::new(),
        }
    }

    /// Submits a random request to the first `region` sectors.
    ///
    /// # Panics
    /// If a read returns illegal content, or a request is lost.
    pub fn submit_random(&mut self, region: u64) {
        let kind = match self.rng.below(20) {
            0 => IoKind::Flush,
            1 => IoKind::Discard,
            2..=9 => IoKind::Read,
            _ => IoKind::Write,
        };
        let region = region.min(self.held.len() as u64) / self.granularity;
        let largest = if self.rng.chance(0.1) { 400 } else { 40 } / self.granularity + 1;
        let start = self.rng.below(region);
        let sectors = (1 + self.rng.below(largest)).min(region - start);
        let (start, sectors) = (start * self.granularity, sectors * self.granularity);
        let io = if kind == IoKind::Flush { Io::FLUSH } else { Io::new(kind, Lba::new(start), Sectors::new(sectors)) };
        self.submit(io);
    }

    /// Submits a request now.
    pub fn submit(&mut self, io: Io) {
        let tag = self.next_tag;
        self.next_tag += 1;
        let extent = io.start.get() as usize..io.end().get() as usize;
        let mut data = Vec::new();
        let mut expected = Vec::new();
        match io.kind {
            IoKind::Write => {
                data = (0..io.sectors.get()).map(|i| Stamp(tag << 24 | i)).collect();
                let stamps = (io.start.get()..).zip(&data);
                stamps.for_each(|(sector, stamp)| self.change(tag, sector, stamp.0));
            }
            IoKind::Discard => {
                let unit = self.drive.discard_granularity().get();
                let first = io.start.get().next_multiple_of(unit);
                let end = io.end().get() / unit * unit;
                (first..end).for_each(|sector| self.change(tag, sector, 0));
                self.discarded.extend((first..end).map(|sector| (sector, tag)));
            }
            IoKind::Flush => _ = self.flushes.insert(tag, self.ended.clone()),
            _ => expected = self.held[extent].to_vec(),
        }
        self.under_way.insert(tag, (io, expected));
        let now = self.now();
        self.drive.submit(now, Request { tag, queue: QueueId::default(), io, data });
    }

    fn change(&mut self, tag: Tag, sector: u64, stamp: u64) {
        let before = std::mem::replace(&mut self.held[sector as usize], LegalContents::OneOf(vec![stamp]));
        self.past.entry(sector).or_default().push((tag, before));
    }

    /// Notes that no power cut undoes these changes, nor earlier changes of the same sectors.
    fn keep(&mut self, durable: &BTreeSet<Tag>) {
        self.past.retain(|_, past| {
            let newest = past.iter().rposition(|(tag, _)| durable.contains(tag));
            newest.into_iter().for_each(|newest| _ = past.drain(..=newest));
            !past.is_empty()
        });
        self.ended.retain(|tag| !durable.contains(tag));
    }

    /// The current time of the host.
    #[must_use]
    pub fn now(&self) -> Time {
        self.drive.counters().at
    }

    /// Advances the time to the next completion, and checks it. Returns false if nothing is under way.
    ///
    /// # Panics
    /// If a read returns illegal content, or a request is lost.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.drive.next_event() else { return false };
        let mut completions = Vec::new();
        self.drive.advance(at, &mut completions);
        completions.into_iter().for_each(|completion| self.completed(&completion));
        true
    }

    fn completed(&mut self, completion: &Completion<Stamp>) {
        let (io, expected) = self.under_way.remove(&completion.tag).expect("a request under way");
        *self.by_status.entry(completion.status.name()).or_default() += 1;
        if completion.status != Status::Done {
            assert!(self.may_lose, "{io:?} ended with {}", completion.status.name());
            if io.kind == IoKind::Write {
                self.doubt(&io);
            }
            return;
        }
        match io.kind {
            IoKind::Write | IoKind::Discard => {
                if io.kind == IoKind::Write {
                    let written = io.start.get()..io.end().get();
                    self.discarded.retain(|sector, tag| *tag > completion.tag || !written.contains(sector));
                }
                self.ended.insert(completion.tag);
                if !self.is_volatile {
                    self.keep(&BTreeSet::from([completion.tag]));
                }
                return;
            }
            IoKind::Flush => {
                let durable = self.flushes.remove(&completion.tag).expect("a flush under way");
                return self.keep(&durable);
            }
            _ => {}
        }
        for ((sector, expected), got) in (io.start.get()..).zip(expected).zip(&completion.data) {
            match &expected {
                LegalContents::OneOf(allowed) => assert!(
                    allowed.contains(&got.0),
                    "read {} at {} returned {:#x} for sector {sector}, allowed are {allowed:x?}",
                    completion.tag,
                    completion.end,
                    got.0,
                ),
                LegalContents::Unknown => {}
            }
            // The sector keeps the content that a read has found, unless a later request changes it.
            let held = &mut self.held[sector as usize];
            if *held == expected {
                *held = LegalContents::OneOf(vec![got.0]);
            }
        }
    }

    /// Marks the sectors of a failed write as unknown, for later reads and for requests under way.
    fn doubt(&mut self, failed: &Io) {
        let failed = failed.start.get()..failed.end().get();
        failed.clone().for_each(|sector| self.held[sector as usize] = LegalContents::Unknown);
        for (io, expected) in self.under_way.values_mut() {
            let of_sectors = (io.start.get()..).zip(expected).filter(|(sector, _)| failed.contains(sector));
            of_sectors.for_each(|(_, expected)| *expected = LegalContents::Unknown);
        }
    }

    /// The number of requests under way.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.under_way.len()
    }

    /// Cuts the power and switches it on again. Each sector of a change that was not durable may have the old content
    /// or the new one.
    ///
    /// # Panics
    /// If a read returns illegal content, or a request is lost.
    pub fn cut_power(&mut self) {
        let mut lost = self.drive.cut_power();
        lost.sort_unstable();
        assert_eq!(lost, self.under_way.keys().copied().collect::<Vec<_>>());
        self.under_way.clear();
        self.flushes.clear();
        self.ended.clear();
        for (sector, past) in std::mem::take(&mut self.past) {
            let held = &mut self.held[sector as usize];
            for (_, before) in past {
                *held = match (before, &held) {
                    (LegalContents::OneOf(before), LegalContents::OneOf(after)) => {
                        LegalContents::OneOf([before, after.clone()].concat())
                    }
                    _ => LegalContents::Unknown,
                };
            }
        }
        if D::FORGETS_DISCARDS {
            std::mem::take(&mut self.discarded)
                .into_keys()
                .for_each(|sector| self.held[sector as usize] = LegalContents::Unknown);
        }
        let now = self.now();
        self.drive.power_on(now);
    }

    /// Reads every sector, in pieces.
    ///
    /// # Panics
    /// If a read returns illegal content, or a request is lost.
    pub fn read_all(&mut self) {
        for start in (0..self.held.len() as u64).step_by(96) {
            let sectors = Sectors::new(96.min(self.held.len() as u64 - start));
            self.submit(Io::new(IoKind::Read, Lba::new(start), sectors));
            while self.outstanding() > 4 {
                assert!(self.step(), "requests are lost");
            }
        }
        self.finish();
    }

    /// Advances the time until all requests and the drive's own work have ended.
    ///
    /// # Panics
    /// If a read returns illegal content, or a request is lost.
    pub fn finish(&mut self) {
        while self.step() {}
        assert_eq!(self.outstanding(), 0, "requests are lost");
        self.drive.check();
    }

    /// Runs `requests` random requests with up to `depth` under way.
    ///
    /// # Panics
    /// If a read returns illegal content, or a request is lost.
    pub fn run(&mut self, requests: u64, depth: usize) {
        let region = self.held.len() as u64;
        for _ in 0..requests {
            self.submit_random(region);
            while self.outstanding() >= depth {
                assert!(self.step(), "requests are lost");
            }
        }
    }
}
