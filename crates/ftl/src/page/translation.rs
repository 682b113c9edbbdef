//! Translation pages, in which a map unit stores the map.
//!
//! Page number `t` is a mapping unit numbered behind those of the host, so placement, collection, versions, recovery
//! and wear treat it like data. It differs in three ways. First, a table in RAM (the global translation directory)
//! holds its place, so its collection asks the map unit nothing. Second, it goes to a pool of its own in its plane
//! group: data collection needs answers of the map unit, and these may wait for stores of translation pages, so space
//! for translation pages must never wait for data collection. Third, its content is an image in the media.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, Observer, Slot};
use flash::nand::Sector;

use super::mapping::Mapping;
use super::{Kind, PageFtl, reserved};
use crate::map_unit::MapUnit;
use crate::port::{Flash, OldPlace, Owners, PageWrite, full_mask};

impl PageFtl {
    /// The pool of a translation page.
    pub(super) const fn home_of(&self, page: u32) -> u32 {
        self.groups + page % self.groups
    }

    /// Reads a translation page for the map unit.
    pub(super) fn load_page<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, page: u32) {
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
        map_client.pages[page as usize].loading += 1;
        let (superblock, _) = self.geometry.locate(psn);
        self.blocks.pin(superblock);
        // The class is that of host reads, because a host may wait for this read.
        let list = flash.backend.open_list(Class::HostRead, Kind::Load as u32);
        let read = flash.backend.add_read(list, Cause::Map, superblock);
        let lpn = Lpn::new(self.units + page);
        flash.backend.push_slot(read, Slot { lpn, psn, expected: true, ..Slot::default() });
        flash.submit(list);
    }

    pub(super) fn load_finished<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
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
        self.unpin(flash, owners, self.geometry.locate(slot.psn).0);
    }

    /// Stores a translation page for the map unit.
    pub(super) fn store_page<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        page: u32,
    ) {
        let version = self.versions.next();
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
        let state = &mut map_client.pages[page as usize];
        assert!(state.storing.is_none(), "translation page {page} is stored twice at once");
        state.storing = Some(version);
        let durable = state.durable;
        flash.backend.media_mut().stage_image(page, durable, version, map_client.unit.image(page));
        self.write_page(flash, owners, page, version);
    }

    fn write_page<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        page: u32,
        version: u32,
    ) {
        let (lpn, mask) = (Lpn::new(self.units + page), full_mask(self.geometry.sectors));
        self.write(flash, owners, PageWrite { lpn, owner: None, at: 0, mask, version, old_place: OldPlace::Unasked });
    }

    /// A translation page has been programmed: updates the directory and reports to the map unit.
    pub(super) fn page_stored<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, slot: &Slot, psn: Psn) {
        let page = slot.lpn.get() - self.units;
        self.blocks.mark_valid(psn);
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
        let old = map_client.directory.set(Lpn::new(page), Some(psn));
        map_client.pages[page as usize].durable = Some(slot.version);
        map_client.kept.remove(&page);
        flash.backend.media_mut().keep_image(page, slot.version);
        if let Some(old) = old {
            self.invalidate(old);
        }
        self.end_store(flash, page);
    }

    /// Keeps a translation page in RAM, because flash has no space for it and never will. From now on the drive accepts
    /// no writes, so that it loses nothing that it has acknowledged.
    pub(super) fn keep_page<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, page: u32) {
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
        let image = match &map_client.recovered {
            Some(recovered) if map_client.stale.contains(&page) => recovered.entries(map_client.range(page)),
            _ => {
                let version = map_client.pages[page as usize].storing.expect("it is being stored");
                flash.backend.media().image(page, version).expect("it has been staged")
            }
        };
        let image = image.to_vec();
        map_client.kept.insert(page, image);
        self.end_store(flash, page);
    }

    fn end_store<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, page: u32) {
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
    pub(crate) fn rewrite<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) {
        let Mapping::MapUnit(map_client) = &self.mapping else { return };
        for page in map_client.stale.clone() {
            let version = self.versions.next();
            let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
            let range = map_client.range(page);
            let state = &mut map_client.pages[page as usize];
            state.storing = Some(version);
            let durable = state.durable;
            let recovered = map_client.recovered.as_ref().expect("it is kept while pages are out of date");
            flash.backend.media_mut().stage_image(page, durable, version, recovered.entries(range));
            self.write_page(flash, owners, page, version);
        }
        self.end_write(flash, owners);
    }

    /// The last resort before a translation page finds no space: its pool, or another, takes a superblock from data,
    /// even the one that data collection would copy into. Returns true if this made space.
    pub(super) fn make_room_for_pages(&mut self, lpn: Lpn) -> bool {
        let home = self.home_of(lpn.get() - self.units) - self.groups;
        [1, 0].into_iter().any(|keep| (0..self.groups).any(|i| self.lend_block((home + i) % self.groups, keep)))
            || self.found_pool_of_pages()
    }

    /// Gives a plane group without translation pages a pool of them, if one has enough free superblocks.
    fn found_pool_of_pages(&mut self) -> bool {
        let without = (0..self.groups).filter(|group| self.pools[(self.groups + group) as usize].quota == 0);
        let richest = without.max_by_key(|group| (self.pools[*group as usize].free.len(), std::cmp::Reverse(*group)));
        let reserved = reserved(self.gc.shared_log);
        let Some(group) = richest.filter(|group| self.pools[*group as usize].free.len() > reserved + 1) else {
            return false;
        };
        self.pools[(self.groups + group) as usize].quota = reserved + 1;
        (0..=reserved).for_each(|_| self.hand_over(group));
        true
    }

    /// Moves a free superblock from the data pool to the pool of translation pages beside it, if the latter has too few
    /// and the former more than `keep`. Returns true if it did.
    pub(super) fn lend_block(&mut self, group: u32, keep: u32) -> bool {
        let Some(pool) = self.pools.get(self.groups as usize + group as usize) else { return false };
        let lacks = pool.usable < pool.quota && self.pools[group as usize].free.len() > keep;
        if lacks {
            self.hand_over(group);
        }
        lacks
    }

    /// Moves a free superblock from the data pool to the pool of translation pages beside it.
    pub(super) fn hand_over(&mut self, group: u32) {
        let Some((superblock, erases)) = self.pools[group as usize].free.pop_with_wear() else { return };
        self.blocks.set_map(superblock, true);
        self.pools[group as usize].usable -= 1;
        let pool = &mut self.pools[(self.groups + group) as usize];
        pool.usable += 1;
        pool.stuck = false;
        pool.free.push(superblock, erases);
    }
}

#[cfg(test)]
mod tests {
    use base::units::Lpn;

    use crate::AnyFtl;
    use crate::rig::Rig;

    #[test]
    fn a_pool_of_translation_pages_takes_a_missing_superblock_from_the_data_pool_of_its_die() {
        // Two dies with a translation page each.
        let text = "flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 80, pages = 16, planes = 1 }\n\
                    [ftl]\nkind = 'page'\nover-provisioning = '60%'\nmap = { kind = 'uncached' }";
        for (lacking, page) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut rig = Rig::new(text);
            let AnyFtl::Page(ftl) = &mut rig.ftl else { panic!("a page map") };
            assert_eq!((ftl.groups, ftl.pools.len()), (2, 4));
            let page = Lpn::new(ftl.units + page);
            assert!(!ftl.make_room_for_pages(page), "both pools have their superblocks");
            let pool = 2 + lacking;
            ftl.pools[pool].usable -= 1;
            let free = ftl.pools[lacking].free.len();
            assert!(ftl.make_room_for_pages(page));
            assert_eq!((ftl.pools[pool].usable, ftl.pools[lacking].free.len()), (ftl.pools[pool].quota, free - 1));
            assert!(!ftl.make_room_for_pages(page), "and no more");
        }
    }
}
