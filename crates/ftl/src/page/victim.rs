//! Victim selection: chooses the superblock that garbage collection takes next.
//!
//! A policy is one file, and in this file a variant with its parameters, their allowed values ([`VictimSpec::check`]),
//! its line in [`VictimSpec::EVERY`] and its arms in [`VictimSpec::choice`] and [`Victims::pick`].

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod order;
mod random;
mod windowed_greedy;

use base::engine::Rng;
use base::fault::Faults;
use base::units::SuperblockId;
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::toolkit::Minima;

use order::AgeOrder;

/// The policy that chooses a victim among the closed superblocks of a pool. It never chooses one without an invalid
/// mapping unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "policy", rename_all = "kebab-case")]
pub enum VictimSpec {
    /// The one with the fewest valid mapping units; of several with as few, the one with the lowest number in the pool.
    /// A number says nothing of age, so the tie-break prefers neither old nor young superblocks. With hot and cold data
    /// it matters: another tie-break may change write amplification by 5 %.
    #[default]
    Greedy,
    /// The one with the best ratio of free space gained, times age, to copying cost:
    /// age * (1 - u) / 2u (Kawaguchi, Nishioka, Motoda: A Flash-Memory Based File System, USENIX 1995). The age is not
    /// time: it is one more than the number of superblocks that have been closed since, in any pool. Of several as good,
    /// the one that was closed first.
    CostBenefit,
    /// The one that was closed first.
    Fifo,
    /// Any one, with equal chances.
    Random,
    /// The one with the fewest valid mapping units among `d` random ones (Van Houdt, Performance Evaluation 70(10),
    /// 2013); of several with as few, the one that was drawn first.
    DChoices {
        /// Superblocks to compare.
        d: u32,
    },
    /// The one with the fewest valid mapping units among the `window` that were closed first (Hu et al.: Write
    /// Amplification Analysis in Flash-Based Solid State Drives, SYSTOR 2009); of several with as few, the one that was
    /// closed first.
    WindowedGreedy {
        /// Superblocks to compare.
        window: u32,
    },
}

/// How a policy chooses, as far as the model of steady state tells policies apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The one with the fewest valid mapping units of all.
    Emptiest,
    /// The one with the fewest valid mapping units among so many random ones.
    EmptiestOf(u32),
    /// The one that was closed first.
    Oldest,
}

impl VictimSpec {
    /// How the policy chooses; `None` if the model of steady state does not have it.
    pub(super) const fn choice(self) -> Option<Choice> {
        match self {
            Self::Greedy => Some(Choice::Emptiest),
            Self::DChoices { d } => Some(Choice::EmptiestOf(d)),
            Self::Random => Some(Choice::EmptiestOf(1)),
            Self::Fifo => Some(Choice::Oldest),
            Self::CostBenefit | Self::WindowedGreedy { .. } => None,
        }
    }

    /// One of every policy, for the conformance suite and the swarm. The parameters make a difference on a small
    /// device.
    pub const EVERY: [Self; 6] = [
        Self::Greedy,
        Self::CostBenefit,
        Self::Fifo,
        Self::Random,
        Self::DChoices { d: 3 },
        Self::WindowedGreedy { window: 4 },
    ];

    /// Adds the faults of parameters that are wrong on any array.
    pub(crate) fn check(self, faults: &mut Faults) {
        match self {
            Self::DChoices { d } => faults.within("ftl.gc.victim.d", d, 1..=d_choices::MAX),
            Self::WindowedGreedy { window: 0 } => {
                faults.add("ftl.gc.victim.window", "is 0: no superblock would be compared", "use 1 or more");
            }
            _ => {}
        }
    }
}

/// The closed superblocks of all pools, in the structures that the policies need.
#[derive(Clone, Debug)]
pub(crate) struct Victims {
    spec: VictimSpec,
    /// The number of its first pool.
    first_pool: u32,
    blocks: u32,
    slots: u32,
    minima: Minima,
    ages: AgeOrder,
    /// Invalid mapping units in the closed superblocks of each pool.
    garbage: Vec<u64>,
}

/// The closed superblocks of one pool, as a policy sees them.
pub(crate) struct View<'a> {
    minima: &'a Minima,
    ages: &'a AgeOrder,
    pool: u32,
    /// The pool's superblocks are `first..first + blocks`.
    first: u32,
    blocks: u32,
    slots: u32,
}

impl View<'_> {
    /// The valid mapping units of a superblock, if it is a candidate.
    fn candidate(&self, superblock: u32) -> Option<u32> {
        self.minima.valid(superblock).filter(|valid| *valid < self.slots)
    }

    /// Candidates, oldest first, each with its age: the number of superblocks closed since.
    fn by_age(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        self.ages.oldest_first(self.pool).filter_map(|(sb, age)| self.candidate(sb).map(|valid| (sb, valid, age)))
    }
}

