//! Refuses keys that would have no effect on this device, so that no user believes in an effect that is not there.
//!
//! The default value of a key is never refused, because a resolved description has all keys.

use base::fault::Faults;
use flash::backend::{BusOrder, Completion, Controllers, StopPoint, SuspendSpec, SuspensionTarget, Transfer};
use flash::spec::FlashSpec;
use ftl::{Idle, Site};

use super::{BufferPolicy, BufferSpec, QueueArbitration, ReadTransfer, Spec};

impl Spec {
    /// Refuses keys that would have no effect on a device of this part.
    pub(super) fn check_idle(&self, site: &Site<'_>, faults: &mut Faults) {
        let family = self.ftl.kind.family().idle(site);
        let ftl = self.ftl.idle();
        for idle in self
            .idle_flash(site)
            .into_iter()
            .chain(family)
            .chain(self.idle_planes(site))
            .chain(self.idle_suspend())
            .chain(ftl)
            .chain(self.idle_host())
        {
            // A key with a fault has been refused already.
            if idle.is_set && faults.0.iter().all(|fault| fault.path != idle.path) {
                faults.add(idle.path, format!("has no effect here: {}", idle.why), idle.remedy);
            }
        }
    }

    fn idle_flash(&self, site: &Site<'_>) -> Vec<Idle> {
        let FlashSpec { controllers, transfer, arbitration, cache_mode, cache_across_lists, paired_pages, .. } =
            &self.flash;
        let paired = "flash.paired-pages";
        let features = &site.part.features;
        let no_cache = !features.cache_read && !features.cache_program;
        let by_controller = *transfer == Transfer::Controller;
        let planes = self.flash.multi_plane.unwrap_or(features.multi_plane) && site.part.geometry.planes_per_die > 1;
        let whole = !arbitration.between_pages;
        vec![
            Idle::new(
                "flash.custom-part.endurance_spread",
                !self.flash.faults.wear_out && site.part.endurance_spread.get() > 0.0,
                "no block wears out: flash.faults.wear-out is off",
            )
            .remedy("leave it out, or set flash.faults.wear-out = true"),
            Idle::new("flash.cache-mode", !cache_mode && no_cache, "the part has no cache mode"),
            Idle::new("flash.cache-across-lists", *cache_across_lists && no_cache, "the part has no cache mode"),
            Idle::new("flash.cache-across-lists", *cache_across_lists && !cache_mode, "flash.cache-mode is off"),
            Idle::new(paired, *paired_pages && site.part.page_types() == 1, "a cell of the part has one bit"),
            Idle::new(
                paired,
                *paired_pages && site.part.timing.one_shot > 1,
                "a program covers all pages of its word line, and is torn as a whole",
            ),
            Idle::new(
                "flash.transfer",
                by_controller && *controllers == Controllers::PerChannel,
                "the link of a channel's only controller is its bus",
            ),
            Idle::new(
                "flash.arbitration.bus",
                by_controller && arbitration.bus != BusOrder::default(),
                "no command waits for a bus where controllers move the data",
            )
            .remedy("leave it out, or flash.transfer"),
            Idle::new(
                "flash.completion",
                self.flash.completion != Completion::default() && arbitration.hold,
                "a channel that is held carries no polls",
            )
            .remedy("leave it out, or flash.arbitration.hold"),
            Idle::new(
                "flash.arbitration.between-pages",
                whole && !planes && site.part.timing.one_shot == 1,
                "a program has one page",
            ),
            Idle::new(
                "flash.arbitration.between-pages",
                whole && arbitration.hold,
                "no command goes between others on a channel that is held",
            )
            .remedy("leave it out, or flash.arbitration.hold"),
            Idle::new(
                "flash.arbitration.between-pages",
                whole && by_controller,
                "a controller that moves the data does so for one list at a time",
            )
            .remedy("leave it out, or flash.transfer"),
        ]
    }

