//! Decoding against closed forms, and against a second model if channels share decoders.

use base::engine::Rng;

use super::*;

/// Time in us of a page of 2 KiB at 25 MB/s.
const PAGE: f64 = 81.92;
const READ: f64 = 25.0;
const LATENCY: f64 = 6.0;

/// A bench of `channels` channels with `chips` dies each. A page has four codewords of 512 bytes, and a decoder takes
/// each in `codeword` us.
fn bench(channels: u32, chips: u32, codeword: f64, decoders: Decoders) -> Bench {
    let part = Part::preset("dirik-2009").expect("a preset");
    let geometry = Geometry::new(channels, chips, 1, 1, 1, 16, 64, 1, 4).expect("a small array");
    let timing = Timing::new(&part, &geometry, Rate::new(25_000_000), false).expect("a valid part");
    let ecc = Ecc {
        latency: Span::from_us(LATENCY as u64),
        codeword_time: Span::from_ns((codeword * 1000.0) as u64),
        codeword: 1,
        decoders,
        soft: Span::ZERO,
    };
    let config = Config { ecc: Some(ecc), ..Config::new(timing) };
    Bench::new(geometry, &config, 1)
}

fn write(bench: &mut Bench, superblock: u32, pages: u32) {
    let list = bench.list(Op::Program, superblock, 0, pages);
    bench.submit(list);
    bench.run();
}

/// Checks that the decoders worked as long as all commands were decoded; returns that time.
fn reconciles(bench: &Bench) -> Span {
    let busy = bench.backend.decoder_busy(bench.now).fold(Span::ZERO, |sum, busy| sum + busy);
    let account = bench.backend.account(bench.now);
    let all = Op::ALL.into_iter().fold(Span::ZERO, |sum, op| sum + account.op(op).decode);
    assert_eq!(busy, all);
    busy
}

#[test]
fn a_read_on_an_idle_drive_takes_the_last_codeword_and_the_latency_longer() {
    // A decoder that keeps up has only the last codeword left when the transfer ends; a slower decoder has more.
    for codeword in [0.5, 4.0, 20.0, 20.48, 21.0, 50.0] {
        let mut bench = bench(1, 1, codeword, Decoders::PerChannel);
        write(&mut bench, 0, 1);
        let behind = f64::max(codeword, 4.0 * codeword - 3.0 * PAGE / 4.0);
        close(bench.time(Op::Read, 1), READ + PAGE + behind + LATENCY);
        close(reconciles(&bench).as_us_f64(), 4.0 * codeword);
    }
}

#[test]
fn programs_erases_and_copy_backs_are_not_decoded() {
    let mut bench = bench(1, 1, 50.0, Decoders::PerChannel);
    close(bench.time(Op::Program, 1), PAGE + 200.0);
    let list = bench.backend.open_list(Class::Other, 0);
    let target = Target { superblock: SuperblockId::new(1), offset: 0 };
    let copy = bench.backend.add_copy_back(list, Cause::Gc, target, Stream::COPIES);
    bench.backend.push_slot(copy, slot(0, 0));
    bench.submit(list);
    close(bench.run()[0].1.as_us_f64(), READ + 200.0);
    assert_eq!(reconciles(&bench), Span::ZERO);
}

#[test]
fn a_copy_through_the_controller_is_decoded_before_it_is_programmed() {
    let mut bench = bench(1, 1, 4.0, Decoders::PerChannel);
    write(&mut bench, 0, 1);
    let list = bench.backend.open_list(Class::Other, 0);
    let read = bench.backend.add_read(list, Cause::Gc, SuperblockId::new(0));
    let from = bench.backend.push_slot(read, slot(0, 0));
    let target = Target { superblock: SuperblockId::new(1), offset: 0 };
    let program = bench.backend.add_program(list, Cause::Gc, target, Stream::COPIES);
    let to = bench.backend.push_slot(program, slot(0, 64));
    bench.backend.forward(read, from, program, to);
    bench.submit(list);
    close(bench.run()[0].1.as_us_f64(), READ + PAGE + 4.0 + LATENCY + PAGE + 200.0);
}

