//! The content of translation pages: the parts of an FTL's map on flash.
//!
//! The page itself is an ordinary slot, with its place, its spare area and its wear. This module keeps only its
//! content, by page and version, so that a copy has the content of its original. A page has at most two versions: the
//! durable one and the one that is being programmed.

/// Entries that a version has room for from the start.
const USUAL: usize = 64;

/// One version of a page; none if `version` is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Image {
    version: Option<u32>,
    entries: Vec<u32>,
}

/// The versions of all pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Images {
    pages: Vec<[Image; 2]>,
}

impl Images {
    /// Bytes of `pages` pages of `entries` entries, with both versions of each.
    pub(super) fn memory(pages: u32, entries: u32) -> u64 {
        let image = size_of::<Image>() + size_of::<u32>() * (entries as usize).max(USUAL);
        // The list of pages has doubled its capacity.
        u64::from(pages) * 2 * (image + size_of::<Image>()) as u64
    }

    /// Returns the place of the version among the two of the page.
    pub(super) fn stage(&mut self, page: u32, durable: Option<u32>, version: u32, entries: &[u32]) -> u8 {
        let first = self.pages.get(page as usize).and_then(|images| images[0].version);
        let place = usize::from(durable.is_some() && first == durable);
        self.put(page, place, version, entries);
        place as u8
    }

    /// Stores a version in one of the two places of its page.
    pub(super) fn put(&mut self, page: u32, place: usize, version: u32, entries: &[u32]) {
        if self.pages.len() <= page as usize {
            self.pages.resize_with(page as usize + 1, Default::default);
        }
        let image = &mut self.pages[page as usize][place];
        image.version = Some(version);
        image.entries.clear();
        // Pages of a log differ in length. The usual capacity is reserved, so that they need not grow again and
        // again.
        image.entries.reserve(entries.len().max(USUAL));
        image.entries.extend_from_slice(entries);
    }

    /// # Panics
    /// If the version was not staged.
    pub(super) fn fill(&mut self, page: u32, version: u32, words: usize) -> &mut [u32] {
        let images = self.pages.get_mut(page as usize).into_iter().flatten();
        let image = images.filter(|image| image.version == Some(version)).last().expect("a staged version");
        image.entries.resize(words, 0);
        &mut image.entries
    }

    pub(super) fn keep(&mut self, page: u32, version: u32) {
        let Some(images) = self.pages.get_mut(page as usize) else { return };
        images.iter_mut().filter(|image| image.version != Some(version)).for_each(|image| image.version = None);
    }

    pub(super) fn get(&self, page: u32, version: u32) -> Option<&[u32]> {
        let images = self.pages.get(page as usize)?;
        images.iter().find(|image| image.version == Some(version)).map(|image| image.entries.as_slice())
    }

    /// The place of a staged version.
    pub(super) fn place(&self, page: u32, version: u32) -> Option<u8> {
        let places = self.pages.get(page as usize)?;
        places.iter().rposition(|image| image.version == Some(version)).map(|place| place as u8)
    }

    /// The version in a place of a page, and its content.
    pub(super) fn at(&self, page: u32, place: usize) -> Option<(u32, &[u32])> {
        let image = &self.pages.get(page as usize)?[place];
        image.version.map(|version| (version, image.entries.as_slice()))
    }

    /// All images: page, place, version and content.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, u8, u32, &[u32])> {
        (0..self.pages.len() as u32).flat_map(move |page| {
            (0..2).filter_map(move |place| {
                let (version, entries) = self.at(page, usize::from(place))?;
                Some((page, place, version, entries))
            })
        })
    }

    /// All images: page, version and content.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, &[u32])> {
        self.places().map(|(page, _, version, entries)| (page, version, entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_durable_version_of_a_page_stays_until_the_next_is_durable() {
        let mut images = Images::default();
        images.stage(3, None, 7, &[1, 2]);
        assert_eq!((images.get(3, 7), images.get(3, 6), images.get(9, 7)), (Some(&[1, 2][..]), None, None));
        images.keep(3, 7);
        images.stage(3, Some(7), 8, &[3]);
        // The power went, version 8 was torn, and the next attempt has another number.
        images.stage(3, Some(7), 9, &[4]);
        assert_eq!((images.get(3, 7), images.get(3, 8), images.get(3, 9)), (Some(&[1, 2][..]), None, Some(&[4][..])));
        images.keep(3, 9);
        assert_eq!(images.iter().collect::<Vec<_>>(), [(3, 9, &[4][..])]);
    }
}
