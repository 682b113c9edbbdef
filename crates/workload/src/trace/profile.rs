//! Guesses the meaning of the columns of a table in no known format, from many lines.
//!
//! Each column is measured: its numbers, their range and order, how many of them differ, how many are multiples of a
//! page or of 512, and its name. A score says how well a column fits a role. The best choice of columns for time,
//! offset and size is suggested to the user, and compared with the columns that a user has named.

use std::collections::HashSet;

use super::columns::{ColumnPlace, Columns, Delimiter, EXAMPLE};
use super::csv::{MOST, fields, number};
use super::doubt::Doubt;
use super::field::{Words, parse_decimal, parse_whole, printable};
use super::head::Head;

const LINES: usize = 1_000;
/// The number of previous rows among which a row's predecessor in the address space is sought.
const STREAMS: usize = 16;
/// The number of columns that are considered.
const WIDTH: usize = 40;
/// The number of decimal digits that count.
const DIGITS: u32 = 9;
const ONE: i128 = 10_i128.pow(DIGITS);
/// A choice of the user is doubted if its score is lower than the best by at least this much.
const MARGIN: f64 = 3.0;
/// The least number of rows for a suggestion.
const FEW: usize = 4;

/// The roles of columns that hold numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Time,
    Offset,
    Size,
}

impl Role {
    const ALL: [Self; 3] = [Self::Time, Self::Offset, Self::Size];

    /// The role's key in `--columns`.
    const fn key(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Offset => "offset",
            Self::Size => "size",
        }
    }

    /// Parts of column names that are typical of the role.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["time", "ts", "stamp", "arriv", "start", "issue", "clock", "date", "when"],
            Self::Offset => &["offset", "lba", "lbn", "sector", "addr", "block", "blk", "pos"],
            Self::Size => &["size", "len", "bytes", "count", "sectors", "nr_"],
        }
    }

    /// Parts of column names that exclude the role.
    const fn wrong_words(self) -> &'static [&'static str] {
        match self {
            Self::Time => {
                &["ctime", "c_time", "creat", "birth", "end", "compl", "resp", "lat", "dur", "disk_time", "id"]
            }
            Self::Offset | Self::Size => &["pid", "tid", "uid", "cpu", "time", "lat", "hash", "seq", "ino", "_id"],
        }
    }
}

#[derive(Debug, Default)]
struct ProfileColumn {
    name: String,
    /// The number in each row; `None` if the cell is not a number.
    numbers: Vec<Option<i128>>,
    decimals: bool,
    /// The number of cells that name an operation.
    ops: usize,
    moves: usize,
}

#[derive(Debug)]
struct ProfileTable {
    delimiter: Delimiter,
    /// True if the first row has the names of the columns.
    header: bool,
    rows: usize,
    columns: Vec<ProfileColumn>,
}

/// Parses a number, decimal with a point or a comma, or hexadecimal after `0x`. Returns it times 10^9.
fn value(cell: &str) -> Option<i128> {
    let plain = || parse_decimal(cell.replacen(',', ".", 1).as_bytes(), DIGITS);
    let hexadecimal = || number(Some(cell.as_bytes()), "").ok().map(|value| i128::from(value) * ONE);
    plain().or_else(hexadecimal)
}

/// True for words of operations: `R`, `Read`, `WRITE`, `trim`, and the letters of blktrace (`RA`, `FWFS`).
fn is_op(cell: &str) -> bool {
    const WORDS: [&str; 16] = [
        "r", "w", "rd", "wr", "read", "write", "reads", "writes", "d", "discard", "trim", "unmap", "f", "flush",
        "sync", "fsync",
    ];
    let letters = cell.strip_prefix('F').unwrap_or(cell);
    let rwbs = letters.starts_with(['R', 'W', 'D'])
        && letters.len() <= 6
        && letters[1..].bytes().all(|b| b"FSAMUB".contains(&b));
    rwbs || WORDS.contains(&cell.to_ascii_lowercase().as_str())
}

