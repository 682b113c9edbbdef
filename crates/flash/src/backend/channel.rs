//! A channel carries one transfer at a time; a command may also keep the channel between its transfers.
//!
//! The data of a program of several pages crosses page by page, and a host read may go between two of the pages
//! ([`super::Arbitration::between_pages`]). While no host read waits, all remaining pages cross as one transfer with
//! one event at its end. A host read that arrives meanwhile shortens the transfer to the end of the page under way. The
//! times are the same as with one transfer for each page. A program that let a read pass keeps its place at the head of
//! its queue, so that the order of the channel ([`BusOrder`]) decides which other transfers go before its next page.

use base::engine::{Handle, Slab};
use base::units::{Bytes, Time};

use super::fast::QuietReads;
use super::load::TransferLoad;
use super::meter::{Generation, Meter};
use super::queue::{CLASSES, Queue};
use super::rules::Rules;
use super::{BusOrder, Cause, Command, CommandState, List};

impl CommandState {
    /// The queue in which a command waits in this state. [`BusOrder::ReadFirst`] also takes the class into account.
    #[inline]
    pub(super) const fn queue(self, order: BusOrder) -> usize {
        match (order, self) {
            (BusOrder::Fifo, _)
            | (BusOrder::CommandFirst, Self::CommandCycles | Self::DataIn | Self::Patch | Self::Status)
            | (BusOrder::DataFirst, Self::DataOut) => 0,
            (BusOrder::CommandFirst | BusOrder::DataFirst | BusOrder::ReadFirst, _) => CLASSES - 1,
        }
    }
}

impl Command {
    /// True if the data of a program crosses the channel, or waits for it, page by page.
    #[inline]
    const fn crosses_by_pages(&self, rules: &Rules) -> bool {
        rules.by_pages && matches!(self.state, CommandState::DataIn) && self.sectors == 0
    }

    /// The slot behind the page that crosses next.
    #[inline]
    pub(super) const fn next_page(&self, page: u32) -> u32 {
        let until = self.crossed + page;
        if until < self.count { until } else { self.count }
    }
}

/// A channel: the bus of some dies, or the link of a controller.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub(super) current: Option<Handle<Command>>,
    /// True between the end of a transfer and the choice of the next transfer. A command that asks for the channel in
    /// this time waits with the others.
    pub(super) chooses: bool,
    pub(super) queue: Queue<Command>,
    /// The cause of the command whose transfer began last.
    pub(super) last: Option<Cause>,
    pub(super) meter: Meter,
    /// The number of bytes of the transfer under way.
    pub(super) bytes: Bytes,
    /// For pages of a program: the number of the slot behind those that cross in the transfer under way.
    pub(super) crosses: u32,
    /// The number of waiting host reads. Counted only if they go between the pages of a program.
    host_reads: u32,
    /// Reads whose array phases end without an event.
    pub(super) quiet: QuietReads,
}

impl Channel {
    pub(super) fn new(quiet: QuietReads) -> Self {
        Self {
            current: None,
            chooses: false,
            queue: Queue::default(),
            last: None,
            meter: Meter::default(),
            bytes: Bytes::default(),
            crosses: 0,
            host_reads: 0,
            quiet,
        }
    }

    /// True if `handle` may begin a transfer: no other command has the channel.
    #[inline]
    pub(super) fn is_free_for(&self, handle: Handle<Command>) -> bool {
        !self.chooses && self.current.is_none_or(|current| current == handle)
    }

    /// Takes the channel from its command. The channel chooses the next transfer after all effects of the end of this
    /// one, so that the next command of a die that has become free is among those to choose from.
    #[inline]
    pub(super) const fn free(&mut self) {
        (self.current, self.chooses) = (None, true);
    }

    /// Lets a command wait in a queue.
    pub(super) fn wait(&mut self, rules: &Rules, commands: &mut Slab<Command>, class: usize, handle: Handle<Command>) {
        self.queue.push(commands, class, handle);
        if rules.by_pages && commands[handle].class.is_host_read() {
            self.host_reads += 1;
        }
    }

    /// Chooses the next of the waiting commands.
    #[inline]
    pub(super) fn choose(&mut self, rules: &Rules, commands: &Slab<Command>) -> Option<Handle<Command>> {
        self.chooses = false;
        let next = self.queue.pop(commands)?;
        if rules.by_pages && commands[next].class.is_host_read() {
            self.host_reads -= 1;
        }
        Some(next)
    }

    /// Takes the host read that goes first, if host reads wait. They are counted only if they go between pages.
    fn take_host_read(&mut self, commands: &mut Slab<Command>) -> Option<Handle<Command>> {
        if self.host_reads == 0 {
            return None;
        }
        let is_host_read = |commands: &Slab<Command>, next: Handle<Command>| commands[next].class.is_host_read();
        let read = self.queue.take_first(commands, is_host_read)?;
        self.host_reads -= 1;
        Some(read)
    }

