//! Translation pages, in which a map unit stores the map.
//!
//! Page number `t` is a mapping unit numbered behind those of the host, so placement, collection, versions, recovery
//! and wear treat it like data. It differs in three ways. First, a table in RAM (the global translation directory)
//! holds its place, so its collection asks the map unit nothing. Second, it goes to a pool of its own in its plane
//! group: data collection needs answers of the map unit, and these may wait for stores of translation pages, so space
//! for translation pages must never wait for data collection. If blocks have failed until that pool has no space, the
//! page goes to any log with room. Third, its content is an image in the media.
//!
//! The media keep at most two versions of a page's image: the durable one and one under way. A copy has the content of its
//! original, and a torn image is not found again. At a mount a page whose image contradicts the spare areas is stale; it is written
//! again before the map unit begins and before the device takes a request.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, Slot};
use flash::nand::Image;

use super::mapping::Mapping;
use super::{Kind, PageFtl};
use crate::map_unit::MapUnit;
use crate::port::{Flash, OldPlace, Owners, PageWrite, full_mask};

impl PageFtl {
    /// Reads a translation page for the map unit.
    pub(super) fn load_page(&mut self, flash: &mut Flash<'_>, page: u32) {
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
        let state = &mut map_client.pages[page as usize];
        if state.storing.is_some() {
            // The version on flash is older than the content that the map unit has evicted.
            state.wanted += 1;
            return;
        }
        if let Some(kept) = map_client.kept.get(&page).cloned() {
            return map_client.loaded(flash.now, page, Some(&kept));
        }
        let Some(psn) = map_client.directory.get(Lpn::new(page)) else {
            return map_client.loaded(flash.now, page, None);
        };
        let state = &mut map_client.pages[page as usize];
        state.loading += 1;
        if let Some(image) = state.durable.and_then(|version| flash.backend.media().image(page, version)) {
            image.fetch();
        }
        let (superblock, _) = self.blocks.geometry.locate(psn);
        self.blocks.table.pin(superblock);
        // The class is that of host reads, because a host may wait for this read.
        let list = flash.backend.open_list(Class::HostRead, Kind::Load as u32);
        let read = flash.backend.add_read(list, Cause::Map, superblock);
        let lpn = Lpn::new(self.units + page);
        flash.backend.prefetch_read(lpn, psn);
        flash.backend.push_slot(read, Slot { lpn, psn, expected: true, ..Slot::default() });
        flash.submit(list);
    }

