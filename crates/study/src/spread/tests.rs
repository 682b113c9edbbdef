//! Tests of the intervals, by comparison with published tables and worked examples.

use proptest::prelude::*;

use super::*;

fn near(a: f64, b: f64, within: f64) -> bool {
    (a - b).abs() <= within
}

#[test]
fn quantiles_are_those_of_the_published_table() {
    // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, column 0.975.
    let table = [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (6, 2.447),
        (7, 2.365),
        (8, 2.306),
        (9, 2.262),
        (10, 2.228),
        (15, 2.131),
        (20, 2.086),
        (29, 2.045),
        (30, 2.042),
        (60, 2.000),
        (100, 1.984),
    ];
    for (freedom, t) in table {
        assert!(near(student_t(freedom), t, 0.000_51), "{freedom}: {}, the table has {t}", student_t(freedom));
    }
    // The last row of the table, for infinity, is 1.960.
    assert!(near(student_t(1_000_000), 1.960, 0.000_51), "{}", student_t(1_000_000));
}

#[test]
fn the_interval_of_a_published_example_is_found() {
    // Law, Simulation Modeling and Analysis, section 4.5: ten normal values, 1.34 plus or minus 0.24 at 90 %. The
    // sample variance of 0.17 is theirs; at 95 % the quantile is 2.262.
    let values = [1.20, 1.50, 1.68, 1.89, 0.95, 1.49, 1.58, 1.55, 0.50, 1.09];
    let interval = Interval::of(&values).expect("ten values");
    assert!(near(interval.mean, 1.34, 0.005), "{interval:?}");
    assert!(near(deviation(&values).expect("ten values").powi(2), 0.17, 0.005));
    assert!(near(interval.half_width, 2.262 * (0.17_f64 / 10.0).sqrt(), 0.005), "{interval:?}");
    assert_eq!(interval.to_string(), "1.34 \u{b1} 0.29");
}

#[test]
fn one_value_says_nothing_of_its_spread() {
    assert_eq!((Interval::of(&[]), Interval::of(&[3.0])), (None, None));
    assert_eq!((Spread::of(Vec::new()), deviation(&[1.0])), (None, None));
    let one = Spread::of(vec![3.0]).expect("a value");
    assert_eq!((one.half_width, one.interval(), one.n), (None, None, 1));
    assert_eq!(serde_json::to_string(&one).expect("JSON"), r#"{"mean":3.0,"n":1,"values":[3.0]}"#);
    let two = Spread::of(vec![3.0, 4.0]).expect("values");
    assert_eq!(serde_json::from_str::<Spread>(&serde_json::to_string(&two).expect("JSON")).expect("JSON"), two);
}

#[test]
fn an_interval_is_written_as_exactly_as_its_width_allows() {
    let text = |mean, half_width| Interval { mean, half_width, n: 5 }.to_string();
    assert_eq!(text(12.345, 0.4321), "12.3 \u{b1} 0.4");
    assert_eq!(text(12.345, 0.1234), "12.35 \u{b1} 0.12");
    assert_eq!(text(12_345.0, 432.0), "12345 \u{b1} 432");
    assert_eq!(text(1.0, 0.0), "1.00 \u{b1} 0");
    assert_eq!(text(0.5, 1.0), "0.5 \u{b1} 1.0");
    let shown = |mean, half_width, dimension| Interval { mean, half_width, n: 5 }.show(dimension);
    assert_eq!(shown(1_234.5, 43.2, Dimension::Time), "1.23 \u{b1} 0.04ms");
    assert_eq!(shown(0.523, 0.002, Dimension::Share), "52.30 \u{b1} 0.20%");
    assert_eq!(shown(45_678.0, 500.0, Dimension::PerSecond), "45.7 \u{b1} 0.5k/s");
}

#[test]
fn a_number_that_no_seed_changes_has_no_spread_to_show() {
    let show = |values: &[f64]| Spread::of(values.to_vec()).expect("values").show(Dimension::Plain);
    assert_eq!([show(&[2.0]), show(&[2.0, 2.0]), show(&[2.0, 3.0])], ["2.00", "2.00", "2 \u{b1} 6"]);
}

#[test]
fn values_of_the_same_seeds_are_compared_in_pairs() {
    // The seeds differ by 100, the drives by about 1: a test for independent samples would find no difference.
    let (a, b) = ([100.0, 200.0, 300.0, 400.0], [101.0, 201.1, 300.9, 401.0]);
    assert_eq!(differs(&a, &b), Some(true));
    assert!(Interval::of(&a).expect("four").overlaps(&Interval::of(&b).expect("four")));
    let difference = difference(&a, &b).expect("four pairs");
    assert!(near(difference.mean, 1.0, 1e-9), "{difference:?}");
    assert_eq!(differs(&a, &[101.0, 199.0, 301.0, 399.0]), Some(false));
    assert_eq!(differs(&a, &a), Some(false), "equal values do not differ");
    assert_eq!(differs(&[1.0; 3], &[2.0; 3]), Some(true), "a number without spread");
    assert_eq!((differs(&[1.0], &[2.0]), differs(&a, &[1.0, 2.0])), (None, None));
}

/// Simpson's rule for the density of Student's t-distribution, up to a factor.
fn under_the_density(freedom: f64, from: f64, to: f64) -> f64 {
    let density = |x: f64| (1.0 + x * x / freedom).powf(-(freedom + 1.0) / 2.0);
    let steps = 20_000;
    let width = (to - from) / f64::from(steps);
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    (0..=steps).map(|i| weight(i) * density(from + f64::from(i) * width)).sum::<f64>() * width / 3.0
}

#[test]
fn quantiles_cut_one_part_in_forty_off_the_density() {
    // Beyond 1,000 the density of three degrees of freedom and more has less than a billionth of its mass.
    for freedom in [3, 4, 7, 12, 25, 50, 200, 5_000] {
        let (all, t) = (under_the_density(freedom as f64, 0.0, 1_000.0), student_t(freedom));
        let beyond = 1.0 - under_the_density(freedom as f64, 0.0, t) / all;
        assert!(near(beyond, 1.0 - CONFIDENCE, 1e-5), "{freedom}: {beyond} beyond {t}");
    }
}

proptest! {
    #[test]
    fn mean_deviation_and_interval_are_those_of_exact_arithmetic(
        values in prop::collection::vec(-1_000_000_i128..1_000_000, 2..60),
    ) {
        let n = values.len() as i128;
        let (sum, squares) = (values.iter().sum::<i128>(), values.iter().map(|value| value * value).sum::<i128>());
        let variance = (n * squares - sum * sum) as f64 / (n * (n - 1)) as f64;
        let floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        let interval = Interval::of(&floats).expect("two or more");
        let scale = 1e-9 * (1.0 + variance.sqrt());
        prop_assert!(near(interval.mean, sum as f64 / n as f64, 1e-6));
        prop_assert!(near(deviation(&floats).expect("two or more"), variance.sqrt(), scale));
        let half_width = student_t(values.len() - 1) * (variance / n as f64).sqrt();
        prop_assert!(near(interval.half_width, half_width, 13.0 * scale), "{interval:?}, not {half_width}");
        prop_assert_eq!(interval.n as usize, values.len());
    }
}
