//! The lists of a fold, one for each controller.

use base::engine::Handle;
use flash::backend::{Class, Command, List};

use crate::port::Flash;

/// The lists of a fold: for each area its number, its list and the latest command of the list.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists(pub(super) Vec<(u32, Handle<List>, Option<Handle<Command>>)>);

impl Lists {
    /// The index of an area's list, which is opened if the area has none.
    pub(super) fn of_area(&mut self, flash: &mut Flash<'_>, tag: u32, area: u32) -> usize {
        self.0.iter().position(|(of, ..)| *of == area).unwrap_or_else(|| {
            self.0.push((area, flash.backend.open_list(Class::Other, tag), None));
            self.0.len() - 1
        })
    }

    /// Makes a command wait for the previous command of its list.
    pub(super) fn follow(&mut self, flash: &mut Flash<'_>, list: usize, command: Handle<Command>) {
        if let Some(last) = self.0[list].2.replace(command) {
            flash.backend.depend(last, command);
        }
    }
}
