"""A drive inside a simulation with SimPy: a server whose clients wait for a processor and for the drive.

python simpy_server.py

SimPy keeps the time, in picoseconds. The drive is a process that sleeps until its next event, and wakes when a request
is submitted.
"""

import random
from typing import Any, Generator

import simpy

import flashloom
from flashloom import MS, US

Steps = Generator[simpy.Event, Any, None]


class Drive:
    """A drive as SimPy sees it: `yield drive.submit(...)` waits for the completion."""

    def __init__(self, env: simpy.Environment, device: flashloom.Device) -> None:
        self.env = env
        self.ssd = flashloom.Ssd(device, precondition="fill")
        # The drive has its own zero: what its preconditioning took does not count.
        self.zero = self.ssd.now
        self.waiting: dict[int, simpy.Event] = {}
        self.wake = env.event()
        env.process(self.live())

    def submit(self, op: str, offset: int = 0, size: int = 0) -> simpy.Event:
        done = self.env.event()
        self.waiting[self.ssd.submit(self.zero + int(self.env.now), op, offset, size)] = done
        self.wake.succeed()
        self.wake = self.env.event()
        return done

    def live(self) -> Steps:
        while True:
            at, wake = self.ssd.next_event(), self.wake
            if at is None:
                yield wake
            elif (rest := at - self.zero - int(self.env.now)) > 0:
                yield self.env.any_of([self.env.timeout(rest), wake])
            else:
                for completion in self.ssd.advance(at):
                    self.waiting.pop(completion.tag).succeed(completion)


def client(env: simpy.Environment, drive: Drive, cpu: simpy.Resource, seed: int, times: list[float]) -> Steps:
    draws = random.Random(seed)
    for _ in range(100):
        yield env.timeout(int(draws.expovariate(1 / (200 * US))))
        begin = env.now
        with cpu.request() as turn:
            yield turn
            yield env.timeout(20 * US)
        op = "read" if draws.random() < 0.7 else "write"
        yield drive.submit(op, draws.randrange(1000) * 4096, 4096)
        times.append((env.now - begin) / US)


def main() -> None:
    env = simpy.Environment()
    drive = Drive(env, flashloom.Device("demo").set("flash.blocks", 26).set("ftl.capacity", "100MiB"))
    times: list[float] = []
    cpu = simpy.Resource(env, capacity=2)
    for seed in range(8):
        env.process(client(env, drive, cpu, seed, times))
    env.run(until=200 * MS)
    times.sort()
    print(f"{len(times)} requests, {times[len(times) // 2]:.1f} us, p99 {times[len(times) * 99 // 100]:.1f} us")


if __name__ == "__main__":
    main()
