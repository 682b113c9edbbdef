//! The stream by the submission queue of the request.
//!
//! A host that gives each tenant a queue of its own separates their data in this way, without directives.

use super::{HostWrite, StreamPolicy};

/// The policy by submission queue.
#[derive(Clone, Debug)]
pub(super) struct ByQueue {
    streams: u32,
}

impl ByQueue {
    pub(super) const fn new(streams: u32) -> Self {
        Self { streams }
    }
}

impl StreamPolicy for ByQueue {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        (write.queue % self.streams) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_of;
    use super::*;

    #[test]
    fn queues_share_the_streams_in_turn() {
        let mut policy = ByQueue::new(3);
        let of = |queue| policy.stream(&HostWrite { queue, ..write_of(1, 0) });
        assert_eq!([0, 1, 2, 3, 4, 65_535].map(of), [0, 1, 2, 0, 1, 0]);
    }
}
