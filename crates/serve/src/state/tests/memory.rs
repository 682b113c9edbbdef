//! Files in memory. The process that writes them dies at a given write, which takes effect in part or not at all.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use base::engine::Rng;
use flash::nand::Sector;
use ssd::Ssd;

use crate::state::folder::{Folder, Raw};
use crate::state::{Durability, State};

/// Bytes of a page of the system's cache: a kill leaves each page of a write whole or untouched.
const PAGE: u64 = 4096;

#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryFiles {
    /// The index of the file of each name.
    names: BTreeMap<String, usize>,
    pub(super) files: Vec<Vec<u8>>,
    /// Changes of files so far.
    pub(crate) writes: u64,
    /// The changes before each synchronisation, and its files.
    pub(crate) synced: Vec<(u64, Vec<String>)>,
    /// The number of the change in which the process dies, and the seed that draws the part of the change which takes effect.
    dies_at: Option<(u64, u64)>,
    is_dead: bool,
    /// A planted bug: the name of a file whose last write is made late, and the content of the file before that write.
    late: Option<(String, Vec<u8>)>,
}

impl MemoryFiles {
    pub(super) fn file(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self.files[self.names[name]]
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Counts a change. Returns the seed if the process dies in this change.
    fn change(&mut self) -> io::Result<Option<u64>> {
        if self.is_dead {
            return Err(io::Error::other("the process is dead"));
        }
        let last = self.dies_at.filter(|(at, _)| *at == self.writes).map(|(_, seed)| seed);
        self.writes += 1;
        self.is_dead = last.is_some();
        Ok(last)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<Mutex<MemoryFiles>>);

impl Memory {
    pub(crate) fn lock(&self) -> MutexGuard<'_, MemoryFiles> {
        self.0.lock().expect("no panic")
    }

    /// Moves the flash of a drive into these files.
    pub(crate) fn create<S: Sector + Send + Sync>(&self, ssd: &mut Ssd<S>, durability: Durability) -> State {
        State::create_in(self.folder(), ssd, durability).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn folder(&self) -> Arc<dyn Folder> {
        Arc::new(self.clone())
    }

    /// A copy of the files, in a process that lives.
    pub(super) fn copy(&self) -> Self {
        let mut files = MemoryFiles { dies_at: None, is_dead: false, synced: Vec::new(), ..self.lock().clone() };
        if let Some((name, before)) = files.late.take() {
            *files.file(&name) = before;
        }
        Self(Arc::new(Mutex::new(files)))
    }

    /// Plants a bug: each write of this file is made only when the next write is due.
    pub(super) fn write_late(&self, name: &str) {
        let mut files = self.lock();
        let before = files.file(name).clone();
        files.late = Some((name.to_owned(), before));
    }

    /// Lets the process die `writes` changes from now.
    pub(super) fn die_after(&self, writes: u64, seed: u64) {
        let mut files = self.lock();
        files.dies_at = Some((files.writes + writes, seed));
    }
}

#[derive(Debug)]
struct OneFile {
    all: Memory,
    number: usize,
}

impl Folder for Memory {
    fn open(&self, name: &str) -> io::Result<Arc<dyn Raw>> {
        let mut files = self.lock();
        let new = files.files.len();
        let number = *files.names.entry(name.to_owned()).or_insert(new);
        if number == new {
            files.files.push(Vec::new());
        }
        Ok(Arc::new(OneFile { all: self.clone(), number }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.lock();
        if files.change()?.is_none_or(|seed| seed.is_multiple_of(2)) {
            let number = files.names.remove(from).expect("it exists");
            files.names.insert(to.to_owned(), number);
        }
        if files.is_dead { Err(io::Error::other("it dies")) } else { Ok(()) }
    }

    fn sync(&self, names: &[String]) -> io::Result<()> {
        let mut files = self.lock();
        let writes = files.writes;
        files.synced.push((writes, names.to_vec()));
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("state").join(name)
    }
}

impl Raw for OneFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.all.lock().files[self.number].len() as u64)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        let mut files = self.all.lock();
        match files.change()? {
            None => files.files[self.number].resize(size as usize, 0),
            Some(_) => return Err(io::Error::other("it dies")),
        }
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let files = self.all.lock();
        let held = files.files[self.number].get(at as usize..at as usize + into.len());
        into.copy_from_slice(held.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.all.lock();
        let last = files.change()?;
        let end = at + bytes.len() as u64;
        let until = last.map_or(end, |seed| {
            let mut rng = Rng::stream(seed, "serve.killed");
            let pages = end.div_ceil(PAGE) - at / PAGE;
            match rng.below(pages + 1) {
                0 => at,
                n => end.min((at / PAGE + n) * PAGE),
            }
        });
        if let Some((name, _)) = files.late.clone().filter(|(name, _)| files.names[name] == self.number) {
            let before = files.file(&name).clone();
            files.late = Some((name, before));
        }
        let file = &mut files.files[self.number];
        file.resize(file.len().max(until as usize), 0);
        file[at as usize..until as usize].copy_from_slice(&bytes[..(until - at) as usize]);
        if last.is_some() { Err(io::Error::other("it dies")) } else { Ok(()) }
    }

    fn punch(&self, at: u64, len: u64) -> io::Result<()> {
        let mut files = self.all.lock();
        let dies = files.change()?.is_some();
        files.files[self.number][at as usize..(at + len) as usize].fill(0);
        if dies { Err(io::Error::other("it dies")) } else { Ok(()) }
    }
}
