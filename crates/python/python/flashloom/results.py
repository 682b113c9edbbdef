"""The numbers of results, with their units of measure in their names: the keys of the JSON.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record


class Band(Record):
    """The requests of a kind between two percentiles."""

    ahead_us: dict[str, float]
    """Of the time in the queue: the parts of the requests that completed meanwhile, in microseconds."""
    band: str
    """The band's name."""
    behind_us: dict[str, float]
    """Of the waits for controllers, dies and channels, and of suspensions: what these resources did meanwhile, in
    microseconds by cause."""
    latency_us: float
    """Their mean latency, in microseconds: the sum of the parts."""
    meanwhile_us: dict[str, float]
    """Of the time in the queue, behind an overlapping request, for the buffer and in the FTL: what the dies worked
    for meanwhile, in microseconds by cause."""
    parts_us: dict[str, float]
    """The parts of that latency, in microseconds."""
    requests: int
    """The number of its requests."""


class Claim(Record):
    """The result of one claim, over all studies that test it."""

    calibrated: Optional[str]
    """What the inputs were fitted to, by the expectation that is fitted most; `null` if a study does not say.
    Expectations that restate an input do not count, unless there are no others."""
    calibration: Optional[str]
    """Which inputs were fitted, and to which numbers."""
    findings: list[Finding]
    """The results of its expectations."""
    id: str
    """The claim's name."""
    isolated: list[Isolation]
    """Measurements that isolate the reasons of those that differ."""
    note: Optional[str]
    """A note for readers."""
    says: str
    """The claim in words."""
    source: str
    """The place where the claim is made."""
    verdict: str
    """The verdict on all expectations together."""
    widest: Optional[float]
    """Half the width of the widest band with two ends, as a share of its middle."""


class CompletedSummary(Record):
    """Requests that completed in an interval."""

    bytes_per_s: float
    """Bytes that they moved per simulated second."""
    latency_max_us: float
    """The longest response time."""
    latency_mean_us: float
    """Their mean response time."""
    latency_p50_us: Optional[float]
    """The median."""
    latency_p99_9_us: Optional[float]
    """The 99.9th percentile; missing if fewer than ten requests lie beyond it."""
    latency_p99_us: Optional[float]
    """The 99th percentile; missing if fewer than ten requests lie beyond it."""
    requests: int
    """Their number."""


class Curve(Record):
    """How many requests took at most how long: the points of the histogram."""

    requests: list[int]
    """For each of them, the number of requests that took no longer."""
    us: list[float]
    """Latencies in microseconds, ascending; the last is the longest."""


class Delayed(Record):
    """Requests that waited behind flash commands of one cause."""

    latency_mean_us: float
    """Their mean latency."""
    requests: int
    """Their number."""


class EnduranceSummary(Record):
    """What a run used of the flash's rated endurance, and what the host could write until all of it is used."""

    rated_cycles: int
    """Program/erase cycles that the part is rated for."""
    tbw_bytes: float
    """Bytes that the host can write in the drive's life (metric `tbw`): data bytes of the flash times
    `rated_cycles` by `byte_write_amplification`."""
    used: float
    """The mean erase count of the blocks at the end by `rated_cycles`: what the drive's life, preconditioning
    included, has used."""
    written_bytes: int
    """Bytes that the host wrote since the run began, warm-up included; preconditioning does not count."""


class Energies(Record):
    """Energy spent during the run."""

    by_name_j: dict[str, float]
    """By name, in joules."""
    total_j: float
    """The total, in joules."""


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


class Erases(Record):
    """The distribution of erase counts over blocks."""

    blocks: int
    """The number of blocks."""
    deviation: float
    """Standard deviation."""
    max: int
    """The maximum."""
    mean: float
    """The mean."""
    min: int
    """The minimum."""


class Explained(Record):
    """The bands of one kind of request."""

    bands: list[Band]
    """The bands, fastest first; the last has all requests."""
    kind: str
    """The kind."""


class FairnessSummary(Record):
    """The flows of a run beside each other and alone."""

    fairness: Optional[float]
    """The smallest slowdown by the largest: 1 if all flows are slowed down alike (Tavakkol et al., "MQSim", FAST
    2018)."""
    flows: list[Slowdown]
    """Each flow."""
    harmonic_speedup: Optional[float]
    """The harmonic mean of the speed-ups: 1 if no flow is slowed down (Luo, Gummaraju and Franklin, ISPASS 2001)."""
    max_slowdown: Optional[float]
    """The largest slowdown."""
    unfairness: Optional[float]
    """The largest slowdown by the smallest (Mutlu and Moscibroda, MICRO 2007)."""
    weighted_speedup: Optional[float]
    """The sum of the speed-ups; the number of flows if none is slowed down (Snavely and Tullsen, ASPLOS 2000)."""


