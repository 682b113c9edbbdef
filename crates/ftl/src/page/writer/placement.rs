//! Placement: the choice of the pool for each write.

mod choice;
mod own;
mod policy;
mod score;

use std::borrow::Cow;
use std::sync::Arc;

use base::steps;
use base::units::DieId;
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pool_set::PoolSet;

pub use own::register_placement_policy;
pub use policy::{PlacementPolicy, PlacementPool, PlacementPools};

/// The policy that distributes writes over the dies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "policy", rename_all = "kebab-case")]
pub enum PlacementSpec {
    /// The N-th write request goes wholly to pool N mod x (Dirik & Jacob, Sec. 3, "modular striping"). Behind a write
    /// buffer, a pool whose die has two programs under way misses its turn.
    RequestRoundRobin {
        /// The order of the dimensions, fastest first, e.g. `channel-chip-die-plane`.
        #[serde(default)]
        order: Digits,
    },
    /// Every program goes to the next pool, at any address. Behind a write buffer, a pool whose die has two programs
    /// under way misses its turn.
    PageRoundRobin {
        /// The order of the dimensions, fastest first.
        #[serde(default)]
        order: Digits,
    },
    /// A pool takes all writes until its open superblock is full; then the next pool takes them.
    BlockStriping {
        /// The order of the dimensions, fastest first.
        #[serde(default)]
        order: Digits,
    },
    /// The address of a mapping unit chooses the pool: program-sized stripes of the address space go over the pools.
    AddressStriping {
        /// The order of the dimensions, fastest first.
        #[serde(default)]
        order: Digits,
    },
    /// Every program goes to the die with the fewest commands in progress or waiting.
    LeastLoaded {
        /// The order among equally loaded dies.
        #[serde(default)]
        order: Digits,
    },
    /// Each mapping unit goes to the pool with the highest value of a formula, among the pools (dies, or groups of
    /// their planes) that have room. If several have it, the pool of the previous mapping unit takes it while a program
    /// there is not full; otherwise the next of them behind that pool in `order`. A value that is not a number is lower
    /// than all others.
    Score {
        /// The formula, with the operators and functions of `ftl.gc.victim.score`. Names of a pool: `pool`, `die`,
        /// `channel`, `group` (of planes, in its die) and `turn` (numbers from 0; the pool whose turn is next has
        /// `turn` 0), `commands` and `channel_commands` (flash commands that wait or are in progress), `waiting`
        /// (mapping units that wait for a free superblock), `promised` (mapping units on their way to it), `filling` (1
        /// if a program there takes more mapping units), `free` (superblocks), `live` and `room` (mapping units) and
        /// `collecting` (1 while it collects garbage). Names of the write: `address` (bytes), `size` (of the request,
        /// in bytes), `queue` and `stream`.
        #[schemars(extend("examples" = ["10 * filling - commands", "-turn"]))]
        score: Cow<'static, str>,
        /// The order of the dimensions in which pools take turns.
        #[serde(default)]
        order: Digits,
    },
    /// Each mapping unit goes to the pool that a policy of the program chooses; the program has registered the policy.
    Own {
        /// The name under which the policy is registered.
        name: Cow<'static, str>,
        /// The version with which the policy is registered. A resolved device has the version, so that a store of
        /// results keeps the results of two versions apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
        /// The order of the dimensions in which pools take turns.
        #[serde(default)]
        order: Digits,
    },
}

impl Default for PlacementSpec {
    fn default() -> Self {
        Self::PageRoundRobin { order: Digits::default() }
    }
}

impl PlacementSpec {
    /// Every policy of the library except the formula, each with this order, for the conformance suite and the swarm.
    #[must_use]
    pub const fn every(order: Digits) -> [Self; 5] {
        [
            Self::RequestRoundRobin { order },
            Self::PageRoundRobin { order },
            Self::BlockStriping { order },
            Self::AddressStriping { order },
            Self::LeastLoaded { order },
        ]
    }

    fn order(&self) -> Digits {
        match self {
            Self::RequestRoundRobin { order }
            | Self::PageRoundRobin { order }
            | Self::BlockStriping { order }
            | Self::AddressStriping { order }
            | Self::LeastLoaded { order }
            | Self::Score { order, .. }
            | Self::Own { order, .. } => *order,
        }
    }
}

/// The dimensions of the array, fastest first: any order of `channel`, `chip`, `die` and `plane`, joined by hyphens.
/// Most drives count channel before chip before die before plane; the other orders trade channel parallelism for
/// parallelism inside a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits([Dimension; 4]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Channel,
    Chip,
    Die,
    Plane,
}

