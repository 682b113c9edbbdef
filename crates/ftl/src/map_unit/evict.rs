//! Eviction: the choice of the block of a cache's set that leaves for another block.
//!
//! Second chance is a part of the cache itself, as in the hardware, and keeps one bit for each block. Every other
//! policy is a value of [`EvictionPolicy`], for which the cache keeps the history of its blocks. A program that uses
//! this library registers its own policies ([`register_eviction_policy`]).

mod blocks;
mod own;
mod score;

use std::fmt;
use std::sync::Arc;

use base::engine::Rng;
use base::fault::{Fault, Faults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_state::CacheBlockState;
use crate::own::Name;

use blocks::History;
pub use blocks::{CachedBlock, CachedBlocks};
pub use own::register_eviction_policy;

/// The policy that chooses the block of a set that leaves a cache of map entries for another. A block whose data are on their way
/// stays, and so does, in FMMU, a block with changes that its next level lacks. An empty block is filled before any block leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "policy", rename_all = "kebab-case")]
pub enum EvictSpec {
    /// The first block not used since the hand last passed it. The hand goes round the set (Woo and Min: FMMU, 2017,
    /// Sec. 4.4). The cache is charged only for the blocks that the hand tests; under every other policy it is charged
    /// for all blocks of the set.
    #[default]
    SecondChance,
    /// The block whose latest use is longest ago.
    Lru,
    /// The block that was loaded first.
    Fifo,
    /// A random block, with equal chances. The choice does not depend on the seed of a run.
    Random,
    /// The block with the highest value of a formula; of equal values, the first in the set. A value that is not a
    /// number is lower than all others.
    Score {
        /// The formula, with the operators and functions of `ftl.gc.victim.score`. Names: `age` (accesses to the cache since the
        /// block was loaded), `recency` (accesses to the cache since its latest use), `uses` (of the block since it was loaded),
        /// `dirty` (1 if the next level lacks changes of the block) and `changes` (of the block that the next level lacks).
        #[schemars(extend("examples" = ["recency", "age / (uses + 1) - 50 * dirty"]))]
        score: Name,
    },
    /// The block that a policy of the program chooses; the program has registered the policy.
    Own {
        /// The name under which the policy is registered.
        name: Name,
        /// The version with which the policy is registered. A resolved device has the version, so that a store of
        /// results keeps the results of two versions apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<Name>,
    },
}

/// Chooses the block of a set that leaves a cache of map entries.
///
/// A function that gives each block a score is a policy: the block with the highest score leaves, and of equal scores
/// the first in the set. A policy has no state of its own, so equal caches evict equal blocks; random numbers come from
/// `rng`.
pub trait EvictionPolicy: Send + Sync {
    /// The block to evict. If the policy chooses none, the first block leaves, because a question waits for a free
    /// block.
    fn choose<'c>(&self, blocks: &'c CachedBlocks<'_>, rng: &mut Rng) -> Option<CachedBlock<'c>>;
}

impl<F: Fn(&CachedBlock<'_>) -> f64 + Send + Sync> EvictionPolicy for F {
    fn choose<'c>(&self, blocks: &'c CachedBlocks<'_>, _: &mut Rng) -> Option<CachedBlock<'c>> {
        blocks.best(self)
    }
}

impl fmt::Debug for dyn EvictionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an eviction policy")
    }
}

struct Random;

impl EvictionPolicy for Random {
    fn choose<'c>(&self, blocks: &'c CachedBlocks<'_>, rng: &mut Rng) -> Option<CachedBlock<'c>> {
        blocks.random(rng)
    }
}

