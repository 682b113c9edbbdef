//! Victim selection: the choice of the superblock that garbage collection takes next.
//!
//! A policy is one file, and in this file a variant with its parameters, their allowed values ([`VictimSpec::check`]),
//! its line in [`VictimSpec::EVERY`] and its arm in [`VictimSpec::policy`]. A program that uses this library registers
//! its own policies ([`register_victim_policy`]).

mod age_unit;
mod candidates;
mod cost_age_times;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod order;
mod own_policy;
mod random;
mod score;
mod unit_ages;
mod windowed_greedy;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base::engine::Rng;
use base::fault::Faults;
use base::units::{SuperblockId, Time};
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::toolkit::Minima;

pub(super) use order::AgeOrder;
use unit_ages::UnitAges;

pub use age_unit::AgeUnit;
pub(super) use candidates::Moment;
pub use candidates::{Candidate, Candidates};
pub use own_policy::register_victim_policy;
pub(super) use unit_ages::UnitVersions;

/// The policy that chooses a victim among the closed superblocks of a pool. No policy chooses a superblock without an
/// invalid mapping unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "policy", rename_all = "kebab-case")]
pub enum VictimSpec {
    /// The superblock with the fewest valid mapping units; of several, the one with the lowest number in the pool. A
    /// number says nothing of age, so the tie-break prefers neither old nor young superblocks. With hot and cold data
    /// the tie-break matters: another one may change write amplification by 5 %.
    #[default]
    Greedy,
    /// The superblock with the best ratio of free space gained, times age, to copying cost: age * (1 - u) / 2u
    /// (Kawaguchi, Nishioka, Motoda: A Flash-Memory Based File System, USENIX 1995). Of several with the best ratio,
    /// the one that was closed first.
    CostBenefit {
        /// The unit of measure of the age. The source takes time.
        #[serde(default, skip_serializing_if = "is_default")]
        age: AgeUnit,
    },
    /// The superblock with the best ratio of free space gained, times age, to copying cost and erases: age * (1 - u) /
    /// (u * (erases + 1)) (Chiang, Lee, Chang: Using data clustering to improve cleaning performance for flash memory,
    /// Software: Practice and Experience 29(3), 1999). Of several with the best ratio, the one that was closed first.
    CostAgeTimes {
        /// The unit of measure of the age. The source takes time.
        #[serde(default, skip_serializing_if = "is_default")]
        age: AgeUnit,
    },
    /// The superblock that was closed first.
    Fifo,
    /// A random superblock, with equal chances.
    Random,
    /// The superblock with the fewest valid mapping units among `d` random ones (Van Houdt, Performance Evaluation
    /// 70(10), 2013); of several, the one that was drawn first.
    DChoices {
        /// Number of superblocks to compare.
        d: u32,
    },
    /// The superblock with the fewest valid mapping units among the `window` that were closed first (Hu et al.: Write
    /// Amplification Analysis in Flash-Based Solid State Drives, SYSTOR 2009); of several, the one that was closed
    /// first.
    WindowedGreedy {
        /// Number of superblocks to compare.
        window: u32,
    },
    /// The superblock with the highest value of a formula; of several, the one that was closed first. A value that is
    /// not a number is lower than all others.
    Score {
        /// The formula: numbers, names, `+ - * / ^`, comparisons (1 if true, 0 if not), brackets, `abs`, `sqrt`, `ln`,
        /// `exp`, `floor`, `min`, `max` and `if(condition, then, else)`. Names: `u` (share of valid mapping units),
        /// `valid` and `invalid` (mapping units), `age` (superblocks of any pool closed since then, plus one),
        /// `seconds` (simulated time since it was closed), `erases`, `mean_erases` (of all candidates), `free` (free
        /// superblocks of the pool), `stream` (number of its write stream), `copies` (1 if collection wrote it),
        /// `youngest`, `oldest` and `mean_age` (writes of any unit since its mapping units were written, counting those
        /// that were valid when it became a candidate).
        #[schemars(extend("examples" = ["age * (1 - u) / (2 * u)", "-valid"]))]
        score: Cow<'static, str>,
    },
    /// The superblock that a policy of the program chooses; the program has registered the policy.
    #[serde(rename = "own")]
    OwnPolicy {
        /// The name under which the policy is registered.
        name: Cow<'static, str>,
        /// The version with which the policy is registered. A resolved device has the version, so that a store of
        /// results keeps the results of two versions apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
}

fn is_default(age: &AgeUnit) -> bool {
    *age == AgeUnit::default()
}

/// Chooses the superblock that garbage collection takes next.
///
/// A function that gives each candidate a score is a policy: the highest score is chosen, and of several the candidate
/// that was closed first. A policy has no state of its own, so equal pools have equal victims; random numbers come from
/// `rng`.
pub trait VictimPolicy: Send + Sync {
    /// The victim; `None` if there is no candidate.
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, rng: &mut Rng) -> Option<Candidate<'c>>;

