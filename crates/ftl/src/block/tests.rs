//! Tests of the block-mapped FTL alone, on small arrays with known counts.

use crate::BlockFtl;
use base::units::Time;
use flash::backend::{Cause, Op};
use flash::nand::Stamp;

use crate::rig::Rig;

/// One die of ten blocks of four pages, and four logical blocks.
fn rig(replacements: u32, more: &str) -> Rig {
    Rig::new(&format!(
        "flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 10, pages = 4, planes = 1 }}\n\
         [ftl]\nkind = 'block'\ncapacity = '32KiB'\nblock = {{ replacements = {replacements} }}\n{more}"
    ))
}

/// Writes pages one after another, each with its own stamp.
fn write(rig: &mut Rig, pages: impl IntoIterator<Item = u32>, round: u64) {
    for page in pages {
        rig.write(&[page], Some(Stamp(round * 100 + u64::from(page))));
        rig.run_until_idle();
    }
}

/// Pages programmed for the host, pages copied by merges, and blocks that they erased.
fn done(rig: &Rig) -> [u64; 3] {
    let account = rig.backend.account(Time::MAX);
    let copied = account.of(Op::Program, Cause::Merge).pages;
    assert_eq!(account.of(Op::Read, Cause::Merge).pages, copied);
    [account.of(Op::Program, Cause::Host).pages, copied, account.of(Op::Erase, Cause::Merge).pages]
}

/// The round in which each page was last written.
fn rounds(rig: &mut Rig, pages: std::ops::Range<u32>) -> Vec<u64> {
    pages.map(|page| rig.read(page).expect("not lost").0 / 100).collect()
}

#[test]
fn a_sequential_overwrite_of_a_block_copies_nothing() {
    let mut rig = rig(1, "");
    for round in 1..5 {
        write(&mut rig, 0..16, round);
    }
    // Each of the 16 blocks written is still in use or was given back by a switch.
    assert_eq!(done(&rig), [64, 0, 16 - (10 - rig.ftl.free_blocks())]);
    assert_eq!(rounds(&mut rig, 0..16), [4; 16]);
}

#[test]
fn without_replacement_blocks_each_overwrite_is_a_merge() {
    let mut rig = rig(0, "");
    write(&mut rig, 0..16, 1);
    assert_eq!(done(&rig), [16, 0, 0]);
    write(&mut rig, [5], 2);
    assert_eq!(done(&rig), [17, 3, 1], "the other pages are copied, and the new one stands among them");
    write(&mut rig, [5, 6], 3);
    assert_eq!(done(&rig), [19, 9, 3]);
    // One merge writes all pages of a request, and nothing is left to copy.
    rig.write(&[4, 5, 6, 7], Some(Stamp(400)));
    rig.run_until_idle();
    assert_eq!(done(&rig), [23, 9, 4]);
    assert_eq!(rounds(&mut rig, 0..9), [1, 1, 1, 1, 4, 4, 4, 4, 1]);
}

#[test]
fn a_replacement_block_takes_pages_in_ascending_order() {
    let mut rig = rig(1, "");
    write(&mut rig, 0..16, 1);
    write(&mut rig, [1, 3], 2);
    assert_eq!(done(&rig), [18, 0, 0], "offsets may be left out");
    write(&mut rig, [2], 3);
    // The replacement block can take nothing behind page 1 any more: pages 0 to 3 are copied, with the new page 2.
    assert_eq!(done(&rig), [19, 3, 2]);
    write(&mut rig, [0, 1], 4);
    assert_eq!(done(&rig), [21, 3, 2]);
    write(&mut rig, [0], 5);
    // The replacement block has all pages up to page 1: the merge copies only the others, and then another one is
    // opened.
    assert_eq!(done(&rig), [22, 5, 3]);
    assert_eq!(rounds(&mut rig, 0..5), [5, 4, 3, 2, 1]);
    rig.cut_power();
    assert_eq!(rounds(&mut rig, 0..5), [5, 4, 3, 2, 1], "after a power cut");
}

