//! Collection policies of the program that uses this library.

use std::sync::Arc;

use super::CollectionPolicy;
use crate::registry::{RegisterError, Registry};

/// The policies that the program has registered, by name.
pub(super) static POLICIES: Registry<Arc<dyn CollectionPolicy>> =
    Registry::new("collection policy", "register_collection_policy");

/// Registers a collection policy, which descriptions of drives then name: `pace = { policy = "own", name = "..." }`.
///
/// The version is a part of the key of each result: change it whenever the policy changes, so that a store of results
/// does not mix results of the two. A second policy with a registered name and version is ignored.
///
/// ```
/// // One copy at a time while the host writes.
/// ftl::register_collection_policy("polite", "1", |pool: &ftl::CollectionPool<'_>| {
///     if pool.writes() > 0 { 1 } else { pool.parallel() }
/// })?;
/// # Ok::<(), ftl::RegisterError>(())
/// ```
///
/// # Errors
/// If a policy of another version has the name.
pub fn register_collection_policy(
    name: impl Into<String>,
    version: impl Into<String>,
    policy: impl CollectionPolicy + 'static,
) -> Result<(), RegisterError> {
    POLICIES.register(name.into(), version.into(), Arc::new(policy))
}
