//! Gathers writes into whole one-shot programs and word lines.
//!
//! A one-shot program takes whole word lines: it pads what its data leave free, and only an erase gives that space
//! back. So a program of host data that is not full waits for later writes, but only where waiting costs nothing: while
//! an earlier program of its pool is in progress, and the die could not begin this one anyway. The end of the last of
//! them sends it. The programs of a write buffer do not wait, because the buffer has gathered their data; with several
//! streams they wait in [another way](super::streams).
//!
//! Word lines of paired pages (`flash.paired-pages`) are filled in the same way, with a program for each row: a list
//! takes whole word lines, and what its data leave free stays erased. So no page that was acknowledged shares its cells
//! with a program in progress.
//!
//! With time off, every program waits until it is full, until a write finds no space, or until
//! [`PageFtl::close_programs`].

use base::units::Lpn;
use flash::nand::Stream;

use super::PageFtl;
use super::block_manager::BlockManager;
use super::block_manager::pool::Holds;
use super::writer::Writer;
use crate::port::{Flash, Owners};
use crate::sabotage::Sabotage;
use crate::toolkit::Slots;

impl Writer {
    /// Lets a pool's program under assembly wait for more data. Returns false if it should not wait.
    pub(super) fn hold(&mut self, blocks: &mut BlockManager, flash: &Flash<'_>, pool: u32) -> bool {
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

    fn send_held(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, pool: u32) {
        self.for_each_stream(blocks, pool, |writer, blocks| {
            let forgets = blocks.planted.is(Sabotage::ParkedForgotten)
                && blocks.pools[pool as usize].queue.stream != Stream::HOST;
            if blocks.pools[pool as usize].queue.open.held && !forgets {
                writer.send(blocks, flash, pool);
            }
        });
    }
}

impl PageFtl {
    /// Sends a pool's program that has waited for the end of the pool's other programs.
    pub(super) fn end_hold(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        if self.writer.fills_streams(flash) {
            return self.end_hold_of_streams(flash, owners, pool);
        }
        let chosen = &self.blocks.pools[pool as usize];
        let ends =
            chosen.queue.under_way == 0 && flash.backend.is_timed() && chosen.queue.each_list().any(|of| of.held);
        if ends && !self.blocks.planted.is(Sabotage::HeldForgotten) {
            self.writer.send_held(&mut self.blocks, flash, pool);
            self.start_gc(flash, owners, pool);
        }
    }

    /// Sends all programs that wait for more data.
    pub(crate) fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        for pool in 0..self.blocks.groups {
            if self.blocks.pools[pool as usize].queue.each_list().any(|of| of.held) {
                self.writer.send_held(&mut self.blocks, flash, pool);
                self.start_gc(flash, owners, pool);
            }
        }
    }

    /// Lists the mapping units of lists that wait for more data.
    pub(crate) fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>) {
        let lists = self.blocks.pools.iter().flat_map(|pool| pool.queue.each_list());
        for list in lists.filter(|of| of.held).filter_map(|of| of.list) {
            let mut slots = Slots::of(flash.backend, list);
            while let Some((_, slot)) = slots.next(flash.backend) {
                into.push(slot.lpn);
            }
        }
    }
}
