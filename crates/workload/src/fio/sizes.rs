//! The sizes of requests, and the alignment of their addresses.

use base::units::{Bytes, Ratio, SECTOR};

use super::reader::Reader;
use super::value::{bytes, per_kind, shared};
use crate::generate::{SizeRange, SizeSpec};

/// The sizes of requests of each kind.
pub(super) type Sizes = [Vec<SizeSpec>; 3];

/// The smallest of these sizes.
pub(super) fn smallest(bars: &[SizeSpec]) -> Bytes {
    bars.iter().map(|bar| bar.size.min).min().expect("a histogram has a bar")
}

/// The mean of these sizes in bytes.
pub(super) fn mean(bars: &[SizeSpec]) -> f64 {
    let middle = |bar: &SizeSpec| (bar.size.min.get() + bar.size.max.get()) as f64 / 2.0;
    bars.iter().map(|bar| middle(bar) * bar.share.map_or(1.0, Ratio::get)).sum()
}

impl Reader<'_> {
    /// The histograms of sizes of reads, writes and trims: `bssplit`, or the later of `bs` and `bsrange`.
    pub(super) fn sizes(&mut self) -> Option<Sizes> {
        let kb_base = self.kb_base;
        let size = move |text: &str| bytes(text, kb_base).filter(|n| *n > 0).map(Bytes::new);
        let exactly = |size| vec![SizeSpec { size: SizeRange::exactly(size), share: None }];
        let default = exactly(Bytes::new(4096));
        let range = |text: &str| {
            let (min, max) = text.split_once(['-', ':'])?;
            let (min, max) = (size(min)?, size(max)?);
            let (min, max) = (min.min(max), min.max(max));
            // fio draws a number of bytes from the range and rounds it down to a multiple of the smallest size.
            let max = Bytes::new(max.get() / min.get() * min.get());
            Some(vec![SizeSpec { size: SizeRange { min, max }, share: None }])
        };
        let line = |key| self.job.get(key).map(|setting| setting.line);
        let sizes = if line("bssplit").is_some() {
            let split = |text: &str| {
                let mut parts = shared(text)?;
                // As in fio, the remainder to 100 % goes to the most frequent size.
                let missing = 1.0 - parts.iter().map(|(_, share)| share).sum::<f64>();
                parts.iter_mut().max_by(|a, b| a.1.total_cmp(&b.1))?.1 += missing;
                let bar = |(text, share): (&str, f64)| Some((SizeRange::exactly(size(text)?), Ratio::new(share)));
                let bars = parts.into_iter().map(bar).collect::<Option<Vec<_>>>()?;
                let bars = bars.into_iter().filter(|(_, share)| share.get() > 0.0);
                Some(bars.map(|(size, share)| SizeSpec { size, share: Some(share) }).collect())
            };
            let what = "sizes with percentages of at most 100 together, e.g. 4k/70:64k/30";
            self.value("bssplit", what, |t| per_kind(t, &default, split), Default::default())
        } else if line("bsrange") > line("bs") {
            let what = "a range of sizes, e.g. 4k-64k";
            self.value("bsrange", what, |t| per_kind(t, &default, range), Default::default())
        } else {
            let every = [default.clone(), default.clone(), default.clone()];
            self.value("bs", "a size, e.g. 4k", |t| per_kind(t, &default, |t| size(t).map(exactly)), every)
        };
        let key = ["bssplit", "bsrange", "bs"].into_iter().find(|key| line(key).is_some()).unwrap_or("bs");
        for bar in sizes.iter().flatten() {
            let SizeRange { min, max } = bar.size;
            if min.sectors().is_none() || max.sectors().is_none() {
                self.fault(key, "a size is not a multiple of a sector", "write multiples of 512");
                return None;
            }
        }
        sizes.iter().all(|bars| !bars.is_empty()).then_some(sizes)
    }

    /// `blockalign` of each kind.
    pub(super) fn aligns(&mut self) -> [Option<Bytes>; 3] {
        let kb_base = self.kb_base;
        let parse = |text: &str| bytes(text, kb_base).filter(|n| *n > 0 && n.is_multiple_of(SECTOR.get())).map(Some);
        let aligns = self.value("blockalign", "a multiple of 512", |t| per_kind(t, &None, parse), [None; 3]);
        aligns.map(|align| align.map(Bytes::new))
    }
}
