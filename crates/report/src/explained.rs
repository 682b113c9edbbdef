//! The parts of the time of requests, as text and as bars.

use std::fmt::Write as _;

use flash::backend::Cause;

use study::caution::{Caution, cautions};
use study::metric::Dimension;
use study::summary::Summary;
use study::text::{duration, percent};
use study::watch::explain::{ALL, Band, KindBands, OneLeg, OneRequest, Times};
use study::watch::journey::JourneyPart;

use super::cautions;
use super::figure::{Axis, BarPart, Chart, Figure, Number, Scale, Stack};
use super::grid::grid;
use super::table::{Table, UnitOfMeasure};

/// The width of a terminal in characters.
const WIDTH: usize = 80;

const WAITS: &str = "The share of the latency in which requests waited while the flash worked, by the cause of that work. The number \
                     after the bar is the mean latency.";

const NOTE: &str = "The share of each part in the latency. The number after the bar is the mean latency.";

/// A bar for a band of requests, divided by the parts of their time.
pub(crate) fn stack_of_parts(name: String, band: &Band) -> Stack {
    let piece = |part: JourneyPart| BarPart {
        name: part.name().into(),
        colour: part as usize,
        value: Number(band.part_us(part) / band.latency_us),
    };
    let parts = JourneyPart::ALL.into_iter().filter(|part| band.part_us(*part) > 0.0).map(piece).collect();
    Stack { name, parts, label: Some(Dimension::Time.show(band.latency_us)) }
}

/// The number of the colour for time without waiting, and for waits without a known cause. It is hatched, because the
/// plain colours belong to the causes.
const OWN: usize = Cause::COUNT;
const UNKNOWN: usize = 2 * Cause::COUNT - 1;

/// The parts in which a request does not wait.
const SERVED: [JourneyPart; 4] = [JourneyPart::Link, JourneyPart::Array, JourneyPart::Transfer, JourneyPart::Decode];

/// A bar for a band of requests, divided by the cause for which the flash worked while the requests waited.
pub(crate) fn stack_of_waits(name: String, band: &Band) -> Stack {
    let time =
        |times: &Times, cause: Cause| times.iter().find(|(name, _)| *name == cause.name()).map_or(0.0, |of| of.1);
    let own: f64 = SERVED.into_iter().map(|part| band.part_us(part)).sum();
    let behind = |cause: Cause| time(&band.behind_us, cause) + time(&band.meanwhile_us, cause);
    let known: f64 = Cause::ALL.into_iter().map(behind).sum();
    let piece =
        |name: &str, colour, us: f64| BarPart { name: name.into(), colour, value: Number(us / band.latency_us) };
    let own_piece = piece("no wait: served itself", OWN, own);
    let causes = Cause::ALL.into_iter().map(|cause| piece(cause.name(), cause as usize, behind(cause)));
    let rest = piece("waits without flash work", UNKNOWN, (band.latency_us - own - known).max(0.0));
    // A part of less than a thousandth is too small to be seen.
    let parts = std::iter::once(own_piece).chain(causes).chain([rest]).filter(|part| part.value.0 >= 0.001).collect();
    Stack { name, parts, label: Some(Dimension::Time.show(band.latency_us)) }
}

/// The bars of waits as a figure; `None` if no request waited for more than a hundredth of its time.
pub(crate) fn waited_for(of: &str, rows: Vec<Stack>) -> Option<Figure> {
    let waits = |row: &Stack| row.parts.iter().filter(|part| part.colour != OWN).map(|part| part.value.0).sum::<f64>();
    let x = Axis { to: Some(Number(1.0)), ..Axis::new("share of the latency", Dimension::Share, Scale::Linear) };
    rows.iter()
        .any(|row| waits(row) >= 0.01)
        .then(|| Figure::new(format!("What was waited for: {of}"), WAITS, Chart::Stacks { x, rows }))
}

/// The bars of parts as a figure of shares, because the slowest requests take a thousand times as long as the others.
pub(crate) fn parts_of_time(of: &str, rows: Vec<Stack>) -> Figure {
    let x = Axis { to: Some(Number(1.0)), ..Axis::new("share of the latency", Dimension::Share, Scale::Linear) };
    Figure::new(format!("Where the time went: {of}"), NOTE, Chart::Stacks { x, rows })
}

