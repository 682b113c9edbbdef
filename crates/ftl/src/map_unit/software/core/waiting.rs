//! The waiting tasks of a core, listed by the cause of their wait, and the tasks that can go on, the oldest first.
//!
//! A step that must wait changes nothing, so a task is tried again only after its cause may have ended.
//!
//! Many tasks may wait for a place in one set of the second level, and a page that leaves the set makes room for one.
//! So only the oldest of these tasks is tried, and the next one only if the set still has room after that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::steps;

use super::super::super::backing::Cause;

const NONE: u32 = u32::MAX;

/// A task as a member of a linked list.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    cause: Cause,
    /// The age of the task as a number: an older task has a lower number, and goes on first.
    number: u64,
    next: u32,
}

/// The lists of waiting tasks, and the tasks that can go on.
#[derive(Clone, Debug)]
pub(super) struct WaitLists {
    waiters: Vec<Waiter>,
    /// The first task of each list; causes share lists by their hash.
    lists: Vec<u32>,
    /// Tasks that wait for a place in each set of the second level.
    places: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Tasks whose cause may have ended: they can go on after the present step.
    released: Vec<u32>,
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// The number of tasks that wait for a load.
    loading: u32,
}

impl WaitLists {
    /// Lists for `tasks` tasks, and for waits in `sets` sets of the second level.
    pub(super) fn new(tasks: u32, sets: u32) -> Self {
        let room = tasks as usize;
        Self {
            waiters: vec![Waiter { cause: Cause::Buffer, number: 0, next: NONE }; room],
            lists: vec![NONE; (2 * room).next_power_of_two()],
            places: vec![BinaryHeap::new(); sets as usize],
            released: Vec::with_capacity(room),
            ready: BinaryHeap::with_capacity(room),
            loading: 0,
        }
    }

    fn list(&self, cause: Cause) -> usize {
        let (kind, number) = match cause {
            Cause::Place(_) => unreachable!("it has a list of its own"),
            Cause::Load(tvpn) => (0, tvpn),
            Cause::Page(tvpn) => (1, tvpn),
            Cause::Block(set) => (2, set),
            Cause::Buffer => (3, 0),
        };
        let hash = (number.wrapping_mul(5).wrapping_add(kind)).wrapping_mul(0x9E37_79B1);
        ((u64::from(hash) * self.lists.len() as u64) >> 32) as usize
    }

    /// The number of tasks that wait for a load.
    pub(super) const fn loading(&self) -> u32 {
        self.loading
    }

    /// Notes that a task has begun, with the number that is its age.
    pub(super) fn begin(&mut self, task: usize, number: u64) {
        self.waiters[task].number = number;
    }

    /// Notes that a task can go on at once.
    pub(super) fn ready(&mut self, task: usize) {
        self.ready.push(Reverse((self.waiters[task].number, task as u32)));
    }

    /// Takes the oldest task that can go on. Also returns the set, if the task has waited for a place in a set of the
    /// second level.
    pub(super) fn pop(&mut self) -> Option<(usize, Option<u32>)> {
        let Reverse((_, task)) = self.ready.pop()?;
        let place = match std::mem::replace(&mut self.waiters[task as usize].cause, Cause::Buffer) {
            Cause::Place(set) => Some(set),
            _ => None,
        };
        Some((task as usize, place))
    }

    pub(super) fn wait(&mut self, task: usize, cause: Cause) {
        if let Cause::Place(set) = cause {
            let waiter = &mut self.waiters[task];
            waiter.cause = cause;
            return self.places[set as usize].push(Reverse((waiter.number, task as u32)));
        }
        self.loading += u32::from(matches!(cause, Cause::Load(_)));
        let list = self.list(cause);
        let waiter = &mut self.waiters[task];
        (waiter.cause, waiter.next) = (cause, self.lists[list]);
        self.lists[list] = task as u32;
    }

    /// True if a task waits for the load of this page.
    pub(super) fn is_loading(&self, tvpn: u32) -> bool {
        let mut at = self.lists[self.list(Cause::Load(tvpn))];
        while at != NONE && self.waiters[at as usize].cause != Cause::Load(tvpn) {
            steps::count();
            at = self.waiters[at as usize].next;
        }
        at != NONE
    }

    /// Takes the task `at` from its list; `before` is the task before it, if it is not the first.
    fn unlink(&mut self, list: usize, before: u32, at: u32) {
        let next = self.waiters[at as usize].next;
        match before {
            NONE => self.lists[list] = next,
            before => self.waiters[before as usize].next = next,
        }
    }

    /// Takes the oldest task that waits for the load of this page.
    pub(super) fn take_loading(&mut self, tvpn: u32) -> Option<usize> {
        let list = self.list(Cause::Load(tvpn));
        let (mut before, mut at) = (NONE, self.lists[list]);
        let mut oldest: Option<(u64, u32, u32)> = None;
        while at != NONE {
            steps::count();
            let waiter = self.waiters[at as usize];
            let older = oldest.is_none_or(|(number, ..)| waiter.number < number);
            if waiter.cause == Cause::Load(tvpn) && older {
                oldest = Some((waiter.number, before, at));
            }
            (before, at) = (at, waiter.next);
        }
        let (_, before, task) = oldest?;
        self.unlink(list, before, task);
        self.loading -= 1;
        Some(task as usize)
    }

