//! The host memory buffer (HMB): translation pages in the host's memory, between the caches of a map unit and flash.
//!
//! * A page that flash has loaded is written to the host's memory, and a later load of the page reads it over the host
//!   link.
//! * Every page in the host's memory is clean: a page that the map unit stores is replaced there in the same step. So
//!   the host may take its memory back, or lose it with its power, at any moment.
//! * The caller carries out the transfers, which take the time.

use std::collections::VecDeque;

use base::units::{Bytes, Time};
use flash::nand::Image;

use super::cache::Cache;
use super::counters::HmbCounters;
use super::evict::EvictSpec;
use super::hmb_spec::{HmbSpec, WAYS};

/// Bytes of state beside each page.
const STATE: u64 = 12 + 8;

/// A transfer between the drive and the host's memory.
#[derive(Clone, Debug)]
pub(crate) enum HmbTransfer {
    /// Reads entries of a translation page from the host's memory.
    Read { page: u32, bytes: Bytes, image: Image },
    /// Writes to the host's memory.
    Write { bytes: Bytes },
}

/// A read of the host's memory whose data are on their way.
#[derive(Clone, Debug)]
struct Arrival {
    at: Time,
    page: u32,
    image: Image,
}

/// The time in which a translation page was last read from the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HmbRead {
    pub(crate) from: Time,
    pub(crate) until: Time,
}

/// The pages in the host's memory, as a set-associative cache.
#[derive(Clone, Debug)]
struct Pages {
    cache: Cache,
    images: Vec<Image>,
}

/// A drive's use of the host's memory.
#[derive(Clone, Debug)]
pub(crate) struct HostMemory {
    spec: HmbSpec,
    page: Bytes,
    /// The pages; none while the host gives less than the minimum.
    pages: Option<Pages>,
    /// True if pages that the host took back are still served, for [`crate::Sabotage::HostMemoryOutlives`].
    outlives: bool,
    /// True from the moment at which the host took the memory back, if the drive [goes on serving it](Self::outlives).
    is_stale: bool,
    transfers: VecDeque<HmbTransfer>,
    /// Reads under way, in the order of their ends: the link is first come, first served.
    arrivals: VecDeque<Arrival>,
    /// The last read of each page, if an observer asked for the times.
    reads: Vec<Option<HmbRead>>,
    counters: HmbCounters,
}

impl HostMemory {
    /// A drive without host memory: the host gives the memory after each power-on.
    pub(crate) fn new(spec: HmbSpec, page: Bytes, pages: u32, outlives: bool) -> Self {
        Self {
            spec,
            page,
            pages: None,
            outlives,
            is_stale: false,
            transfers: VecDeque::new(),
            arrivals: VecDeque::new(),
            reads: vec![None; pages as usize],
            counters: HmbCounters::default(),
        }
    }

    /// The host gives `given` bytes of memory, which replace the memory that it gave before (Set Features, Host Memory
    /// Buffer). Returns the time from which the drive no longer reads the previous memory.
    pub(crate) fn give(&mut self, now: Time, given: Bytes) -> Time {
        let used = self.spec.used(given);
        let sets = sets(used, self.page.get(), self.reads.len() as u64);
        if self.outlives && self.pages.is_some() {
            self.is_stale = sets == 0;
        } else {
            self.pages = (sets > 0).then(|| {
                let blocks = sets as u32 * WAYS;
                let cache = Cache::new(blocks, WAYS, EvictSpec::SecondChance);
                Pages { cache, images: vec![Image::default(); blocks as usize] }
            });
        }
        self.transfers.retain(|transfer| matches!(transfer, HmbTransfer::Read { .. }));
        self.arrivals.back().map_or(now, |last| last.at)
    }

    /// The content of a page, if the host's memory holds the page. Counts the lookup as a hit or a miss.
    pub(crate) fn find(&mut self, page: u32) -> Option<Image> {
        let Some(Pages { cache, images }) = &mut self.pages else { return None };
        let Some(block) = cache.find(page) else {
            self.counters.misses += 1;
            return None;
        };
        self.counters.hits += 1;
        cache.touch(block);
        Some(images[block].clone())
    }

    pub(crate) fn read(&mut self, page: u32, bytes: Bytes, image: Image) {
        self.transfers.push_back(HmbTransfer::Read { page, bytes, image });
    }

    /// Queues a write of a page that flash has loaded to the host's memory.
    pub(crate) fn fill(&mut self, page: u32, image: &Image) {
        let Some(Pages { cache, images }) = self.pages.as_mut().filter(|_| !self.is_stale) else { return };
        if cache.find(page).is_some() {
            return;
        }
        let (victim, _) = cache.victim(page, |_| true);
        let block = victim.expect("all pages are clean");
        cache.allocate(block, page);
        cache.finish_load(block);
        images[block] = image.clone();
        self.transfers.push_back(HmbTransfer::Write { bytes: self.page });
    }

    /// Replaces the copy of a page in the host's memory, because the map unit stores the page with new content. With
    /// time off no transfer is queued.
    pub(crate) fn replace(&mut self, page: u32, image: &Image, timed: bool) {
        let Some(Pages { cache, images }) = self.pages.as_mut().filter(|_| !self.is_stale) else { return };
        let Some(block) = cache.find(page) else { return };
        images[block] = image.clone();
        if timed {
            self.transfers.push_back(HmbTransfer::Write { bytes: self.page });
        }
    }

