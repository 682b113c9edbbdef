//! Translation pages on their way to flash: copied, so that the cache can go on.
//!
//! Until a page is programmed flash holds the version before, so whoever needs the page takes it from here. Each page
//! is here at most once: a map unit has at most one store of a page under way.

/// The buffers of one core.
#[derive(Clone, Debug)]
pub(super) struct WriteBuffers {
    pages: Vec<Option<u32>>,
    data: Vec<u32>,
    page: usize,
}

impl WriteBuffers {
    pub(super) fn new(count: u32, page: u32) -> Self {
        Self { pages: vec![None; count as usize], data: vec![0; count as usize * page as usize], page: page as usize }
    }

    /// The content of a page that is being stored.
    pub(super) fn get(&self, tvpn: u32) -> Option<&[u32]> {
        let buffer = self.pages.iter().position(|page| *page == Some(tvpn))?;
        Some(&self.data[buffer * self.page..][..self.page])
    }

    /// A buffer for a page; none if all are in use or the page is in one.
    pub(super) fn claim(&mut self, tvpn: u32) -> Option<&mut [u32]> {
        if self.get(tvpn).is_some() {
            return None;
        }
        let buffer = self.pages.iter().position(Option::is_none)?;
        self.pages[buffer] = Some(tvpn);
        Some(&mut self.data[buffer * self.page..][..self.page])
    }

    /// A page has been stored.
    pub(super) fn release(&mut self, tvpn: u32) {
        let buffer = self.pages.iter_mut().find(|page| **page == Some(tvpn));
        *buffer.expect("what is stored was in a buffer") = None;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.iter().all(Option::is_none)
    }
}