#[test]
fn a_chain_of_two_replacement_blocks_takes_two_overwrites() {
    let mut rig = rig(2, "");
    write(&mut rig, 0..16, 1);
    write(&mut rig, [1], 2);
    write(&mut rig, [1], 3);
    assert_eq!((done(&rig), rig.ftl.free_blocks()), ([18, 0, 0], 4));
    write(&mut rig, [1], 4);
    assert_eq!(done(&rig), [19, 3, 3]);
    assert_eq!(rounds(&mut rig, 0..4), [1, 4, 1, 1]);
}

#[test]
fn without_a_free_block_the_oldest_chain_is_merged() {
    let mut rig = rig(3, "");
    write(&mut rig, 0..16, 1);
    // Six blocks are free, and four of them are reserved.
    write(&mut rig, [4, 8], 2);
    assert_eq!((done(&rig), rig.ftl.free_blocks()), ([18, 0, 0], 4));
    write(&mut rig, [12], 3);
    assert_eq!((done(&rig), rig.ftl.free_blocks()), ([19, 3, 1], 4), "logical block 1 has one block again");
    write(&mut rig, [4], 4);
    assert_eq!(done(&rig), [20, 6, 2], "and then logical block 2");
    assert_eq!(rounds(&mut rig, 4..13), [4, 1, 1, 1, 2, 1, 1, 1, 3]);
}

/// The number of blocks of each chain.
fn lengths(rig: &Rig) -> Vec<u32> {
    let ftl = rig.ftl.downcast_ref::<BlockFtl>().expect("a block map");
    ftl.mapping.chains.iter().map(|chain| chain.length).collect()
}

#[test]
fn chains_are_merged_in_the_order_of_their_first_replacements_also_after_a_power_cut() {
    for cut in [false, true] {
        let mut rig = Rig::new(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 11, pages = 4, planes = 1 }
[ftl]
kind = 'block'
capacity = '32KiB'
block = { replacements = 3 }
",
        );
        write(&mut rig, 0..16, 1);
        // Of logical blocks 1 and 2, the first has the older data block and the younger first replacement. The second has
        // the youngest replacement of all.
        write(&mut rig, [8, 4, 8], 2);
        assert_eq!((lengths(&rig), rig.ftl.free_blocks()), (vec![1, 2, 3, 1], 4));
        if cut {
            rig.cut_power();
        }
        write(&mut rig, [12], 3);
        assert_eq!(lengths(&rig), [1, 2, 1, 2], "after a power cut: {cut}");
        write(&mut rig, [0, 0], 4);
        assert_eq!(lengths(&rig), [3, 1, 1, 2], "after a power cut: {cut}");
        write(&mut rig, [0], 5);
        assert_eq!(lengths(&rig), [4, 1, 1, 1], "after a power cut: {cut}");
    }
}

/// Random writes to a die as full as the reserve allows. Two programs fail, close to each other or apart, and the power
/// fails once. Returns the writes refused.
fn refused(seed: u64) -> u64 {
    let mut rng = base::engine::Rng::stream(seed, "block.reserve");
    let replacements = rng.below(4);
    let mut rig = Rig::new(&format!(
        r"flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 9, pages = 4, planes = 1 }}
[ftl]
kind = 'block'
capacity = '40KiB'
block = {{ replacements = {replacements} }}
",
    ));
    assert_eq!(rig.units(), 20);
    let first = rng.below(60);
    let faults = rig.backend.media_mut().faults_mut();
    faults.fail_program(first);
    faults.fail_program(first + 1 + rng.below(8));
    let cut = rng.below(60);
    let mut newest = [0; 20];
    for round in 1..60 {
        let page = rng.below(20) as u32;
        rig.write(&[page], Some(Stamp(round)));
        let before = std::mem::replace(&mut newest[page as usize], round);
        if round == cut {
            (0..rng.below(12)).for_each(|_| _ = rig.step());
            rig.cut_power();
            let kept = rig.read(page).expect("not lost").0;
            assert!(kept == round || kept == before, "seed {seed}: page {page} holds {kept}");
            newest[page as usize] = kept;
        }
        rig.run_until_idle();
    }
    for (page, newest) in (0..).zip(newest) {
        assert_eq!(rig.read(page), Some(Stamp(newest)), "seed {seed}: page {page}");
    }
    u64::from(rig.host.refused)
}

