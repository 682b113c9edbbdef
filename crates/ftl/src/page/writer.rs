//! The writer: brings mapping units to the open superblocks of their streams.
//!
//! A write takes four steps: [placement](super::writer::place) chooses a pool; the mapping unit joins the program under
//! assembly there; the program goes to the pool's open superblock; the program's list goes to the flash.

pub(super) mod firmware;
mod gather;
mod hold;
mod intake;
mod place;
pub(super) mod placement;
pub(super) mod pool_set;
mod stream;
mod word_line;

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::Span;
use flash::backend::{Cause, Class, Command, SlotRef};
use flash::nand::{Media, Mode, Stream};

use super::block_manager::BlockManager;
use super::block_manager::collection::Victim;
use super::block_manager::pool::Holds;
use super::block_manager::write_queue::Assembly;
use super::mapping::Mapping;
use super::streams::Streams;
use super::{ListPurpose, PageConfig};
use crate::port::{Flash, Owners, PageWrite};
use crate::sabotage::Sabotage;
use crate::toolkit::{push_unit, read_rest};
use firmware::Firmware;
use gather::Gather;
use placement::Placer;
use pool_set::PoolSet;

/// The state of writes on their way to the flash: placement, streams, and writes without space.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) placer: Placer,
    /// The streams; none if host data and copies have one stream each.
    pub(super) streams: Option<Box<Streams>>,
    /// True if the FTL gathers writes into programs, because no write buffer does.
    pub(super) gathers: bool,
    pub(super) firmware: Firmware,
    /// Mapping units of each set that have no space in any pool of the set until other programs end.
    pub(super) unplaced: Vec<VecDeque<PageWrite>>,
    /// Data pools with waiting writes, and some that had them.
    with_waiting: PoolSet,
    /// Mapping units of the present request that wait, since the placement last moved on.
    pub(super) waited: u32,
    /// The NVM set of the latest waiting mapping unit.
    pub(super) waited_set: u32,
    /// True if a mapping unit of the present request waits for space.
    pub(super) stalled: bool,
    /// Pools in which the present request has a program or a list.
    pub(super) touched: Vec<u32>,
    /// True if the next program begins with a page of a checkpoint.
    stores_checkpoint: bool,
    pub(super) gather: Option<Gather>,
}

impl Writer {
    pub(super) fn new(config: &PageConfig, blocks: &BlockManager) -> Self {
        Self {
            placer: match Placer::new(&config.placement, &config.geometry, &config.sets) {
                placer if config.gathers => placer,
                placer => placer.behind_buffer(blocks.groups),
            },
            streams: Streams::new((&config.streams, config.fdp.as_ref()), &config.geometry, &config.foresight),
            gathers: config.gathers,
            firmware: Firmware::new(config.firmware),
            unplaced: vec![VecDeque::new(); blocks.sets.len()],
            with_waiting: PoolSet::new(blocks.groups),
            waited: 0,
            waited_set: 0,
            stalled: false,
            touched: Vec::new(),
            stores_checkpoint: false,
            gather: config.map_gather.map(Gather::new),
        }
    }

    /// Bytes of memory of a description's writer.
    pub(super) fn memory(config: &PageConfig) -> u64 {
        let geometry = &config.geometry;
        let groups = u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let members: u64 = config.sets.iter().map(|set| set.len() as u64).sum::<u64>() * u64::from(geometry.groups());
        let turns = members * size_of::<u32>() as u64;
        let placer = if config.gathers { 0 } else { Placer::memory_behind_buffer(groups, members) };
        turns + placer + Streams::memory(&config.streams)
    }

    pub(super) const fn set_of_pages(&self) -> u32 {
        self.unplaced.len() as u32 - 1
    }

    #[inline]
    pub(super) fn set_of(&self, mapping: &Mapping, owners: &dyn Owners, unit: &PageWrite) -> u32 {
        if mapping.kind_of(unit.lpn) == Holds::Data { owners.set(unit.owner) } else { self.set_of_pages() }
    }

