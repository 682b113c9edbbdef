//! Tests that `memory` of a backend is the size of its tables.

use super::*;

#[test]
fn the_backend_takes_the_memory_it_predicts() {
    let part = Part::preset("dirik-2009").expect("a preset");
    // Rows have eight slots of four sectors, and each die has a program under way. The arrays have fewer or more dies
    // than `memory` assumes at least. Without cache mode reads may end quietly.
    for (channels, one_shot, cache) in [(2, 1, true), (2, 3, true), (70, 1, true), (2, 1, false)] {
        let geometry = Geometry::new(channels, 2, 1, 2, 2, 16, 66, 4, 4).expect("an array");
        let mut timing = Timing::new(&part, &geometry, Rate::new(25_000_000), cache).expect("a valid part");
        timing.one_shot = one_shot;
        for (controllers, transfer) in [
            (Controllers::None, Transfer::Bus),
            (Controllers::PerDie, Transfer::Bus),
            (Controllers::PerChannel, Transfer::Controller),
            (Controllers::Shared(3), Transfer::Controller),
            (Controllers::Background(3), Transfer::Bus),
        ] {
            let config = Config { controllers, transfer, ..Config::new(timing.clone()) };
            let mut bench = Bench::with_content(SectorKind::Stamp, geometry.clone(), &config, 1);
            let commands = geometry.die_count().max(64);
            for tag in 0..commands {
                let list = bench.backend.open_list(Class::Other, tag);
                let target = Target { superblock: SuperblockId::new(tag), offset: 0 };
                bench.backend.add_program(list, Cause::Host, target, Stream::HOST);
            }
            let backend = &bench.backend;
            let tables = size_of_val(&*backend.dies) + size_of_val(&*backend.channels) + backend.controllers.taken();
            let quiet: usize = backend.channels.iter().map(|channel| channel.quiet.taken()).sum();
            let tables = tables + quiet;
            let lists = commands as usize * (size_of::<Command>() + size_of::<List>());
            let taken = tables + lists + size_of_val(&*backend.table.slots) + backend.payload.taken();
            // The description has a second copy of the timing tables.
            let said = Backend::memory(&geometry, SectorKind::Stamp, &config);
            assert_eq!(said, taken as u64 + 2 * config.timing.memory(), "{channels}, {one_shot}, {controllers:?}");
        }
    }
}
