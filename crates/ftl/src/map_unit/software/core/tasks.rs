//! The tasks of a core.

use std::ops::{Index, IndexMut};

use flash::nand::Image;

use super::super::super::{Ask, Ticket};
use super::waiting::WaitLists;

/// A task: a question or a write-back that the core has begun.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// The question; none for a write-back that the core began by itself.
    pub(super) question: Option<(Ticket, Ask)>,
    pub(super) stage: Stage,
    /// The page that was loaded for the stage, if it has been loaded.
    pub(super) page: Option<Image>,
}

/// The next step of a task: its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Search for the block.
    Find,
    /// Find a place for the block: the given block, if it is free.
    Place(Option<usize>),
    /// Search for all dirty blocks of a page, because one of these blocks is needed for another page.
    Scan(u32, Option<usize>),
    /// Write back the dirty blocks of a page.
    Merge(u32, Option<usize>),
    /// Fill the block.
    Load(usize),
    /// Store a page that the backing chooses.
    Evict,
}

/// All tasks of a core, and the causes for which they wait.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    tasks: Vec<Task>,
    /// Indices of tasks without work.
    free: Vec<usize>,
    /// Tasks begun since power-on: the number of the next task.
    begun: u64,
    pub(super) waiting: WaitLists,
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
    /// Room for `count` tasks, and for waits in `sets` sets of the second level.
    pub(super) fn new(count: u32, sets: u32) -> Self {
        let task = Task { question: None, stage: Stage::Find, page: None };
        Self {
            tasks: vec![task; count as usize],
            free: (0..count as usize).rev().collect(),
            begun: 0,
            waiting: WaitLists::new(count, sets),
        }
    }

    /// True if no task has work.
    pub(super) fn is_idle(&self) -> bool {
        self.free.len() == self.tasks.len()
    }

    /// True if the core may begin another task.
    #[inline]
    pub(super) fn is_any_free(&self) -> bool {
        !self.free.is_empty()
    }

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