class Finding(Record):
    """The result of one expectation."""

    asks_no_more: Optional[str]
    """The paper's words that ask for no more."""
    band: str
    """The band in short, e.g. `at most +10%`, `at least 98.0%`, `10% apart`."""
    calibrated: Optional[str]
    """What its inputs were fitted to; `null` if the study does not say."""
    left_out: list[LeftOut]
    """The points that it leaves out."""
    loose: bool
    """True if it has only one end or no margin, and the study cites no words of the paper that ask for no more."""
    measured: str
    """The measured value."""
    metric: str
    """Its metric."""
    offenders: list[str]
    """The points at which it does not hold."""
    paper: str
    """The paper's value."""
    reason: Optional[str]
    """The known reason for a difference."""
    study: str
    """The study that measured it."""
    verdict: str
    """The verdict."""
    width: Optional[float]
    """Half the width of a band with two ends, as a share of its middle."""


class FlashRow(Record):
    """Flash commands of one operation and cause."""

    array_s: float
    """Array time."""
    bus_s: float
    """Channel time."""
    bytes: int
    """Bytes over the channel."""
    cause: str
    """Cause."""
    commands: int
    """Commands finished."""
    op: str
    """Operation."""
    pages: int
    """Pages, or blocks for an erase."""
    slots: int
    """Mapping units carried."""
    suspend_gain_s: Optional[float]
    """How much longer the commands for which operations were suspended would have waited for the ends of these,
    without the time to stop; left out if it is zero."""
    suspend_overhead_s: Optional[float]
    """Array time of stopping and of going on, a part of `array_s`; left out if it is zero."""
    suspended_s: Optional[float]
    """Time for which operations stood still; left out if it is zero."""
    suspensions: Optional[int]
    """Suspensions of the operations; left out if there were none."""


class FlowIntervalSummary(Record):
    """One flow in an interval."""

    bytes_per_s: float
    """Bytes that they moved per simulated second."""
    latency_max_us: float
    """The longest response time."""
    latency_mean_us: float
    """Their mean response time."""
    latency_p50_us: Optional[float]
    """The median."""
    latency_p99_9_us: Optional[float]
    """The 99.9th percentile; missing if fewer than ten requests lie beyond it."""
    latency_p99_us: Optional[float]
    """The 99th percentile; missing if fewer than ten requests lie beyond it."""
    queue_depth_max: int
    """The most of its requests outstanding."""
    queue_depth_mean: float
    """Mean number of its requests outstanding."""
    requests: int
    """Their number."""


class FlowSummary(Record):
    """One of several flows."""

    inversions: int
    """Requests of an open loop that came out of order."""
    kinds: dict[str, KindSummary]
    """By kind of request; only kinds that occurred. Rates are over the time of the flow."""
    name: str
    """The flow's name."""
    outcomes: dict[str, int]
    """Its requests by outcome."""
    pacing: str
    """`open`, or `closed` with its depth."""
    queue: int
    """The queue to which its requests were submitted."""
    requests: int
    """Its requests completed, whatever their outcome."""
    requests_per_s: Optional[float]
    """Its reads and writes that succeeded per simulated second."""
    simulated_s: float
    """Simulated seconds from its first submission to its last completion."""


class Interval(Record):
    """A mean with its 95 % confidence interval: `mean - half_width` to `mean + half_width`."""

    half_width: float
    """Half the width of the 95 % confidence interval of the mean."""
    mean: float
    """The mean."""
    n: int
    """The number of values."""


class IntervalSummary(Record):
    """One interval."""

    busy_dies: float
    """Mean number of dies that were busy."""
    flows: dict[str, FlowIntervalSummary]
    """Each flow by its name, if there are several."""
    free_blocks: int
    """Free blocks at its end."""
    from_us: float
    """Its begin, from that of the measurement."""
    kinds: dict[str, CompletedSummary]
    """By kind of request; only kinds of which a request completed."""
    queue_depth_max: int
    """The most requests outstanding."""
    queue_depth_mean: float
    """Mean number of requests outstanding."""
    to_us: float
    """Its end."""
    write_amplification: Optional[float]
    """Mapping units programmed per mapping unit that the host wrote and no buffer absorbed."""


class Isolation(Record):
    """A measurement that isolates a reason."""

    holds: bool
    """True if it still shows that."""
    measured: str
    """The measured value."""
    metric: str
    """Its metric."""
    shows: str
    """What it shows."""
    study: str
    """The study that measured it."""


