//! A die: an array, a register, and the commands that wait for them.
//!
//! In cache mode the array works on one page while the register sends or takes another page.

use base::engine::{Handle, Slab};
use base::units::Time;

use super::meter::Meter;
use super::queue::Queue;
use super::rules::Rules;
use super::suspend::Suspension;
use super::{Cause, Command, Config};

/// The state of a die, or of a plane that reads by itself.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) channel: u32,
    /// The command that has the array. Four cases: the command waits for its command cycles; the array works; the array
    /// is done and the register is still occupied (`held`); or the array is done and the controller does not know it
    /// yet (`unnoticed`).
    pub(super) array: Option<Handle<Command>>,
    pub(super) held: bool,
    pub(super) unnoticed: bool,
    /// The command whose data is in the register, on its way in or out.
    pub(super) register: Option<Handle<Command>>,
    /// True if the register holds a complete page that waits for the array.
    pub(super) loaded: bool,
    pub(super) queue: Queue<Command>,
    /// The number of commands submitted for this die and not finished.
    pub(super) unfinished: u32,
    /// The cause of the command that the die began last.
    pub(super) last: Option<Cause>,
    /// The working time of the array.
    pub(super) meter: Meter,
    /// The number of the array work whose status is polled.
    pub(super) watch: u16,
    /// The progress of a suspension; none if operations are never suspended.
    pub(super) suspension: Option<Box<Suspension>>,
    /// The number of commands for this die in lists of controllers that hold their chips (see `controllers`).
    pub(super) held_by: u32,
}

impl Die {
    fn new(channel: u32) -> Self {
        Self {
            channel,
            array: None,
            held: false,
            unnoticed: false,
            register: None,
            loaded: false,
            queue: Queue::default(),
            unfinished: 0,
            last: None,
            meter: Meter::default(),
            watch: 0,
            held_by: 0,
            suspension: None,
        }
    }

    /// A die under these rules.
    pub(super) fn of(rules: &Rules, channel: u32) -> Self {
        Self { suspension: rules.suspend.map(|_| Box::default()), ..Self::new(channel) }
    }

    /// Bytes that a die takes.
    pub(super) fn memory(config: &Config) -> u64 {
        let suspension = if config.suspend.is_some() { size_of::<Suspension>() } else { 0 };
        (size_of::<Self>() + suspension) as u64
    }

    /// True if no command has the array or the register.
    #[inline]
    pub(super) const fn is_free(&self) -> bool {
        self.array.is_none() && self.register.is_none()
    }

    /// True if no command has the die, and none waits for it.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.is_free() && self.queue.is_empty() && !self.is_suspended()
    }

    /// True if an operation of the array is suspended.
    #[inline]
    pub(super) fn is_suspended(&self) -> bool {
        self.suspension.as_ref().is_some_and(|suspension| suspension.is_suspended())
    }

    /// Takes the page that waits in the register, for an array that has ended its work: the page's program is the next
    /// of the array.
    #[inline]
    pub(super) fn take_loaded(&mut self) -> Option<Handle<Command>> {
        let loaded = self.register.take_if(|_| self.loaded)?;
        self.loaded = false;
        Some(loaded)
    }

    /// The command whose program or erase is torn if the power fails now. Nothing is torn in an array whose working
    /// time has not begun. A copy-back that waits for data is torn in any of its phases.
    pub(super) fn torn_by_cut(&self, now: Time, commands: &Slab<Command>) -> Option<Handle<Command>> {
        let works = self.array.filter(|handle| {
            let command = &commands[*handle];
            (!self.held && self.meter.works(now) || command.wants_data()) && !command.is_done()
        });
        works.or_else(|| self.register.filter(|handle| commands[*handle].op == super::Op::CopyBack))
    }

    /// Forgets all commands, at a power cut.
    pub(super) fn cut(&mut self, now: Time) {
        self.meter.end(now);
        let &mut Self { channel, meter, watch, .. } = self;
        let suspension = self.suspension.as_ref().map(|_| Box::default());
        *self = Self { meter, watch: watch.wrapping_add(1), suspension, ..Self::new(channel) };
    }
}

#[cfg(test)]
mod tests {
    use base::units::{DieId, Span, SuperblockId};

    use super::super::command_table::CommandTable;
    use super::super::{Class, Op};
    use super::*;
    use crate::nand::{Stream, Target};

    const fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    fn command(table: &mut CommandTable, op: Op) -> Handle<Command> {
        let list = table.open(Class::Other, 0);
        let target = Target { superblock: SuperblockId::new(0), offset: 0 };
        table.add(list, op, Cause::Host, (DieId::new(0), target), Stream::HOST)
    }

    #[test]
    fn a_die_is_free_without_a_command_and_idle_if_none_waits_either() {
        let mut table = CommandTable::new(1);
        let read = command(&mut table, Op::Read);
        let mut die = Die::new(0);
        assert!(die.is_free() && die.is_idle());
        die.queue.push(&mut table.commands, 0, read);
        assert!(die.is_free() && !die.is_idle(), "one waits");
        die.register = die.queue.pop(&table.commands);
        assert!(!die.is_free() && !die.is_idle(), "its data is on its way");
    }

    #[test]
    fn the_array_takes_a_page_only_when_it_is_complete() {
        let mut table = CommandTable::new(1);
        let mut die = Die::new(0);
        die.register = Some(command(&mut table, Op::Program));
        assert_eq!(die.take_loaded(), None, "its data is on its way");
        die.loaded = true;
        let program = die.register;
        assert_eq!((die.take_loaded(), die.register, die.loaded), (program, None, false));
    }

    #[test]
    fn a_power_cut_tears_what_the_array_works_on_and_nothing_that_waits() {
        let mut table = CommandTable::new(1);
        let [program, next] = [command(&mut table, Op::Program), command(&mut table, Op::Program)];
        let mut die = Die::new(0);
        (die.array, die.register) = (Some(program), Some(next));
        assert_eq!(die.torn_by_cut(at(1), &table.commands), None, "its command cycles are under way");
        die.meter.begin(at(1), at(201));
        assert_eq!(die.torn_by_cut(at(200), &table.commands), Some(program));
        assert_eq!(die.torn_by_cut(at(201), &table.commands), None, "the array is done");
        die.register = Some(command(&mut table, Op::CopyBack));
        assert_eq!(die.torn_by_cut(at(201), &table.commands), die.register, "in any of its phases");
        let watch = die.watch;
        die.cut(at(50));
        assert!(die.is_idle() && die.watch != watch, "no status that was awaited counts");
        assert_eq!(die.meter.busy(at(300)), Span::from_us(49));
    }
}
