//! A zone: its write pointer, and the rows that the drive still has in RAM.

use std::collections::VecDeque;

use base::engine::Handle;
use flash::backend::{Command, List};

use super::window::Window;
use crate::port::{Owner, PageWrite};

/// A row in RAM: its program, and the list of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct RamRow {
    pub(super) list: Handle<List>,
    pub(super) program: Handle<Command>,
    pub(super) state: RowState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowState {
    /// The zone's next data go into this row.
    Assembling,
    /// The row is complete, and its die works on as many programs as it may.
    Ready,
    /// The row's program is submitted.
    UnderWay,
    /// The row's program has failed: the data stay in RAM until the zone is reset or goes offline.
    Parked,
}

/// Work on a whole zone that a command has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// A reset: the zone's programs end, and then `erases` of its superblocks are being erased.
    Reset { owner: Owner, erases: u32 },
    /// A finish: padding fills the zone, behind the data of its random write area if it had one.
    Finish { owner: Owner, of_window: bool },
}

/// The data of a zone, except its state and its superblocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Zone {
    /// Mapping units that the drive has accepted; the number of the unit at which the next write begins.
    pub(super) write_pointer: u32,
    /// Mapping units in rows, in RAM or flash, including padding.
    pub(super) placed: u32,
    /// Mapping units with data of the host; those behind them read as zeros.
    pub(super) data: u32,
    /// Rows from `first_row` on: rows in RAM, and `None` for a row whose program has ended before the program of an
    /// earlier row.
    rows: VecDeque<Option<RamRow>>,
    first_row: u32,
    /// Accepted writes that wait for a row or for room in the window.
    pub(super) waiting: VecDeque<PageWrite>,
    pub(super) task: Option<Task>,
    /// The random write area, if the zone has one.
    pub(super) window: Option<Box<Window>>,
}

impl Zone {
    /// Finds the row with this number; `None` if it is not in RAM.
    #[inline]
    pub(super) fn row(&self, row: u32) -> Option<&RamRow> {
        self.rows.get(row.checked_sub(self.first_row)? as usize)?.as_ref()
    }

    /// The row with this number, to change its state.
    pub(super) fn row_mut(&mut self, row: u32) -> Option<&mut RamRow> {
        self.rows.get_mut(row.checked_sub(self.first_row)? as usize)?.as_mut()
    }

    /// Returns the last row with its number; `None` if it is not in RAM.
    #[inline]
    pub(super) fn last(&self) -> Option<(u32, RamRow)> {
        let row = (*self.rows.back()?)?;
        Some((self.first_row + self.rows.len() as u32 - 1, row))
    }

    pub(super) fn push(&mut self, number: u32, row: RamRow) {
        if self.rows.is_empty() {
            self.first_row = number;
        }
        while self.first_row + (self.rows.len() as u32) < number {
            self.rows.push_back(None);
        }
        debug_assert_eq!(self.first_row + self.rows.len() as u32, number, "rows come in order");
        self.rows.push_back(Some(row));
    }

    /// Removes a row, which is in flash.
    pub(super) fn remove(&mut self, number: u32) {
        self.rows[(number - self.first_row) as usize] = None;
        while self.rows.front().is_some_and(Option::is_none) {
            self.rows.pop_front();
            self.first_row += 1;
        }
        while self.rows.back().is_some_and(Option::is_none) {
            self.rows.pop_back();
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (u32, RamRow)> + '_ {
        (self.first_row..).zip(&self.rows).filter_map(|(number, row)| Some((number, (*row)?)))
    }

    /// True if a program of the zone is submitted and has not ended.
    pub(super) fn is_programming(&self) -> bool {
        self.rows.iter().flatten().any(|row| row.state == RowState::UnderWay)
    }

    /// True if all rows of the zone are in flash.
    pub(super) fn is_in_flash(&self) -> bool {
        self.rows.is_empty()
    }
}
