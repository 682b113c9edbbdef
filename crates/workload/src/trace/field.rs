//! The fields of a line, and the exact numbers and extents in them.

/// The address and the length of a request in sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) sectors: u32,
    /// True if the file names bytes that are not whole sectors; the extent then has all sectors that they touch.
    pub(crate) widened: bool,
}

/// The fault of a line. The reader adds the place and the remedy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FieldFault(String);

impl FieldFault {
    #[cold]
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    pub(crate) fn message(&self) -> &str {
        &self.0
    }
}

/// The fields of a line between separators, without surrounding blanks.
pub(crate) struct Fields<'a> {
    remaining: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(line: &'a [u8], separator: u8) -> Self {
        Self { remaining: Some(line), separator }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.remaining?;
        // Fields have only a few bytes, so a plain loop is faster than a vectorised search.
        let field = match rest.iter().position(|b| *b == self.separator) {
            Some(at) => {
                self.remaining = Some(&rest[at + 1..]);
                &rest[..at]
            }
            None => {
                self.remaining = None;
                rest
            }
        };
        Some(field.trim_ascii())
    }
}

/// The fields of a line between runs of blanks.
pub(crate) struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    #[inline]
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self(line)
    }
}

impl<'a> Words<'a> {
    pub(crate) fn remaining(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.0.trim_ascii_start();
        if text.is_empty() {
            return None;
        }
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        Some(word)
    }
}

/// Returns a required field, or a fault that calls it `what`.
#[inline]
pub(crate) fn present<'a>(field: Option<&'a [u8]>, what: &str) -> Result<&'a [u8], FieldFault> {
    match field {
        Some([]) | None => Err(FieldFault::new(format!("the line is cut short: it ends before its {what}"))),
        Some(field) => Ok(field),
    }
}

/// Parses a required integer. A fault calls it `what`.
#[inline]
pub(crate) fn whole(field: Option<&[u8]>, what: &str) -> Result<u64, FieldFault> {
    let field = present(field, what)?;
    parse_whole(field).ok_or_else(|| bad_number(field, what))
}

/// Parses a required decimal number and returns it times 10^`digits`, exactly; further digits are dropped. A time in
/// seconds becomes picoseconds with 12 digits, one in milliseconds with 9.
#[inline]
pub(crate) fn ticks(field: Option<&[u8]>, digits: u32, what: &str) -> Result<i128, FieldFault> {
    let field = present(field, what)?;
    parse_decimal(field, digits).ok_or_else(|| bad_number(field, what))
}

#[cold]
fn bad_number(field: &[u8], what: &str) -> FieldFault {
    let text = printable(field);
    FieldFault::new(match field {
        [b'-', rest @ ..] if parse_decimal(rest, 0).is_some() => format!("the {what} is negative: {text}"),
        [first, ..] if first.is_ascii_digit() && field.iter().all(u8::is_ascii_digit) => {
            format!("the {what} is too large: {text}")
        }
        _ => format!("the {what} is not a number: `{text}`"),
    })
}

/// The first bytes of a field in printable form.
pub(crate) fn printable(field: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(&field[..field.len().min(60)])
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    if field.len() > 60 { shown + "..." } else { shown }
}