fn cells(line: &[u8], delimiter: Delimiter) -> Vec<String> {
    match delimiter {
        Delimiter::Blanks => Words::new(line).take(MOST).map(printable).collect(),
        delimiter => fields(line, delimiter.byte()).take(MOST).map(printable).collect(),
    }
}

impl ProfileTable {
    /// Splits these lines into a table, with this delimiter or the delimiter that gives most lines the most columns.
    /// `None` if there are fewer than four columns.
    fn of(lines: &[&[u8]], delimiter: Option<Delimiter>) -> Option<Self> {
        let (delimiter, width) = match delimiter {
            Some(delimiter) => (delimiter, usual_width(lines, delimiter).1),
            None => {
                // The first delimiter in the list wins a tie.
                let ranked =
                    Delimiter::ALL.into_iter().rev().map(|delimiter| (delimiter, usual_width(lines, delimiter)));
                let best = ranked.filter(|(_, (_, width))| *width >= 4).max_by_key(|(_, rank)| *rank);
                best.map(|(delimiter, (_, width))| (delimiter, width))?
            }
        };
        if width < 4 {
            return None;
        }
        // Banners and totals have another number of columns, so they are left out.
        let mut rows = lines.iter().map(|line| cells(line, delimiter)).filter(|row| row.len() == width).peekable();
        let header = rows.peek().is_some_and(|row| !row.iter().any(|cell| value(cell).is_some()));
        let names = if header { rows.next().unwrap_or_default() } else { vec![String::new(); width] };
        let mut columns: Vec<ProfileColumn> =
            names.into_iter().map(|name| ProfileColumn { name, ..ProfileColumn::default() }).collect();
        let mut count = 0;
        for row in rows {
            count += 1;
            for (column, cell) in columns.iter_mut().zip(&row) {
                column.add(cell);
            }
        }
        Some(Self { delimiter, header, rows: count, columns })
    }

    /// The name of a column for `--columns`: the name in the header, or the number from 1.
    fn label(&self, n: usize) -> String {
        let name = &self.columns[n].name;
        let safe = self.header && !name.contains([',', ':', '=', '?']) && parse_whole(name.as_bytes()).is_none();
        if safe && !name.is_empty() { name.clone() } else { (n + 1).to_string() }
    }

    /// The column with the operations, if there is one.
    fn op(&self) -> Option<usize> {
        let is = |column: &ProfileColumn| {
            let named = || ["op", "rw", "type", "cmd", "action", "rwbs", "kind"].iter().any(|word| column.has(word));
            match self.rows {
                0 => named(),
                rows => column.ops * 10 >= rows * 9 && column.moves > 0,
            }
        };
        (0..self.columns.len()).find(|n| is(&self.columns[*n]))
    }

    /// The score of these columns for the roles; `None` if one of them cannot have its role.
    fn score(&self, choice: [usize; 3]) -> Option<f64> {
        let [time, offset, size] = choice;
        let sum = Role::ALL.into_iter().zip(choice).map(|(role, n)| self.columns[n].score(role, self.rows));
        let sum: f64 = sum.collect::<Option<Vec<f64>>>()?.into_iter().sum();
        let apart = time != offset && offset != size && size != time;
        apart.then(|| sum + 4.0 * continuation(&self.columns[offset], &self.columns[size]))
    }

    /// The best choice of columns for time, offset and size.
    fn best(&self) -> Option<([usize; 3], f64)> {
        let op = self.op();
        let all: Vec<usize> = (0..self.columns.len().min(WIDTH)).filter(|n| Some(*n) != op).collect();
        let fit = |role: Role| all.iter().copied().filter(move |n| self.columns[*n].score(role, self.rows).is_some());
        let mut best: Option<([usize; 3], f64)> = None;
        for offset in fit(Role::Offset) {
            for size in fit(Role::Size).filter(|size| *size != offset) {
                // The choice of the time does not depend on the other two.
                let times = fit(Role::Time).filter(|time| *time != offset && *time != size);
                let score = |time: usize| self.columns[time].score(Role::Time, self.rows).unwrap_or(f64::MIN);
                let Some(time) = times.reduce(|best, time| if score(time) > score(best) { time } else { best }) else {
                    continue;
                };
                let choice = [time, offset, size];
                if let Some(score) = self.score(choice)
                    && best.is_none_or(|(_, other)| score > other)
                {
                    best = Some((choice, score));
                }
            }
        }
        best
    }
}

