//! The stream by the amount that the host will write before it writes the mapping unit again: a bound, because no real
//! drive knows it.

use base::units::{Bytes, SECTOR};

use super::{HostWrite, StreamPolicy};
use crate::foresight::Foresight;

/// The policy by the next write.
#[derive(Clone, Debug)]
pub(super) struct Oracle {
    /// The shortest distance of each stream but the first, in mapping units.
    limits: Vec<u64>,
    foresight: Foresight,
    /// The number of writes of each mapping unit so far; empty without foresight.
    written: Vec<u32>,
}

impl Oracle {
    /// The policy for limits given as amounts of data, for mapping units of `sectors` sectors.
    pub(super) fn new(limits: &[Bytes], sectors: u64, foresight: &Foresight) -> Self {
        let unit = sectors * SECTOR.get();
        let limits = limits.iter().map(|limit| limit.get().div_ceil(unit)).collect();
        Self { limits, foresight: foresight.clone(), written: Vec::new() }
    }

    pub(super) const fn memory(limits: &[Bytes]) -> u64 {
        size_of_val(limits) as u64
    }
}

impl StreamPolicy for Oracle {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        let distance = match &self.foresight {
            Foresight::None => None,
            Foresight::Log(log) => {
                log.note(write.lpn);
                None
            }
            Foresight::NextWrites(next) => {
                if self.written.len() <= write.lpn.index() {
                    self.written.resize(write.lpn.index() + 1, 0);
                }
                let written = &mut self.written[write.lpn.index()];
                *written += 1;
                next.distance(write.lpn, *written - 1)
            }
        };
        let reached = |distance| self.limits.iter().take_while(|limit| distance >= **limit).count();
        distance.map_or(self.limits.len(), reached) as u8
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::write_of;
    use super::*;
    use crate::foresight::{NextWrites, WriteLog};

    /// The streams of writes of mapping units of 4 KiB, in a first run that notes the writes and in a second run that
    /// knows them.
    #[test]
    fn a_second_run_knows_what_the_first_has_noted() {
        let writes = [5, 6, 5, 7, 5, 6];
        let streams = |foresight| {
            let mut oracle = Oracle::new(&[Bytes::new(8 << 10), Bytes::new(16 << 10)], 8, &foresight);
            writes.map(|lpn| oracle.stream(&write_of(lpn, 0)))
        };
        assert_eq!(streams(Foresight::None), [2; 6], "nothing is known");
        let log = Arc::new(WriteLog::default());
        assert_eq!(streams(Foresight::Log(Arc::clone(&log))), [2; 6], "nothing is known yet");
        let next = Arc::new(NextWrites::of(&log, 8));
        // Unit 5 is written again after 2 writes each time, unit 6 after 4; after that neither is written again.
        assert_eq!(streams(Foresight::NextWrites(next)), [1, 2, 1, 2, 2, 2]);
    }
}