/// Parses decimal digits of a number below 2^64; `None` for any other text.
#[inline]
pub(crate) fn parse_whole(digits: &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    // Below 10^19 no step overflows.
    if (1..=19).contains(&digits.len()) {
        let (eights, rest) = digits.as_chunks();
        for eight in eights {
            value = value * 100_000_000 + parse_eight(*eight)?;
        }
        for digit in rest {
            let digit = digit.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return Some(value);
    }
    if digits.is_empty() {
        return None;
    }
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Parses eight digits at once: one multiplication joins neighbours to pairs, one joins pairs to fours, and one joins
/// fours to the number. With a loop, time stamps of 18 digits would take half of the time of a trace.
#[inline]
fn parse_eight(digits: [u8; 8]) -> Option<u64> {
    const fn bytes(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    let text = u64::from_le_bytes(digits);
    // `0` to `9` are 0x30 to 0x39: the upper half is 3, and is still 3 after 6 is added.
    let upper = text & bytes(0xf0);
    let upper_plus_six = text.wrapping_add(bytes(0x06)) & bytes(0xf0);
    if upper != bytes(0x30) || upper_plus_six != bytes(0x30) {
        return None;
    }
    // The first digit, the most significant one, is in the lowest byte.
    let ones = text & bytes(0x0f);
    let pairs = (ones.wrapping_mul(1 + (10 << 8)) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(1 + (100 << 16)) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(1 + (10_000 << 32)) >> 32)
}

const POWERS: [u64; 13] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    100_000_000_000,
    1_000_000_000_000,
];

/// Parses a decimal number and returns it times 10^`digits`, without rounding in between; `digits` is at most 12.
#[inline]
pub(crate) fn parse_decimal(text: &[u8], digits: u32) -> Option<i128> {
    // Most time stamps have no point.
    match parse_whole(text) {
        Some(whole) => Some(i128::from(whole) * i128::from(POWERS[digits as usize])),
        None => parse_fraction(text, digits),
    }
}

/// Parses a number with a decimal point and returns it times 10^`digits`.
fn parse_fraction(text: &[u8], digits: u32) -> Option<i128> {
    let point = text.iter().position(|b| *b == b'.')?;
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    let mut value = if whole.is_empty() && !fraction.is_empty() { 0 } else { i128::from(parse_whole(whole)?) };
    value *= i128::from(POWERS[digits as usize]);
    if !fraction.is_empty() {
        let (kept, dropped) = fraction.split_at(fraction.len().min(digits as usize));
        if !dropped.iter().all(u8::is_ascii_digit) {
            return None;
        }
        if !kept.is_empty() {
            value += i128::from(parse_whole(kept)? * POWERS[digits as usize - kept.len()]);
        }
    }
    Some(value)
}

/// The sectors that contain these bytes. An extent that is not whole sectors grows to the sectors that it touches, as
/// in a device.
#[inline]
pub(crate) fn bytes_extent(offset: u64, bytes: u64) -> Result<Extent, FieldFault> {
    let start = offset / 512;
    if bytes == 0 {
        return Ok(Extent { start, ..Extent::default() });
    }
    let Some(end) = offset.checked_add(bytes) else { return Err(too_far(offset, bytes)) };
    let extent = sectors_extent(start, end.div_ceil(512) - start)?;
    Ok(Extent { widened: !(offset | bytes).is_multiple_of(512), ..extent })
}

/// Checks an extent in sectors: it must end within 2^64 bytes and be shorter than 2 TiB.
#[inline]
pub(crate) fn sectors_extent(start: u64, sectors: u64) -> Result<Extent, FieldFault> {
    const LAST: u64 = u64::MAX / 512;
    match (u32::try_from(sectors), start.checked_add(sectors)) {
        (Ok(sectors), Some(end)) if end <= LAST => Ok(Extent { start, sectors, widened: false }),
        (Err(_), _) => {
            Err(FieldFault::new(format!("the size of {sectors} sectors is beyond the 2 TiB of any one request")))
        }
        _ => Err(too_far(start, sectors)),
    }
}

#[cold]
fn too_far(start: u64, length: u64) -> FieldFault {
    FieldFault::new(format!("the extent {start} + {length} is beyond 2^64 bytes"))
}

/// True for digits with at most one decimal point.
pub(crate) fn is_number(field: &[u8]) -> bool {
    parse_decimal(field, 12).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_decimal(b"1456095145.133076", 12), Some(1_456_095_145_133_076_000_000));
        assert_eq!(parse_decimal(b"0.000000000001", 12), Some(1));
        assert_eq!(parse_decimal(b"0.0000000000019", 12), Some(1));
        assert_eq!(parse_decimal(b"15849.28847", 9), Some(15_849_288_470_000));
        assert_eq!(parse_decimal(b".5", 3), Some(500));
        assert_eq!(parse_decimal(b"7", 0), Some(7));
        assert_eq!(parse_decimal(b"7.9", 0), Some(7));
        for bad in [&b""[..], b".", b"-1", b"1.2.3", b"1e3", b"0x1", b"1.-2", b"99999999999999999999"] {
            assert_eq!(parse_decimal(bad, 12), None, "{}", printable(bad));
        }
    }

    #[test]
    fn whole_numbers_parse_up_to_the_largest() {
        assert_eq!(parse_whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_whole(b"18446744073709551616"), None);
        assert_eq!(parse_whole(b"00000000000000000000012"), Some(12));
        assert_eq!(whole(Some(b"-5"), "size").unwrap_err().message(), "the size is negative: -5");
        assert_eq!(whole(Some(b"5x"), "size").unwrap_err().message(), "the size is not a number: `5x`");
        assert_eq!(whole(None, "size").unwrap_err().message(), "the line is cut short: it ends before its size");
    }

    proptest! {
        #[test]
        fn numbers_parse_as_the_standard_library_parses_them(
            // Digits, their neighbours, and bytes that differ from digits only in the upper half.
            text in prop::collection::vec(prop_oneof![20 => b'0'..=b'9', 1 => any::<u8>(), 1 => b'*'..=b'@'], 0..22)
        ) {
            let digits = text.iter().all(u8::is_ascii_digit);
            let number = std::str::from_utf8(&text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
            prop_assert_eq!(parse_whole(&text), number);
            prop_assert_eq!(parse_decimal(&text, 3).filter(|_| digits), number.map(|number| i128::from(number) * 1000));
        }
    }

    #[test]
    fn bytes_are_widened_to_the_sectors_they_touch() {
        let extent = |start, sectors, widened| Ok(Extent { start, sectors, widened });
        assert_eq!(bytes_extent(0, 1), extent(0, 1, true));
        assert_eq!(bytes_extent(511, 2), extent(0, 2, true));
        assert_eq!(bytes_extent(1024, 512), extent(2, 1, false));
        assert_eq!(bytes_extent(1024, 500), extent(2, 1, true));
        assert_eq!(bytes_extent(1025, 0), extent(2, 0, false));
        assert!(bytes_extent(u64::MAX, 2).is_err());
        assert!(sectors_extent(0, 1 << 32).is_err());
        assert!(sectors_extent(u64::MAX / 512, 1).is_err());
    }

    #[test]
    fn words_and_fields_split_as_written() {
        assert_eq!(Words::new(b"  a\t bc ").collect::<Vec<_>>(), [&b"a"[..], b"bc"]);
        assert_eq!(Fields::new(b"a, b ,,c", b',').collect::<Vec<_>>(), [&b"a"[..], b"b", b"", b"c"]);
    }
}
