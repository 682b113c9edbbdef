//! Translation pages: where a map unit keeps the map.
//!
//! Page number `t` is a unit like any other, with the logical number behind those of the host, so that placement,
//! collection, versions, recovery and wear are what they are for data. It differs in three ways. Its place is in a
//! table in RAM (the global translation directory), so that collecting it asks the map unit nothing. It goes to a pool
//! of its own in its plane group: data is collected only with answers of the map unit, and these may wait for
//! translation pages to be stored, so room for translation pages must never wait for data to be collected. And its
//! content is an image in the media.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, Observer, Slot};
use flash::nand::Sector;

use super::mapping::Mapping;
use super::{Kind, PageFtl, RESERVED};
use crate::map_unit::MapUnit;
use crate::port::{Flash, OldPlace, Owners, PageWrite, full_mask};

impl PageFtl {
    /// The pool of a translation page.
    pub(super) const fn home_of(&self, page: u32) -> u32 {
        self.groups + page % self.groups
    }

    /// The map unit wants a translation page.
    pub(super) fn load_page<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, page: u32) {
        let Mapping::MapUnit(map_client) = &mut self.mapping else { return };
        let state = &mut map_client.pages[page as usize];
        if state.storing.is_some() {
            // What is on flash until then is older than what the map unit has let go of.
            state.wanted = true;
            return;
        }
        if let Some(kept) = map_client.kept.get(&page).cloned() {
            return map_client.loaded(flash.now, page, Some(&kept));
        }
        let Some(psn) = map_client.directory.get(Lpn::new(page)) else {
            return map_client.loaded(flash.now, page, None);
        };
        map_client.pages[page as usize].loading = true;
        let (superblock, _) = self.geometry.locate(psn);
        self.blocks.pin(superblock);
        // A host may wait for it, and it is a read.
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
            state.loading = false;
            let version = state.durable.expect("what is loaded is durable");
            let image = flash.backend.media().image(page, version);
            assert!(image.is_some(), "version {version} of translation page {page} is nowhere");
            map_client.loaded(flash.now, page, image);
        }
        self.unpin(flash, owners, self.geometry.locate(slot.psn).0);
    }

    /// The map unit wants a translation page stored.
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

    /// A translation page has been programmed: the directory leads to it, and the map unit hears of it.
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

    /// There is no room for a translation page, and there will be none: it stays in RAM. From now on the drive takes
    /// no more writes, so that nothing that it has acknowledged is lost.
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

    /// A store has come to its end.
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
        if wanted {
            self.load_page(flash, page);
        }
    }

    /// True if there is a translation page that has no place on flash any more.
    pub(super) fn is_out_of_pages(&self) -> bool {
        matches!(&self.mapping, Mapping::MapUnit(map_client) if !map_client.kept.is_empty())
    }

    /// True while translation pages are out of date: the map unit does not work before they have been written.
    pub(crate) fn is_rewriting(&self) -> bool {
        self.stale_pages() > 0
    }

    /// Translation pages that recovery found to be out of date.
    pub(crate) fn stale_pages(&self) -> u32 {
        match &self.mapping {
            Mapping::Ram(_) => 0,
            Mapping::MapUnit(map_client) => map_client.stale.len() as u32,
        }
    }

    /// Writes the translation pages that recovery found to be out of date.
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

    /// The last that can be done before a translation page finds no room: its pool, or another, takes a superblock
    /// from data, and be it the one that data would be collected into. True if there is more room now.
    pub(super) fn make_room_for_pages(&mut self, lpn: Lpn) -> bool {
        let home = self.home_of(lpn.get() - self.units) - self.groups;
        [1, 0].into_iter().any(|keep| (0..self.groups).any(|i| self.lend_block((home + i) % self.groups, keep)))
            || self.found_pool_of_pages()
    }

    /// Has translation pages in a plane group that had none, if there is one with free superblocks enough.
    fn found_pool_of_pages(&mut self) -> bool {
        let without = (0..self.groups).filter(|group| self.pools[(self.groups + group) as usize].quota == 0);
        let richest = without.max_by_key(|group| (self.pools[*group as usize].free.len(), std::cmp::Reverse(*group)));
        let Some(group) = richest.filter(|group| self.pools[*group as usize].free.len() > RESERVED + 1) else {
            return false;
        };
        self.pools[(self.groups + group) as usize].quota = RESERVED + 1;
        (0..=RESERVED).for_each(|_| self.hand_over(group));
        true
    }

    /// A pool of translation pages takes a free superblock from that of data beside it if it has too few and there are
    /// more than are to be kept. True if it does.
    pub(super) fn lend_block(&mut self, group: u32, keep: u32) -> bool {
        let Some(pool) = self.pools.get(self.groups as usize + group as usize) else { return false };
        let lacks = pool.usable < pool.quota && self.pools[group as usize].free.len() > keep;
        if lacks {
            self.hand_over(group);
        }
        lacks
    }

    /// A free superblock of a pool of data goes to that of translation pages beside it.
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
    fn a_pool_of_pages_that_lacks_a_superblock_takes_one_from_the_data_beside_it() {
        // Two dies with a translation page each.
        let text = "flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 80, pages = 16, planes = 1 }\n\
                    [ftl]\nkind = 'page'\nover-provisioning = '60%'\nmap = { kind = 'uncached' }";
        for (lacking, page) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut rig = Rig::new(text);
            let AnyFtl::Page(ftl) = &mut rig.ftl else { panic!("a page map") };
            assert_eq!((ftl.groups, ftl.pools.len()), (2, 4));
            let page = Lpn::new(ftl.units + page);
            assert!(!ftl.make_room_for_pages(page), "both have what they need");
            let pool = 2 + lacking;
            ftl.pools[pool].usable -= 1;
            let free = ftl.pools[lacking].free.len();
            assert!(ftl.make_room_for_pages(page));
            assert_eq!((ftl.pools[pool].usable, ftl.pools[lacking].free.len()), (ftl.pools[pool].quota, free - 1));
            assert!(!ftl.make_room_for_pages(page), "and no more");
        }
    }
}