impl Victims {
    /// One pool for each plane group; their numbers start at `first_pool`.
    pub(crate) fn new(spec: VictimSpec, geometry: &Geometry, first_pool: u32) -> Self {
        let pools = geometry.die_count() * geometry.groups();
        Self {
            spec,
            first_pool,
            blocks: geometry.blocks,
            slots: geometry.superblock_slots(),
            minima: Minima::new(pools, geometry.blocks),
            ages: AgeOrder::new(pools, geometry.superblock_count()),
            garbage: vec![0; pools as usize],
        }
    }

    /// Bytes of memory of the victims of all pools.
    pub(crate) fn memory(geometry: &Geometry) -> u64 {
        let pools = u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let superblocks = u64::from(geometry.superblock_count());
        Minima::memory(pools, u64::from(geometry.blocks)) + AgeOrder::memory(pools, superblocks) + pools * 8
    }

    /// A superblock becomes a candidate.
    pub(crate) fn close(&mut self, pool: u32, superblock: SuperblockId, valid: u32) {
        let group = pool - self.first_pool;
        self.garbage[group as usize] += u64::from(self.slots - valid);
        self.minima.insert(superblock.get(), valid);
        self.ages.append(group, superblock.get());
    }

    /// A superblock is no longer a candidate.
    pub(crate) fn remove(&mut self, pool: u32, superblock: SuperblockId) {
        let valid = self.minima.valid(superblock.get()).expect("only candidates are removed");
        let group = pool - self.first_pool;
        self.garbage[group as usize] -= u64::from(self.slots - valid);
        self.minima.remove(superblock.get());
        self.ages.remove(group, superblock.get());
    }

    /// Prefetches what [`Self::invalidated`] needs of a superblock.
    #[inline]
    pub(crate) fn fetch(&self, superblock: SuperblockId) {
        self.minima.fetch(superblock.get());
    }

    /// One mapping unit of a superblock became invalid.
    #[inline]
    pub(crate) fn invalidated(&mut self, pool: u32, superblock: SuperblockId) {
        let group = pool - self.first_pool;
        self.garbage[group as usize] += 1;
        self.minima.decrement_in(group, superblock.get());
    }

    /// True if collecting a pool would free at least one superblock; less garbage than that would only move.
    pub(crate) fn is_worthwhile(&self, pool: u32) -> bool {
        self.garbage[(pool - self.first_pool) as usize] >= u64::from(self.slots)
    }

    /// The next victim of a pool, if any superblock has garbage.
    pub(crate) fn pick(&self, pool: u32, rng: &mut Rng) -> Option<SuperblockId> {
        let view = self.view(pool);
        let chosen = match self.spec {
            VictimSpec::Greedy => greedy::pick(&view),
            VictimSpec::CostBenefit => cost_benefit::pick(&view),
            VictimSpec::Fifo => fifo::pick(&view),
            VictimSpec::Random => random::pick(&view, rng),
            VictimSpec::DChoices { d } => d_choices::pick(&view, d, rng),
            VictimSpec::WindowedGreedy { window } => windowed_greedy::pick(&view, window),
        };
        chosen.map(SuperblockId::new)
    }

    /// The victim with the least copying, under any policy: for a pool without a free superblock.
    pub(crate) fn cheapest(&self, pool: u32) -> Option<SuperblockId> {
        greedy::pick(&self.view(pool)).map(SuperblockId::new)
    }

