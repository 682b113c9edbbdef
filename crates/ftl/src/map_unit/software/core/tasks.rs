//! The tasks of a core.

use std::ops::{Index, IndexMut};

use flash::nand::Image;

use super::super::super::{Ask, Ticket};
use super::waiting::Waiting;

/// A task that the core has begun.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// None for a write-back that the core began by itself.
    pub(super) question: Option<(Ticket, Ask)>,
    pub(super) stage: Stage,
    /// The page that was loaded for the stage, if it has been loaded.
    pub(super) page: Option<Image>,
}

/// The next step of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Search for the block.
    Find,
    /// Find a place for the block: this one, if it is free.
    Place(Option<usize>),
    /// Search for all dirty blocks of a page, because the block is needed.
    Scan(u32, Option<usize>),
    /// Write them back.
    Merge(u32, Option<usize>),
    /// Fill the block.
    Fetch(usize),
    /// Store a page that the backing chooses.
    Evict,
}

/// The tasks, and what they wait for.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    tasks: Vec<Task>,
    /// Tasks without work.
    free: Vec<usize>,
    /// Tasks begun so far.
    begun: u64,
    pub(super) waiting: Waiting,
}

impl Index<usize> for Tasks {
    type Output = Task;

    #[inline]
    fn index(&self, task: usize) -> &Task {
        &self.tasks[task]
    }
}

impl IndexMut<usize> for Tasks {
    #[inline]
    fn index_mut(&mut self, task: usize) -> &mut Task {
        &mut self.tasks[task]
    }
}

impl Tasks {
    /// For so many tasks, and sets of the second level.
    pub(super) fn new(count: u32, sets: u32) -> Self {
        let task = Task { question: None, stage: Stage::Find, page: None };
        Self {
            tasks: vec![task; count as usize],
            free: (0..count as usize).rev().collect(),
            begun: 0,
            waiting: Waiting::new(count, sets),
        }
    }

    /// True if no task has work.
    pub(super) fn is_idle(&self) -> bool {
        self.free.len() == self.tasks.len()
    }

    /// True if a task has no work.
    #[inline]
    pub(super) fn is_any_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Begins a task.
    pub(super) fn begin(&mut self, question: Option<(Ticket, Ask)>, stage: Stage) -> usize {
        let number = self.free.pop().expect("a task without work");
        self.begun += 1;
        self.waiting.begin(number, self.begun);
        let task = &mut self.tasks[number];
        (task.question, task.stage, task.page) = (question, stage, None);
        number
    }

    /// Ends a task. Returns its question, if it has one.
    #[inline]
    pub(super) fn end(&mut self, number: usize) -> Option<(Ticket, Ask)> {
        self.free.push(number);
        self.tasks[number].question.take()
    }
}
