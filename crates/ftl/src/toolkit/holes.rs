//! Discarded pages whose spare area still names them, for FTLs that find pages by their spare areas.
//!
//! The table has a bit for each page of a logical block with discarded pages, and no bits for other blocks.

/// The discarded pages of all logical blocks.
#[derive(Clone, Debug)]
pub(crate) struct Holes {
    /// The index of each logical block's bits, counted from one; 0 if no page of it is discarded.
    place: Vec<u32>,
    bits: Vec<u64>,
    free: Vec<u32>,
    words: usize,
}

impl Holes {
    /// Bytes of memory if every block has discarded pages.
    pub(crate) fn memory(blocks: u64, pages: u32) -> u64 {
        blocks * (size_of::<u32>() as u64 + 8 * u64::from(pages.div_ceil(64)))
    }

    pub(crate) fn new(blocks: u32, pages: u32) -> Self {
        Self { place: vec![0; blocks as usize], bits: Vec::new(), free: Vec::new(), words: pages.div_ceil(64) as usize }
    }

    #[inline]
    fn first(&self, lbn: u32) -> Option<usize> {
        let place = self.place[lbn as usize] as usize;
        (place > 0).then(|| (place - 1) * self.words)
    }

    /// True if any page of a block has been discarded.
    #[inline]
    pub(crate) fn any(&self, lbn: u32) -> bool {
        self.place[lbn as usize] > 0
    }

    /// True if a page has been discarded.
    #[inline]
    pub(crate) fn contains(&self, lbn: u32, offset: u32) -> bool {
        self.first(lbn).is_some_and(|first| self.bits[first + offset as usize / 64] >> (offset % 64) & 1 != 0)
    }

    /// Marks a page as discarded.
    pub(crate) fn insert(&mut self, lbn: u32, offset: u32) {
        let first = match self.first(lbn) {
            Some(first) => first,
            None => {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.bits.resize(self.bits.len() + self.words, 0);
                    (self.bits.len() / self.words) as u32
                });
                self.place[lbn as usize] = place;
                (place as usize - 1) * self.words
            }
        };
        self.bits[first + offset as usize / 64] |= 1 << (offset % 64);
    }

    /// Clears the mark of a page, because it has been written again, or has no copy any more.
    pub(crate) fn remove(&mut self, lbn: u32, offset: u32) {
        let Some(first) = self.first(lbn) else { return };
        self.bits[first + offset as usize / 64] &= !(1 << (offset % 64));
        if self.bits[first..first + self.words].iter().all(|word| *word == 0) {
            self.free.push(std::mem::take(&mut self.place[lbn as usize]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn holes_behave_like_an_ordered_set(steps in prop::collection::vec((any::<bool>(), 0..5u32, 0..130u32), 0..300)) {
            let (mut holes, mut model) = (Holes::new(5, 130), BTreeSet::new());
            for (insert, lbn, offset) in steps {
                if insert {
                    holes.insert(lbn, offset);
                    model.insert((lbn, offset));
                } else {
                    holes.remove(lbn, offset);
                    model.remove(&(lbn, offset));
                }
            }
            for lbn in 0..5 {
                for offset in 0..130 {
                    prop_assert_eq!(holes.contains(lbn, offset), model.contains(&(lbn, offset)));
                }
            }
            let used = (0..5).filter(|lbn| model.iter().any(|(of, _)| of == lbn)).count();
            prop_assert_eq!(holes.bits.len() / holes.words - holes.free.len(), used);
        }
    }
}
