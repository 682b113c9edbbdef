//! The parts that come with Flashloom.

use std::sync::LazyLock;

use super::Part;

/// The files of the presets. A new part is a new file and a line here.
const FILES: [(&str, &str); 12] = [
    ("K9K8G08U0M", include_str!("k9k8g08u0m.toml")),
    ("K9WAG08U1A", include_str!("k9wag08u1a.toml")),
    ("K9GAG08U0M", include_str!("k9gag08u0m.toml")),
    ("K9XXG08", include_str!("k9xxg08.toml")),
    ("dirik-2009", include_str!("dirik-2009.toml")),
    ("FMMU-V1", include_str!("fmmu-v1.toml")),
    ("FMMU-V2", include_str!("fmmu-v2.toml")),
    ("FMMU-V2-page", include_str!("fmmu-v2-page.toml")),
    ("tlc-72l", include_str!("tlc-72l.toml")),
    ("kioxia-wd-128l-tlc", include_str!("kioxia-wd-128l-tlc.toml")),
    ("sk-hynix-176l-tlc", include_str!("sk-hynix-176l-tlc.toml")),
    ("intel-96l-qlc", include_str!("intel-96l-qlc.toml")),
];

static PARTS: LazyLock<Vec<Part>> = LazyLock::new(|| {
    let parse = |(name, text): &(&str, &str)| toml::from_str(text).unwrap_or_else(|e| panic!("preset {name}: {e}"));
    FILES.iter().map(parse).collect()
});

