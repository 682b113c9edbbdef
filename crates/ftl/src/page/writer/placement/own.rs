//! Placement policies of the program that uses this library.

use std::sync::Arc;

use super::PlacementPolicy;
use crate::registry::{RegisterError, Registry};

/// The policies that the program has registered, by name.
pub(super) static POLICIES: Registry<Arc<dyn PlacementPolicy>> =
    Registry::new("placement policy", "register_placement_policy");

/// Registers a placement policy, which descriptions of drives then name: `placement = { policy = "own", name = "..."
/// }`.
///
/// The version is a part of the key of each result: change it whenever the policy changes, so that a store of results
/// does not mix results of the two. A second policy with a registered name and version is ignored.
///
/// ```
/// // Fills programs, and leaves dies alone that collect garbage.
/// ftl::register_placement_policy("around", "1", |pool: &ftl::PlacementPool<'_>| {
///     let filling = if pool.is_filling() { 1.0 } else { 0.0 };
///     let collecting = if pool.is_collecting() { 8.0 } else { 0.0 };
///     10.0 * filling - collecting - f64::from(pool.commands())
/// })?;
/// # Ok::<(), ftl::RegisterError>(())
/// ```
///
/// # Errors
/// If a policy of another version has the name.
pub fn register_placement_policy(
    name: impl Into<String>,
    version: impl Into<String>,
    policy: impl PlacementPolicy + 'static,
) -> Result<(), RegisterError> {
    POLICIES.register(name.into(), version.into(), Arc::new(policy))
}
