//! Tests of the rule of steady state on windows with known excursion and slope.

use proptest::prelude::*;

use super::*;

fn window(values: [f64; WINDOW]) -> SteadyWindow {
    SteadyWindow::last(&values).expect("five values above zero")
}

/// Five rounds with these write amplifications.
fn rounds(waf: [f64; WINDOW], erases: u64) -> Vec<Round> {
    let round = |waf| Round {
        requests: 10,
        span_s: 1.0,
        rate: 1.0 / waf,
        waf: Some(waf),
        latency_us: waf,
        programs: 100,
        erases,
    };
    waf.map(round).to_vec()
}

#[test]
fn a_straight_line_has_its_own_rise_as_slope() {
    // 9, 9.5, 10, 10.5, 11: the mean is 10 and the rise 2, so excursion and slope are both 20 %.
    let line = window([9.0, 9.5, 10.0, 10.5, 11.0]);
    assert!((line.mean - 10.0).abs() < 1e-12 && (line.slope - 0.2).abs() < 1e-12, "{line:?}");
    assert!((line.excursion - 0.2).abs() < 1e-12);
    let falling = window([11.0, 10.5, 10.0, 9.5, 9.0]);
    assert!((falling.slope + 0.2).abs() < 1e-12);
    assert!(!line.is_steady() && !falling.is_steady());
}

#[test]
fn each_limit_counts_alone() {
    // Within both limits.
    assert!(window([10.0, 10.4, 9.8, 10.2, 10.1]).is_steady());
    // Excursion 9 % and slope below that: for x = -2..2 the rise is 4/10 (-2 a - b + d + 2 e).
    assert!(window([9.5, 9.8, 10.0, 10.2, 10.4]).is_steady());
    // No slope, but one value is 22 % of the mean away from the others.
    let spike = window([10.0, 10.0, 12.3, 10.0, 10.0]);
    assert!(spike.slope.abs() < 1e-12 && !spike.is_steady(), "{spike:?}");
    // An excursion of 12 %, all of it from the slope.
    let slope = window([9.4, 9.7, 10.0, 10.3, 10.6]);
    assert!(slope.excursion < EXCURSION && slope.slope > SLOPE && !slope.is_steady(), "{slope:?}");
}

#[test]
fn only_the_last_five_count() {
    assert_eq!(SteadyWindow::last(&[1.0, 1.0, 1.0, 1.0]), None);
    assert_eq!(SteadyWindow::last(&[99.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Some(window([1.0; WINDOW])));
    assert_eq!(SteadyWindow::last(&[0.0; WINDOW]), None);
}

#[test]
fn a_drive_that_lives_on_free_blocks_is_not_steady() {
    assert_eq!(Verdict::of(&rounds([1.0; WINDOW], 0), Metric::Waf), Verdict::Filling);
    assert!(Verdict::of(&rounds([1.0; WINDOW], 1), Metric::Waf).is_steady());
    assert_eq!(Verdict::of(&rounds([1.0; WINDOW], 1)[1..], Metric::Waf), Verdict::Unknown);
    assert!(matches!(Verdict::of(&rounds([33.0, 30.0, 27.0, 24.0, 20.0], 9), Metric::Waf), Verdict::Drifting(_)));
}

#[test]
fn a_metric_without_a_value_is_unknown() {
    let reads = Round { requests: 5, span_s: 1.0, rate: 5.0, waf: None, latency_us: 3.0, programs: 0, erases: 0 };
    assert_eq!(Verdict::of(&[reads; WINDOW], Metric::Waf), Verdict::Unknown);
    assert!(Verdict::of(&[reads; WINDOW], Metric::Rate).is_steady());
    assert!(Verdict::of(&[reads; WINDOW], Metric::Latency).is_steady());
}

#[test]
fn metrics_have_names() {
    for metric in Metric::ALL {
        assert_eq!(metric.to_string().parse(), Ok(metric));
    }
    assert!("iops".parse::<Metric>().expect_err("no metric").to_string().contains("`iops`"));
}

proptest! {
    #[test]
    fn mean_excursion_and_slope_are_those_of_exact_arithmetic(values in prop::array::uniform5(1_i64..1_000_000)) {
        let n = WINDOW as i64;
        let (sum, least, most) = (values.iter().sum::<i64>(), values.iter().min(), values.iter().max());
        let (low, high) = (least.copied().expect("five"), most.copied().expect("five"));
        let found = window(values.map(|value| value as f64));
        // Least squares for any x: (n sum xy - sum x sum y) / (n sum xx - (sum x)^2).
        let (x, xx): (i64, i64) = ((1..=n).sum(), (1..=n).map(|x| x * x).sum());
        let xy: i64 = (1..=n).zip(values).map(|(x, y)| x * y).sum();
        let slope = (n * xy - x * sum) as f64 / (n * xx - x * x) as f64;
        let mean = sum as f64 / n as f64;
        let near = |found: f64, wanted: f64| (found - wanted).abs() <= 1e-9 * (1.0 + wanted.abs());
        prop_assert!(near(found.mean, mean));
        prop_assert!(near(found.excursion, (high - low) as f64 / mean));
        prop_assert!(near(found.slope, slope * (n - 1) as f64 / mean), "{found:?}");
    }
}
