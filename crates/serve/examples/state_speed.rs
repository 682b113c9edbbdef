//! Rates of a drive in memory and in a directory.
#![allow(clippy::disallowed_methods)]
use std::path::Path;
use std::time::Instant;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Bytes512;
use serve::{Durability, State};
use ssd::{Drive, QueueId, Request, Resolved, Spec, Ssd};

fn device() -> Resolved {
    let text = "name = \"speed\"\nflash = { part = \"dirik-2009\", channels = 4, chips = 2, size = \"2GiB\" }\n\
                [ftl]\nmap-unit = \"2KiB\"\nover-provisioning = \"20%\"\n";
    toml::from_str::<Spec>(text).expect("a device").resolve().expect("valid")
}

fn rss() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let of = |key: &str| {
        text.lines().find(|l| l.starts_with(key)).unwrap().split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
            / 1024
    };
    of("VmRSS:")
}

fn round(name: &str, ssd: &mut Ssd<Bytes512>, state: Option<&State>, kind: IoKind, count: u64, random: bool) {
    let units = ssd.capacity().get() / 8;
    let mut x: u64 = 88172645463325252;
    let (mut sent, mut done) = (0u64, 0u64);
    let mut completions = Vec::new();
    let t = Instant::now();
    let cpu = || {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
    };
    let c = cpu();
    while done < count {
        while sent < count && sent - done < 32 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let at = if random { x % units } else { sent % units };
            let io = Io { kind, start: Lba::new(at * 8), sectors: Sectors::new(8) };
            let data = if kind == IoKind::Write {
                let mut b = [0u8; 512];
                b[..8].copy_from_slice(&x.to_le_bytes());
                vec![Bytes512(b); 8]
            } else {
                Vec::new()
            };
            ssd.submit(ssd.now(), Request { tag: sent, queue: QueueId::default(), io, data });
            sent += 1;
        }
        let at = ssd.next_event().expect("under way");
        ssd.advance(at, &mut completions);
        done += completions.len() as u64;
        completions.clear();
        if let Some(state) = state {
            state.check().expect("files");
        }
    }
    let (s, c) = (t.elapsed().as_secs_f64(), cpu() - c);
    println!(
        "{name:10} {kind:?} random {random}: {count} in {s:.2} s = {:.0}/s wall, {:.0}/s CPU, rss {} MiB",
        count as f64 / s,
        count as f64 / c,
        rss()
    );
}

fn all(name: &str, ssd: &mut Ssd<Bytes512>, state: Option<&State>) {
    println!("{name}: begins at {} MiB", rss());
    let units = ssd.capacity().get() / 8;
    round(name, ssd, state, IoKind::Write, units, false);
    for _ in 0..2 {
        round(name, ssd, state, IoKind::Write, 300_000, true);
        round(name, ssd, state, IoKind::Read, 300_000, true);
    }
}

fn main() {
    let what = std::env::args().nth(1).unwrap();
    let device = device();
    if what == "memory" {
        all("memory", &mut Ssd::new(&device, 1), None);
    } else {
        let durability = if std::env::args().nth(2).is_some() { Durability::Machine } else { Durability::Process };
        let t = Instant::now();
        let (state, mut ssd) = State::open_or_create::<Bytes512>(Path::new(&what), &device, 1, durability).unwrap();
        println!("opened in {:.3} s", t.elapsed().as_secs_f64());
        all(&what, &mut ssd, Some(&state));
        let t = Instant::now();
        drop((state, ssd));
        let (_s, _d) = State::open_or_create::<Bytes512>(Path::new(&what), &device, 1, Durability::Process).unwrap();
        println!("opened again in {:.3} s, rss {} MiB", t.elapsed().as_secs_f64(), rss());
    }
}
