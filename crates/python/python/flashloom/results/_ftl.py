"""What an FTL did.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record
from flashloom.results._flash import FlashRow


class EraseRange(Record):
    """The erase counts of blocks that stand beside each other."""

    blocks: int
    """The number of blocks."""
    max: int
    """The maximum."""
    mean: float
    """The mean."""
    min: int
    """The minimum."""


class FdpEventSummary(Record):
    """An event of Flexible Data Placement."""

    at_us: float
    """When it happened, in microseconds of simulated time."""
    bytes: int
    """The bytes that were moved, or that were not written; 0 for an invalid identifier."""
    code: int
    """Its type (NVM Express TP4146): 0 for a reclaim unit not fully written, 3 for an invalid placement identifier,
    128 for media reallocated."""
    event: str
    """Its name."""
    number: Optional[int]
    """The handle, or the identifier that the drive does not have; none if superblocks hold copies of several
    handles."""


class FdpSummary(Record):
    """What Flexible Data Placement (NVM Express TP4146) counted: its statistics, its handles and its latest events.
    Mapping units count with all their bytes."""

    erased_bytes: int
    """Media bytes erased (MBE)."""
    events: int
    """Events."""
    handles: list[HandleSummary]
    """The reclaim unit handles, in the order of their numbers."""
    host_bytes: int
    """Host bytes with metadata written (HBMW): the bytes of all writes that succeeded."""
    invalid_identifiers: int
    """Write commands with an identifier that the drive does not have; handle 0 took their data."""
    log: list[FdpEventSummary]
    """The latest events, the oldest first: at most 64."""
    media_bytes: int
    """Media bytes with metadata written (MBMW), padding and translation pages included."""
    moved_copy_bytes: int
    """Bytes that were moved again out of superblocks with copies of several handles."""
    reclaim_unit_bytes: int
    """The size of a reclaim unit."""
    shared_copy_bytes: int
    """Bytes that were copied to superblocks of another handle although handles are persistently isolated."""


class HandleSummary(Record):
    """A reclaim unit handle."""

    available_bytes: int
    """Bytes that its open superblocks take at the end (RUAMW, over all reclaim groups)."""
    full_superblocks: int
    """Superblocks that it filled."""
    moved_bytes: int
    """Bytes that were moved out of its superblocks."""
    partial_superblocks: int
    """Superblocks that it left before they were full."""
    victims: int
    """Superblocks that were moved with valid data in them."""
    written_bytes: int
    """Bytes that the host wrote with it."""


class HmbSummary(Record):
    """The work of the host memory buffer (HMB) during the run."""

    hit_ratio: Optional[float]
    """The share of hits."""
    hits: int
    """Loads of translation pages that the host's memory had."""
    misses: int
    """Loads that it did not have while the drive used it."""
    read_bytes: int
    """Bytes read from the host's memory over the link."""
    time_us: Optional[float]
    """Mean time of a load from the host's memory: wait for the link, transfer and latency."""
    written_bytes: int
    """Bytes written to the host's memory over the link."""


class LogSummary(Record):
    """The merges of the run, if the device has log blocks."""

    erases: int
    """Erases that the merges cause: one for each, and for a full merge one more for each new data block (Sung,
    Table 3)."""
    full: int
    """Full merges: log blocks whose pages were copied into new data blocks."""
    k: Optional[float]
    """New data blocks per full merge."""
    pages_of_full: Optional[float]
    """Pages copied per full merge."""
    pages_of_partial: Optional[float]
    """Pages copied per partial merge."""
    partial: int
    """Partial merges: log blocks that became data blocks after the missing pages were copied into them."""
    saving_s: float
    """The saving of the allocation method on an idle device, in seconds: the time of each merge on one controller
    beside its destination's, minus that on controllers of its own (Sung, Fig. 11 to 13)."""
    switch: int
    """Switch merges: log blocks that became data blocks without a copy."""


class MapSummary(Record):
    """The work of the map unit during the run, if the device has one."""

    flush_time_us: Optional[float]
    """Mean busy time of a flush, including its stores."""
    flushed_blocks: int
    """Blocks that flushes wrote back."""
    flushes: int
    """Flushes: each writes back all dirty blocks of one translation page."""
    hit_ratio: Optional[float]
    """The share of hits."""
    hits: int
    """Questions whose block of entries was in the first level of cache (CMT); all questions if the full table is in
    RAM."""
    hmb: Optional[HmbSummary]
    """The host memory buffer, if the drive asks for one."""
    loads: int
    """Translation pages loaded, from the host's memory or from flash."""
    loads_at_most: int
    """The maximum number of concurrent loads since power-on."""
    misses: int
    """Questions whose block was missing or still being loaded."""
    mshrs_at_most: Mshrs
    """The maximum number of miss status registers in use since power-on."""
    page_hit_ratio: Optional[float]
    """The share of hits; missing without a second level."""
    page_hits: int
    """Requests to the second level (CTP) that found their translation page."""
    page_misses: int
    """Requests whose page was missing or still being loaded."""
    questions: int
    """Questions answered."""
    stores: int
    """Translation pages stored."""
    time_us: Optional[float]
    """Mean busy time of a question, including the command that follows it; loads from flash do not count."""