/// The most frequent number of columns, after the share of lines that have it, in tenths.
fn usual_width(lines: &[&[u8]], delimiter: Delimiter) -> (usize, usize) {
    let mut widths: Vec<usize> = lines.iter().map(|line| cells(line, delimiter).len()).collect();
    widths.sort_unstable();
    let groups = widths.chunk_by(|a, b| a == b);
    let usual = groups.max_by_key(|group| (group.len(), group[0])).unwrap_or(&[]);
    (usual.len() * 10 / lines.len().max(1), usual.first().copied().unwrap_or(0))
}

/// The share of rows that begin where an earlier row ends, in the units that fit best.
fn continuation(offsets: &ProfileColumn, sizes: &ProfileColumn) -> f64 {
    let pairs: Vec<(i128, i128)> =
        offsets.numbers.iter().zip(&sizes.numbers).filter_map(|(offset, size)| offset.zip(*size)).collect();
    let follows = |address: i128, unit: i128| {
        let ends = |n: &usize| {
            let (start, _) = pairs[*n];
            let before = &pairs[n.saturating_sub(STREAMS)..*n];
            before.iter().any(|(earlier, size)| *size > 0 && earlier * address + size * unit == start * address)
        };
        (0..pairs.len()).filter(ends).count()
    };
    let most = [(1, 1), (512, 1), (1, 512)].into_iter().map(|(address, unit)| follows(address, unit)).max();
    most.unwrap_or(0) as f64 / pairs.len().max(1) as f64
}

impl ProfileColumn {
    fn add(&mut self, cell: &str) {
        let number = value(cell);
        self.decimals |= number.is_some() && cell.contains(['.', ',']);
        self.numbers.push(number);
        if is_op(cell) {
            self.ops += 1;
            self.moves += usize::from(cell.contains(['r', 'R', 'w', 'W']));
        }
    }

    /// True if the name has this word as a part, in either case.
    fn has(&self, word: &str) -> bool {
        self.name.to_ascii_lowercase().contains(word)
    }

