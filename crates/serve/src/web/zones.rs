//! The zones of a drive on its page.

use serde::Serialize;
use ssd::{ZoneReport, ZoneShape, ZoneState};

/// The zones of a drive, in their order.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ZonesFrame {
    /// A letter for each state: empty, open (by the host or implicitly), closed, full, read only (`r`), offline (`x`).
    states: String,
    /// The share of each zone's capacity before the write pointer, in percent.
    written: Vec<u8>,
    /// The most active and open zones.
    limits: [u32; 2],
}

impl ZonesFrame {
    /// The zones of a drive of this shape, from its reports.
    pub(super) fn of(reports: &[ZoneReport], shape: &ZoneShape) -> Self {
        let written = |(number, report): (u32, &ZoneReport)| {
            let units = report.write_pointer.get().saturating_sub(number * shape.size).min(shape.capacity);
            (u64::from(units) * 100 / u64::from(shape.capacity.max(1))) as u8
        };
        Self {
            states: reports.iter().map(|report| letter(report.state)).collect(),
            written: (0..).zip(reports).map(written).collect(),
            limits: [shape.max_active, shape.max_open],
        }
    }
}

const fn letter(state: ZoneState) -> char {
    match state {
        ZoneState::Empty => 'e',
        ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen => 'o',
        ZoneState::Closed => 'c',
        ZoneState::Full => 'f',
        ZoneState::ReadOnly => 'r',
        ZoneState::Offline => 'x',
    }
}

#[cfg(test)]
mod tests {
    use base::units::Lpn;

    use super::*;

    #[test]
    fn a_zone_is_written_up_to_its_write_pointer() {
        let shape = ZoneShape { zones: 4, size: 32, capacity: 24, max_active: 3, max_open: 2, zrwa: None };
        let report = |state, write_pointer| ZoneReport { state, write_pointer: Lpn::new(write_pointer) };
        let reports = [
            report(ZoneState::Full, 24),
            report(ZoneState::ExplicitlyOpen, 32 + 6),
            report(ZoneState::Closed, 64 + 1),
            report(ZoneState::Empty, 96),
        ];
        let frame = ZonesFrame::of(&reports, &shape);
        assert_eq!((frame.states.as_str(), frame.limits), ("foce", [3, 2]));
        assert_eq!(frame.written, [100, 25, 4, 0]);
    }
}
