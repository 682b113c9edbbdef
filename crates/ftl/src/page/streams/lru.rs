//! The stream by lists of recently written mapping units (Chang and Kuo: An Adaptive Striping Architecture for Flash
//! Memory Storage Systems of Embedded Systems, RTAS 2002, with a hot list and a candidate list).
//!
//! * A unit that is in no list enters the last list, that of the candidates. If it is full, its tail is forgotten.
//! * A write of a unit in a list moves the unit to the head of the list before. If that list is full, its tail moves
//!   back to the list that the unit has left.
//! * Chang and Kuo have two lists; three or more tell more than two classes apart.

use base::units::Lpn;

use super::{HostWrite, StreamPolicy, spread};

/// An index that stands for no node.
const NONE: u32 = u32::MAX;

/// A mapping unit in a list.
#[derive(Clone, Copy, Debug)]
struct Node {
    lpn: Lpn,
    level: u8,
    /// The neighbours in the list: the one towards the head, and the one towards the tail.
    before: u32,
    behind: u32,
    /// The next node of the same hash bucket.
    chain: u32,
}

/// A list of nodes, the most recently written first.
#[derive(Clone, Copy, Debug)]
struct Level {
    head: u32,
    tail: u32,
    units: u32,
    most: u32,
}

/// The policy by lists of recently written mapping units.
#[derive(Clone, Debug)]
pub(super) struct Lru {
    levels: Vec<Level>,
    nodes: Vec<Node>,
    /// The first node of each hash bucket.
    buckets: Vec<u32>,
}

impl Lru {
    /// Empty lists for these numbers of mapping units, the hottest list first.
    pub(super) fn new(levels: &[u32]) -> Self {
        let nodes = levels.iter().map(|units| *units as usize).sum::<usize>();
        Self {
            levels: levels.iter().map(|most| Level { head: NONE, tail: NONE, units: 0, most: *most }).collect(),
            nodes: Vec::with_capacity(nodes),
            buckets: vec![NONE; nodes.next_power_of_two()],
        }
    }

    pub(super) fn memory(levels: &[u32]) -> u64 {
        let nodes = levels.iter().map(|units| *units as usize).sum::<usize>();
        let buckets = nodes.next_power_of_two() * size_of::<u32>();
        (size_of::<Level>() * levels.len() + size_of::<Node>() * nodes + buckets) as u64
    }

    const fn bucket(&self, lpn: Lpn) -> usize {
        spread(lpn.get() as u64) as usize & (self.buckets.len() - 1)
    }

    fn find(&self, lpn: Lpn) -> Option<u32> {
        let mut at = self.buckets[self.bucket(lpn)];
        while at != NONE && self.nodes[at as usize].lpn != lpn {
            at = self.nodes[at as usize].chain;
        }
        (at != NONE).then_some(at)
    }

    fn detach(&mut self, at: u32) {
        let Node { level, before, behind, .. } = self.nodes[at as usize];
        let list = &mut self.levels[usize::from(level)];
        list.units -= 1;
        match before {
            NONE => list.head = behind,
            _ => self.nodes[before as usize].behind = behind,
        }
        match behind {
            NONE => list.tail = before,
            _ => self.nodes[behind as usize].before = before,
        }
    }

    /// Puts a node at the head of a list.
    fn attach(&mut self, at: u32, level: u8) {
        let list = &mut self.levels[usize::from(level)];
        let head = std::mem::replace(&mut list.head, at);
        list.units += 1;
        match head {
            NONE => list.tail = at,
            _ => self.nodes[head as usize].before = at,
        }
        let node = &mut self.nodes[at as usize];
        (node.level, node.before, node.behind) = (level, NONE, head);
    }

