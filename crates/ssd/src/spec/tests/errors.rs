//! Faults of bit errors.

use super::super::Spec;

const ECC: &str = "ecc = { decode = { rate = '1GB/s' }, hard-limit = 180 }";

fn faults(part: &str, flash: &str, ftl: &str) -> Vec<String> {
    let text = format!(
        "name = 'e'\nflash = {{ part = '{part}', channels = 2, chips = 1, blocks = 64, pages = 18, {flash} }}\n\
         [ftl]\nover-provisioning = '50%'\nmap-unit = '4KiB'\n{ftl}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.resolve().map_or_else(|faults| faults, |_| Vec::new()).iter().map(ToString::to_string).collect()
}

#[test]
fn errors_need_a_part_a_decoder_and_an_ftl_that_know_of_them() {
    for (part, flash, ftl, wanted) in [
        (
            "sk-hynix-176l-tlc",
            format!("errors = {{}}, {ECC}"),
            "",
            "flash.errors: nothing is known about the errors of the part sk-hynix-176l-tlc; use a part that",
        ),
        ("tlc-72l", "errors = {}".into(), "", "flash.errors: nothing corrects the errors; add [flash.ecc] with"),
        (
            "tlc-72l",
            "errors = {}, ecc = { decode = { rate = '1GB/s' } }".into(),
            "",
            "flash.ecc.hard-limit: is missing: with flash.errors the decoder needs a limit; give the bits",
        ),
        ("tlc-72l", ECC.into(), "", "flash.ecc.hard-limit: has no effect here: reads have no errors; leave it out"),
        (
            "tlc-72l",
            "errors = {}, ecc = { decode = { rate = '1GB/s' }, hard-limit = 180, soft = { sensings = 0, limit = 360 } }".into(),
            "",
            "flash.ecc.soft.sensings: is 0",
        ),
        (
            "tlc-72l",
            "errors = {}, ecc = { decode = { rate = '1GB/s' }, hard-limit = 180, soft = { sensings = 3, limit = 180 } }".into(),
            "",
            "flash.ecc.soft.limit: is 180, and flash.ecc.hard-limit corrects as many; use a larger limit",
        ),
        (
            "tlc-72l",
            format!("errors = {{}}, {ECC}"),
            "gc = { copy-back = true }",
            "ftl.gc.copy-back: a copy-back passes no decoder, and the errors of its copies would add up; leave",
        ),
        (
            "tlc-72l",
            format!("errors = {{}}, {ECC}"),
            "slc-cache = { size = '1MiB', fold = 'copy-back' }",
            "ftl.slc-cache.fold: a copy-back passes no decoder, and the errors of its copies would add up; leave",
        ),
        (
            "tlc-72l",
            format!("errors = {{}}, {ECC}"),
            "kind = 'fast'",
            "flash.errors: this FTL copies pages inside the flash or works without a decoder, so no read is corrected",
        ),
    ] {
        let faults = faults(part, &flash, ftl);
        assert!(faults.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {faults:?}");
    }
    assert_eq!(faults("tlc-72l", &format!("errors = {{}}, {ECC}"), ""), Vec::<String>::new());
}

#[test]
fn the_parity_of_a_codeword_has_errors_too() {
    let text = format!(
        r"name = 'e'
flash = {{ part = 'tlc-72l', channels = 1, chips = 1, blocks = 64, pages = 18, errors = {{}}, {ECC} }}
[ftl]
over-provisioning = '50%'
map-unit = '4KiB'
"
    );
    let resolved = toml::from_str::<Spec>(&text).expect("a device").resolve().expect("valid");
    let errors = resolved.backend.errors.expect("errors");
    // 4 KiB and a quarter of 1,952 spare bytes.
    assert_eq!((errors.decoding().bits, errors.decoding().sectors), (8 * (4096 + 488), 8));
}
