//! Copies sorted by stream.
//!
//! With several streams of copies, each victim's mapping units belong to one of them, and programs hold mapping units
//! of one stream. The room that collection must have is that of a pool with one stream: all copies fit into the open
//! superblock of the last stream and the free superblocks, and the other streams take only the space beyond that. So
//!
//! * another stream opens a free superblock only if all copies fit without it;
//! * otherwise its copies join those of the last stream;
//! * if nothing else moves and a write waits, copies that do not fill a program of their stream join the last stream,
//!   too. Copies of any class fill up that program, and it is padded if there are no more. So padding costs no more
//!   than with one stream.

use flash::nand::Stream;

use super::Collector;
use crate::page::block_manager::collection::Collection;
use crate::page::prefetch::prefetch_gathered;
use crate::port::Flash;

impl Collection {
    /// Moves the slots that have been picked for other streams of copies to the last stream.
    pub(in crate::page) fn join(&mut self) {
        for gathered in &mut self.sorted {
            self.gathered.append(gathered);
        }
    }
}

impl Collector<'_> {
    /// Gathers the copies of a program of any stream. Returns the stream; none if no stream's copies fill a program and
    /// the copies can wait for others.
    pub(in crate::page) fn gather_sorted(&mut self, flash: &mut Flash<'_>, pool: u32) -> Option<Stream> {
        loop {
            if let Some(stream) = self.filled_stream(pool) {
                return Some(stream);
            }
            let end = self.blocks.layout.shape.superblock_slots();
            let victims = &self.blocks.pools[pool as usize].gc.victims;
            if let Some(i) = victims.iter().position(|victim| victim.cursor < end) {
                self.gather_from(flash, pool, i);
            } else if self.writer.must_pad(self.blocks, pool) {
                let last = self.blocks.pools[pool as usize].copies;
                self.blocks.pools[pool as usize].gc.join();
                let room = self.blocks.copy_room(pool, last);
                self.gather(flash, pool, room);
                return Some(last);
            } else if !self.begin_victim(flash, pool, false) {
                return None;
            }
        }
    }

    /// The first stream whose copies fill its next program, and that has an open superblock or may open one now.
    fn filled_stream(&mut self, pool: u32) -> Option<Stream> {
        let last = self.blocks.pools[pool as usize].copies;
        for stream in (0..last.number()).map(Stream::copies) {
            let room = self.blocks.copy_room(pool, stream);
            if (self.blocks.pools[pool as usize].gathered_for(stream).len() as u32) < room {
                continue;
            }
            let chosen = &self.blocks.pools[pool as usize];
            let free = chosen.free.len();
            if chosen.open[stream].is_some() || (free > 0 && self.blocks.copies_fit(pool, free - 1, 0)) {
                return Some(stream);
            }
            let mut gathered = std::mem::take(self.blocks.pools[pool as usize].gathered_for(stream));
            self.blocks.pools[pool as usize].gc.gathered.append(&mut gathered);
            *self.blocks.pools[pool as usize].gathered_for(stream) = gathered;
        }
        let room = self.blocks.copy_room(pool, last);
        (self.blocks.pools[pool as usize].gc.gathered.len() as u32 >= room).then_some(last)
    }

    /// Gathers valid slots of a victim for its stream, until they fill a program or the victim has no more.
    fn gather_from(&mut self, flash: &mut Flash<'_>, pool: u32, victim: usize) {
        let (end, victim) =
            (self.blocks.layout.shape.superblock_slots(), &self.blocks.pools[pool as usize].gc.victims[victim]);
        let (superblock, cursor) = (victim.superblock, victim.cursor);
        let stream = self.writer.stream_of_copies(self.blocks, pool, superblock);
        let room = self.blocks.copy_room(pool, stream) as usize;
        // Taken out of the pool while `self` is in use, and put back so that its memory is kept.
        let mut gathered = std::mem::take(self.blocks.pools[pool as usize].gathered_for(stream));
        let before = gathered.len();
        let mut valid = self.blocks.table.valid_slots(superblock, cursor);
        while gathered.len() < room
            && let Some(psn) = valid.next()
        {
            prefetch_gathered(flash, (gathered.last().copied(), psn), &valid, room == 1);
            gathered.push(psn);
        }
        let last = gathered[before..].last().copied();
        let (count, is_filled) = (gathered.len() - before, gathered.len() >= room);
        *self.blocks.pools[pool as usize].gathered_for(stream) = gathered;
        self.blocks.table.pin_times(superblock, count as u32);
        let victims = &mut self.blocks.pools[pool as usize].gc.victims;
        if let Some(victim) = victims.iter_mut().find(|victim| victim.superblock == superblock) {
            match last.filter(|_| is_filled) {
                Some(last) => victim.cursor = self.blocks.layout.locate(last).1 + 1,
                None => victim.cursor = end,
            }
        }
        if !is_filled {
            self.blocks.erase_if_empty(flash, superblock);
        }
    }
}
