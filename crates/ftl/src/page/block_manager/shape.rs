//! The rows that programs cover.

use base::units::Divisor;

use crate::page::PageConfig;
use crate::sabotage::{PlantedBug, Sabotage};

/// The rows of a superblock that programs cover.
#[derive(Clone, Debug)]
pub(in crate::page) struct ProgramShape {
    /// Rows that one program covers.
    pub(in crate::page) one_shot: u32,
    /// Rows that are written together: the rows of a one-shot program, or of a word line of paired pages, which takes a
    /// program for each row.
    pub(in crate::page) word_line: u32,
    /// Divides by the slots of the rows that are written together.
    pub(in crate::page) by_program_slots: Divisor,
    /// True if a program always covers whole rows, because the chips are ganged, programs are one-shot or pages are
    /// paired.
    pub(in crate::page) whole_rows: bool,
}

impl ProgramShape {
    pub(in crate::page) fn new(config: &PageConfig, planted: PlantedBug) -> Self {
        let (one_shot, paired) = (config.timing.one_shot, config.timing.paired);
        let word_line = if planted.is(Sabotage::PairingIgnored) { one_shot } else { one_shot.max(paired) };
        let by_program_slots = Divisor::new(config.geometry.row_slots() * word_line);
        Self { one_shot, word_line, by_program_slots, whole_rows: config.whole_rows }
    }

    /// The rows of programs in SLC mode: a program is a page of each plane, and depends on no other program.
    pub(in crate::page) fn in_slc_mode(config: &PageConfig) -> Self {
        let by_program_slots = Divisor::new(config.geometry.row_slots());
        Self { one_shot: 1, word_line: 1, by_program_slots, whole_rows: config.whole_rows }
    }
}