impl Part {
    /// The built-in part with this name, such as `FMMU-V2`; `None` if there is none.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        Self::presets().find(|part| part.name == name).cloned()
    }

    /// All presets, oldest technology first.
    pub fn presets() -> impl Iterator<Item = &'static Self> {
        PARTS.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::{Bytes, Energy, Rate, Span};

    fn part(name: &str) -> Part {
        Part::preset(name).unwrap_or_else(|| panic!("no preset {name}"))
    }

    #[test]
    fn every_preset_has_a_name_a_source_and_no_fault() {
        assert_eq!(Part::presets().count(), FILES.len());
        for (part, (name, text)) in Part::presets().zip(FILES) {
            assert_eq!(part.name, name);
            assert_eq!(part.validate(), [], "{name}");
            assert!(part.source.lines().count() >= 3, "{name} does not say where its numbers come from");
            // No data sheet gives a bus energy, so this number shows whether `source` covers all numbers.
            let origins = ["data sheet", "paper", "published", "measured", "inferred", "derived", "assumed"];
            let source = part.source.to_lowercase();
            let energy = source.lines().find(|line| line.contains("bus energy")).expect(name);
            assert!(origins.iter().any(|origin| energy.contains(origin)), "{name}: where is its bus energy from?");
            let written = toml::to_string(part).expect(name);
            assert_eq!(&toml::from_str::<Part>(&written).expect(name), part, "{name} reads back as another part");
            assert!(text.is_ascii(), "{name}");
        }
        assert_eq!(Part::preset("K9K8"), None);
    }

    #[test]
    fn capacities_are_those_of_the_chips() {
        let gib = |name: &str| part(name).geometry.chip().get() as f64 / (1u64 << 30) as f64;
        for (name, expected) in
            [("K9K8G08U0M", 1.0), ("K9WAG08U1A", 2.0), ("K9GAG08U0M", 2.0), ("K9XXG08", 10.0), ("FMMU-V2", 0.125)]
        {
            assert!((gib(name) - expected).abs() < 1e-12, "{name}: {} GiB", gib(name));
        }
        // For dies of which only the capacity is published, the number of blocks is rounded up to whole planes.
        for (name, published) in [
            ("FMMU-V1", 16.0),
            ("tlc-72l", 64.0),
            ("kioxia-wd-128l-tlc", 64.0),
            ("sk-hynix-176l-tlc", 64.0),
            ("intel-96l-qlc", 128.0),
        ] {
            let excess = gib(name) / published - 1.0;
            assert!((0.0..0.002).contains(&excess), "{name}: {} GiB", gib(name));
        }
        assert_eq!(part("kioxia-wd-128l-tlc").geometry.block(), Bytes::new(24 << 20));
        // Sung: 4 buses x 2 chips hold 327,680 blocks, 80 GiB.
        let sung = part("K9XXG08").geometry;
        assert_eq!(8 * sung.dies_per_chip * sung.blocks_per_die(), 327_680);
        assert_eq!(sung.chip() * 8, Bytes::new(80 << 30));
    }

    #[test]
    fn energies_are_those_of_chang() {
        let close = |energy: Energy, uj: f64| assert!((energy.as_joules() * 1e6 - uj).abs() < 0.005, "{energy} {uj}");
        let (slc, mlc) = (part("K9WAG08U1A"), part("K9GAG08U0M"));
        close(slc.read_energy(0), 1.24);
        close(mlc.read_energy(0), 2.97);
        close(slc.program_energy(0), 9.9);
        close(mlc.program_energy(0), 39.6);
        close(slc.erase_energy(), 74.25);
        close(mlc.erase_energy(), 74.25);
    }

    #[test]
    fn bus_times_are_those_of_the_papers() {
        let page = |part: &Part, rate: Rate| rate.time(part.page_transfer());
        let dirik = part("dirik-2009");
        for (rate, ns) in [(25, 81_920), (50, 40_960), (100, 20_480), (200, 10_240), (400, 5_120)] {
            assert_eq!(page(&dirik, Rate::new(rate * 1_000_000)), Span::from_ns(ns));
        }
        assert_eq!(dirik.bus.rate, Rate::new(25_000_000));
        // Hydra: 51.2 us of data and 1.6 us of spare bytes.
        let hydra = part("K9K8G08U0M");
        assert_eq!(page(&hydra, hydra.bus.rate), Span::from_ns(52_800));
        // Sung: 50 us per page.
        let sung = part("K9XXG08");
        assert_eq!(page(&sung, sung.bus.rate), Span::from_us(50));
        // FMMU: 26.87 us for a page and its spare area.
        let fmmu = part("FMMU-V2");
        assert!((page(&fmmu, fmmu.bus.rate).as_us_f64() - 26.87).abs() < 0.005);
    }

    #[test]
    fn fmmu_programs_a_page_per_390_us_and_chip() {
        for (name, ns) in [("FMMU-V2", 390_000), ("FMMU-V1", 600_000)] {
            let part = part(name);
            let pages = u64::from(part.timing.one_shot * part.geometry.planes_per_die);
            assert_eq!(part.program_time(0) / pages, Span::from_ns(ns));
        }
    }

    #[test]
    fn one_shot_program_rates_are_the_published_ones() {
        for (name, mb) in
            [("tlc-72l", 57.0), ("kioxia-wd-128l-tlc", 132.0), ("sk-hynix-176l-tlc", 168.0), ("intel-96l-qlc", 35.2)]
        {
            let part = part(name);
            let pages = u64::from(part.timing.one_shot * part.geometry.planes_per_die);
            let bytes = (part.geometry.page * pages).get() as f64;
            let rate = bytes / part.program_time(0).as_secs_f64() / 1e6;
            assert!((rate / mb - 1.0).abs() < 0.002, "{name}: {rate} MB/s");
        }
    }

    #[test]
    fn the_page_index_in_the_block_decides_the_page_type() {
        let qlc = part("intel-96l-qlc");
        assert_eq!((qlc.bits_per_cell(), qlc.page_types()), (4, 4));
        let times: Vec<_> = (0..5).map(|page| qlc.read_time(page).as_ns()).collect();
        assert_eq!(times, [47_900, 76_200, 134_600, 228_100, 47_900]);
        assert_eq!(qlc.program_time(3), Span::from_us(1860));
        let mlc = part("K9GAG08U0M");
        assert_eq!(mlc.read_time(0), mlc.read_time(1));
        for (name, mean) in [("tlc-72l", 58), ("kioxia-wd-128l-tlc", 56), ("sk-hynix-176l-tlc", 50)] {
            let tlc = part(name);
            assert_eq!((0..3).map(|page| tlc.read_time(page)).sum::<Span>(), Span::from_us(3 * mean), "{name}");
        }
    }
}
