"""FTLs in Python: they run as the library's do, and what they do wrong is said."""

import copy
import importlib.util
import random
import tempfile
import traceback
from pathlib import Path
from typing import Any, Optional

import pytest

import flashloom
from flashloom.ftl import Drive, Flash, Geometry, Write

EXAMPLE = Path(__file__).parent.parent / "examples" / "own_ftl.py"
FLASH = {"part": "K9K8G08U0M", "channels": 2, "chips": 2, "blocks": 16, "pages": 32, "planes": 1}
WORKLOAD = "mixed-70-30-4k"


def example() -> type[flashloom.Ftl]:
    """The FTL of the example, without its runs."""
    source = EXAMPLE.read_text().partition("\n\n\nflash = ")[0]
    module: Any = importlib.util.module_from_spec(importlib.util.spec_from_loader("own_ftl_example", loader=None))  # type: ignore[arg-type]
    exec(compile(source, str(EXAMPLE), "exec"), module.__dict__)
    found: type[flashloom.Ftl] = module.LogFtl
    return found


LogFtl: Any = example()


def drive(ftl: type[flashloom.Ftl], **keys: object) -> dict[str, Any]:
    return {"name": "own", "flash": FLASH, "ftl": {**ftl.kind(), "over-provisioning": "35%", **keys}}


def run(ftl: type[flashloom.Ftl], **arguments: Any) -> flashloom.Outcome:
    return flashloom.run(drive(ftl), WORKLOAD, **{"precondition": "fill", "limit": 5_000, "verify": True, **arguments})


def study(ftl: type[flashloom.Ftl], **keys: object) -> dict[str, Any]:
    path = Path(tempfile.mkdtemp(), "own.toml")
    path.write_text(flashloom.Device(drive(ftl, **keys)).to_toml())
    settings = {"limit": 2_000, "precondition": ["fill"], "verify": True}
    return {"name": "own", "device": str(path), "workload": WORKLOAD, "run": settings, "metrics": ["waf"]}


def test_a_class_is_an_ftl() -> None:
    outcome = run(LogFtl, explain=True)
    assert outcome.summary.write_amplification is not None and outcome.summary.write_amplification > 1.1
    assert outcome.explain.num_rows > 0
    assert run(LogFtl).event_hash == outcome.event_hash
    assert len(run(LogFtl, seeds=3, jobs=2).runs) == 3


def test_the_conformance_suite_passes_and_finds_a_bug() -> None:
    done: list[tuple[int, int]] = []
    work = flashloom.ftl.check(LogFtl, step=8, progress=lambda number, of: done.append((number, of)))
    assert work.cuts > 500 and work.failures > 500 and done[-1][0] == done[-1][1] == len(done)

    class Forgetful(LogFtl):
        def discard(self, unit: int) -> None:
            pass

    with pytest.raises(flashloom.FtlError, match="check `integrity` fails on the drive `own:.*Forgetful.* with seed"):
        flashloom.ftl.check(Forgetful, step=8)

    class Hasty(LogFtl):
        """A mapping that changes before its program has ended."""

        def write(self, flash: Flash, write: Write) -> None:
            super().write(flash, write)
            if self.open[0] is not None and flash.next_page(self.open[0]):
                self.map[write.unit] = self.open[0] * self.pages + (flash.next_page(self.open[0]) or 1) - 1

    with pytest.raises(flashloom.FtlError, match="holds no data; a mapping changes when its program has ended") as caught:
        flashloom.ftl.check(Hasty, step=8)
    assert any("check `" in note for note in getattr(caught.value, "__notes__", ["check `"]))

    class Greedy(LogFtl):
        @classmethod
        def spare_blocks(cls, geometry: Geometry, options: dict[str, float]) -> int:
            return geometry.blocks

    with pytest.raises(flashloom.FtlError, match="spare_blocks leaves"):
        flashloom.ftl.check(Greedy, step=8)


def test_power_cuts_lose_nothing_that_was_flushed() -> None:
    ssd = flashloom.Ssd(drive(LogFtl), data=True)
    rng, wanted = random.Random(1), {}
    for life in range(4):
        for _ in range(300):
            unit = rng.randrange(500)
            wanted[unit] = rng.randbytes(2048)
            ssd.submit(ssd.now, "write", 2048 * unit, data=wanted[unit])
            ssd.drain()
        ssd.submit(ssd.now, "write", 2048 * 600, data=bytes(4096))
        assert ssd.cut_power() and ssd.power_on(ssd.now).units >= len(wanted)
        for unit, data in wanted.items():
            ssd.submit(ssd.now, "read", 2048 * unit, 2048)
            assert ssd.drain()[0].data == data


