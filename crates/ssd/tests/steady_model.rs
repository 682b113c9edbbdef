//! The computed steady state against the long way: overwriting a filled drive many times.

use base::engine::Rng;
use base::units::{Psn, SuperblockId};
use flash::nand::{FaultSpec, Faults, Geometry, Media, Spare};
use ftl::{Config, Planted};
use ssd::{Precondition, Resolved, Spec, Ssd};

/// A drive of eight dies with pools of `blocks` superblocks of 128 slots.
fn drive(blocks: u32, spare: f64, gc: &str) -> Resolved {
    let text = format!(
        "name = \"steady\"\n[flash]\npart = \"dirik-2009\"\nchannels = 4\nchips = 2\nblocks = {blocks}\npages = 128\n\
         [ftl]\nover-provisioning = \"{}%\"\ngc = {{ {gc} }}\n",
        spare * 100.0
    );
    let spec: Spec = toml::from_str(&text).expect("a device");
    spec.resolve().expect("valid")
}

/// For each programmed superblock, its valid units in ascending order, if each unit has this version.
fn valid(media: &Media<()>, versions: &[u32]) -> Vec<u32> {
    let geometry = media.geometry();
    let is_valid = |psn: Psn| match media.spare(psn) {
        Spare::Data { lpn, version } => versions[lpn.index()] == version,
        Spare::Empty | Spare::Torn => false,
    };
    let of = |superblock| (0..geometry.superblock_slots()).filter(|o| is_valid(geometry.slot(superblock, *o))).count();
    let programmed = (0..geometry.superblock_count()).map(SuperblockId::new).filter(|sb| !media.is_erased(*sb));
    let mut found: Vec<u32> = programmed.map(|superblock| of(superblock) as u32).collect();
    found.sort_unstable();
    found
}

/// Kolmogorov's distance of two samples.
fn distance(a: &[u32], b: &[u32]) -> f64 {
    let share = |of: &[u32], most: u32| of.partition_point(|v| *v <= most) as f64 / of.len() as f64;
    (0..=*a.iter().chain(b).max().expect("samples"))
        .map(|most| (share(a, most) - share(b, most)).abs())
        .fold(0.0, f64::max)
}

fn versions(drive: &Ssd<()>) -> Vec<u32> {
    drive.history().expect("noted").versions().to_vec()
}

/// The distribution of the layout alone.
fn laid(resolved: &Resolved, seed: u64) -> Vec<u32> {
    let timing = &resolved.backend.timing;
    let faults = Faults::new(&FaultSpec::default(), seed);
    let mut media = Media::new(resolved.geometry.clone(), resolved.part.endurance, timing.one_shot, faults);
    let mut versions = vec![0; resolved.units as usize];
    resolved.family.lay_out_steady(
        &mut media,
        &mut Rng::stream(seed, "test"),
        Planted::default(),
        &mut |batch, version| {
            batch.iter().for_each(|lpn| versions[lpn.index()] = version);
        },
    );
    valid(&media, &versions)
}

#[test]
fn explore() {
    for (blocks, spare, gc) in [
        (64, 0.28, "victim = { policy = \"greedy\" }"),
        (256, 0.28, "victim = { policy = \"greedy\" }"),
        (256, 0.15, "victim = { policy = \"greedy\" }"),
        (256, 0.07, "victim = { policy = \"greedy\" }"),
        (256, 0.15, "victim = { policy = \"greedy\" }, shared-log = true"),
        (256, 0.15, "victim = { policy = \"fifo\" }"),
        (256, 0.15, "victim = { policy = \"random\" }"),
        (256, 0.15, "victim = { policy = \"d-choices\", d = 4 }"),
        (256, 0.15, "victim = { policy = \"greedy\" }, start = 4, stop = 8"),
    ] {
        let resolved = drive(blocks, spare, gc);
        let long = |seed| {
            let mut d = Ssd::<()>::new(&resolved, seed).noting(None);
            d.precondition(Precondition::Fill, &mut |_, _| {});
            let s = d.precondition(Precondition::Steady, &mut |_, _| {});
            let after = d.precondition(Precondition::RandomOverwrite(0.3), &mut |_, _| {}).write_amplification;
            d.precondition(Precondition::RandomOverwrite(5.0), &mut |_, _| {});
            let w = d.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {}).write_amplification;
            (
                s.write_amplification,
                s.units as f64 / f64::from(resolved.units),
                after,
                w,
                valid(d.media(), &versions(&d)),
            )
        };
        let short = |seed| {
            let mut d = Ssd::<()>::new(&resolved, seed).noting(None);
            let s = d.precondition(Precondition::SteadyModel, &mut |_, _| {});
            let v = valid(d.media(), &versions(&d));
            d.check();
            let a = d.precondition(Precondition::RandomOverwrite(0.3), &mut |_, _| {}).write_amplification;
            let w = d.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {}).write_amplification;
            (s.write_amplification, s.units as f64 / f64::from(resolved.units), a, w, v)
        };
        let (a, b) = (long(1), long(2));
        let (c, e) = (short(1), laid(&resolved, 1));
        println!(
            "{blocks} {spare} {gc}\n  steady {:.3} after {:.2}, then {:.3}; long {:.3} {:.3} | model {:.3} after {:.2}, then {:.3}, {:.3} | KS long-long {:.3}, short {:.3}, laid {:.3}",
            a.0,
            a.1,
            a.2,
            a.3,
            b.3,
            c.0,
            c.1,
            c.2,
            c.3,
            distance(&a.4, &b.4),
            distance(&a.4, &c.4),
            distance(&a.4, &e)
        );
    }
}
