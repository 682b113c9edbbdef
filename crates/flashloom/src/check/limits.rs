//! Upper bounds of throughput on the sheet of a device, each with the resource that sets it.

use base::units::{Bytes, Rate, SECTOR, Span};
use flash::backend::Op;
use ssd::ResolvedDevice;

/// The bounds of full blocks, and of the SLC cache if the drive has a cache.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
    let full = Limits::new(resolved);
    let Some(cache) = Limits::of_slc_cache(resolved) else { return full.lines(resolved, "") };
    [full.lines(resolved, "behind the SLC cache: "), cache.lines(resolved, "in the SLC cache: ")].concat()
}

/// Array times of one kind of block, and the rows that a program of that block writes.
struct BlockTimes {
    read: Span,
    program: Span,
    rows: u32,
}

/// Upper bounds of throughput.
struct Limits {
    link: Option<Rate>,
    /// The rate of all channels together, for data alone.
    channels: Rate,
    /// The rates of reads and of programs of all dies that the power cap lets work at once.
    dies: [Rate; 2],
    /// The name of the resource that bounds `dies`.
    dies_by: [&'static str; 2],
    /// Reads of one mapping unit per second.
    random_reads: f64,
}

/// The rate of `count` resources, each of which moves `bytes` in every `span`.
fn rate(bytes: u64, span: Span, count: f64) -> Rate {
    let per_second = bytes as f64 * count / span.as_secs_f64().max(1e-12);
    Rate::new((per_second as u64).max(1))
}

fn mean(spans: &[Span]) -> Span {
    spans.iter().copied().sum::<Span>() / (spans.len().max(1) as u64)
}

impl Limits {
    /// The bounds of full blocks.
    fn new(resolved: &ResolvedDevice) -> Self {
        let timing = &resolved.backend.timing;
        let times = BlockTimes { read: mean(&timing.read), program: mean(&timing.program), rows: timing.one_shot };
        Self::of_blocks(resolved, &times)
    }

    /// The bounds of blocks in SLC mode; `None` without an SLC cache. A program writes one row there.
    fn of_slc_cache(resolved: &ResolvedDevice) -> Option<Self> {
        let mode = resolved.backend.timing.slc_mode.filter(|_| resolved.ftl.slc_cache.is_some())?;
        let times = BlockTimes { read: mode.read, program: mode.program, rows: 1 };
        Some(Self::of_blocks(resolved, &times))
    }

    fn of_blocks(resolved: &ResolvedDevice, times: &BlockTimes) -> Self {
        let (geometry, timing) = (&resolved.geometry, &resolved.backend.timing);
        let unit = SECTOR.get() * u64::from(geometry.sectors);
        let row = unit * u64::from(geometry.row_slots());
        let row_transfer = timing.transfer[geometry.row_slots() as usize];
        let dies = f64::from(geometry.die_count());
        let has_cap = resolved.spec.power.as_ref().is_some_and(|power| power.cap.is_some());
        let by_power = if has_cap { "the power cap" } else { "the power state" };
        let capped = |op, planes| {
            let supply = resolved.backend.supply.as_ref();
            let at_once = supply.and_then(|supply| supply.operations_at_once(op, planes)).unwrap_or(f64::INFINITY);
            if at_once < dies { (at_once, by_power) } else { (dies, "the dies") }
        };
        let row_planes = u64::from((geometry.stripe / resolved.gang).max(1) * geometry.planes_per_unit);
        let per_second = |span: Span, count: f64| count / span.as_secs_f64().max(1e-12);
        let link = resolved.host.link.rate;
        let on_link = link.map_or(f64::INFINITY, |rate| {
            1.0 / (rate.time(Bytes::new(unit)) + resolved.host.link.overhead).as_secs_f64()
        });
        let on_channels = per_second(
            timing.transfer[1] + timing.commands(Op::Read, 1) + timing.around_data_out(1),
            f64::from(geometry.channels),
        );
        // The planes of a die that read at once; a read of a row takes `stripe` of them.
        let planes = resolved.backend.plane_reads.map_or(1, |spec| spec.at_once.unwrap_or(geometry.planes));
        let (unit_reads, _) = capped(Op::Read, u64::from(geometry.planes_per_unit));
        let on_dies = per_second(times.read, unit_reads * f64::from(planes));
        let (row_reads, reads_by) = capped(Op::Read, row_planes);
        let (programs, programs_by) = capped(Op::Program, row_planes);
        Self {
            link,
            channels: rate(row, row_transfer, f64::from(geometry.channels)),
            dies: [
                rate(row, times.read, row_reads * f64::from((planes / geometry.stripe).max(1))),
                rate(row * u64::from(times.rows), times.program, programs),
            ],
            dies_by: [reads_by, programs_by],
            random_reads: on_link.min(on_channels).min(on_dies),
        }
    }

