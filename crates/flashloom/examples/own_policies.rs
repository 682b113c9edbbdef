//! Policies of one's own for placement, the pace of collection and the eviction of map entries, by their names in every command of
//! `flashloom`.
//!
//! `cargo run --example own_policies -- run demo zipf-write-4k --set ftl.placement='{policy="own",name="around"}'`

use flashloom::ftl::map_unit::{CachedBlock, register_eviction_policy};
use flashloom::ftl::{
    CollectionPool, PlacementPool, RegisterError, register_collection_policy, register_placement_policy,
};

// ANCHOR: policies
/// Placement: fills programs, and leaves dies alone that collect garbage.
fn around(pool: &PlacementPool<'_>) -> f64 {
    let (filling, collecting) = (f64::from(u8::from(pool.is_filling())), f64::from(u8::from(pool.is_collecting())));
    20.0 * filling - 5.0 * collecting - f64::from(pool.commands())
}

/// Pace: one copy at a time while the host writes to the pool.
fn polite(pool: &CollectionPool<'_>) -> u32 {
    if pool.writes() > 0 { 1 } else { pool.parallel() }
}

/// Eviction: the least recently used block, but a clean one before one that must be written back.
fn clean_first(block: &CachedBlock<'_>) -> f64 {
    block.recency() as f64 - if block.is_dirty() { 1e9 } else { 0.0 }
}

/// Makes the policies known to this program.
pub fn register() -> Result<(), RegisterError> {
    register_placement_policy("around", "1", around)?;
    register_collection_policy("polite", "1", polite)?;
    register_eviction_policy("clean-first", "1", clean_first)
}
// ANCHOR_END: policies

/// All commands of `flashloom`.
pub fn main() -> std::process::ExitCode {
    match register() {
        Ok(()) => flashloom::command(std::env::args_os()).into(),
        Err(taken) => panic!("{taken}"),
    }
}