    /// The closed superblocks of a pool, oldest first, including those without garbage.
    pub(crate) fn closed(&self, pool: u32) -> impl Iterator<Item = SuperblockId> + '_ {
        self.ages.oldest_first(pool - self.first_pool).map(|(superblock, _)| SuperblockId::new(superblock))
    }

    fn view(&self, pool: u32) -> View<'_> {
        let group = pool - self.first_pool;
        View {
            minima: &self.minima,
            ages: &self.ages,
            pool: group,
            first: group * self.blocks,
            blocks: self.blocks,
            slots: self.slots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Victims of one pool of eight superblocks with 10 slots each, closed in the order given.
    fn closed(spec: VictimSpec, blocks: &[(u32, u32)]) -> Victims {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 8, 10, 1, 1).expect("small");
        let mut victims = Victims::new(spec, &geometry, 0);
        blocks.iter().for_each(|(sb, valid)| victims.close(0, SuperblockId::new(*sb), *valid));
        victims
    }

    fn pick(spec: VictimSpec, blocks: &[(u32, u32)]) -> Option<u32> {
        closed(spec, blocks).pick(0, &mut Rng::stream(1, "test")).map(SuperblockId::get)
    }

    const BLOCKS: [(u32, u32); 5] = [(6, 10), (3, 7), (5, 2), (1, 1), (2, 9)];

    #[test]
    fn each_policy_picks_its_victim() {
        assert_eq!(pick(VictimSpec::Greedy, &BLOCKS), Some(1));
        assert_eq!(pick(VictimSpec::Fifo, &BLOCKS), Some(3), "6 is older but has nothing to gain");
        assert_eq!(pick(VictimSpec::WindowedGreedy { window: 2 }, &BLOCKS), Some(5));
        assert_eq!(pick(VictimSpec::WindowedGreedy { window: 9 }, &BLOCKS), Some(1));
        // age * (1 - u) / 2u: 5 is older (age 2), 1 emptier (age 1): 2 * 0.8 / 0.4 = 4 against 1 * 0.9 / 0.2 = 4.5.
        assert_eq!(pick(VictimSpec::CostBenefit, &BLOCKS), Some(1));
        assert_eq!(pick(VictimSpec::CostBenefit, &[(3, 7), (5, 1), (1, 1), (2, 9)]), Some(5));
        assert_eq!(pick(VictimSpec::DChoices { d: 200 }, &BLOCKS), Some(1));
    }

    #[test]
    fn ties_go_to_the_lowest_number_or_to_the_superblock_that_was_closed_first() {
        let tied = [(6, 4), (7, 3), (2, 3), (5, 3), (0, 4)];
        assert_eq!(pick(VictimSpec::Greedy, &tied), Some(2), "neither the oldest (7) nor the youngest (5)");
        assert_eq!(pick(VictimSpec::WindowedGreedy { window: 5 }, &tied), Some(7));
        // (3 + 1) * 5 / 10 = 2 and (0 + 1) * 8 / 4 = 2.
        assert_eq!(pick(VictimSpec::CostBenefit, &[(4, 5), (3, 10), (0, 10), (1, 2)]), Some(4), "closed first");
    }

    #[test]
    fn the_age_of_cost_benefit_counts_superblocks_that_any_pool_closes() {
        let geometry = Geometry::new(1, 2, 1, 1, 1, 8, 10, 1, 1).expect("small");
        let chosen = |elsewhere: u32| {
            let mut victims = Victims::new(VictimSpec::CostBenefit, &geometry, 0);
            victims.close(0, SuperblockId::new(0), 6);
            (0..elsewhere).for_each(|i| victims.close(1, SuperblockId::new(8 + i), 10));
            victims.close(0, SuperblockId::new(1), 2);
            victims.pick(0, &mut Rng::stream(1, "test")).map(SuperblockId::get)
        };
        // (1 + 1) * 4 / 12 against 1 * 8 / 4; then (1 + 1 + 6) * 4 / 12 against 2.
        assert_eq!((chosen(0), chosen(6)), (Some(1), Some(0)));
    }

    #[test]
    fn no_policy_picks_a_superblock_without_invalid_units() {
        for spec in VictimSpec::EVERY {
            assert_eq!(pick(spec, &[]), None, "{spec:?}");
            assert_eq!(pick(spec, &[(0, 10), (7, 10)]), None, "{spec:?}");
            assert_eq!(pick(spec, &[(0, 10), (7, 9)]), Some(7), "{spec:?}");
        }
    }

    #[test]
    fn every_policy_is_registered() {
        // A new variant does not compile here until it has a number, and fails until the registry has it.
        let place = |spec: &VictimSpec| match spec {
            VictimSpec::Greedy => 0,
            VictimSpec::CostBenefit => 1,
            VictimSpec::Fifo => 2,
            VictimSpec::Random => 3,
            VictimSpec::DChoices { .. } => 4,
            VictimSpec::WindowedGreedy { .. } => 5,
        };
        assert!(VictimSpec::EVERY.iter().map(place).eq(0..6));
    }

    #[test]
    fn the_random_policy_reaches_every_candidate() {
        let victims = closed(VictimSpec::Random, &BLOCKS);
        let mut rng = Rng::stream(3, "test");
        let mut seen = [0; 8];
        for _ in 0..400 {
            seen[victims.pick(0, &mut rng).expect("candidates").index()] += 1;
        }
        assert_eq!([seen[6], seen[0], seen[4], seen[7]], [0; 4]);
        assert!([1, 2, 3, 5].iter().all(|sb| (60..140).contains(&seen[*sb])), "{seen:?}");
    }

    #[test]
    fn victims_follow_invalidations_and_removals() {
        let mut victims = closed(VictimSpec::Greedy, &[(0, 5), (1, 5), (2, 4)]);
        let mut rng = Rng::stream(1, "test");
        victims.invalidated(0, SuperblockId::new(1));
        victims.invalidated(0, SuperblockId::new(1));
        assert_eq!(victims.pick(0, &mut rng), Some(SuperblockId::new(1)));
        victims.remove(0, SuperblockId::new(1));
        assert_eq!(victims.pick(0, &mut rng), Some(SuperblockId::new(2)));
        assert_eq!(victims.closed(0).map(SuperblockId::get).collect::<Vec<_>>(), [0, 2]);
    }
}
