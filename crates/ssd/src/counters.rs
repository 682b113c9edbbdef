//! Counters of a device; differences of two snapshots make a time series.

use base::io::{Io, IoKind};
use base::units::{SECTOR, Span, Time};
use flash::backend::{Account, Backend, Op};
use flash::nand::ErrorCounters;

use ftl::{
    FdpCounters, LogMerges, MergeCounters, ParityCounters, RefreshCounters, SlcCacheCounters, SlcMlcCounters,
    StreamCounters, ZoneCounters, map_unit,
};

use crate::host::Extent;
use crate::{PowerCounters, RaidCounters, Status, TranslationCounters};

/// A snapshot of all counters of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters {
    /// The time of the snapshot.
    pub at: Time,
    /// Host requests that succeeded, by `IoKind`.
    pub requests: [u64; IoKind::COUNT],
    /// Sectors of the host requests that succeeded, by `IoKind`.
    pub sectors: [u64; IoKind::COUNT],
    /// Host requests that failed, by `IoKind`.
    pub failed: [u64; IoKind::COUNT],
    /// Mapping units that writes of the host asked for; a write of a part of a unit counts as one.
    pub host_slots: u64,
    /// Mapping units of these writes that the drive refused, because it was read-only.
    pub refused_slots: u64,
    /// Mapping units that finished reads of the host asked for; a read of a part of a unit counts as one.
    pub read_slots: u64,
    /// Mapping units that the volatile buffer or a zone random write area absorbed, because a newer write of the unit came first.
    pub absorbed_slots: u64,
    /// Mapping units read that were never written, or discarded: they read as zeros.
    pub unmapped_slots: u64,
    /// Of these, the number that took a flash read all the same, as `ftl.unmapped-reads` may ask.
    pub unmapped_flash_reads: u64,
    /// Mapping units stored again although their data could not be read: by collection, by merges, or as the rest of a partial
    /// write. Those of an SLC array are not among them.
    pub unreadable_copies: u64,
    /// Flash commands by operation and cause.
    pub flash: Account,
    /// Reads of an array with bit errors; `None` without errors.
    pub errors: Option<Box<ErrorCounters>>,
    /// The time for which each channel was held.
    pub channel_busy: Vec<Span>,
    /// The time for which each die's array worked. While one of `P` planes reads by itself, its die counts `1 / P` of
    /// the time.
    pub die_busy: Vec<Span>,
    /// The time for which each plane that reads by itself worked; empty if no planes do.
    pub plane_busy: Vec<Span>,
    /// The time for which each controller held a command list; empty if there are no controllers.
    pub controller_busy: Vec<Span>,
    /// The time for which each decoder of the error correction worked; empty if there are no decoders.
    pub decoder_busy: Vec<Span>,
    /// The time for which the processor worked for software controllers and for the FTL.
    pub processor_busy: Span,
    /// The time for which the host link carried data or overhead, both directions together.
    pub link_busy: Span,
    /// The time for which the RAM moved data of the write buffer or looked mapping units up; zero if the RAM takes no
    /// time.
    pub ram_busy: Span,
    /// Counters of the map unit since power-on; `None` if there is none.
    pub map: Option<map_unit::Counters>,
    /// Merges of a block-mapped FTL since power-on; `None` under another FTL.
    pub merges: Option<MergeCounters>,
    /// Merges of log blocks since power-on; `None` without log blocks.
    pub log_merges: Option<LogMerges>,
    /// Counters of the SLC array, if the device has two kinds of flash.
    pub slc_array: Option<Box<SlcArrayCounters>>,
    /// Counters of the FTL of Chang's hybrid SLC/MLC disk; `None` under another FTL.
    pub slc_mlc: Option<Box<SlcMlcCounters>>,
    /// Mapping units programmed in each write stream since power-on, if there are several.
    pub streams: Option<Box<StreamCounters>>,
    /// Counters of Flexible Data Placement since power-on; `None` without it.
    pub fdp: Option<Box<FdpCounters>>,
    /// Counters of the SLC cache since power-on, and its level; `None` without one.
    pub slc_cache: Option<SlcCacheCounters>,
    /// Counters of refresh since power-on; `None` without it.
    pub refresh: Option<RefreshCounters>,
    /// Counters of parity since power-on; `None` without it.
    pub parity: Option<ParityCounters>,
    /// Counters of the zones since power-on, and the number of open zones; `None` without zones.
    pub zones: Option<ZoneCounters>,
    /// Power states, temperature and the energy that the controller spent; `None` without `[power]`.
    pub power: Option<Box<PowerCounters>>,
    /// Counters of a RAID of drives; `None` for a single drive.
    pub raid: Option<Box<RaidCounters>>,
    /// Counters of a translation over zones; `None` without one.
    pub translation: Option<Box<TranslationCounters>>,
    /// The number of free blocks of the FTL.
    pub free_blocks: u64,
    /// The number of retired blocks, factory-marked ones included.
    pub bad_blocks: u64,
    /// The hash of all events: equal for two runs with the same events in the same order.
    pub event_hash: u64,
    /// The number of simulated events; with `event_hash` it shows whether two runs were equal.
    pub events: u64,
}

