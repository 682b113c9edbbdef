"""What an FTL did.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record
from flashloom.results._flash import FlashRow


class EraseRange(Record):
    """The erase counts of blocks with successive numbers."""

    blocks: int
    """The number of blocks with successive numbers."""
    max: int
    """The greatest erase count."""
    mean: float
    """The mean erase count of the blocks."""
    min: int
    """The least erase count."""


class FdpEventSummary(Record):
    """An event of Flexible Data Placement."""

    at_us: float
    """The time of the event, in microseconds of simulated time."""
    bytes: int
    """The bytes that were moved, or that were not written; 0 for an invalid identifier."""
    code: int
    """The event's type (NVM Express TP4146): 0 for a reclaim unit not fully written, 3 for an invalid placement
    identifier, 128 for media reallocated."""
    event: str
    """Name of the event in the NVMe specification."""
    number: Optional[int]
    """The handle, or the identifier that the drive does not have; none if superblocks hold copies of several
    handles."""


class FdpSummary(Record):
    """Counters of Flexible Data Placement (NVM Express TP4146): its statistics, its handles and its latest events.
    Mapping units count with all their bytes."""

    erased_bytes: int
    """Media bytes erased (MBE)."""
    events: int
    """The number of all FDP events, including those that the log no longer has."""
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
    """Bytes that collection moved out of superblocks with copies of several handles."""
    reclaim_unit_bytes: int
    """The size of a reclaim unit: the superblocks that a handle has open in a reclaim group."""
    shared_copy_bytes: int
    """Bytes that were copied to superblocks of another handle although handles are persistently isolated."""


class HandleSummary(Record):
    """The counters of a reclaim unit handle."""

    available_bytes: int
    """Bytes that the handle's open superblocks can still take at the end (RUAMW, over all reclaim groups)."""
    full_superblocks: int
    """The number of superblocks that the handle filled."""
    moved_bytes: int
    """Bytes that were moved out of the handle's superblocks."""
    partial_superblocks: int
    """The number of superblocks that the handle left before they were full."""
    victims: int
    """The number of superblocks that were collected with valid data in them."""
    written_bytes: int
    """Bytes that the host wrote with the handle."""


class HmbSummary(Record):
    """The work of the host memory buffer (HMB) during the run."""

    hit_ratio: Optional[float]
    """The share of hits in all loads."""
    hits: int
    """The number of loads of translation pages that the host's memory had."""
    misses: int
    """The number of loads of pages that the host's memory did not have while the drive used it."""
    read_bytes: int
    """Bytes read from the host's memory over the link."""
    time_us: Optional[float]
    """Mean time of a load from the host's memory: wait for the link, transfer and latency."""
    written_bytes: int
    """Bytes written to the host's memory over the link."""


class LogSummary(Record):
    """The merges of the run, if the device has log blocks."""

    erases: int
    """The number of erases that the merges cause: one for each merge, and for a full merge one more for each new
    data block (Sung, Table 3)."""
    full: int
    """The number of full merges: log blocks whose pages were copied into new data blocks."""
    k: Optional[float]
    """New data blocks per full merge."""
    pages_of_full: Optional[float]
    """Pages copied per full merge."""
    pages_of_partial: Optional[float]
    """Pages copied per partial merge."""
    partial: int
    """The number of partial merges: log blocks that became data blocks after the missing pages were copied into
    them."""
    saving_s: float
    """The saving of the allocation method on an idle device, in seconds: the sum over the merges of the time with
    one controller for both source and destination, minus the time with two controllers (Sung, Fig. 11 to 13)."""
    switch: int
    """The number of switch merges: log blocks that became data blocks without a copy."""


