//! Translation pages, in which a map unit stores the map.
//!
//! Page number `t` is a mapping unit numbered behind those of the host, so placement, collection, versions, recovery
//! and wear treat it like data. It differs in three ways:
//! * A table in RAM (the global translation directory) holds its place, so its collection asks the map unit nothing.
//! * It goes to a pool of its own in its plane group. Data collection needs answers of the map unit, and these may wait
//!   for stores of translation pages, so space for translation pages must never wait for data collection. If blocks
//!   have failed until that pool has no space, the page goes to any log with room.
//! * Its content is an image in the media.
//!
//! The media keep at most two versions of a page's image: the durable one and one under way. A copy has the content of
//! its original, and a torn image is not found again. At a mount a page whose image contradicts the spare areas is
//! stale; it is written again before the map unit begins and before the device takes a request.

use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, Slot};
use flash::nand::{Image, Media};

use crate::map_unit::MapUnit;
use crate::page::ListPurpose;
use crate::page::block_manager::BlockManager;
use crate::page::mapping::{L2p, Mapping};
use crate::port::{Flash, PageWrite};

impl Mapping {
    /// Reads a translation page for the map unit: all of it, or the given entries.
    pub(in crate::page) fn load_page(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        (page, entries): (u32, Option<u32>),
    ) {
        let L2p::MapUnit(map_client) = &mut self.l2p else { return };
        let state = &mut map_client.pages[page as usize];
        if state.storing.is_some() {
            // The read waits for the store: the version on flash is older than the content that the map unit has
            // evicted.
            state.wanted += 1;
            return;
        }
        if let Some(kept) = map_client.kept.get(&page).cloned() {
            return map_client.loaded(flash.now, page, Some(&kept));
        }
        let Some(psn) = map_client.directory.get(Lpn::new(page)) else {
            return map_client.loaded(flash.now, page, None);
        };
        if map_client.load_from_host(page, entries, flash.backend.is_timed()) {
            return;
        }
        let state = &mut map_client.pages[page as usize];
        state.loading += 1;
        if let Some(image) = state.durable.and_then(|version| flash.backend.media().image(page, version)) {
            image.prefetch();
        }
        let (superblock, _) = blocks.layout.locate(psn);
        blocks.table.pin(superblock);
        // The class is that of host reads, because a host may wait for this read.
        let list = flash.backend.open_list(Class::HostRead, ListPurpose::Load as u32);
        let read = flash.backend.add_read(list, Cause::Map, blocks.layout.member_at(psn));
        let lpn = Lpn::new(self.units + page);
        flash.backend.prefetch_read(lpn, psn);
        flash.backend.push_slot(read, Slot { lpn, psn, expected: true, ..Slot::default() });
        flash.submit(list);
    }

    /// Handles a translation page that has been programmed: updates the directory and reports to the map unit.
    pub(in crate::page) fn page_stored(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        slot: &Slot,
        psn: Psn,
    ) {
        let page = slot.lpn.get() - self.units;
        blocks.table.mark_valid(psn);
        let L2p::MapUnit(map_client) = &mut self.l2p else { return };
        let old = map_client.directory.set(Lpn::new(page), Some(psn));
        map_client.pages[page as usize].durable = Some(slot.version);
        map_client.kept.remove(&page);
        flash.backend.media_mut().keep_image(page, slot.version);
        if let Some(old) = old {
            blocks.invalidate(old);
        }
        self.end_store(blocks, flash, page);
    }

    /// Keeps a translation page in RAM, because flash will never have space for it. From now on the drive accepts no
    /// writes, so that it loses nothing that it has acknowledged.
    pub(in crate::page) fn keep_page(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, page: u32) {
        let L2p::MapUnit(map_client) = &mut self.l2p else { return };
        let image = match &map_client.recovered {
            Some(recovered) if map_client.stale.contains(&page) => {
                Image::new(recovered[map_client.range(page)].to_vec())
            }
            _ => {
                let version = map_client.pages[page as usize].storing.expect("it is being stored");
                flash.backend.media().image(page, version).expect("it has been staged").clone()
            }
        };
        map_client.kept.insert(page, image);
        self.end_store(blocks, flash, page);
    }

    fn end_store(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>, page: u32) {
        let L2p::MapUnit(map_client) = &mut self.l2p else { return };
        let state = &mut map_client.pages[page as usize];
        state.storing = None;
        let wanted = std::mem::take(&mut state.wanted);
        if map_client.stale.remove(&page) {
            if map_client.stale.is_empty() {
                map_client.recovered = None;
            }
        } else {
            map_client.stored(flash.now, page);
        }
        for _ in 0..wanted {
            // The page is read as a whole, because the entries that the waiting reads wanted are not kept.
            self.load_page(blocks, flash, (page, None));
        }
    }

