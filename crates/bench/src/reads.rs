//! The firmware of a drive that only reads: one look-up in a random map.
//!
//! The load is 4 KiB random reads in a closed loop. A read waits for its chip, its channel and the host link: three
//! events.

use crate::DEPTH;
use crate::agenda::Agenda;
use crate::random::Random;
use crate::simulator::{ALL_CHIPS, Firmware, Hardware};

/// The number of entries of the map, as many as on the simulated drive.
pub(crate) const UNITS: u32 = 1 << 22;

/// Draws a mapping unit.
#[inline]
pub(crate) const fn draw_unit(random: &mut Random) -> u32 {
    (random.draw() >> 20) as u32 % UNITS
}

/// The firmware of reads: a map of pages.
#[derive(Debug)]
pub struct Reads {
    map: Vec<u32>,
}

impl Firmware for Reads {
    type Data = ();

    const OPERATIONS: u32 = DEPTH;

    fn new(random: &mut Random) -> Self {
        Self { map: (0..UNITS).map(|_| draw_unit(random)).collect() }
    }

    #[inline]
    fn submit<A: Agenda>(&mut self, hardware: &mut Hardware<A, ()>, request: u32) {
        let unit = draw_unit(&mut hardware.random);
        hardware.operation(request).chip = self.map[unit as usize] % ALL_CHIPS;
        hardware.start(request);
    }

    #[inline]
    fn read<A: Agenda>(&mut self, hardware: &mut Hardware<A, ()>, request: u32) {
        hardware.cross_link(request);
    }

    #[inline]
    fn linked<A: Agenda>(&mut self, hardware: &mut Hardware<A, ()>, request: u32) {
        hardware.complete(request);
        self.submit(hardware, request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::{Heap, Rings};
    use crate::simulator::{CHANNELS, Simulator, TRANSFER};

    #[test]
    fn both_agendas_simulate_the_same_drive() {
        let (mut heap, mut rings) = (Simulator::<Heap, Reads>::new(), Simulator::<Rings<3>, Reads>::new());
        heap.run(200_000);
        rings.run(200_000);
        let (heap, rings) = (heap.simulated_rate(), rings.simulated_rate());
        assert!((heap / rings - 1.0).abs() < 1e-3, "{heap} and {rings} requests per simulated second");
        // A read takes 6.717 us on a channel of 667 MB/s.
        let most = f64::from(CHANNELS) / (TRANSFER as f64 * 1e-12);
        assert!(heap > 0.8 * most && heap < most, "{heap} requests per second of {most}");
    }
}
