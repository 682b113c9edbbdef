//! The stream by the placement identifier of the request: the host says which data belong together.
//!
//! This is what a drive with Flexible Data Placement (NVM Express TP4146) or the streams directive does. A stream is then a reclaim
//! unit handle, and a superblock a reclaim unit. Data whose identifier the drive does not have goes to stream 0, as data without one.

use super::{HostWrite, StreamPolicy};

/// Streams by placement identifier.
#[derive(Clone, Debug)]
pub(super) struct ByPlacementId {
    streams: u16,
}

impl ByPlacementId {
    pub(super) const fn new(streams: u16) -> Self {
        Self { streams }
    }
}

impl StreamPolicy for ByPlacementId {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        let number = write.placement.get();
        if number < self.streams { number as u8 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use base::io::PlacementId;

    use super::super::write_of;
    use super::*;

    #[test]
    fn each_identifier_has_a_stream_and_an_unknown_one_has_that_of_data_without_one() {
        let mut policy = ByPlacementId::new(3);
        let of = |number| policy.stream(&HostWrite { placement: PlacementId::new(number), ..write_of(1, 0) });
        assert_eq!([0, 1, 2, 3, 65_535].map(of), [0, 1, 2, 0, 0]);
    }
}