class MapSummary(Record):
    """The work of the map unit during the run, if the device has one."""

    flush_time_us: Optional[float]
    """Mean busy time of a flush, including its stores."""
    flushed_blocks: int
    """The number of blocks that flushes wrote back."""
    flushes: int
    """The number of flushes: each writes back all dirty blocks of one translation page."""
    hit_ratio: Optional[float]
    """The share of hits in all questions."""
    hits: int
    """The number of questions whose block of entries was in the first level of cache (CMT); all questions if the
    full table is in RAM."""
    hmb: Optional[HmbSummary]
    """The host memory buffer, if the drive asks for one."""
    loads: int
    """The number of translation pages loaded, from the host's memory or from flash."""
    loads_at_most: int
    """The maximum number of concurrent loads since power-on."""
    misses: int
    """The number of questions whose block was missing or still being loaded."""
    mshrs_at_most: Mshrs
    """The maximum number of miss status registers in use since power-on."""
    page_hit_ratio: Optional[float]
    """The share of page hits; missing without a second level."""
    page_hits: int
    """The number of requests to the second level (CTP) that found their translation page."""
    page_misses: int
    """The number of requests whose page was missing or still being loaded."""
    questions: int
    """The number of lookups and updates that the map unit answered."""
    stores: int
    """The number of translation pages stored."""
    time_us: Optional[float]
    """Mean busy time of a question, including the command that follows it; loads from flash do not count."""


class MergeSummary(Record):
    """The work of a block-mapped FTL."""

    copied: int
    """The number of rows that merges copied inside their chips."""
    erase_spread: int
    """The spread of erase counts at the end: the highest erase count of a superblock minus the lowest."""
    flush_pages: int
    """The number of pages that flushes logged instead of merging."""
    given: int
    """The number of rows with sectors from the host."""
    log_pages: int
    """The number of pages of the log, without replicas."""
    maps: int
    """The number of times the map was written."""
    merges: int
    """The number of merges, including merges of wear levelling."""
    recovery_us: float
    """The time of recovery after a power cut at the end, in microseconds."""
    replaced: int
    """The number of failing blocks replaced by spares."""


class Mshrs(Record):
    """Miss status registers of the two levels."""

    cmt: int
    """Registers of the first level; in software, the number of questions that wait for a load."""
    ctp: int
    """Registers of the second level."""


class ParitySummary(Record):
    """Counters of parity over the dies of a superblock. Its programs and reads are in `flash`, under the cause
    `parity`."""

    lost: int
    """The number of uncorrectable reads of mapping units that could not be rebuilt."""
    rebuilt: int
    """The number of uncorrectable reads of mapping units that were rebuilt."""
    superblocks: int
    """The number of superblocks moved because one of their dies had failed."""
    waiting: int
    """The number of superblocks that still wait for such a move at the end."""


class RaidDriveSummary(Record):
    """Counters of the requests that the RAID sent to one of its drives."""

    has_failed: bool
    """True if the drive has failed, whether or not a spare took its place."""
    last: int
    """The number of requests of the host for which this drive was the last to answer."""
    programmed_slots: int
    """The number of mapping units that the drive programmed."""
    read_bytes: int
    """Bytes read from the drive, for the host and for the RAID itself."""
    requests: int
    """The number of requests to the drive, for the host and for the RAID itself."""
    written_bytes: int
    """Bytes written to the drive, for the host and for the RAID itself."""


class RaidJournalSummary(Record):
    """Counters of the journal that closes the write hole of a RAID."""

    bytes: int
    """Bytes written: records with their headers, and tails."""
    checkpoints: int
    """The number of checkpoints: flushes of all drives that made room in the journal."""
    records: int
    """The number of records written to the journal."""
    waits: int
    """The number of records that waited for room."""


