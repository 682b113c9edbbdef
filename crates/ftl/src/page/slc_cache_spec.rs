//! The table `[ftl.slc-cache]` of a description.

use base::fault::Faults;
use base::units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StreamsSpec;

/// A cache of blocks in SLC mode: host data go to blocks that store one bit per cell, and are folded to full blocks
/// later. The part defines SLC mode (`slc_mode`).
///
/// The mode is chosen for each superblock that the drive opens for the host. Collection takes superblocks of the cache
/// like others, and they hold the fewest mapping units, so a drive without free superblocks folds. Preconditioning
/// bypasses the cache: it leaves the cache empty, as after a long time without requests.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlcCacheSpec {
    /// The most data of the host that the cache takes. It never takes more than the free superblocks of the drive hold
    /// in SLC mode.
    pub size: Bytes,
    /// The part of `size` for which superblocks are set aside: these are always in SLC mode, and hold neither full data
    /// nor copies. The capacity must fit without them. Each pool sets aside whole superblocks, those with the lowest
    /// numbers, and uses them before others. Superblocks for the rest of `size`, the dynamic part, are taken from free
    /// ones.
    #[serde(rename = "static", default, skip_serializing_if = "is_default")]
    pub set_aside: Bytes,
    /// The size of the cache of a drive that holds data: points in ascending order of `fill`. The size changes linearly
    /// between two points, and from `size` at 0% to the first point; behind the last point it stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<CachePoint>,
    /// Where host data go while the cache is full.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overflow: OverflowPolicy,
    /// Once the cache has been full, host data go to full blocks until this much of the cache is free. With `overflow =
    /// "fold-beside"` the drive folds until then, and not while host data go to the cache. Each pool decides for
    /// itself, and counts its share in whole superblocks; a cache that has shrunk to less must be empty. One free
    /// superblock is enough if the key is missing, if nothing is left to fold, after `idle`, and after a mount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Bytes>,
    /// The way that folded data take to full blocks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fold: FoldPath,
    /// The streams of host data that go to the cache, from stream 0 on; all if missing. With `ftl.streams.host = {
    /// policy = "size" }` and 1 these are the requests below the first limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u8>,
    /// Folding of an idle drive; if missing, the drive folds only if it needs free superblocks or `overflow` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleFoldSpec>,
}

/// The size of the cache at a fill of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CachePoint {
    /// Share of the host's capacity that holds data.
    pub fill: Ratio,
    /// The most data of the host that the cache takes.
    pub size: Bytes,
}

/// Where host data go while the cache is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverflowPolicy {
    /// Host data go to full blocks until the drive has no free superblock, and from then on at the rate of folding.
    #[default]
    Direct,
    /// Host data go to the cache all the same: a write waits until a superblock of the cache has been folded.
    Fold,
    /// Host data go to full blocks, and the drive folds beside these writes: as soon as the cache has room, host data
    /// go to the cache again.
    FoldBeside,
}

/// The way that folded data take to full blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FoldPath {
    /// Over the channel and through the decoder. `ftl.gc.copy-back` holds for folding, too.
    #[default]
    Channel,
    /// Inside the plane, if the part can: the array reads pages in SLC mode and programs a full block with them. A
    /// one-shot program needs as many pages from each plane as it programs there, three for TLC, all of whose mapping
    /// units are valid. Other mapping units, and pages that do not fill a program, go over the channel. No decoder
    /// corrects data that are copied back.
    CopyBack,
}