    /// True if a translation page no longer has a place on flash.
    pub(in crate::page) fn is_out_of_pages(&self) -> bool {
        matches!(&self.l2p, L2p::MapUnit(map_client) if !map_client.kept.is_empty())
    }

    /// True while translation pages are stale: the map unit starts after they have been written.
    pub(crate) fn is_rewriting(&self) -> bool {
        self.stale_pages() > 0
    }

    /// The number of translation pages that recovery found stale and that are not written yet.
    pub(crate) fn stale_pages(&self) -> u32 {
        match &self.l2p {
            L2p::Ram(_) => 0,
            L2p::MapUnit(map_client) => map_client.stale.len() as u32,
        }
    }

    /// Handles a translation page that has been read: hands it to the map unit.
    pub(in crate::page) fn page_loaded(&mut self, flash: &Flash<'_>, lpn: Lpn) {
        let page = lpn.get() - self.units;
        let L2p::MapUnit(map_client) = &mut self.l2p else { return };
        let state = &mut map_client.pages[page as usize];
        state.loading -= 1;
        let version = state.durable.expect("what is loaded is durable");
        let image = flash.backend.media().image(page, version);
        assert!(image.is_some(), "version {version} of translation page {page} is nowhere");
        map_client.loaded(flash.now, page, image);
        if let Some((memory, image)) = map_client.host_memory.as_mut().zip(image).filter(|_| flash.backend.is_timed()) {
            memory.fill(page, image);
        }
    }

    /// Makes the image of a translation page that the map unit stores. Returns the write that stores it.
    pub(in crate::page) fn stage_page(
        &mut self,
        media: &mut Media,
        page: u32,
        (sectors, timed): (u32, bool),
    ) -> Option<PageWrite> {
        let L2p::MapUnit(map_client) = &mut self.l2p else { return None };
        let version = self.versions.next();
        let state = &mut map_client.pages[page as usize];
        assert!(state.storing.is_none(), "translation page {page} is stored twice at once");
        state.storing = Some(version);
        let image = map_client.unit.image(page).clone();
        if let Some(memory) = &mut map_client.host_memory {
            memory.replace(page, &image, timed);
        }
        let replaced = media.stage_shared(page, state.durable, version, image);
        map_client.unit.recycle(page, replaced);
        Some(PageWrite::of_ftl(Lpn::new(self.units + page), version, sectors))
    }

    /// Makes the images of the stale translation pages. Returns the writes that store them.
    pub(in crate::page) fn stage_stale_pages(&mut self, media: &mut Media, sectors: u32) -> Vec<PageWrite> {
        let L2p::MapUnit(map_client) = &mut self.l2p else { return Vec::new() };
        let stale: Vec<u32> = map_client.stale.iter().copied().collect();
        let stage = |page: u32| {
            let version = self.versions.next();
            let range = map_client.range(page);
            let state = &mut map_client.pages[page as usize];
            state.storing = Some(version);
            let recovered = map_client.recovered.as_ref().expect("it is kept while pages are out of date");
            media.stage_image(page, state.durable, version, &recovered[range]);
            PageWrite::of_ftl(Lpn::new(self.units + page), version, sectors)
        };
        stale.into_iter().map(stage).collect()
    }
}

#[cfg(test)]
mod tests {

    use crate::rig::Rig;

    #[test]
    fn two_failing_erases_beside_a_shared_log_leave_a_drive_with_garbage_writable() {
        let mut failed = Vec::new();
        for (map, first) in ["uncached", "dftl", "fmmu"].into_iter().flat_map(|map| (0..60).map(move |nth| (map, nth)))
        {
            let mut rig = Rig::new(&format!(
                r"flash = {{ part = 'dirik-2009', channels = 2, chips = 1, blocks = 8, pages = 4, planes = 1 }}
[ftl]
kind = 'page'
map-unit = '512B'
over-provisioning = '81.25%'
map = {{ kind = '{map}' }}
gc = {{ start = 1, stop = 2, parallel = 2, shared-log = true }}"
            ));
            let units = rig.units();
            (0..units).for_each(|lpn| rig.write(&[lpn], None));
            rig.run_until_idle();
            let faults = rig.backend.media_mut().faults_mut();
            [first, first + 1 + first % 7].into_iter().for_each(|nth| faults.fail_erase(nth));
            for i in 0..400 {
                rig.write(&[i * 619 % units], None);
                (0..i % 9).for_each(|_| _ = rig.step());
                // The writes come as from a host with a queue of eight.
                while units + i + 1 - rig.host.written - rig.host.refused >= 8 {
                    assert!(rig.step());
                }
            }
            rig.run_until_idle();
            if rig.host.refused > 0 {
                failed.push((map, first, rig.host.refused, rig.backend.media().bad_blocks()));
            }
        }
        assert_eq!(failed, [], "map, first erase that failed, writes refused, bad blocks");
    }
}