    /// True if work in progress may leave garbage in the pools of a set. For translation pages neither data nor answers
    /// of the map unit count as such work, because both may wait for translation pages.
    pub(super) fn makes_room(&self, blocks: &BlockManager, mapping: &Mapping, set: u32) -> bool {
        let programming =
            |set: u32| blocks.sets[set as usize].iter().any(|pool| blocks.pools[*pool as usize].is_programming());
        let pages = self.set_of_pages();
        programming(set) || (set != pages && (programming(pages) || mapping.awaits_answers()))
    }

    /// True if writes of a set wait for space and no work in progress will wake them.
    pub(super) fn forgotten(&self, blocks: &BlockManager, mapping: &Mapping) -> bool {
        let waits = |set: &u32| !self.unplaced[*set as usize].is_empty() && !self.makes_room(blocks, mapping, *set);
        (0..self.unplaced.len() as u32).any(|set| waits(&set))
    }

    /// Queues a write in its pool until the pool has space.
    pub(super) fn let_wait(&mut self, blocks: &mut BlockManager, pool: u32, unit: PageWrite) {
        blocks.pools[pool as usize].queue.waiting.push_back(unit);
        if blocks.kind_in(pool) == Holds::Data {
            self.with_waiting.insert(pool);
            self.note_load(blocks, pool);
        }
    }

    /// The first data pool with waiting writes, from `pool` on.
    pub(super) fn first_with_waiting(&mut self, blocks: &BlockManager, pool: u32) -> Option<u32> {
        loop {
            let found = self.with_waiting.first_from(pool)?;
            if !blocks.pools[found as usize].queue.waiting.is_empty() {
                return Some(found);
            }
            self.with_waiting.remove(found);
        }
    }

    /// Writes a translation page to any log that has room beside its own copies. Returns false if no log has.
    pub(super) fn store_anywhere(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &mut Mapping,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        unit: &PageWrite,
    ) -> bool {
        let Some(pool) = blocks.pool_for_last_page() else { return false };
        // The page has a program of its own, which waits for no more data.
        blocks.pools[pool as usize].queue.turn_to(Stream::HOST);
        self.send(blocks, flash, pool);
        let chosen = &mut blocks.pools[pool as usize];
        chosen.live += 1;
        chosen.in_flight += 1;
        self.begin_program(blocks, mapping, flash, pool, true).expect("it has room");
        self.append(blocks, mapping, flash, owners, pool, unit);
        self.send(blocks, flash, pool);
        true
    }

    /// Adds a write to the program under assembly in a pool. Returns false if the pool needs a free superblock for the
    /// write and may not take one now.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Most writes find a program with room: a call would cost 25 instructions.
    pub(super) fn append(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &mut Mapping,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        pool: u32,
        unit: &PageWrite,
    ) -> bool {
        blocks.pools[pool as usize].queue.turn_to(unit.stream.unwrap_or_default());
        // Most units are whole, and do not fill their program.
        if let Some(assembly) = blocks.pools[pool as usize].queue.open.program
            && takes_more(flash, assembly)
            && unit.is_whole(blocks.layout.shape.sectors)
            && blocks.kind_in(pool) == Holds::Data
            && mapping.checkpoints.is_none()
        {
            blocks.pools[pool as usize].queue.set = owners.set(unit.owner);
            push_unit(flash, owners, assembly.command, unit);
            return true;
        }
        self.append_to_next(blocks, mapping, flash, owners, pool, unit)
    }

