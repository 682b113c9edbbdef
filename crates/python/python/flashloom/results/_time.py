"""Time series, and whether a run was steady.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record


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
    celsius: Optional[float]
    """Temperature of the drive at its end, in degrees Celsius; missing without a thermal model."""
    flows: dict[str, FlowIntervalSummary]
    """Each flow by its name, if there are several."""
    free_blocks: int
    """Free blocks at its end."""
    from_us: float
    """Its begin, from that of the measurement."""
    kinds: dict[str, CompletedSummary]
    """By kind of request; only kinds of which a request completed."""
    power_w: Optional[float]
    """Mean power of the drive in watts; missing without `[power]`."""
    queue_depth_max: int
    """The most requests outstanding."""
    queue_depth_mean: float
    """Mean number of requests outstanding."""
    to_us: float
    """Its end."""
    write_amplification: Optional[float]
    """Mapping units programmed per mapping unit that the host wrote and no buffer absorbed."""


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


class SteadySummary(Record):
    """SNIA's rule of steady state on five rounds."""

    excursion: Optional[float]
    """The distance of the lowest value from the highest, as a share of their mean: at most 0.2 in steady state.
    Missing if the drive erased nothing while it programmed, which is no steady state."""
    slope: Optional[float]
    """The rise of the line fitted to the values, as a share of their mean: at most 0.1 either way in steady state."""
    steady: bool
    """True in steady state."""


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
