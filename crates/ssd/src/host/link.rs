//! The host link: first come, first served, in each direction (full duplex) or in both together (half duplex).

use base::io::IoKind;
use base::units::{Bytes, Span, Time};
use ftl::Direction;

use crate::spec::{Duplex, LinkSpec};

/// A link, and the times at which it is free.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    spec: LinkSpec,
    free: [Time; 2],
    busy: Span,
    /// The size of the last transfer and its time: most transfers are as long as the transfer before, and a new size
    /// takes a division.
    last: (Bytes, Span),
}

impl Link {
    pub(crate) fn new(spec: LinkSpec) -> Self {
        Self { spec, free: [Time::ZERO; 2], busy: Span::ZERO, last: (Bytes::new(0), Span::ZERO) }
    }

    /// Sends a command with its data as soon as the link is free. Returns the arrival time, or `None` if the transfer
    /// takes no time.
    #[inline]
    pub(crate) fn carry(&mut self, now: Time, direction: Direction, bytes: Bytes) -> Option<Time> {
        let time = self.spec.overhead + self.data(bytes);
        self.occupy(now, direction, time)
    }

    /// The time between the end of a request's last transfer and its completion.
    #[inline]
    pub(crate) const fn latency(&self, kind: IoKind) -> Span {
        match kind {
            IoKind::Read => self.spec.read_latency,
            IoKind::Write | IoKind::Append => self.spec.write_latency,
            IoKind::Flush
            | IoKind::Discard
            | IoKind::ZoneOpen
            | IoKind::ZoneClose
            | IoKind::ZoneFinish
            | IoKind::ZoneReset
            | IoKind::ZoneOpenZrwa
            | IoKind::ZrwaFlush
            | IoKind::HandleUpdate => Span::ZERO,
        }
    }

    /// Sends data between the drive and the host's memory, which belongs to no command. Returns the end of the transfer.
    pub(crate) fn carry_memory(&mut self, now: Time, direction: Direction, bytes: Bytes) -> Time {
        let time = self.data(bytes);
        self.occupy(now, direction, time).unwrap_or(now)
    }

    /// Sends a part of a read's data to the host ahead of the rest. The command ends with the rest.
    pub(crate) fn carry_part(&mut self, now: Time, bytes: Bytes) {
        let time = self.data(bytes);
        self.occupy(now, Direction::Out, time);
    }

    #[inline]
    fn data(&mut self, bytes: Bytes) -> Span {
        if bytes != self.last.0 {
            self.last = (bytes, self.spec.rate.map_or(Span::ZERO, |rate| rate.time(bytes)));
        }
        self.last.1
    }

    #[inline]
    fn occupy(&mut self, now: Time, direction: Direction, time: Span) -> Option<Time> {
        let way = match self.spec.duplex {
            Duplex::Half => 0,
            Duplex::Full => direction as usize,
        };
        if time.is_zero() {
            return None;
        }
        self.free[way] = self.free[way].max(now) + time;
        self.busy += time;
        Some(self.free[way])
    }

    /// The time for which the link worked until `now`. Transfers promised beyond `now` follow each other without a gap.
    pub(crate) fn busy(&self, now: Time) -> Span {
        self.free.iter().fold(self.busy, |busy, free| busy.saturating_sub(free.saturating_since(now)))
    }

    /// Drops the transfers beyond `now`, and keeps the busy time.
    pub(crate) fn reset(&mut self, now: Time) {
        self.busy = self.busy(now);
        self.free = [now; 2];
    }

    pub(crate) fn reset_count(&mut self) {
        self.busy = Span::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Rate;

    fn link(duplex: Duplex) -> Link {
        let rate = Some(Rate::new(1_000_000_000));
        Link::new(LinkSpec { name: "custom".into(), rate, overhead: Span::from_ns(100), duplex, ..LinkSpec::default() })
    }

    #[test]
    fn transfers_queue_in_their_direction() {
        let at = |ns: u64| Some(Time::from_ps(ns * 1000));
        let mut half = link(Duplex::Half);
        assert_eq!(half.carry(Time::ZERO, Direction::In, Bytes::new(900)), at(1000));
        assert_eq!(half.carry(Time::ZERO, Direction::Out, Bytes::new(900)), at(2000));
        assert_eq!(half.busy(Time::from_ps(1_500_000)), Span::from_ns(1500));
        let mut full = link(Duplex::Full);
        assert_eq!(full.carry(Time::ZERO, Direction::In, Bytes::new(900)), at(1000));
        assert_eq!(full.carry(Time::ZERO, Direction::Out, Bytes::new(900)), at(1000));
        assert_eq!(Link::new(LinkSpec::default()).carry(Time::ZERO, Direction::In, Bytes::new(9)), None);
    }
}
