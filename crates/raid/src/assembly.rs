//! Computes the data and the parity of an operation, from its own data and the data that it has read.

use flash::nand::Sector;

use crate::code::{self, Shard};
use crate::content::Content;
use crate::layout::{Band, Layout};
use crate::members::Members;
use crate::operation::Operation;
use crate::plan::{Range, Update};

/// An operation whose reads have ended, with the context to interpret its data.
pub(crate) struct Assembly<'a, S> {
    pub(crate) layout: &'a Layout,
    pub(crate) members: &'a Members<S>,
    pub(crate) content: &'a Content,
    pub(crate) operation: &'a Operation<S>,
}

impl<S: Sector> Assembly<'_, S> {
    /// All shards of a band, as bytes: those that were read, and the recovered data shards if all data must be
    /// recovered.
    fn shards(&self, band: &Band) -> Vec<Option<Shard>> {
        let (at, count) = (band.stripe * self.layout.chunk() + band.from, band.to - band.from);
        let each = self.layout.places(band.stripe).map(|place| {
            let sectors = self.operation.read_from(place, at, count)?;
            Some(self.content.bytes(place, at, sectors))
        });
        each.collect()
    }

    fn recovered_shards(&self, band: &Band) -> Vec<Option<Shard>> {
        let mut shards = self.shards(band);
        code::recover(&mut shards, self.layout.data() as usize);
        shards
    }

    /// The sectors of a data shard of a band, read or recovered.
    fn data_of(&self, band: &Band, shard: u32) -> Vec<S> {
        let (at, count) = (band.stripe * self.layout.chunk() + band.from, band.to - band.from);
        if !S::KIND.is_present() {
            return vec![S::default(); count as usize];
        }
        let copies = (0..self.layout.copies()).map(|copy| self.layout.place(band.stripe, shard, copy));
        if let Some(read) = copies.clone().find_map(|place| self.operation.read_from(place, at, count)) {
            return read.to_vec();
        }
        let mut shards = self.recovered_shards(band);
        let bytes = shards[shard as usize].take().expect("it was recovered");
        self.content.sectors(self.layout.place(band.stripe, shard, 0), at, bytes, count)
    }

    pub(crate) fn gathered(&self) -> Vec<S> {
        let mut data = vec![S::default(); self.operation.completion.io.sectors.get() as usize];
        if !S::KIND.is_present() {
            return data;
        }
        for (band, _) in &self.operation.bands {
            for shard in band.first..band.last {
                let to = (self.layout.address(band.stripe, shard, band.from) - self.operation.completion.io.start.get())
                    as usize;
                let read = self.data_of(band, shard);
                data[to..to + read.len()].copy_from_slice(&read);
            }
        }
        data
    }

    /// The number of sectors of a read that came from another drive: computed, or from another copy because the first
    /// could not be read.
    pub(crate) fn recovered(&self) -> u64 {
        let is_computed = |band: &Band, shard: u32| {
            let (at, count) = (band.stripe * self.layout.chunk() + band.from, band.to - band.from);
            let mut copies = (0..self.layout.copies()).map(|copy| self.layout.place(band.stripe, shard, copy));
            let is_unreadable = |place: u32| self.is_unreadable(&Range { place, from: at, to: at + count });
            copies.clone().any(is_unreadable) || copies.all(|place| !self.operation.has_read(place, at, count))
        };
        let of_band = |(band, _): &(Band, Update)| {
            (band.first..band.last).filter(|shard| is_computed(band, *shard)).count() as u64 * (band.to - band.from)
        };
        self.operation.bands.iter().map(of_band).sum()
    }

    fn is_unreadable(&self, range: &Range) -> bool {
        self.operation.unreadable.iter().any(|unreadable| unreadable.overlaps(range))
    }

    /// Writes that repair the sectors that a read could not read, on their drive.
    pub(crate) fn rewrites(&self) -> Vec<(Range, Vec<S>)> {
        let mut again = Vec::new();
        if self.operation.unreadable.is_empty() {
            return again;
        }
        for (band, _) in &self.operation.bands {
            for shard in band.first..band.last {
                for place in (0..self.layout.copies()).map(|copy| self.layout.place(band.stripe, shard, copy)) {
                    let stripe = band.stripe * self.layout.chunk();
                    let range = Range { place, from: stripe + band.from, to: stripe + band.to };
                    if self.is_unreadable(&range) && self.members.holds(place, band.stripe) {
                        again.push((range, self.data_of(band, shard)));
                    }
                }
            }
        }
        again
    }

    /// The data and the parity to write for a write of the host.
    pub(crate) fn updates(&self) -> Vec<(Range, Vec<S>)> {
        let mut writes = Vec::new();
        let holds = |place: u32, stripe: u64| self.members.holds(place, stripe);
        for (band, update) in &self.operation.bands {
            let (at, count) = (band.stripe * self.layout.chunk() + band.from, band.to - band.from);
            let range = |place| Range { place, from: at, to: at + count };
            let new = |shard: u32| {
                let from = (self.layout.address(band.stripe, shard, band.from)
                    - self.operation.completion.io.start.get()) as usize;
                &self.operation.completion.data[from..from + count as usize]
            };
            for shard in band.first..band.last {
                let copies = (0..self.layout.copies()).map(|copy| self.layout.place(band.stripe, shard, copy));
                let held = copies.filter(|place| holds(*place, band.stripe));
                writes.extend(held.map(|place| (range(place), new(shard).to_vec())));
            }
            if *update == Update::None {
                continue;
            }
            let parity = self.parity_of(band, *update, new);
            for number in 0..self.layout.parities() {
                let place = self.layout.place_of_parity(band.stripe, number);
                if holds(place, band.stripe) {
                    let bytes = parity.get(number as usize).cloned().flatten().unwrap_or_default();
                    writes.push((range(place), self.content.sectors(place, at, bytes, count)));
                }
            }
        }
        writes
    }

    /// True if a write of parity follows from old data and old parity; for a planted bug.
    pub(crate) fn is_modified_parity(&self, range: &Range) -> bool {
        let is_its = |(band, update): &&(Band, Update)| {
            let parity = (0..self.layout.parities()).map(|number| self.layout.place_of_parity(band.stripe, number));
            *update == Update::Modify
                && range.from == band.stripe * self.layout.chunk() + band.from
                && parity.into_iter().any(|place| place == range.place)
        };
        self.operation.bands.iter().any(|band| is_its(&band))
    }

    /// The new parity shards of a band; empty if sectors have no content.
    fn parity_of<'a>(&self, band: &Band, update: Update, new: impl Fn(u32) -> &'a [S]) -> Vec<Option<Shard>>
    where
        S: 'a,
    {
        if !S::KIND.is_present() {
            return Vec::new();
        }
        let at = band.stripe * self.layout.chunk() + band.from;
        let data = self.layout.data() as usize;
        let new = |shard: u32| self.content.bytes(self.layout.place(band.stripe, shard, 0), at, new(shard));
        if update == Update::Modify {
            let mut shards = self.shards(band);
            let (old, parities) = shards.split_at_mut(data);
            for (number, parity) in parities.iter_mut().enumerate() {
                let Some(parity) = parity else { continue };
                for shard in band.first..band.last {
                    let old = old[shard as usize].as_ref().expect("the old data was read");
                    code::change(parity, number, shard as usize, old, &new(shard));
                }
            }
            return parities.to_vec();
        }
        let mut shards = match update {
            Update::Recover => self.recovered_shards(band),
            _ => self.shards(band),
        };
        (band.first..band.last).for_each(|shard| shards[shard as usize] = Some(new(shard)));
        let whole: Vec<Shard> =
            shards.into_iter().take(data).map(|shard| shard.expect("the stripe is complete")).collect();
        (0..self.layout.parities() as usize).map(|number| Some(code::parity(number, &whole))).collect()
    }

    /// The shards of a stripe at these places: data shards by their numbers, then parity.
    fn shards_at(&self, stripe: u64, places: &[u32]) -> Vec<(u32, u32)> {
        if self.layout.parities() > 0 {
            return (0..).zip(self.layout.places(stripe)).filter(|(_, place)| places.contains(place)).collect();
        }
        let copies = (0..self.layout.data()).flat_map(|shard| (0..self.layout.copies()).map(move |copy| (shard, copy)));
        let each = copies.map(|(shard, copy)| (shard, self.layout.place(stripe, shard, copy)));
        each.filter(|(_, place)| places.contains(place)).collect()
    }

    /// The shards that a repair computes: parity, or the copies after the first.
    fn repaired_shards(&self, stripe: u64) -> Vec<(u32, u32)> {
        let is_held = |place: &u32| self.members.holds(*place, stripe);
        if self.layout.parities() > 0 {
            let parity: Vec<u32> = (0..self.layout.parities())
                .map(|number| self.layout.place_of_parity(stripe, number))
                .filter(is_held)
                .collect();
            return self.shards_at(stripe, &parity);
        }
        let later = |shard| {
            let copies = (0..self.layout.copies()).map(move |copy| self.layout.place(stripe, shard, copy));
            copies.filter(is_held).skip(1).map(move |place| (shard, place)).collect::<Vec<_>>()
        };
        (0..self.layout.data()).flat_map(later).collect()
    }

    /// The chunks at one place of the stripes of a rebuild.
    pub(crate) fn rebuilt(&self, place: u32) -> Vec<(Range, Vec<S>)> {
        self.chunks_for(|stripe| self.shards_at(stripe, &[place]))
    }

    /// The parity of the stripes of a repair, or their copies after the first.
    pub(crate) fn repaired(&self) -> Vec<(Range, Vec<S>)> {
        self.chunks_for(|stripe| self.repaired_shards(stripe))
    }

    /// The chunks of the `wanted` shards of each stripe, computed from the data read.
    fn chunks_for(&self, wanted: impl Fn(u64) -> Vec<(u32, u32)>) -> Vec<(Range, Vec<S>)> {
        let mut chunks = Vec::new();
        for (band, _) in &self.operation.bands {
            let (at, count) = (band.stripe * self.layout.chunk(), self.layout.chunk());
            for (shard, place) in wanted(band.stripe) {
                let range = Range { place, from: at, to: at + count };
                let sectors = match shard.checked_sub(self.layout.data()) {
                    None => self.data_of(band, shard),
                    Some(_) if !S::KIND.is_present() => vec![S::default(); count as usize],
                    Some(number) => {
                        let shards = self.recovered_shards(band);
                        let data: Vec<Shard> = shards.into_iter().take(self.layout.data() as usize).flatten().collect();
                        self.content.sectors(place, at, code::parity(number as usize, &data), count)
                    }
                };
                chunks.push((range, sectors));
            }
        }
        chunks
    }
}

pub(crate) fn sectors<S>(writes: &[(Range, Vec<S>)]) -> u64 {
    writes.iter().map(|(range, _)| range.to - range.from).sum()
}

/// Joins writes to adjacent sectors of a place.
pub(crate) fn joined<S>(mut writes: Vec<(Range, Vec<S>)>) -> Vec<(Range, Vec<S>)> {
    writes.sort_by_key(|(range, _)| *range);
    let mut joined: Vec<(Range, Vec<S>)> = Vec::with_capacity(writes.len());
    for (range, data) in writes {
        match joined.last_mut() {
            Some((last, before)) if last.place == range.place && last.to == range.from => {
                last.to = range.to;
                before.extend(data);
            }
            _ => joined.push((range, data)),
        }
    }
    joined
}