    /// True if the policy asks how long ago the mapping units of a candidate were written ([`Candidate::youngest`] and
    /// others). The drive then reads the versions of each superblock once.
    fn asks_for_unit_ages(&self) -> bool {
        false
    }
}

impl<F: Fn(&Candidate<'_>) -> f64 + Send + Sync> VictimPolicy for F {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        candidates.best(self)
    }
}

impl fmt::Debug for dyn VictimPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a victim policy")
    }
}

/// The kinds of choice that the model of the steady state tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The superblock with the fewest valid mapping units of all.
    Emptiest,
    /// The superblock with the fewest valid mapping units among a number of random superblocks.
    EmptiestOf(u32),
    /// The superblock that was closed first.
    Oldest,
}

impl VictimSpec {
    /// The kind of choice of the policy; `None` if the model of the steady state does not have it.
    pub(super) const fn choice(&self) -> Option<Choice> {
        match self {
            Self::Greedy => Some(Choice::Emptiest),
            Self::DChoices { d } => Some(Choice::EmptiestOf(*d)),
            Self::Random => Some(Choice::EmptiestOf(1)),
            Self::Fifo => Some(Choice::Oldest),
            _ => None,
        }
    }

    /// Every policy of the library, for the conformance suite and the swarm, with parameters that have an effect on a
    /// small device.
    pub const EVERY: [Self; 8] = [
        Self::Greedy,
        Self::CostBenefit { age: AgeUnit::Superblocks },
        Self::Fifo,
        Self::Random,
        Self::DChoices { d: 3 },
        Self::WindowedGreedy { window: 4 },
        Self::CostAgeTimes { age: AgeUnit::Time },
        Self::Score { score: Cow::Borrowed("if(free > 1, invalid * age, invalid) + mean_erases - erases") },
    ];

    /// Adds the faults of parameters that no array allows.
    pub(crate) fn check(&self, faults: &mut Faults) {
        match self {
            Self::DChoices { d } => faults.within("ftl.gc.victim.d", *d, 1..=d_choices::MAX),
            Self::WindowedGreedy { window: 0 } => {
                faults.add("ftl.gc.victim.window", "is 0: no superblock would be compared", "use 1 or more");
            }
            Self::Score { score } => {
                if let Err(error) = score::Score::parse(score) {
                    faults.add("ftl.gc.victim.score", error.to_string(), "e.g. \"age * (1 - u) / (2 * u)\"");
                }
            }
            Self::OwnPolicy { name, version } => {
                own_policy::POLICIES.check(
                    ("ftl.gc.victim.name", "ftl.gc.victim.version"),
                    name,
                    version.as_deref(),
                    faults,
                );
            }
            _ => {}
        }
    }

    /// The description, with the version if a policy of the program is registered under its name.
    pub(crate) fn written_out(self) -> Self {
        match self {
            Self::OwnPolicy { name, .. } => {
                let version = own_policy::POLICIES.version(&name);
                Self::OwnPolicy { name, version }
            }
            other => other,
        }
    }

    /// The policy of the description.
    ///
    /// # Panics
    ///
    /// If [`Self::check`] finds faults.
    fn policy(&self) -> Arc<dyn VictimPolicy> {
        match self {
            Self::Greedy => Arc::new(greedy::Greedy),
            Self::CostBenefit { age } => Arc::new(cost_benefit::CostBenefit { age: *age }),
            Self::CostAgeTimes { age } => Arc::new(cost_age_times::CostAgeTimes { age: *age }),
            Self::Fifo => Arc::new(fifo::Fifo),
            Self::Random => Arc::new(random::Random),
            Self::DChoices { d } => Arc::new(d_choices::DChoices { d: *d }),
            Self::WindowedGreedy { window } => Arc::new(windowed_greedy::WindowedGreedy { window: *window }),
            Self::Score { score } => Arc::new(score::Score::parse(score).expect("the description is checked")),
            Self::OwnPolicy { name, .. } => own_policy::POLICIES.policy(name).expect("the description is checked"),
        }
    }
}

