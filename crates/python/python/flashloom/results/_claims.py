"""Claims of studies, and the spread of a metric over seeds.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record


class Claim(Record):
    """The result of one claim, from all studies that test it."""

    calibrated: Optional[str]
    """The data to which inputs were fitted, for the expectation that is fitted most; `null` if a study does not
    say. Expectations that restate an input do not count, unless there are no others."""
    calibration: Optional[str]
    """The inputs that were fitted, and the numbers to which they were fitted."""
    findings: list[Finding]
    """The results of the claim's expectations."""
    id: str
    """Identifier of the claim, which is unique in its study."""
    isolated: list[Isolation]
    """Measurements that isolate the reasons for expectations that differ."""
    note: Optional[str]
    """A note for readers of the results, in words."""
    says: str
    """The claim of the paper, as one sentence."""
    source: str
    """The place where the claim is made."""
    verdict: str
    """The verdict on all expectations together."""
    widest: Optional[float]
    """Half the width of the widest band with two ends, as a share of its middle."""


class Finding(Record):
    """An expectation of a study, with the measured value and the verdict."""

    asks_no_more: Optional[str]
    """The paper's words, if the paper asks for no more than the expectation does."""
    band: str
    """The band as a short text, e.g. `at most +10%`, `at least 98.0%`, `10% apart`."""
    calibrated: Optional[str]
    """The data to which inputs of the expectation were fitted; `null` if the study does not say."""
    left_out: list[LeftOut]
    """The points that the expectation leaves out."""
    loose: bool
    """True if the band has only one end or no margin, and the study cites no words of the paper to justify this."""
    measured: str
    """The measured value, as the study prints it."""
    metric: str
    """Metric of the expectation, as the study names it."""
    offenders: list[str]
    """The points at which the expectation does not hold."""
    paper: str
    """The value that the paper states, in words."""
    reason: Optional[str]
    """The known reason for a difference."""
    study: str
    """The study that measured the value."""
    verdict: str
    """Whether the measured value meets the expectation."""
    width: Optional[float]
    """Half the width of a band with two ends, as a share of its middle."""


class Isolation(Record):
    """A measurement that isolates the reason for a difference."""

    holds: bool
    """True if the measurement still supports the conclusion."""
    measured: str
    """The measured value, as the study prints it."""
    metric: str
    """Metric of the measurement, as the study names it."""
    shows: str
    """The conclusion that the measurement supports."""
    study: str
    """The study that measured the value."""


class LeftOut(Record):
    """Points of the paper's range that an expectation leaves out."""

    measured: str
    """The measured value, as the study prints it."""
    points: str
    """The points that are left out, in words."""
    reason: str
    """Reason, in words, why the points are left out of the expectation."""
    stale: Optional[str]
    """The reason for which the study is out of date about these points, if it is."""


class Spread(Record):
    """A number over the runs with all seeds."""

    half_width: Optional[float]
    """Half the width of the 95 % confidence interval of the mean, by Student's t-distribution; missing with one
    seed, which has no spread."""
    mean: float
    """The mean over the seeds."""
    n: int
    """The number of seeds."""
    values: list[float]
    """The value of each run, in the order of the seeds."""
