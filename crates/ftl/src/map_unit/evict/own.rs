//! Eviction policies of the program that uses this library.

use std::sync::Arc;

use super::EvictionPolicy;
use crate::registry::{RegisterError, Registry};

/// The policies that the program has registered, by name.
pub(super) static POLICIES: Registry<Arc<dyn EvictionPolicy>> =
    Registry::new("eviction policy", "register_eviction_policy");

/// Registers an eviction policy, which descriptions of drives then name: `evict = { policy = "own", name = "..." }`.
///
/// The version is a part of the key of each result: change it whenever the policy changes, so that a store of results
/// does not mix results of the two. A second policy with a registered name and version is ignored.
///
/// ```
/// // The least recently used, but a clean block before a dirty one.
/// ftl::map_unit::register_eviction_policy("clean-first", "1", |block: &ftl::map_unit::CachedBlock<'_>| {
///     block.recency() as f64 - if block.is_dirty() { 1e9 } else { 0.0 }
/// })?;
/// # Ok::<(), ftl::RegisterError>(())
/// ```
///
/// # Errors
/// If a policy of another version has the name.
pub fn register_eviction_policy(
    name: impl Into<String>,
    version: impl Into<String>,
    policy: impl EvictionPolicy + 'static,
) -> Result<(), RegisterError> {
    POLICIES.register(name.into(), version.into(), Arc::new(policy))
}