    /// Returns a node for another unit. If the list of candidates is full, its tail gives up its node.
    fn vacant(&mut self, lpn: Lpn) -> u32 {
        let last = self.levels.len() - 1;
        let candidates = self.levels[last];
        if candidates.units < candidates.most {
            self.nodes.push(Node { lpn, level: last as u8, before: NONE, behind: NONE, chain: NONE });
            return self.nodes.len() as u32 - 1;
        }
        let at = candidates.tail;
        self.detach(at);
        let Node { lpn: forgotten, chain, .. } = self.nodes[at as usize];
        let bucket = self.bucket(forgotten);
        match self.buckets[bucket] {
            first if first == at => self.buckets[bucket] = chain,
            first => {
                let mut link = first;
                while self.nodes[link as usize].chain != at {
                    link = self.nodes[link as usize].chain;
                }
                self.nodes[link as usize].chain = chain;
            }
        }
        self.nodes[at as usize].lpn = lpn;
        at
    }

    /// Notes a write. Returns the list in which the unit is now.
    fn note(&mut self, lpn: Lpn) -> u8 {
        let last = self.levels.len() as u8 - 1;
        let Some(at) = self.find(lpn) else {
            let at = self.vacant(lpn);
            let bucket = self.bucket(lpn);
            self.nodes[at as usize].chain = std::mem::replace(&mut self.buckets[bucket], at);
            self.attach(at, last);
            return last;
        };
        let from = self.nodes[at as usize].level;
        let to = from.saturating_sub(1);
        self.detach(at);
        let list = self.levels[usize::from(to)];
        if list.units == list.most {
            self.detach(list.tail);
            self.attach(list.tail, from);
        }
        self.attach(at, to);
        to
    }
}

impl StreamPolicy for Lru {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        self.note(write.lpn)
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_of;
    use super::*;
    use proptest::prelude::*;

    impl Lru {
        fn list(&self, level: usize) -> Vec<u32> {
            let node = |at| (at != NONE).then_some(at);
            let next = |at: &u32| node(self.nodes[*at as usize].behind);
            let all = std::iter::successors(node(self.levels[level].head), next);
            all.map(|at| self.nodes[at as usize].lpn.get()).collect()
        }
    }

    #[test]
    fn a_candidate_that_is_written_again_is_hot_until_others_push_it_out() {
        let mut policy = Lru::new(&[2, 3]);
        let mut write = |lpn| policy.stream(&write_of(lpn, 0));
        assert_eq!([1, 2, 3, 1, 2, 2].map(&mut write), [1, 1, 1, 0, 0, 0]);
        assert_eq!((policy.list(0), policy.list(1)), (vec![2, 1], vec![3]));
        // The third hot unit pushes the tail of the hot list back to the candidates.
        assert_eq!(policy.stream(&write_of(3, 0)), 0);
        assert_eq!((policy.list(0), policy.list(1)), (vec![3, 2], vec![1]));
        assert_eq!([5, 6, 7].map(|lpn| policy.stream(&write_of(lpn, 0))), [1; 3]);
        assert_eq!((policy.list(0), policy.list(1)), (vec![3, 2], vec![7, 6, 5]), "unit 1 is forgotten");
        assert_eq!(policy.stream(&write_of(1, 0)), 1);
    }

    proptest! {
        /// Compares the lists with vectors that are searched from end to end.
        #[test]
        fn the_lists_are_those_of_a_model(
            levels in prop::collection::vec(1..6_u32, 2..5),
            writes in prop::collection::vec(0..20_u32, 0..200),
        ) {
            let mut policy = Lru::new(&levels);
            let last = levels.len() - 1;
            let mut model: Vec<Vec<u32>> = vec![Vec::new(); levels.len()];
            for lpn in writes {
                let found = model.iter().position(|list| list.contains(&lpn));
                let to = found.map_or(last, |level| level.saturating_sub(1));
                if let Some(from) = found {
                    model[from].retain(|other| *other != lpn);
                }
                model[to].insert(0, lpn);
                if model[to].len() > levels[to] as usize {
                    let tail = model[to].pop().expect("it is too long");
                    if let Some(from) = found {
                        model[from].insert(0, tail);
                    }
                }
                prop_assert_eq!(usize::from(policy.stream(&write_of(lpn, 0))), to);
                for (level, list) in model.iter().enumerate() {
                    prop_assert_eq!(&policy.list(level), list);
                }
            }
        }
    }
}
