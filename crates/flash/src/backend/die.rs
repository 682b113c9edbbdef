//! A die: an array, a register, and the commands that wait for them.
//!
//! In cache mode the array works on one page while the register sends or takes another.

use base::engine::{Handle, Slab};
use base::units::Time;

use super::meter::Meter;
use super::queue::Queue;
use super::rules::Rules;
use super::suspend::Suspension;
use super::{Cause, Command, Config};

/// A die.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) channel: u32,
    /// The command that has the array: it waits for its command cycles, or the array works, or the array is done and
    /// the register is still occupied (`held`), or the array is done and the controller does not know it (`unnoticed`).
    pub(super) array: Option<Handle<Command>>,
    pub(super) held: bool,
    pub(super) unnoticed: bool,
    /// The command whose data is in the register, on its way in or out.
    pub(super) register: Option<Handle<Command>>,
    /// The register holds a complete page that waits for the array.
    pub(super) loaded: bool,
    pub(super) queue: Queue<Command>,
    /// Commands submitted for this die and not finished.
    pub(super) unfinished: u32,
    /// The cause of the command that the die began last.
    pub(super) last: Option<Cause>,
    /// The working time of the array.
    pub(super) meter: Meter,
    /// The number of the work whose status is polled.
    pub(super) watch: u16,
    /// Where programs or erases may be suspended: how far that of this die is.
    pub(super) suspension: Option<Box<Suspension>>,
    /// Commands for this die in lists of controllers that hold their chips (see `controllers`).
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

    /// Takes the page that waits in the register for an array that has ended: its program is the next of the array.
    #[inline]
    pub(super) fn take_loaded(&mut self) -> Option<Handle<Command>> {
        let loaded = self.register.take_if(|_| self.loaded)?;
        self.loaded = false;
        Some(loaded)
    }

    /// The command whose program or erase is torn if the power fails now. Of an array whose time does not run nothing
    /// is torn; a copy-back that expects data is torn in any of its phases.
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
