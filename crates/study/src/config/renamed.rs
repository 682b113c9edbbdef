//! Names of earlier versions of the program. Each is refused with a hint at its current name.

/// A name of an earlier version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormerName {
    /// A key of a device file.
    Key {
        /// The key's path in the file.
        path: &'static str,
        /// The key's current name.
        now: &'static str,
    },
    /// A value of a key of a device file.
    Value {
        /// The key's path in the file.
        path: &'static str,
        /// The name of the value in older versions.
        old: &'static str,
        /// The value's current name.
        now: &'static str,
    },
    /// The name of a metric changed.
    Metric {
        /// The metric's name in older versions.
        old: &'static str,
        /// The metric's current name.
        now: &'static str,
    },
}

/// All renamed keys, values and metrics.
pub const RENAMED: [FormerName; 6] = [
    FormerName::Key { path: "flash.units", now: "controllers" },
    FormerName::Key { path: "flash.software-units", now: "software-controllers" },
    FormerName::Key { path: "flash.order", now: "arbitration" },
    FormerName::Key { path: "ftl.map.aside", now: "set-wait-queue" },
    FormerName::Value { path: "flash.transfer", old: "unit", now: "controller" },
    FormerName::Metric { old: "busy.units", now: "busy.controllers" },
];

impl FormerName {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Key { path, now } => (path, now),
            Self::Value { old, now, .. } | Self::Metric { old, now } => (old, now),
        }
    }
}

/// The current name of a metric formerly called `name`, if it is one of `candidates`.
pub(crate) fn renamed<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let now = |candidate: &&'a str| {
        RENAMED.iter().any(|renamed| {
            let (old, now) = renamed.names();
            let old =
                if matches!(renamed, FormerName::Key { .. }) { old.rsplit('.').next().unwrap_or(old) } else { old };
            (old, now) == (name, *candidate)
        })
    };
    candidates.into_iter().find(now)
}