impl EvictSpec {
    /// Adds the faults of the table `ftl.map.evict`.
    pub(super) fn check(&self, faults: &mut Vec<Fault>) {
        let mut found = Faults::default();
        match self {
            Self::Score { score } => {
                if let Err(error) = score::Score::parse(score.as_str()) {
                    found.add("ftl.map.evict.score", error.to_string(), "e.g. \"recency\"");
                }
            }
            Self::Own { name, version } => own::POLICIES.check(
                ("ftl.map.evict.name", "ftl.map.evict.version"),
                name.as_str(),
                version.map(Name::as_str),
                &mut found,
            ),
            _ => {}
        }
        faults.extend(found.0);
    }

    /// The description, with the version if a policy of the program is registered under its name.
    pub(super) fn written_out(self) -> Self {
        match self {
            Self::Own { name, .. } => Self::Own { name, version: own::POLICIES.version(name.as_str()).map(Name::from) },
            other => other,
        }
    }

    /// Every policy of the library once, for tests and the swarm.
    #[must_use]
    pub fn every() -> [Self; 5] {
        let score = Name::from("recency - 5 * uses + changes");
        [Self::SecondChance, Self::Lru, Self::Fifo, Self::Random, Self::Score { score }]
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Bytes of the history of each block; 0 under second chance.
    pub(super) fn memory(self) -> u64 {
        if self.is_default() { 0 } else { size_of::<History>() as u64 }
    }

    /// The policy; `None` for second chance, which the cache carries out itself.
    fn policy(self) -> Option<Arc<dyn EvictionPolicy>> {
        Some(match self {
            Self::SecondChance => return None,
            Self::Lru => Arc::new(|block: &CachedBlock<'_>| block.recency() as f64),
            Self::Fifo => Arc::new(|block: &CachedBlock<'_>| block.age() as f64),
            Self::Random => Arc::new(Random),
            Self::Score { score } => Arc::new(score::Score::parse(score.as_str()).expect("the description is checked")),
            Self::Own { name, .. } => own::POLICIES.policy(name.as_str()).expect("the description is checked"),
        })
    }
}

/// The policy of a cache, together with the history of the cache's blocks.
#[derive(Clone, Debug)]
pub(super) struct Eviction {
    policy: Arc<dyn EvictionPolicy>,
    /// Loads and uses of all blocks so far.
    accesses: u64,
    blocks: Vec<History>,
    rng: Rng,
}

impl Eviction {
    /// The policy of a cache of `blocks` blocks; `None` if the policy is second chance.
    pub(super) fn new(spec: EvictSpec, blocks: u32) -> Option<Box<Self>> {
        let policy = spec.policy()?;
        let blocks = vec![History::default(); blocks as usize];
        Some(Box::new(Self { policy, accesses: 0, blocks, rng: Rng::stream(0, "map.evict") }))
    }

    pub(super) fn load(&mut self, block: usize) {
        self.accesses += 1;
        self.blocks[block] = History { loaded: self.accesses, used: self.accesses, uses: 0, changes: 0 };
    }

    pub(super) fn touch(&mut self, block: usize) {
        self.accesses += 1;
        let history = &mut self.blocks[block];
        (history.used, history.uses) = (self.accesses, history.uses.saturating_add(1));
    }

    pub(super) fn change(&mut self, block: usize) {
        let changes = &mut self.blocks[block].changes;
        *changes = changes.saturating_add(1);
    }

    pub(super) fn clean(&mut self, block: usize) {
        self.blocks[block].changes = 0;
    }

    /// The victim of a set, whose blocks begin at `first`, among those that `may_go`.
    pub(super) fn victim(
        &mut self,
        set: &[CacheBlockState],
        first: usize,
        may_go: &dyn Fn(&CacheBlockState) -> bool,
    ) -> Option<usize> {
        if let Some(empty) = set.iter().position(|block| block.key.is_none()) {
            return Some(first + empty);
        }
        let histories = &self.blocks[first..first + set.len()];
        let blocks = CachedBlocks { set, histories, accesses: self.accesses, may_go };
        let chosen = self.policy.choose(&blocks, &mut self.rng).or_else(|| blocks.each().next());
        chosen.map(|block| first + block.place())
    }
}
