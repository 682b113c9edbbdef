//! Devices with Chang's FTL: resolved values and refused descriptions.

use super::super::Spec;

fn faults(kind: &str, flash: &str, chang: &str, slc: &str) -> Vec<String> {
    let text = format!(
        "name = \"h\"\n[flash]\npart = \"dirik-2009\"\nchannels = 1\nchips = 1\nblocks = 32\npages = 16\nplanes = 1\n\
         {flash}\n[ftl]\nkind = \"{kind}\"\nover-provisioning = \"40%\"\n{chang}\n{slc}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let faults = spec.resolve().map_or_else(|faults| faults, |_| Vec::new());
    faults.into_iter().map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect()
}

const SLC: &str = "[slc]\npart = \"K9WAG08U1A\"\nsize = \"2MiB\"";

#[test]
fn an_slc_mlc_drive_is_valid_with_and_without_slc_flash() {
    for slc in ["", SLC, "[slc]\npart = \"K9WAG08U1A\"\nblocks = 4\npages = 8\nlane-rate = \"1GB/s\""] {
        assert_eq!(faults("chang", "", "", slc), [""; 0], "{slc}");
    }
}

#[test]
fn faults_of_the_slc_array_are_found() {
    for (slc, wanted) in [
        ("size = \"2MiB\"", "slc.part: no NAND part is named"),
        ("part = \"none\"\nsize = \"2MiB\"", "slc.part: no part is called `none`; use one of "),
        ("part = \"K9WAG08U1A\"", "slc.size: the size of the SLC flash is missing; give it"),
        ("part = \"K9WAG08U1A\"\nsize = \"100KiB\"", "slc.size: 100KiB is not a whole number of blocks of 128KiB"),
        ("part = \"K9WAG08U1A\"\nsize = \"2MiB\"\nblocks = 4", "slc.size: conflicts with slc.blocks; keep one"),
        (
            "part = \"K9WAG08U1A\"\nblocks = 1",
            "slc.blocks: the SLC log needs two blocks, one for its head and one for its tail; use two blocks or more",
        ),
    ] {
        let found = faults("chang", "", "", &format!("[slc]\n{slc}"));
        assert!(found.len() == 1 && found[0].starts_with(wanted), "{slc}: {found:?}");
    }
}

#[test]
fn keys_that_conflict_with_the_slc_mlc_ftl_are_refused() {
    for (kind, flash, chang, slc, wanted) in [
        ("page", "", "", SLC, "slc: this FTL does not use it; leave it out, or set ftl.kind"),
        ("page", "", "chang = {}", "", "ftl.chang: this FTL does not use it; leave it out"),
        (
            "chang",
            "controllers = { shared = 2 }",
            "",
            "",
            "flash.controllers: this FTL runs one command list at a time",
        ),
        ("chang", "arbitration = { hold = true }", "", "", "flash: under this FTL no command waits for a controller"),
        ("chang", "", "chang = { probes = 0 }", SLC, "ftl.chang.probes: is zero; there must be at least one"),
        ("chang", "", "chang = { mapping-cache = 0 }", "", "ftl.chang.mapping-cache: is zero"),
        ("chang", "", "chang = { recluster-every = 0 }", SLC, "ftl.chang.recluster-every: is zero"),
        ("chang", "", "chang = { throttle-step = 0 }", SLC, "ftl.chang.throttle-step: is zero"),
        ("chang", "", "chang = { throttle-every = 0 }", SLC, "ftl.chang.throttle-every: is zero"),
        (
            "chang",
            "",
            "chang = { mapping = \"pages\", density = { extra = \"64KiB\" } }",
            "",
            "ftl.chang.density: SLC mode applies to logical blocks",
        ),
        (
            "chang",
            "",
            "chang.density = { extra = \"1KiB\" }",
            "",
            "ftl.chang.density.extra: 1KiB is less than two blocks",
        ),
        (
            "chang",
            "",
            "chang.density = { extra = \"32KiB\" }",
            "",
            "ftl.chang.density.extra: 32KiB is less than two blocks",
        ),
        ("chang", "", "chang.density = { extra = \"64KiB\", read = \"0us\" }", "", "ftl.chang.density.read: is zero"),
        (
            "chang",
            "",
            "chang.density = { extra = \"64KiB\", program = \"0us\" }",
            "",
            "ftl.chang.density.program: is zero",
        ),
        ("chang", "", "chang.density = { extra = \"64KiB\", rank-every = 0 }", "", "ftl.chang.density.rank-every: is"),
        ("chang", "", "chang.density = { extra = \"64KiB\" }", SLC, "ftl.chang.density: conflicts with slc"),
        ("chang", "", "chang = { hash-entries = 3 }", SLC, "ftl.chang.hash-entries: 3 entries; use 4 to"),
        ("chang", "", "map-unit = \"1KiB\"", "", "ftl.map-unit: a page holds 2 mapping units of 1KiB"),
        ("chang", "gang = 2", "", "", "flash.multi-plane: one command works on 2 planes or ganged chips"),
        ("chang", "", "map = { kind = \"table\" }", "", "ftl.map: this FTL keeps its tables in RAM"),
    ] {
        let found = faults(kind, flash, chang, slc);
        assert!(found.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {found:?}");
    }
    let text = r#"name = "h"
flash = { part = "dirik-2009", channels = 1, chips = 1, blocks = 8, planes = 1 }
[ftl]
kind = "chang"
over-provisioning = "10%"
"#;
    let spec: Spec = toml::from_str(text).expect("a description");
    let fault = spec.resolve().expect_err("too little is spare").remove(0);
    assert!(fault.message.contains("the FTL reserves 4 for writing and folding"), "{fault:?}");
}

#[test]
fn the_format_holds_every_key_that_decides_the_place_of_data() {
    let format = |chang: &str, slc: &str| {
        let text = format!(
            "name = \"h\"\nflash = {{ part = \"dirik-2009\", channels = 1, chips = 1, blocks = 32, pages = 16, planes = 1 }}\n\
             {slc}\n[ftl]\nkind = \"chang\"\ncapacity = \"512KiB\"\nchang = {{ {chang} }}\n"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
        [resolved.format(), resolved.slc_format()].concat()
    };
    let slc = |blocks| format!("slc = {{ part = \"K9WAG08U1A\", blocks = {blocks}, pages = 8 }}");
    let copies = [format("", &slc(4)), format("copy-back = false", &slc(4))];
    assert_eq!(copies[0], copies[1], "when something is copied may differ");
    let different = [
        ("", slc(4)),
        ("", slc(6)),
        ("", String::new()),
        ("density = { extra = \"64KiB\" }", String::new()),
        ("mapping = \"pages\"", slc(4)),
        ("hash-entries = 64", slc(4)),
        ("probing = \"quadratic\"", slc(4)),
        ("probes = 4", slc(4)),
    ];
    let formats: std::collections::BTreeSet<_> = different.iter().map(|(chang, slc)| format(chang, slc)).collect();
    assert_eq!(formats.len(), different.len(), "{formats:#?}");
}
