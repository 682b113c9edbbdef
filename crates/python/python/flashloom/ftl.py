"""FTLs of your own, as classes.

A subclass of `Ftl` decides where the data of a drive goes. The simulator does the rest: it reads, merges partial writes with the
sectors that they leave out, erases a block only when nobody reads it any more, writes again what a failed program has lost, and retires
broken blocks. `MyFtl.kind()` registers the class and returns the keys of the table `[ftl]` that name it:

    >>> drive = {"name": "own", "flash": {"part": "K9K8G08U0M", "blocks": 64}, "ftl": {**MyFtl.kind(), "over-provisioning": "20%"}}
    >>> flashloom.run(drive, "mixed-70-30-4k", precondition="fill", limit=10_000, verify=True)

Mapping units, pages and blocks are numbers from 0 on: block `b` has the pages `b * pages` to `(b + 1) * pages - 1`. A mapping unit has
the size of a page. The pages of a block are programmed in ascending order.

Two rules keep an FTL correct. A mapping changes when its program has ended, in `written` or `copied`: otherwise a power cut loses
acknowledged data. And a block is erased when the copies of its data have ended. The rules that can be checked are: a broken one
raises `FtlError`, an exception of a method ends the run and is raised there. `check` runs the conformance suite of the
library's own FTLs.

An FTL in Python is slow: a run takes 5 to 7 times as long as with the same FTL in Rust.

A copy of a drive has a deep copy of the FTL (`copy.deepcopy`). The description has the digest of the class's source, so a store of
results never takes the result of one version for that of another.
"""

from collections.abc import Callable
from typing import NamedTuple, Optional

from flashloom import _native, _registered
from flashloom._native import Drive, Flash, Geometry, Write
from flashloom._source import digest


class Ftl:
    """A flash translation layer of your own, which decides where the data goes.

    A drive makes an object without arguments and calls `mount`, also each time that the power comes back.
    """

    def mount(self, drive: Drive) -> None:
        """Makes the tables from the data on flash. On a new drive all pages are empty."""
        raise NotImplementedError(f"{type(self).__qualname__} has no method mount")

    def place(self, unit: int) -> Optional[int]:
        """Returns the page that holds a mapping unit; `None` if it reads as zeros."""
        raise NotImplementedError(f"{type(self).__qualname__} has no method place")

    def write(self, flash: Flash, write: Write) -> None:
        """Takes a write of the host: program it, keep it until there is room, or refuse it. The old place counts
        until `written`."""
        raise NotImplementedError(f"{type(self).__qualname__} has no method write")

    def discard(self, unit: int) -> None:
        """Takes a discard of the host: the mapping unit reads as zeros from now on."""
        raise NotImplementedError(f"{type(self).__qualname__} has no method discard")

    def written(self, flash: Flash, unit: int, page: int) -> None:
        """Called when a write of the host is on flash."""
        raise NotImplementedError(f"{type(self).__qualname__} has no method written")

    def copied(self, flash: Flash, unit: int, source: int, page: int) -> None:
        """Called when a copy is on flash. The host may have written the mapping unit meanwhile: then the copy is old."""

    def failed(self, flash: Flash, block: int, source: Optional[int]) -> None:
        """Called when a program has failed: the block takes no more, and its data must be copied before its erase. A write of
        the host comes again; `source` is the page of a copy, which is not copied yet."""

    def erased(self, flash: Flash, block: int) -> None:
        """Called when a block has been erased."""

    def retired(self, flash: Flash, block: int) -> None:
        """Called when the erase of a block has failed: the block is out of use for good."""

    @classmethod
    def spare_blocks(cls, geometry: Geometry, options: dict[str, float]) -> int:
        """Returns the number of blocks that the FTL needs beside those that the data of a full drive fill. By default one open
        block in each die, one for copies and two free ones."""
        return geometry.dies + 3

    @classmethod
    def kind(cls, name: Optional[str] = None) -> dict[str, str]:
        """Registers the class, and returns the keys `kind` and `version` of the table `[ftl]`.

        The version is the digest of the class's source, and of what it uses of its module. The name is that of the class with a
        part of the version; give one yourself if results shall be found under it.
        """
        version = digest(cls)
        name = name or _registered.name_of(cls, version)
        _registered.register("ftl", name, version, cls)
        return {"kind": f"own:{name}", "version": version}


_registered.kind("ftl", _native.register_ftl)


class Checked(NamedTuple):
    """The amount of work that `check` has done."""

    requests: int
    """The number of requests that completed."""
    cuts: int
    """The number of power cuts that the FTL recovered from."""
    failures: int
    """The number of programs and erases that were made to fail."""


def check(
    ftl: type[Ftl],
    *,
    options: Optional[dict[str, float]] = None,
    step: int = 1,
    progress: Optional[Callable[[int, int], object]] = None,
) -> Checked:
    """Checks an FTL with the conformance suite that the library's own FTLs pass.

    Its checks run on small drives: an oracle knows what each sector may hold, power is cut at every moment, programs and erases
    fail, the drive is full. The whole suite takes half a minute or so. With a `step` of 8 each check runs on every eighth drive only,
    which finds less. `options` are the numbers of `ftl.options`. `progress` is called with the numbers of finished checks and of all checks. The first failure is raised: an
    `FtlError` that names the check, the drive and the seed, or the exception of the FTL.
    """
    return Checked(*_native.check_ftl(ftl.kind()["kind"], options or {}, step, progress))


__all__ = ["Checked", "Drive", "Flash", "Ftl", "Geometry", "Write", "check"]
