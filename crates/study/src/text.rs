//! Numbers for people: three significant digits with a unit of measure or a prefix.

/// A time in microseconds as text: three significant digits and a suitable unit.
#[must_use]
pub fn duration(us: f64) -> String {
    let (value, unit) = match us {
        us if us <= 0.0 => return "0".into(),
        us if us >= 1e6 => (us * 1e-6, "s"),
        us if us >= 1e3 => (us * 1e-3, "ms"),
        us if us >= 1.0 => (us, "us"),
        us => (us * 1e3, "ns"),
    };
    format!("{}{unit}", digits(value))
}

/// The number with three significant digits.
fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value if value >= 0.9995 || value <= 0.0 => format!("{value:.2}"),
        value => {
            let zeros = -(value.log10().floor() as i32);
            format!("{value:.*}", (zeros + 2).min(12) as usize)
        }
    }
}

/// Bytes of memory, in binary units.
#[must_use]
pub fn memory(bytes: f64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let found = units.into_iter().map(|(bits, unit)| (bytes / f64::from(1_u32 << bits), unit)).find(|(n, _)| *n >= 1.0);
    found.map_or_else(|| format!("{bytes:.0}B"), |(value, unit)| format!("{}{unit}", digits(value)))
}

/// A count, or a number per second, with a prefix if it is long. A number that is not whole gets three significant
/// digits.
#[must_use]
pub fn count(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{}G", digits(value * 1e-9)),
        value if value >= 1e6 => format!("{}M", digits(value * 1e-6)),
        value if value >= 1e4 => format!("{}k", digits(value * 1e-3)),
        value if value.fract() != 0.0 && value < 99.95 => digits(value),
        value => format!("{value:.0}"),
    }
}

/// A share in per cent.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A share in per cent, with enough digits not to be rounded to zero.
#[must_use]
pub fn percent_above_zero(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "<0.1%".to_owned() } else { percent(share) }
}

/// A part of the capacity: in per cent, or as a multiple from two on.
#[must_use]
pub fn capacities(times: f64) -> String {
    match times {
        times if times >= 2.0 => format!("{} times", digits(times)),
        times if times >= 0.01 => percent(times),
        times => format!("{:.2}%", times * 100.0),
    }
}

/// Bytes on a drive, in decimal units.
#[must_use]
pub fn decimal_bytes(bytes: f64) -> String {
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let found = units.into_iter().find(|(size, _)| bytes >= *size);
    found.map_or_else(|| format!("{bytes:.0}B"), |(size, unit)| format!("{}{unit}", digits(bytes / size)))
}

/// Bytes per second with three significant digits.
#[must_use]
pub fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        rate if rate >= 1e9 => format!("{}GB/s", digits(rate * 1e-9)),
        rate if rate >= 1e6 => format!("{}MB/s", digits(rate * 1e-6)),
        rate if rate >= 1e3 => format!("{}kB/s", digits(rate * 1e-3)),
        rate if rate > 0.0 => format!("{}B/s", count(rate)),
        _ => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_significant_digits() {
        assert_eq!(
            [duration(0.25), duration(12.345), duration(999.6), duration(1500.0)],
            ["250ns", "12.3us", "1000us", "1.50ms"]
        );
        assert_eq!([capacities(0.0025), capacities(0.5), capacities(2.0)], ["0.25%", "50.0%", "2.00 times"]);
        assert_eq!([count(999.0), count(12_345.0), count(1_234_567.0)], ["999", "12.3k", "1.23M"]);
        assert_eq!(
            [rate(0.0), rate(999.0), rate(123_456.0), rate(1_234_567.0), rate(2.5e9)],
            ["-", "999B/s", "123kB/s", "1.23MB/s", "2.50GB/s"]
        );
    }

    #[test]
    fn bytes_on_a_drive_have_decimal_units() {
        let shown = [512.0, 4_096.0, 2.0e12, 21.44e15].map(decimal_bytes);
        assert_eq!(shown, ["512B", "4.10kB", "2.00TB", "21.4PB"]);
    }

    #[test]
    fn numbers_below_one_keep_three_significant_digits() {
        assert_eq!([count(0.0), count(3.0), count(50.0)], ["0", "3", "50"], "counts are whole");
        assert_eq!(
            [count(0.25), count(0.001_234_5), count(12.345), count(9e-9)],
            ["0.250", "0.00123", "12.3", "0.00000000900"]
        );
        assert_eq!([rate(0.5), rate(0.012_345)], ["0.500B/s", "0.0123B/s"]);
    }
}