    /// Adds a write that begins a program, ends one, or covers only a part of its mapping unit.
    #[inline(never)]
    fn append_to_next(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &mut Mapping,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        pool: u32,
        unit: &PageWrite,
    ) -> bool {
        self.part_programs(blocks, mapping, flash, pool, unit);
        let assembly = match self.open_program(blocks, flash, pool) {
            Some(assembly) if !is_full(flash, assembly) => assembly,
            // A full row is followed by the next row of the word line.
            Some(assembly) => {
                blocks.cover(flash, assembly.command);
                blocks.advance(pool, blocks.pools[pool as usize].queue.stream, assembly.end);
                // A superblock that loses a member is closed between two rows.
                let chosen = &mut blocks.pools[pool as usize];
                chosen.queue.open.program = None;
                let next = match chosen.open[chosen.queue.stream] {
                    Some(_) => Some(self.add_program(blocks, mapping, flash, pool, false)),
                    None => self.begin_program(blocks, mapping, flash, pool, false),
                };
                let Some(assembly) = next else { return false };
                owners.charge(unit.owner);
                assembly
            }
            None => {
                let Some(assembly) = self.begin_program(blocks, mapping, flash, pool, false) else { return false };
                owners.charge(unit.owner);
                assembly
            }
        };
        blocks.pools[pool as usize].queue.set = owners.set(unit.owner);
        let to = push_unit(flash, owners, assembly.command, unit);
        let missed = blocks.planted.is(Sabotage::RestUnread) && unit.is_whole(blocks.layout.shape.sectors - 1);
        if !unit.is_whole(blocks.layout.shape.sectors) && !missed {
            Self::read_rest(blocks, mapping, flash, owners, pool, unit, (assembly.command, to));
        }
        let count = flash.backend.command(assembly.command).count();
        let last_row = || assembly.end == blocks.program_end_in(assembly.mode, assembly.start);
        if (is_full(flash, assembly) && last_row()) || self.is_gathered(blocks, pool, count) {
            self.end_program(blocks, flash, pool);
            // All commands of a list are of one die.
            if blocks.pools[pool as usize].queue.open.held || blocks.layout.striping.is_some() {
                self.send(blocks, flash, pool);
            }
        }
        true
    }

    /// Ends the program under assembly in a pool if a mapping unit must not join it: pages of checkpoints have programs
    /// of their own, because such programs have another cause.
    #[inline]
    fn part_programs(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &mut Mapping,
        flash: &mut Flash<'_>,
        pool: u32,
        unit: &PageWrite,
    ) {
        let Some(checkpoints) = &mut mapping.checkpoints else { return };
        let stores = checkpoints.note_write(unit.lpn);
        self.stores_checkpoint = stores;
        let other = |command| (flash.backend.command(command).cause == Cause::Map) != stores;
        if blocks.pools[pool as usize].queue.open.program.is_some_and(|assembly| other(assembly.command)) {
            self.send(blocks, flash, pool);
        }
    }

    /// The program under assembly in a pool. A full one ends here instead of going on with the next row, if an earlier
    /// program has failed in its superblock.
    fn open_program(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, pool: u32) -> Option<Assembly> {
        let chosen = &blocks.pools[pool as usize];
        let ended = chosen.open[chosen.queue.stream].is_none();
        if blocks.pools[pool as usize].queue.open.program.is_some_and(|assembly| ended && is_full(flash, assembly)) {
            self.end_program(blocks, flash, pool);
        }
        blocks.pools[pool as usize].queue.open.program
    }

    /// Adds the read of the sectors that a partly written mapping unit keeps. Later programs to the superblock wait for
    /// this program.
    fn read_rest(
        blocks: &mut BlockManager,
        mapping: &Mapping,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        pool: u32,
        unit: &PageWrite,
        program: (Handle<Command>, SlotRef),
    ) {
        let Some(psn) = mapping.rest_of(unit) else { return };
        let list = blocks.pools[pool as usize].queue.open.list.expect("a program is in a list");
        if blocks.is_rebuilt(flash.backend.media(), psn) {
            blocks.rebuild_into(flash, list, psn, program);
        } else {
            let (superblock, _) = blocks.layout.locate(psn);
            if !blocks.planted.is(Sabotage::PinForgotten) {
                blocks.table.pin(superblock);
            }
            read_rest(flash, owners, list, (unit, psn), program);
        }
        if !blocks.planted.is(Sabotage::GateForgotten) {
            blocks.set_gate(flash, pool, program.0);
        }
    }

