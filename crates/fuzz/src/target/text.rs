//! Short texts: quantities with units of measure, steps of preconditioning, assignments of `--set`.

use base::units::{Bytes, Current, Exact, Frequency, Power, Rate, Ratio, Span, Voltage};
use ssd::Precondition;

use crate::{Damage, Scratch, Target, Verdict, verdict};

fn utf8(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

fn quantity(input: &[u8], _: u64, _: &Scratch) -> Verdict {
    let text = utf8(input);
    macro_rules! each {
        ($($unit:ty),*) => {
            [$(text.parse::<$unit>().map(|value| {
                // The written form of a value is parsed to the same value.
                let again = value.exact();
                assert_eq!(again.parse::<$unit>().ok(), Some(value), "`{text}` is printed as `{again}`");
            }).is_ok()),*]
        };
    }
    let taken = each!(Bytes, Current, Frequency, Power, Rate, Ratio, Span, Voltage);
    if taken.contains(&true) { Verdict::Taken } else { Verdict::Refused("no quantity".into()) }
}

fn precondition(input: &[u8], _: u64, _: &Scratch) -> Verdict {
    let text = utf8(input);
    let step = text.parse::<Precondition>();
    if let Ok(step) = &step {
        assert_eq!(step.to_string().parse::<Precondition>().as_ref(), Ok(step), "`{text}`");
    }
    verdict(step)
}

fn assignment(input: &[u8], _: u64, _: &Scratch) -> Verdict {
    let mut document = study::catalogue::device(std::path::Path::new("demo")).expect("it is built in");
    verdict(document.set(&utf8(input)))
}

pub(super) fn targets() -> Vec<Target> {
    let corpus = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    vec![
        Target {
            name: "quantity".into(),
            corpus: corpus(&[
                "25us",
                "4KiB",
                "667MB/s",
                "7%",
                "12.414348435332%",
                "3.3V",
                "15mA",
                "200MHz",
                "18uJ",
                "1.5ms",
            ]),
            damage: Damage::Bytes(&["us", "ns", "ps", "KiB", "MiB", "GB/s", "%", "TiB", "EiB", "days", "h", "e9"]),
            run: Box::new(quantity),
        },
        Target {
            name: "precondition".into(),
            corpus: corpus(&["fill", "steady", "random:x2", "random:x0.5", "preload:26KiB:2GiB"]),
            damage: Damage::Bytes(&["fill", "random:x", "preload:", ":", "x", "KiB", "1e30", "inf"]),
            run: Box::new(precondition),
        },
        Target {
            name: "assignment".into(),
            corpus: corpus(&[
                "flash.channels=8",
                "ftl.gc.victim.policy=fifo",
                "ftl.gc.victim={ policy = \"d-choices\", d = 3 }",
                "host.queue=[{ weight = 3 }, { depth = 64 }]",
                "name=x",
            ]),
            damage: Damage::Bytes(&["flash", "ftl", ".", "=", "[", "]", "{", "}", "[0]", "\"\"\"", "name"]),
            run: Box::new(assignment),
        },
    ]
}
