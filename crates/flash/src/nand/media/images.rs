//! The content of translation pages: the parts of an FTL's map on flash.
//!
//! The page itself is an ordinary slot, with its place, its spare area and its wear. This module keeps only its
//! content, by page and version, so that a copy has the content of its original. A page has at most two versions: the
//! durable one and the one that is being programmed.

use base::prefetch::prefetch_whole;

use crate::nand::Image;

/// The number of words for which a version has room from the start.
const USUAL: usize = 64;

/// One version of a page; the place is free if `version` is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Version {
    version: Option<u32>,
    image: Image,
}

/// Both places of all pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Images {
    pages: Vec<[Version; 2]>,
}

impl Images {
    /// Bytes of `pages` pages of `entries` entries, with both versions of each.
    pub(super) fn memory(pages: u32, entries: u32) -> u64 {
        // The list of pages may have doubled its capacity.
        u64::from(pages) * 2 * (Self::memory_of_one(entries) + 2 * size_of::<Version>() as u64)
    }

    /// Bytes of one version: its words, and the count of its owners.
    pub(super) fn memory_of_one(entries: u32) -> u64 {
        (size_of::<u32>() * (entries as usize).max(USUAL) + size_of::<Vec<u32>>() + 2 * size_of::<usize>()) as u64
    }

    /// The index of the place that a new version of the page takes.
    fn place_for(&self, page: u32, durable: Option<u32>) -> usize {
        let first = self.pages.get(page as usize).and_then(|versions| versions[0].version);
        usize::from(durable.is_some() && first == durable)
    }

    /// Stores a version, and returns the index of its place.
    pub(super) fn stage(&mut self, page: u32, durable: Option<u32>, version: u32, entries: &[u32]) -> u8 {
        let place = self.place_for(page, durable);
        self.put(page, place, version, entries);
        place as u8
    }

    /// Stores a version as [`Self::stage`] does, sharing the content with its owner. Also returns the content that was
    /// in the place.
    pub(super) fn stage_shared(&mut self, page: u32, durable: Option<u32>, version: u32, image: Image) -> (u8, Image) {
        let place = self.place_for(page, durable);
        let staged = self.version_mut(page, place);
        staged.version = Some(version);
        (place as u8, std::mem::replace(&mut staged.image, image))
    }

    /// Stores a version in one of the two places of its page.
    pub(super) fn put(&mut self, page: u32, place: usize, version: u32, entries: &[u32]) {
        let staged = self.version_mut(page, place);
        staged.version = Some(version);
        // Pages of a log differ in length. The usual capacity is reserved at once, so that they need not grow
        // repeatedly.
        staged.image.copy_from(entries, USUAL);
    }

    fn version_mut(&mut self, page: u32, place: usize) -> &mut Version {
        if self.pages.len() <= page as usize {
            self.pages.resize_with(page as usize + 1, Default::default);
        }
        &mut self.pages[page as usize][place]
    }

    /// The staged content of a version, to be filled.
    ///
    /// # Panics
    ///
    /// If the version was not staged.
    pub(super) fn fill(&mut self, page: u32, version: u32, words: usize) -> &mut [u32] {
        let versions = self.pages.get_mut(page as usize).into_iter().flatten();
        let staged = versions.filter(|staged| staged.version == Some(version)).last().expect("a staged version");
        let own = staged.image.make_own();
        own.resize(words, 0);
        own
    }

    pub(super) fn keep(&mut self, page: u32, version: u32) {
        let Some(versions) = self.pages.get_mut(page as usize) else { return };
        versions.iter_mut().filter(|other| other.version != Some(version)).for_each(|other| other.version = None);
    }

    pub(super) fn get(&self, page: u32, version: u32) -> Option<&Image> {
        let versions = self.pages.get(page as usize)?;
        versions.iter().find(|staged| staged.version == Some(version)).map(|staged| &staged.image)
    }

    /// Prefetches the places of a page, because one of its versions will be read.
    #[inline]
    pub(super) fn prefetch(&self, page: u32) {
        prefetch_whole(self.pages.get(page as usize));
    }

    /// The index of the place that holds a version.
    pub(super) fn place(&self, page: u32, version: u32) -> Option<u8> {
        let places = self.pages.get(page as usize)?;
        places.iter().rposition(|staged| staged.version == Some(version)).map(|place| place as u8)
    }

    /// The version in one place of a page, and its content.
    pub(super) fn at(&self, page: u32, place: usize) -> Option<(u32, &[u32])> {
        let staged = &self.pages.get(page as usize)?[place];
        staged.version.map(|version| (version, &staged.image[..]))
    }

    /// All images, as page, place, version and content.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, u8, u32, &[u32])> {
        (0..self.pages.len() as u32).flat_map(move |page| {
            (0..2).filter_map(move |place| {
                let (version, entries) = self.at(page, usize::from(place))?;
                Some((page, place, version, entries))
            })
        })
    }

    /// All images, as page, version and content.
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
        let get = |images: &Images, page, version| images.get(page, version).map(|image| image.to_vec());
        assert_eq!([(3, 7), (3, 6), (9, 7)].map(|(p, v)| get(&images, p, v)), [Some(vec![1, 2]), None, None]);
        images.keep(3, 7);
        images.stage(3, Some(7), 8, &[3]);
        // The power was cut: version 8 is torn, and the next attempt has another number.
        images.stage(3, Some(7), 9, &[4]);
        assert_eq!([7, 8, 9].map(|version| get(&images, 3, version)), [Some(vec![1, 2]), None, Some(vec![4])]);
        images.keep(3, 9);
        assert_eq!(images.iter().collect::<Vec<_>>(), [(3, 9, &[4][..])]);
    }

    #[test]
    fn a_shared_version_returns_what_it_replaces() {
        let mut images = Images::default();
        let staged = |images: &mut Images, durable, version| {
            let (place, before) = images.stage_shared(3, durable, version, Image::new(vec![version]));
            (place, before.to_vec())
        };
        assert_eq!(staged(&mut images, None, 7), (0, vec![]));
        assert_eq!(staged(&mut images, Some(7), 8), (1, vec![]));
        images.keep(3, 8);
        assert_eq!(staged(&mut images, Some(8), 9), (0, vec![7]));
        assert_eq!(images.get(3, 9).map(|image| image.to_vec()), Some(vec![9]));
    }
}