/// The closed superblocks of all pools, in the data structures that the policies need.
#[derive(Clone, Debug)]
pub(crate) struct Victims {
    policy: Arc<dyn VictimPolicy>,
    first_pool: u32,
    blocks: u32,
    slots: u32,
    minima: Minima,
    ages: AgeOrder,
    /// The times at which mapping units were written; `None` unless the policy asks for them.
    unit_ages: Option<UnitAges>,
    /// Invalid mapping units in the closed superblocks of each pool.
    garbage: Vec<u64>,
}

impl Victims {
    /// The victims of one pool for each plane group; the numbers of the pools start at `first_pool`.
    pub(crate) fn new(spec: &VictimSpec, geometry: &Geometry, first_pool: u32) -> Self {
        let pools = geometry.die_count() * geometry.groups();
        let policy = spec.policy();
        let asks = policy.asks_for_unit_ages();
        Self {
            policy,
            unit_ages: asks.then(|| UnitAges::new(geometry.superblock_count())),
            first_pool,
            blocks: geometry.blocks,
            slots: geometry.superblock_slots(),
            minima: Minima::new(pools, geometry.blocks),
            ages: AgeOrder::new(pools, geometry.superblock_count()),
            garbage: vec![0; pools as usize],
        }
    }

    /// Bytes of memory of the victims of all pools.
    pub(crate) fn memory(spec: &VictimSpec, geometry: &Geometry) -> u64 {
        let pools = u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let superblocks = u64::from(geometry.superblock_count());
        let unit_ages = if spec.policy().asks_for_unit_ages() { UnitAges::memory(superblocks) } else { 0 };
        Minima::memory(pools, u64::from(geometry.blocks)) + AgeOrder::memory(pools, superblocks) + pools * 8 + unit_ages
    }

    /// Makes a superblock a candidate.
    pub(crate) fn close(&mut self, now: Time, pool: u32, superblock: SuperblockId, valid: u32) {
        let group = pool - self.first_pool;
        self.garbage[group as usize] += u64::from(self.slots - valid);
        self.minima.insert(superblock.get(), valid);
        self.ages.append(now, group, superblock.get());
    }

    /// Removes a superblock, which is no longer a candidate.
    pub(crate) fn remove(&mut self, pool: u32, superblock: SuperblockId) {
        let valid = self.minima.valid(superblock.get()).expect("only candidates are removed");
        let group = pool - self.first_pool;
        self.garbage[group as usize] -= u64::from(self.slots - valid);
        self.minima.remove(superblock.get());
        if let Some(unit_ages) = &mut self.unit_ages {
            unit_ages.forget(superblock.get());
        }
        self.ages.remove(group, superblock.get());
    }

    /// Prefetches the state of a superblock that [`Self::invalidated`] will change.
    #[inline]
    pub(crate) fn prefetch(&self, superblock: SuperblockId) {
        self.minima.prefetch(superblock.get());
    }

    /// Notes that one mapping unit of a superblock became invalid.
    #[inline]
    pub(crate) fn invalidated(&mut self, pool: u32, superblock: SuperblockId) {
        let group = pool - self.first_pool;
        self.garbage[group as usize] += 1;
        self.minima.decrement_in(group, superblock.get());
    }

    /// True if collection of a pool would free at least one superblock of `slots` slots; with less garbage it would
    /// only move data.
    pub(crate) fn is_worthwhile(&self, pool: u32, slots: u32) -> bool {
        self.garbage[(pool - self.first_pool) as usize] >= u64::from(slots)
    }

    /// True if the policy asks how long ago mapping units were written.
    pub(super) const fn asks_for_unit_ages(&self) -> bool {
        self.unit_ages.is_some()
    }

    /// Notes the versions in the superblocks of a pool that were closed since the previous call.
    pub(super) fn note_versions(&mut self, pool: u32, versions: impl Fn(SuperblockId) -> UnitVersions) {
        if let Some(unit_ages) = &mut self.unit_ages {
            unit_ages.update(&self.ages, pool - self.first_pool, versions);
        }
    }

