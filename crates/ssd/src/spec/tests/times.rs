//! Faults of times that a drive has none of by default.

use super::super::Spec;

fn faults(flash: &str, rest: &str) -> Vec<String> {
    let text = format!(
        "name = 't'\nflash = {{ part = 'dirik-2009', channels = 2, chips = 2, blocks = 64, pages = 16, {flash} }}\n{rest}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.resolve().map_or_else(|faults| faults, |_| Vec::new()).iter().map(ToString::to_string).collect()
}

#[test]
fn times_without_a_sense_are_refused_with_the_key_and_the_remedy() {
    let ecc = |rest: &str| format!("ecc = {{ decode = {{ rate = '1GB/s' }}, {rest} }}");
    for (flash, rest, wanted) in [
        (
            &*ecc("codeword = '1500B'"),
            "",
            "flash.ecc.codeword: a codeword of 1.465KiB does not divide the mapping unit of 2KiB; use",
        ),
        (&ecc("codeword = '4KiB'"), "", "flash.ecc.codeword: a codeword of 4KiB does not divide"),
        (&ecc("codeword = '0B'"), "", "flash.ecc.codeword: a codeword of 0B does not divide"),
        (&ecc("decoders = { shared = 0 }"), "", "flash.ecc.decoders: no decoder: no read would ever end; use at least"),
        (&ecc("decoders = { shared = 70000 }"), "", "flash.ecc.decoders: 70000 decoders; use at most 65536"),
        (
            &format!("controllers = 'none', {}", ecc("decoders = 'per-controller'")),
            "",
            "flash.ecc.decoders: there are no controllers to have decoders; use per-channel",
        ),
        ("", "[ftl]\nfirmware = {}", "ftl.firmware: takes no time; give it a time"),
        (
            "",
            "[ftl]\nfirmware = { unit = '1us' }\nmap = { kind = 'table', service = '1us' }",
            "ftl.firmware: conflicts with ftl.map: a map unit has times of its own; leave it out",
        ),
        (
            "",
            "[ftl]\nkind = 'fast'\nfirmware = { unit = '1us' }",
            "ftl.firmware: is for the page-mapped FTL only; leave it out",
        ),
        ("", "ram = { rate = '1GB/s' }", "ram: there is no write buffer, and look-ups move nothing; add [buffer]"),
        ("", "ram = { rate = '1GB/s', look-up = '0B' }", "ram.look-up: moves nothing; leave it out"),
        (
            "",
            "ram = { rate = '1GB/s', look-up = '8B' }\nftl = { map = { kind = 'table', service = '1us' } }",
            "ram.look-up: conflicts with ftl.map",
        ),
        (
            "",
            "host = { read-transfer = 'cut-through' }",
            "host.read-transfer: has no effect here: the link takes no time for data; leave it out",
        ),
    ] {
        let faults = faults(flash, rest);
        assert!(faults.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {faults:?}");
    }
    assert_eq!(faults(&ecc("codeword = '1KiB', decoders = { shared = 3 }"), ""), Vec::<String>::new());
}
