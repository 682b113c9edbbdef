//! Structures of NVMe as tables: the name, the type and the offset of each field.
//!
//! [`layout!`] makes a struct of such a table, with functions that read it from bytes and write it to bytes. Integers are
//! little-endian (NVMe base 2.0, section 1.4.3). Bytes that no field covers are reserved: they are written as zeros and ignored
//! when read. The compiler refuses a table whose fields overlap, are out of order or leave the structure.

/// A value with a fixed number of bytes.
pub(crate) trait Field {
    /// Bytes of the value.
    const SIZE: usize;

    /// The value of bytes that are all zero.
    fn zero() -> Self;

    /// Reads the value from exactly `SIZE` bytes.
    fn load(bytes: &[u8]) -> Self;

    /// Writes the value to exactly `SIZE` bytes.
    fn store(&self, bytes: &mut [u8]);
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Field for $integer {
            const SIZE: usize = size_of::<$integer>();

            fn zero() -> Self {
                0
            }

            fn load(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("a field has the bytes of its type"))
            }

            fn store(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 u128);

impl<T: Field, const N: usize> Field for [T; N] {
    const SIZE: usize = N * T::SIZE;

    fn zero() -> Self {
        std::array::from_fn(|_| T::zero())
    }

    fn load(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::load(&bytes[i * T::SIZE..(i + 1) * T::SIZE]))
    }

    fn store(&self, bytes: &mut [u8]) {
        for (element, place) in self.iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
            element.store(place);
        }
    }
}

/// A structure as it is sent: `T::SIZE` bytes.
pub(crate) fn bytes_of<T: Field>(structure: &T) -> Vec<u8> {
    let mut bytes = vec![0; T::SIZE];
    structure.store(&mut bytes);
    bytes
}

/// The structure at the front of `bytes`; none if they are too few.
pub(crate) fn front_of<T: Field>(bytes: &[u8]) -> Option<T> {
    bytes.get(..T::SIZE).map(T::load)
}

/// Text in a field of fixed length: a short text is filled up with `fill`, a long text is cut off.
pub(crate) fn text<const N: usize>(text: &str, fill: u8) -> [u8; N] {
    let mut field = [fill; N];
    let length = text.len().min(N);
    field[..length].copy_from_slice(&text.as_bytes()[..length]);
    field
}

/// True if the fields, each with offset and size, are in order, apart from each other and inside `size` bytes.
pub(crate) const fn is_sound(fields: &[(usize, usize)], size: usize) -> bool {
    let (mut i, mut end) = (0, 0);
    while i < fields.len() {
        if fields[i].0 < end {
            return false;
        }
        end = fields[i].0 + fields[i].1;
        i += 1;
    }
    end <= size
}

/// Makes a struct of a table of fields, see the head of the module.
macro_rules! layout {
    (
        $(#[$meta:meta])*
        struct $name:ident [$size:expr] {
            $($(#[$field_meta:meta])* $offset:literal $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$field_meta])* pub(crate) $field: $type,)*
        }

        impl $crate::layout::Field for $name {
            const SIZE: usize = $size;

            fn zero() -> Self {
                Self { $($field: $crate::layout::Field::zero(),)* }
            }

            fn load(bytes: &[u8]) -> Self {
                Self {
                    $($field: <$type as $crate::layout::Field>::load(
                        &bytes[$offset..$offset + <$type as $crate::layout::Field>::SIZE],
                    ),)*
                }
            }

            fn store(&self, bytes: &mut [u8]) {
                $($crate::layout::Field::store(
                    &self.$field,
                    &mut bytes[$offset..$offset + <$type as $crate::layout::Field>::SIZE],
                );)*
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::layout::Field::zero()
            }
        }

        const _: () = assert!(
            $crate::layout::is_sound(&[$(($offset, <$type as $crate::layout::Field>::SIZE),)*], $size),
            "the fields overlap, are out of order or leave the structure",
        );
    };
}

pub(crate) use layout;

#[cfg(test)]
mod tests {
    use super::{Field, bytes_of, front_of, is_sound, text};

    layout! {
        /// A structure with a gap.
        struct Sample [12] {
            0 first: u8,
            2 pair: [u16; 2],
            8 last: u32,
        }
    }

    #[test]
    fn fields_are_little_endian_at_their_offsets() {
        let sample = Sample { first: 1, pair: [0x0203, 0x0405], last: 0x0607_0809 };
        let bytes = bytes_of(&sample);
        assert_eq!(bytes, [1, 0, 3, 2, 5, 4, 0, 0, 9, 8, 7, 6]);
        assert_eq!(front_of::<Sample>(&bytes), Some(sample));
        assert_eq!(front_of::<Sample>(&bytes[..11]), None);
        assert_eq!(Sample::default(), Sample::load(&[0; 12]));
    }

    #[test]
    fn unsound_tables_are_found() {
        assert!(is_sound(&[(0, 4), (4, 2)], 6));
        assert!(!is_sound(&[(0, 4), (3, 2)], 6), "overlap");
        assert!(!is_sound(&[(4, 2), (0, 4)], 6), "order");
        assert!(!is_sound(&[(0, 4), (4, 3)], 6), "length");
    }

    #[test]
    fn text_is_filled_and_cut() {
        assert_eq!(text::<4>("ab", b' '), *b"ab  ");
        assert_eq!(text::<3>("abcd", 0), *b"abc");
    }
}
