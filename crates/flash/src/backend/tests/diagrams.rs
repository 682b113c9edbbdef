//! The timing diagrams of Seong et al., Figs. 5, 7 and 8, as the backend executes them.
//!
//! Not to scale, as in the paper: a page takes five columns of 10 us, tR two, tPROG 20, a command one column if it is
//! drawn, an erase 30. Capital letters are background controllers; `for` is the controller that has the bus. Our bus is
//! all buses of a superchip, and a die all its chips that work in step. Status checks cost no time here.

use super::hydra::{FORWARDED, Hydra, block_of};
use super::lanes::lanes;
use super::*;

const COLUMN: Span = Span::from_us(10);

fn hydra(chips: u32, hold: bool, command: Span) -> Hydra {
    Hydra {
        chips,
        // 8 KB in 50 us, the rounded time of the paper.
        lane: Rate::new(40_960_000),
        spare: false,
        command,
        erase: Span::from_us(300),
        arbitration: Arbitration { hold, ..FORWARDED },
        ..Hydra::default()
    }
}

fn drawn(bench: &mut Bench, dies: &[u32]) -> String {
    bench.run();
    lanes(bench.phases(), dies, Time::ZERO, COLUMN)
}

fn sequential_read(chips: u32) -> String {
    let hydra = hydra(chips, false, Span::ZERO);
    let mut bench = hydra.build();
    bench.phases().clear();
    let list = bench.backend.open_list(Class::HostRead, 0);
    for row in 0..4 / chips {
        hydra.dies(0).for_each(|die| _ = bench.read(list, die, row));
    }
    bench.submit(list);
    drawn(&mut bench, &[0, 1][..chips as usize])
}

#[track_caller]
fn same(drawn: &str, expected: &[&str]) {
    let expected: String = expected.iter().flat_map(|line| [line, "\n"]).collect();
    assert!(drawn == expected, "drawn:\n{drawn}expected:\n{expected}");
}

#[test]
fn figure_5a_the_bus_waits_for_each_superpage() {
    same(
        &sequential_read(1),
        &[
            "bus   ..ttttt..ttttt..ttttt..ttttt",
            "for   ..00000..00000..00000..00000",
            "die 0 rr.....rr.....rr.....rr.....",
        ],
    );
}

#[test]
fn figure_5b_two_chips_keep_the_bus_busy() {
    same(
        &sequential_read(2),
        &[
            "bus   ..tttttttttttttttttttt",
            "for   ..00000111110000011111",
            "die 0 rr.....rr.............",
            "die 1 rr..........rr........",
        ],
    );
}

/// Controller 1 erases, controller 2 programs, controller 3 reads, and controller 4 merges a page with new sectors;
/// each works on a superchip of its own.
fn four_units(hold: bool) -> String {
    let mut bench = hydra(1, hold, COLUMN).build();
    bench.phases().clear();
    let list = bench.background(1);
    bench.erase(list, 0, 1);
    bench.submit(list);
    let list = bench.background(2);
    bench.program(list, 1, 1, 0);
    bench.submit(list);
    let list = bench.background(3);
    let read = bench.backend.add_read(list, Cause::Merge, block_of(2, 0));
    let psn = bench.psn(2, 0, 0);
    bench.backend.push_slot(read, Slot { psn, ..Slot::default() });
    bench.submit(list);
    let list = bench.background(4);
    let command = bench.copy(list, 3, 1, 0);
    bench.backend.set_sectors(command, 16);
    bench.submit(list);
    drawn(&mut bench, &[0, 1, 2, 3])
}

#[test]
fn figure_7a_a_held_bus_serves_one_operation_at_a_time() {
    same(
        &four_units(true),
        &[
            "bus   C==============================TTTTTT====================C==TTTTTC==TTTTTT====================",
            "for   0000000000000000000000000000000111111111111111111111111112222222233333333333333333333333333333",
            "die 0 .EEEEEEEEEEEEEEEEEEEEEEEEEEEEEE...............................................................",
            "die 1 .....................................PPPPPPPPPPPPPPPPPPPP.....................................",
            "die 2 ..........................................................RR..................................",
            "die 3 ..................................................................RR......PPPPPPPPPPPPPPPPPPPP",
        ],
    );
}

