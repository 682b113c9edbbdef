#!/usr/bin/env python3
"""Turns nbdkit's log into text as blkparse prints it, and sums such text up.

    convert.py LOG PHASES        the trace on standard output
    convert.py --summary         a table of the trace on standard input

One line per request, at the time it was issued, in the order of time:

    7,0  CPU  SEQUENCE  SECONDS.NANOSECONDS  PID  Q  RWBS  SECTOR + SECTORS [PHASE]

RWBS is R (read), W (write), D (discard) or FWS (flush, which has no address). The log gives the NBD
connection in place of a CPU and no process: the pid is 0 and the brackets hold the script's phase.
A zeroing that may deallocate is what a discard is to a solid-state disk, and is written as D.
"""

import collections
import datetime
import re
import sys

REQUEST = re.compile(r"(\S+ \S+) connection=(\d+) (Read|Write|Trim|Zero|Flush) id=\d+ (.*)\.\.\.$")
RWBS = {"Read": "R", "Write": "W", "Trim": "D", "Flush": "FWS"}


def convert(log, phases):
    starts = [(float(at), name) for at, name in (line.split() for line in open(phases))]
    requests = []
    for line in open(log):
        match = REQUEST.match(line)
        if not match:
            continue
        at, connection, kind, rest = match.groups()
        stamp = datetime.datetime.fromisoformat(at).replace(tzinfo=datetime.timezone.utc)
        fields = dict(field.split("=") for field in rest.split())
        if kind == "Zero":
            rwbs = "D" if fields["trim"] == "1" else "W"
        else:
            rwbs = RWBS[kind]
        offset, count = (int(fields.get(key, "0"), 16) for key in ("offset", "count"))
        if offset % 512 or count % 512:
            sys.exit(f"not whole sectors: {line}")
        requests.append((stamp, int(connection), rwbs, offset // 512, count // 512))
    requests.sort(key=lambda request: request[0])
    begin = requests[0][0]
    for sequence, (stamp, connection, rwbs, sector, sectors) in enumerate(requests, 1):
        micros = (stamp - begin) // datetime.timedelta(microseconds=1)
        epoch = stamp.timestamp()
        phase = next((name for at, name in reversed(starts) if at <= epoch), starts[0][1])
        place = "" if rwbs == "FWS" else f"{sector} + {sectors} "
        seconds = f"{micros // 1_000_000}.{micros % 1_000_000:06d}000"
        print(f"7,0 {connection} {sequence} {seconds} 0 Q {rwbs} {place}[{phase}]")


def summary():
    rows = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    starts, last = {}, "0"
    for line in sys.stdin:
        fields = line.split()
        phase, rwbs, last = fields[-1].strip("[]"), fields[6], fields[3]
        starts.setdefault(phase, last)
        for key in (phase, "all"):
            cell = rows[key][rwbs]
            cell[0] += 1
            cell[1] += int(fields[9]) * 512 if "+" in fields else 0
    print("| phase | from | reads | MB | writes | MB | discards | MB | flushes |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for phase in [*starts, "all"]:
        cells = [f"{rows[phase][k][0]:,} | {rows[phase][k][1] / 1e6:.1f}" for k in "RWD"]
        start = f"{float(starts[phase]):.1f} s" if phase in starts else ""
        print(f"| {phase} | {start} | {' | '.join(cells)} | {rows[phase]['FWS'][0]:,} |")
    print(f"\n{last} seconds")


if __name__ == "__main__":
    if sys.argv[1:] == ["--summary"]:
        summary()
    elif len(sys.argv) == 3:
        convert(*sys.argv[1:])
    else:
        sys.exit(__doc__)
