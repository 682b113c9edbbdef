//! Requests of RAIDs and translations, explained.

use std::ops::ControlFlow;

use base::engine::Rng;
use raid::Raid;
use ssd::{Precondition, ResolvedDevice};
use testkit::List;
use testkit::raid::{RaidSetting, drives};
use translation::{Translation, UsedZones};
use workload::{Arrival, Pacing};

use super::*;
use crate::oracle::Blank;
use crate::run::{Record, Rules};

fn requests(capacity: u64) -> Vec<Arrival> {
    let mut rng = Rng::stream(3, "layered");
    let draw = |_| Arrival::new(Time::ZERO, testkit::requests::draw(&mut rng, capacity));
    (0..300).map(draw).collect()
}

/// Runs requests on a layer, and checks that each is explained without a gap. Returns the sum of each part.
fn check<L: Layer<()> + Inspect>(mut layer: L, name: &str) -> [Span; JourneyPart::COUNT] {
    let drives = layer.drives_mut().len();
    let mut watched = ObservedLayer::new(layer, Some(Watch::default().journeys(Some(7))));
    let mut log: Vec<Record> = Vec::new();
    let mut source = List::new(requests(watched.capacity().get()), Pacing::Closed { depth: 8 });
    watched.begin(watched.counters().at);
    let rules = Rules { log: Some(&mut log), ..Rules::settle(Span::from_secs(10)) };
    rules.run(&mut watched, &mut source, &mut Blank).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(watched.ended.values().all(Vec::is_empty), "{name}: requests to drives are left over");
    let watch = watched.take_watch().expect("it is watched");
    assert_eq!(watch.finished().len(), log.len(), "{name}");
    let mut sums = [Span::ZERO; JourneyPart::COUNT];
    for (journey, record) in watch.finished().iter().zip(&log) {
        assert_eq!((journey.tag, journey.io, journey.end), (record.tag, record.io, record.end), "{name}");
        assert_eq!(journey.parts.iter().copied().sum::<Span>(), record.end - record.arrival, "{name}: {journey:?}");
        let waits = |parts: &[JourneyPart]| parts.iter().map(|part| journey.parts[*part as usize]).sum::<Span>();
        assert!(journey.ahead.iter().copied().sum::<Span>() <= waits(&[JourneyPart::Queue]), "{name}");
        add(&mut sums, &journey.parts);
    }
    let one = watch.finished().iter().find(|journey| journey.tag == 7).expect("it ended");
    let ends = watch.legs().iter().map(|leg| leg.until);
    let begins = std::iter::once(one.arrival).chain(ends);
    assert!(begins.clone().zip(watch.legs()).all(|(before, leg)| leg.from == before), "{name}: {:?}", watch.legs());
    assert_eq!(begins.last(), Some(one.end), "{name}");
    for band in watch.bands().iter().flat_map(|explained| &explained.bands) {
        assert_eq!(band.drives_us.len(), if drives > 1 { drives } else { 0 }, "{name}");
        assert!(band.drives_us.iter().sum::<f64>() <= band.latency_us * 1.001, "{name}: {band:?}");
    }
    sums
}

fn observed(of: Vec<Ssd<()>>) -> Vec<Ssd<()>> {
    of.into_iter().map(|drive| drive.observed_by(Watch::of_member())).collect()
}

#[test]
fn every_request_of_a_raid_is_explained() {
    let mut sums = [Span::ZERO; JourneyPart::COUNT];
    for RaidSetting { raid, drive, steps } in testkit::raid::settings() {
        let raid_of = Raid::new(&raid, observed(drives(&raid, &drive, &steps)));
        add(&mut sums, &check(raid_of, &format!("{raid:?}")));
    }
    let occur = [
        JourneyPart::Overlap,
        JourneyPart::Die,
        JourneyPart::Array,
        JourneyPart::Transfer,
        JourneyPart::Buffer,
        JourneyPart::Journal,
    ];
    occur.into_iter().for_each(|part| assert!(!sums[part as usize].is_zero(), "{part:?} does not occur"));
}

#[test]
fn a_drive_that_fails_leaves_no_gap() {
    let setting =
        testkit::raid::settings().into_iter().find(|setting| setting.raid.spares > 0).expect("one has spares");
    let failures = vec![ssd::DriveFailure { at: Span::from_ms(20), drive: 0 }];
    let raid = ssd::RaidSpec { failures, ..setting.raid };
    check(Raid::new(&raid, observed(drives(&raid, &setting.drive, &setting.steps))), "a drive fails");
}

fn translation(resolved: &ResolvedDevice, steps: &[Precondition]) -> Translation<()> {
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let mut used = UsedZones::new(resolved, 1);
    steps.iter().for_each(|step| _ = used.precondition(*step, go_on));
    let drive = Ssd::new(&resolved.of_drive(0), 1).observed_by(Watch::of_member());
    Translation::over(resolved, drive, used, go_on).expect("nobody breaks off").0
}

#[test]
fn every_request_of_a_translation_is_explained() {
    let mut sums = [Span::ZERO; JourneyPart::COUNT];
    for testkit::translation::TranslationSetting { device, steps } in testkit::translation::settings() {
        add(
            &mut sums,
            &check(
                translation(&device, &steps),
                &device.spec.translation.as_ref().map_or_else(String::new, |of| format!("{of:?}")),
            ),
        );
    }
    let occur = [JourneyPart::Array, JourneyPart::Transfer, JourneyPart::Layer];
    occur.into_iter().for_each(|part| assert!(!sums[part as usize].is_zero(), "{part:?} does not occur"));
}