    pub(super) fn load_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        list: Handle<flash::backend::List>,
    ) {
        let command = flash.backend.list(list).first().expect("a read");
        let (_, slot) = flash.backend.slot(command, 0);
        flash.backend.release(list);
        let page = slot.lpn.get() - self.units;
        if let Mapping::MapUnit(map_client) = &mut self.mapping {
            let state = &mut map_client.pages[page as usize];
            state.loading -= 1;
            let version = state.durable.expect("what is loaded is durable");
            let image = flash.backend.media().image(page, version);
            assert!(image.is_some(), "version {version} of translation page {page} is nowhere");
            map_client.loaded(flash.now, page, image);
        }
        self.unpin(flash, owners, self.blocks.geometry.locate(slot.psn).0);
    }

    /// Stores a translation page for the map unit.
    pub(super) fn store_page(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, page: u32) {
        let version = self.versions.next();
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
        let state = &mut map_client.pages[page as usize];
        assert!(state.storing.is_none(), "translation page {page} is stored twice at once");
        state.storing = Some(version);
        let durable = state.durable;
        let image = map_client.unit.image(page).clone();
        let replaced = flash.backend.media_mut().stage_shared(page, durable, version, image);
        map_client.unit.recycle(page, replaced);
        self.write_page(flash, owners, page, version);
    }

    fn write_page(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, page: u32, version: u32) {
        let (lpn, mask) = (Lpn::new(self.units + page), full_mask(self.blocks.geometry.sectors));
        self.write(
            flash,
            owners,
            PageWrite { lpn, owner: None, at: 0, mask, version, old_place: OldPlace::Unasked, stream: None },
        );
    }

    /// A translation page has been programmed: updates the directory and reports to the map unit.
    pub(super) fn page_stored(&mut self, flash: &mut Flash<'_>, slot: &Slot, psn: Psn) {
        let page = slot.lpn.get() - self.units;
        self.blocks.table.mark_valid(psn);
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
        let old = map_client.directory.set(Lpn::new(page), Some(psn));
        map_client.pages[page as usize].durable = Some(slot.version);
        map_client.kept.remove(&page);
        flash.backend.media_mut().keep_image(page, slot.version);
        if let Some(old) = old {
            self.blocks.invalidate(old);
        }
        self.end_store(flash, page);
    }

    /// Keeps a translation page in RAM, because flash has no space for it and never will. From now on the drive accepts
    /// no writes, so that it loses nothing that it has acknowledged.
    pub(super) fn keep_page(&mut self, flash: &mut Flash<'_>, page: u32) {
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
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
        self.end_store(flash, page);
    }

    fn end_store(&mut self, flash: &mut Flash<'_>, page: u32) {
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
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
            self.load_page(flash, page);
        }
    }

    /// True if a translation page no longer has a place on flash.
    pub(super) fn is_out_of_pages(&self) -> bool {
        matches!(&self.mapping, Mapping::MapUnit(map_client) if !map_client.kept.is_empty())
    }

    /// True while translation pages are stale: the map unit starts after they have been written.
    pub(crate) fn is_rewriting(&self) -> bool {
        self.stale_pages() > 0
    }

    /// Translation pages that recovery found stale.
    pub(crate) fn stale_pages(&self) -> u32 {
        match &self.mapping {
            Mapping::Ram(_) => 0,
            Mapping::MapUnit(map_client) => map_client.stale.len() as u32,
        }
    }

    /// Writes the stale translation pages.
    pub(crate) fn rewrite(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let Mapping::MapUnit(map_client) = &self.mapping else { return };
        for page in map_client.stale.clone() {
            let version = self.versions.next();
            let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
            let range = map_client.range(page);
            let state = &mut map_client.pages[page as usize];
            state.storing = Some(version);
            let durable = state.durable;
            let recovered = map_client.recovered.as_ref().expect("it is kept while pages are out of date");
            flash.backend.media_mut().stage_image(page, durable, version, &recovered[range]);
            self.write_page(flash, owners, page, version);
        }
        self.end_write(flash, owners);
    }

    /// True if writes of translation pages wait for the superblock that the pool of a group has lost.
    pub(super) fn wants_block(&self, group: u32) -> bool {
        let Some(pages) = self.blocks.pools.get((self.blocks.groups + group) as usize) else { return false };
        let waits = !pages.waiting.is_empty() || self.unplaced.last().is_some_and(|pages| !pages.is_empty());
        waits && pages.usable < pages.quota && pages.free.is_empty()
    }

    /// True if the data pool of a group will soon have a free superblock for the pool of translation pages beside it,
    /// because an erase is in progress or waits for no more than a reader. It may not wait for copies of data: the map
    /// unit may need a translation page for its answer.
    pub(super) fn will_lend(&mut self, flash: &mut Flash<'_>, group: u32) -> bool {
        if !self.wants_block(group) {
            return false;
        }
        self.blocks.drop_stale(flash, group);
        self.erase_garbage(flash, group);
        let data = &self.blocks.pools[group as usize].gc;
        let mut victims = data.victims.iter().map(|victim| victim.superblock);
        let answered = data.copies == 0 && data.asked == 0;
        data.erases > 0 || (answered && victims.any(|victim| self.blocks.table.valid(victim) == 0))
    }

    /// True if a pool of translation pages will soon have a free superblock, because an erase is in progress in it or in
    /// the data pool beside it.
    pub(super) fn will_have_pages(&mut self, flash: &mut Flash<'_>) -> bool {
        (0..self.blocks.groups).any(|group| {
            self.erase_garbage(flash, self.blocks.groups + group);
            self.blocks.pools[(self.blocks.groups + group) as usize].gc.erases > 0 || self.will_lend(flash, group)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::PageFtl;

    use crate::rig::Rig;

    #[test]
    fn two_failing_erases_beside_a_shared_log_leave_a_drive_with_garbage_writable() {
        let mut failed = Vec::new();
        for (map, first) in ["uncached", "dftl", "fmmu"].into_iter().flat_map(|map| (0..60).map(move |nth| (map, nth)))
        {
            let mut rig = Rig::new(&format!(
                "flash = {{ part = 'dirik-2009', channels = 2, chips = 1, blocks = 8, pages = 4, planes = 1 }}\n\
                 [ftl]\nkind = 'page'\nmap-unit = '512B'\nover-provisioning = '81.25%'\nmap = {{ kind = '{map}' }}\n\
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
                // As a host with a queue of eight.
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

    #[test]
    fn a_pool_of_translation_pages_takes_a_missing_superblock_from_the_data_pool_of_its_die() {
        // Two dies with a translation page each.
        let text = "flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 80, pages = 16, planes = 1 }\n\
                    [ftl]\nkind = 'page'\nover-provisioning = '60%'\nmap = { kind = 'uncached' }";
        for (lacking, page) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut rig = Rig::new(text);
            let ftl = rig.ftl.downcast_mut::<PageFtl>().expect("a page map");
            assert_eq!((ftl.blocks.groups, ftl.blocks.pools.len()), (2, 4));
            assert!(!ftl.blocks.make_room_for_pages(page), "both pools have their superblocks");
            let pool = 2 + lacking;
            ftl.blocks.pools[pool].usable -= 1;
            let free = ftl.blocks.pools[lacking].free.len();
            assert!(ftl.blocks.make_room_for_pages(page));
            assert_eq!(
                (ftl.blocks.pools[pool].usable, ftl.blocks.pools[lacking].free.len()),
                (ftl.blocks.pools[pool].quota, free - 1)
            );
            assert!(!ftl.blocks.make_room_for_pages(page), "and no more");
        }
    }
}
