//! Keys that would have no effect on this device: they are refused, so that nobody takes a setting for what ran.
//!
//! What is said by leaving a key out can always be said: a resolved description has all keys.

use flash::backend::{BusOrder, Transfer, Units};
use flash::nand::Part;

use super::resolve::Faults;
use super::{
    BufferPolicy, BufferSpec, FlashSpec, FtlKind, FtlSpec, GcSpec, ProcessorSpec, QueueArbitration, Spec, WearSpec,
};
use crate::ftl::chang::{ChangSpec, MappingSpec, ThresholdBy};
use crate::ftl::placement::PlacementSpec;

/// A key, whether it says something here that has no effect, why that is so, and what to do.
type Idle = (&'static str, bool, &'static str, &'static str);

const LEAVE: &str = "leave it out";

impl Spec {
    /// Refuses what would have no effect on a device of this part.
    pub(super) fn check_idle(&self, part: &Part, faults: &mut Faults) {
        for (path, is, why, remedy) in
            self.idle_flash(part).into_iter().chain(self.idle_ftl(part)).chain(self.idle_host())
        {
            // A value that is wrong has been refused for that.
            if is && faults.0.iter().all(|fault| fault.path != path) {
                faults.add(path, format!("has no effect here: {why}"), remedy);
            }
        }
        if let Some(chang) = self.ftl.chang.as_ref().filter(|_| self.ftl.kind == FtlKind::Chang) {
            self.idle_chang(chang, faults);
        }
    }

    fn idle_flash(&self, part: &Part) -> Vec<Idle> {
        let FlashSpec { units, transfer, order, cache_mode, multi_plane, .. } = &self.flash;
        let (planes, features) = (part.geometry.planes_per_die, &part.features);
        let hydra = self.ftl.kind == FtlKind::Hydra;
        let chains = self.ftl.kind == FtlKind::Chang
            && self.ftl.chang.as_ref().is_none_or(|chang| chang.mapping == MappingSpec::Chains);
        let queue = "the pages of a list never follow each other on one die";
        vec![
            ("flash.multi-plane", multi_plane.is_some() && hydra, "Hydra's FTL works on one plane of a die", LEAVE),
            ("flash.multi-plane", multi_plane.is_some() && planes == 1 && !hydra, "a die has one plane", LEAVE),
            (
                "flash.cache-mode",
                !cache_mode && !features.cache_read && !features.cache_program,
                "the part has no cache mode",
                LEAVE,
            ),
            ("flash.cache-mode", !cache_mode && hydra, queue, LEAVE),
            ("flash.cache-mode", !cache_mode && chains, queue, LEAVE),
            (
                "flash.transfer",
                *transfer == Transfer::Unit && *units == Units::PerChannel,
                "the link of a channel's only unit is its bus",
                LEAVE,
            ),
            (
                "flash.order.bus",
                *transfer == Transfer::Unit && order.bus != BusOrder::default(),
                "no command waits for a bus where units move the data",
                "leave it out, or flash.transfer",
            ),
            (
                "flash.units",
                self.ftl.kind == FtlKind::Chang && *units == Units::None,
                "this FTL hands in one list after another",
                LEAVE,
            ),
        ]
    }

    fn idle_ftl(&self, part: &Part) -> Vec<Idle> {
        let FtlSpec { kind, gc, placement, wear, map_gather, hydra, .. } = &self.ftl;
        let other = match kind {
            // Hydra's faults are found where its array is checked.
            FtlKind::Page | FtlKind::Hydra => None,
            FtlKind::Bast | FtlKind::Fast => {
                Some(("merges collect its garbage", "ftl.log.allocation places its blocks"))
            }
            FtlKind::Chang => {
                Some(("folds collect its garbage, and victims are taken in turn", "its blocks are taken in turn"))
            }
        };
        let whole_rows = self.flash.gang > 1 || part.timing.one_shot > 1;
        let copies_back = gc.copy_back && *kind == FtlKind::Page;
        let processor = hydra.as_ref().and_then(|hydra| hydra.processor);
        let unread = |processor: ProcessorSpec| {
            processor.synthesizer && processor.read_cycles != ProcessorSpec::default().read_cycles
        };
        vec![
            ("ftl.gc", other.is_some() && *gc != GcSpec::default(), other.unwrap_or_default().0, LEAVE),
            (
                "ftl.placement",
                other.is_some() && *placement != PlacementSpec::default(),
                other.unwrap_or_default().1,
                LEAVE,
            ),
            (
                "ftl.gc.copy-back",
                copies_back && !part.features.copy_back,
                "the part has no copy-back",
                "leave it out, or choose another flash.part",
            ),
            (
                "ftl.gc.copy-back",
                copies_back && part.features.copy_back && whole_rows,
                "a program takes a whole row of ganged chips or of a word line, whose pages do not all come from their own plane",
                LEAVE,
            ),
            (
                "ftl.wear.check-every",
                wear.check_every != WearSpec::default().check_every && wear.threshold.is_none(),
                "nothing is looked at without ftl.wear.threshold",
                "leave it out, or give the threshold",
            ),
            (
                "ftl.map-gather",
                map_gather.is_some() && *kind == FtlKind::Hydra,
                "the block map of Hydra's FTL has no translation pages",
                LEAVE,
            ),
            (
                "ftl.hydra.processor.read-cycles",
                processor.is_some_and(unread),
                "the synthesizer turns reads into commands without the processor",
                "leave it out, or set ftl.hydra.processor.synthesizer = false",
            ),
        ]
    }

    fn idle_host(&self) -> Vec<Idle> {
        let host = &self.host;
        let count = host.queues.map_or(host.queue.len().max(1), |queues| queues as usize);
        let weighted = host.arbitration == QueueArbitration::Weighted;
        let even = host.burst == 1 && host.queue.iter().all(|queue| queue.weight.unwrap_or(1) == 1);
        let whole = |buffer: &BufferSpec| {
            buffer.policy == BufferPolicy::Superblock && buffer.low != BufferSpec::new(buffer.size).low
        };
        vec![
            ("host.burst", count == 1 && host.burst > 1, "there is one queue", "leave it out, or describe more queues"),
            ("host.arbitration", weighted && count == 1, "there is one queue", "leave it out, or describe more queues"),
            (
                "host.arbitration",
                weighted && count > 1 && even,
                "all queues weigh the same",
                "leave it out, or give one in [[host.queue]] a weight",
            ),
            (
                "buffer.low",
                self.buffer.as_ref().is_some_and(whole),
                "a buffer of superblocks writes back until one of them is left",
                "leave it out, or say buffer.policy = \"units\"",
            ),
        ]
    }

    fn idle_chang(&self, chang: &ChangSpec, faults: &mut Faults) {
        let plain = ChangSpec::default();
        let pages = chang.mapping == MappingSpec::Pages;
        let slc = [
            ("threshold", chang.threshold != plain.threshold),
            ("recluster-every", chang.recluster_every != plain.recluster_every),
            ("hash-entries", chang.hash_entries.is_some()),
            ("probing", chang.probing != plain.probing),
            ("probes", chang.probes != plain.probes),
            ("throttle", chang.throttle != plain.throttle),
            ("throttle-step", chang.throttle_step != plain.throttle_step),
            ("throttle-every", chang.throttle_every != plain.throttle_every),
            ("copy-back", chang.copy_back != plain.copy_back),
            ("fold-assistance", chang.fold_assistance != plain.fold_assistance),
            ("safety-valve", chang.safety_valve != plain.safety_valve),
        ];
        let mut add = |key: &str, why: &str, remedy: &str| {
            faults.add(&format!("ftl.chang.{key}"), format!("has no effect here: {why}"), remedy);
        };
        if self.slc.is_none() {
            slc.iter().filter(|(_, said)| *said).for_each(|(key, _)| {
                add(key, "there is no SLC flash", "leave it out, or describe one in [slc]");
            });
        }
        let off = [
            ("mapping-cache", pages && chang.mapping_cache != plain.mapping_cache, "every page is mapped in RAM"),
            ("scan-data-blocks", pages && chang.scan_data_blocks, "every page is mapped in RAM"),
            ("recluster-every", slc[1].1 && chang.threshold == ThresholdBy::Fixed, "the threshold is fixed"),
            ("throttle-step", slc[6].1 && !chang.throttle, "the throttle is off"),
            ("throttle-every", slc[7].1 && !chang.throttle, "the throttle is off"),
            ("safety-valve", slc[10].1 && !chang.copy_back, "nothing is copied back"),
        ];
        for (key, said, why) in off.into_iter().filter(|_| self.slc.is_some() || pages) {
            if said {
                add(key, why, LEAVE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    #[test]
    fn what_has_no_effect_is_refused_and_says_why() {
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
                "ftl.wear.check-every: has no effect here: nothing is looked at",
            ),
            ("", "host = { burst = 2 }", "host.burst: has no effect here: there is one queue"),
            ("", "host = { arbitration = \"weighted\" }", "host.arbitration: has no effect here: there is one queue"),
            (
                "",
                "host = { queues = 2, arbitration = \"weighted\" }",
                "host.arbitration: has no effect here: all queues weigh the same",
            ),
            (
                "",
                "buffer = { size = \"64KiB\", policy = \"superblock\", superblock = \"8KiB\", low = \"10%\" }",
                "buffer.low: has no effect here: a buffer of superblocks writes back",
            ),
            (
                "units = \"per-channel\"\ntransfer = \"unit\"",
                "",
                "flash.transfer: has no effect here: the link of a channel's only unit is its bus",
            ),
            (
                "units = { shared = 2 }\ntransfer = \"unit\"\norder = { bus = \"data-first\" }",
                "",
                "flash.order.bus: has no effect here: no command waits for a bus",
            ),
            ("", "ftl = { kind = \"fast\", gc = { parallel = 3 } }", "ftl.gc: has no effect here: merges collect"),
            (
                "",
                "ftl = { kind = \"chang\", placement = { policy = \"block-striping\" } }",
                "ftl.placement: has no effect here: its blocks",
            ),
            ("units = \"none\"", "ftl = { kind = \"chang\" }", "flash.units: has no effect here: this FTL hands in"),
            (
                "cache-mode = false",
                "ftl = { kind = \"chang\" }",
                "flash.cache-mode: has no effect here: the pages of a list",
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
