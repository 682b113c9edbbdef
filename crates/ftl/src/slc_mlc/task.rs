//! The stack of tasks under way.
//!
//! The FTL does one thing at a time, so the work under way is a request, the work that the request waits for, and so on
//! inward. A small write waits until the tail of the log is cleaned, the cleaning waits for pages to be written to the
//! MLC flash, and the store waits for a block to be freed. Each of these is a [`Task`] with its own state, the
//! innermost on top. A step resumes the top task ([`Next`]): the task waits for a list of commands, puts another task
//! above itself, or ends and passes its outcome to the task below. The types of the steps determine which task can be
//! above which.

use base::engine::Handle;
use flash::backend::List;

use super::clean::Clean;
use super::collect::Collection;
use super::disk::Disk;
use super::fold::Fold;
use super::next::{ArrayKind, Next, Wakeup};
use super::pages::Store;
use super::read::Read;
use super::reclaim::Reclaim;
use super::scrub::Scrub;
use super::write::{BlockingTask, Write};
use crate::port::{Flash, Owners};

/// A task under way, by kind.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Erases the blocks that recovery found without valid pages.
    Scrub(Scrub),
    Read(Read),
    Write(Write),
    /// Cleans the tail of the SLC log.
    Clean(Clean),
    /// Writes pages to the MLC flash.
    Store(Store),
    /// Folds a chain, to make room or to level wear.
    Fold(Fold),
    /// Collects a block, to make room or to level wear.
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

impl From<BlockingTask> for Task {
    fn from(above: BlockingTask) -> Self {
        match above {
            BlockingTask::Clean(clean) => Self::Clean(clean),
            BlockingTask::Store(store) => Self::Store(store),
        }
    }
}

impl Task {
    fn step(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, owners: &mut dyn Owners, wakeup: Wakeup) -> Next<Self> {
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

/// The stack of tasks, and the list that it waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    /// The stack, innermost task last.
    stack: Vec<Task>,
    /// The list that the innermost task waits for.
    list: Option<(ArrayKind, Handle<List>)>,
}

impl Tasks {
    /// True if nothing is under way.
    pub(super) const fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Begins a task. No other task may be under way.
    pub(super) fn begin(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, owners: &mut dyn Owners, task: Task) {
        assert!(self.is_empty(), "{:?} is under way", self.stack);
        self.stack.push(task);
        self.run_tasks(disk, flash, owners, Wakeup::Run);
    }

    /// Resumes the innermost task, because its list has finished.
    pub(super) fn finished(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        (array, list): (ArrayKind, Handle<List>),
    ) {
        let expected = self.list.take();
        assert_eq!(expected, Some((array, list)), "the list that is done");
        self.run_tasks(disk, flash, owners, Wakeup::List(list));
    }

    /// Runs the top task until it waits for a list, or no task is left.
    fn run_tasks(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, owners: &mut dyn Owners, mut wakeup: Wakeup) {
        while let Some(task) = self.stack.last_mut() {
            wakeup = match task.step(disk, flash, owners, wakeup) {
                Next::List(array, list) => {
                    self.list = Some((array, list));
                    return disk.submit(flash, array, list);
                }
                Next::Again => Wakeup::Run,
                Next::First(above) => {
                    self.stack.push(above);
                    Wakeup::Run
                }
                Next::Ended(outcome) => {
                    self.stack.pop();
                    Wakeup::Ended(outcome)
                }
            };
        }
    }

    /// Checks the invariant between two events: if a task is under way, it waits for a list.
    ///
    /// # Panics
    /// If the invariant is broken.
    pub(super) fn check(&self) {
        assert_eq!(self.list.is_some(), !self.is_empty(), "{:?} waits for {:?}", self.stack, self.list);
    }
}
