//! `rw`: the kinds of requests and the order of their addresses.

use super::reader::Reader;
use super::value::{percent, signed_bytes, whole};

/// The meaning of `rw`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) random: bool,
    /// Shares of reads, writes and discards.
    pub(super) shares: [f64; 3],
    /// True if a discard precedes each write.
    pub(super) trim_first: bool,
    /// The number of requests in a run at successive addresses: the number in `randread:8`.
    pub(super) run: Option<u32>,
    /// Bytes between a sequential request and the next: the number in `read:8k`.
    pub(super) hole: i64,
}

impl Reader<'_> {
    pub(super) fn mode(&mut self) -> Option<Mode> {
        const MODES: &str =
            "one of read, write, trim, randread, randwrite, randtrim, rw, randrw, trimwrite, randtrimwrite";
        // Parsed even if unused, as in fio, because it may be faulty.
        let mix = self.mix();
        let text = self.job.get("rw").map_or(Some("read"), |setting| setting.value.as_deref()).unwrap_or("");
        let (word, suffix) = text.split_once(':').map_or((text, None), |(word, suffix)| (word, Some(suffix)));
        let (random, kind) = match word {
            "readwrite" => (false, "rw"),
            _ => word.strip_prefix("rand").map_or((false, word), |kind| (true, kind)),
        };
        let (shares, trim_first) = match kind {
            "read" => ([1.0, 0.0, 0.0], false),
            "write" => ([0.0, 1.0, 0.0], false),
            "trim" => ([0.0, 0.0, 1.0], false),
            "rw" => (mix, false),
            "trimwrite" => ([0.0, 1.0, 0.0], true),
            _ => {
                let message = format!("`{word}` is not a pattern that is supported");
                self.fault("rw", message, format!("write {MODES}"));
                return None;
            }
        };
        let mut mode = Mode { random, shares, trim_first, run: None, hole: 0 };
        match suffix {
            None => {}
            Some(text) if random => match whole(text).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) {
                Some(n) => mode.run = (n > 1).then_some(n),
                None => {
                    self.fault("rw", format!("`{text}` is not a number of requests"), "write e.g. rw=randread:8");
                    return None;
                }
            },
            Some(text) => match signed_bytes(text, self.kb_base) {
                Some(hole) => mode.hole = hole,
                None => {
                    self.fault("rw", format!("`{text}` is not a distance in bytes"), "write e.g. rw=read:8k");
                    return None;
                }
            },
        }
        Some(mode)
    }

    /// The shares of reads and writes in a mix. The later of two contradicting options wins.
    fn mix(&mut self) -> [f64; 3] {
        let what = "a percentage between 0 and 100";
        let reads = self.value("rwmixread", what, |t| percent(t).map(Some), None);
        let writes = self.value("rwmixwrite", what, |t| percent(t).map(Some), None);
        let line = |key| self.job.get(key).map_or(0, |setting| setting.line);
        let reads = match (reads, writes) {
            (Some(_), Some(writes)) if line("rwmixwrite") > line("rwmixread") => 100.0 - writes,
            (Some(reads), _) => reads,
            (None, Some(writes)) => 100.0 - writes,
            (None, None) => 50.0,
        } / 100.0;
        [reads, 1.0 - reads, 0.0]
    }
}
