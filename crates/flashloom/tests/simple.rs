//! The layer for user-written FTLs (`SimpleFtl`).

use flashloom::ftl::register_simple_ftl;
use flashloom::ftl::simple::{CommandEnd, SimpleCommands, SimpleDrive, SimpleFtl, SimpleSite, SimpleWrite};
use flashloom::units::{Lpn, Psn, SuperblockId};

/// An FTL whose writes and copies share one open block. Each write is followed by a copy from another die, if there is one. It
/// never collects garbage.
#[derive(Clone, Debug)]
struct SharedBlockFtl {
    pages: u32,
    dies: u32,
    die_blocks: u32,
    map: Vec<Option<Psn>>,
    next: u32,
}

impl SharedBlockFtl {
    fn take(&mut self) -> Psn {
        let (block, page) = (self.next / self.pages, self.next % self.pages);
        self.next += 1;
        Psn::new(((block % self.dies) * self.die_blocks + block / self.dies) * self.pages + page)
    }

    const fn die(&self, psn: Psn) -> u32 {
        psn.get() / self.pages / self.die_blocks
    }
}

impl SimpleFtl for SharedBlockFtl {
    fn mount(drive: &SimpleDrive<'_>) -> Self {
        assert_eq!((drive.name, drive.erases(SuperblockId::new(0))), ("shared", 0));
        assert!(!drive.is_failing(SuperblockId::new(0)));
        let geometry = drive.geometry;
        let (pages, dies) = (geometry.superblock_slots(), geometry.die_count());
        Self { pages, dies, die_blocks: geometry.superblock_count() / dies, map: drive.newest(), next: 0 }
    }

    fn place(&self, lpn: Lpn) -> Option<Psn> {
        self.map[lpn.index()]
    }

    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite) {
        let (old, to) = (self.map[write.lpn().index()], self.take());
        flash.program(write, to, old);
        let source = self.map.iter().flatten().copied().find(|psn| self.die(*psn) != self.die(to));
        if let Some(from) = source {
            flash.copy(from, self.take());
        }
    }

    fn discard(&mut self, lpn: Lpn) {
        self.map[lpn.index()] = None;
    }

    fn done(&mut self, _: &mut SimpleCommands<'_, '_>, done: CommandEnd) {
        match done {
            CommandEnd::Written { lpn, to } => self.map[lpn.index()] = Some(to),
            CommandEnd::Copied { lpn, from, to } if self.map[lpn.index()] == Some(from) => {
                self.map[lpn.index()] = Some(to)
            }
            _ => (),
        }
    }

    /// Half of the blocks are for copies.
    fn spare_blocks(site: &SimpleSite<'_>) -> u32 {
        assert_eq!(site.name, "shared");
        site.geometry.superblock_count() / 2
    }
}

#[test]
fn a_copy_does_not_overtake_an_earlier_page_of_its_block() {
    register_simple_ftl::<SharedBlockFtl>("shared", "1").expect("a new name");
    let text = |capacity: &str| {
        format!(
            r"name = 'own'
flash = {{ part = 'K9K8G08U0M', channels = 2, chips = 2, blocks = 128, pages = 32, planes = 1 }}
ftl = {{ kind = 'own:shared', capacity = '{capacity}' }}"
        )
    };
    let fault = flashloom::Device::parse(text("17MiB")).expect_err("it has 32 MiB of flash, and keeps half of it");
    assert!(fault.to_string().contains("the FTL keeps 256 to itself"), "{fault}");
    let device = flashloom::Device::parse(text("16MiB")).expect("a drive");
    let writes = r"name = 'writes'
requests = 24
arrivals = { kind = 'closed', depth = 1 }
[[stream]]
reads = '0%'
sizes = [{ size = '128KiB' }]
address = { pattern = 'sequential' }
";
    let writes = flashloom::WorkloadFile::parse(writes).expect("a workload");
    let session = flashloom::Session::new(&device).verify(true);
    let flow = session.open(&writes, &flashloom::TraceOptions::default()).expect("it opens");
    let summary = session.flow(flow).run().expect("no page overtakes another").first().summary();
    assert!(summary.write_amplification.is_some_and(|waf| waf > 1.5), "{summary:?}");
}
