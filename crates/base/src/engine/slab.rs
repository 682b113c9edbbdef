//! Storage for short-lived objects: once warm, it does not allocate.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

use crate::prefetch::prefetch_whole;

/// The place of a `T` in its slab. An `Option` of a handle has the same size.
pub struct Handle<T>(NonZeroU32, PhantomData<fn() -> T>);

impl<T> Handle<T> {
    fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 things at once"), PhantomData)
    }

    /// The position in the slab, as an index for tables beside it.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The handle as a plain number, for code that does not know its type.
    #[must_use]
    #[inline]
    pub const fn number(self) -> NonZeroU32 {
        self.0
    }

    /// Restores a handle from its [`Handle::number`].
    #[must_use]
    #[inline]
    pub const fn from_number(number: NonZeroU32) -> Self {
        Self(number, PhantomData)
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index())
    }
}

/// The number of bytes of one slab that the nearest caches probably keep, beside all other data.
const NEAR: usize = 256 << 10;

/// A vector with a free list. Handles stay valid until their item is removed.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<Handle<T>>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores `item`, in a freed place if there is one.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The caller builds the item in its place.
    pub fn insert(&mut self, item: T) -> Handle<T> {
        if let Some(handle) = self.free.pop() {
            self.items[handle.index()] = item;
            return handle;
        }
        // Room for every item is reserved in the free list, so that only a new place ever allocates. The item is not
        // passed to a function, so it is built where it stays.
        self.reserve();
        let handle = Handle::at(self.items.len());
        self.items.push(item);
        handle
    }

    #[cold]
    fn reserve(&mut self) {
        self.items.reserve(1);
        self.free.reserve(self.items.capacity());
    }

    /// Frees a place. The item is kept in memory until the place is used again.
    #[inline]
    pub fn remove(&mut self, handle: Handle<T>) {
        self.free.push(handle);
    }

    /// True if the items take more memory than the nearest caches are likely to keep, so that a prefetch is worth its
    /// instructions.
    #[must_use]
    #[inline]
    pub const fn is_large(&self) -> bool {
        self.items.len() >= NEAR / size_of::<T>()
    }

    /// Brings the memory of an item into the processor's caches; changes nothing else.
    #[inline]
    pub fn prefetch(&self, handle: Handle<T>) {
        prefetch_whole(self.items.get(handle.index()));
    }

    /// The number of items stored now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// True if no item is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of places that have ever existed, which is the length of a table beside the slab.
    #[must_use]
    #[inline]
    pub fn places(&self) -> usize {
        self.items.len()
    }

    /// Removes all items; all handles become invalid.
    pub fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
    }
}

impl<T> Index<Handle<T>> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, handle: Handle<T>) -> &T {
        crate::steps::count();
        &self.items[handle.index()]
    }
}

impl<T> IndexMut<Handle<T>> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        crate::steps::count();
        &mut self.items[handle.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slab_reuses_the_place_of_a_removed_value() {
        let mut slab = Slab::default();
        let a = slab.insert('a');
        let b = slab.insert('b');
        slab.remove(a);
        let c = slab.insert('c');
        assert_eq!((a, slab[b], slab[c], slab.len(), slab.places()), (c, 'b', 'c', 2, 2));
        assert_eq!(Handle::from_number(b.number()), b);
        assert_eq!(size_of::<Option<Handle<char>>>(), 4);
    }
}
