//! Settings in which reads suspend programs and erases, for every family whose drives may do so.

use base::units::{Bytes, Span};
use flash::backend::{Controllers, Order, ReadScope, StopPoint, SuspendSpec, SuspensionTarget};
use ssd::{CheckpointSpec, FtlKind, MapSpec, Spec};

use super::{Book, Setting, buffer, hydra, samples, set_planes};

/// Rules of suspension with times so short that an operation can be suspended many times.
pub(crate) fn short() -> SuspendSpec {
    SuspendSpec {
        program_time: Span::from_us(5),
        erase_time: Span::from_us(20),
        program_resume: Span::from_us(2),
        erase_resume: Span::from_us(3),
        ..SuspendSpec::default()
    }
}

/// Selects two dies on a channel that suspend, with controllers that let a read reach a busy die.
fn suspends(spec: &mut Spec, rules: SuspendSpec) {
    spec.flash.suspend = Some(rules);
    spec.flash.controllers = Controllers::None;
    (spec.flash.channels, spec.flash.chips) = (1, 2);
}

impl Book {
    fn suspension(&mut self, name: &str, change: impl FnOnce(&mut Spec, &mut SuspendSpec)) {
        self.add(format!("suspension, {name}"), |spec| {
            let mut rules = short();
            suspends(spec, rules);
            change(spec, &mut rules);
            spec.flash.suspend = Some(rules);
        });
    }

    /// Adds settings of a page map, with all rules.
    pub(super) fn suspensions(&mut self) {
        for stop in [StopPoint::AnyTime, StopPoint::Steps, StopPoint::Cancel] {
            self.suspension(&format!("{stop:?}"), |_, rules| rules.stop = stop);
            self.suspension(&format!("{stop:?}, buffered"), |spec, rules| {
                (rules.stop, spec.buffer) = (stop, Some(buffer(8, 0.5, 0.25)));
            });
        }
        for controllers in [Controllers::Shared(2), Controllers::Background(2)] {
            for reads in [ReadScope::Host, ReadScope::All] {
                self.suspension(&format!("controllers {controllers:?}, {reads:?}"), |spec, rules| {
                    (spec.flash.controllers, rules.reads) = (controllers, reads);
                });
            }
        }
        for operations in [SuspensionTarget::Programs, SuspensionTarget::Erases] {
            self.suspension(&format!("{operations:?}, reads of all kinds"), |spec, rules| {
                (rules.operations, rules.reads) = (operations, ReadScope::All);
                spec.flash.arbitration.commands = Order::ReadFirst;
            });
        }
        for stop in [StopPoint::AnyTime, StopPoint::Steps, StopPoint::Cancel] {
            self.suspension(&format!("{stop:?}, erases for writes"), |spec, rules| {
                (rules.stop, rules.writes, rules.operations) = (stop, true, SuspensionTarget::Erases);
                spec.buffer = Some(buffer(8, 0.5, 0.25));
            });
        }
        self.suspension("erases for writes, checkpoints", |spec, rules| {
            rules.writes = true;
            // Pages of checkpoints lie among host data.
            spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(16 << 10) });
        });
        self.suspension("limits", |_, rules| {
            (rules.limit, rules.progress) = (Some(2), Span::from_us(30));
            (rules.longest, rules.threshold) = (Some(Span::from_us(150)), Span::from_us(40));
        });
        self.suspension("a step for each operation, canceled", |_, rules| {
            (rules.stop, rules.program_steps, rules.erase_steps, rules.limit) = (StopPoint::Cancel, 1, 1, Some(1));
        });
        self.suspension("without cache mode", |spec, _| spec.flash.cache_mode = false);
        self.suspension("copy-back", |spec, rules| {
            (spec.ftl.gc.copy_back, rules.reads) = (true, ReadScope::All);
        });
        self.suspension("shared log", |spec, _| spec.ftl.gc.shared_log = true);
        self.suspension("2 planes at once, one-shot programs", |spec, rules| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.timing.one_shot = 2;
            set_planes(part, 2);
            rules.reads = ReadScope::All;
        });
        self.suspension("cache mode across lists", |spec, _| {
            (spec.flash.cache_across_lists, spec.host.queue_depth) = (true, 32);
        });
    }

    /// Adds a setting for each map, because translation pages are read and programmed, too.
    pub(super) fn suspensions_for_a_map(&mut self) {
        if self.map != MapSpec::Ram {
            self.suspension("reads of all kinds", |_, rules| rules.reads = ReadScope::All);
        }
    }

    /// Adds settings of a log-block FTL, whose merges erase much.
    pub(super) fn suspensions_of_merges(&mut self) {
        for (controllers, stop) in [
            (Controllers::None, StopPoint::AnyTime),
            (Controllers::Shared(3), StopPoint::Steps),
            (Controllers::Background(2), StopPoint::Cancel),
        ] {
            self.suspension(&format!("controllers {controllers:?}, {stop:?}"), |spec, rules| {
                spec.flash.controllers = controllers;
                (spec.flash.channels, spec.flash.chips) = (2, 2);
                (rules.stop, rules.reads) = (stop, ReadScope::All);
            });
        }
    }
}

