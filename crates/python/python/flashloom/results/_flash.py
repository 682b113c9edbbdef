"""What the flash did, and what it cost.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record


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


class ErrorSummary(Record):
    """The reads of a drive with bit errors."""

    by_retries: list[int]
    """Read commands by the number of attempts behind the first: the first number is that of commands that needed
    none."""
    codewords: int
    """Codewords read; those that were read several times count once."""
    rber: Optional[float]
    """Mean raw bit error rate of these codewords, as a read without retry meets it."""
    soft: int
    """Read commands that took soft decoding."""
    uncorrectable: int
    """Mapping units that stayed uncorrectable."""


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
    retries: Optional[int]
    """Attempts to read behind the first of each command; left out if there were none."""
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


class LifeMilestone(Record):
    """How much the drive had taken, and when."""

    seconds: float
    """Simulated seconds since the life began."""
    written_bytes: int
    """Bytes of the host's writes."""


class LifePointSummary(Record):
    """A point of the curve over a drive's life."""

    failed_blocks: int
    """Blocks that had failed."""
    max_erases: int
    """Most erases of a block."""
    mean_erases: float
    """Mean erases of a block."""
    seconds: float
    """Simulated seconds since the life began."""
    spare_left: float
    """Share of the spare blocks that was left."""
    write_amplification: Optional[float]
    """Bytes programmed per byte written since the point before; missing if nothing was written since."""
    written_bytes: int
    """Bytes of the host's writes that the drive had taken."""


class LifeSummary(Record):
    """A drive's life: what it took until it refused a write because too many of its blocks had failed."""

    bad_at_start: int
    """Blocks that were bad when the life began."""
    blocks: int
    """Blocks of the drive."""
    curve: list[LifePointSummary]
    """The course of the life."""
    drive_writes_per_day: Optional[float]
    """Capacities that the drive took for each day of the warranty (metric `life.dwpd`); missing if it is not worn."""
    failed_blocks: int
    """Blocks that failed (metric `life.failed`)."""
    first_failure: Optional[LifeMilestone]
    """When the first block failed."""
    half_spare_failed: Optional[LifeMilestone]
    """When blocks as many as half of the spare had failed."""
    percent_failed: Optional[LifeMilestone]
    """When a hundredth of all blocks had failed."""
    rounds: int
    """Rounds, between two of which the drive was switched off and on."""
    seconds: float
    """Simulated seconds."""
    spare_blocks: int
    """Blocks beyond those that the capacity fills, when the life began."""
    spare_left: float
    """Share of the spare blocks that is left at the end (metric `life.spare`)."""
    warranty_days: float
    """The warranty, in days."""
    worn: bool
    """True if the drive refused a write. Otherwise the session ended the life earlier."""
    write_amplification: Optional[float]
    """Bytes programmed per byte that the host wrote (metric `life.waf`)."""
    written_bytes: int
    """Bytes of the host's writes that the drive took (metric `life.tbw`)."""


class OperationalStateSummary(Record):
    """The operational power state of a drive."""

    state: int
    """Its number at the end of the run."""
    states: int
    """Operational power states of the drive. The non-operational ones have the numbers behind them."""


class PowerStateSummary(Record):
    """One non-operational power state."""

    entries: int
    """Entries, those that a request broke off included."""
    residency_s: float
    """Seconds in the state."""


class PowerSummary(Record):
    """What the power management of a drive did."""

    active_s: float
    """Seconds for which requests or flash commands were under way."""
    cap_s: Optional[float]
    """Seconds that they waited, all together."""
    capped: Optional[int]
    """Array operations that waited for the power cap or for the limit of an operational power state; missing
    without either."""
    celsius: Optional[float]
    """Degrees Celsius at the end; missing without a thermal model."""
    hottest_celsius: Optional[float]
    """The highest temperature since power-on, in degrees Celsius."""
    idle_s: float
    """Seconds without work, in no power state."""
    mean_w: Optional[float]
    """The mean power of the drive in watts; missing without energies."""
    operational: Optional[OperationalStateSummary]
    """The operational power state that the host has selected; missing if the drive describes none."""
    states: list[PowerStateSummary]
    """Each non-operational power state."""
    throttle_s: float
    """Seconds for which the throttle kept the next request waiting."""
    throttled: int
    """Requests that the throttle delayed."""
    transition_s: float
    """Seconds in which the drive entered and left power states."""
    wake_s: float
    """Seconds that they waited for the drive, all together."""
    wakes: int
    """Requests that found the drive in a power state or on its way there."""


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