class RaidSummary(Record):
    """Counters of a RAID of drives."""

    drive_write_amplification: Optional[float]
    """Mapping units that the drives programmed for each unit that the RAID wrote and no buffer absorbed."""
    drives: list[RaidDriveSummary]
    """Counters of each drive: the drives of the stripes, the spares, and the drive of the journal."""
    full_updates: int
    """The number of parts of stripes that were written as a whole: nothing was read for their parity."""
    journal: Optional[RaidJournalSummary]
    """Counters of the journal, if there is one."""
    lost_chunks: int
    """The number of chunks that a rebuild could not recover."""
    modify_updates: int
    """The number of parts of stripes whose parity came from old data and old parity (read-modify-write)."""
    read_amplification: Optional[float]
    """Bytes that the RAID read from its drives for each byte that the host read."""
    rebuilt_bytes: int
    """Bytes that rebuilds wrote to spares."""
    rebuilt_s: Optional[float]
    """The end of the last rebuild, in seconds from the beginning of the run."""
    reconstruct_updates: int
    """The number of parts of stripes whose parity came from the rest of the stripe (reconstruct-write)."""
    recover_updates: int
    """The number of parts of stripes with old data that had to be recovered first."""
    recovered_bytes: int
    """Bytes of reads of the host that were computed from other drives."""
    repaired_bytes: int
    """Bytes of parity and mirrors that were repaired after a power cut."""
    rewritten_bytes: int
    """Bytes that a drive could not read, and that were written again."""
    write_amplification: Optional[float]
    """Bytes that the RAID wrote to its drives for each byte that the host wrote: data, parity, mirrors, rebuilds
    and repairs. The run's own `write_amplification` covers the RAID and its drives together, in mapping units."""


class RefreshSummary(Record):
    """Counters of refresh. Its reads, programs and erases are in `flash`, under the cause `refresh`."""

    by_age: int
    """The number of superblocks that had a page beyond the limit of age."""
    by_errors: int
    """The number of superblocks that had a page beyond the limit of errors."""
    by_reads: int
    """The number of superblocks that had a block beyond the limit of reads."""
    patrol_reads: int
    """The number of reads with which the drive looked for blocks that need a refresh."""
    superblocks: int
    """The number of superblocks whose data was moved, or was being moved at the end."""


class SlcCacheSummary(Record):
    """Counters of an SLC cache, and its level at the end. Folded units are in `flash`, under the cause `fold`."""

    cached: int
    """The number of mapping units programmed in SLC mode."""
    direct: int
    """The number of the host's mapping units programmed in full blocks."""
    limit: int
    """The number of superblocks that may be in SLC mode when the drive is as full as at the end."""
    programs: int
    """The number of programs in SLC mode, each of one row of pages."""
    share: float
    """The share of the host's mapping units that went to the cache; 0 if the host wrote none."""
    superblocks: int
    """The number of superblocks in SLC mode at the end, in all pools."""


class SlcMlcSummary(Record):
    """The work of a hybrid drive, or of a conventional one with the same FTL, during the run."""

    accepted: Optional[float]
    """The share of writes that the SLC flash accepted."""
    alpha: float
    """Share of the data written that the SLC flash takes."""
    assisted: int
    """The number of sectors of the SLC flash that folds also moved to the MLC flash."""
    cost: Optional[float]
    """The price of all flash divided by the price of the MLC flash alone, if the prices are known."""
    expected_page_write_us: float
    """The time of a page write that the closed form gives for these factors."""
    k: int
    """The maximum number of blocks of the SLC log at the end."""
    levelled: int
    """The number of chains that wear levelling moved."""
    mlc_erase_ranges: list[EraseRange]
    """The erase counts of the MLC blocks at the end, by ranges of block numbers."""
    n1: float
    """n1: pages with valid data in an SLC block when the block is the tail."""
    n2: float
    """n2: the number of these pages that are copied to the head."""
    n3: float
    """n3: pages of a chain that are scanned on a miss of the mapping cache."""
    n4: float
    """n4: blocks that the fold of a chain erases."""
    p1: float
    """p1: share of the page writes that miss the mapping cache."""
    p2: float
    """p2: folds for each page written to the MLC flash."""
    slc_erase_ranges: list[EraseRange]
    """The erase counts of the SLC blocks at the end, by ranges of block numbers."""
    slc_erases: Optional[list[int]]
    """The minimum and maximum erase count of SLC blocks."""
    slc_flash: list[FlashRow]
    """Commands of the SLC flash by operation and cause."""
    slc_mode: int
    """The number of logical blocks in SLC mode at the end, under density control."""
    slc_mode_changes: list[int]
    """The number of logical blocks that folds switched to SLC mode, and the number switched back."""
    slc_mode_pages: int
    """The number of pages of the MLC flash programmed in SLC mode."""
    small: Optional[float]
    """The share of writes that are at most as large as the threshold."""
    switches: int
    """The number of chains that became data blocks without a copy."""
    table_bytes: int
    """Bytes of RAM for the tables."""
    threshold: int
    """The threshold at the end, in sectors."""
    throttled: int
    """The number of small writes that the throttle rejected."""
    unplaced: int
    """The number of small writes for which the hash table had no free place."""
    updates: Optional[float]
    """The share of accepted writes that were updates."""
    wear_ratio: Optional[float]
    """Mean erases per SLC block divided by mean erases per MLC block."""
    writes: int
    """The number of write requests."""
    written_back: int
    """The number of sectors that moved from the SLC to the MLC flash by cleaning of the log's tail and by folds."""


