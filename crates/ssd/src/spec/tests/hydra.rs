//! Devices with Hydra's FTL: resolved values and refused descriptions.

use super::super::Spec;
use base::fault::Fault;

fn resolve(flash: &str, ftl: &str, rest: &str) -> Result<crate::ResolvedDevice, Vec<Fault>> {
    let text = format!(
        "name = \"h\"\n[flash]\npart = \"K9K8G08U0M\"\nchannels = 1\nblocks = 64\n{flash}\n\
         [ftl]\nkind = \"hydra\"\n{ftl}\n{rest}"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.resolve()
}

const FLASH: &str = "chips = 8\ngang = 4\nwidth = 32";
const FTL: &str = "over-provisioning = \"40%\"";

#[test]
fn the_prototype_is_that_of_section_4_1() {
    let text = crate::builtin().iter().find(|(name, _)| *name == "hydra-prototype").expect("it is built in").1;
    let spec: Spec = toml::from_str(text).expect("a device");
    let resolved = spec.resolve().expect("sound");
    let hydra = resolved.family.downcast_ref::<ftl::HydraConfig>().expect("its FTL");
    assert_eq!((hydra.superchips(), hydra.chips(), resolved.gang), (4, 2, 4));
    // 1,024 KB are 2,048 sectors in 128 rows.
    assert_eq!((hydra.rows() * resolved.geometry.sectors, resolved.geometry.sectors), (2048, 16));
    assert_eq!(u64::from(resolved.geometry.slot_count()) * 8192, 32 << 30);
    let superblocks = resolved.buffer.and_then(|buffer| buffer.superblocks).expect("a buffer of superblocks");
    // hydra.md D9: 30,720 sectors, 10.5 MB used.
    assert_eq!((superblocks.sectors, superblocks.high * 512), (30_720, 10_752 << 10));
    assert_eq!((superblocks.units, superblocks.most), (128, 8));
    assert!(hydra.data_blocks() * 4 * 128 > resolved.units);
}

#[test]
fn faults_of_hydra_are_found() {
    let buffer = "[buffer]\nsize = \"1MiB\"\n";
    for (flash, ftl, rest, wanted) in [
        (
            "chips = 8\ngang = 4",
            FTL,
            String::new(),
            "flash.width: 8 bits do not match a gang of 4: each chip has a \
                                                     bus of 8 bits; use 32",
        ),
        ("chips = 3\ngang = 4\nwidth = 32", FTL, String::new(), "ftl.hydra.chips: 3 dies of a channel do not divide"),
        (FLASH, FTL, "[ftl.hydra]\nchips = 0".into(), "ftl.hydra.chips: is zero"),
        (
            FLASH,
            FTL,
            "[ftl.hydra]\nspare-blocks = 60".into(),
            "flash.blocks: a die has 64 blocks, and needs 60 as \
                                                               spares",
        ),
        (FLASH, FTL, "[ftl.hydra.processor]\nmhz = 0".into(), "ftl.hydra.processor.mhz: is zero"),
        (FLASH, FTL, "[ftl.hydra.processor]\nunit-cycles = 0".into(), "ftl.hydra.processor.unit-cycles: is zero"),
        (
            "chips = 8\ngang = 4\nwidth = 32\nsoftware-controllers = \"5us\"",
            FTL,
            "[ftl.hydra.processor]\nunit-cycles = 9".into(),
            "ftl.hydra.processor.unit-cycles: conflicts with",
        ),
        (FLASH, FTL, format!("{buffer}flush = \"log\""), "buffer.flush: is \"log\", which only Hydra's FTL has"),
        (FLASH, "over-provisioning = \"1%\"", String::new(), "ftl.over-provisioning: a capacity of"),
        (FLASH, "capacity = \"1000KiB\"", "[ftl.map]\nkind = \"table\"".into(), "ftl.map: has no effect"),
        (FLASH, "capacity = \"1004KiB\"", String::new(), "ftl.capacity: is not a whole number of rows of 8192B"),
        (FLASH, "map-unit = \"4KiB\"", String::new(), "ftl.map-unit: has no effect"),
        (FLASH, "over-provisioning = \"100%\"", String::new(), "ftl.over-provisioning: leaves no capacity"),
        (FLASH, FTL, "[ftl.gc]\nstart = 1".into(), "ftl.gc: has no effect"),
        (FLASH, FTL, "[[host.queue]]\ndies = [0]".into(), "host.queue: confines writes to dies"),
        (FLASH, FTL, format!("{buffer}superblock = \"1MiB\""), "buffer.superblock: has no effect"),
        (FLASH, FTL, format!("{buffer}max-superblocks = 3"), "buffer.max-superblocks: has no effect"),
        (
            FLASH,
            FTL,
            format!("{buffer}policy = \"superblock\"\nsuperblock = \"1MiB\""),
            "buffer.superblock: conflicts with the superblock of the FTL",
        ),
        (
            FLASH,
            FTL,
            format!("{buffer}policy = \"superblock\"\nmax-superblocks = 0"),
            "buffer.max-superblocks: is zero",
        ),
    ] {
        let faults = resolve(flash, ftl, &rest).expect_err(wanted).into_iter();
        let faults: Vec<_> = faults.map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect();
        assert!(faults.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {faults:?}");
    }
}

#[test]
fn keys_of_hydra_are_refused_under_a_page_map() {
    let text = "name = \"h\"\n[flash]\npart = \"dirik-2009\"\nchannels = 1\nchips = 1\n[ftl.hydra]\n";
    let spec: Spec = toml::from_str(text).expect("a device");
    let faults = spec.resolve().expect_err("a fault");
    assert_eq!((faults.len(), faults[0].path.as_str()), (1, "ftl.hydra"));
}
