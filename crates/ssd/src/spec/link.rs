//! Host links by name or by numbers.

use std::borrow::Cow;
use std::fmt;

use base::units::{Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The directions in which a link works at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// One direction at a time (ATA, SATA).
    Half,
    /// Both directions at once (PCI Express).
    Full,
}

/// The link between host and drive: its rate, its directions and its overhead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// The name of a preset, or `custom`.
    pub name: Cow<'static, str>,
    /// Bytes per second in one direction; `None` for a link that costs no time.
    pub rate: Option<Rate>,
    /// The time that each command takes on the link besides its data.
    pub overhead: Span,
    /// The delay of the completion of each read; the link is free meanwhile.
    pub read_latency: Span,
    /// The delay of the completion of each write; the link is free meanwhile.
    pub write_latency: Span,
    /// The directions in which the link works at the same time.
    pub duplex: Duplex,
}

/// Name, bytes per second, duplex. ATA by its name; SATA 1.5, 3 and 6 Gbit/s with 8b/10b coding; PCI
/// Express lanes of 2.5 and 5 GT/s with 8b/10b, 8, 16 and 32 GT/s with 128b/130b coding (the paper's 15.754
/// GB/s for 3.0 x16, fmmu.md D7). Packet headers are not counted: set `overhead` for commands.
const PRESETS: [(&str, u64, Duplex); 7] = [
    ("ata-66", 66_000_000, Duplex::Half),
    ("ata-100", 100_000_000, Duplex::Half),
    ("ata-133", 133_000_000, Duplex::Half),
    ("sata-150", 150_000_000, Duplex::Half),
    ("sata-300", 300_000_000, Duplex::Half),
    ("sata-600", 600_000_000, Duplex::Half),
    ("none", 0, Duplex::Full),
];

/// Bytes per second of one lane, by generation.
const PCIE_LANE: [u64; 5] = [250_000_000, 500_000_000, 984_615_384, 1_969_230_769, 3_938_461_538];

impl LinkSpec {
    fn preset(name: &str) -> Option<Self> {
        if let Some((known, rate, duplex)) = PRESETS.into_iter().find(|(known, ..)| *known == name) {
            let rate = (rate > 0).then(|| Rate::new(rate));
            return Some(Self { name: known.into(), rate, duplex, ..Self::default() });
        }
        let (generation, lanes) = name.strip_prefix("pcie-")?.split_once("-x")?;
        let lane = PCIE_LANE.get(generation.parse::<usize>().ok()?.checked_sub(1)?)?;
        let lanes = lanes.parse::<u64>().ok().filter(|lanes| matches!(lanes, 1 | 2 | 4 | 8 | 16 | 32))?;
        let rate = Some(Rate::new(lane * lanes));
        Some(Self { name: name.to_owned().into(), rate, ..Self::default() })
    }
}