    /// Begins a program in the log of a pool. As a `last` resort a program of translation pages may use the pool's
    /// reserve.
    fn begin_program(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &Mapping,
        flash: &mut Flash<'_>,
        pool: u32,
        last: bool,
    ) -> Option<Assembly> {
        if !last && !blocks.admits(pool) {
            return None;
        }
        let free = blocks.pools[pool as usize].free.len();
        let stream = blocks.pools[pool as usize].queue.stream;
        let opens = blocks.pools[pool as usize].open(stream).is_none();
        if blocks.gc.shared_log && !last && !blocks.shares_room(pool, free, opens) {
            return None;
        }
        if opens {
            let opens_set_aside = !last && blocks.opens_set_aside(flash, pool, stream);
            // One free superblock is reserved for copies of garbage collection, and more while collection runs.
            let least = 1 + blocks.pools[pool as usize].kept_for_copies();
            let kept = !blocks.gc.shared_log && (free <= least || !blocks.copies_fit(pool, free - 1, 0));
            let kept = kept && !opens_set_aside;
            if kept && (free == 0 || !blocks.planted.is(Sabotage::ReserveTaken)) {
                return None;
            }
            let mode = if last { Mode::Full } else { blocks.mode_to_open(flash, pool, stream)? };
            // Copies of wear levelling may be on their way to the superblock that is opened here.
            let worn = blocks.gc.shared_log && std::mem::take(&mut blocks.pools[pool as usize].gc.levelling.want_worn);
            blocks.open_in(mode, pool, stream, worn);
        }
        Some(self.add_program(blocks, mapping, flash, pool, last))
    }

    /// Adds a program at the next row, or rows, of the open superblock to the list of a pool.
    fn add_program(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &Mapping,
        flash: &mut Flash<'_>,
        pool: u32,
        last: bool,
    ) -> Assembly {
        let chosen = &mut blocks.pools[pool as usize];
        let list = match chosen.queue.open.list {
            Some(list) => list,
            None => {
                let list = flash.backend.open_list(Class::Other, ListPurpose::Write as u32);
                chosen.queue.open.list = Some(list);
                self.touched.push(pool);
                list
            }
        };
        let stream = chosen.queue.stream;
        let open = chosen.open[stream].expect("just opened");
        let target = blocks.layout.target(open.superblock, open.next);
        let cause = match blocks.kind_in(pool) {
            Holds::Data if self.stores_checkpoint => Cause::Map,
            Holds::Data if !last => Cause::Host,
            _ if mapping.is_rewriting() => Cause::Recovery,
            _ => Cause::Map,
        };
        let command = flash.backend.add_program(list, cause, target, stream);
        if open.mode == Mode::Slc {
            flash.backend.in_slc_mode(command);
        }
        blocks.pass_gate(flash, pool, command);
        blocks.table.begin_program(open.superblock);
        let rows = blocks.layout.shape.row_slots() * blocks.shape_in(open.mode).one_shot;
        blocks.pay(pool, rows);
        let assembly = Assembly { command, start: open.next, end: (open.next / rows + 1) * rows, mode: open.mode };
        blocks.pools[pool as usize].queue.open.program = Some(assembly);
        assembly
    }