    /// The next victim of a pool, if any superblock has garbage.
    pub(super) fn pick(&self, pool: u32, moment: Moment<'_>, rng: &mut Rng) -> Option<SuperblockId> {
        let group = pool - self.first_pool;
        let candidates = Candidates {
            minima: &self.minima,
            ages: &self.ages,
            unit_ages: self.unit_ages.as_ref(),
            pool: group,
            first: group * self.blocks,
            blocks: self.blocks,
            slots: self.slots,
            moment,
        };
        self.policy.choose(&candidates, rng).map(|candidate| candidate.superblock())
    }

    /// The victim with the least copying, whatever the policy: for a pool without a free superblock.
    pub(crate) fn cheapest(&self, pool: u32) -> Option<SuperblockId> {
        let least = self.minima.least((pool - self.first_pool) * self.blocks, self.blocks);
        least.filter(|(_, valid)| *valid < self.slots).map(|(superblock, _)| SuperblockId::new(superblock))
    }

    /// The closed superblocks of a pool, oldest first, including those without garbage.
    pub(crate) fn closed(&self, pool: u32) -> impl Iterator<Item = SuperblockId> + '_ {
        self.ages.oldest_first(pool - self.first_pool).map(SuperblockId::new)
    }

    /// The valid mapping units of a superblock, if it is closed.
    pub(crate) fn valid(&self, superblock: SuperblockId) -> Option<u32> {
        self.minima.valid(superblock.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Span;
    use flash::nand::Stream;

    /// Victims of one pool of eight superblocks with 10 slots each, closed in the order given.
    fn closed(spec: VictimSpec, blocks: &[(u32, u32)]) -> Victims {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 8, 10, 1, 1).expect("small");
        let mut victims = Victims::new(&spec, &geometry, 0);
        blocks.iter().for_each(|(sb, valid)| victims.close(Time::ZERO, 0, SuperblockId::new(*sb), *valid));
        victims
    }

    /// The moment `us` microseconds after the begin, with three free superblocks. Superblock 5 was erased ten times,
    /// all others twice.
    fn moment(us: u64) -> Moment<'static> {
        let now = Time::ZERO + Span::from_us(us);
        Moment {
            now,
            free: 3,
            latest: 100,
            erases: &|superblock| if superblock.get() == 5 { 10 } else { 2 },
            stream: &|superblock| if superblock.get() == 5 { Stream::copies(3) } else { Stream::HOST },
        }
    }

    const COST_BENEFIT: VictimSpec = VictimSpec::CostBenefit { age: AgeUnit::Superblocks };

    fn score(formula: &'static str) -> VictimSpec {
        VictimSpec::Score { score: Cow::Borrowed(formula) }
    }

    fn pick(spec: VictimSpec, blocks: &[(u32, u32)]) -> Option<u32> {
        closed(spec, blocks).pick(0, moment(0), &mut Rng::stream(1, "test")).map(SuperblockId::get)
    }

    const BLOCKS: [(u32, u32); 5] = [(6, 10), (3, 7), (5, 2), (1, 1), (2, 9)];

    #[test]
    fn each_policy_picks_its_victim() {
        assert_eq!(pick(VictimSpec::Greedy, &BLOCKS), Some(1));
        assert_eq!(pick(VictimSpec::Fifo, &BLOCKS), Some(3), "6 is older but has nothing to gain");
        assert_eq!(pick(VictimSpec::WindowedGreedy { window: 2 }, &BLOCKS), Some(5));
        assert_eq!(pick(VictimSpec::WindowedGreedy { window: 9 }, &BLOCKS), Some(1));
        // age * (1 - u) / 2u: 5 is older (age 2), 1 emptier (age 1): 2 * 0.8 / 0.4 = 4 against 1 * 0.9 / 0.2 = 4.5.
        assert_eq!(pick(COST_BENEFIT, &BLOCKS), Some(1));
        assert_eq!(pick(COST_BENEFIT, &[(3, 7), (5, 1), (1, 1), (2, 9)]), Some(5));
        assert_eq!(pick(VictimSpec::DChoices { d: 200 }, &BLOCKS), Some(1));
    }

    #[test]
    fn ties_go_to_the_lowest_number_or_to_the_superblock_that_was_closed_first() {
        let tied = [(6, 4), (7, 3), (2, 3), (5, 3), (0, 4)];
        assert_eq!(pick(VictimSpec::Greedy, &tied), Some(2), "neither the oldest (7) nor the youngest (5)");
        assert_eq!(pick(VictimSpec::WindowedGreedy { window: 5 }, &tied), Some(7));
        // (3 + 1) * 5 / 10 = 2 and (0 + 1) * 8 / 4 = 2.
        assert_eq!(pick(COST_BENEFIT, &[(4, 5), (3, 10), (0, 10), (1, 2)]), Some(4), "closed first");
    }

    #[test]
    fn the_age_of_cost_benefit_counts_superblocks_that_any_pool_closes() {
        let geometry = Geometry::new(1, 2, 1, 1, 1, 8, 10, 1, 1).expect("small");
        let chosen = |elsewhere: u32| {
            let mut victims = Victims::new(&COST_BENEFIT, &geometry, 0);
            victims.close(Time::ZERO, 0, SuperblockId::new(0), 6);
            (0..elsewhere).for_each(|i| victims.close(Time::ZERO, 1, SuperblockId::new(8 + i), 10));
            victims.close(Time::ZERO, 0, SuperblockId::new(1), 2);
            victims.pick(0, moment(0), &mut Rng::stream(1, "test")).map(SuperblockId::get)
        };
        // (1 + 1) * 4 / 12 against 1 * 8 / 4; then (1 + 1 + 6) * 4 / 12 against 2.
        assert_eq!((chosen(0), chosen(6)), (Some(1), Some(0)));
    }

    #[test]
    fn no_policy_picks_a_superblock_without_invalid_units() {
        for spec in VictimSpec::EVERY {
            assert_eq!(pick(spec.clone(), &[]), None, "{spec:?}");
            assert_eq!(pick(spec.clone(), &[(0, 10), (7, 10)]), None, "{spec:?}");
            assert_eq!(pick(spec.clone(), &[(0, 10), (7, 9)]), Some(7), "{spec:?}");
        }
    }

    #[test]
    fn every_policy_of_the_library_is_registered() {
        // A new variant does not compile here until it has a number, and fails until the registry has it.
        let place = |spec: &VictimSpec| match spec {
            VictimSpec::Greedy => 0,
            VictimSpec::CostBenefit { .. } => 1,
            VictimSpec::Fifo => 2,
            VictimSpec::Random => 3,
            VictimSpec::DChoices { .. } => 4,
            VictimSpec::WindowedGreedy { .. } => 5,
            VictimSpec::CostAgeTimes { .. } => 6,
            VictimSpec::Score { .. } => 7,
            VictimSpec::OwnPolicy { .. } => unreachable!("it is the program's"),
        };
        assert!(VictimSpec::EVERY.iter().map(place).eq(0..8));
    }

    #[test]
    fn a_formula_chooses_as_the_policy_that_it_describes() {
        let mut rng = Rng::stream(5, "formulas");
        for (spec, formula) in [
            (VictimSpec::Greedy, "-valid"),
            (VictimSpec::Fifo, "age"),
            (COST_BENEFIT, "age * (1 - u) / (2 * u)"),
            (VictimSpec::CostBenefit { age: AgeUnit::Time }, "seconds * (1 - u) / u"),
            (VictimSpec::CostAgeTimes { age: AgeUnit::Superblocks }, "age * invalid / valid / (erases + 1)"),
        ] {
            for _ in 0..200 {
                // The superblocks differ in everything, so that no tie-break decides.
                let mut valid: Vec<u32> = (1..9).collect();
                for i in (1..valid.len()).rev() {
                    valid.swap(i, rng.below(i as u64 + 1) as usize);
                }
                let [policy, formula] = [spec.clone(), score(formula)].map(|spec| {
                    let geometry = Geometry::new(1, 1, 1, 1, 1, 8, 10, 1, 1).expect("small");
                    let mut victims = Victims::new(&spec, &geometry, 0);
                    for (i, valid) in (0..).zip(&valid) {
                        let closed = Time::ZERO + Span::from_us(u64::from(i * i));
                        victims.close(closed, 0, SuperblockId::new(i), *valid);
                    }
                    victims.pick(0, moment(97), &mut Rng::stream(1, "test"))
                });
                assert!(policy.is_some());
                assert_eq!(policy, formula, "{spec:?} of {valid:?}");
            }
        }
    }

    #[test]
    fn a_formula_knows_erases_and_free_superblocks_and_ranks_what_is_no_number_last() {
        assert_eq!(pick(score("erases"), &BLOCKS), Some(5));
        assert_eq!(
            pick(score("erases < mean_erases"), &BLOCKS),
            Some(3),
            "the first that was erased less than the mean of 4"
        );
        assert_eq!(pick(score("if(free == 3, valid, -valid)"), &BLOCKS), Some(2));
        assert_eq!(pick(score("1"), &BLOCKS), Some(3), "of equal ones the one that was closed first");
        assert_eq!(pick(score("if(erases > 5, 0/0, -99)"), &[(5, 1), (3, 7)]), Some(3));
        assert_eq!(pick(score("0/0"), &BLOCKS), Some(3));
    }

    #[test]
    fn cost_age_times_spares_what_was_erased_often() {
        let spec = VictimSpec::CostAgeTimes { age: AgeUnit::Superblocks };
        // Of two superblocks of equal age and use, 5 was erased more often: 2 * 9 / 1 / 11 against 1 * 9 / 1 / 3.
        assert_eq!(pick(spec, &[(5, 1), (1, 1)]), Some(1));
        assert_eq!(pick(COST_BENEFIT, &[(5, 1), (1, 1)]), Some(5));
    }

    #[test]
    fn faults_of_formulas_and_of_unknown_policies_name_their_key() {
        let faults = |spec: &VictimSpec| {
            let mut faults = Faults::default();
            spec.check(&mut faults);
            faults.0.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let found = faults(&score("ag * (1 - u)"));
        assert!(
            found[0].starts_with("ftl.gc.victim.score: character 1: `ag` is no name; did you mean `age`?"),
            "{found:?}"
        );
        register_victim_policy("youngest", "1", |block: &Candidate<'_>| -(block.age() as f64)).expect("a new name");
        register_victim_policy("youngest", "1", |_: &Candidate<'_>| 0.0).expect("the same version stays as it is");
        let taken = register_victim_policy("youngest", "2", |_: &Candidate<'_>| 0.0).expect_err("another version");
        assert!(taken.to_string().contains("`youngest`"));
        let own = |name: &'static str, version: Option<&str>| VictimSpec::OwnPolicy {
            name: Cow::Borrowed(name),
            version: version.map(str::to_owned),
        };
        assert!(faults(&own("youngest", None)).is_empty() && faults(&own("youngest", Some("1"))).is_empty());
        assert_eq!(pick(own("youngest", None), &BLOCKS), Some(2));
        let found = faults(&own("yungest", None));
        assert!(found[0].contains("did you mean `youngest`?"), "{found:?}");
        assert!(faults(&own("youngest", Some("7")))[0].starts_with("ftl.gc.victim.version: is \"7\""));
        assert_eq!(own("youngest", None).written_out(), own("youngest", Some("1")));
    }

    #[test]
    fn a_formula_knows_streams_and_the_ages_of_mapping_units() {
        let versions = |superblock: SuperblockId| {
            // Superblock 3 has the newest unit, 1 the oldest unit, and 2 the oldest units on average.
            let of = [[50; 2], [1, 90], [30, 40], [60, 99], [50; 2], [60, 61], [50; 2]];
            UnitVersions::of(of[superblock.index()].into_iter())
        };
        for (formula, victim) in [
            ("copies", 5),
            ("stream", 5),
            ("1 - copies", 3),
            ("-youngest", 3),
            ("oldest", 1),
            ("mean_age", 2),
            ("oldest - youngest == 89", 1),
        ] {
            let mut victims = closed(score(formula), &BLOCKS);
            victims.note_versions(0, versions);
            let picked = victims.pick(0, moment(0), &mut Rng::stream(1, "test"));
            assert_eq!(picked.map(SuperblockId::get), Some(victim), "{formula}");
        }
        assert_eq!(pick(score("youngest + oldest + mean_age"), &BLOCKS), Some(3), "nothing is known: all are equal");
    }

    #[test]
    fn the_random_policy_reaches_every_candidate() {
        let victims = closed(VictimSpec::Random, &BLOCKS);
        let mut rng = Rng::stream(3, "test");
        let mut seen = [0; 8];
        for _ in 0..400 {
            seen[victims.pick(0, moment(0), &mut rng).expect("candidates").index()] += 1;
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
        assert_eq!(victims.pick(0, moment(0), &mut rng), Some(SuperblockId::new(1)));
        victims.remove(0, SuperblockId::new(1));
        assert_eq!(victims.pick(0, moment(0), &mut rng), Some(SuperblockId::new(2)));
        assert_eq!(victims.closed(0).map(SuperblockId::get).collect::<Vec<_>>(), [0, 2]);
    }
}
