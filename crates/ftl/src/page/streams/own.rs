//! Stream policies of the program that uses this library.

use std::sync::Arc;

use super::{HostWrite, StreamPolicy};
use crate::registry::{RegisterError, Registry};

/// The policies that the program has registered, in the state in which each begins at the mount of a drive.
pub(super) static POLICIES: Registry<Arc<dyn CloneablePolicy>> =
    Registry::new("stream policy", "register_stream_policy");

/// A policy that can be copied together with its drive.
pub(super) trait CloneablePolicy: StreamPolicy + Send + Sync {
    fn boxed(&self) -> Box<dyn CloneablePolicy>;
}

impl<T: StreamPolicy + Clone + Send + Sync + 'static> CloneablePolicy for T {
    fn boxed(&self) -> Box<dyn CloneablePolicy> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CloneablePolicy> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl StreamPolicy for Box<dyn CloneablePolicy> {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        (**self).stream(write)
    }
}

/// Registers a stream policy, which descriptions of drives then name: `host = { policy = "own", name = "...", streams =
/// 2 }`. Each mount of a drive begins with a copy of the policy.
///
/// The version is a part of the key of each result: change it whenever the policy changes, so that a store of results
/// does not mix results of the two. A second policy with a registered name and version is ignored.
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
    POLICIES.register(name.into(), version.into(), Arc::new(policy))
}