/// The figures for each kind of request, with a bar for each band of percentiles: the causes of the waits, and the
/// parts of the time.
pub(crate) fn figures(explained: &[KindBands]) -> Vec<Figure> {
    let figures = |of: &KindBands| {
        // A kind of request that takes no time has no parts.
        let bands = || of.bands.iter().filter(|band| band.latency_us > 0.0);
        let waits = waited_for(of.kind, bands().map(|band| stack_of_waits(band.band.into(), band)).collect());
        let rows: Vec<Stack> = bands().map(|band| stack_of_parts(band.band.into(), band)).collect();
        waits.into_iter().chain((!rows.is_empty()).then(|| parts_of_time(of.kind, rows))).collect::<Vec<_>>()
    };
    explained.iter().flat_map(figures).collect()
}

/// The bands as text: the time of each part, and the causes of the waits.
#[must_use]
pub fn explained_table(explained: &[KindBands]) -> String {
    let mut text = String::new();
    for KindBands { kind, bands } in explained {
        let named = |of: fn(&Band) -> &Times| {
            let mut names: Vec<&str> = Vec::new();
            bands.iter().flat_map(of).for_each(|(name, _)| {
                if !names.contains(name) {
                    names.push(name);
                }
            });
            names
        };
        let parts: Vec<&str> = JourneyPart::ALL
            .into_iter()
            .map(JourneyPart::name)
            .filter(|name| named(|band| &band.parts_us).contains(name))
            .collect();
        let header: Vec<&str> = [*kind, "requests", "mean"].into_iter().chain(parts.iter().copied()).collect();
        let rows = bands.iter().map(|band| {
            let part = |name: &&str| band.parts_us.iter().find(|(other, _)| other == name).map(|(_, us)| *us);
            let first = [band.band.to_owned(), band.requests.to_string(), duration(band.latency_us)];
            first.into_iter().chain(parts.iter().map(|name| part(name).map_or_else(|| "-".into(), duration))).collect()
        });
        text.push_str(&grid(&header, rows, 1));
        for band in bands {
            let waited = |parts: &[JourneyPart]| parts.iter().map(|part| band.part_us(*part)).sum::<f64>();
            let flash =
                waited(&[JourneyPart::Controller, JourneyPart::Die, JourneyPart::Channel, JourneyPart::Suspended]);
            let queue = waited(&[JourneyPart::Queue]);
            let elsewhere = queue + waited(&[JourneyPart::Overlap, JourneyPart::Buffer, JourneyPart::Ftl]);
            let more = band.band == ALL || bands.len() < 3 || band.band == bands[bands.len() - 2].band;
            for (times, of, says, shown) in [
                (&band.behind_us, flash, "waited in flash behind", true),
                // The queue is common to all requests in it, so two bands are enough.
                (&band.ahead_us, queue, "queued while requests ahead were in", more),
                (&band.meanwhile_us, elsewhere, "waited elsewhere while flash worked for", more),
            ] {
                // A wait of less than a hundredth of the latency gets no line.
                if shown && !times.is_empty() && of >= 0.01 * band.latency_us {
                    let _ = writeln!(text, "{:<13} {says} {}", band.band, shares(times, of));
                }
            }
        }
        for band in bands.iter().filter(|band| !band.drives_us.is_empty()) {
            let share = |(drive, us): (usize, &f64)| format!("{drive} {}", percent(us / band.latency_us.max(*us)));
            let shares: Vec<String> = band.drives_us.iter().enumerate().map(share).collect();
            let _ = writeln!(text, "{:<13} waited for drive {}", band.band, shares.join(", "));
        }
        text.push('\n');
    }
    text
}

/// The warnings and notes of the stages of a run, below the bands.
#[must_use]
pub fn cautions_text(stages: &[Summary]) -> String {
    let all = cautions(stages.iter().enumerate());
    let place = |caution: &Caution<'_>| match stages.len() {
        1 => String::new(),
        all => cautions::share(caution, all),
    };
    cautions::text(&all, place, WIDTH)
}

/// Times as shares of a wait, in words.
fn shares(times: &Times, of: f64) -> String {
    let shares: Vec<String> = times.iter().map(|(name, us)| format!("{name} {}", percent(us / of.max(*us)))).collect();
    shares.join(", ")
}

/// The place of a leg: the drive, and the die or the channel.
fn place(leg: &OneLeg) -> String {
    let drive = leg.drive.map(|drive| format!("drive {drive}"));
    drive.into_iter().chain(leg.at.clone()).collect::<Vec<_>>().join(", ")
}

/// The legs of one request as text.
#[must_use]
pub fn request_table(of: &OneRequest) -> String {
    let OneRequest { request, kind, start_sector, sectors, latency_us, legs } = of;
    let took = duration(*latency_us);
    let head = format!("request {request}: {kind} of {sectors} sectors from {start_sector}, {took}\n\n");
    let rows = legs.iter().map(|leg| {
        let share = percent(leg.took_us / latency_us.max(leg.took_us));
        vec![leg.part.to_owned(), place(leg), duration(leg.from_us), duration(leg.took_us), share]
    });
    head + &grid(&["part", "at", "after", "took", "share"], rows, 2)
}

