//! The stack of tasks: what is under way.
//!
//! Nothing works beside anything else, so what is under way is a request and what must be done before it goes on, and before
//! that goes on: a small write waits for the tail of the log to be cleaned, that for pages to be written to the MLC flash,
//! and that for a block to be freed. Each is a [`Task`] with its own state, the innermost on top. A step is to ask the top
//! ([`Next`]): it waits for a list of commands, puts another task above itself, or ends, and then the one below hears how.
//! Which task can be above which is said by the types of their steps.

use base::engine::Handle;
use flash::backend::{List, Observer};
use flash::nand::Sector;

use super::clean::Clean;
use super::collect::Collection;
use super::disk::Disk;
use super::fold::Fold;
use super::next::{Array, Next, Wakeup};
use super::pages::Store;
use super::read::Read;
use super::reclaim::Reclaim;
use super::scrub::Scrub;
use super::write::{Above, Write};
use crate::port::{Flash, Owners};

/// Something that has been begun.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Blocks that recovery found useless are erased.
    Scrub(Scrub),
    Read(Read),
    Write(Write),
    /// The tail of the SLC log is cleaned.
    Clean(Clean),
    /// Pages are written to the MLC flash.
    Store(Store),
    /// A chain is folded, to make room or to level wear.
    Fold(Fold),
    /// A block is collected, for the same reasons.
    Collect(Collection),
}

macro_rules! tasks {
    ($($variant:ident($task:ty)),*) => {
        $(impl From<$task> for Task {
            fn from(task: $task) -> Self {
                Self::$variant(task)
            }
        })*
    };
}

tasks!(Scrub(Scrub), Read(Read), Write(Write), Clean(Clean), Store(Store), Fold(Fold), Collect(Collection));

impl From<std::convert::Infallible> for Task {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl From<Reclaim> for Task {
    fn from(reclaim: Reclaim) -> Self {
        match reclaim {
            Reclaim::Fold(fold) => Self::Fold(fold),
            Reclaim::Collect(collection) => Self::Collect(collection),
        }
    }
}

impl From<Above> for Task {
    fn from(above: Above) -> Self {
        match above {
            Above::Clean(clean) => Self::Clean(clean),
            Above::Store(store) => Self::Store(store),
        }
    }
}

impl Task {
    /// Asks a task for its next step.
    fn step<S: Sector, O: Observer>(
        self,
        disk: &mut Disk,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        wakeup: Wakeup,
    ) -> Next<Self, Self> {
        match self {
            Self::Scrub(scrub) => scrub.step(disk, flash, wakeup).widen(),
            Self::Read(read) => read.step(disk, flash, owners, wakeup).widen(),
            Self::Write(write) => write.step(disk, flash, owners, wakeup).widen(),
            Self::Clean(clean) => clean.step(disk, flash, wakeup).widen(),
            Self::Store(store) => store.step(disk, flash, owners, wakeup).widen(),
            Self::Fold(fold) => fold.step(disk, flash, wakeup).widen(),
            Self::Collect(collection) => collection.step(disk, flash, wakeup).widen(),
        }
    }
}

/// What is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    /// The innermost is the last.
    stack: Vec<Task>,
    /// The list that the innermost waits for.
    list: Option<(Array, Handle<List>)>,
}

impl Tasks {
    /// True if nothing is under way.
    pub(super) const fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Begins a task, where nothing is under way.
    pub(super) fn begin<S: Sector, O: Observer>(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        task: Task,
    ) {
        assert!(self.is_empty(), "{:?} is under way", self.stack);
        self.stack.push(task);
        self.run_tasks(disk, flash, owners, Wakeup::Run);
    }

    /// A list is done.
    pub(super) fn finished<S: Sector, O: Observer>(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        (array, list): (Array, Handle<List>),
    ) {
        let expected = self.list.take();
        assert_eq!(expected, Some((array, list)), "the list that is done");
        self.run_tasks(disk, flash, owners, Wakeup::List(list));
    }

    /// Asks the top until it waits for a list, or nothing is under way.
    fn run_tasks<S: Sector, O: Observer>(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        mut wakeup: Wakeup,
    ) {
        while let Some(task) = self.stack.pop() {
            wakeup = match task.step(disk, flash, owners, wakeup) {
                Next::List(array, list, task) => {
                    self.stack.push(task);
                    self.list = Some((array, list));
                    return disk.submit(flash, array, list);
                }
                Next::Again(task) => {
                    self.stack.push(task);
                    Wakeup::Run
                }
                Next::First { task, above } => {
                    self.stack.extend([task, above]);
                    Wakeup::Run
                }
                Next::Ended(outcome) => Wakeup::Ended(outcome),
            };
        }
    }

    /// Checks what must hold between two events: what is under way waits for a list.
    ///
    /// # Panics
    /// If it does not hold.
    pub(super) fn check(&self) {
        assert_eq!(self.list.is_some(), !self.is_empty(), "{:?} waits for {:?}", self.stack, self.list);
    }
}
