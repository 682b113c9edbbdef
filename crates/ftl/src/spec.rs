//! The table `[ftl]` of a description.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base::fault::Faults;
use base::units::{Bytes, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::BlockSpec;
use crate::hydra::HydraSpec;
use crate::idle::Idle;
use crate::kind::FtlKind;
use crate::log_block::LogSpec;
use crate::map_unit::MapSpec;
use crate::page::{
    CheckpointSpec, CopyStreamsSpec, DiscardSpec, FdpSpec, FirmwareSpec, FoldPath, GcSpec, HostStreamsSpec, Isolation,
    PlacementSpec, RefreshSpec, SlcCacheSpec, StreamsSpec, UnmappedReads,
};
use crate::slc_mlc::SlcMlcSpec;
use crate::toolkit::WearSpec;
use crate::zns::ZnsSpec;

/// The keys of the flash translation layer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FtlSpec {
    /// The kind of FTL, which names its family.
    pub kind: FtlKind,
    /// The version under which an FTL of the program is registered. Results have it, so that results of two versions
    /// are never mixed; a description can leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Numbers for an FTL or a map unit of the program, which defines their meaning.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// The size of a mapping unit, which one map entry points to: a page, an even part of one, or the pages of several
    /// planes of a die (page-mapped FTL, parts with multi-plane commands), at most 64KiB. A page if missing, but no
    /// more than 32KiB. A write of a part of a unit reads the other sectors first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_unit: Option<Bytes>,
    /// Share of the flash that the host does not see; 7% if neither this key nor `capacity` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<Ratio>,
    /// The capacity that the host sees; instead of `over-provisioning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// The map: the table or map unit that knows the place of every mapping unit.
    pub map: MapSpec,
    /// Translation pages that the block manager puts into one program (Woo and Min, FMMU, Sec. 4.1): from 1 to the
    /// program's number of mapping units; padding fills the rest. The programs go to the plane groups in turn. A
    /// program waits to be filled while another program of translation pages is in progress. If missing, a page goes to
    /// a plane group of its own at once, and only pages that are stored there at the same moment share a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_gather: Option<u32>,
    /// Firmware time of a page-mapped FTL with its map in RAM; zero if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<FirmwareSpec>,
    /// The distribution of writes over the dies.
    pub placement: PlacementSpec,
    /// The number of dies in which a superblock of a page-mapped FTL lies. Its programs go over these dies in turn, and
    /// it is collected and erased as a whole. The dies of the array form groups of this size, each on as many channels
    /// as possible. A superblock with one bad block goes on without that block, and with a second one is out of use.
    /// Needs `flash.controllers = "none"`.
    #[serde(skip_serializing_if = "is_one")]
    pub superblock_dies: u32,
    /// Parity over the dies of a superblock (RAIN): of the programs of a word line, one on each die, the last is the
    /// parity of the others, on another die each time. A page that cannot be read is rebuilt from the pages of the
    /// other dies.
    #[serde(skip_serializing_if = "is_default")]
    pub parity: bool,
    /// The rate at which superblocks are moved after the failure of a die, in bytes of their data; if missing, as fast
    /// as collection moves them. Needs `ftl.parity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["200MB/s"]))]
    pub rebuild_rate: Option<Rate>,
    /// Garbage collection.
    pub gc: GcSpec,
    /// Blocks in SLC mode in front of the others; if missing, every block stores all bits of its cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheSpec>,
    /// Refresh of data whose bit errors have grown; if missing, data stays where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshSpec>,
    /// Write streams.
    #[serde(skip_serializing_if = "is_default")]
    pub streams: StreamsSpec,
    /// Flexible Data Placement; if missing, placement identifiers have no effect, except in `streams`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fdp: Option<FdpSpec>,
    /// Wear levelling.
    pub wear: WearSpec,
    /// Whether a discard survives a power cut.
    #[serde(skip_serializing_if = "is_default")]
    pub discard: DiscardSpec,
    /// How a page-mapped FTL handles a read whose address was never written, or was discarded.
    #[serde(skip_serializing_if = "is_default")]
    pub unmapped_reads: UnmappedReads,
    /// Checkpoints of a page-mapped FTL with its map in RAM; if missing, a mount reads every spare area.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointSpec>,
    /// The block-mapped FTL of Hydra, if `kind` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hydra: Option<HydraSpec>,
    /// The FTL of Chang's hybrid SLC/MLC disk, if `kind` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chang: Option<SlcMlcSpec>,
    /// Log blocks, if the family has them.
    #[serde(skip_serializing_if = "is_default")]
    pub log: LogSpec,
    /// Replacement blocks, if the family has them.
    #[serde(skip_serializing_if = "is_default")]
    pub block: BlockSpec,
    /// Zones, for the kind `zns`.
    #[serde(skip_serializing_if = "is_default")]
    pub zns: ZnsSpec,
}

