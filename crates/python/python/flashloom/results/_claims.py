"""Claims of studies, and the spread of a metric over seeds.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from typing import Optional

from flashloom._record import Record


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