def test_a_snapshot_has_the_flash_and_the_ftl_mounts_it(tmp_path: Path) -> None:
    first = run(LogFtl, limit=500, save_snapshot=tmp_path / "s")
    again = run(LogFtl, limit=500, precondition=None, load_snapshot=tmp_path / "s")
    assert again.event_hash == first.event_hash


def test_a_copy_of_a_drive_has_a_copy_of_the_ftl() -> None:
    """Points of a study with the same preconditioning begin with copies of one drive."""
    described = study(LogFtl)
    described["run"]["precondition"] = ["fill", "random:x0.5"]
    alone = flashloom.Study(described).run().values("waf")
    both = flashloom.Study(described).axis("limit", "run.limit", [1_000, 2_000, 3_000]).run(jobs=2)
    assert both.values("waf")[1][1] == alone[0][1]


def test_an_exception_ends_the_run_with_its_traceback() -> None:
    class Broken(LogFtl):
        def erased(self, flash: Flash, block: int) -> None:
            raise LookupError(f"block {block}")

    with pytest.raises(LookupError, match="block") as caught:
        run(Broken)
    assert "in erased" in "".join(traceback.format_tb(caught.value.__traceback__))
    with pytest.raises(LookupError, match="block"):
        flashloom.Study(study(Broken)).run(jobs=2)
    # Nothing of it is left for the next run.
    assert run(LogFtl).summary.requests == 5_000

    class Unmountable(LogFtl):
        def mount(self, drive: Drive) -> None:
            drive.spare(10**9)

    with pytest.raises(flashloom.FtlError, match="there is no page 1000000000"):
        flashloom.Ssd(drive(Unmountable))

    class Uncertain(LogFtl):
        @classmethod
        def spare_blocks(cls, geometry: Geometry, options: dict[str, float]) -> int:
            raise ArithmeticError("spare")

    with pytest.raises(ArithmeticError, match="spare"):
        flashloom.Device(drive(Uncertain)).check()


