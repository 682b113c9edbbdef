//! The stream by the size of the request.
//!
//! Small requests often write metadata and logs, which change soon; large ones write files, which stay.

use base::units::{Bytes, Sectors};

use super::{HostWrite, StreamPolicy};

/// The policy by the size of requests.
#[derive(Clone, Debug)]
pub(super) struct BySize {
    /// The smallest request of each stream but the first.
    limits: Vec<Sectors>,
}

impl BySize {
    pub(super) fn new(limits: &[Bytes]) -> Self {
        Self {
            limits: limits.iter().map(|limit| Sectors::new(limit.get().div_ceil(base::units::SECTOR.get()))).collect(),
        }
    }
}

impl StreamPolicy for BySize {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        self.limits.iter().take_while(|limit| **limit <= write.request).count() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_of;
    use super::*;

    #[test]
    fn a_request_as_large_as_a_limit_goes_to_the_stream_behind_it() {
        let mut policy = BySize::new(&[Bytes::new(16 << 10), Bytes::new(128 << 10)]);
        let mut of = |sectors| policy.stream(&HostWrite { request: Sectors::new(sectors), ..write_of(1, 0) });
        assert_eq!([1, 31, 32, 255, 256, 4096].map(&mut of), [0, 0, 1, 1, 2, 2]);
    }
}
