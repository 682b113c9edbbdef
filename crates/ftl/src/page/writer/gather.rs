//! Gathers translation pages into one program (Woo and Min, FMMU, Sec. 4.1: the block manager).
//!
//! A program of few pages takes as long as a full one. So all translation pages go to the program of one plane group
//! until that program has the wanted number of pages, and the next program goes to the next group. A program waits for
//! more pages only while another program of translation pages is in progress, because the map unit may need its pages.

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::page::writer::Writer;

#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Gather {
    /// The wanted number of pages in a program.
    pages: u32,
    /// The pool with the program under assembly.
    at: Option<u32>,
    /// The plane group whose turn is next.
    next: u32,
    /// The number of lists of translation pages in progress.
    stores: u32,
}

impl Gather {
    pub(in crate::page) const fn new(pages: u32) -> Self {
        Self { pages, at: None, next: 0, stores: 0 }
    }
}

impl Writer {
    pub(in crate::page) fn pool_for_page(&mut self, blocks: &BlockManager, page: u32) -> u32 {
        let Some(gather) = &mut self.gather else { return blocks.home_of(page) };
        if let Some(pool) = gather.at {
            return pool;
        }
        let slots = blocks.layout.shape.superblock_slots();
        let pools = &blocks.pools;
        let turns = (0..blocks.groups).map(|i| blocks.groups + (gather.next + i) % blocks.groups);
        let ready = |pool: &u32| {
            let pool = &pools[*pool as usize];
            pool.queue.waiting.is_empty() && pool.has_room(slots)
        };
        let Some(pool) = turns.into_iter().find(ready) else { return blocks.home_of(page) };
        gather.next = (pool - blocks.groups + 1) % blocks.groups;
        gather.at = Some(pool);
        pool
    }

    /// True if a program of `count` mapping units has the wanted number of translation pages.
    pub(in crate::page) fn is_gathered(&self, blocks: &BlockManager, pool: u32, count: u32) -> bool {
        blocks.kind_in(pool) == Holds::Pages && self.gather.is_some_and(|gather| count >= gather.pages)
    }

    /// Ends the gathering in a pool: the next translation page goes to another pool.
    pub(in crate::page) fn end_gathering(&mut self, pool: u32) {
        if let Some(gather) = &mut self.gather
            && gather.at == Some(pool)
        {
            gather.at = None;
        }
    }

    /// True if the pool's program under assembly waits for more pages.
    pub(in crate::page) fn is_held(&self, pool: u32) -> bool {
        self.gather.is_some_and(|gather| gather.at == Some(pool) && gather.stores > 0)
    }

    /// Counts a list of writes to a pool as submitted.
    pub(in crate::page) fn count_store(&mut self, blocks: &BlockManager, pool: u32) {
        let page = blocks.kind_in(pool) == Holds::Pages;
        if let Some(gather) = self.gather.as_mut().filter(|_| page) {
            gather.stores += 1;
        }
    }

    /// Counts a list of writes to a pool as finished. Returns true if a held program may now be sent.
    pub(in crate::page) fn ends_store(&mut self, blocks: &BlockManager, pool: u32) -> bool {
        let page = blocks.kind_in(pool) == Holds::Pages;
        let Some(gather) = self.gather.as_mut().filter(|_| page) else { return false };
        gather.stores -= 1;
        gather.stores == 0
    }
}

#[cfg(test)]
mod tests {
    use crate::PageFtl;
    use crate::rig::Rig;

    #[test]
    fn translation_pages_gather_in_the_next_pool_with_room() {
        // Three dies with a translation page each.
        let mut rig = Rig::new(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 3, blocks = 80, pages = 16, planes = 1 }
[ftl]
kind = 'page'
over-provisioning = '65%'
map = { kind = 'uncached' }
map-gather = 1",
        );
        let ftl = rig.ftl.downcast_mut::<PageFtl>().expect("a page map");
        assert_eq!((ftl.blocks.groups, ftl.blocks.pools.len()), (3, 6));
        assert_eq!(
            (ftl.writer.pool_for_page(&ftl.blocks, 0), ftl.writer.pool_for_page(&ftl.blocks, 2)),
            (3, 3),
            "wherever they are at home"
        );
        ftl.writer.end_gathering(3);
        assert_eq!(ftl.writer.pool_for_page(&ftl.blocks, 0), 4);
        ftl.writer.end_gathering(4);
        // The pool whose turn is next is full.
        ftl.blocks.pools[5].live = ftl.blocks.pools[5].limit(ftl.blocks.layout.shape.superblock_slots());
        assert_eq!(ftl.writer.pool_for_page(&ftl.blocks, 2), 3);
    }
}
