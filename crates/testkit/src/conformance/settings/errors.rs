//! Settings in which reads have bit errors, so that some of them need several attempts or soft decoding. All data stays
//! correctable.

use base::units::{Bytes, Rate, Ratio, Span, Temperature};
use flash::backend::{Controllers, Decoders, Order, PlaneReadSpec, ReadScope, Transfer};
use flash::nand::ErrorTable;
use flash::spec::{DecodeSpec, EccSpec, ErrorSpec, SoftSpec};
use ssd::{CheckpointSpec, CopyStreamsSpec, DiscardSpec, FlashSpec, HostStreamsSpec, RefreshSpec, Spec, StreamsSpec};

use super::{Book, buffer, set_planes, short};

/// A table of bit errors by which a third of the codewords of 512 bytes have more than 40 errors.
fn table() -> ErrorTable {
    ErrorTable {
        base: 8e-3,
        wear: 1e-5,
        wear_exponent: 1.0,
        retention: 1e-3,
        retention_cycles: 0.1,
        retention_time: 0.5,
        disturb: 1e-6,
        disturb_cycles: 0.1,
        disturb_reads: 1.0,
        temperature: Temperature::from_celsius(30),
        activation_ev: 1.1,
        page_types: vec![1.0],
        slc_mode: None,
        block_spread: Ratio::new(0.1),
        layers: 2,
        layer_spread: Ratio::new(0.1),
        retry_rber: [0.85, 0.7, 0.4].map(Ratio::new).to_vec(),
        retry_time: [1, 2, 3].map(Span::from_us).to_vec(),
    }
}

/// Adds these bit errors to the reads of an array, if it takes errors. Without retries, soft decoding has to correct
/// them.
pub(crate) fn with_errors(flash: &mut FlashSpec, retries: bool) {
    let decode = DecodeSpec { rate: Rate::new(40_000_000), latency: Span::from_us(5) };
    let soft = SoftSpec { sensings: 2, limit: 120, latency: Span::from_us(4) };
    flash.ecc = Some(EccSpec {
        decode,
        codeword: Some(Bytes::new(512)),
        decoders: Decoders::PerChannel,
        hard_limit: Some(40),
        soft: (!retries).then_some(soft),
    });
    flash.errors = Some(ErrorSpec { remember: retries, ..ErrorSpec::default() });
    let mut table = table();
    if !retries {
        (table.retry_rber, table.retry_time) = (vec![Ratio::new(0.95)], vec![Span::ZERO]);
    }
    flash.custom_part.as_mut().expect("a part of its own").errors = Some(table);
}

impl Book {
    fn errors_with(&mut self, name: &str, retries: bool, change: impl FnOnce(&mut Spec)) {
        self.add(format!("bit errors, {name}"), |spec| {
            spec.flash.controllers = Controllers::None;
            with_errors(&mut spec.flash, retries);
            change(spec);
        });
    }

    /// Adds settings of a page map.
    pub(super) fn errors(&mut self) {
        for controllers in
            [Controllers::PerDie, Controllers::PerChannel, Controllers::Shared(2), Controllers::Background(2)]
        {
            self.errors_with(&format!("controllers {controllers:?}"), true, |spec| {
                spec.flash.controllers = controllers
            });
        }
        self.errors_with("soft decoding", false, |_| {});
        self.errors_with("soft decoding, buffered", false, |spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        self.errors_with("suspension", true, |spec| spec.flash.suspend = Some(short()));
        self.errors_with("suspension for all reads, read first", true, |spec| {
            let mut rules = short();
            rules.reads = ReadScope::All;
            spec.flash.suspend = Some(rules);
            spec.flash.arbitration.commands = Order::ReadFirst;
        });
        self.errors_with("planes that read by themselves", true, |spec| {
            set_planes(spec.flash.custom_part.as_mut().expect("a part of its own"), 2);
            spec.flash.plane_reads = Some(PlaneReadSpec { reads: ReadScope::All, ..PlaneReadSpec::default() });
        });
        self.errors_with("2 planes at once, one-shot programs", true, |spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.timing.one_shot = 2;
            set_planes(part, 2);
        });
        self.errors_with("cache mode across lists", true, |spec| {
            (spec.flash.cache_across_lists, spec.host.queue_depth) = (true, 32);
        });
        self.errors_with("held channels", true, |spec| {
            (spec.flash.arbitration.hold, spec.flash.controllers) = (true, Controllers::PerDie);
        });
        self.errors_with("controllers that move the data", true, |spec| {
            (spec.flash.controllers, spec.flash.transfer) = (Controllers::Shared(2), Transfer::Controller);
        });
        self.errors_with("software controllers", true, |spec| {
            spec.flash.controllers = Controllers::Background(2);
            spec.flash.software_controllers = Some(Span::from_us(20));
        });
        self.errors_with("collection first", true, |spec| {
            spec.flash.arbitration.commands = Order::CollectionFirst;
        });
    }

