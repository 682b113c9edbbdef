//! Shards: the runs of studies divided among several machines.
//!
//! The studies alone determine the runs of each shard, so the machines need no communication, and every run is in
//! exactly one shard. The runs with the most requests are assigned first, each to the shard with the fewest requests so
//! far. Runs of equal length go around in the order of the study, so neighbours on an axis, which often take equally
//! long, are in different shards. Times of earlier runs in a store are not used, because the stores of two shards may
//! differ.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;

use super::requests::requests;
use super::{ExecuteError, Follow, JobRun, Program, ResultStore, RunJob, jobs, keep_pipes, run_jobs};
use crate::memory::Need;
use crate::plan::{Label, Plan};
use crate::store::Digest;

/// The largest number of shards that a user may ask for.
const MOST: u32 = 1_000_000;

/// A shard and the number of all shards: `K/N` on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: NonZeroU32,
    count: NonZeroU32,
}

/// The error of a text that is not a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseShardError(String);

impl fmt::Display for ParseShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            f,
            "`{text}` is not a shard: write its number and how many there are, e.g. 3/16; the first is 1/16, the last 16/16"
        )
    }
}

impl std::error::Error for ParseShardError {}

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let shard = || {
            let (shard, count) = text.split_once('/')?;
            let shard = Self { number: number(shard)?, count: number(count)? };
            (shard.number <= shard.count && shard.count.get() <= MOST).then_some(shard)
        };
        shard().ok_or_else(|| ParseShardError(text.to_owned()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.count)
    }
}

impl Shard {
    /// Number of the shard, from 1 to [`Shard::count`].
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number.get()
    }

    /// The number of shards into which the study is split.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count.get()
    }

    /// The indices, in order, of the runs that belong to the shard. `lengths` are the numbers of requests of all runs;
    /// a run of unknown length counts as the longest.
    fn of(self, lengths: &[Option<u64>]) -> Vec<usize> {
        let longest = lengths.iter().copied().flatten().max().unwrap_or(1);
        let length = |run: usize| lengths[run].unwrap_or(longest);
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|run| Reverse(length(*run)));
        // Each shard by its requests so far, then its runs, then its number.
        let mut shards: BinaryHeap<Reverse<(u64, u64, u32)>> =
            (1..=self.count.get()).map(|number| Reverse((0, 0, number))).collect();
        let mut mine = Vec::new();
        for run in order {
            let Reverse((requests, runs, number)) = shards.pop().expect("there is a shard");
            if number == self.number.get() {
                mine.push(run);
            }
            shards.push(Reverse((requests.saturating_add(length(run)), runs + 1, number)));
        }
        mine.sort_unstable();
        mine
    }
}

/// The labels of a point, each after the name of its axis.
#[must_use]
pub fn describe_point(axes: &[String], labels: &[Label]) -> String {
    let pairs = axes.iter().zip(labels).map(|(name, label)| format!("{name} {label}"));
    pairs.collect::<Vec<_>>().join(", ")
}

/// The runs of studies that belong to a shard.
#[derive(Clone, Debug)]
pub struct ShardAssignment {
    runs: Vec<Vec<usize>>,
}

impl ShardAssignment {
    /// The runs of these studies that belong to the shard. All studies are divided together, so that the remainders of
    /// each study do not all go to the first shards.
    #[must_use]
    pub fn new(plans: &[Plan], shard: Shard) -> Self {
        let lengths = |plan: &Plan| -> Vec<Option<u64>> {
            let seeds = plan.spec.seeds.len();
            plan.points.iter().map(requests).flat_map(|requests| std::iter::repeat_n(requests, seeds)).collect()
        };
        let lengths: Vec<Vec<Option<u64>>> = plans.iter().map(lengths).collect();
        let mut mine = shard.of(&lengths.concat()).into_iter().peekable();
        let (mut runs, mut first) = (Vec::new(), 0);
        for lengths in &lengths {
            let end = first + lengths.len();
            let those = std::iter::from_fn(|| mine.next_if(|run| *run < end));
            runs.push(those.map(|run| run - first).collect());
            first = end;
        }
        Self { runs }
    }

