//! Lays out the flash of a new drive in the state in which uniform random writes of whole mapping units leave it.
//!
//! The [fixed point](fixed_point) gives the number of valid units of a closed superblock, and its age. For each pool
//! this module draws:
//! * its share of the units;
//! * the free superblocks that collection keeps;
//! * the superblock that collection is about to empty, with fewer units left than a program takes;
//! * the open superblocks, filled to any degree;
//! * the closed superblocks, with valid units at the quantiles of the distribution.
//!
//! All superblocks of the drive are sorted by age and programmed, oldest first. So births and versions rise with the
//! age of the data, as in a drive that was written; a slot that is no longer valid holds an older version of a unit
//! whose newest version comes later.
//!
//! Only the media are written, by the rules of the media. A mount then finds the state of a used drive.

#[cfg(test)]
mod classes;
mod fixed_point;
mod math;

use base::engine::Rng;
use base::units::{Lpn, SuperblockId};
use flash::nand::{Media, Spare, Stream, Target};

use super::block_manager::pool::{Holds, Reserve};
use super::block_manager::reserve::reserved;
use super::victim::Choice;
use super::{PageConfig, PlacementSpec};
use crate::family::WorkingSpace;
use crate::sabotage::{PlantedBug, Sabotage};

use fixed_point::{FixedPoint, PoolModel};
use math::{Shuffle, normal};

/// A superblock to be programmed.
#[derive(Clone, Copy, Debug)]
struct SteadySuperblock {
    /// Writes of the host to the pool since the superblock was full; less than zero if it is open.
    age: f64,
    superblock: SuperblockId,
    /// Number of slots programmed.
    filled: u32,
    /// The number of these slots that are valid.
    valid: u32,
    stream: Stream,
}

