//! The requests of a drive in the order of their arrival; each is kept until it has completed.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use base::io::Io;
use base::units::Time;
use ssd::{QueueId, Status};

/// The number of rows of a group, which is written at once.
pub(super) const GROUP: usize = 65_536;

/// The end of a recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// The request completed at this time, with this status.
    At(Time, Status),
    /// The request never completed, because the power was cut.
    Lost,
}

/// A recorded request with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRow {
    /// The time at which the drive got the request.
    pub at: Time,
    /// The request, with its kind and extent.
    pub io: Io,
    /// The submission queue through which the request came.
    pub queue: QueueId,
    /// The time and the status of the completion, or the mark of a request that a power cut ended.
    pub ended: RequestEnd,
}

/// A request in the record that may be under way.
struct OpenRequest {
    at: Time,
    io: Io,
    queue: QueueId,
    ended: Option<RequestEnd>,
}

/// Collects the requests of a drive and passes them on in groups.
pub struct RequestCollector {
    /// The requests that are not passed on, and the number of the first of them.
    rows: VecDeque<OpenRequest>,
    first: u64,
    /// The number of rows at the front that have ended.
    ended: usize,
    to: Sender<Vec<RequestRow>>,
}

impl RequestCollector {
    /// A record that passes its groups to a writer.
    #[must_use]
    pub const fn new(to: Sender<Vec<RequestRow>>) -> Self {
        Self { rows: VecDeque::new(), first: 0, ended: 0, to }
    }

    /// Notes a request; `number` counts up from zero.
    pub(crate) fn submitted(&mut self, number: u64, at: Time, io: Io, queue: QueueId) {
        assert_eq!(number, self.first + self.rows.len() as u64, "a request is missing");
        self.rows.push_back(OpenRequest { at, io, queue, ended: None });
    }

    pub(crate) fn completed(&mut self, number: u64, at: Time, status: Status) {
        self.rows[(number - self.first) as usize].ended = Some(RequestEnd::At(at, status));
        while self.rows.get(self.ended).is_some_and(|row| row.ended.is_some()) {
            self.ended += 1;
        }
        if self.ended >= GROUP {
            self.pass_on();
        }
    }

    /// Notes that all requests under way were lost with the power.
    pub(crate) fn lost(&mut self) {
        for row in &mut self.rows {
            row.ended.get_or_insert(RequestEnd::Lost);
        }
        self.ended = self.rows.len();
    }

    /// Passes on the longest run of ended requests at the front.
    pub(crate) fn pass_on(&mut self) {
        let ended = self.rows.drain(..self.ended);
        let rows: Vec<_> = ended
            .filter_map(|OpenRequest { at, io, queue, ended }| Some(RequestRow { at, io, queue, ended: ended? }))
            .collect();
        self.first += rows.len() as u64;
        self.ended = 0;
        if !rows.is_empty() {
            // If the writer has failed, it reports the failure, and nothing is recorded any more.
            let _ = self.to.send(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const QUEUE: QueueId = QueueId::new(3);

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn requests_stay_in_order_of_arrival_and_leave_when_they_have_ended() {
        let (to, groups) = channel();
        let mut record = RequestCollector::new(to);
        (0..4).for_each(|n| record.submitted(n, at(n), Io::FLUSH, QUEUE));
        record.completed(2, at(10), Status::Done);
        record.completed(0, at(11), Status::ReadOnly);
        record.pass_on();
        let done = |ps, status| RequestEnd::At(at(ps), status);
        let row = |n, ended| RequestRow { at: at(n), io: Io::FLUSH, queue: QUEUE, ended };
        assert_eq!(groups.try_recv().expect("a group"), [row(0, done(11, Status::ReadOnly))]);
        record.lost();
        record.submitted(4, at(4), Io::FLUSH, QUEUE);
        record.pass_on();
        let wanted = [row(1, RequestEnd::Lost), row(2, done(10, Status::Done)), row(3, RequestEnd::Lost)];
        assert_eq!(groups.try_recv().expect("a group"), wanted);
        record.completed(4, at(21), Status::Done);
        record.pass_on();
        assert_eq!(groups.try_recv().expect("a group"), [row(4, done(21, Status::Done))]);
        record.pass_on();
        assert!(groups.try_recv().is_err(), "no empty groups");
    }
}