#[test]
fn the_slower_of_bus_and_decoder_decides_the_throughput() {
    // Four dies on a channel with long queues of reads: the bus carries a page in 81.92 us.
    for codeword in [2.0, 15.0, 20.0, 25.0, 40.0, 100.0] {
        let mut bench = bench(1, 4, codeword, Decoders::PerChannel);
        let pages = 40;
        (0..4).for_each(|die| write(&mut bench, die * 16, pages));
        let begin = bench.now;
        for page in 0..pages {
            for die in 0..4 {
                let list = bench.list(Op::Read, die * 16, page, 1);
                bench.submit(list);
            }
        }
        bench.run();
        let page = f64::max(PAGE, 4.0 * codeword);
        let reads = f64::from(4 * pages);
        // The lead is the first page's array time, and the decoder's work after the last transfer.
        let lead = if 4.0 * codeword > PAGE { READ + PAGE / 4.0 } else { READ + codeword };
        close((bench.now - begin).as_us_f64(), lead + reads * page + LATENCY);
        close(reconciles(&bench).as_us_f64(), reads * 4.0 * codeword);
    }
}

#[test]
fn cache_mode_and_decoding_overlap() {
    let mut bench = bench(1, 1, 30.0, Decoders::PerChannel);
    bench.backend.rules.timing.cache_read = Some(Span::from_us(3));
    write(&mut bench, 0, 5);
    // The decoder takes 120 us for a page, and is the bottleneck from the first codeword on.
    close(bench.time(Op::Read, 5), READ + 3.0 + PAGE / 4.0 + 5.0 * 120.0 + LATENCY);
}

/// The second model: codewords in the order of their arrival, each to the decoder that is free first.
fn second_model(arrivals: &mut [(f64, usize, bool)], decoders: usize, codeword: f64) -> Vec<(usize, f64)> {
    arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free: Vec<f64> = vec![0.0; decoders];
    let mut ends = Vec::new();
    for (at, read, last) in arrivals {
        let first = free.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("a decoder");
        *first = f64::max(*at, *first) + codeword;
        if *last {
            ends.push((*read, *first + LATENCY));
        }
    }
    ends
}

#[test]
fn codewords_of_several_channels_mix_at_shared_decoders() {
    let mut rng = Rng::stream(3, "ecc");
    for decoders in [1, 2, 3] {
        for codeword in [3.1, 9.3, 27.7] {
            // One read on each of six channels, begun at odd times.
            let mut bench = bench(6, 1, codeword, Decoders::Shared(decoders));
            (0..6).for_each(|die| write(&mut bench, die * 16, 1));
            let begin = bench.now;
            let mut starts: Vec<u64> = (0..6).map(|_| rng.below(90_000)).collect();
            starts.sort_unstable();
            let mut arrivals = Vec::new();
            for (read, start) in starts.iter().enumerate() {
                let list = bench.list(Op::Read, read as u32 * 16, 0, 1);
                bench.until(begin + Span::from_ns(*start));
                bench.submit(list);
                let from = *start as f64 / 1000.0 + READ;
                arrivals.extend((1..=4).map(|i| (from + f64::from(i) * PAGE / 4.0, read, i == 4)));
            }
            let began = bench.now - begin;
            let mut seen: Vec<(usize, f64)> =
                bench.run().iter().map(|(tag, end)| (*tag as usize / 16, (*end + began).as_us_f64())).collect();
            let mut expected = second_model(&mut arrivals, decoders as usize, codeword);
            seen.sort_by_key(|(read, _)| *read);
            expected.sort_by_key(|(read, _)| *read);
            assert_eq!(seen.len(), expected.len());
            for ((read, got), (other, end)) in seen.iter().zip(&expected) {
                assert_eq!(read, other);
                close(*got, *end);
            }
            reconciles(&bench);
        }
    }
}

