//! Settings in which planes read independently, for every family whose drives may have such planes.

use flash::backend::{Controllers, Order, PlaneReadSpec, ReadScope};
use ssd::{FtlKind, MapSpec, Spec};

use super::{Book, Setting, buffer, samples, set_planes, short};

/// Selects one die of two or four planes on each channel, with a queue deep enough for all of them.
fn reads_by_planes(spec: &mut Spec, planes: u32) {
    spec.flash.plane_reads = Some(PlaneReadSpec::default());
    spec.flash.controllers = Controllers::None;
    (spec.flash.chips, spec.host.queue_depth) = (1, 16);
    if let Some(part) = &mut spec.flash.custom_part {
        set_planes(part, planes);
    }
}

impl Book {
    fn plane_reads(&mut self, name: &str, planes: u32, change: impl FnOnce(&mut Spec, &mut PlaneReadSpec)) {
        self.add(format!("planes that read by themselves, {name}"), |spec| {
            reads_by_planes(spec, planes);
            let mut rules = PlaneReadSpec::default();
            change(spec, &mut rules);
            spec.flash.plane_reads = Some(rules);
        });
    }

    /// Adds settings of a page map, with all rules.
    pub(super) fn planes_that_read(&mut self) {
        for reads in [ReadScope::Host, ReadScope::All] {
            self.plane_reads(&format!("{reads:?}"), 2, |_, rules| rules.reads = reads);
            self.plane_reads(&format!("{reads:?}, programs of one plane"), 4, |spec, rules| {
                (spec.flash.multi_plane, rules.reads) = (Some(false), reads);
            });
        }
        self.plane_reads("2 of 4 at once", 4, |spec, rules| {
            (spec.flash.multi_plane, rules.at_once) = (Some(false), Some(2));
        });
        self.plane_reads("buffered, read-first", 2, |spec, _| {
            spec.buffer = Some(buffer(8, 0.5, 0.25));
            spec.flash.arbitration.commands = Order::ReadFirst;
        });
        for controllers in [Controllers::Shared(3), Controllers::Background(2)] {
            self.plane_reads(&format!("controllers {controllers:?}"), 2, |spec, rules| {
                (spec.flash.controllers, rules.reads) = (controllers, ReadScope::All);
            });
        }
        self.plane_reads("operations that are suspended for them", 4, |spec, rules| {
            (spec.flash.multi_plane, rules.reads) = (Some(false), ReadScope::All);
            spec.flash.suspend = Some(short());
        });
        self.plane_reads("cache mode across lists", 2, |spec, _| spec.flash.cache_across_lists = true);
    }

    /// Adds settings of a log-block FTL, whose merges read and copy.
    pub(super) fn planes_that_read_beside_merges(&mut self) {
        for reads in [ReadScope::Host, ReadScope::All] {
            self.plane_reads(&format!("{reads:?}, merges"), 2, |spec, rules| {
                (spec.flash.multi_plane, rules.reads) = (Some(false), reads);
            });
        }
    }

    /// Adds a setting for each map, because translation pages are read, too.
    pub(super) fn planes_that_read_for_a_map(&mut self) {
        if self.map != MapSpec::Ram {
            self.plane_reads("reads of all kinds", 2, |_, rules| rules.reads = ReadScope::All);
        }
    }
}

/// Creates a setting from the first sample of each family.
pub(super) fn of_families() -> Vec<Setting> {
    let mut settings = Vec::new();
    for kind in FtlKind::UNZONED {
        for (reads, multi_plane) in [(ReadScope::Host, None), (ReadScope::All, Some(false))] {
            let Some(mut spec) = samples::first(kind) else { continue };
            reads_by_planes(&mut spec, 2);
            spec.flash.multi_plane = multi_plane;
            spec.flash.plane_reads = Some(PlaneReadSpec { reads, at_once: None });
            if spec.resolve().is_ok() {
                let name = format!("{}, planes that read by themselves, {reads:?}", kind.name());
                settings.push(Setting { name, spec });
            }
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use base::units::Span;
    use flash::nand::Stamp;
    use ssd::{Drive, Ssd};

    use super::super::settings;
    use super::*;
    use crate::Host;
    use crate::conformance::script;

    /// Checks that planes read independently in these settings: otherwise they would test nothing.
    #[test]
    fn planes_read_in_these_settings() {
        let mut kinds = [false; FtlKind::UNZONED.len()];
        for setting in settings().iter().filter(|setting| setting.name.contains("planes that read")) {
            let resolved = setting.spec.resolve().expect("valid");
            let mut host = Host::new(Ssd::<Stamp>::new(&resolved, 1));
            script::play(&mut host, &script::random(1, resolved.capacity().get(), 500));
            host.run_until_idle();
            let counters = host.ssd().counters();
            assert!(counters.plane_busy.iter().copied().sum::<Span>() > Span::ZERO, "{}", setting.name);
            kinds[FtlKind::UNZONED.iter().position(|kind| *kind == setting.spec.ftl.kind).expect("a kind")] = true;
        }
        let without: Vec<_> =
            FtlKind::UNZONED.iter().zip(kinds).filter(|(_, seen)| !seen).map(|(kind, _)| *kind).collect();
        assert_eq!(without, [FtlKind::Hydra, FtlKind::Chang], "families without planes that read by themselves");
    }
}
