"""A deterministic simulator of solid-state drives.

A file describes a `Device`, a `Workload` gives the requests, `run` runs them, and its `Outcome` has what was measured:

    >>> import flashloom
    >>> outcome = flashloom.run("demo", "oltp", precondition="fill", warm_up=10_000, measure=50_000)
    >>> outcome.summary.kinds["read"].latency_us["p99"]

`Ssd` is a drive in the caller's time, for co-simulation. `Study` runs many points along axes, keeps their results in a
store and judges claims. `python -m flashloom` is the command line.

Numbers carry their unit of measure in their names (`latency_us`, `arrival_ps`, `bytes_per_s`). Quantities of a description
are texts with a unit: `"25us"`, `"4KiB"`, `"667MB/s"`. Equal devices, workloads, seeds and versions give equal outcomes.
"""

from flashloom import ftl, policy, results
from flashloom._native import (
    Completion,
    Device,
    Flow,
    Outcome,
    Recovery,
    Ssd,
    StudyOutcome,
    Table,
    Workload,
    __commit__,
    __version__,
    default_store,
    devices,
    run,
    studies,
    workloads,
)
from flashloom.errors import BugError, DescriptionError, Fault, FlashloomError, FtlError, OutputError, RunError
from flashloom.ftl import Ftl
from flashloom.study import Study

NS = 1_000
"""Picoseconds of a nanosecond, for the times of `Ssd`."""

US = 1_000_000
"""Picoseconds of a microsecond."""

MS = 1_000_000_000
"""Picoseconds of a millisecond."""

SECOND = 1_000_000_000_000
"""Picoseconds of a second."""

__all__ = [
    "MS",
    "NS",
    "SECOND",
    "US",
    "BugError",
    "Completion",
    "DescriptionError",
    "Device",
    "Fault",
    "FlashloomError",
    "Flow",
    "Ftl",
    "FtlError",
    "Outcome",
    "OutputError",
    "Recovery",
    "RunError",
    "Ssd",
    "Study",
    "StudyOutcome",
    "Table",
    "Workload",
    "__commit__",
    "__version__",
    "default_store",
    "devices",
    "ftl",
    "policy",
    "results",
    "run",
    "studies",
    "workloads",
]
