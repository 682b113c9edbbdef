//! Victim policies of the program that uses this library, by name.
//!
//! The names are the process's, as those of its functions are: a description that is read anywhere in it (by a run, a study on
//! many threads, a comparison, a what-if) finds the same policy, and nothing between the file and the FTL hands it on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::VictimPolicy;

/// A policy and its version.
#[derive(Clone)]
pub(super) struct Own {
    pub(super) version: String,
    pub(super) policy: Arc<dyn VictimPolicy>,
}

static POLICIES: RwLock<BTreeMap<String, Own>> = RwLock::new(BTreeMap::new());

/// The reason that a policy is not registered: its name belongs to another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    kind: &'static str,
    name: String,
}

impl RegisterError {
    /// The name is that of a policy of this kind, such as `victim`.
    pub(crate) const fn new(kind: &'static str, name: String) -> Self {
        Self { kind, name }
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name } = self;
        write!(f, "there is a {kind} policy `{name}` of another version already; give this one another name")
    }
}

impl std::error::Error for RegisterError {}

/// Registers a victim policy, which descriptions of drives then name: `victim = { policy = "own", name = "..." }`.
///
/// The version is a part of the key of each result, so change it whenever the policy changes: a store of results then does not
/// mix the two. A policy of the same name and version stays the one that was registered first.
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
    let (name, version) = (name.into(), version.into());
    let mut policies = POLICIES.write().unwrap_or_else(PoisonError::into_inner);
    match policies.get(&name) {
        Some(known) if known.version != version => Err(RegisterError::new("victim", name)),
        Some(_) => Ok(()),
        None => {
            policies.insert(name, Own { version, policy: Arc::new(policy) });
            Ok(())
        }
    }
}

/// The policy of a name.
pub(super) fn policy(name: &str) -> Option<Own> {
    POLICIES.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// The names of all policies.
pub(super) fn names() -> Vec<String> {
    POLICIES.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
}
