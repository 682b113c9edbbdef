//! Stream policies of the program that uses this library, by name.
//!
//! The names are the process's, like those of its victim policies: a description that is read anywhere in it finds the same
//! policy.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{HostWrite, StreamPolicy};
use crate::page::RegisterError;

/// A policy that can be copied, with the drive that has it.
pub(super) trait Cloned: StreamPolicy + Send + Sync {
    fn boxed(&self) -> Box<dyn Cloned>;
}

impl<T: StreamPolicy + Clone + Send + Sync + 'static> Cloned for T {
    fn boxed(&self) -> Box<dyn Cloned> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Cloned> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl StreamPolicy for Box<dyn Cloned> {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        (**self).stream(write)
    }
}

/// A policy as it begins, and its version.
#[derive(Clone)]
pub(super) struct Own {
    pub(super) version: String,
    first: Arc<dyn Cloned>,
}

impl Own {
    /// The policy of a drive that has just been mounted.
    pub(super) fn begin(&self) -> Box<dyn Cloned> {
        self.first.boxed()
    }
}

static POLICIES: RwLock<BTreeMap<String, Own>> = RwLock::new(BTreeMap::new());

/// Registers a stream policy, which descriptions of drives then name: `host = { policy = "own", name = "...", streams = 2 }`.
/// Each mount of a drive begins with a copy of it.
///
/// The version is a part of the key of each result, so change it whenever the policy changes: a store of results then does not
/// mix the two. A policy of the same name and version stays the one that was registered first.
///
/// ```
/// /// Writes of less than a mapping unit are hot.
/// #[derive(Clone, Debug)]
/// struct Parts;
///
/// impl ftl::StreamPolicy for Parts {
///     fn stream(&mut self, write: &ftl::HostWrite) -> u8 {
///         if write.is_partial { 0 } else { 1 }
///     }
/// }
/// ftl::register_stream_policy("parts", "1", Parts)?;
/// # Ok::<(), ftl::RegisterError>(())
/// ```
///
/// # Errors
/// If a policy of another version has the name.
pub fn register_stream_policy(
    name: impl Into<String>,
    version: impl Into<String>,
    policy: impl StreamPolicy + Clone + Send + Sync + 'static,
) -> Result<(), RegisterError> {
    let (name, version) = (name.into(), version.into());
    let mut policies = POLICIES.write().unwrap_or_else(PoisonError::into_inner);
    match policies.get(&name) {
        Some(known) if known.version != version => Err(RegisterError::new("stream", name)),
        Some(_) => Ok(()),
        None => {
            policies.insert(name, Own { version, first: Arc::new(policy) });
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
