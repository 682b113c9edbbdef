"""Studies: axes, the store, results as they come, and claims."""

import os
import threading
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from conftest import WORKLOAD, command, command_json

import flashloom

STUDY = """name = "s"
device = "small.toml"
workload = "w.toml"
seeds = 2
metrics = ["read.mean", "waf"]

[[axis]]
name = "channels"
key = "device.flash.channels"
values = [1, 2, 4]

[[claim]]
id = "C1"
says = "channels help"
[[claim.expect]]
metric = "read.mean"
monotonic = { along = "channels", direction = "falls" }
"""


@pytest.fixture
def study(files: Path) -> flashloom.Study:
    (files / "s.toml").write_text(STUDY)
    return flashloom.Study(files / "s.toml")


def test_a_study_gives_what_the_command_gives(study: flashloom.Study, files: Path) -> None:
    wanted = command_json("study", "s.toml", "--json", "--quiet", "--no-store", folder=files)
    outcome = study.run(jobs=2, progress=False)
    assert outcome.to_dict() == wanted
    [claim] = outcome.claims
    assert (claim.id, claim.verdict, claim.findings[0].metric) == ("C1", "holds", "read.mean")
    table = pyarrow.table(outcome.to_arrow()).to_pandas()
    assert len(table) == 6 and list(table.channels.unique()) == [1, 2, 4] and list(table.seed[:2]) == [0, 1]
    for labels, value in outcome.values("read.mean"):
        rows = table[table.channels == float(labels[0])]
        assert rows.read_mean_us.mean() == pytest.approx(value)
    command("study", "s.toml", "--no-store", "--quiet", "--out", "out", folder=files)
    written = next((files / "out").rglob("*points*.parquet"), None)
    if written is not None:
        assert pyarrow.parquet.read_table(written).to_pydict() == outcome.to_arrow().to_pydict()


def test_axes_are_added_and_points_come_as_they_finish(files: Path) -> None:
    os.chdir(files)
    study = flashloom.Study({"name": "t", "device": "small.toml", "workload": "w.toml", "run": {"limit": 100}})
    study.axis("depth", "run.depth", [1, 4]).axis("size", points=[{"at": "a"}, {"at": "b", "set": {"device": {"flash": {"chips": 1}}}}])
    assert study.axes == {"depth": ["1", "4"], "size": ["a", "b"]} and len(study) == 4 and study.name == "t"
    seen: list[tuple[list[str], int]] = []
    steps: list[tuple[int, int]] = []
    outcome = study.run(
        on_point=lambda labels, summary: seen.append((list(labels), summary.requests)),
        progress=lambda done, total: steps.append((done, total)),
    )
    assert sorted(seen) == [([depth, size], 100) for depth in "14" for size in "ab"]
    assert steps[-1] == (4, 4) and len(outcome) == 4
    with pytest.raises(flashloom.DescriptionError, match="axis\\[2\\].key"):
        study.axis("x", "drive.chips", [1]).check()


def test_a_store_keeps_each_result(study: flashloom.Study, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = study.run(store=store, progress=False)
    again = study.run(store=store, progress=False)
    assert (first.stored, again.stored) == (0, 6)
    assert first.to_dict() == again.to_dict()
    seen: list[Any] = []
    study.run(store=store, progress=False, on_point=lambda labels, summary: seen.append(labels))
    assert len(seen) == 6


def test_an_exception_of_a_callback_ends_the_study(study: flashloom.Study) -> None:
    def refuse(labels: object, summary: object) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        study.run(progress=False, on_point=refuse)


def test_faults_of_a_study_are_those_of_the_command(study: flashloom.Study, files: Path) -> None:
    (files / "bad.toml").write_text(STUDY.replace("device.flash.channels", "device.flash.chanels"))
    said = command("study", "bad.toml", "--no-store", folder=files, code=2)
    with pytest.raises(flashloom.DescriptionError) as error:
        flashloom.Study(files / "bad.toml").check()
    assert said.replace(str(files), "") .endswith(str(error.value).replace(f"{files}/", "") + "\n")
    with pytest.raises(flashloom.RunError, match="the simulation needs"):
        study.run(memory="1MiB", progress=False)
    with pytest.raises(flashloom.DescriptionError, match="is not a metric|no metric"):
        study.run(progress=False).values("raed.mean")


def test_two_studies_run_side_by_side(study: flashloom.Study) -> None:
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append(study.run(progress=False, jobs=1).to_dict())) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2 and results[0] == results[1]


def test_a_report_is_a_page(study: flashloom.Study, tmp_path: Path) -> None:
    outcome = study.run(progress=False)
    outcome.report(tmp_path / "study.html")
    assert "channels help" in (tmp_path / "study.html").read_text()
    assert outcome._repr_html_().startswith("<iframe")
    assert WORKLOAD
