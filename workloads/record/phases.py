#!/usr/bin/env python3
"""Prints a table of the phases of a recording: on standard input the name of each phase, and what `flashloom ctl status --json` said when
it began. The last is the end."""

import json
import sys

KINDS = ["read", "write", "discard", "write-zeroes", "flush"]


def counts(status):
    found = {of["kind"]: (of["done"], of["bytes"]) for of in status["requests"]}
    return {kind: found.get(kind, (0, 0)) for kind in KINDS}


def row(name, start, before, after):
    cells = []
    for kind in KINDS:
        requests, size = (now - then for now, then in zip(after[kind], before[kind]))
        cells.append(f"{requests:,}")
        if kind != "flush":
            cells.append(f"{size / 1e6:.1f}")
    print(f"| {name} | {start} | {' | '.join(cells)} |")


names, statuses = zip(*(line.split(" ", 1) for line in sys.stdin))
statuses = [json.loads(status) for status in statuses]
print("| phase | from | reads | MB | writes | MB | discards | MB | zeros | MB | flushes |")
print("| --- |" + " ---: |" * 10)
for name, before, after in zip(names, statuses, statuses[1:]):
    row(name, f"{before['simulated_s']:.1f} s", counts(before), counts(after))
row("all", "", {kind: (0, 0) for kind in KINDS}, counts(statuses[-1]))
print(f"\n{statuses[-1]['simulated_s']:.1f} seconds")
