//! A full table in RAM behind a processor that takes its time: the least that a map unit can be.
//!
//! One question is worked on at a time; those of host and collector take turns where both wait. It never wants
//! anything of flash.

use std::collections::VecDeque;

use flash::units::{Lpn, Psn, Span, Time};

use super::choice::{entry, place};
use super::{Answer, Ask, Asker, MapUnit, Output, SPAN, Ticket};

/// A full table with a service time.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    service: Span,
    entries: Vec<u32>,
    /// Questions that wait, of the host and of the collector.
    queues: [VecDeque<(Ticket, Ask)>; 2],
    /// Who had the last turn.
    last: Asker,
    /// What is worked on, and when it is done.
    current: Option<(Time, Ticket, Ask)>,
}

impl Table {
    /// The table as the scan of the spare areas found it.
    pub(crate) fn new(service: Span, found: &[u32]) -> Self {
        Self { service, entries: found.to_vec(), queues: Default::default(), last: Asker::Collector, current: None }
    }

    /// Takes the next question to work on it from `now` on.
    fn begin(&mut self, now: Time) {
        let other = match self.last {
            Asker::Host => Asker::Collector,
            Asker::Collector => Asker::Host,
        };
        for asker in [other, self.last] {
            if let Some((ticket, ask)) = self.queues[asker as usize].pop_front() {
                self.last = asker;
                self.current = Some((now + self.service, ticket, ask));
                return;
            }
        }
    }
}

/// Carries a question out on entries, the first of which is that of unit `base`. Also tells whether they changed.
pub(super) fn carry_out(entries: &mut [u32], base: u32, ask: Ask) -> (Answer, bool) {
    let at = |lpn: Lpn| (lpn.get() - base) as usize;
    match ask {
        Ask::Lookup { first, count } => {
            let mut places = [None; SPAN as usize];
            let found = &entries[at(first)..at(first) + count as usize];
            places.iter_mut().zip(found).for_each(|(to, found)| *to = place(*found));
            (Answer::Places(places), false)
        }
        Ask::Update { lpn, to } => {
            let old: Option<Psn> = place(std::mem::replace(&mut entries[at(lpn)], entry(to)));
            (Answer::Updated(old), old != to)
        }
        Ask::CondUpdate { lpn, from, to } => {
            let holds = place(entries[at(lpn)]) == Some(from);
            if holds {
                entries[at(lpn)] = to.get();
            }
            (Answer::Condition(holds), holds)
        }
    }
}

impl MapUnit for Table {
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        self.queues[asker as usize].push_back((ticket, ask));
        if self.current.is_none() {
            self.begin(now);
        }
    }

    fn loaded(&mut self, _: Time, tvpn: u32, _: Option<&[u32]>) {
        unreachable!("a full table has translation page {tvpn} loaded");
    }

    fn stored(&mut self, _: Time, tvpn: u32) {
        unreachable!("a full table has translation page {tvpn} stored");
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        while let Some((at, ticket, ask)) = self.current.take_if(|(at, ..)| *at <= now) {
            let (answer, _) = carry_out(&mut self.entries, 0, ask);
            out.answers.push((ticket, answer));
            self.begin(at);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.current.map(|(at, ..)| at)
    }

    fn image(&self, tvpn: u32) -> &[u32] {
        unreachable!("a full table has translation page {tvpn} stored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_at_a_time_and_askers_take_turns() {
        let mut table = Table::new(Span::from_us(2), &[7, super::super::NOWHERE]);
        let at = |us| Time::ZERO + Span::from_us(us);
        let lookup = Ask::Lookup { first: Lpn::new(0), count: 2 };
        let update = |lpn, to| Ask::Update { lpn: Lpn::new(lpn), to: Some(Psn::new(to)) };
        let copy = Ask::CondUpdate { lpn: Lpn::new(0), from: Psn::new(7), to: Psn::new(9) };
        table.ask(at(1), Asker::Host, Ticket(1), lookup);
        table.ask(at(1), Asker::Host, Ticket(2), update(0, 8));
        table.ask(at(1), Asker::Collector, Ticket(3), copy);
        let mut out = Output::default();
        table.advance(at(2), &mut out);
        assert_eq!((out.answers.len(), table.next_event()), (0, Some(at(3))));
        table.advance(at(7), &mut out);
        let mut places = [None; SPAN as usize];
        places[0] = Some(Psn::new(7));
        let expected = [
            (Ticket(1), Answer::Places(places)),
            (Ticket(3), Answer::Condition(true)),
            (Ticket(2), Answer::Updated(Some(Psn::new(9)))),
        ];
        assert_eq!((out.answers.as_slice(), table.next_event()), (expected.as_slice(), None));
        table.ask(at(9), Asker::Collector, Ticket(4), copy);
        table.advance(at(11), &mut out);
        assert_eq!(out.answers[3], (Ticket(4), Answer::Condition(false)));
    }
}
