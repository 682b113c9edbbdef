//! Settings with discards that survive a power cut, and with flash reads for addresses without data.

use base::units::Bytes;
use flash::nand::Cell;
use ssd::{DiscardSpec, GcSpec, MapSpec, Spec, UnmappedReads};

use super::{Book, buffer, set_planes};

impl Book {
    pub(super) fn unmapped_reads(&mut self) {
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            self.add(format!("unmapped reads from flash{name}"), |spec| {
                spec.ftl.unmapped_reads = UnmappedReads::FlashRead;
                change(spec);
            });
        };
        add("", &|_| {});
        add(", buffered, chopped requests", &|spec| {
            spec.buffer = Some(buffer(8, 0.5, 0.25));
            (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(2048)));
        });
        add(", one-shot programs, two planes", &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.timing.one_shot = 2;
            set_planes(part, 2);
        });
    }

    pub(super) fn durable_discards(&mut self) {
        let ram = self.map == MapSpec::Ram;
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            self.add(format!("durable discards{name}"), |spec| {
                spec.ftl.discard = DiscardSpec::Durable;
                change(spec);
            });
        };
        add("", &|_| {});
        add(", buffered", &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add(", a shared log", &|spec| spec.ftl.gc = GcSpec { shared_log: true, ..GcSpec::default() });
        if !ram {
            return;
        }
        add(", buffer that fills up", &|spec| spec.buffer = Some(buffer(8, 1.0, 1.0)));
        add(", queue depth of 32, chopped requests", &|spec| {
            (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(2048)));
        });
        add(", static wear levelling", &|spec| spec.ftl.wear.threshold = Some(4));
        add(", one-shot programs", &|spec| {
            spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
        });
        add(", paired pages on two planes", &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.cell = Cell::Mlc;
            set_planes(part, 2);
            spec.flash.paired_pages = true;
        });
    }
}
