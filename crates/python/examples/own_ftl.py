"""An FTL of one's own: a page map that collects the block with the fewest valid pages."""

from collections import deque

import flashloom


class LogFtl(flashloom.Ftl):
    def mount(self, drive):
        self.pages, self.map = drive.geometry.pages, drive.newest()
        self.free = deque(block for block in drive.blocks() if drive.is_erased(block))
        self.used = [block for block in drive.blocks() if not drive.is_erased(block)]
        left = {block: drive.next_page(block) for block in self.used if drive.next_page(block) is not None}
        # The open block of the host, and that of copies, which go on in the block with the most pages left.
        self.open = [None, min(left, key=left.get, default=None)]
        self.waiting, self.to_copy, self.victim = deque(), deque(), None

    def place(self, unit):
        return self.map[unit]

    def write(self, flash, write):
        self.waiting.append(write)
        self.go_on(flash)

    def discard(self, unit):
        self.map[unit] = None

    def written(self, flash, unit, page):
        self.map[unit] = page
        self.go_on(flash)

    def copied(self, flash, unit, source, page):
        if self.map[unit] == source:  # The host may have written it again meanwhile.
            self.map[unit] = page
        self.go_on(flash)

    def failed(self, flash, block, source):
        if source is not None and flash.unit(source) is not None:  # Its block may be erased by now.
            self.to_copy.append(source)
        self.go_on(flash)

    def erased(self, flash, block):
        self.free.append(block)
        self.go_on(flash)

    def retired(self, flash, block):
        self.go_on(flash)

    def next_page(self, flash, number):
        block = self.open[number]
        if block is None or flash.next_page(block) is None:
            if len(self.free) <= (2 if number == 0 else 0):  # So collection always ends.
                return None
            self.open[number] = block = self.free.popleft()
            self.used.append(block)
        return block * self.pages + flash.next_page(block)

    def go_on(self, flash):
        if self.victim is None and len(self.free) <= 4:
            closed = (block for block in self.used if block not in self.open and flash.programs(block) == 0)
            valid = {block: flash.valid_pages(block, self.map) for block in closed}
            victim = min(valid, key=lambda block: len(valid[block]), default=None)
            if victim is not None and len(valid[victim]) < self.pages:
                self.victim, self.to_copy = victim, deque(valid[victim])
        while self.to_copy and (page := self.next_page(flash, 1)) is not None:
            flash.copy(self.to_copy.popleft(), page)
        if self.victim is not None and not flash.valid_pages(self.victim, self.map):
            flash.erase(self.victim)
            self.used.remove(self.victim)
            self.victim, self.to_copy = None, deque()
        while self.waiting and (page := self.next_page(flash, 0)) is not None:
            flash.program(self.waiting.popleft(), page)
        while self.waiting and flash.under_way == 0:  # Nothing will make room any more.
            flash.refuse(self.waiting.popleft())


flash = {"part": "K9K8G08U0M", "channels": 2, "chips": 2, "blocks": 32, "pages": 64, "planes": 1}
for name, ftl in [("LogFtl", LogFtl.kind()), ("page map", {"kind": "page"})]:
    drive = {"name": name, "flash": flash, "ftl": {**ftl, "over-provisioning": "20%"}}
    outcome = flashloom.run(drive, "zipf-write-4k", precondition="fill", limit=10_000, verify=True)
    print(f"{name:>8}: write amplification {outcome.summary.write_amplification:.2f}")
print(flashloom.ftl.check(LogFtl, step=8))
