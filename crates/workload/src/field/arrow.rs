//! Arrow's form of a schema, which has `description` and `unit` in the metadata of each field.
//!
//! Parquet's own schema has no room for a description. Writers of Arrow put their schema into a Parquet file under
//! [`KEY`]: a message of Arrow's IPC format (Schema.fbs, Message.fbs; format version 1.5), in base64. The crates of
//! Arrow that write it would take a minute to compile, so this file builds the message with the FlatBuffers runtime
//! alone.

use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, WIPOffset};

use super::{Field, Values};

/// The key in the metadata of a Parquet file.
pub(super) const KEY: &str = "ARROW:schema";

/// The offset of a field in the table of offsets of a FlatBuffers table.
const fn slot(number: u16) -> u16 {
    4 + 2 * number
}

/// `MetadataVersion.V5`.
const VERSION: i16 = 4;
/// `MessageHeader.Schema`.
const HEADER: u8 = 1;
/// `Precision.DOUBLE`.
const DOUBLE: i16 = 2;

type Offset = WIPOffset<TableFinishedWIPOffset>;

/// The members of the union `Type` that columns need.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Type {
    Int = 2,
    FloatingPoint = 3,
    Utf8 = 5,
}

/// The schema as the value of [`KEY`].
pub(super) fn schema(fields: &[Field]) -> String {
    let mut builder = FlatBufferBuilder::new();
    let fields: Vec<Offset> = fields.iter().map(|one| field(&mut builder, one)).collect();
    let fields = builder.create_vector(&fields);
    let table = builder.start_table();
    builder.push_slot_always(slot(1), fields);
    let schema = builder.end_table(table);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), VERSION);
    builder.push_slot_always(slot(1), HEADER);
    builder.push_slot_always(slot(2), schema);
    builder.push_slot_always(slot(3), 0_i64);
    let message = builder.end_table(table);
    builder.finish_minimal(message);
    base64(&framed(builder.finished_data()))
}

/// Puts the mark and the length before a message, and pads it to whole words of eight bytes.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = message.len().next_multiple_of(8);
    let mut framed = Vec::with_capacity(8 + length);
    framed.extend(u32::MAX.to_le_bytes());
    framed.extend((length as u32).to_le_bytes());
    framed.extend(message);
    framed.resize(8 + length, 0);
    framed
}

fn field(builder: &mut FlatBufferBuilder<'_>, field: &Field) -> Offset {
    let name = builder.create_string(&field.name);
    let of = kind(builder, field.values);
    // Readers demand the list of children even if it is empty.
    let children = builder.create_vector::<Offset>(&[]);
    let said = [("description", &*field.meaning), ("unit", field.unit.symbol())];
    let said = said.into_iter().filter(|(_, text)| !text.is_empty());
    let said: Vec<Offset> = said.map(|(key, value)| entry(builder, key, value)).collect();
    let said = builder.create_vector(&said);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), name);
    builder.push_slot_always(slot(1), field.values == Values::Number);
    builder.push_slot_always(slot(2), of.0 as u8);
    builder.push_slot_always(slot(3), of.1);
    builder.push_slot_always(slot(5), children);
    builder.push_slot_always(slot(6), said);
    builder.end_table(table)
}

fn kind(builder: &mut FlatBufferBuilder<'_>, values: Values) -> (Type, Offset) {
    let table = builder.start_table();
    let kind = match values {
        Values::Count => {
            builder.push_slot_always(slot(0), 64_i32);
            builder.push_slot_always(slot(1), false);
            Type::Int
        }
        Values::Number => {
            builder.push_slot_always(slot(0), DOUBLE);
            Type::FloatingPoint
        }
        Values::Text => Type::Utf8,
    };
    (kind, builder.end_table(table))
}

fn entry(builder: &mut FlatBufferBuilder<'_>, key: &str, value: &str) -> Offset {
    let (key, value) = (builder.create_string(key), builder.create_string(value));
    let table = builder.start_table();
    builder.push_slot_always(slot(0), key);
    builder.push_slot_always(slot(1), value);
    builder.end_table(table)
}

