//! Victim policies of the program that uses this library.

use std::sync::Arc;

use super::VictimPolicy;
use crate::registry::{RegisterError, Registry};

/// The policies that the program has registered, by name.
pub(super) static POLICIES: Registry<Arc<dyn VictimPolicy>> = Registry::new("victim policy", "register_victim_policy");

/// Registers a victim policy, which descriptions of drives then name: `victim = { policy = "own", name = "..." }`.
///
/// The version is a part of the key of each result: change it whenever the policy changes, so that a store of results
/// does not mix results of the two. A second policy with a registered name and version is ignored.
///
/// ```
/// // Greedy, but a superblock that has just been closed is left alone.
/// ftl::register_victim_policy("patient", "1", |block: &ftl::Candidate<'_>| {
///     if block.age() < 4 { -1.0 } else { f64::from(block.invalid()) }
/// })?;
/// # Ok::<(), ftl::RegisterError>(())
/// ```
///
/// # Errors
/// If a policy of another version has the name.
pub fn register_victim_policy(
    name: impl Into<String>,
    version: impl Into<String>,
    policy: impl VictimPolicy + 'static,
) -> Result<(), RegisterError> {
    POLICIES.register(name.into(), version.into(), Arc::new(policy))
}