/// Creates the settings of the families with devices of their own.
pub(super) fn of_families() -> Vec<Setting> {
    let mut settings = hydra::suspending(short());
    for kind in FtlKind::UNZONED {
        settings.extend(samples::suspending(kind, short()));
    }
    settings
}

#[cfg(test)]
mod tests {
    use flash::backend::Op;
    use flash::nand::Stamp;
    use ssd::{Drive, QueueSpec, Ssd};

    use super::super::settings;
    use super::*;
    use crate::Host;
    use crate::conformance::script;

    /// Checks in every family that the reads of a queue have the class of the queue.
    #[test]
    fn reads_of_a_queue_that_may_not_suspend_suspend_nothing() {
        let mut kinds = [false; FtlKind::UNZONED.len()];
        for setting in settings().iter().filter(|setting| setting.name.contains("suspension")) {
            let mut spec = setting.spec.clone();
            let rules = spec.flash.suspend.as_mut().expect("it suspends");
            (rules.reads, rules.writes) = (ReadScope::Host, false);
            // A translation page is read on behalf of all queues.
            if spec.ftl.map != MapSpec::Ram {
                continue;
            }
            spec.host.queue = vec![QueueSpec { suspend: Some(false), ..QueueSpec::default() }];
            let mut host = Host::new(Ssd::<Stamp>::new(&spec.resolve().expect("valid"), 1));
            script::play(&mut host, &script::random(1, spec.resolve().expect("valid").capacity().get(), 500));
            host.run_until_idle();
            let counters = host.ssd().counters();
            let all = [Op::Program, Op::Erase].map(|op| counters.flash.op(op).suspensions);
            assert_eq!(all, [0; 2], "{}", setting.name);
            kinds[FtlKind::UNZONED.iter().position(|kind| *kind == spec.ftl.kind).expect("a kind")] = true;
        }
        assert_eq!(kinds.iter().filter(|seen| **seen).count(), FtlKind::UNZONED.len() - 1, "all families but Chang's");
    }

    /// Checks that these settings cause suspensions: without them they would test nothing.
    #[test]
    fn programs_and_erases_are_suspended_in_these_settings() {
        let (mut found, mut kinds) = (0, [false; FtlKind::UNZONED.len()]);
        for setting in settings().iter().filter(|setting| setting.name.contains("suspension")) {
            let resolved = setting.spec.resolve().expect("valid");
            let rules = setting.spec.flash.suspend.expect("it suspends");
            let mut host = Host::new(Ssd::<Stamp>::new(&resolved, 1));
            script::play(&mut host, &script::random(1, resolved.capacity().get(), 500));
            host.run_until_idle();
            let counters = host.ssd().counters();
            let of = |op| counters.flash.op(op).suspensions;
            let (programs, erases) = (of(Op::Program), of(Op::Erase));
            let name = &setting.name;
            assert_eq!(rules.operations != SuspensionTarget::Erases, programs > 0, "{name}: {programs} of programs");
            assert_eq!(rules.operations != SuspensionTarget::Programs, erases > 0, "{name}: {erases} of erases");
            found += 1;
            kinds[FtlKind::UNZONED.iter().position(|kind| *kind == setting.spec.ftl.kind).expect("a kind")] = true;
        }
        assert!(found > 30, "{found} settings");
        let without: Vec<_> =
            FtlKind::UNZONED.iter().zip(kinds).filter(|(_, seen)| !seen).map(|(kind, _)| *kind).collect();
        assert_eq!(without, [FtlKind::Chang], "families without suspension");
    }
}