    /// Ends the program under assembly: it takes no more mapping units.
    fn end_program(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, pool: u32) {
        let Some(assembly) = blocks.pools[pool as usize].queue.open.program.take() else { return };
        self.end_gathering(pool);
        let count = flash.backend.command(assembly.command).count();
        let slots = blocks.layout.shape.slots;
        let covered = assembly.start + count.div_ceil(slots) * slots;
        let whole_rows = blocks.shape_in(assembly.mode).whole_rows && !blocks.planted.is(Sabotage::RowsUnfilled);
        let end = if whole_rows { assembly.end } else { covered };
        flash.backend.set_padding(assembly.command, end - covered);
        // The remaining rows of a word line stay erased.
        let next = if whole_rows { blocks.program_end_in(assembly.mode, assembly.start) } else { covered };
        blocks.cover(flash, assembly.command);
        let full = blocks.advance(pool, blocks.pools[pool as usize].queue.stream, next);
        if blocks.kind_in(pool) == Holds::Data {
            self.placer.program_filled(blocks.pools[pool as usize].queue.set, full);
        }
    }

    pub(super) fn send(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, pool: u32) {
        blocks.pools[pool as usize].queue.open.held = false;
        self.end_program(blocks, flash, pool);
        if blocks.kind_in(pool) == Holds::Data {
            self.placer.take_turns(blocks.pools[pool as usize].queue.set);
        }
        if let Some(list) = blocks.pools[pool as usize].queue.open.list.take() {
            blocks.pools[pool as usize].queue.under_way += 1;
            self.count_begun(blocks, pool);
            self.note_load(blocks, pool);
            self.count_store(blocks, pool);
            self.firmware.dispatch(flash, list);
            self.store_parity(blocks, flash);
        }
    }

    /// Programs the parity of complete stripes, behind the programs of the stripe.
    #[inline]
    pub(super) fn store_parity(&self, blocks: &mut BlockManager, flash: &mut Flash<'_>) {
        if blocks.parity.is_some() {
            self.store_complete_parity(blocks, flash);
        }
    }

    #[inline(never)]
    fn store_complete_parity(&self, blocks: &mut BlockManager, flash: &mut Flash<'_>) {
        while let Some(list) = blocks.next_parity(flash) {
            self.firmware.dispatch_after(flash, list, Span::ZERO);
        }
    }

    /// Continues the waiting writes of a pool while it has space.
    #[inline]
    pub(super) fn resume(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &mut Mapping,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        pool: u32,
    ) {
        if !blocks.pools[pool as usize].queue.waiting.is_empty() {
            self.write_waiting(blocks, mapping, flash, owners, pool);
        }
    }

    #[inline(never)]
    fn write_waiting(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &mut Mapping,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        pool: u32,
    ) {
        while let Some(unit) = blocks.pools[pool as usize].queue.waiting.front().copied() {
            if mapping.asks_place(blocks, flash, &unit) {
                let chosen = &mut blocks.pools[pool as usize];
                chosen.queue.waiting.pop_front();
                chosen.live -= 1;
                chosen.in_flight -= 1;
                continue;
            }
            if !self.append(blocks, mapping, flash, owners, pool, &unit) {
                break;
            }
            blocks.pools[pool as usize].queue.waiting.pop_front();
        }
        self.touched.retain(|touched| *touched != pool);
        self.note_load(blocks, pool);
        // With several streams, programs that are not full go on waiting if they may.
        let all = self.streams.is_none() || !flash.backend.is_timed();
        self.end_lists(blocks, flash, pool, all);
        self.announce_room(owners);
    }

    /// True if gathered mapping units must be copied although they do not fill a program. Otherwise they wait for more.
    /// The reasons:
    /// * a write waits for the space;
    /// * a block is failing, or data is refreshed;
    /// * the SLC cache is folded because the host is idle, or beside direct writes;
    /// * wear is levelled among translation pages or in one of several streams, which may never gather more;
    /// * a check of wear levelling waits.
    pub(super) fn must_pad(&self, blocks: &BlockManager, pool: u32) -> bool {
        let chosen = &blocks.pools[pool as usize];
        let stalled = !chosen.is_moving();
        let now = |victim: &Victim| match victim.cause {
            Cause::Wear => blocks.kind_in(pool) == Holds::Pages || !chosen.gc.sorted.is_empty(),
            Cause::Fold => blocks.pads_folds(),
            cause => matches!(cause, Cause::Recovery | Cause::Refresh),
        };
        let urgent = chosen.gc.victims.iter().any(now) || chosen.gc.levelling.pads || self.is_awaited(blocks, pool);
        stalled && chosen.gc.has_gathered() && urgent
    }