impl PageConfig {
    /// The reason why the steady state of this FTL cannot be laid out.
    pub(crate) fn no_steady_state(&self) -> Option<&'static str> {
        if self.layout.striping.is_some() {
            return Some("it is laid out die by die, and ftl.superblock-dies says otherwise");
        }
        self.no_model()
    }

    /// The reason why the model does not have the steady state of this drive.
    fn no_model(&self) -> Option<&'static str> {
        if self.gc.victim.choice().is_none() {
            return Some("no model of this policy of ftl.gc.victim");
        }
        if !self.gc.pace.is_default() {
            return Some("no model of ftl.gc.pace, which lets pools have fewer free superblocks");
        }
        if self.checkpoint_pages.count() > 0 {
            return Some("no model of ftl.checkpoint, whose pages would lie among data");
        }
        if matches!(self.placement, PlacementSpec::AddressStriping { .. }) {
            return Some("no model of ftl.placement = \"address-striping\", whose pools have addresses of their own");
        }
        if self.placement.is_by_policy() {
            return Some("no model of a formula or a policy of the program for ftl.placement");
        }
        if self.map_pages.count > 0 {
            return Some("no model of translation pages: the map must be in RAM");
        }
        if self.streams.count().is_several() {
            return Some("no model of several ftl.streams");
        }
        (self.trim_pages.count > 0).then_some("no model of trim pages: ftl.discard must not be durable")
    }

    /// Superblocks of each pool, without those that are set aside for the SLC cache.
    const fn superblocks_in_full_mode(&self) -> u32 {
        self.geometry.blocks.saturating_sub(self.map_pages.set_aside)
    }

    /// The space in which collection works, in all pools together.
    pub(crate) fn working_space(&self) -> WorkingSpace {
        let pools = self.geometry.die_count() * self.geometry.groups();
        let quotas = self.map_pages.quotas(&self.geometry);
        let quota = |pool: u32| quotas.get(pool as usize).copied().unwrap_or(0);
        let room: u64 = (0..pools)
            .map(|pool| u64::from(self.limit(self.superblocks_in_full_mode().saturating_sub(quota(pool)))))
            .sum();
        let held = u64::from(self.units) + u64::from(self.trim_pages.count) + u64::from(self.checkpoint_pages.count());
        WorkingSpace {
            pools,
            superblocks: self.superblocks_in_full_mode(),
            reserved: reserved(self.gc.shared_log, self.streams.count())
                + u32::from(self.map_pages.set_aside > 0)
                + quotas.iter().copied().max().unwrap_or(0),
            units: room.saturating_sub(held),
        }
    }

    /// The reason why the fixed point does not give this drive's write amplification.
    pub(crate) fn no_closed_form(&self) -> Option<&'static str> {
        if let Some(why) = self.no_model() {
            return Some(why);
        }
        if self.gc.throttle || self.gc.idle.is_some() {
            return Some("no model of ftl.gc.throttle and ftl.gc.idle, with which the free superblocks vary");
        }
        if self.slc_cache.is_some() {
            return Some("no model of an SLC cache, in which data become invalid before they are folded");
        }
        if self.sets.len() > 1 {
            return Some("no model of NVM sets, to which writes are confined");
        }
        if self.wear.threshold.is_some() {
            return Some("no model of static wear levelling, which copies units as well");
        }
        if self.gc.start == 0 {
            return Some("no model of ftl.gc.start = 0, which leaves pools of few blocks to their unequal shares");
        }
        let (closed, live) = self.closed_and_live();
        let full = closed * f64::from(self.geometry.superblock_slots());
        (live >= full).then_some("the host's units take superblocks that collection would keep free, so expect tens")
    }

    /// The mean over the pools of the closed superblocks, and of the valid units in them.
    fn closed_and_live(&self) -> (f64, f64) {
        let pools = self.geometry.die_count() * self.geometry.groups();
        let slots = f64::from(self.geometry.superblock_slots());
        let live = f64::from(self.units) / f64::from(pools);
        // Collection keeps between `start` and `stop` superblocks free, and is about to empty one. The open superblocks
        // are half full on average, and their units are too young to be invalid.
        let free = f64::from(self.gc.start + self.gc.stop) / 2.0;
        let open = if self.gc.shared_log { 1.0 } else { 2.0 };
        let closed = f64::from(self.superblocks_in_full_mode()) - free - open - 1.0;
        (closed, live - open / 2.0 * slots)
    }

    /// Write amplification under uniform random writes, from the [fixed point](fixed_point) of the mean pool, unless
    /// there is [no closed form](Self::no_closed_form). It is within a tenth of a simulated steady state
    /// (`crates/ssd/tests/steady_model.rs`), and lower than it on drives of few blocks.
    pub(crate) fn expected_write_amplification(&self) -> Option<f64> {
        if self.no_closed_form().is_some() {
            return None;
        }
        let (closed, live) = self.closed_and_live();
        // The model counts whole superblocks, so the units are scaled: only the share of valid ones matters.
        let whole = closed.floor().max(1.0);
        let model = self.model(self.superblocks_in_full_mode(), live);
        let model = PoolModel { closed: whole as u32, live: live * whole / closed, ..model };
        // Parity is one program of each stripe, in addition to the data.
        let stripe = f64::from(self.layout.dies()) / f64::from(self.layout.data_units());
        let share_of_parity = if self.has_parity() { stripe } else { 1.0 };
        Some(model.solve().write_amplification() * share_of_parity)
    }

    /// Programs an empty array in its steady state. `note` receives the units and the version of each program. Returns
    /// false, and programs nothing, if so many blocks are bad that the units have no room.
    ///
    /// # Panics
    ///
    /// If there is [no model](Self::no_steady_state), or the array is not empty.
    pub(crate) fn lay_out_steady(
        &self,
        media: &mut Media,
        rng: &mut Rng,
        planted: PlantedBug,
        note: &mut dyn FnMut(&[Lpn], u32),
    ) -> bool {
        assert!(self.no_steady_state().is_none(), "{:?}", self.no_steady_state());
        let Some(laid) = self.draw(media, rng) else { return false };
        self.program(media, &laid, rng, planted, note);
        true
    }

    /// Draws the state of all superblocks, oldest first; `None` if the units have no room.
    fn draw(&self, media: &Media, rng: &mut Rng) -> Option<Vec<SteadySuperblock>> {
        let pools = self.geometry.die_count() * self.geometry.groups();
        let mut usable = vec![Vec::new(); pools as usize];
        for superblock in (0..self.geometry.superblock_count()).map(SuperblockId::new) {
            assert!(media.is_erased(superblock), "{superblock} of a new drive is not empty");
            let is_set_aside = superblock.get() % self.geometry.blocks < self.map_pages.set_aside;
            if !media.is_bad(superblock) && !is_set_aside {
                usable[self.geometry.group_of(superblock) as usize].push(superblock);
            }
        }
        let sizes: Vec<u32> = usable.iter().map(|superblocks| superblocks.len() as u32).collect();
        let shares = self.shares(&sizes, rng)?;
        // Pools with the same number of superblocks have one fixed point, that of their mean share.
        let mut points: Vec<(u32, FixedPoint)> = Vec::new();
        let mut laid = Vec::new();
        for (mut superblocks, live) in usable.into_iter().zip(shares) {
            let size = superblocks.len() as u32;
            for i in (1..superblocks.len()).rev() {
                superblocks.swap(i, rng.below(i as u64 + 1) as usize);
            }
            let known = points.iter().position(|(known, _)| *known == size).unwrap_or_else(|| {
                points.push((size, self.model(size, f64::from(live)).solve()));
                points.len() - 1
            });
            self.draw_pool(&superblocks, live, &points[known].1, rng, &mut laid);
        }
        laid.sort_by(|a, b| b.age.total_cmp(&a.age).then(a.superblock.cmp(&b.superblock)));
        Some(laid)
    }

    /// The most mapping units of a pool with `usable` usable superblocks.
    fn limit(&self, usable: u32) -> u32 {
        let streams = self.streams.count();
        let member_slots = self.layout.array.superblock_slots();
        let sets_aside = self.map_pages.set_aside > 0;
        let reserve = Reserve { member_slots, streams, shared_log: self.gc.shared_log, holds: Holds::Data, sets_aside };
        reserve.limit(usable.saturating_sub(u32::from(sets_aside)), self.geometry.superblock_slots())
    }

    /// The valid units of each pool; `None` if they have no room.
    ///
    /// All `n` pools take equal shares of the writes. Each write invalidates one of the `u` units: one in a given pool
    /// with the probability of the pool's share. So shares are pulled towards the mean at the rate 1 / u, while each
    /// write adds a variance of (1 - 1/n) / n. In equilibrium the variance is u * (1 - 1/n) / 2n. Independent draws of
    /// variance u / 2n have this variance once their excess over `u` in total is taken from all pools alike.
    fn shares(&self, sizes: &[u32], rng: &mut Rng) -> Option<Vec<u32>> {
        let (units, pools) = (f64::from(self.units), sizes.len() as f64);
        let deviation = (units / (2.0 * pools)).sqrt();
        let room: Vec<u32> = sizes.iter().map(|size| self.limit(*size)).collect();
        let mut shares: Vec<u32> = room
            .iter()
            .map(|room| (units / pools + deviation * normal(rng)).round().clamp(0.0, f64::from(*room)) as u32)
            .collect();
        let mut excess = shares.iter().map(|share| i64::from(*share)).sum::<i64>() - i64::from(self.units);
        // The excess is spread as evenly as the room of the pools allows.
        while excess != 0 {
            let open = |i: usize| if excess > 0 { shares[i] > 0 } else { shares[i] < room[i] };
            let takers: Vec<usize> = (0..shares.len()).filter(|i| open(*i)).collect();
            if takers.is_empty() {
                return None;
            }
            let part = (excess / takers.len() as i64).clamp(-i64::from(u32::MAX), i64::from(u32::MAX));
            for i in takers {
                let part = if part == 0 { excess.signum() } else { part };
                let new = (i64::from(shares[i]) - part).clamp(0, i64::from(room[i]));
                excess -= i64::from(shares[i]) - new;
                shares[i] = new as u32;
                if excess == 0 {
                    break;
                }
            }
        }
        Some(shares)
    }

    /// The number of open superblocks of a pool, plus one that collection has nearly emptied.
    const fn working(&self) -> u32 {
        if self.gc.shared_log { 2 } else { 3 }
    }

    /// The parameters of the model for a pool. After collection `stop` superblocks are free; collection starts when
    /// `start` are.
    fn model(&self, usable: u32, live: f64) -> PoolModel {
        let free = (self.gc.start + 1 + self.gc.stop) / 2;
        PoolModel {
            slots: self.geometry.superblock_slots(),
            closed: usable.saturating_sub(free + self.working()).max(1),
            live,
            choice: self.gc.victim.choice().expect("the model has this policy"),
            shared_log: self.gc.shared_log,
        }
    }

    /// The smallest number of slots that are programmed together: open superblocks end at a multiple of it.
    fn line(&self) -> u32 {
        self.geometry.row_slots() * self.timing.one_shot.max(self.timing.paired)
    }

    /// Draws the superblocks of one pool with `live` valid units.
    fn draw_pool(
        &self,
        superblocks: &[SuperblockId],
        live: u32,
        point: &FixedPoint,
        rng: &mut Rng,
        laid: &mut Vec<SteadySuperblock>,
    ) {
        let slots = self.geometry.superblock_slots();
        let first = laid.len();
        let model = self.model(superblocks.len() as u32, f64::from(live));
        let lines = u64::from(slots / self.line());
        let (of_host, of_copies) = model.paces(point.host);
        let share_of_copies = model.share_of_copies(point.host);
        let mut left = superblocks.iter().copied();
        let free = self.gc.start + 1 + rng.below(u64::from(self.gc.stop - self.gc.start)) as u32;
        // The open superblocks: that of copies takes longer to fill, so it is older.
        let mut open = |stream, pace: f64, age, rng: &mut Rng| {
            let filled = rng.below(lines.max(1)) as u32 * self.line();
            let valid = f64::from(filled) * model.survivors(f64::from(filled) * pace);
            let superblock = left.next();
            let laid =
                superblock.map(|superblock| SteadySuperblock { age, superblock, filled, valid: valid as u32, stream });
            laid.filter(|laid| laid.filled > 0)
        };
        laid.extend(open(Stream::HOST, of_host, -1.0, rng));
        if !self.gc.shared_log {
            laid.extend(open(Stream::COPIES, of_copies, -0.5, rng));
        }
        let opened = laid.len();
        // With hardly any spare space the units take the superblocks that collection would keep free, except one.
        let room = (left.len() as u32).saturating_sub(live.div_ceil(slots));
        let closed = left.len() - free.min(room) as usize;
        for (k, superblock) in left.take(closed).enumerate() {
            // The last superblock is the one that collection has nearly emptied.
            let (valid, (mean, variance)) = match k + 1 < closed {
                true => point.closed_at((k as f64 + rng.unit()) / (closed - 1).max(1) as f64),
                false => (rng.below(u64::from(self.line())) as f64, point.closed_at(0.0).1),
            };
            let valid = match self.gc.victim.choice() {
                Some(Choice::Oldest) if k + 1 < closed => {
                    valid + normal(rng) * (valid * (1.0 - valid / f64::from(slots)).max(0.0)).sqrt()
                }
                _ => valid,
            };
            let age = (mean + variance.sqrt() * normal(rng)).max(0.0);
            let stream = if rng.chance(share_of_copies) { Stream::COPIES } else { Stream::HOST };
            let valid = valid.round().clamp(0.0, f64::from(slots)) as u32;
            laid.push(SteadySuperblock { age, superblock, filled: slots, valid, stream });
        }
        Self::settle(&mut laid[first..], opened - first, live, rng);
    }

    /// Changes the valid units of a pool until they are `live` in total. Random closed superblocks change first; the
    /// open ones, which are the first of `pool`, change only if no closed one can.
    fn settle(pool: &mut [SteadySuperblock], open: usize, live: u32, rng: &mut Rng) {
        let has = pool.iter().map(|laid| u64::from(laid.valid)).sum::<u64>();
        let mut lacks = i64::from(live) - has as i64;
        let closed = (pool.len() - open) as u64;
        let mut idle = 0;
        while lacks != 0 {
            // If all closed superblocks are full, or all are empty, the open ones change too.
            let i = match idle < 4 * closed {
                true => open + rng.below(closed) as usize,
                false => (idle % pool.len() as u64) as usize,
            };
            // A large difference is spread over the pool, so that few rounds are needed.
            let most = (lacks.abs() / pool.len() as i64).max(1) as u32;
            let laid = &mut pool[i];
            let moved = if lacks > 0 { most.min(laid.filled - laid.valid) } else { most.min(laid.valid) };
            laid.valid = if lacks > 0 { laid.valid + moved } else { laid.valid - moved };
            lacks -= i64::from(moved) * lacks.signum();
            idle = if moved > 0 { 0 } else { idle + 1 };
            assert!(idle < 8 * pool.len() as u64 + 8, "a pool has room for its units");
        }
    }

    /// Programs the superblocks in the order of `laid`, which is by age.
    fn program(
        &self,
        media: &mut Media,
        all: &[SteadySuperblock],
        rng: &mut Rng,
        planted: PlantedBug,
        note: &mut dyn FnMut(&[Lpn], u32),
    ) {
        let units = u64::from(self.units);
        let shuffle = Shuffle::new(units, rng);
        let size = self.geometry.row_slots() * self.timing.one_shot;
        let (mut spares, mut current) = (Vec::with_capacity(size as usize), Vec::with_capacity(size as usize));
        let mut is_valid = Vec::with_capacity(size as usize);
        let (mut laid_units, mut version) = (0u64, 0u32);
        for laid in all {
            let mut valid = u64::from(laid.valid);
            for offset in (0..laid.filled).step_by(size as usize) {
                let count = size.min(laid.filled - offset);
                is_valid.clear();
                for i in 0..count {
                    // Slot by slot: every choice of `valid` slots has equal chances.
                    let is = rng.below(u64::from(laid.filled - offset - i)) < valid;
                    valid -= u64::from(is);
                    is_valid.push(is);
                }
                version += 1;
                let next = laid_units + is_valid.iter().filter(|is| **is).count() as u64;
                spares.clear();
                current.clear();
                for is in &is_valid {
                    // An invalid slot gets an old version of a unit whose newest version comes later.
                    let position = match (*is, next < units) {
                        (true, _) => {
                            laid_units += 1;
                            Some(laid_units - 1)
                        }
                        (false, true) => Some(next + rng.below(units - next)),
                        (false, false) => None,
                    };
                    let lpn = position.map(|position| Lpn::new(shuffle.at(position) as u32));
                    current.extend(lpn.filter(|_| *is));
                    let newest =
                        !*is && planted.is(Sabotage::LaidOutStale) && (offset as usize + spares.len()) % 16 == 5;
                    let version = if newest { u32::MAX / 2 } else { version };
                    spares.push(lpn.map_or(Spare::Empty, |lpn| Spare::Data { lpn, version }));
                }
                media.lay_out(Target { superblock: laid.superblock, offset }, laid.stream, &spares);
                note(&current, version);
            }
        }
        assert_eq!(laid_units, units, "all units have a place");
    }
}

#[cfg(test)]
mod tests;
