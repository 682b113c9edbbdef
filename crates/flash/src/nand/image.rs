//! The content of a translation page, shared by all holders of the same version.

use std::ops::Deref;
use std::sync::Arc;

use base::prefetch::{prefetch, prefetch_shared};

/// The content of a translation page: one word for each mapping unit.
///
/// Flash, a cache and a write buffer often hold the same version of a page. A clone shares the words. A change is made
/// in place if there is one holder, otherwise in a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image(Arc<Vec<u32>>);

impl Image {
    /// Creates an image from the words of a page; copies of the image share them.
    #[must_use]
    pub fn new(words: Vec<u32>) -> Self {
        Self(Arc::new(words))
    }

    /// Prefetches the memory that leads to the words, because the image will be read or shared.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_shared(&self.0);
    }

    /// Prefetches the word at `at`, because the words from there on will be read.
    #[inline]
    pub fn prefetch_word(&self, at: usize) {
        prefetch(self.0.get(at));
    }

    /// The words, to be changed; `None` if there is another holder.
    #[must_use]
    pub fn own(&mut self) -> Option<&mut Vec<u32>> {
        Arc::get_mut(&mut self.0)
    }

    /// The words, to be changed; copied first if there is another holder.
    #[must_use]
    pub fn make_own(&mut self) -> &mut Vec<u32> {
        Arc::make_mut(&mut self.0)
    }

    /// Replaces the words. Reuses the image's memory if there is no other holder; otherwise the new memory has room for
    /// at least `least` words.
    pub fn copy_from(&mut self, words: &[u32], least: usize) {
        let room = words.len().max(least);
        match self.own() {
            Some(own) => {
                own.clear();
                own.reserve(room);
                own.extend_from_slice(words);
            }
            None => {
                let mut copy = Vec::with_capacity(room);
                copy.extend_from_slice(words);
                *self = Self::new(copy);
            }
        }
    }
}

impl Deref for Image {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_shared_image_leaves_the_other_as_it_was() {
        let first = Image::new(vec![1, 2]);
        let mut second = first.clone();
        assert!(second.own().is_none(), "it is shared");
        second.copy_from(&[3, 4, 5], 8);
        assert_eq!((&first[..], &second[..]), (&[1, 2][..], &[3, 4, 5][..]));
        let own = second.own().expect("its own");
        assert!(own.capacity() >= 8);
        own[0] = 9;
        second.copy_from(&[7], 0);
        assert_eq!((&second[..], second.0.capacity() >= 8), (&[7][..], true));
    }
}