#[test]
fn two_failures_and_a_power_cut_cost_no_write() {
    let refusing: Vec<_> = (0..3_000).filter(|seed| refused(*seed) > 0).collect();
    assert_eq!(refusing, [0; 0]);
}

#[test]
fn a_merge_does_not_copy_discarded_pages() {
    let mut rig = rig(1, "");
    write(&mut rig, 0..16, 1);
    write(&mut rig, [1, 3], 2);
    for page in [0, 3] {
        assert!(!rig.with_ftl(|ftl, flash, _| ftl.discard(flash.now, None, base::units::Lpn::new(page))));
    }
    assert_eq!(rounds(&mut rig, 0..4), [0, 2, 1, 0]);
    write(&mut rig, [1], 3);
    assert_eq!(done(&rig), [19, 1, 2]);
    assert_eq!(rounds(&mut rig, 0..4), [0, 3, 1, 0]);
    rig.run_until_idle();
}

#[test]
fn a_merge_whose_program_fails_is_repeated() {
    for failing in 0..4 {
        let mut rig = rig(0, "");
        write(&mut rig, 0..16, 1);
        rig.backend.media_mut().faults_mut().fail_program(failing);
        write(&mut rig, [2], 2);
        assert_eq!(rounds(&mut rig, 0..4), [1, 1, 2, 1], "the program of page {failing} fails");
        assert_eq!((rig.ftl.free_blocks(), rig.host.refused), (5, 0));
        assert_eq!(rig.backend.media().bad_blocks(), 1);
        rig.cut_power();
        assert_eq!(rounds(&mut rig, 0..4), [1, 1, 2, 1], "after a power cut");
    }
}

#[test]
fn a_drive_with_too_many_bad_blocks_refuses_writes_and_keeps_its_data() {
    let mut rig = rig(1, "");
    write(&mut rig, 0..16, 1);
    let mut round = 2;
    while rig.host.refused == 0 {
        assert!(round < 10, "it never gives up");
        // Counted from the first planned fault, after the first round.
        let programs = rig.backend.account(Time::MAX).op(Op::Program).pages - 16;
        rig.backend.media_mut().faults_mut().fail_program(programs);
        write(&mut rig, [0], round);
        round += 1;
    }
    let kept = rounds(&mut rig, 0..16);
    assert!(kept[0] + 2 >= round && kept[1..] == [1; 15], "{kept:?} after {round} rounds");
    rig.cut_power();
    assert_eq!(rounds(&mut rig, 0..16), kept, "after a power cut");
}

#[test]
fn the_block_map_takes_the_memory_it_predicts() {
    let rig = Rig::new(
        r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 400, pages = 64, planes = 1 }
[ftl]
kind = 'block'
over-provisioning = '50%'",
    );
    let ftl = rig.ftl.downcast_ref::<BlockFtl>().expect("a block map");
    let tables = ftl.blocks.taken() + size_of_val(&*ftl.mapping.chains);
    // Each free block has a number and an erase count; each logical block a bit for each page, and their place.
    let full = tables + 800 * 8 + ftl.mapping.chains.len() * (8 + 4);
    let said = rig.config.memory();
    // The lists of a request, and the pages of a merge.
    assert!((full as u64..full as u64 + 4096).contains(&said), "{said}, and the tables take {full}");
}
