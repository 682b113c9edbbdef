//! Names that files had in earlier versions: each is refused, with the name of today.

/// A name of an earlier version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// A key of a device file.
    Key {
        /// Its path in the file.
        path: &'static str,
        /// Its name today.
        now: &'static str,
    },
    /// A value of a key of a device file.
    Value {
        /// The key's path in the file.
        path: &'static str,
        /// The value.
        old: &'static str,
        /// Its name today.
        now: &'static str,
    },
    /// A metric.
    Metric {
        /// Its name.
        old: &'static str,
        /// Its name today.
        now: &'static str,
    },
}

/// All of them.
pub const RENAMED: [Renamed; 6] = [
    Renamed::Key { path: "flash.units", now: "controllers" },
    Renamed::Key { path: "flash.software-units", now: "software-controllers" },
    Renamed::Key { path: "flash.order", now: "arbitration" },
    Renamed::Key { path: "ftl.map.aside", now: "set-wait-queue" },
    Renamed::Value { path: "flash.transfer", old: "unit", now: "controller" },
    Renamed::Metric { old: "busy.units", now: "busy.controllers" },
];

impl Renamed {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Key { path, now } => (path, now),
            Self::Value { old, now, .. } | Self::Metric { old, now } => (old, now),
        }
    }
}

/// Today's name of what was called `name`, if it is one of `candidates`.
pub(crate) fn renamed<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let now = |candidate: &&'a str| {
        RENAMED.iter().any(|renamed| {
            let (old, now) = renamed.names();
            let old = if matches!(renamed, Renamed::Key { .. }) { old.rsplit('.').next().unwrap_or(old) } else { old };
            (old, now) == (name, *candidate)
        })
    };
    candidates.into_iter().find(now)
}
