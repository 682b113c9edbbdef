//! Settings of times that are zero by default: decoding, firmware, RAM access, and the return of read data to the host.

use base::units::{Bytes, Rate, Span};
use flash::backend::{Controllers, Decoders};
use flash::spec::{DecodeSpec, EccSpec};
use ftl::FirmwareSpec;
use ssd::{LinkSpec, RamSpec, ReadTransfer};

use super::{Book, buffer, set_planes};

impl Book {
    pub(super) fn times(&mut self) {
        for decoders in [Decoders::PerChannel, Decoders::PerController, Decoders::Shared(1)] {
            self.part(&format!("decoders {decoders:?}"), |part, flash| {
                // Decoding is slower than the channel and its latency about that of an array read, so most cuts find
                // codewords in the decoder.
                let decode = DecodeSpec { rate: Rate::new(20_000_000), latency: Span::from_us(60) };
                flash.ecc =
                    Some(EccSpec { decode, codeword: Some(Bytes::new(512)), decoders, hard_limit: None, soft: None });
                set_planes(part, 2);
                flash.controllers = match decoders {
                    Decoders::PerController => Controllers::Background(2),
                    _ => Controllers::None,
                };
            });
        }
        for (name, request, unit) in [("requests", 40, 0), ("mapping units", 0, 25), ("both", 90, 10)] {
            self.add(format!("firmware time of {name}"), |spec| {
                let (request, unit) = (Span::from_us(request), Span::from_us(unit));
                spec.ftl.firmware = Some(FirmwareSpec { request, unit });
                spec.flash.controllers = Controllers::None;
            });
        }
        for slow in [false, true] {
            self.add(format!("reads sent as they come, slow link: {slow}"), |spec| {
                let rate = Rate::new(if slow { 2_000_000 } else { 50_000_000 });
                spec.host.link = LinkSpec {
                    rate: Some(rate),
                    overhead: Span::from_us(3),
                    write_latency: Span::from_us(12),
                    ..LinkSpec::default()
                };
                spec.host.read_transfer = ReadTransfer::CutThrough;
                spec.flash.controllers = Controllers::None;
            });
        }
        self.add("a slow RAM, look-ups", |spec| {
            spec.ram = Some(RamSpec { rate: Rate::new(3_000_000), look_up: Some(Bytes::new(64)) });
        });
        self.add("a slow RAM, look-ups, buffer, reads sent as they come", |spec| {
            spec.ram = Some(RamSpec { rate: Rate::new(3_000_000), look_up: Some(Bytes::new(64)) });
            spec.buffer = Some(buffer(12, 0.75, 0.25));
            spec.host.link.rate = Some(Rate::new(50_000_000));
            spec.host.read_transfer = ReadTransfer::CutThrough;
        });
    }
}