class KindSummary(Record):
    """The requests of one kind."""

    bytes: int
    """Bytes that they asked for."""
    bytes_per_s: Optional[float]
    """Bytes per simulated second."""
    delayed_by: dict[str, Delayed]
    """Requests that waited behind flash commands, by the cause of those commands."""
    failed: dict[str, int]
    """Those that failed, by outcome."""
    flash_commands_per_request: float
    """Flash commands per request, issued before its acknowledgement."""
    flash_wait_mean_us: float
    """The mean over the requests of the longest wait of their flash commands."""
    latency_curve: Optional[Curve]
    """The whole distribution from submission to completion."""
    latency_us: dict[str, float]
    """Submission to completion."""
    queue_wait_us: dict[str, float]
    """Submission to leaving its queue."""
    requests: int
    """Those that succeeded: all other numbers but `failed` are about them."""
    requests_per_s: Optional[float]
    """Requests per simulated second."""
    service_us: dict[str, float]
    """Leaving the queue to completion."""
    start_wait_mean_us: float
    """The mean over the requests of their wait for the start of their flash commands, without waiting for their
    own."""


class LeftOut(Record):
    """Points of the paper's range that an expectation leaves out."""

    measured: str
    """The measured value."""
    points: str
    """The points."""
    reason: str
    """The reason."""
    stale: Optional[str]
    """Why the study is out of date about them."""


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
    loads: int
    """Translation pages loaded from flash."""
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


class OverloadSummary(Record):
    """An open load that exceeds the drive."""

    backlog: int
    """Requests outstanding when the last one arrived."""
    offered_per_s: float
    """Requests that arrived per simulated second."""
    served_per_s: float
    """Requests that succeeded per simulated second."""


class RoundSummary(Record):
    """A round of a warm-up, or a fifth of a measurement."""

    erases: int
    """Flash commands that erased blocks."""
    latency_mean_us: float
    """Their mean latency."""
    requests: int
    """Reads and writes that succeeded."""
    requests_per_s: float
    """These requests per simulated second."""
    simulated_s: float
    """Simulated seconds."""
    write_amplification: Optional[float]
    """Write amplification, if the host wrote."""


class SeriesSummary(Record):
    """The course of a run."""

    interval_us: float
    """The length of an interval; the last may be shorter."""
    intervals: list[IntervalSummary]
    """The intervals in order."""


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


class Slowdown(Record):
    """A flow beside others, compared with the same requests alone."""

    alone: FlowSummary
    """The same requests alone on the drive, after the same preconditioning."""
    name: str
    """The flow's name."""
    rate_slowdown: Optional[float]
    """Of a closed loop: its requests per second alone, by those beside the others."""
    slowdown: Optional[float]
    """The mean latency of its requests, by that of the same requests alone."""


class Spread(Record):
    """A number over the runs with each seed."""

    half_width: Optional[float]
    """Half the width of the 95 % confidence interval of the mean, by Student's t-distribution; missing with one
    seed, which says nothing of the spread."""
    mean: float
    """The mean over the seeds."""
    n: int
    """The number of seeds."""
    values: list[float]
    """The value of each run, in the order of the seeds."""


class SteadySummary(Record):
    """SNIA's rule of steady state on five rounds."""

    excursion: Optional[float]
    """The distance of the lowest value from the highest, as a share of their mean: at most 0.2 in steady state.
    Missing if the drive erased nothing while it programmed, which is no steady state."""
    slope: Optional[float]
    """The rise of the line fitted to the values, as a share of their mean: at most 0.1 either way in steady state."""
    steady: bool
    """True in steady state."""


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