class MergeSummary(Record):
    """The work of a block-mapped FTL."""

    copied: int
    """Rows that merges copied inside their chips."""
    erase_spread: int
    """The erase count of the most erased superblock minus that of the least erased one, at the end."""
    flush_pages: int
    """Pages of flushes without merges."""
    given: int
    """Rows with sectors from the host."""
    log_pages: int
    """Pages of the log, without replicas."""
    maps: int
    """The number of times the map was written."""
    merges: int
    """Merges, including those of wear levelling."""
    recovery_us: float
    """The time of recovery, in microseconds, after a power cut at the end."""
    replaced: int
    """Failing blocks replaced by spares."""


class Mshrs(Record):
    """Miss status registers of the two levels."""

    cmt: int
    """Of the first level; in software, the questions that wait for a load."""
    ctp: int
    """Of the second level."""


class ParitySummary(Record):
    """What parity over the dies of a superblock did. Its programs and reads are in `flash`, under the cause
    `parity`."""

    lost: int
    """Uncorrectable reads of mapping units that could not be rebuilt."""
    rebuilt: int
    """Uncorrectable reads of mapping units that were rebuilt."""
    superblocks: int
    """Superblocks moved because one of their dies had failed."""
    waiting: int
    """Superblocks that wait for that at the end."""


class RaidDriveSummary(Record):
    """A drive of a RAID."""

    has_failed: bool
    """True if the drive has failed."""
    last: int
    """Requests of the host for which this drive was the last to answer."""
    programmed_slots: int
    """Mapping units that the drive programmed."""
    read_bytes: int
    """Bytes read from the drive."""
    requests: int
    """Requests to the drive."""
    written_bytes: int
    """Bytes written to the drive."""


class RaidJournalSummary(Record):
    """The journal of a RAID."""

    bytes: int
    """Bytes written: records with their headers, and tails."""
    checkpoints: int
    """Checkpoints: flushes of all drives that made room."""
    records: int
    """Records written."""
    waits: int
    """Records that waited for room."""


class RaidSummary(Record):
    """What a RAID of drives did."""

    drive_write_amplification: Optional[float]
    """Mapping units that the drives programmed for each that was written to them and not absorbed."""
    drives: list[RaidDriveSummary]
    """Each drive: those of the stripes, the spares, and that of the journal."""
    full_updates: int
    """Parts of stripes that were written as a whole: nothing was read for their parity."""
    journal: Optional[RaidJournalSummary]
    """The journal, if there is one."""
    lost_chunks: int
    """Chunks that a rebuild could not bring back."""
    modify_updates: int
    """Parts of stripes whose parity came from old data and old parity (read-modify-write)."""
    read_amplification: Optional[float]
    """Bytes that the RAID read from its drives for each byte that the host read."""
    rebuilt_bytes: int
    """Bytes that rebuilds wrote to spares."""
    rebuilt_s: Optional[float]
    """When the last rebuild ended, in seconds from the beginning of the run."""
    reconstruct_updates: int
    """Parts of stripes whose parity came from the rest of the stripe (reconstruct-write)."""
    recover_updates: int
    """Parts of stripes of which old data had to be recovered first."""
    recovered_bytes: int
    """Bytes of reads of the host that were computed from other drives."""
    repaired_bytes: int
    """Bytes of parity and mirrors that were repaired after a power cut."""
    rewritten_bytes: int
    """Bytes that a drive could not read, and that were written again."""
    write_amplification: Optional[float]
    """Bytes that the RAID wrote to its drives for each byte that the host wrote: data, parity, mirrors, rebuilds
    and repairs. `write_amplification` of the run is this level and that of the drives together, in mapping
    units."""


class RefreshSummary(Record):
    """What refresh did. Its reads, programs and erases are in `flash`, under the cause `refresh`."""

    by_age: int
    """Superblocks that had a page beyond the limit of age."""
    by_errors: int
    """Superblocks that had a page beyond the limit of errors."""
    by_reads: int
    """Superblocks that had a block beyond the limit of reads."""
    patrol_reads: int
    """Patrol reads."""
    superblocks: int
    """Superblocks whose data was moved, or was being moved at the end."""


class SlcCacheSummary(Record):
    """What an SLC cache did, and its level at the end. What was folded is in `flash`, under the cause `fold`."""

    cached: int
    """Mapping units that were programmed in SLC mode."""
    direct: int
    """Mapping units of the host that were programmed in full blocks."""
    limit: int
    """Superblocks that may be in SLC mode when the drive is as full as at the end."""
    programs: int
    """Programs in SLC mode, each of one row of pages."""
    share: float
    """The share of the host's mapping units that went to the cache; 0 if the host wrote none."""
    superblocks: int
    """Superblocks in SLC mode at the end, in all pools."""


