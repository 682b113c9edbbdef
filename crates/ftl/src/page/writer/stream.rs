//! The streams of a page-mapped FTL's writes and copies, and the lists of each stream of host data in a pool.

use base::units::{Sectors, SuperblockId};
use flash::nand::Stream;

use crate::page::block_manager::BlockManager;
use crate::page::mapping::Mapping;
use crate::page::streams::HostWrite;
use crate::page::writer::Writer;
use crate::port::{Flash, Origin, Owners, PageWrite};

impl Writer {
    /// The write with the number of its stream, for which the policy is asked once.
    #[inline]
    pub(in crate::page) fn with_stream(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &Mapping,
        owners: &dyn Owners,
        unit: PageWrite,
    ) -> PageWrite {
        match self.streams {
            None => unit,
            Some(_) => self.choose_stream(blocks, mapping, owners, unit),
        }
    }

    #[inline(never)]
    fn choose_stream(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &Mapping,
        owners: &dyn Owners,
        unit: PageWrite,
    ) -> PageWrite {
        let Some(streams) = self.streams.as_mut().filter(|_| unit.stream.is_none() && unit.lpn.get() < mapping.units)
        else {
            return unit;
        };
        let Origin { sectors, queue, placement } = owners.origin(unit.owner);
        blocks.note_placement(placement);
        let request = Sectors::new(u64::from(if sectors == 0 { blocks.layout.shape.sectors } else { sectors }));
        let (set, is_partial) = (owners.set(unit.owner), !unit.is_whole(blocks.layout.shape.sectors));
        let write = HostWrite { lpn: unit.lpn, request, queue: queue.into(), placement, set, is_partial, written: 0 };
        PageWrite { stream: Some(streams.of_host(write)), ..unit }
    }

    /// The stream of the copies of a superblock's mapping units.
    pub(in crate::page) fn stream_of_copies(&self, blocks: &BlockManager, pool: u32, source: SuperblockId) -> Stream {
        let last = blocks.pools[pool as usize].copies;
        match &self.streams {
            Some(streams) if pool < blocks.groups => streams.of_copies(blocks.table.stream(source)),
            _ => last,
        }
    }

    /// Counts the mapping units of a program that has ended.
    #[inline]
    pub(in crate::page) fn count_in_stream(&mut self, blocks: &BlockManager, superblock: SuperblockId, units: u32) {
        let Some(streams) = self.streams.as_mut().filter(|_| !blocks.table.is_map(superblock)) else { return };
        let stream = blocks.table.stream(superblock);
        let counters = &mut streams.counters;
        let of = if stream.is_host() { &mut counters.host } else { &mut counters.copies };
        of[usize::from(stream.number())] += u64::from(units);
    }

    /// Sends the lists of a pool: all of them, or only those that should not wait for more data.
    pub(in crate::page) fn end_lists(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        pool: u32,
        all: bool,
    ) {
        if !all && self.fills_streams(flash) && self.streams.as_ref().is_some_and(|streams| streams.writing == 0) {
            self.send_fullest(blocks, flash, pool);
        }
        self.for_each_stream(blocks, pool, |writer, blocks| {
            if all || !writer.hold(blocks, flash, pool) {
                writer.send(blocks, flash, pool);
            }
        });
    }

    /// Lets a stream of host data leave the superblock that it has open in a pool. The data gathered there is programmed first.
    pub(in crate::page) fn leave_superblock(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        pool: u32,
        stream: Stream,
    ) {
        blocks.pools[pool as usize].queue.turn_to(stream);
        if blocks.pools[pool as usize].queue.open.list.is_some() {
            self.touched.retain(|touched| *touched != pool);
            self.send(blocks, flash, pool);
        }
        if blocks.close_early(pool, stream) {
            self.store_parity(blocks, flash);
        }
    }

    /// Calls `run` for each stream of host data of a pool, as the present one.
    #[inline]
    pub(in crate::page) fn for_each_stream(
        &mut self,
        blocks: &mut BlockManager,
        pool: u32,
        mut run: impl FnMut(&mut Self, &mut BlockManager),
    ) {
        let others = blocks.pools[pool as usize].queue.others.len();
        for number in 0..others {
            blocks.pools[pool as usize].queue.turn_to(Stream::host(number as u8));
            run(self, blocks);
        }
        if others == 0 {
            run(self, blocks);
        }
    }
}