/// Folding of an idle drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdleFoldSpec {
    /// Time since the latest read, write or discard reached the FTL. A request stops folding after the copies in
    /// progress, unless the drive needs free superblocks.
    #[schemars(extend("examples" = ["100ms", "1s"]))]
    pub after: Span,
    /// The data that stay in the cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub down_to: Bytes,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl SlcCacheSpec {
    /// A table of each kind, for the conformance suite and the swarm: caches of two to eight superblocks of a pool on a
    /// small drive.
    #[must_use]
    pub fn every(superblock: Bytes) -> [Self; 7] {
        let size = |superblocks: u64| Bytes::new(superblock.get() * superblocks);
        let idle = |down_to| Some(IdleFoldSpec { after: Span::from_us(400), down_to });
        let plain = Self {
            size: size(8),
            set_aside: Bytes::new(0),
            points: Vec::new(),
            overflow: OverflowPolicy::Fold,
            reuse: None,
            fold: FoldPath::Channel,
            streams: None,
            idle: None,
        };
        let shrinks = vec![CachePoint { fill: Ratio::new(0.25), size: size(2) }];
        let beside = Self { size: size(6), overflow: OverflowPolicy::FoldBeside, ..plain.clone() };
        [
            Self { overflow: OverflowPolicy::Direct, idle: idle(size(2)), ..plain.clone() },
            Self { size: size(4), ..plain.clone() },
            Self { points: shrinks, idle: idle(Bytes::new(0)), ..plain.clone() },
            beside.clone(),
            Self { reuse: Some(size(4)), ..beside.clone() },
            Self { set_aside: size(4), ..beside },
            Self { size: size(4), set_aside: size(4), ..plain },
        ]
    }

    /// Adds the faults that any array has.
    pub(crate) fn check(&self, streams: &StreamsSpec, shared_log: bool, faults: &mut Faults) {
        if self.size.is_zero() {
            faults.positive("ftl.slc-cache.size", 0);
        }
        let smallest = self.points.iter().map(|point| point.size).fold(self.size, Bytes::min);
        if self.set_aside > smallest {
            let message = format!("is {}, and the whole cache takes {smallest} at its smallest", self.set_aside);
            faults.add("ftl.slc-cache.static", message, format!("use at most {smallest}"));
        }
        if !self.set_aside.is_zero() && self.overflow == OverflowPolicy::Direct && self.idle.is_none() {
            let message = "would never be folded: the drive folds neither while the cache is full nor when it is idle";
            let remedy = "add ftl.slc-cache.idle, or set ftl.slc-cache.overflow = \"fold-beside\"";
            faults.add("ftl.slc-cache.static", message, remedy);
        }
        let ascending = self.points.windows(2).all(|pair| pair[0].fill < pair[1].fill);
        if !ascending || self.points.iter().any(|point| point.fill.get() > 1.0) {
            let message = "the points are not in ascending order of `fill`, up to 100%";
            faults.add("ftl.slc-cache.points", message, "sort them, each with a `fill` of its own");
        }
        if self.reuse.is_some() && self.overflow == OverflowPolicy::Fold {
            let message = "has no effect: with overflow = \"fold\" host data go to the cache although it is full";
            faults.add("ftl.slc-cache.reuse", message, "leave it out, or set ftl.slc-cache.overflow = \"fold-beside\"");
        }
        if let Some(reuse) = self.reuse.filter(|reuse| reuse.is_zero() || *reuse > self.size) {
            let message = format!("is {reuse}, and the cache takes {}", self.size);
            faults.add("ftl.slc-cache.reuse", message, "use more than zero and at most ftl.slc-cache.size");
        }
        let most = streams.count().host;
        if let Some(given) = self.streams.filter(|given| !(1..=most).contains(given)) {
            let message = format!("is {given}, and the host has {most} streams");
            faults.add("ftl.slc-cache.streams", message, format!("use 1 to {most}, or leave it out"));
        }
        if self.idle.is_some_and(|idle| idle.after.is_zero()) {
            faults.add("ftl.slc-cache.idle.after", "is zero: every drive is idle for no time", "e.g. \"1s\"");
        }
        if shared_log {
            let message = "conflicts with ftl.gc.shared-log: copies and host data would share a superblock in SLC mode";
            faults.add("ftl.slc-cache", message, "leave one of the two out");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(change: impl FnOnce(&mut SlcCacheSpec)) -> Vec<String> {
        let mut spec = SlcCacheSpec::every(Bytes::new(4096))[0].clone();
        change(&mut spec);
        let mut faults = Faults::default();
        spec.check(&StreamsSpec::default(), false, &mut faults);
        faults.0.iter().map(|fault| fault.path.to_string()).collect()
    }

    #[test]
    fn each_fault_names_its_key() {
        assert_eq!(faults(|_| {}), [""; 0]);
        assert_eq!(faults(|spec| spec.size = Bytes::new(0)), ["ftl.slc-cache.size"]);
        let point = |fill| CachePoint { fill: Ratio::new(fill), size: Bytes::new(0) };
        assert_eq!(faults(|spec| spec.points = vec![point(0.5), point(0.5)]), ["ftl.slc-cache.points"]);
        assert_eq!(faults(|spec| spec.points = vec![point(1.5)]), ["ftl.slc-cache.points"]);
        assert_eq!(faults(|spec| spec.streams = Some(2)), ["ftl.slc-cache.streams"]);
        assert_eq!(faults(|spec| spec.streams = Some(0)), ["ftl.slc-cache.streams"]);
        let set_aside = |size: u64| faults(|spec| spec.set_aside = Bytes::new(size));
        assert_eq!(set_aside(8 * 4096), [""; 0]);
        assert_eq!(set_aside(8 * 4096 + 1), ["ftl.slc-cache.static"]);
        let shrinks = |spec: &mut SlcCacheSpec| (spec.set_aside, spec.points) = (spec.size, vec![point(0.5)]);
        assert_eq!(faults(shrinks), ["ftl.slc-cache.static"]);
        let stays = |spec: &mut SlcCacheSpec| (spec.set_aside, spec.idle) = (spec.size, None);
        assert_eq!(faults(stays), ["ftl.slc-cache.static"]);
        for reuse in [Bytes::new(0), Bytes::new(1 << 30)] {
            assert_eq!(faults(|spec| spec.reuse = Some(reuse)), ["ftl.slc-cache.reuse"]);
        }
        let folds = |spec: &mut SlcCacheSpec| (spec.overflow, spec.reuse) = (OverflowPolicy::Fold, Some(spec.size));
        assert_eq!(faults(folds), ["ftl.slc-cache.reuse"]);
        let idle = Some(IdleFoldSpec { after: Span::ZERO, down_to: Bytes::new(0) });
        assert_eq!(faults(|spec| spec.idle = idle), ["ftl.slc-cache.idle.after"]);
    }
}