    /// The numbers of the column in order of the rows.
    fn values(&self) -> impl Iterator<Item = i128> + '_ {
        self.numbers.iter().flatten().copied()
    }

    /// The share of positive numbers that are multiples of `of`.
    fn multiples(&self, of: i128) -> f64 {
        let positive = self.values().filter(|value| *value > 0).count();
        let count = self.values().filter(|value| *value > 0 && value % (of * ONE) == 0).count();
        if positive == 0 { 1.0 } else { count as f64 / positive as f64 }
    }

    /// The name of the unit in which the first number is a date of this century; `None` if there is no such unit.
    fn date(&self) -> Option<&'static str> {
        let first = self.values().next()? / ONE;
        let is = |per_second: i128, from: i128| (from..from + 1_136_073_600).contains(&(first / per_second));
        // The year 2004 in seconds since 1970 and, for Windows, since 1601.
        let units = [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)];
        let unit = units.into_iter().find(|(_, per_second)| is(*per_second, 1_072_915_200));
        unit.map(|(name, _)| name).or_else(|| is(10_000_000, 12_717_388_800).then_some("100ns"))
    }

    /// The score of the column for a role; `None` if it cannot have the role.
    fn score(&self, role: Role, rows: usize) -> Option<f64> {
        let lower = self.name.to_ascii_lowercase();
        let name = f64::from(u8::from(role.words().iter().any(|word| lower.contains(word)))) * 3.0
            - f64::from(u8::from(role.wrong_words().iter().any(|word| lower.contains(word)))) * 4.0
            + f64::from(u8::from(role.words().iter().any(|word| lower == *word)));
        if rows == 0 {
            return (name > 0.0).then_some(name);
        }
        let numbers = self.values().count();
        if numbers * 20 < rows * 19 {
            return None;
        }
        let distinct = self.values().collect::<HashSet<_>>().len();
        let share = distinct as f64 / rows as f64;
        let largest = (self.values().max()? / ONE) as f64;
        if role == Role::Time {
            return (distinct > 1 || rows < FEW).then(|| name + self.order() + self.clock(distinct));
        }
        if self.decimals {
            return None;
        }
        let aligned = match () {
            () if self.multiples(512) >= 0.95 => 2.0,
            () if self.multiples(8) >= 0.5 && (role == Role::Offset || largest <= 8_192.0) => 1.0,
            () => 0.0,
        };
        let zeros = self.values().filter(|value| *value == 0).count();
        Some(match role {
            Role::Offset | Role::Time => {
                let date = if self.date().is_some() { 3.0 } else { 0.0 };
                name + 3.0 * share + ((largest + 1.0).log2() / 8.0).min(4.0) + aligned - date
            }
            Role::Size => {
                let usual = if largest <= 67_108_864.0 { 2.0 } else { -4.0 };
                let empty = if zeros * 2 > rows { 4.0 } else { 0.0 };
                name + 2.0 * (1.0 - share) + usual + aligned - empty
            }
        })
    }

    /// The score for the order of the column: 4 if it never goes back; zero for numbers that count rows.
    fn order(&self) -> f64 {
        let values: Vec<i128> = self.values().collect();
        let steps = values.len().saturating_sub(1);
        let back = values.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let rows = steps >= 2 && values.windows(2).all(|pair| pair[1] - pair[0] == ONE);
        4.0 * (1.0 - (4.0 * back as f64 / steps.max(1) as f64).min(1.0)) - if rows { 4.0 } else { 0.0 }
    }

    /// The score for signs of a clock: many different numbers, decimals, dates.
    fn clock(&self, distinct: usize) -> f64 {
        let date = if self.date().is_some() { 3.0 } else { 0.0 };
        2.0 * (distinct as f64 / 8.0).min(1.0) + f64::from(u8::from(self.decimals)) + date
    }

    /// The unit of times: the unit in the name, that of a date, or one in which requests arrive at a usual rate.
    fn time_unit(&self) -> &'static str {
        let lower = self.name.to_ascii_lowercase();
        let title = lower.trim_end_matches(')');
        if let Some(unit) = ["ns", "us", "ms"].into_iter().find(|unit| title.ends_with(unit)) {
            return unit;
        }
        if title.ends_with("(s") || title.ends_with("_s") || title.ends_with("sec") {
            return "s";
        }
        if let Some(unit) = self.date() {
            return unit;
        }
        let span = self.values().max().zip(self.values().min()).map_or(0, |(last, first)| last - first);
        let rate = |per_second: f64| self.numbers.len() as f64 * per_second * ONE as f64 / span as f64;
        let units = [("us", 1e6), ("ns", 1e9), ("ms", 1e3), ("s", 1.0)];
        let decimal = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
        let (order, slowest) = if self.decimals { (decimal, 1e-3) } else { (units, 1.0) };
        let usual = order.into_iter().find(|(_, per_second)| (slowest..=1e6).contains(&rate(*per_second)));
        usual.map_or(order[0].0, |(name, _)| name)
    }

    /// The unit of addresses or sizes.
    fn size_unit(&self, role: Role) -> &'static str {
        let sectors = ["lba", "lbn", "sector", "blk", "block"].iter().any(|word| self.has(word));
        match () {
            () if sectors => "512B",
            () if self.has("byte") => "B",
            () if self.numbers.is_empty() || self.multiples(512) >= 0.95 => "B",
            () if role == Role::Offset => "512B",
            () if self.values().all(|value| value < 65_536 * ONE) => "512B",
            () => "B",
        }
    }
}

