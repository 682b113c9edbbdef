"""A block device for asyncio: tasks read and write bytes, and the drive's time passes as they wait for it.

python asyncio_client.py

Simulated time stands still while any task can go on: it passes when all of them wait for the drive. So the program is as
deterministic as the drive, and as fast as the machine.
"""

import asyncio

import flashloom
from flashloom import US


class BlockDevice:
    """Reads and writes of bytes, awaited."""

    def __init__(self, device: flashloom.Device) -> None:
        self.ssd = flashloom.Ssd(device, data=True)
        self.waiting: dict[int, asyncio.Future[flashloom.Completion]] = {}

    async def read(self, offset: int, size: int) -> bytes:
        completion = await self._submit("read", offset, size)
        assert completion.data is not None
        return completion.data

    async def write(self, offset: int, data: bytes) -> None:
        await self._submit("write", offset, len(data), data)

    async def flush(self) -> None:
        await self._submit("flush")

    async def _submit(self, op: str, offset: int = 0, size: int = 0, data: bytes | None = None) -> flashloom.Completion:
        done: asyncio.Future[flashloom.Completion] = asyncio.get_running_loop().create_future()
        self.waiting[self.ssd.submit(self.ssd.now, op, offset, size, data)] = done
        return await done

    async def serve(self) -> None:
        """Lets the drive's time pass whenever nobody else has anything to do."""
        while True:
            # Those who can go on do so first, and may submit more.
            for _ in range(3):
                await asyncio.sleep(0)
            at = self.ssd.next_event()
            if at is not None:
                for completion in self.ssd.advance(at):
                    self.waiting.pop(completion.tag).set_result(completion)


async def worker(disk: BlockDevice, number: int) -> int:
    """Appends records to a log of its own and reads them back; returns how many were right."""
    right = 0
    for i in range(20):
        record = f"record {i} of worker {number}".encode().ljust(512, b".")
        await disk.write((number * 64 + i) * 512, record)
        if i % 5 == 4:
            await disk.flush()
        right += await disk.read((number * 64 + i) * 512, 512) == record
    return right


async def main() -> None:
    disk = BlockDevice(flashloom.Device("demo").set("flash.blocks", 26).set("ftl.capacity", "100MiB"))
    serving = asyncio.create_task(disk.serve())
    right = await asyncio.gather(*(worker(disk, number) for number in range(4)))
    serving.cancel()
    print(f"{sum(right)} records came back, after {disk.ssd.now / US:.1f} us of simulated time")


if __name__ == "__main__":
    asyncio.run(main())
