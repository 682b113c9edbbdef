//! The open lists of the present request: one for each die that it touches.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::DieId;
use flash::backend::{Backend, Class, List};

/// The open item of each die: a command list, or a list and its latest command.
#[derive(Clone, Debug)]
pub(crate) struct DieLists<T> {
    open: Vec<Option<T>>,
    /// The dies with an open item, in order of opening.
    touched: VecDeque<DieId>,
}

impl<T: Copy> DieLists<T> {
    pub(crate) fn new(dies: u32) -> Self {
        Self { open: vec![None; dies as usize], touched: VecDeque::new() }
    }

    pub(crate) const fn memory(dies: u64) -> u64 {
        dies * size_of::<Option<T>>() as u64
    }

    /// The open item of a die.
    #[inline]
    pub(crate) fn get(&self, die: DieId) -> Option<T> {
        self.open[die.index()]
    }

    /// Opens an item at a die, or replaces the open one.
    #[inline]
    pub(crate) fn set(&mut self, die: DieId, open: T) {
        if self.open[die.index()].replace(open).is_none() {
            self.touched.push_back(die);
        }
    }

    /// Takes the item whose die was touched first.
    #[inline]
    pub(crate) fn pop_first(&mut self) -> Option<T> {
        let die = self.touched.pop_front()?;
        self.open[die.index()].take()
    }

    /// Takes the item whose die was touched last.
    #[inline]
    pub(crate) fn pop_last(&mut self) -> Option<T> {
        let die = self.touched.pop_back()?;
        self.open[die.index()].take()
    }
}

impl DieLists<Handle<List>> {
    /// The open list of a die. If the die has none, opens a list of this class with this tag.
    #[inline]
    pub(crate) fn list(&mut self, backend: &mut Backend, die: DieId, (class, tag): (Class, u32)) -> Handle<List> {
        self.get(die).unwrap_or_else(|| {
            let list = backend.open_list(class, tag);
            self.set(die, list);
            list
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_die_has_one_list_until_the_list_is_taken() {
        let mut lists = DieLists::new(4);
        [(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd')].into_iter().for_each(|(die, list)| lists.set(DieId::new(die), list));
        assert_eq!([0, 1, 2, 3].map(|die| lists.get(DieId::new(die))), [Some('b'), None, Some('c'), Some('d')]);
        assert_eq!((lists.pop_first(), lists.pop_last()), (Some('c'), Some('d')), "as their dies were touched");
        lists.set(DieId::new(2), 'e');
        let rest: Vec<_> = std::iter::from_fn(|| lists.pop_first()).collect();
        assert_eq!((rest, lists.get(DieId::new(2))), (vec!['b', 'e'], None));
    }
}
