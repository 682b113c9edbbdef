//! Gathers writes into whole one-shot programs and word lines.
//!
//! A one-shot program takes whole word lines: it pads the rest if its data is too little, and only an erase gives that
//! space back. So a program of host data that is not full waits for later writes, but only while waiting costs nothing:
//! while an earlier program of its pool is in progress, so that the die could not begin this one anyway. The end of the
//! last such program sends it. The programs of a write buffer do not wait, because the buffer has gathered their data;
//! with several streams they wait in [another way](crate::page::streams).
//!
//! Word lines of paired pages (`flash.paired-pages`) are filled in the same way, with a program for each row: a list
//! takes whole word lines, and rows without data stay erased. So no page that was acknowledged shares its cells with a
//! program in progress.
//!
//! With time off, every program waits until it is full, until a write finds no space, or until `close_programs`.

use flash::nand::Stream;

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::page::writer::Writer;
use crate::port::Flash;
use crate::sabotage::Sabotage;

impl Writer {
    /// Lets a pool's program under assembly wait for more data. Returns false if it should not wait.
    pub(in crate::page) fn hold(&mut self, blocks: &mut BlockManager, flash: &Flash<'_>, pool: u32) -> bool {
        if self.fills_streams(flash) {
            return self.hold_for_stream(blocks, pool);
        }
        let fills = blocks.shape.word_line > 1 || (self.streams.is_some() && blocks.program_slots() > 1);
        let fills = fills && blocks.kind_in(pool) == Holds::Data;
        let chosen = &mut blocks.pools[pool as usize];
        let waits = if flash.backend.is_timed() { self.gathers && chosen.queue.under_way > 0 } else { true };
        chosen.queue.open.held = fills && waits && chosen.queue.open.program.is_some();
        chosen.queue.open.held
    }

    pub(in crate::page) fn send_held(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, pool: u32) {
        self.for_each_stream(blocks, pool, |writer, blocks| {
            let forgets = blocks.planted.is(Sabotage::ParkedForgotten)
                && blocks.pools[pool as usize].queue.stream != Stream::HOST;
            if blocks.pools[pool as usize].queue.open.held && !forgets {
                writer.send(blocks, flash, pool);
            }
        });
    }
}
