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
    """Of the time in the queue: the parts of the requests that completed meanwhile, in microseconds."""
    band: str
    """The band's name."""
    behind_us: dict[str, float]
    """Of the waits for controllers, dies and channels, and of suspensions: what these resources did meanwhile, in
    microseconds by cause."""
    drives_us: list[float]
    """For each drive of a RAID, that of a journal included, how long the requests waited for it, in microseconds;
    empty for other drives."""
    latency_us: float
    """Their mean latency, in microseconds: the sum of the parts."""
    meanwhile_us: dict[str, float]
    """Of the time in the queue, behind an overlapping request, for the buffer and in the FTL: what the dies worked
    for meanwhile, in microseconds by cause."""
    parts_us: dict[str, float]
    """The parts of that latency, in microseconds."""
    requests: int
    """The number of its requests."""


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
    longest_gap_us: float
    """The longest time between two completions."""
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
    errors: Optional[ErrorSummary]
    """Bit errors and the attempts to read, if the device has errors."""
    event_hash: str
    """Hash of all events since the device was made: equal runs share it."""
    events: int
    """Events simulated."""
    explained: list[Explained]
    """The parts of the requests' time by kind and band of percentiles, if an observer attributed it."""
    fairness: Optional[FairnessSummary]
    """How fairly the drive treated the flows, if each ran alone, too."""
    fdp: Optional[FdpSummary]
    """What Flexible Data Placement counted, if the drive has it."""
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
    life: Optional[LifeSummary]
    """The drive's life, if the run lasted until it was worn: the sums of all its rounds. All other numbers are
    about the last round."""
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
    parity: Optional[ParitySummary]
    """What parity did, if superblocks have it."""
    power: Optional[PowerSummary]
    """Power states and heat, if the device has `[power]`."""
    raid: Optional[RaidSummary]
    """What a RAID did, if the device is one."""
    read_slots: int
    """Mapping units that reads of the host asked for."""
    refresh: Optional[RefreshSummary]
    """What refresh did, if the drive refreshes data."""
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
    slc_cache: Optional[SlcCacheSummary]
    """The SLC cache, if there is one."""
    slc_mlc: Optional[SlcMlcSummary]
    """The traffic of the SLC and MLC flash of a hybrid drive."""
    streams: Optional[StreamsSummary]
    """The write streams, if there are several of host data or of copies."""
    translation: Optional[TranslationSummary]
    """What a translation over zones did, if the device has one."""
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
    zones: Optional[ZonesSummary]
    """What the zones did, if the drive has any."""