impl Default for LinkSpec {
    fn default() -> Self {
        Self {
            name: "none".into(),
            rate: None,
            overhead: Span::ZERO,
            read_latency: Span::ZERO,
            write_latency: Span::ZERO,
            duplex: Duplex::Full,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A link written out as a table of keys.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Custom {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<Rate>,
    #[serde(default)]
    overhead: Span,
    #[serde(default, skip_serializing_if = "is_default")]
    read_latency: Span,
    #[serde(default, skip_serializing_if = "is_default")]
    write_latency: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duplex: Option<Duplex>,
}

struct Visitor;

fn unknown<E: de::Error>(name: &str) -> E {
    E::custom(format!(
        "`{name}` is not a link: use one of none, ata-66, ata-100, ata-133, sata-150, sata-300, sata-600, pcie-G-xL \
         (generation 1 to 5; 1, 2, 4, 8, 16 or 32 lanes), or a table such as {{ rate = \"2GB/s\", overhead = \"1us\", duplex = \"full\" }}"
    ))
}

impl<'de> de::Visitor<'de> for Visitor {
    type Value = LinkSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a link or a table with rate, overhead, latencies and duplex")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<LinkSpec, E> {
        LinkSpec::preset(name).ok_or_else(|| unknown(name))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<LinkSpec, A::Error> {
        let custom = Custom::deserialize(de::value::MapAccessDeserializer::new(map))?;
        if let (Some(name), Some(_), Some(_)) = (&custom.preset, custom.rate, custom.duplex) {
            return Err(de::Error::custom(format!(
                "`{name}` has no effect beside a rate and a duplex of the link's own: leave out `preset`, `rate` or `duplex`"
            )));
        }
        let mut link = match &custom.preset {
            Some(name) => LinkSpec::preset(name).ok_or_else(|| unknown(name))?,
            None => LinkSpec { name: "custom".into(), ..LinkSpec::default() },
        };
        link.rate = custom.rate.or(link.rate);
        link.overhead = custom.overhead;
        (link.read_latency, link.write_latency) = (custom.read_latency, custom.write_latency);
        link.duplex = custom.duplex.unwrap_or(link.duplex);
        Ok(link)
    }
}

impl<'de> Deserialize<'de> for LinkSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for LinkSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if Self::preset(&self.name).as_ref() == Some(self) {
            return serializer.serialize_str(&self.name);
        }
        // Beside a name, only the keys that differ from the preset are written.
        let preset = Self::preset(&self.name);
        let own = preset.as_ref().is_none_or(|preset| preset.duplex != self.duplex);
        let custom = Custom {
            preset: preset.is_some().then(|| self.name.to_string()),
            rate: self.rate.filter(|_| preset.as_ref().is_none_or(|preset| preset.rate != self.rate)),
            overhead: self.overhead,
            read_latency: self.read_latency,
            write_latency: self.write_latency,
            duplex: own.then_some(self.duplex),
        };
        custom.serialize(serializer)
    }
}

impl JsonSchema for LinkSpec {
    fn schema_name() -> Cow<'static, str> {
        "LinkSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let described = |mut schema: Schema, text: &str| {
            schema.insert("description".to_owned(), text.into());
            schema
        };
        json_schema!({
            "description": "A host link: a name, or a table.",
            "anyOf": [
                { "type": "string", "examples": ["none", "ata-133", "sata-600", "pcie-3-x4"] },
                {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "preset": {
                            "type": "string",
                            "description": "A link by its name, whose other keys may be replaced.",
                            "examples": ["sata-600", "ata-133", "pcie-3-x4"],
                        },
                        "rate": described(generator.subschema_for::<Rate>(), "Bytes per second in one direction."),
                        "overhead": described(
                            generator.subschema_for::<Span>(),
                            "Time that each command takes on the link besides its data.",
                        ),
                        "read-latency": described(
                            generator.subschema_for::<Span>(),
                            "Time by which a read completes later and that occupies nothing: of the controller's firmware, the host's driver and its program. Assumed zero.",
                        ),
                        "write-latency": described(
                            generator.subschema_for::<Span>(),
                            "The same for a write.",
                        ),
                        "duplex": described(
                            generator.subschema_for::<Duplex>(),
                            "Whether both directions work at once.",
                        ),
                    },
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    struct File {
        link: LinkSpec,
    }

    fn read(text: &str) -> Result<LinkSpec, toml::de::Error> {
        toml::from_str::<File>(text).map(|file| file.link)
    }

    #[test]
    fn links_have_their_published_rates() {
        let rate = |name| LinkSpec::preset(name).and_then(|link| link.rate).map(Rate::get);
        assert_eq!(rate("ata-133"), Some(133_000_000));
        // fmmu.md D7: 16 lanes x 8 GT/s x 128/130 / 8 = 15.754 GB/s.
        assert_eq!(rate("pcie-3-x16").map(|r| r / 1_000_000), Some(15_753));
        assert_eq!(rate("none"), None);
        for wrong in ["pcie-3-x3", "pcie-9-x4", "pcie-x4", "usb"] {
            assert!(LinkSpec::preset(wrong).is_none());
        }
    }

    #[test]
    fn links_are_written_by_name_or_in_full() {
        let custom =
            read("link = { preset = \"sata-300\", overhead = \"2us\", write-latency = \"9us\" }").expect("a link");
        assert_eq!((custom.read_latency, custom.write_latency), (Span::ZERO, Span::from_us(9)));
        assert_eq!((custom.rate, custom.overhead), (Some(Rate::new(300_000_000)), Span::from_us(2)));
        for link in [custom, read("link = \"pcie-3-x4\"").expect("a link"), LinkSpec::default()] {
            let file = File { link };
            assert_eq!(toml::from_str::<File>(&toml::to_string(&file).expect("writes")).expect("reads"), file);
        }
        assert!(read("link = \"usb\"").expect_err("unknown").to_string().contains("pcie-G-xL"));
        let both = "link = { preset = \"sata-300\", rate = \"1GB/s\", duplex = \"full\" }";
        assert!(read(both).expect_err("nothing of the preset is left").to_string().contains("leave out `preset`"));
        assert!(read("link = { rat = \"1GB/s\" }").expect_err("unknown key").to_string().contains("rat"));
    }
}
