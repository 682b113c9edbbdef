//! The stream by the placement identifier of the request: the host says which data belong together.
//!
//! A drive with Flexible Data Placement ([`FdpSpec`]) or the streams directive uses this policy. Data without an
//! identifier, or with one that the drive does not have, goes to stream 0.

use super::{HostWrite, StreamPolicy};
use crate::page::FdpSpec;

/// The policy by placement identifier: a stream is a reclaim unit handle.
#[derive(Clone, Debug)]
pub(super) struct ByPlacementId {
    handles: FdpSpec,
}

impl ByPlacementId {
    pub(super) const fn new(handles: FdpSpec) -> Self {
        Self { handles }
    }
}

impl StreamPolicy for ByPlacementId {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        self.handles.target(write.placement).map_or(0, |target| target.handle as u8)
    }
}

#[cfg(test)]
mod tests {
    use base::io::PlacementId;

    use super::super::write_of;
    use super::*;

    #[test]
    fn each_identifier_has_a_stream_and_an_unknown_one_has_that_of_data_without_one() {
        let mut policy = ByPlacementId::new(FdpSpec::of_streams(3));
        let of = |number| policy.stream(&HostWrite { placement: PlacementId::new(number), ..write_of(1, 0) });
        assert_eq!([0, 1, 2, 3, 65_535].map(of), [0, 1, 2, 0, 0]);
    }
}