class SlcMlcSummary(Record):
    """The work of a hybrid drive, or of the conventional drive beside it, during the run."""

    accepted: Optional[float]
    """The share of writes that the SLC flash accepted."""
    alpha: float
    """Share of the data written that the SLC flash takes."""
    assisted: int
    """Sectors of the SLC flash that folds carried along to the MLC flash."""
    cost: Optional[float]
    """The price of all flash divided by that of the MLC flash alone, if the prices are known."""
    expected_page_write_us: float
    """The time of a page write that the closed form expects with these factors."""
    k: int
    """The maximum number of blocks of the SLC log at the end."""
    levelled: int
    """Chains that wear levelling moved."""
    mlc_erase_ranges: list[EraseRange]
    """The erase counts of the MLC blocks at the end, by ranges of block numbers."""
    n1: float
    """Pages with valid data in an SLC block when it is the tail."""
    n2: float
    """Pages of these that are copied to the head."""
    n3: float
    """Pages of a chain that are scanned on a miss of the mapping cache."""
    n4: float
    """Blocks that the fold of a chain erases."""
    p1: float
    """Share of the page writes that miss the mapping cache."""
    p2: float
    """Folds for each page written to the MLC flash."""
    slc_erase_ranges: list[EraseRange]
    """Those of the SLC blocks."""
    slc_erases: Optional[list[int]]
    """The minimum and maximum erase count of SLC blocks."""
    slc_flash: list[FlashRow]
    """Commands of the SLC flash by operation and cause."""
    slc_mode: int
    """Logical blocks in SLC mode at the end, under density control."""
    slc_mode_changes: list[int]
    """Logical blocks that folds switched to SLC mode, and back."""
    slc_mode_pages: int
    """Pages of the MLC flash programmed in SLC mode."""
    small: Optional[float]
    """The share of writes up to the threshold in size."""
    switches: int
    """Chains that became data blocks without a copy."""
    table_bytes: int
    """Bytes of RAM for the tables."""
    threshold: int
    """The threshold at the end, in sectors."""
    throttled: int
    """Small writes that the throttle rejected."""
    unplaced: int
    """Small writes without a free place in the hash table."""
    updates: Optional[float]
    """The share of accepted writes that were updates."""
    wear_ratio: Optional[float]
    """Mean erases per SLC block divided by mean erases per MLC block."""
    writes: int
    """Write requests."""
    written_back: int
    """Sectors that moved from the SLC to the MLC flash by cleaning of the log's tail and by folds."""


class StreamSummary(Record):
    """One write stream."""

    share: float
    """Their share of those of all streams of the same kind; 0 if there are none."""
    units: int
    """Mapping units programmed in the stream."""
    write_amplification: Optional[float]
    """Mapping units programmed for one that the host wrote, in the class of the stream; only for a stream of host
    data whose copies stay in a stream of their own (`ftl.streams.copies` = `same`)."""


class StreamsSummary(Record):
    """The write streams of a page-mapped FTL that has several."""

    copies: list[StreamSummary]
    """The streams of copies."""
    host: list[StreamSummary]
    """The streams of host data, in the order of their numbers."""


class TranslationSummary(Record):
    """What a translation over zones did. Units are mapping units."""

    collected_zones: int
    """Zones that collection emptied."""
    copied: int
    """Units that collection copied."""
    dead_zones: int
    """Zones in which nothing was valid: they were reset without a copy."""
    drive_write_amplification: Optional[float]
    """Units that the drive programmed for each that the translation wrote."""
    failed_zones: int
    """Zones that took no more data before they were full, or could not be reset."""
    free_zones: int
    """Zones that are free at the end."""
    lost_units: int
    """Units that could not be read when they were to be copied."""
    map_bytes: int
    """Bytes of the map in the host's RAM: four for each unit."""
    mount_reads: int
    """Units that mounts read."""
    rest_reads: int
    """Reads of what a write left of its first or last unit."""
    stalled_us: float
    """How long they waited, in microseconds, added up."""
    stalled_writes: int
    """Writes of users that waited for a zone."""
    summaries: int
    """Units of the summaries of zones."""
    vain_copies: int
    """Copies that were in vain: users wrote or discarded the unit before they ended."""
    write_amplification: Optional[float]
    """Units that the translation wrote to zones for each unit that users wrote: data, copies and summaries.
    `write_amplification` of the run is this level and that of the drive together."""
    written: int
    """Units that users wrote."""


class ZonesSummary(Record):
    """What the zones of a drive did. Mapping units count with all their bytes."""

    active: int
    """Active zones at the end."""
    finishes: int
    """Finishes of zones that were not full."""
    open: int
    """Open zones at the end."""
    padded_bytes: int
    """Bytes of zones that finishes filled with padding."""
    resets: int
    """Resets of zones that were not empty."""
    zrwa: Optional[ZrwaSummary]
    """The zone random write areas, if the drive has any."""


class ZrwaSummary(Record):
    """What the zone random write areas of a drive did."""

    explicit_flushes: int
    """Commands that moved the write pointer."""
    implicit_flushes: int
    """Writes behind an area, which moved the write pointer."""
    overwritten_bytes: int
    """Bytes that newer writes replaced in an area, so that they never reached flash."""
    unwritten_bytes: int
    """Bytes that the write pointer passed before the host had written them: they were programmed as zeros."""
    zones: int
    """Zones with an area at the end."""
