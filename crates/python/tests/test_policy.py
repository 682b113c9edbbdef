"""Policies in Python choose what the same formula chooses, and fail where they raise."""

import subprocess
import sys
import traceback
from typing import Any

import pytest

import flashloom
from flashloom import policy

WORKLOAD = "random-write-4k"


def drive(victim: object) -> flashloom.Device:
    """A small drive that collects garbage soon."""
    device = flashloom.Device("demo").set("flash.blocks", 26).set("flash.pages", 24).set("ftl.capacity", "100MiB")
    return device.set("ftl.gc.victim", victim)


def run(victim: object, **arguments: Any) -> flashloom.Outcome:
    return flashloom.run(drive(victim), WORKLOAD, precondition="fill", limit=20_000, **arguments)


@pytest.mark.parametrize(
    "formula,score",
    [
        ("age * (1 - u) / (2 * u)", lambda blocks: blocks.age * (1 - blocks.u) / (2 * blocks.u)),
        ("valid - erases", lambda blocks: blocks.valid - 1.0 * blocks.erases),
        ("if(free > 1, seconds, 0/0)", lambda blocks: blocks.seconds if blocks.free > 1 else blocks.seconds * float("nan")),
    ],
)
def test_a_function_chooses_as_its_formula(formula: str, score: Any) -> None:
    wanted = run({"policy": "score", "score": formula})
    assert run(policy.victim(score)).event_hash == wanted.event_hash
    assert run({"policy": "greedy"}).event_hash != wanted.event_hash


def test_an_exception_ends_the_run_with_its_traceback() -> None:
    def broken(blocks: policy.Blocks) -> Any:
        raise LookupError(f"{len(blocks)} candidates")

    with pytest.raises(LookupError, match="candidates") as caught:
        run(policy.victim(broken))
    assert "in broken" in "".join(traceback.format_tb(caught.value.__traceback__))
    with pytest.raises(LookupError, match="candidates"):
        flashloom.Study(study(policy.victim(broken))).run(jobs=2)
    # Nothing of it is left for the next run.
    assert run({"policy": "greedy"}).summary.requests == 20_000


def test_a_score_for_each_candidate_is_needed() -> None:
    with pytest.raises(ValueError, match="a score for each of .* candidates"):
        run(policy.victim(lambda blocks: 1.0))


def study(*victims: dict[str, str]) -> dict[str, Any]:
    points = [{"at": str(number), "set": {"device": {"ftl": {"gc": {"victim": victim}}}}} for number, victim in enumerate(victims)]
    return {
        "name": "victims",
        "device": "demo",
        "workload": WORKLOAD,
        "run": {"limit": 20_000, "precondition": ["fill"]},
        "metrics": ["waf"],
        "set": {"device": {"flash": {"blocks": 26, "pages": 24}, "ftl": {"capacity": "100MiB"}}},
        "axis": [{"name": "victim", "point": points}],
    }


def test_a_store_keeps_versions_apart(tmp_path: Any) -> None:
    def victim(weight: float) -> dict[str, str]:
        return policy.victim(lambda blocks: blocks.invalid + weight * blocks.age)

    first, second = victim(0.0), victim(9.0)
    assert first["version"] != second["version"] and first["name"] != second["name"]
    assert victim(9.0) == second, "one source and one weight are one policy"
    kept = flashloom.Study(study(first)).run(store=tmp_path)
    again = flashloom.Study(study(first)).run(store=tmp_path)
    other = flashloom.Study(study(second)).run(store=tmp_path)
    assert [kept.stored, again.stored, other.stored] == [0, 1, 0]


def test_a_name_has_one_version() -> None:
    policy.victim(lambda blocks: blocks.invalid, name="mine")
    with pytest.raises(ValueError, match="`mine` of another version"):
        policy.victim(lambda blocks: blocks.age, name="mine")
    with pytest.raises(flashloom.DescriptionError, match="did you mean `mine`"):
        drive({"policy": "own", "name": "mime"}).check()


def test_workers_of_a_cluster_know_the_policies() -> None:
    distributed = pytest.importorskip("distributed")
    victim = policy.victim(lambda blocks: blocks.invalid * (blocks.age > 8))
    here = flashloom.Study(study(victim)).run()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            there = flashloom.Study(study(victim)).run(executor=client)
    assert there.values("waf") == here.values("waf")


def test_without_numpy_the_message_says_what_to_install() -> None:
    code = "import sys; sys.modules['numpy'] = None; import flashloom; flashloom.policy.victim(lambda blocks: blocks.age)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "a policy in Python needs NumPy; install it with `pip install numpy`" in done.stderr