/// The bands as a table for other programs: one row for each part of the time of each band.
#[must_use]
pub fn explained_rows(explained: &[KindBands]) -> Table {
    let mut rows = Vec::new();
    for KindBands { kind, bands } in explained {
        for band in bands {
            for (of, times) in [
                ("part", &band.parts_us),
                ("behind", &band.behind_us),
                ("ahead", &band.ahead_us),
                ("meanwhile", &band.meanwhile_us),
            ] {
                rows.extend(times.iter().map(|(name, us)| (*kind, band, of, (*name).to_owned(), *us)));
            }
            let drives = band.drives_us.iter().enumerate();
            rows.extend(drives.map(|(drive, us)| (*kind, band, "drive", drive.to_string(), *us)));
        }
    }
    let mut table = Table::default();
    table.text("kind", "`read`, `write`, `flush` or `discard`", rows.iter().map(|row| row.0));
    let band = "The requests between two percentiles of the response time; `all` of them";
    table.text("band", band, rows.iter().map(|row| row.1.band));
    table.count("requests", UnitOfMeasure::None, "Requests in the band", rows.iter().map(|row| row.1.requests));
    let mean = "Mean response time in the band: the sum of its parts";
    table.number("latency_us", UnitOfMeasure::Microseconds, mean, rows.iter().map(|row| Some(row.1.latency_us)));
    let of = "`part`: a part of the time; `behind`: of the waits for controllers, dies and channels and of suspensions, what these resources did meanwhile; \
              `ahead`: of the time in the queue, the parts of the requests that completed meanwhile; `meanwhile`: of the waits \
              elsewhere, what the dies worked for; `drive`: of a RAID, the waits for each of its drives";
    table.text("of", of, rows.iter().map(|row| row.2));
    table.text("name", "The part, the cause of the commands, or the drive", rows.iter().map(|row| row.3.clone()));
    table.number("mean_us", UnitOfMeasure::Microseconds, "Its mean time", rows.iter().map(|row| Some(row.4)));
    table
}

/// One request as a table for other programs: one row per leg.
#[must_use]
pub fn request_rows(legs: &[OneLeg]) -> Table {
    let legs = || legs.iter();
    let mut table = Table::default();
    table.number(
        "from_us",
        UnitOfMeasure::Microseconds,
        "Begin, after the request's arrival",
        legs().map(|leg| Some(leg.from_us)),
    );
    table.number("took_us", UnitOfMeasure::Microseconds, "Length", legs().map(|leg| Some(leg.took_us)));
    table.text("part", "The part of the time", legs().map(|leg| leg.part));
    table.text("at", "The die or the channel", legs().map(place));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(
        latency_us: f64,
        parts_us: &[(&'static str, f64)],
        behind: &[(&'static str, f64)],
        meanwhile: &[(&'static str, f64)],
    ) -> Band {
        Band {
            band: ALL,
            requests: 10,
            latency_us,
            parts_us: parts_us.to_vec(),
            behind_us: behind.to_vec(),
            ahead_us: Vec::new(),
            meanwhile_us: meanwhile.to_vec(),
            drives_us: Vec::new(),
        }
    }

    #[test]
    fn the_bar_of_a_band_says_what_its_requests_waited_for() {
        let parts = [("queue", 50.0), ("die-wait", 30.0), ("array", 20.0)];
        let slow = band(100.0, &parts, &[("gc", 25.0), ("host", 5.0)], &[("gc", 10.0)]);
        let stack = stack_of_waits("slow".into(), &slow);
        let parts: Vec<_> = stack.parts.iter().map(|part| (part.name.as_str(), part.value.0)).collect();
        let wanted = [("no wait: served itself", 0.2), ("host", 0.05), ("gc", 0.35), ("waits without flash work", 0.4)];
        assert_eq!(parts.len(), wanted.len(), "{parts:?}");
        for ((name, share), (wanted, of)) in parts.into_iter().zip(wanted) {
            assert!(name == wanted && (share - of).abs() < 1e-9, "{name} {share}, not {wanted} {of}");
        }
        let fast = band(20.0, &[("array", 20.0)], &[], &[]);
        let explained = |band| [KindBands { kind: "read", bands: vec![band] }];
        let headings = |band| figures(&explained(band)).into_iter().map(|figure| figure.heading).collect::<Vec<_>>();
        assert_eq!(headings(slow), ["What was waited for: read", "Where the time went: read"]);
        assert_eq!(headings(fast), ["Where the time went: read"], "nothing waited");
    }
}