/// Counters of the second array of a drive, whose flash is SLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlcArrayCounters {
    /// The array's commands by operation and cause.
    pub flash: Account,
    /// The time for which each of the array's channels was held.
    pub channel_busy: Vec<Span>,
    /// The time for which each of the array's dies worked.
    pub die_busy: Vec<Span>,
    /// The least and the most erases of a block of the array.
    pub erases: [u32; 2],
    /// The number of blocks of the array that are bad at present.
    pub bad_blocks: u64,
}

impl SlcArrayCounters {
    pub(crate) fn of(slc_array: &Backend, now: Time) -> Self {
        Self {
            flash: slc_array.account(now),
            channel_busy: slc_array.channel_busy(now).collect(),
            die_busy: slc_array.die_busy(now).collect(),
            // Two passes, because a single pass for both bounds takes longer.
            erases: [
                slc_array.media().all_erases().fold(u32::MAX, u32::min),
                slc_array.media().all_erases().fold(0, u32::max),
            ],
            bad_blocks: slc_array.media().bad_blocks(),
        }
    }
}

impl Counters {
    /// The number of sectors of writes and appends that succeeded.
    #[must_use]
    pub const fn sectors_written(&self) -> u64 {
        self.sectors[IoKind::Write as usize] + self.sectors[IoKind::Append as usize]
    }

    /// The time for which dies worked for reads between two snapshots, divided by the array time of these reads: less
    /// than 1 where planes read by themselves.
    #[must_use]
    pub fn time_of_reads(from: &Self, to: &Self) -> f64 {
        let total = |busy: &[Span]| busy.iter().copied().sum::<Span>();
        let planes = total(&to.plane_busy) - total(&from.plane_busy);
        if planes.is_zero() {
            return 1.0;
        }
        let of_die = (to.plane_busy.len() / to.die_busy.len()) as f64;
        let reads = to.flash.op(Op::Read).array - from.flash.op(Op::Read).array;
        1.0 - planes.as_us_f64() / reads.as_us_f64() * (1.0 - 1.0 / of_die)
    }

    /// Data programmed on the SLC array, in mapping units; the slots of that array are sectors.
    #[must_use]
    pub fn slc_controllers(&self) -> f64 {
        let (Some(slc_array), Some(slc_mlc)) = (&self.slc_array, &self.slc_mlc) else { return 0.0 };
        (SECTOR * slc_array.flash.op(Op::Program).slots).get() as f64 / slc_mlc.mlc.page.get() as f64
    }
}

/// Counters of the host side of a device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: [u64; IoKind::COUNT],
    pub(crate) sectors: [u64; IoKind::COUNT],
    pub(crate) failed: [u64; IoKind::COUNT],
    pub(crate) host_slots: u64,
    pub(crate) refused_slots: u64,
    pub(crate) read_slots: u64,
    /// Mapping units that newer writes replaced, in the buffer or in a zone random write area.
    pub(crate) absorbed_slots: u64,
    /// Mapping units read that were never written, or discarded.
    pub(crate) unmapped_slots: u64,
    /// The number of these that took a flash read all the same.
    pub(crate) unmapped_flash_reads: u64,
}

impl Counts {
    #[inline]
    pub(crate) fn complete(&mut self, io: Io, status: Status, extent: Extent) {
        let kind = io.kind as usize;
        if status == Status::Done {
            self.requests[kind] += 1;
            self.sectors[kind] += io.sectors.get();
        } else {
            self.failed[kind] += 1;
        }
        if io.kind == IoKind::Read {
            self.read_slots += u64::from(extent.end - extent.first);
        }
    }
}
