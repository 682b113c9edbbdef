//! The lists that a request under way has open: one for each die that it touches.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::DieId;
use flash::backend::{Backend, Class, List, Observer};
use flash::nand::Sector;

/// What is open at each die: a list, or a list with something in it.
#[derive(Clone, Debug)]
pub(crate) struct DieLists<T> {
    open: Vec<Option<T>>,
    /// The dies that have one, as they got it.
    touched: VecDeque<DieId>,
}

impl<T: Copy> DieLists<T> {
    pub(crate) fn new(dies: u32) -> Self {
        Self { open: vec![None; dies as usize], touched: VecDeque::new() }
    }

    /// Bytes of those of so many dies.
    pub(crate) const fn memory(dies: u64) -> u64 {
        dies * size_of::<Option<T>>() as u64
    }

    /// What is open at a die.
    #[inline]
    pub(crate) fn get(&self, die: DieId) -> Option<T> {
        self.open[die.index()]
    }

    /// Opens something at a die, or replaces what is open there.
    #[inline]
    pub(crate) fn set(&mut self, die: DieId, open: T) {
        if self.open[die.index()].replace(open).is_none() {
            self.touched.push_back(die);
        }
    }

    /// Takes what was opened first.
    #[inline]
    pub(crate) fn pop_first(&mut self) -> Option<T> {
        let die = self.touched.pop_front()?;
        self.open[die.index()].take()
    }

    /// Takes what was opened last.
    #[inline]
    pub(crate) fn pop_last(&mut self) -> Option<T> {
        let die = self.touched.pop_back()?;
        self.open[die.index()].take()
    }
}

impl DieLists<Handle<List>> {
    /// The list of a die. If none is open yet, one of this class with this tag is.
    #[inline]
    pub(crate) fn list<S: Sector, O: Observer>(
        &mut self,
        backend: &mut Backend<S, O>,
        die: DieId,
        (class, tag): (Class, u32),
    ) -> Handle<List> {
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
    fn a_die_has_one_list_until_it_is_taken() {
        let mut lists = DieLists::new(4);
        [(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd')].into_iter().for_each(|(die, list)| lists.set(DieId::new(die), list));
        assert_eq!([0, 1, 2, 3].map(|die| lists.get(DieId::new(die))), [Some('b'), None, Some('c'), Some('d')]);
        assert_eq!((lists.pop_first(), lists.pop_last()), (Some('c'), Some('d')), "as their dies were touched");
        lists.set(DieId::new(2), 'e');
        let rest: Vec<_> = std::iter::from_fn(|| lists.pop_first()).collect();
        assert_eq!((rest, lists.get(DieId::new(2))), (vec!['b', 'e'], None));
    }
}