impl Dimension {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Channel, "channel"), (Self::Chip, "chip"), (Self::Die, "die"), (Self::Plane, "plane")];
}

impl Digits {
    /// All 24 orders of the dimensions.
    pub fn every() -> impl Iterator<Item = Self> {
        let all = Dimension::ALL.map(|(dimension, _)| dimension);
        (0..4 * 4 * 4 * 4)
            .map(move |n: usize| Self([n / 64, n / 16 % 4, n / 4 % 4, n % 4].map(|digit| all[digit])))
            .filter(move |Self(digits)| all.iter().all(|dimension| digits.contains(dimension)))
    }
}

impl Default for Digits {
    fn default() -> Self {
        Self([Dimension::Channel, Dimension::Chip, Dimension::Die, Dimension::Plane])
    }
}

/// The error of a text that is not an order of the dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDigitsError(String);

impl std::fmt::Display for ParseDigitsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(text) = self;
        write!(
            f,
            "`{text}` is not an order: name channel, chip, die and plane once each, e.g. \"channel-chip-die-plane\""
        )
    }
}

impl std::error::Error for ParseDigitsError {}

impl std::str::FromStr for Digits {
    type Err = ParseDigitsError;

    fn from_str(text: &str) -> Result<Self, ParseDigitsError> {
        let parse = |name: &str| Dimension::ALL.iter().find(|(_, known)| *known == name).map(|(d, _)| *d);
        let digits: Option<Vec<_>> = text.split('-').map(parse).collect();
        let digits: Option<[Dimension; 4]> = digits.and_then(|digits| digits.try_into().ok());
        digits
            .filter(|digits| Dimension::ALL.iter().all(|(dimension, _)| digits.contains(dimension)))
            .map(Self)
            .ok_or_else(|| ParseDigitsError(text.to_owned()))
    }
}

impl std::fmt::Display for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |digit: &Dimension| Dimension::ALL.iter().find(|(d, _)| d == digit).map_or("", |(_, name)| *name);
        f.write_str(&self.0.iter().map(name).collect::<Vec<_>>().join("-"))
    }
}

impl<'de> Deserialize<'de> for Digits {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Digits {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Digits {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digits".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The dimensions channel, chip, die and plane, joined by hyphens, fastest first.",
            "examples": ["channel-chip-die-plane"],
        })
    }
}

/// Chooses the pools of writes, one write after another.
#[derive(Clone, Debug)]
pub(crate) struct Placer {
    spec: PlacementSpec,
    /// The formula or the policy of the program that chooses the pools, if there is one.
    policy: Option<Arc<dyn PlacementPolicy>>,
    /// The turns of each NVM set's pools.
    turns: Vec<Turns>,
    /// For each pool, its index in the turns of each NVM set that has it; empty without a write buffer.
    places: Vec<Vec<PoolIndex>>,
    /// True if busy pools miss their turns: there is a write buffer, and time is on.
    skips: bool,
}

/// A pool's index in the turns of an NVM set.
#[derive(Clone, Copy, Debug)]
struct PoolIndex {
    set: u32,
    place: u32,
}

/// The pools of an NVM set, which take turns.
#[derive(Clone, Debug)]
struct Turns {
    /// The pools, in the order of the dimensions.
    pools: Vec<u32>,
    next: usize,
    /// Indices of the pools that are not busy. Without a write buffer no pool counts as busy.
    ready: PoolSet,
    busy: u32,
}

impl Turns {
    fn advance(&mut self) {
        self.next = (self.next + 1) % self.pools.len();
    }

    /// The index of the first pool from the present turn on that is not busy and `has_room`.
    fn first_ready(&self, has_room: impl Fn(u32) -> bool) -> Option<usize> {
        let mut at = self.next;
        for end in [self.pools.len(), self.next] {
            while let Some(place) = self.ready.first_from(at as u32).map(|place| place as usize).filter(|p| *p < end) {
                steps::count();
                if has_room(self.pools[place]) {
                    return Some(place);
                }
                at = place + 1;
            }
            at = 0;
        }
        None
    }
}