class Summary(Record):
    """A run in numbers: the JSON of `--json` and `summary.json`."""

    absorbed_slots: int
    """Of these, the number that a buffer absorbed."""
    bad_blocks: int
    """Bad blocks at the end."""
    byte_write_amplification: Optional[float]
    """Bytes programmed on all flash, filling included, per byte that the writes of the host carried (metric `waf-
    bytes`)."""
    commit: str
    """Commit of the program."""
    cost: Optional[float]
    """The cost of the flash, in GiB of MLC flash; no other part of the device is counted."""
    device: str
    """Name of the device."""
    endurance: Optional[EnduranceSummary]
    """The rated endurance of the flash and what the run used of it, if the run erased blocks and all writes go to
    one array."""
    energy: Optional[Energies]
    """Energy spent."""
    erases: Optional[Erases]
    """The distribution of erase counts at the end."""
    event_hash: str
    """Hash of all events since the device was made: equal runs share it."""
    events: int
    """Events simulated."""
    explained: list[Explained]
    """The parts of the requests' time by kind and band of percentiles, if an observer attributed it."""
    fairness: Optional[FairnessSummary]
    """How fairly the drive treated the flows, if each ran alone, too."""
    flash: list[FlashRow]
    """Flash commands by operation and cause."""
    flows: list[FlowSummary]
    """The results of each flow, if there were several; all other numbers are about the flows together."""
    free_blocks: int
    """Free blocks at the end."""
    host_slots: int
    """Mapping units that writes of the host asked for."""
    inversions: int
    """Requests of an open loop that came out of order."""
    kinds: dict[str, KindSummary]
    """By kind of request; only kinds that occurred."""
    log_merges: Optional[LogSummary]
    """The merges of log blocks, if there are any."""
    map: Optional[MapSummary]
    """The work of the map unit, if there is one."""
    merges: Optional[MergeSummary]
    """The work of a block-mapped FTL, if the device has one."""
    mount_us: Optional[float]
    """The time of a mount's reads, in microseconds, after a power cut at the end."""
    notes: list[str]
    """Notes for a reader."""
    outcomes: dict[str, int]
    """Requests by outcome. Rates, latencies, bytes, write amplification and shares of the capacity count only those
    that are `done`."""
    pacing: str
    """`open`, or `closed` with its depth."""
    read_slots: int
    """Mapping units that reads of the host asked for."""
    refused_slots: int
    """Of these, the number that the drive refused."""
    requests: int
    """Requests completed, whatever their outcome."""
    requests_per_s: Optional[float]
    """Reads and writes that succeeded per simulated second."""
    schema: str
    """Version of these keys."""
    seed: int
    """Seed of all random streams."""
    series: Optional[SeriesSummary]
    """The course of the run, if its intervals were chosen."""
    simulated_s: float
    """Simulated seconds from the first submission to the last completion."""
    slc_mlc: Optional[SlcMlcSummary]
    """The traffic of the SLC and MLC flash of a hybrid drive."""
    streams: Optional[StreamsSummary]
    """The write streams, if there are several of host data or of copies."""
    unmapped_slots: int
    """Of these, the number that was never written, or discarded: they cost no flash time, unless `ftl.unmapped-
    reads` says so."""
    unreadable_copies: int
    """Mapping units stored again by collection, merges or partial writes although their data could not be read."""
    utilisation: Utilisation
    """Busy shares of the parts of the device."""
    validity: ValiditySummary
    """How far the numbers can be believed."""
    verified: Optional[dict[str, int]]
    """The oracle's comparisons."""
    version: str
    """Version of the program."""
    workload: str
    """Name of the workload."""
    write_amplification: Optional[float]
    """Mapping units programmed per mapping unit written."""
    write_amplification_by: dict[str, float]
    """The parts of the write amplification by cause of the program; their sum is the whole."""


class Utilisation(Record):
    """Busy shares of the run, between 0 and 1."""

    channels: list[float]
    """Each channel."""
    controllers: list[float]
    """Each controller."""
    decoders: list[float]
    """Each decoder of the error correction; missing without it."""
    dies: list[float]
    """Each die. While one of `P` planes reads by itself, its die is busy by `1 / P`."""
    ftl: Optional[float]
    """The time-consuming part of the FTL, its map unit: the mean over its cores, or the busier of CMT and CTP of an
    FMMU. Missing without a map unit or if that has no processor."""
    ftl_parts: list[float]
    """Each core, or CMT and CTP."""
    link: float
    """The host link."""
    planes: list[float]
    """Each plane that reads by itself; missing if there are none."""
    processor: float
    """The processor of software controllers and the FTL."""
    ram: Optional[float]
    """The RAM, for the write buffer and the look-ups of the map; missing if it takes no time."""


class ValiditySummary(Record):
    """How far the numbers of a run can be believed."""

    capacities_written: float
    """How often the measured requests wrote the capacity of the drive. Writes that failed do not count."""
    capacities_written_with_warm_up: float
    """The same with the warm-up."""
    failed: float
    """The share of the requests that failed."""
    fifths: list[RoundSummary]
    """The five parts of the measurement, with equally many requests; empty if it was too short to divide."""
    means: dict[str, Interval]
    """The mean of each metric with its 95 % interval from the batches of this one run (batch means): `rate` in
    requests per second, `waf`, `latency` in microseconds. A metric is missing if the run is too short to say, or
    if its batches depend on each other."""
    overload: Optional[OverloadSummary]
    """The load and what the drive served of it, if requests came faster than the drive could serve them."""
    steady: dict[str, SteadySummary]
    """SNIA's rule of steady state on these parts, by metric."""
    unmapped_reads: float
    """The share of the mapping units that reads asked for and that held no data and took no flash time."""
    unsupported: dict[str, list[str]]
    """The percentiles above the median beyond which fewer than ten requests lie, by kind of request: another sample
    would give other values."""
    warm_up: Optional[WarmUpSummary]
    """The warm-up, if it waited for steady state."""
    warnings: list[str]
    """Reasons to doubt the numbers, one sentence each."""


class WarmUpSummary(Record):
    """A warm-up that waited for steady state."""

    metric: str
    """The metric that had to be steady."""
    rounds: list[RoundSummary]
    """All rounds."""
    verdict: Optional[SteadySummary]
    """SNIA's rule on the last five rounds; missing if the metric had no value or there were fewer rounds."""