class Wrong(flashloom.Ftl):
    """Writes pages one after another, and does one thing wrong."""

    wrong = ""

    def mount(self, drive: Drive) -> None:
        self.map: list[Optional[int]] = [None] * drive.units
        self.next, self.kept, self.last = 0, [], None  # type: ignore[var-annotated]

    def place(self, unit: int) -> Any:
        if self.wrong == "place" and self.map[unit] is not None:
            return "there"
        return self.map[unit]

    def discard(self, unit: int) -> None:
        self.map[unit] = None

    def write(self, flash: Flash, write: Write) -> None:
        page, self.next = self.next, self.next + 1
        if self.wrong == "forgotten":
            return
        if self.wrong == "stuck":
            self.kept.append(write)
            return
        if self.wrong == "order" and page == 2:
            page = 0
        if self.wrong == "page":
            page = flash.geometry.pages * flash.geometry.blocks
        if self.wrong == "copy":
            flash.copy(7, 8)
        if self.wrong == "argument":
            flash.program(write, page + 0.5)  # type: ignore[arg-type]
        flash.program(write, page)
        if self.wrong == "twice":
            flash.program(write, page + 1)
        if self.wrong == "programming":
            flash.erase(page // flash.geometry.pages)
        if self.wrong == "early":
            self.map[write.unit] = page

    def written(self, flash: Flash, unit: int, page: int) -> None:
        self.map[unit] = page
        if self.wrong == "lost" and flash.programs(0) == 0:
            flash.erase(0)
        if self.wrong == "block":
            flash.erase(flash.geometry.blocks)
        if self.wrong == "other":
            self.map[unit] = 0
        if self.wrong == "erased twice":
            self.map = [None] * len(self.map)
            flash.erase(9)
            flash.erase(9)


@pytest.mark.parametrize(
    "wrong,error,text",
    [
        ("place", flashloom.FtlError, r"place\(\d+\) returned 'there', which is neither the number of a page nor None"),
        ("forgotten", flashloom.FtlError, "1 writes were neither programmed nor refused"),
        ("stuck", flashloom.FtlError, "keeps 1 writes while no command is under way"),
        ("order", flashloom.FtlError, "page 0 is programmed out of order: page 2 is the next erased one of block 0"),
        ("page", flashloom.FtlError, "there is no page 2048: the flash has pages 0 to 2047"),
        ("copy", flashloom.FtlError, "page 7 is to be copied, and holds no data"),
        ("argument", TypeError, "'float' object cannot be interpreted as an integer"),
        ("twice", flashloom.FtlError, r"the write of unit \d+ has been programmed or refused before"),
        ("programming", flashloom.FtlError, "block 0 is to be erased, and . of its programs have not ended"),
        ("lost", flashloom.FtlError, r"the erase of block 0 would lose data: place\(\d+\) is its page"),
        ("block", flashloom.FtlError, "there is no block 64: the flash has blocks 0 to 63"),
        ("other", flashloom.FtlError, r"place\(\d+\) returned page 0, which holds unit \d+"),
        ("early", flashloom.FtlError, "holds no data; a mapping changes when its program has ended"),
        ("erased twice", flashloom.FtlError, "the erase of block 9 has not ended"),
    ],
)
def test_a_broken_rule_is_named(wrong: str, error: type[Exception], text: str) -> None:
    described = drive(type(f"Wrong{wrong}", (Wrong,), {"wrong": wrong}))
    with pytest.raises(error, match=text):
        flashloom.run(described, WORKLOAD, limit=400)


def test_a_method_that_is_missing_is_named() -> None:
    class Empty(flashloom.Ftl):
        def mount(self, drive: Drive) -> None:
            pass

    with pytest.raises(NotImplementedError, match="Empty has no method place"):
        flashloom.run(drive(Empty), WORKLOAD, limit=10)


def test_a_drive_says_what_it_is() -> None:
    seen: dict[str, Any] = {}

    class Curious(LogFtl):
        def mount(self, drive: Drive) -> None:
            super().mount(drive)
            shape = drive.geometry
            seen.update(shape=(shape.pages, shape.blocks, shape.dies, shape.die_blocks, shape.page_bytes))
            seen.update(option=(drive.option("weight", 1.0), drive.option("none", 7.0), drive.options), blocks=drive.blocks())
            seen.update(spare=drive.spare(0), next=drive.next_page(0), erases=drive.erases(0), erased=drive.is_erased(0))
            assert copy.deepcopy(shape) is shape and "64 blocks of 32 pages" in repr(shape)

    flashloom.run(drive(Curious, options={"weight": 2.5}), WORKLOAD, limit=10)
    assert seen["shape"] == (32, 64, 4, 16, 2048) and seen["blocks"] == list(range(64))
    assert seen["option"] == (2.5, 7.0, {"weight": 2.5})
    assert [seen[key] for key in ("spare", "next", "erases", "erased")] == [None, 0, 0, True]


def make(bonus: int, text: str = "") -> type[flashloom.Ftl]:
    """A class whose methods use a value from around them."""

    class Made(LogFtl):
        label = text

        def spare(self) -> int:
            return bonus

    return Made


def test_the_version_is_that_of_the_source(tmp_path: Path) -> None:
    kinds = [make(0).kind(), make(0).kind(), make(1).kind(), make(0, "other").kind()]
    assert kinds[0] == kinds[1] and len({kind["version"] for kind in kinds}) == 3
    assert kinds[0]["kind"] == f"own:make.<locals>.Made-{kinds[0]['version'][:8]}"
    kept = [flashloom.Study(study(ftl)).run(store=tmp_path).stored for ftl in (make(0), make(0), make(1))]
    assert kept == [0, 1, 0]
    assert LogFtl.kind("mine")["kind"] == "own:mine"
    with pytest.raises(ValueError, match="`mine` of another version"):
        make(0).kind("mine")
    assert flashloom.Device(drive(LogFtl)).config["ftl"]["version"] == LogFtl.kind()["version"]


def test_workers_of_a_cluster_know_the_ftl() -> None:
    distributed = pytest.importorskip("distributed")
    here = flashloom.Study(study(LogFtl)).run()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            there = flashloom.Study(study(LogFtl)).run(executor=client)
    assert there.values("waf") == here.values("waf")