    /// Submits the programs of the present request in a shared log, so that copies come behind them.
    pub(super) fn yield_log(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, pool: u32) {
        if blocks.gc.shared_log && blocks.pools[pool as usize].queue.open.list.is_some() {
            self.send(blocks, flash, pool);
        }
    }

    /// Queues a mapping unit of a failed program in its pool. A translation page is never queued in a data pool.
    #[cold]
    pub(super) fn write_again(&mut self, blocks: &mut BlockManager, mapping: &Mapping, pool: u32, unit: PageWrite) {
        let at_home = mapping.kind_of(unit.lpn) == blocks.kind_in(pool);
        if at_home {
            return self.let_wait(blocks, pool, unit);
        }
        let waits = &mut blocks.pools[pool as usize];
        waits.live -= 1;
        waits.in_flight -= 1;
        if let Some(pages) = self.unplaced.last_mut() {
            pages.push_back(unit);
        }
    }

    /// True if writes of translation pages wait for a superblock, because the group's pool of pages has lost one.
    pub(super) fn wants_block(&self, blocks: &BlockManager, group: u32) -> bool {
        let Some(pages) = blocks.pools.get((blocks.groups + group) as usize) else { return false };
        let waits = !pages.queue.waiting.is_empty() || self.unplaced.last().is_some_and(|pages| !pages.is_empty());
        let slots = blocks.layout.shape.superblock_slots();
        let is_full = pages.missing_slots > 0 && !pages.has_room(slots);
        waits && pages.lacks(slots) && (is_full || pages.free.is_empty())
    }

    /// A stream whose open superblock lags because it is written so rarely, and that has no program under assembly. The
    /// superblock is closed early, so that wear levelling can move it. None with one stream of each kind, because both
    /// are always in use.
    pub(super) fn lagging_stream(
        &self,
        blocks: &BlockManager,
        pool: u32,
        lags: impl Fn(u32) -> bool,
        media: &Media,
    ) -> Option<Stream> {
        self.streams.as_ref()?;
        let opens = blocks.pools[pool as usize].open.each().flatten();
        let full_mode = opens.filter(|open| !blocks.is_set_aside(open.superblock));
        let lagging = full_mode.filter(|open| lags(blocks.layout.erases(media, open.superblock)));
        let streams = lagging.map(|open| blocks.table.stream(open.superblock));
        streams.into_iter().find(|stream| !blocks.pools[pool as usize].queue.assembles(*stream))
    }

    /// True if a write waits for space that collection of a pool will free. If collection starts at zero, or a pool
    /// gave up, writes that no pool has taken count as well, because another pool, whose reserve has failed, may need
    /// this pool's help.
    pub(super) fn is_awaited(&self, blocks: &BlockManager, pool: u32) -> bool {
        let unplaced = || self.unplaced.iter().any(|waiting| !waiting.is_empty());
        !blocks.pools[pool as usize].queue.waiting.is_empty()
            || ((blocks.gc.start == 0 || blocks.gave_up) && unplaced())
    }
}

/// True if a program under assembly will have room left after one more mapping unit.
#[inline]
fn takes_more(flash: &Flash<'_>, assembly: Assembly) -> bool {
    flash.backend.command(assembly.command).count() + 1 < assembly.end - assembly.start
}

/// True if a program under assembly has no room left.
fn is_full(flash: &Flash<'_>, assembly: Assembly) -> bool {
    flash.backend.command(assembly.command).count() == assembly.end - assembly.start
}