/// Base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, i| bits << 8 | u32::from(group.get(i).copied().unwrap_or(0)));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { DIGITS[value as usize] as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::UnitOfMeasure;
    use super::*;

    #[test]
    fn bytes_are_written_as_rfc_4648_has_them() {
        let all = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, wanted) in all.into_iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), wanted);
        }
        assert_eq!(base64(&[255, 239, 191]), "/++/");
    }

    /// A reader of FlatBuffers for tests. A table begins with the distance back to its table of offsets.
    struct FlatTable<'a>(&'a [u8], usize);

    impl<'a> FlatTable<'a> {
        fn word(&self, at: usize) -> usize {
            u32::from_le_bytes(self.0[at..at + 4].try_into().expect("four bytes")) as usize
        }

        /// The position of a field's value, if the table has the field.
        fn place(&self, number: u16) -> Option<usize> {
            let offsets = self.1.wrapping_sub_signed(self.word(self.1) as i32 as isize);
            let half = |at: usize| usize::from(u16::from_le_bytes([self.0[at], self.0[at + 1]]));
            let at = offsets + usize::from(slot(number));
            (at < offsets + half(offsets) && half(at) > 0).then(|| self.1 + half(at))
        }

        fn follow(&self, number: u16) -> usize {
            let place = self.place(number).expect("a field");
            place + self.word(place)
        }

        fn table(&self, number: u16) -> Self {
            FlatTable(self.0, self.follow(number))
        }

        fn text(&self, number: u16) -> &'a str {
            let at = self.follow(number);
            std::str::from_utf8(&self.0[at + 4..at + 4 + self.word(at)]).expect("text")
        }

        fn list(&self, number: u16) -> Vec<Self> {
            let at = self.follow(number);
            let entry = |i: usize| at + 4 + 4 * i;
            (0..self.word(at)).map(|i| FlatTable(self.0, entry(i) + self.word(entry(i)))).collect()
        }

        fn byte(&self, number: u16) -> u8 {
            self.0[self.place(number).expect("a field")]
        }
    }

    #[test]
    fn every_field_has_its_type_and_its_metadata() {
        let fields = [
            Field::new("kind", Values::Text, UnitOfMeasure::None, "the kind"),
            Field::new("read_p99_us", Values::Number, UnitOfMeasure::Microseconds, "99th percentile"),
            Field::new("sectors", Values::Count, UnitOfMeasure::Sectors, "length"),
        ];
        let text = schema(&fields);
        // The mark, then the length of the message.
        let digit = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let bits = |group: &[u8]| group.iter().fold(0_u32, |bits, c| bits << 6 | u32::from(digit(*c)));
        let bytes: Vec<u8> = text
            .trim_end_matches('=')
            .as_bytes()
            .chunks(4)
            .filter(|group| group.len() == 4)
            .flat_map(|group| bits(group).to_be_bytes()[1..].to_vec())
            .collect();
        assert_eq!(bytes[..4], [255; 4]);
        let message = &bytes[8..];
        let root = FlatTable(message, FlatTable(message, 0).word(0));
        assert_eq!((root.byte(0), root.byte(1)), (VERSION as u8, HEADER));
        let all = root.table(2).list(1);
        let types = [Type::Utf8, Type::FloatingPoint, Type::Int];
        assert_eq!(all.len(), fields.len());
        for ((table, field), of) in all.iter().zip(&fields).zip(types) {
            assert_eq!((table.text(0), table.byte(2)), (&*field.name, of as u8));
            assert_eq!(table.byte(1) == 1, field.values == Values::Number, "nullable");
            assert!(table.list(5).is_empty());
            let said: Vec<_> = table.list(6).iter().map(|pair| (pair.text(0), pair.text(1))).collect();
            assert_eq!(said[0], ("description", &*field.meaning));
            assert_eq!(said.get(1).map(|(_, unit)| *unit), Some(field.unit.symbol()).filter(|unit| !unit.is_empty()));
        }
        let number = all[1].table(3);
        assert_eq!(i16::from(number.byte(0)), DOUBLE);
        let whole = all[2].table(3);
        assert_eq!((whole.byte(0), whole.byte(1)), (64, 0));
    }
}
