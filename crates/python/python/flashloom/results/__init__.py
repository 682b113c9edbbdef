"""The numbers of results, with their units of measure in their names: the keys of the JSON.

Made by tools/results.py from `flashloom schema`."""

from __future__ import annotations

from flashloom.results._claims import Claim, Finding, Isolation, LeftOut, Spread
from flashloom.results._flash import EnduranceSummary, Energies, Erases, ErrorSummary, FlashRow, Utilisation
from flashloom.results._ftl import (
    EraseRange,
    LogSummary,
    MapSummary,
    MergeSummary,
    Mshrs,
    SlcCacheSummary,
    SlcMlcSummary,
    StreamSummary,
    StreamsSummary,
)
from flashloom.results._summary import (
    Band,
    Curve,
    Delayed,
    Explained,
    FairnessSummary,
    FlowSummary,
    KindSummary,
    Slowdown,
    Summary,
)
from flashloom.results._time import (
    CompletedSummary,
    FlowIntervalSummary,
    Interval,
    IntervalSummary,
    OverloadSummary,
    RoundSummary,
    SeriesSummary,
    SteadySummary,
    ValiditySummary,
    WarmUpSummary,
)

__all__ = [
    "Band",
    "Claim",
    "CompletedSummary",
    "Curve",
    "Delayed",
    "EnduranceSummary",
    "Energies",
    "EraseRange",
    "Erases",
    "ErrorSummary",
    "Explained",
    "FairnessSummary",
    "Finding",
    "FlashRow",
    "FlowIntervalSummary",
    "FlowSummary",
    "Interval",
    "IntervalSummary",
    "Isolation",
    "KindSummary",
    "LeftOut",
    "LogSummary",
    "MapSummary",
    "MergeSummary",
    "Mshrs",
    "OverloadSummary",
    "RoundSummary",
    "SeriesSummary",
    "SlcCacheSummary",
    "SlcMlcSummary",
    "Slowdown",
    "Spread",
    "SteadySummary",
    "StreamSummary",
    "StreamsSummary",
    "Summary",
    "Utilisation",
    "ValiditySummary",
    "WarmUpSummary",
]