    /// The lowest bound, and the resource that sets it.
    fn least(&self, way: usize) -> (Rate, &'static str) {
        let all = [self.link.map(|rate| (rate, "the link")), Some((self.channels, "the channels"))];
        let dies = (self.dies[way], self.dies_by[way]);
        all.into_iter().flatten().fold(dies, |least, other| if other.0 < least.0 { other } else { least })
    }

    fn lines(&self, resolved: &ResolvedDevice, place: &str) -> Vec<String> {
        let ((read, read_by), (write, write_by)) = (self.least(0), self.least(1));
        let unit = SECTOR * u64::from(resolved.geometry.sectors);
        vec![
            format!("{place}reads {read} ({read_by}), writes {write} ({write_by}),"),
            format!("{:.0} random reads of {unit} a second", self.random_reads),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::device;

    fn resolved(name: &str, set: &[&str]) -> ResolvedDevice {
        let set: Vec<String> = set.iter().map(|&key| key.to_owned()).collect();
        device(name.as_ref(), &set).expect("sound").resolved
    }

    #[test]
    fn the_printed_limits_are_those_of_the_papers() {
        // fmmu.md D1, D2, D4: 9.757 GB/s and 2,382 KIOPS on the channels, 5.377 GB/s in the chips. The paper's bounds are those of
        // the data; each read also has the 50 ns of command cycles that its part is assumed to have.
        let limits = |name: &str| Limits::new(&resolved(name, &[]));
        let fmmu = limits("fmmu-16x8-ram");
        assert_eq!(fmmu.least(0).0.get() / 1_000_000, 9_757);
        let of_data = 16.0 / (16.0 / fmmu.random_reads - 50e-9);
        assert!((of_data - 2_382e3).abs() < 1e3, "{of_data}");
        assert_eq!((fmmu.least(1).0.get() / 1_000_000, fmmu.least(1).1), (5_377, "the dies"));
        // dirik.md: 2 KB in 81.92 us, programs of 200 us in four banks.
        let dirik = limits("dirik-1x4");
        assert_eq!((dirik.least(0).0.get(), dirik.least(0).1), (25_000_000, "the channels"));
        assert_eq!(dirik.dies[1].get(), 40_960_000);
    }

    /// The 670p is rated at 2,700 MB/s in its cache; behind it 16 dies program 64 KiB in 1,638 us each.
    #[test]
    fn a_drive_with_an_slc_cache_has_limits_in_the_cache_and_behind_it() {
        let lines = lines(&resolved("today-670p-like", &[]));
        let [full, _, cache, _] = &lines[..] else { panic!("{lines:?}") };
        assert!(
            full.starts_with("behind the SLC cache: ") && full.ends_with("writes 640.156MB/s (the dies),"),
            "{full}"
        );
        assert!(cache.starts_with("in the SLC cache: ") && cache.ends_with("writes 3.084GB/s (the dies),"), "{cache}");
        assert_eq!(super::lines(&resolved("demo", &[])).len(), 2, "no cache, no second limit");
    }

    /// A program of `demo` draws 82.5 mW, so 180 mW are two of them.
    #[test]
    fn a_power_cap_bounds_the_dies_that_work_at_once() {
        let free = Limits::new(&resolved("demo", &[]));
        let capped = Limits::new(&resolved("demo", &["power.cap.peak=180mW"]));
        assert_eq!(capped.dies[1].get(), free.dies[1].get() / 2);
        assert_eq!((free.dies_by, capped.dies_by), (["the dies"; 2], ["the power cap"; 2]));
        let state =
            Limits::new(&resolved("demo", &["power={controller={active=\"1W\"},operational=[{power=\"1.18W\"}]}"]));
        assert_eq!((state.dies, state.dies_by), (capped.dies, ["the power state"; 2]));
        let average = Limits::new(&resolved("demo", &["power.cap={average=\"165mW\",window=\"10ms\"}"]));
        assert_eq!(average.dies[1], capped.dies[1]);
    }
}
