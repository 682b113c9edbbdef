//! A doubly linked list over the numbers of log blocks. The first log block is found, and any log block is moved or
//! removed, in one step.

use base::steps;

/// The number of a log block, which is used again after the log block's merge.
pub(super) type LogId = u32;

const NONE: LogId = LogId::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct ListLink {
    before: LogId,
    after: LogId,
}

/// Log blocks in an order that the caller decides by appending.
#[derive(Clone, Debug)]
pub(super) struct Order {
    links: Vec<ListLink>,
    first: LogId,
    last: LogId,
}

impl Order {
    pub(super) const fn new() -> Self {
        Self { links: Vec::new(), first: NONE, last: NONE }
    }

    /// Appends a log block that is not in the list.
    pub(super) fn append(&mut self, id: LogId) {
        if self.links.len() <= id as usize {
            self.links.resize(id as usize + 1, ListLink { before: NONE, after: NONE });
        }
        self.links[id as usize] = ListLink { before: self.last, after: NONE };
        match self.last {
            NONE => self.first = id,
            last => self.links[last as usize].after = id,
        }
        self.last = id;
    }

    /// Removes a log block that is in the list.
    pub(super) fn remove(&mut self, id: LogId) {
        let ListLink { before, after } = self.links[id as usize];
        match before {
            NONE => self.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.links[after as usize].before = before,
        }
    }

    /// Moves a log block of the list to its end.
    #[inline]
    pub(super) fn move_to_end(&mut self, id: LogId) {
        if self.last != id {
            self.remove(id);
            self.append(id);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = LogId> + '_ {
        let step = |id: LogId| (id != NONE).then_some(id);
        std::iter::successors(step(self.first), move |id| step(self.links[*id as usize].after))
            .inspect(|_| steps::count())
    }

    /// Bytes of the list's own table for a log block.
    pub(super) const fn memory_of_log() -> u64 {
        size_of::<ListLink>() as u64
    }

    /// Bytes that the table takes now.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        size_of_val(&*self.links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_list_keeps_the_order_of_a_plain_vector(steps in prop::collection::vec((0..8u32, 0..3u32), 0..60)) {
            let (mut order, mut model) = (Order::new(), Vec::new());
            for (id, step) in steps {
                match (step, model.contains(&id)) {
                    (0, false) => order.append(id),
                    (1, true) => order.move_to_end(id),
                    (2, true) => order.remove(id),
                    _ => continue,
                }
                model.retain(|other| *other != id);
                if step < 2 {
                    model.push(id);
                }
                prop_assert_eq!(order.iter().collect::<Vec<_>>(), model.clone());
            }
        }
    }
}
