"""RocksDB through rocksdict: a workload and its check.

    rocksdb.py write DATABASE NUMBER sync|nosync
    rocksdb.py check DATABASE ACKNOWLEDGED

Transaction n adds a row, removes the fortieth before it, and notes n. Memory tables are so small that RocksDB writes tables and
merges them all the time.
"""

import sys

import rocksdict

KEPT = 40


def opened(path, *, create):
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_paranoid_checks(True)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_write_buffer_size(64 << 10)
    options.set_target_file_size_base(64 << 10)
    options.set_level_zero_file_num_compaction_trigger(2)
    return rocksdict.Rdict(path, options)


def key(number):
    return b"row%06d" % number


def row(number):
    return b"%06d" % number * 150


def write(path, count, sync):
    db = opened(path, create=True)
    how = rocksdict.WriteOptions()
    how.sync = sync
    for number in range(1, count + 1):
        batch = rocksdict.WriteBatch(raw_mode=True)
        batch.put(key(number), row(number))
        batch.delete(key(number - KEPT) if number > KEPT else b"none")
        batch.put(b"newest", b"%d" % number)
        db.write(batch, how)
        print(number, flush=True)
    db.close()


def check(path, acknowledged):
    db = opened(path, create=False)
    # Every block is read, and its checksum compared.
    found = dict(db.items())
    newest = int(found.pop(b"newest", b"0"))
    rows = range(max(newest - KEPT, 0) + 1, newest + 1)
    if newest < acknowledged:
        sys.exit(f"transaction {acknowledged} was acknowledged, and the newest is {newest}")
    if found != {key(number): row(number) for number in rows}:
        sys.exit(f"the rows are not those of transaction {newest}: {sorted(found)}")
    db.close()


match sys.argv[1:]:
    case ["write", path, count, "sync" | "nosync" as how]:
        write(path, int(count), how == "sync")
    case ["check", path, acknowledged]:
        check(path, int(acknowledged))
    case _:
        sys.exit(__doc__)