impl Placer {
    /// The placement of a description. `sets` are the dies that writes may be confined to; the first set is the whole
    /// array.
    pub(crate) fn new(spec: &PlacementSpec, geometry: &Geometry, sets: &[Vec<DieId>]) -> Self {
        let size = |digit| match digit {
            Dimension::Channel => geometry.channels,
            Dimension::Chip => geometry.chips,
            Dimension::Die => geometry.dies,
            Dimension::Plane => geometry.groups(),
        };
        let Digits(order) = spec.order();
        let total = geometry.die_count() * geometry.groups();
        let pools: Vec<u32> = (0..total)
            .map(|mut n| {
                let mut at = [0; 4];
                for digit in order {
                    at[digit as usize] = n % size(digit);
                    n /= size(digit);
                }
                let [channel, chip, die, plane] = at;
                ((channel * geometry.chips + chip) * geometry.dies + die) * geometry.groups() + plane
            })
            .collect();
        let inside = |set: &[DieId], pool: u32| set.contains(&DieId::new(pool / geometry.groups()));
        let turns = |set: &Vec<DieId>| {
            let pools: Vec<u32> = pools.iter().copied().filter(|pool| inside(set, *pool)).collect();
            let mut ready = PoolSet::new(pools.len() as u32);
            (0..pools.len() as u32).for_each(|place| ready.insert(place));
            Turns { pools, next: 0, ready, busy: 0 }
        };
        let policy = spec.policy();
        Self { spec: spec.clone(), policy, turns: sets.iter().map(turns).collect(), places: Vec::new(), skips: false }
    }

    /// Prepares the placement for writes that a buffer has gathered: busy pools miss their turns.
    pub(crate) fn behind_buffer(mut self, pools: u32) -> Self {
        self.places = vec![Vec::new(); pools as usize];
        for (set, turns) in (0..).zip(&self.turns) {
            for (place, pool) in (0..).zip(&turns.pools) {
                self.places[*pool as usize].push(PoolIndex { set, place });
            }
        }
        self.skips = true;
        self
    }

    /// Bytes of memory behind a write buffer, for `pools` pools in NVM sets with `members` members together.
    pub(crate) const fn memory_behind_buffer(pools: u64, members: u64) -> u64 {
        pools * size_of::<Vec<PoolIndex>>() as u64 + members * size_of::<PoolIndex>() as u64
    }

    /// Switches time on or off. With time off no pool is busy, so every pool has its turn.
    pub(crate) fn set_timed(&mut self, timed: bool) {
        self.skips = timed && !self.places.is_empty();
    }

    /// Marks a pool as busy or not busy.
    pub(crate) fn set_busy(&mut self, pool: u32, busy: bool) {
        let Some(places) = self.places.get(pool as usize) else { return };
        for PoolIndex { set, place } in places {
            let turns = &mut self.turns[*set as usize];
            match (turns.ready.contains(*place), busy) {
                (true, true) => {
                    turns.ready.remove(*place);
                    turns.busy += 1;
                }
                (false, false) => {
                    turns.ready.insert(*place);
                    turns.busy -= 1;
                }
                _ => {}
            }
        }
    }

    /// True if a write of a set would find a pool that is not busy.
    pub(crate) fn takes_writes(&self, set: u32) -> bool {
        let turns = &self.turns[set as usize];
        match self.spec {
            PlacementSpec::BlockStriping { .. } => turns.ready.contains(turns.next as u32),
            _ => (turns.busy as usize) < turns.pools.len(),
        }
    }

    /// Begins a write request in a set. Behind a write buffer, pools that are busy or have no room miss their turns if
    /// another pool has room.
    pub(crate) fn begin_request(&mut self, set: u32, has_room: impl Fn(u32) -> bool) {
        let turns = &mut self.turns[set as usize];
        if matches!(self.spec, PlacementSpec::RequestRoundRobin { .. }) {
            turns.advance();
        }
        let rotates =
            matches!(self.spec, PlacementSpec::RequestRoundRobin { .. } | PlacementSpec::PageRoundRobin { .. });
        if self.skips
            && rotates
            && let Some(place) = turns.first_ready(has_room)
        {
            turns.next = place;
        }
    }

    /// Moves the turn on after a program that is full; `block_full` is true if its superblock is full as well.
    pub(crate) fn program_filled(&mut self, set: u32, block_full: bool) {
        match self.spec {
            PlacementSpec::PageRoundRobin { .. } => self.turns[set as usize].advance(),
            PlacementSpec::BlockStriping { .. } if block_full => self.turns[set as usize].advance(),
            _ => {}
        }
    }

