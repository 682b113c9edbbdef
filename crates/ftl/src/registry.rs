//! Registries of the policies and FTLs of the program that uses this library, by name.
//!
//! A registry is global to the process: every description that the process reads (for a run, a study on many threads, a
//! comparison, a what-if) finds the same policy under a name, and nothing between the file and the FTL has to pass the
//! policy on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use base::fault::Faults;
use base::suggest::nearest;

/// The registered policies of one kind.
pub(crate) struct Registry<T> {
    /// The kind of policy for messages, such as `victim policy`.
    kind: &'static str,
    /// The function with which the program registers a policy, for messages.
    function: &'static str,
    /// Version and policy by name.
    policies: RwLock<BTreeMap<String, (String, T)>>,
}

/// The error of a registration: the name belongs to another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    kind: &'static str,
    name: String,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name } = self;
        write!(f, "there is a {kind} `{name}` of another version already; give this one another name")
    }
}

impl std::error::Error for RegisterError {}

impl<T: Clone> Registry<T> {
    pub(crate) const fn new(kind: &'static str, function: &'static str) -> Self {
        Self { kind, function, policies: RwLock::new(BTreeMap::new()) }
    }

    /// Registers a policy. A policy that is registered under the same name and version stays.
    pub(crate) fn register(&self, name: String, version: String, policy: T) -> Result<(), RegisterError> {
        let mut policies = self.policies.write().unwrap_or_else(PoisonError::into_inner);
        let (known, _) = policies.entry(name.clone()).or_insert_with(|| (version.clone(), policy));
        if *known == version { Ok(()) } else { Err(RegisterError { kind: self.kind, name }) }
    }

    fn get(&self, name: &str) -> Option<(String, T)> {
        self.policies.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The policy registered under a name.
    pub(crate) fn policy(&self, name: &str) -> Option<T> {
        self.get(name).map(|(_, policy)| policy)
    }

    /// The version of the policy registered under a name.
    pub(crate) fn version(&self, name: &str) -> Option<String> {
        self.get(name).map(|(version, _)| version)
    }

    /// Adds the faults of a description's name and version of a policy.
    pub(crate) fn check(
        &self,
        (name_key, version_key): (&str, &str),
        name: &str,
        version: Option<&str>,
        faults: &mut Faults,
    ) {
        let Self { kind, function, .. } = self;
        let Some(known) = self.version(name) else {
            let policies = self.policies.read().unwrap_or_else(PoisonError::into_inner);
            let names: Vec<&str> = policies.keys().map(String::as_str).collect();
            let meant = nearest(name, &names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            let message = format!("no {kind} `{name}` is registered in this program{meant}");
            let remedy = format!("register it before the description is read ({function}), or name one of the library");
            return faults.add(name_key, message, remedy);
        };
        if let Some(version) = version.filter(|version| *version != known) {
            let message = format!("is {version:?}, and `{name}` is registered with version {known:?}");
            faults.add(version_key, message, "leave it out");
        }
    }
}
