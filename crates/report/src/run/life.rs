//! A drive's life: its lines in the table and its figures.

use study::metric::Dimension;
use study::summary::{LifeMilestone, LifePointSummary, LifeSummary};
use study::text::{count, decimal_bytes, duration, percent};

use crate::figure::{Axis, Chart, Figure, Line, Number, Scale};

const DAY: f64 = 86_400.0;

/// A time in words, in days if it is at least one.
fn time(seconds: f64) -> String {
    if seconds < DAY { duration(seconds * 1e6) } else { format!("{:.1} days", seconds / DAY) }
}

/// A warranty in words, in years if it is a whole number of them.
fn warranty(days: f64) -> String {
    let years = days / 365.0;
    if years.fract() == 0.0 { format!("{years:.0} years") } else { format!("{days:.0} days") }
}

/// The lines about the writes of the drive, and its failed blocks.
pub(super) fn lines(life: &LifeSummary) -> Vec<String> {
    let written = decimal_bytes(life.written_bytes as f64);
    let (rounds, plural) = (life.rounds, if life.rounds == 1 { "" } else { "s" });
    let waf = life.write_amplification.map_or_else(String::new, |waf| format!("; WAF over life {waf:.3}"));
    let length = format!("{} in {rounds} round{plural}", time(life.seconds));
    let taken = match life.drive_writes_per_day {
        Some(dwpd) => {
            let warranty = warranty(life.warranty_days);
            format!("life: worn; TBW {written}, DWPD {} over {warranty} of warranty{waf}; {length}", count(dwpd))
        }
        None => format!("life: not worn; {written} written{waf}; {length}"),
    };
    let moment = |name: &str, at: Option<LifeMilestone>| {
        at.map(|at| format!("; {name} at {} ({})", decimal_bytes(at.written_bytes as f64), time(at.seconds)))
    };
    let milestones = [
        moment("the first", life.first_failure),
        moment("1 % of all", life.percent_failed),
        moment("half of the spare", life.half_spare_failed),
    ];
    let failed = format!(
        "blocks failed: {} of {}; {} of {} spare blocks left{}",
        count(life.failed_blocks as f64),
        count(life.blocks as f64),
        percent(life.spare_left),
        count(life.spare_blocks as f64),
        milestones.into_iter().flatten().collect::<String>()
    );
    vec![taken, failed]
}

pub(super) fn sentences(life: &LifeSummary) -> Vec<String> {
    let written = decimal_bytes(life.written_bytes as f64);
    let waf =
        life.write_amplification.map_or_else(String::new, |waf| format!(", at a write amplification of {waf:.2}"));
    let taken = match life.drive_writes_per_day {
        Some(dwpd) => {
            let warranty = warranty(life.warranty_days);
            format!("until it refused a write: {} drive writes per day over {warranty} of warranty{waf}", count(dwpd))
        }
        None => format!("and is not worn{waf}"),
    };
    let first = life.first_failure.map_or_else(String::new, |at| {
        format!(", the first after {} were written", decimal_bytes(at.written_bytes as f64))
    });
    let [failed, blocks] = [life.failed_blocks, life.blocks].map(|blocks| count(blocks as f64));
    vec![format!("The drive took {written} {taken}."), format!("Of its {blocks} blocks {failed} failed{first}.")]
}

