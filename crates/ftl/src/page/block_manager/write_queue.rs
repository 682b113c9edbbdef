//! The writes of one pool on their way to the flash.
//!
//! A write waits for space, then joins the program under assembly of its stream, whose list goes to the flash at the end of
//! the request, or later.

use std::collections::VecDeque;

use base::engine::Handle;
use flash::backend::{Command, List};
use flash::nand::{Mode, Stream};

use crate::page::streams::StreamCount;
use crate::port::PageWrite;

/// A program under assembly.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Assembly {
    pub(in crate::page) command: Handle<Command>,
    /// The offset of its first slot, and the end of the slots that the program may cover. Further rows of the word line
    /// may follow.
    pub(in crate::page) start: u32,
    pub(in crate::page) end: u32,
    pub(in crate::page) mode: Mode,
}

/// The list of a stream in a pool, and its program under assembly.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::page) struct OpenList {
    pub(in crate::page) list: Option<Handle<List>>,
    pub(in crate::page) program: Option<Assembly>,
    /// True if the list and the program wait for the data of later requests.
    pub(in crate::page) held: bool,
    /// The pool's count of ended lists when the wait began.
    pub(in crate::page) held_at: u32,
}

/// The writes of a pool that are not on flash.
#[derive(Clone, Debug)]
pub(in crate::page) struct WriteQueue {
    /// Writes that wait for a free superblock.
    pub(in crate::page) waiting: VecDeque<PageWrite>,
    /// The NVM set of the latest write.
    pub(in crate::page) set: u32,
    /// The stream whose writes the pool takes now, and to which `open` belongs.
    pub(in crate::page) stream: Stream,
    pub(in crate::page) open: OpenList,
    /// The open lists of the other streams of host data; empty if there is one stream.
    pub(in crate::page) others: Box<[OpenList]>,
    /// Lists in progress.
    pub(in crate::page) under_way: u32,
    /// Lists that have ended, modulo 2^32; counted only with several streams.
    pub(in crate::page) ended: u32,
}

const fn others(streams: StreamCount) -> usize {
    if streams.host > 1 { streams.host as usize } else { 0 }
}

impl WriteQueue {
    pub(in crate::page) fn new(streams: StreamCount) -> Self {
        Self {
            waiting: VecDeque::new(),
            set: 0,
            stream: Stream::HOST,
            open: OpenList::default(),
            others: vec![OpenList::default(); others(streams)].into(),
            under_way: 0,
            ended: 0,
        }
    }

    pub(in crate::page) const fn memory(streams: StreamCount) -> u64 {
        (others(streams) * size_of::<OpenList>()) as u64
    }

    /// Makes `stream`, which is of host data, the present one.
    #[inline]
    pub(in crate::page) fn turn_to(&mut self, stream: Stream) {
        if self.stream != stream {
            self.change_stream(stream);
        }
    }

    #[inline(never)]
    fn change_stream(&mut self, stream: Stream) {
        self.others[usize::from(self.stream.number())] = self.open;
        self.open = std::mem::take(&mut self.others[usize::from(stream.number())]);
        self.stream = stream;
    }

    /// True if a program of a stream of host data is under assembly.
    pub(in crate::page) fn assembles(&self, stream: Stream) -> bool {
        let other = || self.others.get(usize::from(stream.number())).is_some_and(|other| other.program.is_some());
        let program = if stream == self.stream { self.open.program.is_some() } else { other() };
        stream.is_host() && program
    }

    /// The lists and programs under assembly of all streams, the present stream first.
    pub(in crate::page) fn each_list(&self) -> impl Iterator<Item = OpenList> {
        [self.open].into_iter().chain(self.others.iter().copied())
    }
}