    /// Releases the tasks of a cause that may have ended: they are tried after the present step.
    pub(super) fn release(&mut self, cause: Cause) {
        let list = self.list(cause);
        let (mut before, mut at) = (NONE, self.lists[list]);
        while at != NONE {
            steps::count();
            let Waiter { cause: of, next, .. } = self.waiters[at as usize];
            if of == cause {
                self.unlink(list, before, at);
                self.released.push(at);
            } else {
                before = at;
            }
            at = next;
        }
    }

    /// True if tasks wait for a place in a set of the second level.
    pub(super) fn awaits_place(&self, set: u32) -> bool {
        !self.places[set as usize].is_empty()
    }

    /// Releases the oldest task that waits for a place in a set of the second level, because the set has room: it is
    /// tried after the present step.
    pub(super) fn release_place(&mut self, set: u32) {
        self.released.extend(self.places[set as usize].pop().map(|Reverse((_, task))| task));
    }

    /// Lets the next task that waits for a place in a set go on, because the set still has room after an attempt.
    pub(super) fn next_in(&mut self, set: u32) {
        self.ready.extend(self.places[set as usize].pop());
    }

    /// Ends a step: the released tasks can go on.
    pub(super) fn wake(&mut self) {
        for task in self.released.drain(..) {
            steps::count();
            self.ready.push(Reverse((self.waiters[task as usize].number, task)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TASKS: u32 = 8;

    fn cause() -> impl Strategy<Value = Cause> {
        let number = 0..3u32;
        prop_oneof![
            number.clone().prop_map(Cause::Load),
            number.clone().prop_map(Cause::Page),
            number.clone().prop_map(Cause::Block),
            number.prop_map(Cause::Place),
            Just(Cause::Buffer),
        ]
    }

    proptest! {
        /// Compares the lists with one searched list of tasks: which tasks wait, which tasks a wake releases, and the
        /// order in which they go on.
        #[test]
        fn tasks_go_on_by_age_after_their_cause_has_ended(steps in prop::collection::vec((0..TASKS, cause(), 0..5u32), 0..80)) {
            let mut waiting = WaitLists::new(TASKS, 3);
            // For each task: its cause while it waits, and true if the cause has ended.
            let mut model: Vec<Option<(Cause, bool)>> = vec![None; TASKS as usize];
            let mut ready: Vec<u32> = (0..TASKS).collect();
            // For each task: the set in which it waited for a place, from its release until it is tried.
            let mut after: [Option<u32>; TASKS as usize] = [None; TASKS as usize];
            for task in 0..TASKS {
                waiting.begin(task as usize, u64::from(task) + 1);
                waiting.ready(task as usize);
            }
            for (task, cause, step) in steps {
                match step {
                    0 | 1 => {
                        ready.sort_unstable();
                        let oldest = (!ready.is_empty()).then(|| ready.remove(0));
                        let popped = waiting.pop();
                        prop_assert_eq!(popped.map(|(task, _)| task), oldest.map(|task| task as usize));
                        if let Some(task) = oldest {
                            let waited_for = after[task as usize].take();
                            prop_assert_eq!(popped.map(|(_, after)| after), Some(waited_for));
                            waiting.wait(task as usize, cause);
                            model[task as usize] = Some((cause, false));
                        }
                    }
                    // Of the tasks that wait for a place, only the oldest is released.
                    2 | 3 if matches!(cause, Cause::Place(_)) => {
                        let waits = |task: &u32| model[*task as usize] == Some((cause, false));
                        let Cause::Place(set) = cause else { unreachable!() };
                        let oldest = (0..TASKS).find(waits);
                        if let Some(oldest) = oldest {
                            after[oldest as usize] = Some(set);
                            model[oldest as usize] = (step == 2).then_some((cause, true));
                        }
                        match step {
                            2 => waiting.release_place(set),
                            _ => {
                                waiting.next_in(set);
                                ready.extend(oldest);
                            }
                        }
                    }
                    2 if !matches!(cause, Cause::Load(_)) => {
                        waiting.release(cause);
                        model.iter_mut().flatten().filter(|(of, _)| *of == cause).for_each(|(_, ended)| *ended = true);
                    }
                    3 => {
                        let page = task % 3;
                        let loads = |task: &u32| model[*task as usize] == Some((Cause::Load(page), false));
                        let oldest = (0..TASKS).find(loads);
                        prop_assert_eq!(waiting.is_loading(page), oldest.is_some());
                        prop_assert_eq!(waiting.take_loading(page), oldest.map(|task| task as usize));
                        if let Some(oldest) = oldest {
                            model[oldest as usize] = None;
                            waiting.ready(oldest as usize);
                            ready.push(oldest);
                        }
                    }
                    _ => {
                        waiting.wake();
                        for task in 0..TASKS {
                            if let Some((_, true)) = model[task as usize] {
                                model[task as usize] = None;
                                ready.push(task);
                            }
                        }
                    }
                }
                let loading = model.iter().flatten().filter(|(cause, _)| matches!(cause, Cause::Load(_)));
                prop_assert_eq!(waiting.loading() as usize, loading.count());
            }
        }
    }
}