    /// The pool of a set for the next mapping unit. `stripe` is the program-sized stripe of its address. `fills` is
    /// true for a pool with a program that would be padded if the mapping unit went elsewhere.
    pub(crate) fn pool(
        &mut self,
        set: u32,
        stripe: u32,
        load: impl Fn(u32) -> u32,
        fills: impl Fn(u32) -> bool,
    ) -> u32 {
        let turns = &mut self.turns[set as usize];
        let n = turns.pools.len();
        match self.spec {
            PlacementSpec::AddressStriping { .. } => turns.pools[stripe as usize % n],
            PlacementSpec::LeastLoaded { .. } if !fills(turns.pools[turns.next]) => {
                // The search starts at the last choice, so that equally loaded dies take turns.
                let best = (0..n).map(|i| (turns.next + i) % n).min_by_key(|i| load(turns.pools[*i])).unwrap_or(0);
                turns.next = best;
                turns.pools[best]
            }
            _ => turns.pools[turns.next],
        }
    }

    /// The plane group that a stripe of the address space has under a static placement over the whole array, and the
    /// index of the stripe in that group.
    pub(crate) fn static_group(&self, stripe: u32) -> (u32, u32) {
        let pools = &self.turns[0].pools;
        let count = pools.len() as u32;
        (pools[(stripe % count) as usize], stripe / count)
    }