/// Failed and spare blocks, write amplification and erases over the bytes that the host has written.
pub(super) fn figures(life: &LifeSummary) -> Vec<Figure> {
    let (size, unit) = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB")]
        .into_iter()
        .find(|(size, _)| life.written_bytes as f64 >= *size)
        .unwrap_or((1e6, "MB"));
    let line = |name: &str, colour, value: &dyn Fn(&LifePointSummary) -> Option<f64>| {
        let points = life.curve.iter().map(|point| [Number(point.written_bytes as f64 / size), value(point).into()]);
        Line::new(name.to_owned(), colour, points.collect())
    };
    let chart = |label: &str, lines| Chart::Lines {
        x: Axis::new(format!("host writes, {unit}"), Dimension::Plain, Scale::Linear),
        y: Axis::new(label, Dimension::Plain, Scale::Linear),
        lines,
    };
    let spare = life.spare_blocks as f64;
    let blocks = vec![
        line("failed", 0, &|point| Some(point.failed_blocks as f64)),
        line("spare left", 1, &|point| Some(spare * point.spare_left)),
    ];
    let waf = vec![line("since the point before", 0, &|point| point.write_amplification)];
    let erases = vec![
        line("mean", 0, &|point| Some(point.mean_erases)),
        line("most", 1, &|point| Some(f64::from(point.max_erases))),
    ];
    vec![
        Figure::new(
            "Blocks over the life",
            "Blocks that have failed, and those that are left beyond what the capacity fills.",
            chart("blocks", blocks),
        ),
        Figure::new(
            "Write amplification over the life",
            "Bytes programmed per byte that the host wrote between two points.",
            chart("write amplification", waf),
        ),
        Figure::new("Erases over the life", "Erases of a block: the mean, and the most.", chart("erases", erases)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life() -> LifeSummary {
        let point = |written: u64, failed, waf| LifePointSummary {
            written_bytes: written,
            seconds: written as f64 * 1e-4,
            write_amplification: waf,
            failed_blocks: failed,
            spare_left: 1.0 - failed as f64 / 40.0,
            mean_erases: written as f64 * 1e-8,
            max_erases: 30,
        };
        let moment = |written| Some(LifeMilestone { written_bytes: written, seconds: written as f64 * 1e-4 });
        LifeSummary {
            worn: true,
            rounds: 3,
            written_bytes: 4_000_000_000,
            warranty_days: 5.0 * 365.0,
            drive_writes_per_day: Some(0.25),
            write_amplification: Some(2.5),
            seconds: 400_000.0,
            blocks: 400,
            bad_at_start: 0,
            spare_blocks: 40,
            failed_blocks: 30,
            spare_left: 0.25,
            first_failure: moment(3_000_000_000),
            percent_failed: moment(3_500_000_000),
            half_spare_failed: None,
            curve: vec![point(0, 0, None), point(2_000_000_000, 0, Some(2.0)), point(4_000_000_000, 30, Some(3.0))],
        }
    }

    #[test]
    fn the_table_says_what_the_drive_took_and_how_blocks_failed() {
        let [taken, failed] = &lines(&life())[..] else { panic!("two lines") };
        let wanted =
            "life: worn; TBW 4.00GB, DWPD 0.250 over 5 years of warranty; WAF over life 2.500; 4.6 days in 3 rounds";
        assert_eq!(taken, wanted);
        let wanted = "blocks failed: 30 of 400; 25.0% of 40 spare blocks left; the first at 3.00GB (3.5 days); 1 % of all at \
                      3.50GB (4.1 days)";
        assert_eq!(failed, wanted);
        let living = LifeSummary { worn: false, drive_writes_per_day: None, rounds: 1, ..life() };
        assert_eq!(lines(&living)[0], "life: not worn; 4.00GB written; WAF over life 2.500; 4.6 days in 1 round");
        assert!(sentences(&living)[0].starts_with("The drive took 4.00GB and is not worn, at"));
        assert_eq!(warranty(90.0), "90 days");
    }

    #[test]
    fn the_figures_draw_the_curve() {
        let figures = figures(&life());
        let ends: Vec<Vec<[f64; 2]>> = figures
            .iter()
            .map(|figure| {
                let Chart::Lines { lines, x, .. } = &figure.chart else { panic!("lines") };
                assert_eq!(x.label, "host writes, GB");
                lines.iter().map(|line| line.points[2].map(|number| number.0)).collect()
            })
            .collect();
        assert_eq!(ends, [vec![[4.0, 30.0], [4.0, 10.0]], vec![[4.0, 3.0]], vec![[4.0, 40.0], [4.0, 30.0]]]);
    }
}