    /// Adds settings of refresh, with each kind of limit and all maps.
    pub(super) fn refreshes(&mut self) {
        for (name, refresh) in ["reads", "reads, patrol", "age", "errors"].into_iter().zip(RefreshSpec::EVERY) {
            self.errors_with(&format!("refresh by {name}"), true, |spec| spec.ftl.refresh = Some(refresh));
        }
        if self.map != ftl::MapSpec::Ram {
            return;
        }
        let [_, patrolled, ..] = RefreshSpec::EVERY;
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            self.errors_with(&format!("refresh, {name}"), true, |spec| {
                spec.ftl.refresh = Some(patrolled);
                change(spec);
            });
        };
        add("one-shot programs on two planes, buffered", &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.timing.one_shot = 2;
            set_planes(part, 2);
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        add("durable discards", &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add("checkpoints", &|spec| spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(32 << 10) }));
        add("static wear levelling", &|spec| spec.ftl.wear.threshold = Some(4));
        add("throttle", &|spec| spec.ftl.gc.throttle = true);
        add("streams of copies", &|spec| {
            spec.flash.custom_part.as_mut().expect("a part of its own").geometry.blocks_per_plane += 8;
            spec.ftl.over_provisioning = Some(Ratio::new(0.7));
            let host = HostStreamsSpec::Size { limits: vec![Bytes::new(2048)] };
            spec.ftl.streams = StreamsSpec { host, copies: CopyStreamsSpec::EVERY[1] };
        });
    }

    /// Adds a setting for each map, whose translation pages have errors, too.
    pub(super) fn errors_for_a_map(&mut self) {
        if self.map != ftl::MapSpec::Ram {
            self.errors_with("map", true, |_| {});
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::backend::Op;
    use flash::nand::Stamp;
    use ssd::{Drive, Ssd};

    use super::super::settings;
    use crate::Host;
    use crate::conformance::script;

    /// Checks that the settings cause retries, and that no read is lost: without retries they would test nothing.
    #[test]
    fn reads_are_repeated_and_none_is_lost_in_these_settings() {
        let mut found = 0;
        for setting in settings().iter().filter(|setting| setting.spec.flash.errors.is_some()) {
            let resolved = setting.spec.resolve().expect("valid");
            let mut host = Host::new(Ssd::<Stamp>::new(&resolved, 1));
            script::play(&mut host, &script::random(1, resolved.capacity().get(), 500));
            host.run_until_idle();
            let counters = host.ssd().counters();
            let errors = counters.errors.as_ref().expect("errors");
            let name = &setting.name;
            let retries = counters.flash.op(Op::Read).retries;
            assert!(retries > 20, "{name}: {retries} retries");
            let by_attempts: u64 = (0..).zip(&errors.by_retries).map(|(retries, reads)| retries * reads).sum();
            assert_eq!(by_attempts, retries, "{name}");
            assert_eq!(errors.uncorrectable, 0, "{name}");
            let soft = setting.spec.flash.ecc.and_then(|ecc| ecc.soft).is_some();
            assert_eq!(soft, errors.soft > 0, "{name}: {} soft", errors.soft);
            found += 1;
        }
        assert!(found > 14, "{found} settings");
    }
}
