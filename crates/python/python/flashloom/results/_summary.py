"""The result of a run.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record
from flashloom.results._flash import (
    EnduranceSummary,
    Energies,
    Erases,
    ErrorSummary,
    FlashRow,
    LifeSummary,
    PowerSummary,
    Utilisation,
)
from flashloom.results._ftl import (
    FdpSummary,
    LogSummary,
    MapSummary,
    MergeSummary,
    ParitySummary,
    RaidSummary,
    RefreshSummary,
    SlcCacheSummary,
    SlcMlcSummary,
    StreamsSummary,
    TranslationSummary,
    ZonesSummary,
)
from flashloom.results._time import SeriesSummary, ValiditySummary


class Band(Record):
    """The requests of a kind between two percentiles."""

    ahead_us: dict[str, float]
    """The time in the queue, divided by the parts of the requests that completed meanwhile, in microseconds."""
    band: str
    """Name of the band: its percentiles, or `all`."""
    behind_us: dict[str, float]
    """The waits for controllers, dies and channels, and the suspensions, divided by the cause for which these
    resources worked meanwhile, in microseconds."""
    drives_us: list[float]
    """The time for which the requests waited for each drive of a RAID, the drive of a journal included, in
    microseconds; empty for other drives."""
    latency_us: float
    """The mean latency of these requests, in microseconds: the sum of the parts."""
    meanwhile_us: dict[str, float]
    """The time in the queue, behind an overlapping request, for the buffer and in the FTL, divided by the cause for
    which the dies worked meanwhile, in microseconds."""
    parts_us: dict[str, float]
    """The parts of the mean latency, in microseconds."""
    requests: int
    """The number of requests between the band's percentiles."""


class Curve(Record):
    """A cumulative distribution of latencies: the points of the histogram."""

    requests: list[int]
    """For each of these latencies, the number of requests that took no longer."""
    us: list[float]
    """Latencies in microseconds, ascending; the last is the longest."""


class Delayed(Record):
    """Requests that waited behind flash commands of one cause."""

    latency_mean_us: float
    """The mean latency of the requests that waited behind flash commands of the cause, in microseconds."""
    requests: int
    """The number of requests that waited behind flash commands of the cause."""


class Explained(Record):
    """Where the time of one kind of request went, by bands of latency percentiles."""

    bands: list[Band]
    """The bands, fastest first; the last has all requests."""
    kind: str
    """Kind of the requests."""


class FairnessSummary(Record):
    """Measures of fairness over all flows, and the comparison of each flow."""

    fairness: Optional[float]
    """The smallest slowdown divided by the largest: 1 if all flows are slowed down alike (Tavakkol et al., "MQSim",
    FAST 2018)."""
    flows: list[Slowdown]
    """For each flow, its results beside the others compared with its results alone."""
    harmonic_speedup: Optional[float]
    """The harmonic mean of the speed-ups: 1 if no flow is slowed down (Luo, Gummaraju and Franklin, ISPASS 2001)."""
    max_slowdown: Optional[float]
    """The largest slowdown of a flow; missing if none is known."""
    unfairness: Optional[float]
    """The largest slowdown divided by the smallest (Mutlu and Moscibroda, MICRO 2007)."""
    weighted_speedup: Optional[float]
    """The sum of the speed-ups; the number of flows if none is slowed down (Snavely and Tullsen, ASPLOS 2000)."""


class FlowSummary(Record):
    """The results of one of several flows."""

    inversions: int
    """The number of requests of an open loop that came out of order."""
    kinds: dict[str, KindSummary]
    """The results by kind of request; only kinds that occurred. Rates are over the time of the flow."""
    name: str
    """Name of the flow: the workload's name, unless the user gives another."""
    outcomes: dict[str, int]
    """The number of the flow's requests by outcome."""
    pacing: str
    """`open`, or `closed` with its depth."""
    queue: int
    """The queue to which the flow's requests were submitted."""
    requests: int
    """The number of the flow's requests completed, whatever their outcome."""
    requests_per_s: Optional[float]
    """The flow's reads and writes that succeeded, per simulated second."""
    simulated_s: float
    """Simulated seconds from the flow's first submission to its last completion."""


class KindSummary(Record):
    """The requests of one kind."""

    bytes: int
    """Bytes of the requests."""
    bytes_per_s: Optional[float]
    """Bytes per simulated second."""
    delayed_by: dict[str, Delayed]
    """The requests that waited behind flash commands, by the cause of those commands."""
    failed: dict[str, int]
    """The number of requests that failed, by outcome."""
    flash_commands_per_request: float
    """Flash commands per request, issued before its acknowledgement."""
    flash_wait_mean_us: float
    """The mean over the requests of the longest wait of their flash commands."""
    latency_curve: Optional[Curve]
    """The whole distribution from submission to completion."""
    latency_us: dict[str, float]
    """The times from submission to completion."""
    longest_gap_us: float
    """The longest time between two completions."""
    queue_wait_us: dict[str, float]
    """The times from submission to leaving the queue."""
    requests: int
    """The number of requests that succeeded. All other numbers except `failed` count only these requests."""
    requests_per_s: Optional[float]
    """Requests per simulated second."""
    service_us: dict[str, float]
    """The times from leaving the queue to completion."""
    start_wait_mean_us: float
    """The mean over the requests of their wait for the start of their flash commands, without waiting for their
    own."""


