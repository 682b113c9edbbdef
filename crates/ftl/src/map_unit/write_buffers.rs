//! Write buffers: translation pages on their way to flash, so that the cache can continue.
//!
//! Flash holds the previous version until the program ends, so readers take the page from its buffer. A page has at
//! most one buffer, because a map unit has at most one store of a page in progress.

use flash::nand::Image;

/// The buffers of one core, indexed by page: every miss and every choice of a page to store asks for a page here.
#[derive(Clone, Debug)]
pub(super) struct WriteBuffers {
    /// The content in the buffer of each page, up to the highest page number so far.
    of: Vec<Option<Image>>,
    used: u32,
    count: u32,
}

impl WriteBuffers {
    pub(super) fn new(count: u32) -> Self {
        Self { of: Vec::new(), used: 0, count }
    }

    /// The content of a page that is being stored.
    pub(super) fn get(&self, tvpn: u32) -> Option<&Image> {
        self.of.get(tvpn as usize)?.as_ref()
    }

    /// True if a page can have a buffer: a buffer is free, and the page has none.
    pub(super) fn has_room(&self, tvpn: u32) -> bool {
        !self.are_full() && self.get(tvpn).is_none()
    }

    /// Puts a page into a buffer. Returns false if all buffers are in use or the page already has one.
    pub(super) fn claim(&mut self, tvpn: u32, image: Image) -> bool {
        if !self.has_room(tvpn) {
            return false;
        }
        if self.of.len() <= tvpn as usize {
            self.of.resize(tvpn as usize + 1, None);
        }
        self.of[tvpn as usize] = Some(image);
        self.used += 1;
        true
    }

    /// Frees the buffer of a page that has been stored.
    pub(super) fn release(&mut self, tvpn: u32) {
        let released = self.of.get_mut(tvpn as usize).and_then(Option::take);
        assert!(released.is_some(), "what is stored was in a buffer");
        self.used -= 1;
    }

    pub(super) fn are_full(&self) -> bool {
        self.used == self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_at_most_one_buffer_and_released_buffers_are_reused() {
        let mut buffers = WriteBuffers::new(2);
        let mut claim = |tvpn, words: &[u32]| buffers.claim(tvpn, Image::new(words.to_vec()));
        assert!(claim(7, &[1, 2, 3]), "one is free");
        assert!(!claim(7, &[]));
        assert!(claim(2, &[4, 5, 6]), "one more");
        assert!(!claim(5, &[]), "all are in use");
        let words = |buffers: &WriteBuffers, tvpn| buffers.get(tvpn).map(|image| image.to_vec());
        assert!(words(&buffers, 6).is_none() && words(&buffers, 900).is_none() && !buffers.has_room(5));
        assert!(buffers.are_full());
        assert_eq!((words(&buffers, 7), words(&buffers, 2)), (Some(vec![1, 2, 3]), Some(vec![4, 5, 6])));
        buffers.release(7);
        assert!(!buffers.has_room(2) && buffers.has_room(7));
        assert!(buffers.get(7).is_none() && !buffers.is_empty() && buffers.claim(5, Image::default()));
        [2, 5].into_iter().for_each(|tvpn| buffers.release(tvpn));
        assert!(buffers.is_empty());
    }
}
