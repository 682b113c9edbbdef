//! The distribution of a latency on linear shares, as most papers draw it.

use study::metric::Dimension;

use crate::figure::{Axis, Chart, Figure, Line, Number, Scale, StepPosition};

const NOTE: &str = "The share of the requests that took at most this long.";

/// The cumulative distribution of the latencies that a chart shows by percentile; `None` without requests.
pub(crate) fn cumulated(heading: &str, by_percentile: &Chart) -> Option<Figure> {
    let Chart::Lines { y, lines, .. } = by_percentile else { return None };
    let lines: Vec<Line> = lines.iter().map(exchanged).collect();
    (!lines.is_empty()).then(|| {
        let share = Axis::new("share of the requests", Dimension::Share, Scale::Linear);
        Figure::new(heading, NOTE, Chart::Lines { x: y.clone(), y: share, lines })
    })
}

/// A line with its axes exchanged. An axis of nines ends before 1, a linear one does not.
fn exchanged(line: &Line) -> Line {
    let mut points: Vec<[Number; 2]> = line.points.iter().map(|[share, latency]| [*latency, *share]).collect();
    if let Some([_, share]) = points.last_mut() {
        *share = Number(1.0);
    }
    // A step that ended at a point now begins there, because the axes are exchanged.
    let step = line.step.map(|_| StepPosition::End);
    Line { step, ..Line::new(line.name.as_str(), line.colour, points) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_requests_take_no_longer_than_the_median() {
        let points = [[0.0, 10.0], [0.5, 10.0], [0.995, 70.0]].map(|point| point.map(Number)).to_vec();
        let line = Line { step: Some(StepPosition::Start), ..Line::new("read", 3, points) };
        let x = Axis::new("share", Dimension::Share, Scale::Nines);
        let y = Axis::new("latency", Dimension::Time, Scale::Log);
        let chart = Chart::Lines { x, y, lines: vec![line] };
        let Chart::Lines { x, y, lines } = cumulated("h", &chart).expect("requests").chart else { panic!("lines") };
        assert_eq!((x.scale, y.scale, lines[0].step), (Scale::Log, Scale::Linear, Some(StepPosition::End)));
        assert_eq!(lines[0].points, [[10.0, 0.0], [10.0, 0.5], [70.0, 1.0]].map(|point| point.map(Number)));
        let nothing = Chart::Lines { x: x.clone(), y: x, lines: Vec::new() };
        assert_eq!(cumulated("h", &nothing), None);
    }
}