#[test]
fn a_controller_has_its_own_decoder() {
    // Two dies of one channel: their pages come one after the other, and each has its own decoder.
    for (decoders, second) in [(Decoders::PerController, PAGE), (Decoders::PerChannel, 4.0 * 50.0)] {
        let mut bench = bench(1, 2, 50.0, decoders);
        let config = bench.backend.clone();
        bench.backend = rebuilt(config, decoders);
        (0..2).for_each(|die| write(&mut bench, die * 16, 1));
        for die in 0..2 {
            let list = bench.list(Op::Read, die * 16, 0, 1);
            bench.submit(list);
        }
        let ends: Vec<f64> = bench.run().iter().map(|(_, end)| end.as_us_f64()).collect();
        close(ends[0], READ + PAGE / 4.0 + 4.0 * 50.0 + LATENCY);
        close(ends[1] - ends[0], second);
    }
}

/// A bench with a controller for each die, on the media of `backend`.
fn rebuilt(backend: Backend, decoders: Decoders) -> Backend {
    let ecc = backend.decoders.as_ref().map(|pool| Ecc { decoders, ..pool.ecc });
    let config = Config { controllers: Controllers::PerDie, ecc, ..Config::new(backend.rules.timing) };
    observed(backend.media, &config)
}

#[test]
fn a_held_channel_is_free_while_its_read_is_decoded() {
    let mut bench = bench(1, 2, 100.0, Decoders::Shared(2));
    (bench.backend.rules.arbitration.hold, bench.backend.rules.by_pages) = (true, false);
    (0..2).for_each(|die| write(&mut bench, die * 16, 1));
    for die in 0..2 {
        let list = bench.list(Op::Read, die * 16, 0, 1);
        bench.submit(list);
    }
    let ends: Vec<f64> = bench.run().iter().map(|(_, end)| end.as_us_f64()).collect();
    // Two decoders take turns with the codewords of the first page, and the last codeword begins after the second, at
    // 20.48 + 100.
    assert!(ends[0] < 2.0 * (READ + PAGE) + 400.0 && ends[1] > ends[0], "{ends:?}");
    close(bench.backend.account(bench.now).op(Op::Read).bus.as_us_f64(), 2.0 * (READ + PAGE));
}

#[test]
fn a_serial_list_is_decoded_like_an_idle_drive() {
    for codeword in [4.0, 50.0] {
        let mut events = bench(1, 1, codeword, Decoders::PerChannel);
        write(&mut events, 0, 2);
        let one = events.time(Op::Read, 1);
        let mut serial = bench(1, 1, codeword, Decoders::PerChannel);
        write(&mut serial, 0, 2);
        let list = serial.list(Op::Read, 0, 0, 2);
        let (begin, mut hash) = (serial.now, EventHash::default());
        let end = serial.backend.begin_serial(serial.now, list).expect("time is on");
        serial.backend.end_serial(end, &mut hash);
        close((end - begin).as_us_f64(), 2.0 * one);
        serial.now = end;
        close(reconciles(&serial).as_us_f64(), 8.0 * codeword);
    }
}

#[test]
fn the_power_ends_all_decoding() {
    // The power is cut at every microsecond of a read: its data is lost, and the next read takes the time of a new
    // drive.
    for us in 1..260 {
        let mut bench = bench(1, 1, 30.0, Decoders::PerChannel);
        write(&mut bench, 0, 1);
        let list = bench.list(Op::Read, 0, 0, 1);
        bench.submit(list);
        let begin = bench.now;
        bench.until(begin + Span::from_us(us));
        bench.backend.cut_power(bench.now);
        let hash = bench.hash.value();
        let done = bench.run();
        assert!(done.is_empty(), "{us} us: a read outlived the power");
        assert_eq!(bench.hash.value(), hash, "{us} us: an event outlived the power");
        reconciles(&bench);
        bench.now = begin + Span::from_ms(1);
        close(bench.time(Op::Read, 1), READ + PAGE + 120.0 - 0.75 * PAGE + LATENCY);
        reconciles(&bench);
    }
}