    /// The number of runs in the shard.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// True if the shard has no runs, because there are more shards than runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The needs of the shard's runs, from the needs of all runs of the study with this number.
    #[must_use]
    pub fn needs(&self, study: usize, all: &[Need]) -> Vec<Need> {
        self.runs[study].iter().map(|run| all[*run].clone()).collect()
    }
}

/// A run that a shard has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardRun {
    /// The point's label on each axis.
    pub labels: Vec<Label>,
    /// Seed of all random decisions of the run.
    pub seed: u64,
    /// The digest of the run's key, under which the store has the result.
    pub digest: Digest,
    /// True if the result was in the store before.
    pub was_stored: bool,
}

/// Does the runs of a shard of the study with this number, and keeps their results in the store.
///
/// # Errors
/// The error of the first run that cannot be done, or if results cannot be kept.
pub fn run_shard(
    mut plan: Plan,
    (dealt, study): (&ShardAssignment, usize),
    program: &Program,
    threads: Option<NonZeroUsize>,
    result_store: &ResultStore<'_>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<ShardRun>, ExecuteError> {
    keep_pipes(&mut plan)?;
    let all = jobs(&plan);
    let mine: Vec<RunJob> = dealt.runs[study].iter().map(|run| all[*run]).collect();
    let follow = Follow { progress, ..Follow::default() };
    let runs = run_jobs(&mut plan, &mine, program, threads, Some(result_store), follow)?;
    let is_lost = |run: &&JobRun| run.digest.is_none_or(|digest| !result_store.store.path(digest).is_file());
    let lost = runs.iter().filter(is_lost).count();
    if lost > 0 {
        return Err(ExecuteError::NotKept { lost, store: result_store.store.folder().to_owned() });
    }
    let run = |(job, run): (&RunJob, JobRun)| ShardRun {
        labels: plan.points[job.point].labels.clone(),
        seed: job.seed,
        digest: run.digest.expect("a run with a store has a key"),
        was_stored: run.was_stored,
    };
    Ok(mine.iter().zip(runs).map(run).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shard(text: &str) -> Shard {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_shard_is_a_number_and_a_count() {
        let third = shard("3/16");
        assert_eq!((third.number(), third.count(), third.to_string().as_str()), (3, 16, "3 of 16"));
        for text in
            ["0/16", "17/16", "x/y", "3", "/", "3/", "/16", "-1/16", "+1/16", "1/0", "3/16/2", "1/1000001", " 1/2"]
        {
            let said = text.parse::<Shard>().expect_err(text).to_string();
            assert!(
                said.starts_with(&format!("`{text}` is not a shard: write")) && said.contains("e.g. 3/16"),
                "{said}"
            );
        }
    }

    #[test]
    fn equal_runs_go_around_and_long_ones_are_spread() {
        let of = |lengths: &[Option<u64>]| ["1/3", "2/3", "3/3"].map(|text| shard(text).of(lengths));
        assert_eq!(of(&[Some(5); 7]), [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
        // The long run has a shard of its own.
        let lengths = [1, 1, 1, 1, 9, 1].map(Some);
        assert_eq!(of(&lengths), [vec![4], vec![0, 2, 5], vec![1, 3]].map(|runs: Vec<usize>| runs));
        // A run of unknown length counts as the longest.
        assert_eq!(of(&[Some(9), Some(1), None, Some(1)]), [vec![0], vec![2], vec![1, 3]]);
    }

    proptest! {
        #[test]
        fn every_run_is_in_one_shard_and_no_shard_is_longer_than_its_share_and_a_run(
            lengths in prop::collection::vec(prop::option::of(1_u64..1000), 0..80),
            count in 1_u32..20,
        ) {
            let shards: Vec<Vec<usize>> =
                (1..=count).map(|number| shard(&format!("{number}/{count}")).of(&lengths)).collect();
            let mut all = shards.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            let longest = lengths.iter().copied().flatten().max().unwrap_or(1);
            let sum = |runs: &[usize]| runs.iter().map(|run| lengths[*run].unwrap_or(longest)).sum::<u64>();
            let whole: u64 = shards.iter().map(|runs| sum(runs)).sum();
            for runs in &shards {
                prop_assert!(sum(runs) <= whole / u64::from(count) + longest);
            }
        }
    }
}
