"""What the flash did, and what it cost.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record


class EnduranceSummary(Record):
    """The part of the flash's rated endurance that a run used, and the bytes that the host could write until all of
    it is used."""

    rated_cycles: int
    """Program/erase cycles that the part is rated for."""
    tbw_bytes: float
    """Bytes that the host can write in the drive's life (metric `tbw`): data bytes of the flash times
    `rated_cycles`, divided by `byte_write_amplification`."""
    used: float
    """The mean erase count of the blocks at the end, divided by `rated_cycles`: the part of the endurance that is
    used, preconditioning included."""
    written_bytes: int
    """Bytes that the host wrote since the run began, warm-up included; preconditioning does not count."""


class Energies(Record):
    """Energy spent during the run."""

    by_name_j: dict[str, float]
    """The parts of the total by name, in joules."""
    total_j: float
    """The sum over all uses, in joules."""


class Erases(Record):
    """The distribution of erase counts over blocks."""

    blocks: int
    """The number of blocks whose erases are counted."""
    deviation: float
    """Standard deviation of the erase counts over all blocks."""
    max: int
    """The greatest erase count."""
    mean: float
    """The mean erase count."""
    min: int
    """The least erase count."""


class ErrorSummary(Record):
    """The reads of a drive with bit errors."""

    by_retries: list[int]
    """The number of read commands by the number of attempts after the first: the first entry counts commands
    without a retry."""
    codewords: int
    """The number of codewords read; those that were read several times count once."""
    rber: Optional[float]
    """Mean raw bit error rate of these codewords in a read without retry."""
    soft: int
    """The number of read commands that needed soft decoding."""
    uncorrectable: int
    """The number of mapping units that stayed uncorrectable."""


class FlashRow(Record):
    """Flash commands of one operation and cause."""

    array_s: float
    """Seconds for which the commands occupied arrays."""
    bus_s: float
    """Seconds for which the commands occupied channels."""
    bytes: int
    """Bytes transferred over the channel."""
    cause: str
    """Cause of the commands: the host, or a kind of background work."""
    commands: int
    """The number of commands finished."""
    op: str
    """The operation of the commands."""
    pages: int
    """The number of pages; for an erase, of blocks."""
    retries: Optional[int]
    """The number of attempts to read after the first of each command; left out if zero."""
    slots: int
    """The number of mapping units that the commands carried."""
    suspend_gain_s: Optional[float]
    """The seconds by which suspensions shortened the waits of the commands that caused them, without the time to
    suspend; left out if zero."""
    suspend_overhead_s: Optional[float]
    """Seconds of array time to suspend and to resume, included in `array_s`; left out if zero."""
    suspended_s: Optional[float]
    """Seconds for which operations were suspended; left out if zero."""
    suspensions: Optional[int]
    """The number of suspensions of the operations; left out if zero."""


class LifeMilestone(Record):
    """A milestone of a drive's life: the written bytes and the time when it was reached."""

    seconds: float
    """Simulated seconds since the life began."""
    written_bytes: int
    """Bytes of the host's writes up to the milestone."""


class LifePointSummary(Record):
    """A point of the curve over a drive's life."""

    failed_blocks: int
    """The number of blocks that had failed up to this point."""
    max_erases: int
    """The most erases of a block."""
    mean_erases: float
    """The mean erase count of all blocks."""
    seconds: float
    """Simulated seconds since the life began."""
    spare_left: float
    """The share of the spare blocks that was left."""
    write_amplification: Optional[float]
    """Bytes programmed per byte written since the previous point; missing if nothing was written since."""
    written_bytes: int
    """Bytes of the host's writes that the drive had taken."""


class LifeSummary(Record):
    """A drive's life: the writes until the drive refused a write because too many of its blocks had failed."""

    bad_at_start: int
    """The number of blocks that were bad when the life began."""
    blocks: int
    """The number of blocks of the drive."""
    curve: list[LifePointSummary]
    """The curve over the life, in order."""
    drive_writes_per_day: Optional[float]
    """Capacities that the host wrote per day of the warranty (metric `life.dwpd`); missing if the drive is not
    worn."""
    failed_blocks: int
    """The number of blocks that failed (metric `life.failed`)."""
    first_failure: Optional[LifeMilestone]
    """The milestone at which the first block failed; missing if none did."""
    half_spare_failed: Optional[LifeMilestone]
    """The moment at which half as many blocks had failed as were spare at the start."""
    percent_failed: Optional[LifeMilestone]
    """The moment at which a hundredth of all blocks had failed."""
    rounds: int
    """The number of rounds; between two of them the drive was switched off and on."""
    seconds: float
    """Simulated time in seconds since the life began."""
    spare_blocks: int
    """The number of blocks beyond those that the capacity fills, when the life began."""
    spare_left: float
    """The share of the spare blocks that is left at the end (metric `life.spare`)."""
    warranty_days: float
    """The warranty time for which drive writes per day are counted, in days."""
    worn: bool
    """True if the drive refused a write. Otherwise the session ended the life earlier."""
    write_amplification: Optional[float]
    """Bytes programmed per byte that the host wrote (metric `life.waf`)."""
    written_bytes: int
    """Bytes of the host's writes that the drive took (metric `life.tbw`)."""


class OperationalStateSummary(Record):
    """The operational power state of a drive."""

    state: int
    """The number of the state at the end of the run."""
    states: int
    """The number of operational power states of the drive. The non-operational states have the numbers after them."""


class PowerStateSummary(Record):
    """One non-operational power state."""

    entries: int
    """The number of entries, interrupted ones included."""
    residency_s: float
    """Simulated seconds that the drive spent in the state."""


class PowerSummary(Record):
    """Counters of the power management of a drive."""

    active_s: float
    """Seconds for which requests or flash commands were under way."""
    cap_s: Optional[float]
    """Seconds that these operations waited, added up."""
    capped: Optional[int]
    """The number of array operations that waited for the power cap or for the limit of an operational power state;
    missing without either."""
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
    """Entries and residency of each non-operational power state."""
    throttle_s: float
    """Seconds for which the throttle kept the next request waiting."""
    throttled: int
    """The number of requests that the throttle delayed."""
    transition_s: float
    """Seconds in which the drive entered and left power states."""
    wake_s: float
    """Seconds that all `wakes` requests waited for the drive, added up."""
    wakes: int
    """The number of requests that found the drive in a power state or on its way there."""


class Utilisation(Record):
    """Busy shares of the run, between 0 and 1."""

    channels: list[float]
    """The busy share of each channel."""
    controllers: list[float]
    """The busy share of each controller."""
    decoders: list[float]
    """The share of each decoder of the error correction; missing without it."""
    dies: list[float]
    """The share of each die. While one of `P` planes reads by itself, its die counts `1 / P` of the time."""
    ftl: Optional[float]
    """The share of the FTL's map unit: the mean over its cores, or the busier of CMT and CTP of an FMMU. Missing
    without a map unit, or if it has no processor."""
    ftl_parts: list[float]
    """The share of each core, or of CMT and CTP."""
    link: float
    """The share of the host link."""
    planes: list[float]
    """The share of each plane that reads by itself; missing if no planes do."""
    processor: float
    """The share of the processor of software controllers and the FTL."""
    ram: Optional[float]
    """The share of the RAM, for the write buffer and the look-ups of the map; missing if the RAM takes no time."""
