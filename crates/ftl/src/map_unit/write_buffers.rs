//! Write buffers: copies of translation pages on their way to flash, so that the cache can continue.
//!
//! Flash holds the previous version until the program ends, so readers take the page from its buffer. A page has at
//! most one buffer, because a map unit has at most one store of a page in progress.

/// The buffers of one core. Every miss and every choice of a page to store asks for a page here, so the index avoids a
/// search.
#[derive(Clone, Debug)]
pub(super) struct WriteBuffers {
    /// The buffer of each page, up to the highest page number so far.
    of: Vec<Option<u32>>,
    free: Vec<u32>,
    count: usize,
    data: Vec<u32>,
    page: usize,
}

impl WriteBuffers {
    pub(super) fn new(count: u32, page: u32) -> Self {
        let data = vec![0; count as usize * page as usize];
        Self { of: Vec::new(), free: (0..count).rev().collect(), count: count as usize, data, page: page as usize }
    }

    /// The content of a page that is being stored.
    pub(super) fn get(&self, tvpn: u32) -> Option<&[u32]> {
        let buffer = (*self.of.get(tvpn as usize)?)? as usize;
        Some(&self.data[buffer * self.page..][..self.page])
    }

    /// True if a page can have a buffer: one is free, and the page has none.
    pub(super) fn has_room(&self, tvpn: u32) -> bool {
        !self.free.is_empty() && self.get(tvpn).is_none()
    }

    /// Takes a buffer for a page; none if all are in use or the page has one.
    pub(super) fn claim(&mut self, tvpn: u32) -> Option<&mut [u32]> {
        if self.get(tvpn).is_some() {
            return None;
        }
        let buffer = self.free.pop()?;
        if self.of.len() <= tvpn as usize {
            self.of.resize(tvpn as usize + 1, None);
        }
        self.of[tvpn as usize] = Some(buffer);
        Some(&mut self.data[buffer as usize * self.page..][..self.page])
    }

    /// Frees the buffer of a page that has been stored.
    pub(super) fn release(&mut self, tvpn: u32) {
        let buffer = self.of.get_mut(tvpn as usize).and_then(Option::take);
        self.free.push(buffer.expect("what is stored was in a buffer"));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_at_most_one_buffer_and_released_buffers_are_reused() {
        let mut buffers = WriteBuffers::new(2, 3);
        buffers.claim(7).expect("one is free").copy_from_slice(&[1, 2, 3]);
        assert!(buffers.claim(7).is_none() && buffers.get(6).is_none() && buffers.get(900).is_none());
        buffers.claim(2).expect("one more").copy_from_slice(&[4, 5, 6]);
        assert!(buffers.claim(5).is_none() && !buffers.has_room(5), "all are in use");
        assert_eq!((buffers.get(7), buffers.get(2)), (Some(&[1, 2, 3][..]), Some(&[4, 5, 6][..])));
        buffers.release(7);
        assert!(!buffers.has_room(2) && buffers.has_room(7));
        assert!(buffers.get(7).is_none() && !buffers.is_empty() && buffers.claim(5).is_some());
        [2, 5].into_iter().for_each(|tvpn| buffers.release(tvpn));
        assert!(buffers.is_empty());
    }
}
