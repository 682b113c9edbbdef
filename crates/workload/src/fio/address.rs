//! The addresses of requests: patterns, zones, holes, and files that take turns.

use base::units::{Bytes, Ratio};

use super::mode::Mode;
use super::reader::Reader;
use super::value::{bytes, per_kind, percent, shared};
use crate::generate::{AddressSpec, SequentialSpec, StrideOrder, ZoneSpec};

/// Properties of a stream, beside the options of its job, on which its addresses depend.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamProperties {
    /// The size of all requests, if they have one size.
    pub(super) size: Option<Bytes>,
    /// The number of files that take turns.
    pub(super) files: u32,
    /// The share of random requests that go to a new address.
    pub(super) random: f64,
}

/// An address pattern, and the rule by which requests continue at the end of the previous one.
pub(super) type Addresses = (AddressSpec, Option<SequentialSpec>);

impl Reader<'_> {
    /// `percentage_random` of each kind.
    pub(super) fn percentages(&mut self) -> [f64; 3] {
        let parse = |text: &str| per_kind(text, &100.0, percent);
        self.value("percentage_random", "a percentage between 0 and 100", parse, [100.0; 3])
    }

    /// The address pattern and the sequential runs of the requests; `None` if an option has a fault.
    pub(super) fn addresses(&mut self, mode: Mode, of: StreamProperties) -> Option<Addresses> {
        if let Some(stride) = self.zones_in_turn(mode, of)? {
            return Some((stride, None));
        }
        if !mode.random {
            return self.in_order(mode, of).map(|address| (address, None));
        }
        let runs = self.runs(mode)?;
        if runs.is_some() && of.random < 100.0 {
            let message = "percentage_random together with a number after rw is not supported";
            self.fault("percentage_random", message, "delete one of the two");
            return None;
        }
        let pattern = self.distribution()?;
        if of.random <= 0.0 {
            return self.in_order(mode, of).map(|address| (address, None));
        }
        let sequential =
            if of.random < 100.0 { Some(SequentialSpec::Share(Ratio::new(1.0 - of.random / 100.0))) } else { runs };
        let address = match pattern {
            Some(skewed) => skewed,
            None if !self.is_mapped() => AddressSpec::Uniform {},
            None if of.size.is_some() && sequential.is_none() => AddressSpec::Shuffled {},
            None => {
                let reason = "a pass may visit a block more than once: only requests of one size without runs have a \
                              map of visited blocks";
                self.remark(&["norandommap", "rw"], reason);
                AddressSpec::Uniform {}
            }
        };
        Some((address, sequential))
    }

    /// True if fio's map of visited blocks is on: the default, but only for uniformly distributed offsets.
    fn is_mapped(&mut self) -> bool {
        !self.flag("norandommap") && self.job.get("blockalign").is_none()
    }

    /// Sequential addresses, with holes if the mode has them.
    fn in_order(&mut self, mode: Mode, of: StreamProperties) -> Option<AddressSpec> {
        if mode.hole == 0 || mode.random {
            return Some(AddressSpec::Sequential { streams: of.files });
        }
        let refusal = if of.files > 1 {
            Some("holes between the requests of several files are not supported")
        } else if of.size.is_none() {
            Some("holes between requests of several sizes are not supported")
        } else if mode.shares.iter().filter(|share| **share > 0.0).count() > 1 {
            Some("holes between the requests of a mix are not supported")
        } else {
            None
        };
        if let Some(message) = refusal {
            self.fault("rw", message, "write a job of one size, one kind and one file");
            return None;
        }
        let size = of.size?;
        let step = i64::try_from(size.get()).ok()?.checked_add(mode.hole)?;
        let distance = Bytes::new(step.unsigned_abs());
        if step == 0 || distance.sectors().is_none() {
            let message = format!("requests that begin {distance} apart are not supported");
            self.fault("rw", message, "write a distance that is a multiple of 512");
            return None;
        }
        let order = StrideOrder::Sequential;
        Some(AddressSpec::Strided { zone: size, step: distance, bytes: None, order, backwards: step < 0 })
    }

    /// The zones of `zonemode=strided`; the inner `None` if the job has none.
    #[allow(clippy::option_option)] // A fault, no zones, or zones.
    fn zones_in_turn(&mut self, mode: Mode, of: StreamProperties) -> Option<Option<AddressSpec>> {
        let kb_base = self.kb_base;
        let length = |reader: &mut Self, key: &str| {
            let parse = |text: &str| bytes(text, kb_base).map(|n| Some(Bytes::new(n)));
            reader.value(key, "a size such as 256m", parse, None).filter(|size| size.get() > 0)
        };
        let [size, range, skip] = ["zonesize", "zonerange", "zoneskip"].map(|key| length(self, key));
        self.remark_zbd();
        match self.job.get("zonemode").and_then(|setting| setting.value.as_deref()) {
            Some("none") => return Some(None),
            // Without a mode, `zonesize` means strided zones.
            None if size.is_none() => return Some(None),
            None | Some("strided") => {}
            Some(other) => {
                self.fault("zonemode", format!("`{other}` is not a mode"), "write none, strided or zbd");
                return None;
            }
        }
        let Some(size) = size else {
            self.fault("zonesize", "zonemode=strided needs it", "write the data of each zone, e.g. zonesize=256m");
            return None;
        };
        let refusal = if of.files > 1 {
            // fio itself turns zones off in this case.
            return Some(None);
        } else if mode.hole != 0 {
            Some("zones together with holes are not supported")
        } else if mode.random && (of.random < 100.0 || mode.run.is_some() || self.distribution()?.is_some()) {
            Some("within zones, random addresses are uniformly distributed")
        } else {
            None
        };
        if let Some(message) = refusal {
            self.fault("zonemode", message, "delete one of the two");
            return None;
        }
        let zone = range.unwrap_or(size);
        let order = match mode.random {
            false => StrideOrder::Sequential,
            true if self.is_mapped() && of.size.is_some() => StrideOrder::Shuffled,
            true => StrideOrder::Uniform,
        };
        let step = Bytes::new(zone.get().checked_add(skip.map_or(0, Bytes::get))?);
        Some(Some(AddressSpec::Strided { zone, step, bytes: (size != zone).then_some(size), order, backwards: false }))
    }

    /// The runs of `rw=randread:8`; the inner `None` if there are none.
    #[allow(clippy::option_option)] // A fault, no runs, or runs.
    fn runs(&mut self, mode: Mode) -> Option<Option<SequentialSpec>> {
        let identical = self.value(
            "rw_sequencer",
            "sequential or identical",
            |t| ["sequential", "identical"].iter().position(|s| *s == t),
            0,
        ) == 1;
        let Some(n) = mode.run else { return Some(None) };
        if identical {
            self.fault("rw_sequencer", "a repeated offset is not supported", "write rw_sequencer=sequential");
            return None;
        }
        Some(Some(SequentialSpec::Runs([n, n])))
    }

    /// The pattern of `random_distribution`; the inner `None` is a uniform one.
    #[allow(clippy::option_option)] // A fault, a uniform pattern, or a skewed one.
    fn distribution(&mut self) -> Option<Option<AddressSpec>> {
        const WHAT: &str = "random, zipf:theta, pareto:power, or zoned:access/space:...";
        let Some(setting) = self.job.get("random_distribution") else { return Some(None) };
        let text = setting.value.as_deref().unwrap_or("");
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let number = |valid: fn(f64) -> bool| {
            let plain = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            rest.parse().ok().filter(|x: &f64| plain && valid(*x))
        };
        let pattern = match word {
            "random" if rest.is_empty() => return Some(None),
            "zipf" => number(|x| x > 0.0).map(|theta| AddressSpec::Zipf { theta, scrambled: true }),
            "pareto" => number(|x| x > 0.0 && x < 1.0).map(|power| AddressSpec::Pareto { power, scrambled: true }),
            "zoned" => zones(rest).map(|zones| AddressSpec::Zoned { zones, scrambled: false }),
            _ => None,
        };
        if pattern.is_none() {
            self.faults.add(setting.path(), format!("`{text}` is not supported"), format!("write {WHAT}"));
        }
        pattern.map(Some)
    }
}

/// Parses the zones of `zoned:60/10:30/20:10/`: shares of the requests and of the space.
fn zones(text: &str) -> Option<Vec<ZoneSpec>> {
    let zone = |(access, space): (&str, f64)| {
        Some(ZoneSpec { space: Ratio::new(space), access: Ratio::new(percent(access)? / 100.0) })
    };
    let zones: Vec<ZoneSpec> = shared(text)?.into_iter().map(zone).collect::<Option<_>>()?;
    let is_whole = |share: fn(&ZoneSpec) -> Ratio| {
        let sum: f64 = zones.iter().map(|zone| share(zone).get()).sum();
        (sum - 1.0).abs() < 1e-6
    };
    (is_whole(|zone| zone.access) && is_whole(|zone| zone.space)).then_some(zones)
}