/// A description of the columns of a table in no known format, and true if it was found for that table; otherwise it is
/// an example.
pub(crate) fn suggestion(head: &Head<'_>) -> (String, bool) {
    let lines: Vec<&[u8]> = head.lines().take(LINES).collect();
    described(&lines).map_or_else(|| (EXAMPLE.to_owned(), false), |text| (text, true))
}

fn described(lines: &[&[u8]]) -> Option<String> {
    let table = ProfileTable::of(lines, None)?;
    let op = table.op()?;
    let ([time, offset, size], _) = table.best()?;
    let label = |n: usize| table.label(n);
    let columns = &table.columns;
    let mut text = format!(
        "time={}:{},op={},offset={}:{},size={}:{}",
        label(time),
        columns[time].time_unit(),
        label(op),
        label(offset),
        columns[offset].size_unit(Role::Offset),
        label(size),
        columns[size].size_unit(Role::Size)
    );
    const VOLUMES: [&str; 8] = ["volume", "volume_id", "device", "device_id", "disk", "dev", "lun", "asu"];
    let is_volume = |n: &usize| VOLUMES.contains(&columns[*n].name.to_ascii_lowercase().as_str());
    let volume = (0..columns.len()).filter(is_volume).find(|n| ![time, op, offset, size].contains(n));
    if let Some(volume) = volume {
        text.push_str(&format!(",volume={}", label(volume)));
    }
    if table.delimiter != Delimiter::Comma {
        text.push_str(&format!(",delimiter={}", table.delimiter.name()));
    }
    let comma = columns[time].decimals
        && lines.iter().any(|line| cells(line, table.delimiter).get(time).is_some_and(|cell| cell.contains(',')));
    if comma {
        text.push_str(",decimal=comma");
    }
    let named = [time, op, offset, size].into_iter().chain(volume).any(|n| label(n) == columns[n].name);
    if table.header && !named {
        text.push_str(",header=yes");
    }
    Some(text)
}