class Slowdown(Record):
    """A flow beside others, compared with the same requests alone."""

    alone: FlowSummary
    """The results of the same requests alone on the drive, after the same preconditioning."""
    name: str
    """Name of the flow in results."""
    rate_slowdown: Optional[float]
    """For a closed loop: the flow's requests per second alone, divided by its requests per second beside the other
    flows."""
    slowdown: Optional[float]
    """The mean latency of the flow's requests, divided by the mean latency of the same requests alone."""


class Summary(Record):
    """A run in numbers: the JSON of `--json` and `summary.json`."""

    absorbed_slots: int
    """The number of the host's mapping units that a buffer absorbed."""
    bad_blocks: int
    """The number of bad blocks at the end."""
    byte_write_amplification: Optional[float]
    """Bytes programmed on all flash, filling included, per byte of the writes of the host (metric `waf-bytes`)."""
    commit: str
    """Commit of the program that did the run."""
    cost: Optional[float]
    """The cost of the flash, in GiB of MLC flash; no other part of the device is counted."""
    device: str
    """Name of the device in its description."""
    endurance: Optional[EnduranceSummary]
    """The rated endurance of the flash and the part of it that the run used, if the run erased blocks and all
    writes go to one array."""
    energy: Optional[Energies]
    """The energy that the run spent, by use; missing if no energy is known."""
    erases: Optional[Erases]
    """The distribution of erase counts at the end."""
    errors: Optional[ErrorSummary]
    """Bit errors and the attempts to read, if the device has errors."""
    event_hash: str
    """Hash of all events since the device was created: equal for equal runs."""
    events: int
    """The number of simulated events."""
    explained: list[Explained]
    """The parts of the time of the requests, by kind and band of percentiles, if an observer attributed it."""
    fairness: Optional[FairnessSummary]
    """Measures of the drive's fairness to the flows, if each also ran alone."""
    fdp: Optional[FdpSummary]
    """Counters of Flexible Data Placement, if the drive has it."""
    flash: list[FlashRow]
    """Flash commands by operation and cause."""
    flows: list[FlowSummary]
    """The results of each flow, if there were several; all other numbers are of all flows together."""
    free_blocks: int
    """The number of free blocks at the end."""
    host_slots: int
    """The number of mapping units that writes of the host asked for."""
    inversions: int
    """The number of requests of an open loop that came out of order."""
    kinds: dict[str, KindSummary]
    """The results by kind of request; only kinds that occurred."""
    life: Optional[LifeSummary]
    """The drive's life, if the run lasted until the drive was worn: the sums of all rounds. All other numbers are
    of the last round."""
    log_merges: Optional[LogSummary]
    """The merges of log blocks, if there are any."""
    map: Optional[MapSummary]
    """The work of the map unit, if there is one."""
    merges: Optional[MergeSummary]
    """The work of a block-mapped FTL, if the device has one."""
    mount_us: Optional[float]
    """The time of a mount's reads after a power cut at the end, in microseconds."""
    notes: list[str]
    """Notes for a reader, one sentence each."""
    outcomes: dict[str, int]
    """The number of requests by outcome. Rates, latencies, bytes, write amplification and shares of the capacity
    count only `done` requests."""
    pacing: str
    """`open`, or `closed` with its depth."""
    parity: Optional[ParitySummary]
    """Counters of parity, if superblocks have it."""
    power: Optional[PowerSummary]
    """Power states and heat, if the device has `[power]`."""
    raid: Optional[RaidSummary]
    """Counters of a RAID, if the device is one."""
    read_slots: int
    """The number of mapping units that reads of the host asked for."""
    refresh: Optional[RefreshSummary]
    """Counters of refresh, if the drive refreshes data."""
    refused_slots: int
    """The number of the host's mapping units that the drive refused."""
    requests: int
    """The number of requests completed, whatever their outcome."""
    requests_per_s: Optional[float]
    """Reads and writes that succeeded, per simulated second."""
    schema: str
    """Version of the keys of this document."""
    seed: int
    """Seed of all random streams."""
    series: Optional[SeriesSummary]
    """The course of the run, if the user chose its intervals."""
    simulated_s: float
    """Simulated seconds from the first submission to the last completion."""
    slc_cache: Optional[SlcCacheSummary]
    """Counters of the SLC cache, if there is one."""
    slc_mlc: Optional[SlcMlcSummary]
    """The traffic of the SLC and MLC flash of a hybrid drive."""
    streams: Optional[StreamsSummary]
    """The write streams, if there are several of host data or of copies."""
    translation: Optional[TranslationSummary]
    """Counters of a translation over zones, if the device has one."""
    unmapped_slots: int
    """The number of read mapping units without data, because they were never written, or discarded: these reads
    took no flash time, unless `ftl.unmapped-reads` says so."""
    unreadable_copies: int
    """The number of mapping units stored again by collection, merges or partial writes although their data could
    not be read."""
    utilisation: Utilisation
    """The share of the run for which each part of the device was busy."""
    validity: ValiditySummary
    """Checks of the numbers' validity, and warnings."""
    verified: Optional[dict[str, int]]
    """The number of the oracle's comparisons, if it checked data."""
    version: str
    """Version of the program that did the run."""
    workload: str
    """Name of the workload in its description."""
    write_amplification: Optional[float]
    """Mapping units programmed per mapping unit written."""
    write_amplification_by: dict[str, float]
    """The parts of the write amplification by cause of the program; their sum is the whole."""
    zones: Optional[ZonesSummary]
    """Counters of the zones, if the drive has any."""
