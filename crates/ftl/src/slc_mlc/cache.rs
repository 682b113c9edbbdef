//! The mapping cache: logical blocks whose pages the controller knows (Chang, Sec. 3.5, second-level mapping).
//!
//! The simulator always knows them; the cache says when the controller would have to look at the spare areas of a chain
//! first. The block that was looked up longest ago goes.

const NONE: u32 = u32::MAX;

/// Logical blocks in the order of their use.
#[derive(Clone, Debug)]
pub(super) struct MapCache {
    /// The neighbours of each block in the order; `NONE` for both if it is not in the cache and at the ends.
    links: Vec<[u32; 2]>,
    newest: u32,
    oldest: u32,
    count: u32,
    room: u32,
}

const NEWER: usize = 0;
const OLDER: usize = 1;

impl MapCache {
    pub(super) fn new(blocks: u32, room: u32) -> Self {
        Self { links: vec![[NONE; 2]; blocks as usize], newest: NONE, oldest: NONE, count: 0, room }
    }

    fn holds(&self, lba: u32) -> bool {
        self.links[lba as usize] != [NONE; 2] || self.newest == lba
    }

    /// Looks a logical block up, and takes it in. True if it was there.
    pub(super) fn look_up(&mut self, lba: u32) -> bool {
        if self.newest == lba {
            return true;
        }
        let hit = self.holds(lba);
        if hit {
            self.unlink(lba);
        } else if self.count == self.room {
            self.unlink(self.oldest);
        }
        self.links[lba as usize] = [NONE, self.newest];
        match self.newest {
            NONE => self.oldest = lba,
            newest => self.links[newest as usize][NEWER] = lba,
        }
        self.newest = lba;
        self.count += 1;
        hit
    }

    fn unlink(&mut self, lba: u32) {
        let [newer, older] = std::mem::replace(&mut self.links[lba as usize], [NONE; 2]);
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize][OLDER] = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize][NEWER] = newer,
        }
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_keeps_what_was_used_last(steps in prop::collection::vec(0..12u32, 1..200), room in 1..6u32) {
            let mut cache = MapCache::new(12, room);
            let mut model: Vec<u32> = Vec::new();
            for lba in steps {
                let at = model.iter().position(|held| *held == lba);
                prop_assert_eq!(cache.look_up(lba), at.is_some());
                if let Some(at) = at {
                    model.remove(at);
                } else if model.len() == room as usize {
                    model.remove(0);
                }
                model.push(lba);
            }
        }
    }
}
