//! The submission queues. Commands of a queue wait in order; arbitration chooses the queue of the next command.
//!
//! Queues with a command to offer stand in a ring and take turns, so that the cost of a command depends neither on the
//! number of queues nor on the number of waiting commands. Under weighted arbitration, a queue that has used its share
//! of the round waits until no other queue of the round has a command to offer. Urgent queues have a ring of their own:
//! while a queue stands in it, commands of other queues wait. A turn that an urgent command interrupts continues after
//! it.

use std::collections::VecDeque;

use base::units::Time;

use crate::spec::{QueueArbitration, ResolvedQueues};
use crate::{QueueId, Request, Tag};

#[derive(Clone, Debug)]
struct Queue<S> {
    waiting: VecDeque<(Time, Request<S>)>,
    weight: u32,
    urgent: bool,
    /// The most commands of the queue that may be under way at once.
    depth: u32,
    under_way: u32,
    /// The number of commands that the queue may still offer in the last round that it took part in.
    credit: u32,
    round: u64,
    /// True if the queue is in `urgent`, `turns` or `next_round`.
    listed: bool,
}

impl<S> Queue<S> {
    fn offers(&self) -> bool {
        !self.waiting.is_empty() && self.under_way < self.depth
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Queues<S> {
    queues: Vec<Queue<S>>,
    weighted: bool,
    burst: u32,
    /// The number of commands taken from the first queue of `turns` in its present turn.
    taken: u32,
    round: u64,
    /// Urgent queues that offer a command; the first has the turn.
    urgent: VecDeque<u16>,
    /// The number of commands taken from the first queue of `urgent` in its present turn.
    urgent_taken: u32,
    /// Queues that offer a command and have a share of the round left; the first has the turn.
    turns: VecDeque<u16>,
    /// Queues that offer a command and have used their share of the round.
    next_round: VecDeque<u16>,
    waiting: usize,
}

impl<S> Queues<S> {
    /// Bytes of the queues while nothing waits, with the dies of each set.
    pub(crate) fn memory(resolved: &ResolvedQueues) -> u64 {
        let queue = size_of::<Queue<S>>() + size_of::<crate::spec::ResolvedQueue>() + 2 * size_of::<u16>();
        let dies: usize = resolved.sets.iter().map(Vec::len).sum();
        let urgent = resolved.queues.iter().filter(|queue| queue.urgent).count() * size_of::<u16>();
        (resolved.queues.len() * queue + urgent + dies * size_of::<base::units::DieId>()) as u64
    }

    pub(crate) fn new(resolved: &ResolvedQueues) -> Self {
        let queue = |queue: &crate::spec::ResolvedQueue| Queue {
            waiting: VecDeque::new(),
            weight: queue.weight,
            urgent: queue.urgent,
            depth: queue.depth.unwrap_or(u32::MAX),
            under_way: 0,
            credit: queue.weight,
            round: 0,
            listed: false,
        };
        let queues: Vec<_> = resolved.queues.iter().map(queue).collect();
        Self {
            urgent: VecDeque::with_capacity(queues.iter().filter(|queue| queue.urgent).count()),
            urgent_taken: 0,
            turns: VecDeque::with_capacity(queues.len()),
            next_round: VecDeque::with_capacity(queues.len()),
            queues,
            weighted: resolved.arbitration == QueueArbitration::Weighted,
            burst: resolved.burst,
            taken: 0,
            round: 0,
            waiting: 0,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.queues.len()
    }

    pub(crate) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// The tags of the waiting commands.
    pub(crate) fn tags(&self) -> impl Iterator<Item = Tag> {
        self.queues.iter().flat_map(|queue| queue.waiting.iter().map(|(_, request)| request.tag))
    }

    pub(crate) fn clear(&mut self) {
        for queue in &mut self.queues {
            queue.waiting.clear();
            (queue.under_way, queue.listed) = (0, false);
            (queue.credit, queue.round) = (queue.weight, 0);
        }
        self.urgent.clear();
        self.turns.clear();
        self.next_round.clear();
        (self.urgent_taken, self.taken, self.round, self.waiting) = (0, 0, 0, 0);
    }

    #[inline]
    pub(crate) fn push(&mut self, arrival: Time, request: Request<S>) {
        let id = request.queue;
        self.queues[id.index()].waiting.push_back((arrival, request));
        self.waiting += 1;
        if self.queues.len() > 1 {
            self.list(id);
        }
    }

    /// Takes a command past its empty queue. Returns false if the command has to wait, or if there are several queues,
    /// so that arbitration decides.
    #[inline]
    pub(crate) fn pass(&mut self) -> bool {
        let [queue] = &mut self.queues[..] else { return false };
        let passes = queue.waiting.is_empty() && queue.under_way < queue.depth;
        queue.under_way += u32::from(passes);
        passes
    }

    /// Takes the next command. It is under way until it is [`finished`](Self::finished).
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(Time, Request<S>)> {
        if let [queue] = &mut self.queues[..] {
            // A single queue always has the turn.
            if queue.under_way >= queue.depth {
                return None;
            }
            let next = queue.waiting.pop_front()?;
            self.waiting -= 1;
            queue.under_way += 1;
            return Some(next);
        }
        if let Some(id) = self.urgent.front() {
            return Some(self.take_urgent(*id));
        }
        if self.turns.is_empty() {
            // No queue has a share of this round left: the next round begins.
            std::mem::swap(&mut self.turns, &mut self.next_round);
            self.round += 1;
        }
        let id = *self.turns.front()?;
        let queue = &mut self.queues[usize::from(id)];
        let next = queue.waiting.pop_front().expect("a queue with a turn offers a command");
        self.waiting -= 1;
        queue.under_way += 1;
        self.taken += 1;
        if self.weighted {
            if queue.round != self.round {
                (queue.round, queue.credit) = (self.round, queue.weight);
            }
            queue.credit -= 1;
        }
        let spent = self.weighted && queue.credit == 0;
        let offers = queue.offers();
        if !offers || spent || self.taken >= self.burst {
            self.taken = 0;
            // A queue that is alone in the ring has the next turn too, so the ring need not change.
            if !offers || spent || self.turns.len() > 1 {
                self.turns.pop_front();
                match (offers, spent) {
                    (false, _) => self.queues[usize::from(id)].listed = false,
                    (true, true) => self.next_round.push_back(id),
                    (true, false) => self.turns.push_back(id),
                }
            }
        }
        Some(next)
    }

    /// Takes the next command of the urgent queue that has the turn.
    fn take_urgent(&mut self, id: u16) -> (Time, Request<S>) {
        let queue = &mut self.queues[usize::from(id)];
        let next = queue.waiting.pop_front().expect("a queue with a turn offers a command");
        self.waiting -= 1;
        queue.under_way += 1;
        self.urgent_taken += 1;
        queue.listed = queue.offers();
        if !queue.listed || self.urgent_taken >= self.burst {
            self.urgent_taken = 0;
            self.urgent.pop_front();
            if queue.listed {
                self.urgent.push_back(id);
            }
        }
        next
    }

    /// Notes that a command of a queue has completed.
    #[inline]
    pub(crate) fn finished(&mut self, id: QueueId) {
        self.queues[id.index()].under_way -= 1;
        if self.queues.len() > 1 {
            self.list(id);
        }
    }

    /// Puts a queue into its ring if it has a command to offer.
    #[inline]
    fn list(&mut self, id: QueueId) {
        let queue = &mut self.queues[id.index()];
        if queue.listed || !queue.offers() {
            return;
        }
        queue.listed = true;
        if queue.urgent {
            self.urgent.push_back(id.get());
        } else if self.weighted && queue.round == self.round && queue.credit == 0 {
            self.next_round.push_back(id.get());
        } else {
            self.turns.push_back(id.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ResolvedQueue;
    use base::io::Io;
    use proptest::prelude::*;

    fn queues(arbitration: QueueArbitration, burst: u32, all: &[(u32, Option<u32>)]) -> Queues<()> {
        let queues = all.iter().map(|(weight, depth)| queue(*weight, *depth));
        Queues::new(&ResolvedQueues {
            queues: queues.collect(),
            arbitration,
            burst,
            sets: vec![Vec::new()],
            placement: None,
        })
    }

    const fn queue(weight: u32, depth: Option<u32>) -> ResolvedQueue {
        ResolvedQueue { weight, urgent: false, depth, suspends: true, set: 0 }
    }

    /// Creates queues with these depths. The first `urgent` are urgent, and the others have weights of 3.
    fn urgent(urgent: usize, burst: u32, depths: &[Option<u32>]) -> Queues<()> {
        let queue = |(i, depth): (usize, &Option<u32>)| ResolvedQueue { urgent: i < urgent, ..queue(3, *depth) };
        let queues = depths.iter().enumerate().map(queue).collect();
        Queues::new(&ResolvedQueues { queues, arbitration: Weighted, burst, sets: vec![Vec::new()], placement: None })
    }

    fn push(queues: &mut Queues<()>, queue: u16, tags: std::ops::Range<u64>) {
        for tag in tags {
            let request = Request { tag, queue: QueueId::new(queue), io: Io::FLUSH, data: Vec::new() };
            queues.push(Time::ZERO, request);
        }
    }

    /// The queues of the next commands, in order.
    fn taken(queues: &mut Queues<()>, commands: usize) -> Vec<u16> {
        (0..commands).map_while(|_| queues.take()).map(|(_, request)| request.queue.get()).collect()
    }

    use QueueArbitration::{RoundRobin, Weighted};

    #[test]
    fn queues_take_the_memory_they_predict() {
        let queue = queue(1, None);
        let sets = vec![vec![base::units::DieId::new(0); 3], vec![base::units::DieId::new(1)]];
        let mut resolved =
            ResolvedQueues { queues: vec![queue; 7], arbitration: Weighted, burst: 1, sets, placement: None };
        (resolved.queues[1].urgent, resolved.queues[4].urgent) = (true, true);
        let queues = Queues::<()>::new(&resolved);
        let rings = [&queues.urgent, &queues.turns, &queues.next_round];
        let turns = size_of::<u16>() * rings.map(VecDeque::capacity).iter().sum::<usize>();
        let described =
            size_of_val(&*resolved.queues) + resolved.sets.iter().map(|set| size_of_val(&**set)).sum::<usize>();
        assert_eq!(Queues::<()>::memory(&resolved), (size_of_val(&*queues.queues) + turns + described) as u64);
    }

    #[test]
    fn queues_take_turns_by_bursts() {
        let mut one_by_one = queues(RoundRobin, 1, &[(1, None); 3]);
        let mut by_two = queues(RoundRobin, 2, &[(1, None); 3]);
        for all in [&mut one_by_one, &mut by_two] {
            push(all, 0, 0..4);
            push(all, 1, 4..5);
            push(all, 2, 5..8);
        }
        assert_eq!(taken(&mut one_by_one, 9), [0, 1, 2, 0, 2, 0, 2, 0]);
        assert_eq!(taken(&mut by_two, 9), [0, 0, 1, 2, 2, 0, 0, 2]);
    }

    #[test]
    fn a_weight_is_a_share_of_each_round() {
        let mut by_one = queues(Weighted, 1, &[(3, None), (1, None)]);
        let mut by_four = queues(Weighted, 4, &[(3, None), (1, None)]);
        for all in [&mut by_one, &mut by_four] {
            push(all, 0, 0..6);
            push(all, 1, 6..9);
        }
        assert_eq!(taken(&mut by_one, 9), [0, 1, 0, 0, 1, 0, 0, 0, 1]);
        assert_eq!(taken(&mut by_four, 9), [0, 0, 0, 1, 0, 0, 0, 1, 1]);
        // A queue that is empty for a moment gets no second share of the round.
        let mut all = queues(Weighted, 1, &[(1, None), (2, None)]);
        push(&mut all, 0, 0..1);
        push(&mut all, 1, 1..3);
        assert_eq!(taken(&mut all, 1), [0]);
        push(&mut all, 0, 3..4);
        assert_eq!(taken(&mut all, 3), [1, 1, 0]);
    }

    #[test]
    fn urgent_queues_go_first_and_take_turns_by_bursts() {
        for (burst, expected) in [(1, [0, 1, 0, 1, 0, 2, 3, 2, 3]), (2, [0, 0, 1, 1, 0, 2, 2, 3, 3])] {
            let mut all = urgent(2, burst, &[None; 4]);
            push(&mut all, 2, 0..2);
            push(&mut all, 3, 2..4);
            push(&mut all, 0, 4..7);
            push(&mut all, 1, 7..9);
            assert_eq!(taken(&mut all, 10), expected, "bursts of {burst}");
        }
        // An urgent command interrupts a burst; the rest of the burst follows it.
        let mut all = urgent(1, 3, &[None; 3]);
        push(&mut all, 1, 0..3);
        push(&mut all, 2, 3..4);
        assert_eq!(taken(&mut all, 1), [1]);
        push(&mut all, 0, 4..5);
        assert_eq!(taken(&mut all, 9), [0, 1, 1, 2]);
    }

    #[test]
    fn a_weighted_queue_starves_as_long_as_an_urgent_command_waits() {
        let mut all = urgent(1, 1, &[None; 2]);
        push(&mut all, 1, 0..2);
        push(&mut all, 0, 2..3);
        for tag in 3..1_000 {
            push(&mut all, 0, tag..tag + 1);
            assert_eq!(taken(&mut all, 1), [0], "command {tag}");
        }
        assert_eq!(taken(&mut all, 9), [0, 1, 1]);
        // A queue at its depth offers nothing, so it keeps no other queue waiting.
        let mut all = urgent(1, 1, &[Some(1), None]);
        push(&mut all, 0, 0..2);
        push(&mut all, 1, 2..4);
        assert_eq!(taken(&mut all, 2), [0, 1]);
        all.finished(QueueId::new(0));
        assert_eq!(taken(&mut all, 9), [0, 1]);
    }

    #[test]
    fn a_queue_waits_for_its_own_commands() {
        let mut all = queues(RoundRobin, 1, &[(1, Some(2)), (1, None)]);
        push(&mut all, 0, 0..4);
        push(&mut all, 1, 4..6);
        assert_eq!(taken(&mut all, 9), [0, 1, 0, 1]);
        assert_eq!((all.waiting(), all.tags().collect::<Vec<_>>()), (2, vec![2, 3]));
        all.finished(QueueId::new(1));
        assert!(all.take().is_none());
        all.finished(QueueId::new(0));
        assert_eq!(taken(&mut all, 9), [0]);
        all.clear();
        push(&mut all, 0, 7..8);
        assert_eq!(taken(&mut all, 9), [0]);
    }

    proptest! {
        /// For any sequence of steps: a queue is first in, first out, keeps its depth, no command is left behind, and no other
        /// command passes an urgent one that could be taken.
        #[test]
        fn every_command_is_taken_once_and_in_order(
            arbitration in prop::sample::select(QueueArbitration::EVERY.to_vec()),
            burst in 1u32..5,
            all in prop::collection::vec((1u32..5, prop::option::of(1u32..4), any::<bool>()), 1..6),
            steps in prop::collection::vec((0u16..6, 0u8..3), 1..300),
        ) {
            let described = all.iter().map(|(weight, depth, urgent)| {
                let urgent = *urgent && arbitration == Weighted && all.len() > 1;
                ResolvedQueue { urgent, ..queue(*weight, *depth) }
            });
            let described: Vec<_> = described.collect();
            let sets = vec![Vec::new()];
            let mut queues = Queues::new(&ResolvedQueues { queues: described.clone(), arbitration, burst, sets, placement: None });
            let mut expected = vec![VecDeque::new(); all.len()];
            let mut under_way = vec![0u32; all.len()];
            for (tag, (queue, step)) in (0u64..).zip(steps) {
                let i = usize::from(queue) % all.len();
                match step {
                    0 => {
                        push(&mut queues, i as u16, tag..tag + 1);
                        expected[i].push_back(tag);
                    }
                    1 => if let Some((_, request)) = queues.take() {
                        let i = request.queue.index();
                        let idle = |i: usize| expected[i].is_empty() || Some(under_way[i]) == described[i].depth;
                        let passed = (0..all.len()).any(|j| described[j].urgent && !described[i].urgent && !idle(j));
                        prop_assert!(!passed, "a command passed an urgent one");
                        prop_assert_eq!(expected[i].pop_front(), Some(request.tag));
                        under_way[i] += 1;
                        prop_assert!(under_way[i] <= all[i].1.unwrap_or(u32::MAX));
                    } else {
                        let idle = |i: usize| expected[i].is_empty() || Some(under_way[i]) == described[i].depth;
                        prop_assert!((0..all.len()).all(idle), "a command that could be taken was not");
                    }
                    _ => if under_way[i] > 0 {
                        under_way[i] -= 1;
                        queues.finished(QueueId::new(i as u16));
                    }
                }
            }
            prop_assert_eq!(queues.waiting(), expected.iter().map(VecDeque::len).sum::<usize>());
        }
    }
}