    /// Begins a transfer, and notes the time and the causes that its command has waited for. Returns the number of the
    /// transfer's phase.
    #[inline]
    pub(super) fn begin(
        &mut self,
        (now, load): (Time, TransferLoad),
        handle: Handle<Command>,
        command: &mut Command,
        lists: &mut Slab<List>,
    ) -> Generation {
        if now > command.ready {
            command.wait += now - command.ready;
            if let Some(cause) = self.last {
                lists[command.list].waited_for.insert(cause);
            }
        }
        self.current = Some(handle);
        self.last = Some(command.cause);
        self.bytes = load.bytes;
        self.meter.begin(now, now + load.time)
    }

    /// Ends a transfer, or the time for which a command keeps the channel. The command still has the channel
    /// afterwards.
    #[inline]
    pub(super) fn end(&mut self, now: Time) -> (Handle<Command>, TransferLoad) {
        let handle = self.current.expect("a channel that works has a command");
        (handle, TransferLoad { time: self.meter.end(now), bytes: std::mem::take(&mut self.bytes) })
    }

    /// The end of the slots that cross in the next transfer of a program, as an index: one page if a host read waits,
    /// otherwise all remaining pages. `None` if the data does not cross page by page.
    #[inline]
    pub(super) fn pages_to_cross(&self, rules: &Rules, command: &Command) -> Option<u32> {
        let until = || if self.host_reads > 0 { command.next_page(rules.page_slots) } else { command.count };
        command.crosses_by_pages(rules).then(until)
    }

    /// True if pages of a program are crossing, between which a host read may go.
    #[inline]
    pub(super) fn is_crossed_by_pages(&self, rules: &Rules, commands: &Slab<Command>) -> bool {
        rules.by_pages && self.current.is_some_and(|handle| commands[handle].crosses_by_pages(rules))
    }

    /// The number of the slot behind the page that crosses at `now`, and the time at which that page has crossed. A
    /// page that ends at `now` counts as crossing.
    fn page_under_way(&self, now: Time, rules: &Rules, command: &Command) -> (u32, Time) {
        let mut until = command.crossed;
        let mut at = self.meter.since();
        while until < self.crosses && (at < now || until == command.crossed) {
            let from = until;
            until = (from + rules.page_slots).min(self.crosses);
            at += rules.load_of_pages(from, until).time;
        }
        (until, at)
    }

    /// Shortens a transfer of several pages to the page under way, because a host read has begun to wait. Returns the
    /// new end and its number, or none if the transfer cannot be shortened.
    pub(super) fn shorten(&mut self, now: Time, rules: &Rules, command: &Command) -> Option<(Time, Generation)> {
        let (until, at) = self.page_under_way(now, rules, command);
        if until == self.crosses {
            return None;
        }
        (self.crosses, self.bytes) = (until, rules.load_of_pages(command.crossed, until).bytes);
        Some((at, self.meter.reschedule(at)))
    }

    /// Notes that pages of a program have crossed. Returns true if those were the last.
    pub(super) fn end_pages(&self, now: Time, command: &mut Command) -> bool {
        if command.sectors > 0 || self.crosses == command.count {
            command.crossed = 0;
            return true;
        }
        (command.crossed, command.ready) = (self.crosses, now);
        false
    }

    /// Takes a host read that goes before the next page of a program. The program waits at the head of its queue.
    pub(super) fn let_read_pass(
        &mut self,
        commands: &mut Slab<Command>,
        class: usize,
        program: Handle<Command>,
    ) -> Option<Handle<Command>> {
        let read = self.take_host_read(commands)?;
        self.queue.push_front(commands, class, program);
        Some(read)
    }

    /// The number of bytes of the transfer under way. For pages of a program, only pages that have begun count.
    pub(super) fn begun_bytes(&self, now: Time, rules: &Rules, commands: &Slab<Command>) -> Bytes {
        match self.current.map(|handle| &commands[handle]).filter(|command| command.crosses_by_pages(rules)) {
            Some(command) => {
                let (until, _) = self.page_under_way(now, rules, command);
                rules.load_of_pages(command.crossed, until).bytes
            }
            None => self.bytes,
        }
    }

    /// Forgets all commands, at a power cut.
    pub(super) fn cut(&mut self, now: Time) {
        self.meter.end(now);
        self.bytes = Bytes::default();
        (self.current, self.chooses) = (None, false);
        self.queue.clear();
        self.host_reads = 0;
        self.last = None;
        self.quiet.clear();
    }
}

#[cfg(test)]
mod tests {
    use base::units::{DieId, Rate, SuperblockId};

    use super::super::command_table::CommandTable;
    use super::super::{Arbitration, Class, Config, Op, Timing};
    use super::*;
    use crate::nand::{Geometry, Part, Stream, Target};
    use base::units::Span;

    const fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    fn command(table: &mut CommandTable, class: Class, op: Op, state: CommandState) -> Handle<Command> {
        let list = table.open(class, 0);
        let target = Target { superblock: SuperblockId::new(0), offset: 0 };
        let handle = table.add(list, op, Cause::Host, (DieId::new(0), target), Stream::HOST);
        table.commands[handle].state = state;
        handle
    }

