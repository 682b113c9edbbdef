//! Each eviction policy evicts its block.

use base::engine::Rng;

use super::super::cache::Cache;
use super::super::evict::{CachedBlock, CachedBlocks, EvictSpec, EvictionPolicy, register_eviction_policy};
use crate::own::Name;

fn score(text: &str) -> EvictSpec {
    EvictSpec::Score { score: Name::from(text) }
}

/// A cache of one set of four blocks with the keys 0 to 3. After their loads block 1 was used once and then block 0
/// twice; block 2 is dirty.
fn cache(spec: EvictSpec) -> Cache {
    let mut cache = Cache::new(4, 4, spec);
    (0..4).for_each(|key| _ = fill(&mut cache, key));
    [1, 0, 0].into_iter().for_each(|block| cache.touch(block));
    cache.make_dirty(2);
    cache.make_dirty(2);
    cache
}

/// Loads a block with this key, and returns the key of the block that left and the number of blocks tested.
fn fill(cache: &mut Cache, key: u32) -> (Option<u32>, u64) {
    let (victim, looked) = cache.victim(key, |state| !state.dirty);
    let block = victim.expect("a victim");
    let old = cache.block(block).key;
    cache.allocate(block, key);
    cache.finish_load(block);
    (old, looked)
}

#[test]
fn each_policy_evicts_its_block() {
    for (spec, victim) in [
        (EvictSpec::SecondChance, 0),
        (EvictSpec::Lru, 3),
        (EvictSpec::Fifo, 0),
        (score("recency"), 3),
        (score("-recency"), 0),
        (score("age"), 0),
        (score("-uses"), 3),
        (score("uses"), 0),
        (score("1 + changes + dirty"), 0),
        (score("0 / 0"), 0),
        (score("if(uses == 1, 1, 0 / 0)"), 1),
    ] {
        assert_eq!(fill(&mut cache(spec), 9).0, Some(victim), "{spec:?}");
    }
}

#[test]
fn dirty_and_changes_count_until_the_next_level_has_the_block() {
    let values = |cache: &Cache| {
        let mut cache = cache.clone();
        let by = |cache: &mut Cache| cache.victim(9, |_| true).0;
        by(&mut cache)
    };
    let mut by_changes = cache(score("changes"));
    assert_eq!(values(&by_changes), Some(2));
    by_changes.make_clean(2);
    by_changes.make_dirty(3);
    assert_eq!(values(&by_changes), Some(3));
    assert_eq!(values(&cache(score("dirty"))), Some(2));
}

#[test]
fn an_empty_block_comes_first_and_all_blocks_are_tested() {
    let mut cache = Cache::new(4, 4, EvictSpec::Lru);
    for key in 0..4 {
        assert_eq!(fill(&mut cache, key), (None, 4));
    }
    assert_eq!(fill(&mut cache, 4), (Some(0), 4));
}

#[test]
fn a_block_that_must_stay_is_no_victim_of_any_policy() {
    for spec in [EvictSpec::Lru, EvictSpec::Fifo, EvictSpec::Random, score("changes"), score("-age")] {
        let mut cache = Cache::new(4, 4, spec);
        (0..3).for_each(|key| _ = fill(&mut cache, key));
        cache.make_dirty(0);
        let (third, _) = cache.victim(3, |_| true);
        cache.allocate(third.expect("an empty block"), 3);
        for _ in 0..50 {
            let (victim, _) = cache.victim(9, |state| !state.dirty);
            assert!(matches!(victim, Some(1 | 2)), "{spec:?}: block 0 is dirty, block 3 is on its way");
        }
        cache.make_dirty(1);
        cache.make_dirty(2);
        assert_eq!(cache.victim(9, |state| !state.dirty).0, None, "{spec:?}");
    }
}

#[test]
fn random_chooses_every_block() {
    let mut cache = cache(EvictSpec::Random);
    let mut seen = [false; 4];
    (0..100).for_each(|_| seen[cache.victim(9, |_| true).0.expect("a victim")] = true);
    assert_eq!(seen, [true; 4]);
}

#[test]
fn a_policy_of_the_program_that_chooses_none_evicts_the_first() {
    struct NoChoice;
    impl EvictionPolicy for NoChoice {
        fn choose<'c>(&self, _: &'c CachedBlocks<'_>, _: &mut Rng) -> Option<CachedBlock<'c>> {
            None
        }
    }
    register_eviction_policy("nothing", "1", NoChoice).expect("a new name");
    register_eviction_policy("frequent", "1", |block: &CachedBlock<'_>| f64::from(block.uses())).expect("new");
    let own = |name| EvictSpec::Own { name: Name::from(name), version: None };
    assert_eq!(fill(&mut cache(own("nothing")), 9).0, Some(0));
    assert_eq!(fill(&mut cache(own("frequent")), 9).0, Some(0));
    let EvictSpec::Own { version, .. } = own("frequent").written_out() else { panic!("the same policy") };
    assert_eq!(version, Some(Name::from("1")));
}

#[test]
fn errors_say_what_to_do() {
    let faults = |spec: EvictSpec| {
        let mut faults = Vec::new();
        spec.check(&mut faults);
        faults.into_iter().map(|fault| (fault.path.clone(), fault.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(faults(score("recency - 2 * dirty")), []);
    let wrong = faults(score("recent"));
    assert_eq!(wrong[0].0, "ftl.map.evict.score");
    assert!(wrong[0].1.contains("did you mean `recency`?"), "{wrong:?}");
    let unknown = faults(EvictSpec::Own { name: Name::from("absent"), version: None });
    assert!(unknown[0].1.contains("no eviction policy `absent` is registered"), "{unknown:?}");
}