    /// Under least-loaded, moves the start of the search on, so that equally loaded dies take turns.
    pub(crate) fn take_turns(&mut self, set: u32) {
        if matches!(self.spec, PlacementSpec::LeastLoaded { .. }) {
            self.turns[set as usize].advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        Geometry::new(2, 2, 1, 2, 1, 4, 4, 1, 4).expect("small")
    }

    fn placer(spec: PlacementSpec) -> Placer {
        let all = (0..geometry().die_count()).map(DieId::new).collect();
        Placer::new(&spec, &geometry(), &[all, vec![DieId::new(1), DieId::new(3)]])
    }

    #[test]
    fn the_order_names_the_fastest_digit_first() {
        let pools = |order: &str| {
            let order = order.parse().expect("an order");
            placer(PlacementSpec::PageRoundRobin { order }).turns.remove(0).pools
        };
        // Pool = (channel * 2 + chip) * 2 + plane.
        assert_eq!(pools("channel-chip-die-plane"), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(pools("plane-die-chip-channel"), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(pools("chip-channel-plane-die"), [0, 2, 4, 6, 1, 3, 5, 7]);
        for wrong in ["channel-chip-die", "channel-channel-die-plane", "way-chip-die-plane", ""] {
            assert!(wrong.parse::<Digits>().expect_err(wrong).to_string().contains("once each"));
        }
    }

    #[test]
    fn every_policy_and_order_is_registered() {
        // A new variant does not compile here until it has a number, and fails until the registry has it.
        let place = |spec: &PlacementSpec| match spec {
            PlacementSpec::RequestRoundRobin { .. } => 0,
            PlacementSpec::PageRoundRobin { .. } => 1,
            PlacementSpec::BlockStriping { .. } => 2,
            PlacementSpec::AddressStriping { .. } => 3,
            PlacementSpec::LeastLoaded { .. } => 4,
            PlacementSpec::Score { .. } | PlacementSpec::Own { .. } => unreachable!("not among them"),
        };
        assert!(PlacementSpec::every(Digits::default()).iter().map(place).eq(0..5));
        let orders: std::collections::BTreeSet<String> = Digits::every().map(|order| order.to_string()).collect();
        assert_eq!((orders.len(), Digits::every().count()), (24, 24));
        assert!(orders.iter().all(|order| order.parse::<Digits>().is_ok()));
    }

    #[test]
    fn round_robin_turns_at_each_request_page_or_block() {
        let order = Digits::default();
        let mut by_request = placer(PlacementSpec::RequestRoundRobin { order });
        by_request.begin_request(0, |_| true);
        let first = by_request.pool(0, 0, |_| 0, |_| false);
        by_request.program_filled(0, true);
        assert_eq!(by_request.pool(0, 9, |_| 0, |_| false), first);
        by_request.begin_request(0, |_| true);
        assert_ne!(by_request.pool(0, 0, |_| 0, |_| false), first);

        let mut by_page = placer(PlacementSpec::PageRoundRobin { order });
        let first = by_page.pool(0, 0, |_| 0, |_| false);
        by_page.program_filled(0, false);
        assert_ne!(by_page.pool(0, 0, |_| 0, |_| false), first);

        let mut by_block = placer(PlacementSpec::BlockStriping { order });
        let first = by_block.pool(0, 0, |_| 0, |_| false);
        by_block.program_filled(0, false);
        assert_eq!(by_block.pool(0, 0, |_| 0, |_| false), first);
        by_block.program_filled(0, true);
        assert_ne!(by_block.pool(0, 0, |_| 0, |_| false), first);
    }

    #[test]
    fn behind_a_buffer_a_busy_pool_misses_its_turn() {
        let order = Digits::default();
        let all = (0..geometry().die_count()).map(DieId::new).collect();
        let sets = [all, vec![DieId::new(1), DieId::new(3)]];
        let pool = |placer: &mut Placer, set| placer.pool(set, 0, |_| 0, |_| false);
        // Turns: 0, 4, 2, 6, 1, 5, 3, 7.
        let mut placer = Placer::new(&PlacementSpec::PageRoundRobin { order }, &geometry(), &sets).behind_buffer(8);
        [0, 4].into_iter().for_each(|pool| placer.set_busy(pool, true));
        placer.begin_request(0, |_| true);
        assert_eq!(pool(&mut placer, 0), 2);
        placer.begin_request(0, |pool| pool > 4);
        assert_eq!(pool(&mut placer, 0), 6, "2 has no room");
        placer.set_busy(0, false);
        placer.program_filled(0, false);
        [1, 5, 3, 7].into_iter().for_each(|pool| placer.set_busy(pool, true));
        placer.begin_request(0, |_| true);
        assert_eq!(pool(&mut placer, 0), 0, "the turns begin again");
        assert!(placer.takes_writes(0) && placer.takes_writes(1));
        [2, 6].into_iter().for_each(|pool| placer.set_busy(pool, true));
        assert!(placer.takes_writes(0));
        assert!(!placer.takes_writes(1), "2, 3, 6 and 7 are busy");
        [0, 4].into_iter().for_each(|pool| placer.set_busy(pool, true));
        assert!(!placer.takes_writes(0));
        (0..8).for_each(|pool| placer.set_busy(pool, false));
        assert!(placer.takes_writes(0) && placer.takes_writes(1));
        // With time off, and without a buffer, every pool has its turn.
        placer.set_timed(false);
        placer.set_busy(0, true);
        placer.begin_request(0, |_| true);
        assert_eq!(pool(&mut placer, 0), 0);
        let mut plain = Placer::new(&PlacementSpec::PageRoundRobin { order }, &geometry(), &sets);
        plain.set_busy(0, true);
        plain.begin_request(0, |_| true);
        assert_eq!(pool(&mut plain, 0), 0);
        // A block that is being filled keeps its turn.
        let mut by_block = Placer::new(&PlacementSpec::BlockStriping { order }, &geometry(), &sets).behind_buffer(8);
        by_block.set_busy(0, true);
        by_block.begin_request(0, |_| true);
        assert!(!by_block.takes_writes(0));
        assert_eq!(pool(&mut by_block, 0), 0);
    }

    #[test]
    fn least_loaded_takes_the_idlest_pool_and_striping_follows_the_address() {
        let order = Digits::default();
        let mut by_load = placer(PlacementSpec::LeastLoaded { order });
        assert_eq!(by_load.pool(0, 0, |pool| u32::from(pool != 3), |_| false), 3);
        let mut by_address = placer(PlacementSpec::AddressStriping { order });
        assert_eq!(by_address.pool(0, 1, |_| 0, |_| false), by_address.pool(0, 9, |_| 0, |_| false));
    }
    #[test]
    fn a_confined_owner_takes_turns_in_its_own_pools() {
        // Dies 1 and 3 are pools 2, 3, 6 and 7.
        for spec in PlacementSpec::every(Digits::default()) {
            let mut placer = placer(spec);
            let mut seen = std::collections::BTreeSet::new();
            for stripe in 0..40 {
                placer.begin_request(1, |_| true);
                let everywhere = placer.pool(0, stripe, |_| 0, |_| false);
                seen.insert(placer.pool(1, stripe, |_| 0, |_| false));
                placer.program_filled(1, true);
                placer.take_turns(1);
                if !matches!(placer.spec, PlacementSpec::AddressStriping { .. }) {
                    assert_eq!(
                        placer.pool(0, stripe + 1, |_| 0, |_| false),
                        everywhere,
                        "the turn of another owner has not changed"
                    );
                }
            }
            assert!(seen.into_iter().eq([2, 3, 6, 7]));
        }
    }
}
