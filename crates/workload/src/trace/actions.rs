//! The actions of blktrace, which are steps of a request through Linux's block layer, and the letters that describe
//! requests.

use base::io::IoKind;

/// Commands that a program sends to the device past the block layer.
pub(crate) const PASSTHROUGH: &str = "passthrough commands";
/// Notes of the kernel in a recording: names of processes, text of schedulers.
pub(crate) const MESSAGES: &str = "messages";
/// Requests that move no data and flush nothing.
pub(crate) const NO_DATA: &str = "requests without data (N)";

/// The kind of request that RWBS letters name, `None` for one that moves no data, and true if a flush comes first. R, W
/// and D are kinds; a leading F is a flush. FUA after the W is ignored, because requests here do not have it.
pub(crate) fn kind(rwbs: &[u8]) -> (Option<IoKind>, bool) {
    let (flush, letters) = match rwbs {
        [b'F', rest @ ..] => (true, rest),
        _ => (false, rwbs),
    };
    let kind = match letters {
        [b'R', ..] => Some(IoKind::Read),
        [b'W', ..] => Some(IoKind::Write),
        [b'D', ..] => Some(IoKind::Discard),
        _ => None,
    };
    (kind, flush)
}

/// The letters of the actions, by their number in a binary record.
const LETTERS: &[u8] = b"?QMFGSRDCPUTIXBA";

/// The letter of an action of a binary record.
pub(crate) fn letter(action: u32) -> u8 {
    LETTERS.get(action as usize).copied().unwrap_or(b'?')
}

pub(crate) const fn name(letter: u8) -> &'static str {
    match letter {
        b'A' => "remapped (A)",
        b'B' => "bounced (B)",
        b'C' => "completed (C)",
        b'D' => "issued (D)",
        b'F' => "merged in front (F)",
        b'G' => "request allocated (G)",
        b'I' => "inserted (I)",
        b'M' => "merged behind (M)",
        b'P' => "plugged (P)",
        b'Q' => "queued (Q)",
        b'R' => "requeued (R)",
        b'S' => "waited for a request (S)",
        b'U' | b'T' => "unplugged (U)",
        b'X' => "split (X)",
        b'm' => MESSAGES,
        _ => "other actions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_f_is_a_flush_and_a_later_one_is_fua() {
        use IoKind::{Discard, Read, Write};
        let letters = ["RA", "WFS", "FWFS", "FF", "DS", "N"];
        let wanted = [
            (Some(Read), false),
            (Some(Write), false),
            (Some(Write), true),
            (None, true),
            (Some(Discard), false),
            (None, false),
        ];
        assert_eq!(letters.map(|rwbs| kind(rwbs.as_bytes())), wanted);
    }

    #[test]
    fn numbers_and_letters_name_the_same_actions() {
        assert_eq!([1, 7, 8, 15].map(letter), *b"QDCA");
        assert_eq!((name(letter(8)), name(letter(99))), ("completed (C)", "other actions"));
    }
}
