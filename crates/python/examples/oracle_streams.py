"""How good could streams be? A policy that knows when each mapping unit is written next.

A first run notes the writes. The second run knows them, and sends each write to a stream by how soon it is overwritten.
"""

import flashloom


class Recorder:
    """Notes the mapping unit of each write."""

    def __init__(self):
        self.writes = []

    def __deepcopy__(self, memo):
        return self  # The drive writes to the same list, which outlives the drive.

    def __call__(self, lpn):
        self.writes.append(lpn)
        return 0


class Oracle:
    """Stream 0 if the next write of the mapping unit comes within the first limit, 1 within the second, and so on."""

    def __init__(self, writes, limits):
        # Streams change the times of writes, and so perhaps the order of two units, but never the order of one unit's writes.
        self.streams, latest = {}, {}
        for i in reversed(range(len(writes))):
            distance = latest.get(writes[i], float("inf")) - i
            latest[writes[i]] = i
            self.streams.setdefault(writes[i], []).append(sum(distance > limit for limit in limits))

    def __call__(self, lpn):
        return self.streams[lpn].pop()


drive = {
    "name": "small programs",
    "flash": {"part": "K9K8G08U0M", "channels": 2, "chips": 2, "blocks": 128, "pages": 64, "planes": 1},
    "ftl": {"over-provisioning": "15%"},
}


def amplification(host):
    device = flashloom.Device(drive).set("ftl.streams.host", host)
    outcome = flashloom.run(device, "zipf-write-4k", precondition="fill", warm_up=20_000, limit=20_000)
    return outcome.summary.write_amplification


recorder = Recorder()
amplification(flashloom.policy.stream(recorder, streams=2))
# Overwritten within 4 MiB of writes, or later: 2048 mapping units of 2 KiB.
oracle = flashloom.policy.stream(Oracle(recorder.writes, [2_048]), streams=2)
interval = {"policy": "interval", "limits": ["4MiB"]}
for name, host in [("one stream", {"policy": "one"}), ("update interval", interval), ("oracle", oracle)]:
    print(f"{name:>15}: write amplification {amplification(host):.2f}")