    /// The transfer that begins next. Counts its bytes.
    pub(crate) fn next_transfer(&mut self) -> Option<HmbTransfer> {
        let transfer = self.transfers.pop_front()?;
        match &transfer {
            HmbTransfer::Read { bytes, .. } => self.counters.read += *bytes,
            HmbTransfer::Write { bytes } => self.counters.written += *bytes,
        }
        Some(transfer)
    }

    /// Begins a read whose data the link has sent at `sent`. Returns the time at which the drive has the data.
    pub(crate) fn begin(&mut self, now: Time, sent: Time, page: u32, image: Image) -> Time {
        let at = sent + self.spec.latency;
        self.counters.time += at - now;
        self.reads[page as usize] = Some(HmbRead { from: now, until: at });
        self.arrivals.push_back(Arrival { at, page, image });
        at
    }

    /// The next page whose data have arrived by `now`.
    pub(crate) fn next_arrival(&mut self, now: Time) -> Option<(u32, Image)> {
        self.arrivals.front().filter(|arrival| arrival.at <= now)?;
        self.arrivals.pop_front().map(|arrival| (arrival.page, arrival.image))
    }

    pub(crate) fn last_read(&self, page: u32) -> Option<HmbRead> {
        self.reads[page as usize]
    }

    pub(crate) fn counters(&self) -> HmbCounters {
        self.counters
    }

    /// Bytes of the simulator's tables for the host memory of a device with `pages` translation pages. The pages share
    /// the content of flash.
    pub(super) fn memory(spec: &HmbSpec, page: u64, pages: u64) -> u64 {
        let sets = sets(spec.preferred, page, pages);
        sets * (u64::from(WAYS) * STATE + 4) + pages * size_of::<Option<HmbRead>>() as u64
    }
}

/// The number of sets in a memory of this size for pages of `page` bytes, at most as many as the drive's `pages` pages
/// fill.
fn sets(size: Bytes, page: u64, pages: u64) -> u64 {
    (size.get() / page.max(1) / u64::from(WAYS)).min(pages.div_ceil(u64::from(WAYS)))
}

#[cfg(test)]
mod tests {
    use base::units::Span;

    use super::*;

    const PAGE: Bytes = Bytes::new(4096);

    fn memory(preferred: u64, minimum: u64) -> HostMemory {
        let sizes = (Bytes::new(preferred * 4096), Bytes::new(minimum * 4096));
        let spec = HmbSpec { preferred: sizes.0, minimum: sizes.1, latency: Span::from_us(1) };
        HostMemory::new(spec, PAGE, 64, false)
    }

    fn image(word: u32) -> Image {
        Image::new(vec![word; 4])
    }

    #[test]
    fn nothing_is_kept_before_the_host_gives_memory_or_below_the_minimum() {
        let mut memory = memory(16, 8);
        for given in [None, Some(7)] {
            if let Some(pages) = given {
                memory.give(Time::ZERO, Bytes::new(pages * 4096));
            }
            memory.fill(3, &image(1));
            assert_eq!((memory.find(3), memory.next_transfer().is_none()), (None, true));
        }
        assert_eq!(memory.counters(), HmbCounters::default(), "a memory that is not there has no misses");
    }

    #[test]
    fn a_stored_page_replaces_its_copy_and_one_that_is_not_there_is_not_added() {
        let mut memory = memory(16, 8);
        memory.give(Time::ZERO, Bytes::new(16 * 4096));
        memory.fill(3, &image(1));
        memory.replace(3, &image(2), true);
        memory.replace(4, &image(9), true);
        assert_eq!((memory.find(3), memory.find(4)), (Some(image(2)), None));
        while memory.next_transfer().is_some() {}
        let HmbCounters { hits, misses, written, .. } = memory.counters();
        assert_eq!((hits, misses, written), (1, 1, PAGE * 2));
    }

    #[test]
    fn each_set_keeps_as_many_pages_as_it_has_ways() {
        let mut memory = memory(16, 8);
        memory.give(Time::ZERO, Bytes::new(100 * 4096));
        (0..17).for_each(|page| memory.fill(page, &image(page)));
        let kept = (0..17).filter(|page| memory.find(*page).is_some()).count();
        assert_eq!(kept, 16, "the drive prefers 16 pages and takes no more");
        assert_eq!(memory.find(16), Some(image(16)));
    }

    #[test]
    fn reads_under_way_end_before_the_host_has_its_memory_back() {
        let mut memory = memory(16, 8);
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        memory.give(Time::ZERO, Bytes::new(16 * 4096));
        memory.fill(3, &image(1));
        memory.next_transfer();
        let found = memory.find(3).expect("it is there");
        memory.read(3, Bytes::new(64), found);
        let Some(HmbTransfer::Read { page, image: found, .. }) = memory.next_transfer() else { panic!("a read") };
        assert_eq!(memory.begin(at(5), at(7), page, found), at(8));
        assert_eq!(memory.give(at(6), Bytes::new(0)), at(8));
        assert_eq!(memory.find(3), None);
        assert!(memory.next_arrival(at(7)).is_none());
        assert_eq!(memory.next_arrival(at(8)), Some((3, image(1))));
        assert_eq!(memory.last_read(3), Some(HmbRead { from: at(5), until: at(8) }));
        assert_eq!(memory.give(at(9), Bytes::new(16 * 4096)), at(9));
        assert_eq!(memory.find(3), None, "memory that the host gives again holds nothing");
        assert_eq!(memory.counters().time, Span::from_us(3));
    }
}
