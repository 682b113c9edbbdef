//! Translation pages in the memory of a map unit, shared with flash until the map unit changes them.
//!
//! A page goes from flash to a cache, to a write buffer and to flash again, and each copy would move 4 KiB through the
//! processor's caches. So flash, caches and buffers hold handles of one image. A change of an image with several
//! holders is made in a copy.

use flash::nand::Image;

use super::entry::encode;

/// Memory for copies of pages: images whose content has been replaced everywhere.
#[derive(Clone, Debug)]
pub(super) struct Spares {
    images: Vec<Image>,
    /// A page that was never written.
    empty: Image,
}

impl Spares {
    pub(super) fn new(entries: u32) -> Self {
        Self { images: Vec::new(), empty: Image::new(vec![encode(None); entries as usize]) }
    }

    /// The content of a page that was never written.
    pub(super) fn empty(&self) -> Image {
        self.empty.clone()
    }

    /// Takes the memory of an image, if no other holder has the image.
    pub(super) fn take(&mut self, mut image: Image) {
        if image.own().is_some_and(|own| own.capacity() >= self.empty.len()) {
            self.images.push(image);
        }
    }

    /// The entries of an image, to change them; copies the image first if it has other holders.
    pub(super) fn change<'a>(&mut self, image: &'a mut Image) -> &'a mut [u32] {
        if image.own().is_none() {
            let mut copy = self.images.pop().unwrap_or_default();
            copy.copy_from(image, self.empty.len());
            *image = copy;
        }
        image.make_own()
    }
}

/// The pages in a cache, by block.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    images: Vec<Image>,
    spares: Spares,
}

impl Pages {
    pub(super) fn new(blocks: u32, entries: u32) -> Self {
        let spares = Spares::new(entries);
        Self { images: vec![spares.empty(); blocks as usize], spares }
    }

    pub(super) fn get(&self, block: usize) -> &Image {
        &self.images[block]
    }

    /// Puts a page into a block; `None` stands for a page that was never written.
    pub(super) fn put(&mut self, block: usize, image: Option<&Image>) {
        let image = image.cloned().unwrap_or_else(|| self.spares.empty());
        let before = std::mem::replace(&mut self.images[block], image);
        self.spares.take(before);
    }

    /// The entries of a page, to change them; copies the page first if flash or a buffer holds it too.
    pub(super) fn change(&mut self, block: usize) -> &mut [u32] {
        self.spares.change(&mut self.images[block])
    }

    /// Takes the memory of an image that has been replaced.
    pub(super) fn recycle(&mut self, image: Image) {
        self.spares.take(image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_page_leaves_flash_as_it_was_and_takes_the_memory_of_a_replaced_one() {
        let mut pages = Pages::new(2, 4);
        assert_eq!(pages.get(1)[..], [encode(None); 4]);
        let flash = Image::new(vec![1, 2, 3, 4]);
        pages.put(0, Some(&flash));
        pages.change(0)[1] = 9;
        assert_eq!((&flash[..], &pages.get(0)[..]), (&[1, 2, 3, 4][..], &[1, 9, 3, 4][..]));
        let memory = pages.get(0).as_ptr();
        pages.change(0)[2] = 8;
        assert_eq!(pages.get(0).as_ptr(), memory, "nobody else has it");
        // The page leaves the cache, and its memory serves the next change.
        pages.put(0, Some(&flash));
        pages.put(1, None);
        pages.change(1)[0] = 7;
        assert_eq!((pages.get(1)[0], pages.get(1).as_ptr()), (7, memory));
        pages.put(0, None);
        assert_eq!(flash[..], [1, 2, 3, 4]);
    }

    #[test]
    fn spares_are_whole_pages_without_another_owner() {
        let mut spares = Spares::new(4);
        let shared = Image::new(vec![0; 4]);
        [shared.clone(), Image::new(vec![0; 2]), spares.empty()].into_iter().for_each(|image| spares.take(image));
        assert!(spares.images.is_empty());
        drop(shared);
        spares.take(Image::new(vec![0; 4]));
        assert_eq!(spares.images.len(), 1);
    }
}
