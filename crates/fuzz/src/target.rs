//! The targets: one for each parser (from the registries where they exist), and those that run a drive.

mod config;
mod drive;
mod nbd;
mod nvme;
mod snapshot;
mod text;
mod trace;

use crate::Target;

/// All targets, in the order of `fuzz list`.
#[must_use]
pub fn targets() -> Vec<Target> {
    let mut all = trace::targets();
    all.extend(config::targets());
    all.extend(text::targets());
    all.extend(nbd::targets());
    all.push(nvme::target());
    all.push(snapshot::target());
    all.extend(drive::targets());
    all
}
