//! Parses values in fio's syntax.

use base::units::Span;

use super::expression::evaluate;

/// Prefixes of sizes, with the power of their base.
const PREFIXES: [(char, u32); 5] = [('k', 1), ('m', 2), ('g', 3), ('t', 4), ('p', 5)];

/// Parses fio's `int` with a unit of data. With the default `kb_base` of 1024, `4k` is 4,096 and `4ki` is 4,000, which
/// is fio's convention and contradicts the standard. With 1000 it is the other way round.
pub(super) fn bytes(text: &str, kb_base: u64) -> Option<u64> {
    if text.trim_start().starts_with('(') {
        return evaluate(text, &|operand| bytes(operand, kb_base));
    }
    let lower = text.trim().to_ascii_lowercase();
    let (radix, rest) = lower.strip_prefix("0x").map_or((10, lower.as_str()), |rest| (16, rest));
    let digits = rest.find(|c: char| !c.is_digit(radix)).unwrap_or(rest.len());
    let number = u64::from_str_radix(&rest[..digits], radix).ok()?;
    let unit = rest[digits..].strip_suffix('b').unwrap_or(&rest[digits..]);
    let mut letters = unit.chars();
    let (power, base) = match (letters.next(), letters.next(), letters.next()) {
        (None, ..) => return Some(number),
        (Some(prefix), second, None) => {
            let power = PREFIXES.iter().find(|(letter, _)| *letter == prefix)?.1;
            let swapped = if kb_base == 1024 { 1000 } else { 1024u64 };
            match second {
                None => (power, kb_base),
                Some('i') => (power, swapped),
                Some(_) => return None,
            }
        }
        _ => return None,
    };
    number.checked_mul(base.checked_pow(power)?)
}

/// Parses an integer, which in fio may have the prefix of a size: `10k` requests are 10,240.
pub(super) fn whole(text: &str) -> Option<u64> {
    bytes(text, 1024)
}

/// Parses a distance in bytes with a sign.
pub(super) fn signed_bytes(text: &str, kb_base: u64) -> Option<i64> {
    match text.trim().strip_prefix('-') {
        Some(rest) => bytes(rest, kb_base)?.try_into().ok().map(|n: i64| -n),
        None => bytes(text, kb_base)?.try_into().ok(),
    }
}

/// Parses a percentage between 0 and 100, with or without the `%` sign.
pub(super) fn percent(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%');
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    number.parse().ok().filter(|p: &f64| plain && (0.0..=100.0).contains(p))
}

/// Parses a boolean; an option without a value is true.
pub(super) fn boolean(value: Option<&str>) -> Option<bool> {
    match value.map(str::trim) {
        None | Some("1" | "true") => Some(true),
        Some("0" | "false") => Some(false),
        Some(_) => None,
    }
}

/// Parses a time; a number without a unit is in seconds.
pub(super) fn time(text: &str) -> Option<Span> {
    time_in(text, "s")
}

/// Parses a time; a number without a unit has the unit `default`.
pub(super) fn time_in(text: &str, default: &str) -> Option<Span> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..digits].parse().ok()?;
    let seconds = 1_000_000_000_000u64;
    let unit = match Some(lower[digits..].trim()).filter(|unit| !unit.is_empty()).unwrap_or(default) {
        "s" | "sec" => seconds,
        "d" => 86_400 * seconds,
        "h" => 3_600 * seconds,
        "m" => 60 * seconds,
        "ms" | "msec" => seconds / 1_000,
        "us" | "usec" => seconds / 1_000_000,
        _ => return None,
    };
    number.checked_mul(unit).map(Span::from_ps)
}

/// Parses a value for each of reads, writes and trims: `a`, `a,b` or `a,b,c`. The last given value applies to the
/// remaining kinds; an empty place takes the default.
pub(super) fn per_kind<T: Clone>(text: &str, default: &T, parse: impl Fn(&str) -> Option<T>) -> Option<[T; 3]> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return None;
    }
    let mut values = Vec::with_capacity(3);
    for part in &parts {
        values.push(if part.is_empty() { default.clone() } else { parse(part)? });
    }
    let last = values.last().expect("a text has at least one part").clone();
    values.resize(3, last);
    values.try_into().ok()
}

/// Parses items with percentages, `a/70:b/30`; items without one share the remainder equally. `None` if the sum exceeds
/// 100 % by more than the rounding of percentages, and there is an item without one.
pub(super) fn shared(text: &str) -> Option<Vec<(&str, f64)>> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (thing, share) = part.split_once('/').unwrap_or((part, ""));
        parts.push((thing, if share.trim().is_empty() { None } else { Some(percent(share)?) }));
    }
    let given: f64 = parts.iter().filter_map(|(_, share)| *share).sum();
    let blanks = parts.iter().filter(|(_, share)| share.is_none()).count();
    if given > 100.0 + 1e-6 && blanks != 1 {
        return None;
    }
    let each = if blanks > 0 { (100.0 - given).max(0.0) / blanks as f64 } else { 0.0 };
    let whole = given.max(100.0);
    Some(parts.into_iter().map(|(thing, share)| (thing, share.unwrap_or(each) / whole)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_by_default() {
        // The examples of fio's manual.
        for text in ["4096", "4096b", "4096B", "4k", "4kb", "4kB", "4K", "4KB", "0x1000"] {
            assert_eq!(bytes(text, 1024), Some(4096), "{text}");
        }
        for text in ["4096", "4ki", "4kib", "4kiB", "4Ki", "4KiB"] {
            assert_eq!(bytes(text, 1000), Some(4096), "{text}");
        }
        for (text, value) in [("1m", 1 << 20), ("1t", 1 << 40), ("1mi", 1_000_000), ("1000ki", 1_000_000)] {
            assert_eq!(bytes(text, 1024), Some(value), "{text}");
        }
        assert_eq!(bytes("1m", 1000), Some(1_000_000));
        for text in ["", "k", "4q", "4kk", "4kibb", "-4k", "4.5k", "99999999p", "4 k x"] {
            assert_eq!(bytes(text, 1024), None, "{text}");
        }
    }

    #[test]
    fn times_are_seconds_by_default() {
        let s = Span::from_secs;
        for (text, span) in
            [("60", s(60)), ("10m", s(600)), ("1h", s(3600)), ("5ms", Span::from_ms(5)), ("7usec", Span::from_us(7))]
        {
            assert_eq!(time(text), Some(span), "{text}");
        }
        assert_eq!(time("1y"), None);
    }

    #[test]
    fn values_for_reads_writes_and_trims() {
        // The examples of fio's manual for blocksize.
        let parse = |text| per_kind(text, &4096, |part| bytes(part, 1024));
        let k = 1024;
        assert_eq!(parse("256k"), Some([256 * k; 3]));
        assert_eq!(parse("8k,32k"), Some([8 * k, 32 * k, 32 * k]));
        assert_eq!(parse("8k,32k,"), Some([8 * k, 32 * k, 4096]));
        assert_eq!(parse(",8k"), Some([4096, 8 * k, 8 * k]));
        assert_eq!(parse(",8k,"), Some([4096, 8 * k, 4096]));
        assert_eq!(parse("1,2,3,4"), None);
    }
}
