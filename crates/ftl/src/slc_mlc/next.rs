//! The messages between a task and the stack of tasks.

use base::engine::Handle;
use flash::backend::List;

/// One of the two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayKind {
    Mlc,
    Slc,
}

/// The event after which a task runs its next step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wakeup {
    /// The task has just begun, or has asked to run again.
    Run,
    /// The list that the task waited for has finished. The task releases the list.
    List(Handle<List>),
    /// The task on top of this task has ended.
    Ended(TaskOutcome),
}

impl Wakeup {
    /// The finished list.
    ///
    /// # Panics
    ///
    /// If the task was resumed by another event.
    pub(super) fn list(self) -> Handle<List> {
        let Self::List(list) = self else { panic!("{self:?}, and the task waits for a list") };
        list
    }
}

/// The result that an ended task passes to the task below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskOutcome {
    Done,
    /// Garbage collection has freed blocks, so that wear levelling may check.
    Reclaimed,
    /// No block was left to copy to.
    NoBlock,
}

/// The next step of a task, which may put a task of type `A` above itself.
#[derive(Debug)]
pub(super) enum Next<A = std::convert::Infallible> {
    /// Runs this list of commands, and then resumes the task.
    List(ArrayKind, Handle<List>),
    /// Resumes the task at once.
    Again,
    /// Runs another task before this task goes on.
    First(A),
    Ended(TaskOutcome),
}

impl<A> Next<A> {
    /// Converts the type of the task above to `X`, which has `A` as a variant.
    pub(super) fn widen<X: From<A>>(self) -> Next<X> {
        match self {
            Self::List(array, list) => Next::List(array, list),
            Self::Again => Next::Again,
            Self::First(above) => Next::First(above.into()),
            Self::Ended(outcome) => Next::Ended(outcome),
        }
    }
}
