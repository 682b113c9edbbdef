//! What passes between a task and the stack that it is on.

use base::engine::Handle;
use flash::backend::List;

/// One of the two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Array {
    Mlc,
    Slc,
}

/// What a task is told when it is asked for its next step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wakeup {
    /// It is its turn: it has just begun, or wanted to be asked again.
    Run,
    /// The list that it waited for is done. The task releases it.
    List(Handle<List>),
    /// The task that was above it has ended.
    Ended(Outcome),
}

impl Wakeup {
    /// The list that is done.
    ///
    /// # Panics
    /// If the task was told something else.
    pub(super) fn list(self) -> Handle<List> {
        let Self::List(list) = self else { panic!("{self:?}, and the task waits for a list") };
        list
    }
}

/// What a task that has ended leaves to the one below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Garbage collection has freed blocks: wear levelling may look.
    Reclaimed,
    /// There was no block to copy to.
    NoBlock,
}

/// The next step of a task `T`, above which a task `A` may be.
#[derive(Debug)]
pub(super) enum Next<T, A = std::convert::Infallible> {
    /// This list of commands is carried out, and then the task is asked again.
    List(Array, Handle<List>, T),
    /// The task is asked again at once.
    Again(T),
    /// Another task is carried out before this one goes on.
    First { task: T, above: A },
    /// The task has ended.
    Ended(Outcome),
}

impl<T, A> Next<T, A> {
    /// The same of a type that has both tasks among its variants.
    pub(super) fn widen<X: From<T> + From<A>>(self) -> Next<X, X> {
        match self {
            Self::List(array, list, task) => Next::List(array, list, task.into()),
            Self::Again(task) => Next::Again(task.into()),
            Self::First { task, above } => Next::First { task: task.into(), above: above.into() },
            Self::Ended(outcome) => Next::Ended(outcome),
        }
    }
}
