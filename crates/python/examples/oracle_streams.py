"""The bound of write streams: a policy that knows when each mapping unit is written next.

A first run records the writes. The second run knows them, and sends each write to a stream by how soon it is overwritten.
"""

from collections import defaultdict
from typing import Any

import flashloom


class Recorder:
    """Notes the mapping unit of each write."""

    def __init__(self) -> None:
        self.writes: list[int] = []

    def __deepcopy__(self, memo: Any) -> "Recorder":
        # The drive writes to the same list, which outlives the drive.
        return self

    def __call__(self, lpn: int) -> int:
        self.writes.append(lpn)
        return 0


class Oracle:
    """Sends a write to stream 0, 1, ... if the next one of its mapping unit comes within the first, the second, ... limit."""

    def __init__(self, writes: list[int], limits: list[int]) -> None:
        # Streams change the times of writes, and so perhaps the order of two units, but never that of one unit's writes.
        self.streams: dict[int, list[int]] = defaultdict(list)
        last: dict[int, int] = {}
        for i, lpn in reversed(list(enumerate(writes))):
            distance = last.get(lpn, len(writes) + limits[-1]) - i
            last[lpn] = i
            self.streams[lpn].append(sum(distance > limit for limit in limits))

    def __call__(self, lpn: int) -> int:
        streams = self.streams[lpn]
        return streams.pop() if streams else 0


drive = flashloom.Device("demo").set("flash.blocks", 48).set("flash.pages", 24).set("ftl.capacity", "250MiB")
drive.set("ftl.gc.victim.policy", "cost-benefit").set("buffer.size", "1MiB").set("buffer.flush", "ignore")


def amplification(host: dict[str, Any]) -> float:
    device = drive.copy().set("ftl.streams.host", host)
    run = {"precondition": "fill", "warm_up": 100_000, "limit": 100_000}
    return flashloom.run(device, "zipf-write-4k", **run).summary.write_amplification


recorder = Recorder()
amplification(flashloom.policy.stream(recorder, streams=2))
units = 250 * 256
oracle = Oracle(recorder.writes, [units // 8, units])
policies = {
    "one stream": {"policy": "one"},
    "by update interval": {"policy": "interval", "limits": ["32MiB", "250MiB"]},
    "oracle": flashloom.policy.stream(oracle, streams=3),
}
for name, host in policies.items():
    print(f"{name:>18}: write amplification {amplification(host):.2f}")