#[test]
fn figure_7b_a_free_bus_lets_all_controllers_work() {
    same(
        &four_units(false),
        &[
            "bus   CTTTTTTCC.TTTTTTTTTTT....................",
            "for   011111123.22222333333....................",
            "die 0 .EEEEEEEEEEEEEEEEEEEEEEEEEEEEEE..........",
            "die 1 .......PPPPPPPPPPPPPPPPPPPP..............",
            "die 2 ........RR...............................",
            "die 3 .........RR..........PPPPPPPPPPPPPPPPPPPP",
        ],
    );
}

/// Four controllers program two pages each, and a host read of a die comes in between.
fn preempted(die: u32, column: u64) -> String {
    let mut bench = hydra(1, false, COLUMN).build();
    bench.phases().clear();
    for unit in 0..4 {
        let list = bench.background(unit);
        (0..2).for_each(|row| bench.program(list, unit, 1, row));
        bench.submit(list);
    }
    bench.until(Time::ZERO + COLUMN * column);
    bench.host_read(9, die, 0, 16);
    drawn(&mut bench, &[0, 1, 2, 3, 5])
}

#[test]
fn figure_8a_without_conflict_a_host_read_waits_for_the_primitive_under_way() {
    same(
        &preempted(5, 28),
        &[
            "bus   TTTTTTTTTTTTTTTTTTTTTTTT..TTTTTTcTTTTTTtttttTTTTTTTTTTTT....................",
            "for   000000111111222222333333..000000511111155555222222333333....................",
            "die 0 ......PPPPPPPPPPPPPPPPPPPP......PPPPPPPPPPPPPPPPPPPP........................",
            "die 1 ............PPPPPPPPPPPPPPPPPPPP.......PPPPPPPPPPPPPPPPPPPP.................",
            "die 2 ..................PPPPPPPPPPPPPPPPPPPP............PPPPPPPPPPPPPPPPPPPP......",
            "die 3 ........................PPPPPPPPPPPPPPPPPPPP............PPPPPPPPPPPPPPPPPPPP",
            "die 5 .................................rr.........................................",
        ],
    );
}

#[test]
fn figure_8b_with_conflict_a_host_read_waits_for_the_operation_under_way() {
    same(
        &preempted(3, 28),
        &[
            "bus   TTTTTTTTTTTTTTTTTTTTTTTT..TTTTTTTTTTTTTTTTTTc..tttttTTTTTT....................",
            "for   000000111111222222333333..0000001111112222223..33333333333....................",
            "die 0 ......PPPPPPPPPPPPPPPPPPPP......PPPPPPPPPPPPPPPPPPPP..........................",
            "die 1 ............PPPPPPPPPPPPPPPPPPPP......PPPPPPPPPPPPPPPPPPPP....................",
            "die 2 ..................PPPPPPPPPPPPPPPPPPPP......PPPPPPPPPPPPPPPPPPPP..............",
            "die 3 ........................PPPPPPPPPPPPPPPPPPPP.rr...........PPPPPPPPPPPPPPPPPPPP",
            "die 5 ..............................................................................",
        ],
    );
}

#[test]
fn figure_8_an_operation_that_has_not_begun_yields_to_a_host_read() {
    same(
        &preempted(3, 14),
        &[
            "bus   TTTTTTTTTTTTTTTTTTc..tttttTTTTTTTTTTTTTTTTTTTTTTTT........TTTTTT....................",
            "for   0000001111112222223..33333000000333333111111222222........333333....................",
            "die 0 ......PPPPPPPPPPPPPPPPPPPP......PPPPPPPPPPPPPPPPPPPP................................",
            "die 1 ............PPPPPPPPPPPPPPPPPPPP............PPPPPPPPPPPPPPPPPPPP....................",
            "die 2 ..................PPPPPPPPPPPPPPPPPPPP............PPPPPPPPPPPPPPPPPPPP..............",
            "die 3 ...................rr.................PPPPPPPPPPPPPPPPPPPP......PPPPPPPPPPPPPPPPPPPP",
            "die 5 ....................................................................................",
        ],
    );
}
