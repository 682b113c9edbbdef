"""Stores at URLs: an object store over HTTP, and file systems in the memory and on the disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from conftest import command

import flashloom
from flashloom import _object_store
from flashloom._object_store import ObjectStore, Putting, point_path

STUDY: dict[str, Any] = {"name": "kept", "workload": "w.toml", "metrics": ["read.mean"]}


@pytest.fixture
def study(files: Path) -> flashloom.Study:
    described = {"device": str(files / "small.toml"), "workload": str(files / "w.toml"), "run": {"limit": 100}}
    return flashloom.Study(STUDY | described).axis("depth", "run.depth", [1, 2, 3])


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of an object store that listens on this machine."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        access = {"endpoint_url": f"http://{host}:{port}", "key": "test", "secret": "test"}
        monkeypatch.setitem(fsspec.config.conf, "s3", access)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir("bucket")
        yield "s3://bucket/results"
    finally:
        server.stop()


def there(url: str) -> dict[str, bytes]:
    fs, root = fsspec.core.url_to_fs(url, skip_instance_cache=True)
    return {path.removeprefix(root).lstrip("/"): fs.cat_file(path) for path in fs.find(root)}


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://results"
    fsspec.filesystem("memory").store.clear()


@pytest.mark.parametrize("kind", ["bucket", "memory"])
def test_results_are_kept_at_a_url_and_taken_from_there(
    study: flashloom.Study, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = request.getfixturevalue(kind)
    first = study.run(store=url, progress=False)
    wanted = study.run(store=tmp_path / "store", progress=False)
    assert first.to_json() == wanted.to_json() and (first.stored, wanted.stored) == (0, 0)
    here = {str(path.relative_to(tmp_path / "store")): path.read_bytes() for path in (tmp_path / "store").rglob("*.*")}
    here.pop("timings.jsonl")
    found = there(url)
    assert found.pop("CACHEDIR.TAG").startswith(here.pop("CACHEDIR.TAG")[:43])
    assert found == here
    # All of it comes back, and nothing is run.
    again = study.run(store=url, progress=False)
    assert again.stored == 3 and again.to_json() == wanted.to_json()
    # A longer study does the new point; a result that is damaged is done again and replaced.
    damaged = next(path for path in found if path.endswith(".parquet"))
    ObjectStore(url).put({damaged: b"half"})
    study.axis("seed", points=[{"at": "a"}])
    longer = study.run(store=url, progress=False)
    assert longer.stored == 2 and there(url)[damaged] == here[damaged]
    # The command takes it, too: the first worker has nothing to do.
    if kind == "memory":
        return
    with pytest.raises(flashloom.OutputError, match="s3://no-such-bucket/x: the store of results cannot be written"):
        study.run(store="s3://no-such-bucket/x", progress=False)


def test_a_cluster_keeps_results_at_a_url(study: flashloom.Study, memory: str, tmp_path: Path) -> None:
    wanted = study.run(store=tmp_path / "store", progress=False)
    outcome = study.run(executor="local", jobs=1, store=memory, progress=False)
    assert outcome.to_json() == wanted.to_json()
    for path, content in there(memory).items():
        if path.endswith(".parquet"):
            assert content == (tmp_path / "store" / path).read_bytes()
    again = study.run(store=memory, progress=False)
    assert again.stored == 3


def test_a_url_of_this_machine_is_a_folder(study: flashloom.Study, files: Path, tmp_path: Path) -> None:
    study.run(store=f"file://{tmp_path}/results", progress=False)
    assert len(list((tmp_path / "results" / "points").rglob("*.parquet"))) == 3
    assert study.run(store=tmp_path / "results", progress=False).stored == 3
    assert "3 results" in command("store", "list", "--store", tmp_path / "results", folder=files)


def test_a_store_that_fails_later_costs_no_result(
    study: flashloom.Study, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = ObjectStore._put

    def fail(self: ObjectStore, files: Any) -> None:
        if any(path.startswith("points") for path in files):
            raise OSError("no room")
        put(self, files)

    monkeypatch.setattr(ObjectStore, "_put", fail)
    with pytest.warns(UserWarning, match="memory://results: the store of results cannot be written: OSError: no room"):
        outcome = study.run(store=memory, progress=False)
    assert len(outcome) == 3
    with pytest.raises(flashloom.OutputError, match="nosuch://x: the store"):
        study.run(store="nosuch://x", progress=False)


def test_many_results_are_listed_and_few_are_asked_for(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(memory)
    digests = [f"{number:064x}" for number in range(600)]
    putting = Putting(store)
    for digest in digests[::2]:
        putting.put(point_path(digest), digest.encode())
    assert putting.close() is None
    for few in [10, 1000]:
        monkeypatch.setattr(_object_store, "_FEW", few)
        assert dict(store.fetch(digests)) == {digest: digest.encode() for digest in digests[::2]}
