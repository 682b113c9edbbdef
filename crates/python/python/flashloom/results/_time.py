"""Time series, and whether a run was steady.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record


class CompletedSummary(Record):
    """Requests that completed in an interval."""

    bytes_per_s: float
    """Bytes that the completed requests moved per simulated second."""
    latency_max_us: float
    """The longest response time, in microseconds."""
    latency_mean_us: float
    """The mean response time, in microseconds."""
    latency_p50_us: Optional[float]
    """The median response time, in microseconds; missing if fewer than ten requests lie beyond it."""
    latency_p99_9_us: Optional[float]
    """The 99.9th percentile of the response times, in microseconds; missing if fewer than ten requests lie beyond
    it."""
    latency_p99_us: Optional[float]
    """The 99th percentile of the response times, in microseconds; missing if fewer than ten requests lie beyond it."""
    requests: int
    """The number of requests completed in the interval."""


class FlowIntervalSummary(Record):
    """The requests of one flow that ended in an interval."""

    bytes_per_s: float
    """Bytes that the completed requests moved per simulated second."""
    latency_max_us: float
    """The longest response time, in microseconds."""
    latency_mean_us: float
    """The mean response time, in microseconds."""
    latency_p50_us: Optional[float]
    """The median response time, in microseconds; missing if fewer than ten requests lie beyond it."""
    latency_p99_9_us: Optional[float]
    """The 99.9th percentile of the response times, in microseconds; missing if fewer than ten requests lie beyond
    it."""
    latency_p99_us: Optional[float]
    """The 99th percentile of the response times, in microseconds; missing if fewer than ten requests lie beyond it."""
    queue_depth_max: int
    """The most requests of the flow outstanding."""
    queue_depth_mean: float
    """Mean number of the flow's requests outstanding."""
    requests: int
    """The number of requests completed in the interval."""


class Interval(Record):
    """A mean with its 95 % confidence interval: `mean - half_width` to `mean + half_width`."""

    half_width: float
    """Half the width of the 95 % confidence interval of the mean."""
    mean: float
    """Mean of the values; the centre of the interval."""
    n: int
    """The number of values from which the interval follows."""


class IntervalSummary(Record):
    """The numbers of one interval: completed requests, queue depth, busy dies and free blocks."""

    busy_dies: float
    """Mean number of dies that were busy."""
    celsius: Optional[float]
    """Temperature of the drive at the end of the interval, in degrees Celsius; missing without a thermal model."""
    flows: dict[str, FlowIntervalSummary]
    """The numbers of each flow by its name, if there are several."""
    free_blocks: int
    """The number of free blocks at the end of the interval."""
    from_us: float
    """The begin of the interval in microseconds, from the begin of the measurement."""
    kinds: dict[str, CompletedSummary]
    """The requests completed in the interval, by kind; only kinds with at least one."""
    power_w: Optional[float]
    """Mean power of the drive in watts; missing without `[power]`."""
    queue_depth_max: int
    """The most requests outstanding."""
    queue_depth_mean: float
    """Mean number of requests outstanding."""
    to_us: float
    """The end of the interval in microseconds, from the begin of the measurement."""
    write_amplification: Optional[float]
    """Mapping units programmed per mapping unit that the host wrote and no buffer absorbed."""


class OverloadSummary(Record):
    """An open load that exceeds the drive."""

    backlog: int
    """The number of outstanding requests when the last request arrived."""
    offered_per_s: float
    """Requests that arrived per simulated second."""
    served_per_s: float
    """Requests that succeeded per simulated second."""


class RoundSummary(Record):
    """The numbers of a round of a warm-up, or of a fifth of a measurement."""

    erases: int
    """The number of flash commands that erased blocks."""
    latency_mean_us: float
    """The mean latency of the round's reads and writes, in microseconds."""
    requests: int
    """The number of reads and writes that succeeded."""
    requests_per_s: float
    """Reads and writes that succeeded, per simulated second."""
    simulated_s: float
    """The length in simulated seconds."""
    write_amplification: Optional[float]
    """Write amplification, if the host wrote."""


class SeriesSummary(Record):
    """The course of a run over time."""

    interval_us: float
    """The length of an interval; the last may be shorter."""
    intervals: list[IntervalSummary]
    """The intervals, in order of time and without gaps."""


class SteadySummary(Record):
    """The result of SNIA's rule of steady state on five rounds."""

    excursion: Optional[float]
    """The distance of the lowest value from the highest, as a share of their mean: at most 0.2 in steady state.
    Missing if the drive erased nothing while it programmed, which is not a steady state."""
    slope: Optional[float]
    """The rise of the line fitted to the values, as a share of their mean: at most 0.1 either way in steady state."""
    steady: bool
    """True in steady state."""


class ValiditySummary(Record):
    """Facts about a run from which the validity of its numbers can be judged, and warnings."""

    capacities_written: float
    """The number of times that the measured requests wrote the capacity of the drive. Writes that failed do not
    count."""
    capacities_written_with_warm_up: float
    """The number of times that requests wrote the capacity, warm-up included."""
    failed: float
    """The share of the requests that failed."""
    fifths: list[RoundSummary]
    """The five parts of the measurement, with about equally many requests; empty if it was too short to divide."""
    means: dict[str, Interval]
    """The mean of each metric with its 95 % interval from the batches of this one run (batch means): `rate` in
    requests per second, `waf`, `latency` in microseconds. A metric is missing if the run is too short for an
    interval, or if its batches depend on each other."""
    overload: Optional[OverloadSummary]
    """The load and the part of it that the drive served, if requests came faster than the drive could serve them."""
    steady: dict[str, SteadySummary]
    """SNIA's rule of steady state on these five parts, by metric."""
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
    """The rounds of the warm-up, in order."""
    verdict: Optional[SteadySummary]
    """The result of SNIA's rule on the last five rounds; missing if the metric had no value or there were fewer
    rounds."""