class StreamSummary(Record):
    """The units of one write stream."""

    share: float
    """The stream's share of the units of all streams of its kind; 0 if there are none."""
    units: int
    """The number of mapping units programmed in the stream."""
    write_amplification: Optional[float]
    """Mapping units programmed for each unit that the host wrote, in the class of the stream; only for a stream of
    host data whose copies go to a stream of their own (`ftl.streams.copies` = `same`)."""


class StreamsSummary(Record):
    """The write streams of a page-mapped FTL that has several."""

    copies: list[StreamSummary]
    """The streams of copies, in the order of their numbers."""
    host: list[StreamSummary]
    """The streams of host data, in the order of their numbers."""


class TranslationSummary(Record):
    """Counters of a translation over zones. Units are mapping units."""

    collected_zones: int
    """The number of zones that collection emptied."""
    copied: int
    """The number of units that collection copied."""
    dead_zones: int
    """The number of zones without valid data, which were reset without a copy."""
    drive_write_amplification: Optional[float]
    """Units that the drive programmed for each unit that the translation wrote."""
    failed_zones: int
    """The number of zones that took no more data before they were full, or could not be reset."""
    free_zones: int
    """The number of free zones at the end."""
    lost_units: int
    """The number of units that could not be read when they were to be copied."""
    map_bytes: int
    """Bytes of the map in the host's RAM: four for each unit."""
    mount_reads: int
    """The number of mapping units that mounts read to rebuild the map."""
    rest_reads: int
    """The number of reads for the rest of a partly written first or last unit."""
    stalled_us: float
    """The sum of these waits, in microseconds."""
    stalled_writes: int
    """The number of writes of users that waited for a zone."""
    summaries: int
    """The number of units of the summaries of zones."""
    vain_copies: int
    """The number of copied units that users wrote or discarded before the copy ended."""
    write_amplification: Optional[float]
    """Units that the translation wrote to zones for each unit that users wrote: data, copies and summaries. The
    run's own `write_amplification` covers the translation and the drive together."""
    written: int
    """The number of units that users wrote."""


class ZonesSummary(Record):
    """Counters of the zones of a drive. Mapping units count with all their bytes."""

    active: int
    """The number of active zones at the end."""
    finishes: int
    """The number of finishes of zones that were not full."""
    open: int
    """The number of open zones at the end."""
    padded_bytes: int
    """Bytes of padding with which finishes filled zones."""
    resets: int
    """The number of resets of zones that were not empty."""
    zrwa: Optional[ZrwaSummary]
    """Counters of the zone random write areas, if the drive has any."""


class ZrwaSummary(Record):
    """Counters of the zone random write areas of a drive."""

    explicit_flushes: int
    """The number of commands that moved the write pointer."""
    implicit_flushes: int
    """The number of writes behind an area, which moved the write pointer."""
    overwritten_bytes: int
    """Bytes that newer writes replaced in an area, so that they never reached flash."""
    unwritten_bytes: int
    """Bytes that the write pointer passed before the host had written them: they were programmed as zeros."""
    zones: int
    """The number of zones with an area at the end."""
