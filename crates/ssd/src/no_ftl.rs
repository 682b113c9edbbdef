//! Stands in for the FTL of a device between two mounts.
//!
//! The old FTL is dropped before the new one is built, because the tables of a large drive are a third of its memory.

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::List;
use ftl::{Flash, Ftl, Owner, Owners, PageRead, PageWrite};

/// An FTL that panics at every call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoFtl;

impl Ftl for NoFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(*self)
    }

    fn units(&self) -> u32 {
        0
    }

    fn latest_version(&self) -> u32 {
        0
    }

    fn next_version(&mut self) -> u32 {
        unreachable!("no FTL is mounted")
    }

    fn read(&mut self, _: &mut Flash<'_>, _: &mut dyn Owners, _: PageRead, _: Lpn) -> bool {
        unreachable!("no FTL is mounted")
    }

    fn write(&mut self, _: &mut Flash<'_>, _: &mut dyn Owners, _: PageWrite) {
        unreachable!("no FTL is mounted")
    }

    fn discard(&mut self, _: Time, _: Owner, _: Lpn) -> bool {
        unreachable!("no FTL is mounted")
    }

    fn finished(&mut self, _: &mut Flash<'_>, _: &mut dyn Owners, _: Handle<List>) {
        unreachable!("no FTL is mounted")
    }
}
