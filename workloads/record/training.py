#!/usr/bin/env python3
"""What the training of a network asks of a disk: a loader's reads, and checkpoints.

    training.py FOLDER write        24 shards of 16 MiB, each of 256 records of 64 KiB
    training.py FOLDER read EPOCH   all records once, in an order of this epoch's own
    training.py FOLDER checkpoint   48 MiB, synchronised, in place of the checkpoint before

Four processes read, each a batch of 32 records at a time, record by record with O_DIRECT. Two batches are ahead of the
training for each of them; a step of the training takes 15 ms for a batch. Each record begins with its number, which is checked.
"""

import mmap
import multiprocessing
import os
import random
import struct
import sys
import time

SHARDS, RECORDS, BYTES = 24, 256, 64 << 10
WORKERS, BATCH, AHEAD, STEP_S = 4, 32, 2, 0.015


def synchronise(path):
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def shard(folder, number):
    return os.path.join(folder, f"shard-{number:03}")


def write(folder):
    os.makedirs(folder)
    for number in range(SHARDS):
        filler = random.Random(number).randbytes(BYTES - 8)
        with open(shard(folder, number), "wb") as file:
            for record in range(RECORDS):
                file.write(struct.pack("<Q", number * RECORDS + record) + filler)
        synchronise(shard(folder, number))
    synchronise(folder)


def worker(folder, pipe):
    files = [os.open(shard(folder, number), os.O_RDONLY | os.O_DIRECT) for number in range(SHARDS)]
    # Direct reads need a buffer that begins at a page.
    buffer = mmap.mmap(-1, BYTES)
    while (batch := pipe.recv()) is not None:
        for number in batch:
            count = os.preadv(files[number // RECORDS], [buffer], number % RECORDS * BYTES)
            assert count == BYTES and struct.unpack("<Q", buffer[:8]) == (number,), f"record {number} is wrong"
        pipe.send(len(batch))


def read(folder, epoch):
    order = list(range(SHARDS * RECORDS))
    random.Random(epoch).shuffle(order)
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    pipes, workers = [], []
    for _ in range(WORKERS):
        ours, theirs = multiprocessing.Pipe()
        pipes.append(ours)
        workers.append(multiprocessing.Process(target=worker, args=(folder, theirs)))
        workers[-1].start()
    for number, batch in enumerate(batches[: WORKERS * AHEAD]):
        pipes[number % WORKERS].send(batch)
    begun, waited = time.monotonic(), 0.0
    for number in range(len(batches)):
        asked = time.monotonic()
        pipes[number % WORKERS].recv()
        waited += time.monotonic() - asked
        following = number + WORKERS * AHEAD
        if following < len(batches):
            pipes[number % WORKERS].send(batches[following])
        time.sleep(STEP_S)
    for pipe in pipes:
        pipe.send(None)
    for process in workers:
        process.join()
        assert process.exitcode == 0
    print(f"{len(order)} records in {time.monotonic() - begun:.1f} s, of which the training waited {waited:.1f} s")


def checkpoint(folder):
    path = os.path.join(folder, "checkpoint")
    with open(path + ".new", "wb") as file:
        for part in range(48):
            file.write(random.Random(part).randbytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
    synchronise(folder)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [folder, "write"]:
            write(folder)
        case [folder, "read", epoch]:
            read(folder, int(epoch))
        case [folder, "checkpoint"]:
            checkpoint(folder)
        case _:
            sys.exit(__doc__)