/// Doubts about the columns that a user has named: other columns fit the first lines better.
pub(crate) fn doubts(head: &[u8], columns: &Columns) -> Vec<Doubt> {
    let lines: Vec<&[u8]> = Head::of(head).lines().take(LINES).collect();
    let Some(table) = ProfileTable::of(&lines, Some(columns.delimiter)).filter(|table| table.rows >= FEW) else {
        return Vec::new();
    };
    let find = |place: &ColumnPlace| match place {
        ColumnPlace::Numbered(n) => Some(*n).filter(|n| *n < table.columns.len()),
        ColumnPlace::Named(name) => table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)),
    };
    let named = [&columns.time, &columns.offset, &columns.size].map(find);
    let ([Some(time), Some(offset), Some(size)], Some((best, most))) = (named, table.best()) else {
        return Vec::new();
    };
    let taken = [time, offset, size];
    if table.score(taken).is_some_and(|score| score + MARGIN > most) {
        return Vec::new();
    }
    let differ = Role::ALL.into_iter().zip(taken.into_iter().zip(best)).filter(|(_, (taken, best))| taken != best);
    differ
        .map(|(role, (taken, best))| Doubt::Column {
            role: role.key(),
            taken: table.label(taken),
            likely: table.label(best),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(text: &str) -> String {
        suggestion(&Head::of(text.as_bytes())).0
    }

    fn doubted(text: &str, columns: &str) -> Vec<String> {
        let doubts = doubts(text.as_bytes(), &columns.parse().unwrap());
        let line = |doubt: Doubt| match doubt {
            Doubt::Column { role, taken, likely } => format!("{role}: {likely} for {taken}"),
            other => panic!("{other:?}"),
        };
        doubts.into_iter().map(line).collect()
    }

    /// Rows of a plausible trace. `row` gets the number of the row, milliseconds, sector and sectors.
    fn rows(row: impl Fn(u64, u64, u64, u64) -> String) -> String {
        let mixed = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (0..40).map(|n| row(n, n * 40 + mixed(n) % 20, mixed(n + 7) * 8, 8 << (mixed(n + 3) % 5))).collect()
    }

    #[test]
    fn the_time_is_the_column_that_grows_and_not_the_first() {
        let devices = rows(|n, ms, sector, sectors| {
            format!("{},R,{},{},{}\n", n * 7 % 5, sector * 512, sectors * 512, 1_577_808_000_000_000 + ms * 1_000)
        });
        assert_eq!(suggested(&devices), "time=5:us,op=2,offset=3:B,size=4:B");
        assert_eq!(doubted(&devices, "time=1:us,op=2,offset=3:B,size=4:B"), ["time: 5 for 1"]);
        assert_eq!(doubted(&devices, "time=5:us,op=2,offset=3:B,size=4:B"), [] as [&str; 0]);
        // The number of the row grows as well, but is not a time.
        let numbered = rows(|n, ms, sector, sectors| format!("{n},{ms},W,{sector},{}\n", sectors * 512));
        assert_eq!(suggested(&numbered), "time=2:us,op=3,offset=4:512B,size=5:B");
        // The creation time of a file is not a time of arrival.
        let created = format!(
            "c_time,start_time,op_type,file_offset,io_size\n{}",
            rows(|n, ms, sector, sectors| format!(
                "{},{ms}.5,READ,{},{}\n",
                9_000 + n / 9,
                sector * 512,
                sectors * 512
            ))
        );
        assert_eq!(suggested(&created), "time=start_time:s,op=op_type,offset=file_offset:B,size=io_size:B");
        let wrong = "time=c_time:s,op=op_type,offset=file_offset:B,size=io_size:B";
        assert_eq!(doubted(&created, wrong), ["time: start_time for c_time"]);
    }

    #[test]
    fn processes_and_counters_are_no_addresses_and_sectors_no_bytes() {
        let text = rows(|n, ms, sector, sectors| {
            format!("{}.{:03} {} RA {} {}\n", ms / 1_000, ms % 1_000, 4_000 + n % 3, sector + 8, sectors * 512)
        });
        assert_eq!(suggested(&text), "time=1:s,op=3,offset=4:512B,size=5:B,delimiter=blanks");
        let wrong = "time=1:s,op=3,offset=2:512B,size=5:B,delimiter=blanks";
        assert_eq!(doubted(&text, wrong), ["offset: 4 for 2"]);
        let swapped = "time=1:s,op=3,offset=5:B,size=4:512B,delimiter=blanks";
        assert_eq!(doubted(&text, swapped), ["offset: 4 for 5", "size: 5 for 4"]);
    }

    #[test]
    fn requests_that_continue_others_show_their_sizes() {
        // The last column has more usual sizes, but only the fourth leads from one request to the next.
        let text: String = (0..40_u64).map(|n| format!("{}.5 W {} 24 {}\n", n * 3, n * 24 + 8, 8 << (n % 2))).collect();
        assert_eq!(suggested(&text), "time=1:s,op=2,offset=3:512B,size=4:512B,delimiter=blanks");
    }

    #[test]
    fn banners_and_headers_are_no_rows() {
        let text = format!(
            "Attaching 3 probes...\n{}Detaching.\n",
            rows(|_, ms, sector, sectors| format!("{} W {sector} {sectors}\n", 5_000_000_000 + ms * 1_000_000))
        );
        assert_eq!(suggested(&text), "time=1:ns,op=2,offset=3:512B,size=4:512B,delimiter=blanks");
        assert_eq!(
            suggested("stamp;rw;lba;len;disk\n"),
            "time=stamp:us,op=rw,offset=lba:512B,size=len:B,volume=disk,delimiter=semicolon"
        );
        assert_eq!(suggested("hello world\n"), EXAMPLE);
        assert_eq!(suggested("1,2,3,4,5\n2,3,4,5,6\n"), EXAMPLE);
    }
}
