//! The first bytes of a file, from which its format is detected.

use super::input::{BYTE_ORDER_MARK, HEAD};

/// The first bytes of a file.
pub(crate) struct Head<'a> {
    pub(crate) raw: &'a [u8],
}

impl<'a> Head<'a> {
    pub(crate) fn of(raw: &'a [u8]) -> Self {
        Self { raw }
    }

    /// True if the bytes have only blank lines and comments.
    pub(crate) fn is_idle(&self) -> bool {
        let mut lines = self.raw.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.all(|line| line.is_empty() || line.starts_with(b"#"))
    }

    /// True if these are all bytes of the file.
    pub(crate) fn is_whole(&self) -> bool {
        self.raw.len() < HEAD
    }

    /// True if the bytes are not text.
    pub(crate) fn is_binary(&self) -> bool {
        self.raw.contains(&0)
    }

    /// The lines that are neither blank nor comments, without a last line that may be cut.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let whole = if !self.is_whole() {
            self.raw.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1)
        } else {
            self.raw.len()
        };
        let text = &self.raw[..whole];
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        text.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !matches!(line, [] | [b'#', ..]))
    }

    /// True if `is` holds for one of the first lines: one damaged line must not hide the format.
    pub(crate) fn any_line(&self, is: impl FnMut(&'a [u8]) -> bool) -> bool {
        self.lines().take(5).any(is)
    }
}