    /// The rules of an array with two planes: a program has two pages, between which host reads go.
    fn rules() -> Rules {
        let part = Part::preset("dirik-2009").expect("a preset");
        let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 4, 1, 4).expect("a small array");
        let timing = Timing::new(&part, &geometry, Rate::new(100_000_000), false).expect("a valid part");
        let arbitration = Arbitration { between_pages: true, ..Arbitration::default() };
        Rules::new(&Config { arbitration, ..Config::new(timing) }, &geometry)
    }

    #[test]
    fn each_order_has_its_own_first() {
        let first = |order: BusOrder| {
            let states =
                [CommandState::CommandCycles, CommandState::DataIn, CommandState::Status, CommandState::DataOut];
            states.map(|state| state.queue(order) == 0)
        };
        assert_eq!(first(BusOrder::Fifo), [true; 4]);
        assert_eq!(first(BusOrder::CommandFirst), [true, true, true, false]);
        assert_eq!(first(BusOrder::DataFirst), [false, false, false, true]);
        assert_eq!(first(BusOrder::ReadFirst), [false; 4], "the class decides");
    }

    /// All effects of the end of a transfer come before the channel's choice. So a command that comes meanwhile waits,
    /// and may be chosen before one that came earlier.
    #[test]
    fn a_channel_chooses_among_all_that_have_come_by_then() {
        let (rules, mut table) = (rules(), CommandTable::new(2));
        let states = [CommandState::DataOut, CommandState::DataOut, CommandState::CommandCycles];
        let [sends, waits, comes] = states.map(|state| command(&mut table, Class::Other, Op::Read, state));
        let mut channel = Channel::new(QuietReads::default());
        assert!(channel.is_free_for(sends));
        let load = TransferLoad { time: Span::from_us(40), bytes: Bytes::new(4096) };
        channel.begin((at(0), load), sends, &mut table.commands[sends], &mut table.lists);
        assert!(!channel.is_free_for(waits));
        let queue = |state: CommandState| state.queue(BusOrder::CommandFirst);
        channel.wait(&rules, &mut table.commands, queue(CommandState::DataOut), waits);
        assert_eq!(channel.end(at(40)), (sends, load));
        channel.free();
        assert!(!channel.is_free_for(comes), "it has yet to choose");
        channel.wait(&rules, &mut table.commands, queue(CommandState::CommandCycles), comes);
        assert_eq!(channel.choose(&rules, &table.commands), Some(comes));
        let short = TransferLoad { time: Span::from_us(1), bytes: Bytes::default() };
        table.commands[comes].ready = at(30);
        channel.begin((at(40), short), comes, &mut table.commands[comes], &mut table.lists);
        assert_eq!(table.commands[comes].wait, Span::from_us(10));
        assert!(table.lists[table.commands[comes].list].waited_for.contains(Cause::Host));
    }

    #[test]
    fn a_host_read_goes_between_two_pages_of_a_program() {
        let (rules, mut table) = (rules(), CommandTable::new(2));
        let program = command(&mut table, Class::Other, Op::Program, CommandState::DataIn);
        table.commands[program].count = 2;
        let mut channel = Channel::new(QuietReads::default());
        assert_eq!(channel.pages_to_cross(&rules, &table.commands[program]), Some(2), "no read waits");
        channel.crosses = 2;
        let (page, both) = (rules.load_of_pages(0, 1), rules.load_of_pages(0, 2));
        channel.begin((at(0), both), program, &mut table.commands[program], &mut table.lists);
        assert_eq!(channel.begun_bytes(at(1), &rules, &table.commands), page.bytes);

        let read = command(&mut table, Class::HostRead, Op::Read, CommandState::DataOut);
        channel.wait(&rules, &mut table.commands, 0, read);
        let shortened = channel.shorten(at(1), &rules, &table.commands[program]);
        let end = Time::ZERO + page.time;
        assert_eq!(shortened.map(|(end, _)| end), Some(end));
        assert_eq!(channel.end(end), (program, page));
        assert!(!channel.end_pages(end, &mut table.commands[program]), "a page is left");
        channel.free();
        assert_eq!(channel.let_read_pass(&mut table.commands, 0, program), Some(read));
        assert_eq!(channel.choose(&rules, &table.commands), Some(program));
        assert_eq!(channel.pages_to_cross(&rules, &table.commands[program]), Some(2));
        channel.crosses = 2;
        assert!(channel.end_pages(end, &mut table.commands[program]), "the last");
    }

    #[test]
    fn a_power_cut_charges_what_was_sent_and_forgets_the_rest() {
        let (rules, mut table) = (rules(), CommandTable::new(2));
        let [sends, waits] = [0; 2].map(|_| command(&mut table, Class::Other, Op::Read, CommandState::DataOut));
        let mut channel = Channel::new(QuietReads::default());
        let load = TransferLoad { time: Span::from_us(40), bytes: Bytes::new(4096) };
        channel.begin((at(0), load), sends, &mut table.commands[sends], &mut table.lists);
        channel.wait(&rules, &mut table.commands, 0, waits);
        channel.cut(at(10));
        assert!(channel.is_free_for(waits) && channel.queue.is_empty());
        assert_eq!(channel.meter.busy(at(90)), Span::from_us(10));
    }
}