    fn idle_suspend(&self) -> Vec<Idle> {
        let (Some(rules), plain) = (&self.flash.suspend, SuspendSpec::default()) else { return Vec::new() };
        let no_program = rules.operations == SuspensionTarget::Erases;
        let no_erase = rules.operations == SuspensionTarget::Programs;
        let no_step = rules.stop == StopPoint::AnyTime;
        let program = "programs are not suspended";
        let erase = "erases are not suspended";
        let step = "an operation stops at any time, not at steps";
        let key = |name, is_set: bool, idle: bool, why: &'static str| {
            Idle::new(name, is_set && idle, why).remedy("leave it out, or change flash.suspend.operations")
        };
        let steps = |name, is_set: bool| {
            Idle::new(name, is_set && no_step, step).remedy("leave it out, or set flash.suspend.stop")
        };
        let [program_steps, program_time, program_resume] =
            ["flash.suspend.program-steps", "flash.suspend.program-time", "flash.suspend.program-resume"];
        let [erase_steps, erase_time, erase_resume] =
            ["flash.suspend.erase-steps", "flash.suspend.erase-time", "flash.suspend.erase-resume"];
        vec![
            key(program_steps, rules.program_steps != plain.program_steps, no_program, program),
            steps(program_steps, rules.program_steps != plain.program_steps),
            key(program_time, rules.program_time != plain.program_time, no_program, program),
            key(program_resume, rules.program_resume != plain.program_resume, no_program, program),
            key(erase_steps, rules.erase_steps != plain.erase_steps, no_erase, erase),
            steps(erase_steps, rules.erase_steps != plain.erase_steps),
            key(erase_time, rules.erase_time != plain.erase_time, no_erase, erase),
            key(erase_resume, rules.erase_resume != plain.erase_resume, no_erase, erase),
            key("flash.suspend.writes", rules.writes, no_erase, erase),
            Idle::new(
                "flash.suspend.progress",
                !rules.progress.is_zero() && rules.limit == Some(1),
                "an operation is suspended once at most, and works without that before",
            )
            .remedy("leave it out, or raise flash.suspend.limit"),
        ]
    }

    /// The keys of planes without effect. Called after the family's own checks of planes.
    fn idle_planes(&self, site: &Site<'_>) -> Vec<Idle> {
        let one = self.flash.multi_plane.is_some() && site.part.geometry.planes_per_die == 1;
        vec![Idle::new("flash.multi-plane", one, "a die has one plane")]
    }

    fn idle_host(&self) -> Vec<Idle> {
        let host = &self.host;
        let count = host.queues.map_or(host.queue.len().max(1), |queues| queues as usize);
        let weighted = host.arbitration == QueueArbitration::Weighted;
        // A weight that is written counts, even a weight of 1: a sweep of weights contains the point at which all are
        // equal.
        let even = host.burst == 1 && host.queue.iter().all(|queue| queue.weight.is_none() && !queue.urgent);
        let all_urgent = count > 1 && !host.queue.is_empty() && host.queue.iter().all(|queue| queue.urgent);
        let whole = |buffer: &BufferSpec| {
            buffer.policy == BufferPolicy::Superblock && buffer.low != BufferSpec::new(buffer.size).low
        };
        let more = "leave it out, or describe more queues";
        vec![
            Idle::new(
                "host.read-transfer",
                host.read_transfer == ReadTransfer::CutThrough && host.link.rate.is_none(),
                "the link takes no time for data",
            )
            .remedy("leave it out, or give host.link a rate"),
            Idle::new("host.burst", count == 1 && host.burst > 1, "there is one queue").remedy(more),
            Idle::new("host.arbitration", weighted && count == 1, "there is one queue").remedy(more),
            Idle::new("host.arbitration", weighted && count > 1 && even, "no queue has a weight")
                .remedy("leave it out, or give a queue in [[host.queue]] a weight, or make it urgent"),
            Idle::new("host.arbitration", weighted && all_urgent, "every queue is urgent, so all take turns")
                .remedy("leave it out with all `urgent`, or give a queue a weight instead"),
            Idle::new(
                "buffer.low",
                self.buffer.as_ref().is_some_and(whole),
                "a buffer of superblocks writes back until one of them is left",
            )
            .remedy("leave it out, or set buffer.policy = \"units\""),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    #[test]
    fn a_key_without_effect_is_refused_with_the_reason() {
        let slc = "[slc]\npart = \"K9WAG08U1A\"\nsize = \"2MiB\"";
        for (flash, rest, wanted) in [
            (
                "",
                "ftl = { gc = { copy-back = true } }",
                "ftl.gc.copy-back: has no effect here: the part has no copy-back",
            ),
            ("multi-plane = true", "", "flash.multi-plane: has no effect here: a die has one plane; leave it out"),
            (
                "",
                "ftl = { wear = { check-every = 3 } }",
                "ftl.wear.check-every: has no effect here: the FTL checks wear only with",
            ),
            ("", "host = { burst = 2 }", "host.burst: has no effect here: there is one queue"),
            ("", "host = { arbitration = \"weighted\" }", "host.arbitration: has no effect here: there is one queue"),
            (
                "",
                "host = { queues = 2, arbitration = \"weighted\" }",
                "host.arbitration: has no effect here: no queue has a weight",
            ),
            (
                "",
                "buffer = { size = \"64KiB\", policy = \"superblock\", superblock = \"8KiB\", low = \"10%\" }",
                "buffer.low: has no effect here: a buffer of superblocks writes back",
            ),
            (
                "controllers = \"per-channel\"\ntransfer = \"controller\"",
                "",
                "flash.transfer: has no effect here: the link of a channel's only controller is its bus",
            ),
            (
                "controllers = { shared = 2 }\ntransfer = \"controller\"\narbitration = { bus = \"data-first\" }",
                "",
                "flash.arbitration.bus: has no effect here: no command waits for a bus",
            ),
            (
                "planes = 2\nmulti-plane = true\ncontrollers = { shared = 2 }\ntransfer = \"controller\"\narbitration = { between-pages = false }",
                "",
                "flash.arbitration.between-pages: has no effect here: a controller that moves the data does so for one list",
            ),
            ("", "ftl = { kind = \"fast\", gc = { parallel = 3 } }", "ftl.gc: has no effect here: merges reclaim"),
            (
                "",
                "ftl = { kind = \"chang\", placement = { policy = \"block-striping\" } }",
                "ftl.placement: has no effect here: it uses its blocks",
            ),
            (
                "controllers = \"none\"",
                "ftl = { kind = \"chang\" }",
                "flash.controllers: has no effect here: this FTL runs one",
            ),
            (
                "cache-mode = false",
                "ftl = { kind = \"chang\" }",
                "flash.cache-mode: has no effect here: successive pages of a command list",
            ),
            (
                "arbitration = { between-pages = false }",
                "",
                "flash.arbitration.between-pages: has no effect here: a program has one page; leave it out",
            ),
            (
                "cache-mode = false\ncache-across-lists = true",
                "",
                "flash.cache-across-lists: has no effect here: flash.cache-mode is off",
            ),
            (
                "cache-across-lists = true",
                "ftl = { kind = \"chang\" }",
                "flash.cache-across-lists: has no effect here: the pages of a list",
            ),
            (
                "",
                "ftl = { kind = \"chang\", chang = { probes = 3 } }",
                "ftl.chang.probes: has no effect here: there is no SLC flash; leave it out, or describe one in [slc]",
            ),
            (
                "",
                "ftl = { kind = \"chang\", chang = { mapping = \"pages\", mapping-cache = 3 } }",
                "ftl.chang.mapping-cache: has no effect here: every page is mapped in RAM",
            ),
            (
                "",
                &format!("ftl = {{ kind = \"chang\", chang = {{ throttle = false, throttle-step = 2 }} }}\n{slc}"),
                "ftl.chang.throttle-step: has no effect here: the throttle is off",
            ),
        ] {
            let text = format!(
                "name = \"i\"\nflash.part = \"dirik-2009\"\nflash.channels = 2\nflash.chips = 2\nflash.blocks = 64\n\
                 flash.pages = 16\n{}\n{rest}\n",
                flash.lines().map(|line| format!("flash.{line}\n")).collect::<String>()
            );
            let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let faults = spec.resolve().map_or_else(|faults| faults, |_| Vec::new());
            let faults: Vec<_> =
                faults.into_iter().map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect();
            assert!(faults.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {faults:?}");
        }
    }
}