impl Default for FtlSpec {
    fn default() -> Self {
        Self {
            kind: FtlKind::Page,
            version: None,
            options: BTreeMap::new(),
            map_unit: None,
            over_provisioning: None,
            capacity: None,
            map: MapSpec::default(),
            map_gather: None,
            firmware: None,
            placement: PlacementSpec::default(),
            superblock_dies: 1,
            parity: false,
            rebuild_rate: None,
            gc: GcSpec::default(),
            slc_cache: None,
            refresh: None,
            streams: StreamsSpec::default(),
            fdp: None,
            wear: WearSpec::default(),
            discard: DiscardSpec::default(),
            unmapped_reads: UnmappedReads::default(),
            checkpoint: None,
            hydra: None,
            chang: None,
            log: LogSpec::default(),
            block: BlockSpec::default(),
            zns: ZnsSpec::default(),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde asks for this signature.
const fn is_one(dies: &u32) -> bool {
    *dies == 1
}

/// The most copies of one pool in progress at once.
const PARALLEL_MAX: u32 = 1 << 16;

impl FtlSpec {
    /// Share of the flash that the host does not see, in a description without a capacity.
    #[must_use]
    pub fn over_provisioning(&self) -> Ratio {
        self.over_provisioning.unwrap_or(Ratio::new(0.07))
    }

    /// The write streams: `streams`, or a stream for each handle of `fdp`.
    #[must_use]
    pub fn write_streams(&self) -> Cow<'_, StreamsSpec> {
        let Some(fdp) = self.fdp else { return Cow::Borrowed(&self.streams) };
        let copies = match fdp.isolation {
            Isolation::Initial => CopyStreamsSpec::One,
            Isolation::Persistent => CopyStreamsSpec::Same,
        };
        Cow::Owned(StreamsSpec { host: HostStreamsSpec::PlacementId { streams: fdp.handles }, copies })
    }

    /// True if an SLC cache is folded inside the planes, where that is possible.
    #[must_use]
    pub fn folds_in_planes(&self) -> bool {
        self.slc_cache.as_ref().is_some_and(|cache| cache.fold == FoldPath::CopyBack)
    }

    /// The description with its defaults written out: the over-provisioning, unless it gives a capacity, and the
    /// versions of an FTL and of policies of the program.
    #[must_use]
    pub fn written_out(mut self) -> Self {
        self.over_provisioning = self.capacity.is_none().then(|| self.over_provisioning());
        if let Some((_, version)) = self.kind.own() {
            self.version = version;
        }
        self.map = self.map.written_out();
        self.gc.victim = self.gc.victim.written_out();
        self.gc.pace = self.gc.pace.written_out();
        self.streams = self.streams.written_out();
        self.placement = self.placement.written_out();
        self
    }

    /// True if the place or the stream of a write depends on the request that brought the data.
    #[must_use]
    pub fn asks_for_requests(&self) -> bool {
        self.fdp.is_some() || self.streams.asks_for_requests() || self.placement.asks_for_requests()
    }

    /// Adds the faults of numbers that no array allows.
    pub fn check(&self, faults: &mut Faults) {
        if self.over_provisioning.is_some() && self.capacity.is_some() {
            faults.add("ftl.over-provisioning", "conflicts with ftl.capacity", "keep one of the two");
        }
        let (gc, wear) = (&self.gc, &self.wear);
        if gc.parallel > PARALLEL_MAX {
            faults.within("ftl.gc.parallel", gc.parallel, 1..=PARALLEL_MAX);
        }
        if let FtlKind::Own(own) = self.kind {
            own.check(self.version.as_deref(), faults);
        } else if self.version.is_some() {
            faults.add(
                "ftl.version",
                "is for an FTL of the program only",
                "leave it out, or set ftl.kind = \"own:NAME\"",
            );
        }
        let has_own = matches!(self.kind, FtlKind::Own(_)) || matches!(self.map, MapSpec::Own(_));
        if !has_own && !self.options.is_empty() {
            let message = "is for an FTL or a map unit of the program only";
            faults.add("ftl.options", message, "leave it out, or set ftl.kind = \"own:NAME\"");
        }
        gc.victim.check(faults);
        gc.pace.check(faults);
        self.write_streams().check(gc, faults);
        if let Some(fdp) = &self.fdp {
            fdp.check(faults);
            if self.streams != StreamsSpec::default() {
                let message = "conflicts with ftl.fdp: its handles are the streams";
                faults.add("ftl.streams", message, "leave one of the two out");
            }
        }
        if let Some(cache) = &self.slc_cache {
            cache.check(&self.write_streams(), gc.shared_log, faults);
        }
        if let Some(refresh) = &self.refresh {
            refresh.check(faults);
        }
        self.placement.check(faults);
        faults.positive("ftl.gc.parallel", gc.parallel);
        faults.positive("ftl.wear.check-every", wear.check_every);
        if wear.threshold == Some(0) {
            faults.add(
                "ftl.wear.threshold",
                "is zero: wear levelling would never stop moving data",
                "use at least 1, or leave it out",
            );
        }
        if gc.start == 0 && wear.threshold.is_some() {
            let message = "is 0, and static wear levelling needs two free superblocks";
            faults.add("ftl.gc.start", message, "use at least 1, or leave out ftl.wear.threshold");
        }
        if gc.throttle && gc.shared_log {
            let message =
                "conflicts with ftl.gc.shared-log, where writes already wait for the copies in their superblock";
            faults.add("ftl.gc.throttle", message, "leave one of the two out");
        }
        if gc.throttle && gc.start == 0 {
            let message = "conflicts with ftl.gc.start = 0: writes would pay only where no superblock is free";
            faults.add("ftl.gc.throttle", message, "use a start of 1 or more, e.g. 6");
        }
        if let Some(idle) = &gc.idle {
            if idle.after.is_zero() {
                faults.add("ftl.gc.idle.after", "is zero: every drive is idle for no time", "e.g. \"100ms\"");
            }
            if idle.free <= gc.stop {
                let message = format!("is {}, not more than ftl.gc.stop, which is {}", idle.free, gc.stop);
                faults.add("ftl.gc.idle.free", message, format!("use at least {}", gc.stop.saturating_add(1)));
            }
        }
        if gc.stop <= gc.start {
            let message = format!("is {}, not more than ftl.gc.start, which is {}", gc.stop, gc.start);
            faults.add("ftl.gc.stop", message, format!("use at least {}", gc.start.saturating_add(1)));
        }
    }

    /// Adds the faults of numbers that are too large for pools of `blocks` superblocks.
    pub fn check_pools(&self, blocks: u32, faults: &mut Faults) {
        // The open superblock of a pool is never free, so `start` and `stop` must be smaller.
        let most = blocks.saturating_sub(1).max(1);
        let idle = self.gc.idle.map_or(0, |idle| idle.free);
        for (path, value) in
            [("ftl.gc.start", self.gc.start), ("ftl.gc.stop", self.gc.stop), ("ftl.gc.idle.free", idle)]
        {
            if value > most && self.gc != GcSpec::default() {
                let message = format!("is {value}, and a pool has {blocks} superblocks");
                faults.add(path, message, format!("use 1 to {most}"));
            }
        }
    }

    /// Keys that other keys make ineffective, whatever the family.
    #[must_use]
    pub fn idle(&self) -> Vec<Idle> {
        let wear = &self.wear;
        let is_set = wear.check_every != WearSpec::default().check_every && wear.threshold.is_none();
        let idle = Idle::new("ftl.wear.check-every", is_set, "the FTL checks wear only with ftl.wear.threshold");
        vec![idle.remedy("leave it out, or give the threshold")]
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
