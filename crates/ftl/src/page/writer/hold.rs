//! Programs of several streams behind a write buffer, which wait until they are full.
//!
//! The data of one program of the buffer go to programs of several streams, each of which is then partly full. The
//! buffer has acknowledged the data, so such a program may wait for more. It waits until [`PATIENCE`] lists of its pool
//! have ended, so that no flush waits for ever, or until no list of any pool is in progress. Then one program is sent,
//! so that always some program is in progress.

use flash::nand::Stream;

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::page::writer::Writer;
use crate::port::Flash;

/// The number of lists of a pool that end while a program waits there, at most.
const PATIENCE: u32 = 16;

impl Writer {
    /// True if programs wait for data of their stream.
    #[inline]
    pub(in crate::page) fn fills_streams(&self, flash: &Flash<'_>) -> bool {
        self.streams.is_some() && !self.gathers && flash.backend.is_timed()
    }

    /// Counts a list of writes that is submitted.
    #[inline]
    pub(in crate::page) fn count_begun(&mut self, blocks: &BlockManager, pool: u32) {
        if let Some(streams) = self.streams.as_mut().filter(|_| pool < blocks.groups) {
            streams.writing += 1;
        }
    }

    /// Counts a list of writes that has finished.
    #[inline]
    pub(in crate::page) fn count_ended(&mut self, blocks: &mut BlockManager, pool: u32) {
        if let Some(streams) = self.streams.as_mut().filter(|_| pool < blocks.groups) {
            streams.writing -= 1;
            blocks.pools[pool as usize].queue.ended = blocks.pools[pool as usize].queue.ended.wrapping_add(1);
        }
    }

    /// Lets the program of a pool's present stream wait for more data. Returns false if it should not wait.
    pub(in crate::page) fn hold_for_stream(&mut self, blocks: &mut BlockManager, pool: u32) -> bool {
        let fills = blocks.program_slots() > 1 && blocks.kind_in(pool) == Holds::Data;
        let Some(streams) = &mut self.streams else { return false };
        let chosen = &mut blocks.pools[pool as usize];
        if !chosen.queue.open.held {
            chosen.queue.open.held_at = chosen.queue.ended;
        }
        let is_patient = chosen.queue.ended.wrapping_sub(chosen.queue.open.held_at) < PATIENCE;
        chosen.queue.open.held = fills && chosen.queue.open.program.is_some() && is_patient && streams.writing > 0;
        if chosen.queue.open.held {
            streams.with_held.insert(pool);
        }
        chosen.queue.open.held
    }

    /// Sends the programs of a pool that have waited long enough. Returns true if there was such a program.
    pub(in crate::page) fn send_overdue(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        pool: u32,
    ) -> bool {
        let mut sent = false;
        self.for_each_stream(blocks, pool, |writer, blocks| {
            let queue = &blocks.pools[pool as usize].queue;
            if queue.open.held && queue.ended.wrapping_sub(queue.open.held_at) >= PATIENCE {
                writer.send(blocks, flash, pool);
                sent = true;
            }
        });
        sent
    }

    /// A pool with a waiting program, if no list of writes is in progress.
    pub(in crate::page) fn next_with_held(&mut self, blocks: &BlockManager) -> Option<u32> {
        let streams = self.streams.as_mut()?;
        while streams.writing == 0 {
            let with_held = &mut streams.with_held;
            let pool = with_held.first_from(streams.turn).or_else(|| with_held.first_from(0))?;
            streams.turn = pool + 1;
            if blocks.pools[pool as usize].queue.each_list().any(|of| of.held) {
                return Some(pool);
            }
            with_held.remove(pool);
        }
        None
    }

    /// Sends the program under assembly with the most mapping units of a pool.
    pub(in crate::page) fn send_fullest(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, pool: u32) {
        let mut fullest = None;
        self.for_each_stream(blocks, pool, |_writer, blocks| {
            let chosen = &blocks.pools[pool as usize];
            let units = chosen.queue.open.program.map_or(0, |program| flash.backend.command(program.command).count());
            if chosen.queue.open.list.is_some() && fullest.is_none_or(|(most, _): (u32, Stream)| units > most) {
                fullest = Some((units, chosen.queue.stream));
            }
        });
        if let Some((_, stream)) = fullest {
            blocks.pools[pool as usize].queue.turn_to(stream);
            self.send(blocks, flash, pool);
        }
    }
}
