//! Checks of descriptions of map units: the refused ones, and the registry of all kinds.

use base::units::{Bytes, Ratio, Span};

use super::super::{AnyMapUnit, CdftlSpec, CostSpec, DftlSpec, FmmuSpec, MapSpec, MapUnit};

const PAGE: Bytes = Bytes::new(4096);

#[test]
fn every_kind_is_registered_and_can_be_built() {
    // A new variant does not compile here until it has a number, and fails until the registry has it.
    let place = |spec: &MapSpec| match spec {
        MapSpec::Ram => 0,
        MapSpec::Table { .. } => 1,
        MapSpec::Uncached { .. } => 2,
        MapSpec::Dftl(_) => 3,
        MapSpec::Cdftl(_) => 4,
        MapSpec::Fmmu(_) => 5,
        MapSpec::Own(_) => unreachable!("not of the library"),
    };
    assert!(MapSpec::EVERY.iter().map(place).eq(0..6));
    for page in [512, 4096, 16384].map(Bytes::new) {
        for mut spec in MapSpec::EVERY {
            // Every core needs two pages.
            if let MapSpec::Cdftl(CdftlSpec { ctp, .. }) | MapSpec::Fmmu(FmmuSpec { ctp, .. }) = &mut spec {
                *ctp = Bytes::new(4 * page.get());
            }
            assert_eq!(spec.faults(page), []);
            let unit = AnyMapUnit::new(&spec, 5_000, page);
            assert_eq!(unit.map(|unit| unit.is_clean()), (spec != MapSpec::Ram).then_some(true));
        }
    }
}

/// Woo and Min give all three map units the same RAM (Sec. 5.1).
#[test]
fn the_published_caches_have_one_size() {
    let (cdftl, fmmu) = (CdftlSpec::PUBLISHED, FmmuSpec::PUBLISHED);
    let two_levels = [cdftl.cmt.get() + cdftl.ctp.get(), fmmu.cmt.get() + fmmu.ctp.get()];
    assert_eq!(two_levels, [DftlSpec::PUBLISHED.cmt.get(); 2]);
    assert_eq!(two_levels[0], 1_088 << 10);
}

#[test]
fn the_published_map_units_are_valid() {
    let mut specs = MapSpec::EVERY.to_vec();
    specs.push(MapSpec::Fmmu(FmmuSpec::default()));
    for cores in [1, 2, 4] {
        specs.push(MapSpec::Dftl(DftlSpec { cores, ..DftlSpec::default() }));
        specs.push(MapSpec::Cdftl(CdftlSpec { cores, ..CdftlSpec::default() }));
    }
    for spec in specs {
        assert_eq!(spec.faults(PAGE), [], "{spec:?}");
        let text = toml::to_string(&spec).expect("can be written");
        assert_eq!(toml::from_str::<MapSpec>(&text).expect("and read"), spec, "{text}");
    }
    for kind in ["ram", "table", "uncached", "dftl", "cdftl", "fmmu"] {
        let bare = toml::from_str::<MapSpec>(&format!("kind = \"{kind}\""));
        assert!(bare.is_ok(), "all else has a default: {bare:?}");
    }
}

#[test]
fn unknown_kinds_and_keys_are_refused() {
    for text in ["kind = \"fmmu\"\ncores = 2", "kind = \"btree\"", "kind = \"dftl\"\ncmt = 64", "cmt = \"64KiB\""] {
        assert!(toml::from_str::<MapSpec>(text).is_err(), "{text}");
    }
    let text = "kind = \"table\"\nservice = \"1us\"";
    let table = MapSpec::Table { service: Span::from_us(1) };
    assert_eq!(toml::from_str::<MapSpec>(text).expect("a table"), table);
}

#[test]
fn a_map_unit_that_cannot_be_built_is_a_fault() {
    let paths = |spec: MapSpec| spec.faults(PAGE).into_iter().map(|fault| fault.path).collect::<Vec<_>>();
    let dftl = |change: fn(&mut DftlSpec)| {
        let mut spec = DftlSpec::PUBLISHED;
        change(&mut spec);
        paths(MapSpec::Dftl(spec))
    };
    assert_eq!(dftl(|spec| spec.cmt = Bytes::new(0)), ["ftl.map.cmt"]);
    assert_eq!(dftl(|spec| spec.cmt = Bytes::new(128)), ["ftl.map.cmt"], "more ways than blocks");
    assert_eq!(dftl(|spec| spec.cores = 3), ["ftl.map.cmt"], "4,352 sets are not divided by three");
    assert_eq!(dftl(|spec| spec.block = Bytes::new(32)), ["ftl.map.block"], "less than a lookup covers");
    assert_eq!(dftl(|spec| spec.block = Bytes::new(192)), ["ftl.map.block", "ftl.map.cmt"]);
    assert_eq!(dftl(|spec| spec.block = Bytes::new(0)), ["ftl.map.block"]);
    assert_eq!(dftl(|spec| spec.ways = 0), ["ftl.map.ways"]);
    let all = dftl(|spec| (spec.cores, spec.outstanding) = (0, 0));
    assert_eq!(all, ["ftl.map.cores", "ftl.map.outstanding"], "all at once");
    let buffers = CdftlSpec { cores: 4, write_buffers: 3, ctp: Bytes::new(5000), ..CdftlSpec::PUBLISHED };
    assert_eq!(paths(MapSpec::Cdftl(buffers)), ["ftl.map.write-buffers", "ftl.map.ctp"]);
    let fmmu = FmmuSpec {
        low: Ratio::new(0.9),
        high: Ratio::new(0.5),
        dirty: Ratio::new(1.0),
        batch: 0,
        costs: CostSpec::Ideal,
        ..FmmuSpec::PUBLISHED
    };
    assert_eq!(paths(MapSpec::Fmmu(fmmu)), ["ftl.map.batch", "ftl.map.low", "ftl.map.dirty"]);
}
