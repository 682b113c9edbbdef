//! Requests of a Python program: any iterable of tuples, or an Arrow table.

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{Array, RecordBatch};
use arrow_pyarrow::FromPyArrow;
use base::fault::Fault;
use base::units::{Bytes, SECTOR, Span};
use pyo3::prelude::*;
use pyo3::types::{PyDelta, PyString};
use study::config::did_you_mean;
use workload::script::{ScriptKind, ScriptRequest};

use crate::columns::{Values, picoseconds, values};
use crate::error::Failure;
use crate::value::microseconds;

/// The largest number of faults in a message.
const MOST_FAULTS: usize = 20;

const KINDS: [(&str, ScriptKind); 12] = [
    ("read", ScriptKind::Read),
    ("write", ScriptKind::Write),
    ("flush", ScriptKind::Flush),
    ("discard", ScriptKind::Discard),
    ("append", ScriptKind::Append),
    ("zone_open", ScriptKind::ZoneOpen),
    ("zone_close", ScriptKind::ZoneClose),
    ("zone_finish", ScriptKind::ZoneFinish),
    ("zone_reset", ScriptKind::ZoneReset),
    ("zone_open_zrwa", ScriptKind::ZoneOpenZrwa),
    ("zrwa_flush", ScriptKind::ZrwaFlush),
    ("handle_update", ScriptKind::HandleUpdate),
];

/// Names of the column of arrival times, each with the picoseconds of its unit.
const TIMES: [(&str, u64); 7] = [
    ("time", 1_000_000_000_000),
    ("time_s", 1_000_000_000_000),
    ("time_ms", 1_000_000_000),
    ("time_us", 1_000_000),
    ("time_ns", 1_000),
    ("time_ps", 1),
    ("arrival_ps", 1),
];
/// Name of the column with the number of a request in a log.
const NUMBER: &str = "request";
const OPS: [(&str, u64); 2] = [("op", 1), ("kind", 1)];
const OFFSETS: [(&str, u64); 2] = [("offset", 1), ("start_sector", SECTOR.get())];
const SIZES: [(&str, u64); 2] = [("size", 1), ("sectors", SECTOR.get())];
/// Name of the column with the placement identifiers of writes, which a table may lack.
const PLACEMENT: &str = "placement";

/// Reads the requests of an argument, in its order.
pub(crate) fn requests(source: &Bound<'_, PyAny>) -> Result<Vec<ScriptRequest>, Failure> {
    let read = if source.hasattr("__arrow_c_stream__")? { of_table(source)? } else { of_tuples(source)? };
    let mut faults = read.faults;
    if faults.is_empty() {
        return Ok(read.requests);
    }
    if faults.len() > MOST_FAULTS {
        let more = faults.len() - MOST_FAULTS;
        faults.truncate(MOST_FAULTS);
        faults.push(Fault::new("request", format!("has {more} more faults"), "correct these first"));
    }
    Err(Failure::arguments(faults))
}

/// The requests and the faults that were read.
#[derive(Default)]
struct Read {
    requests: Vec<ScriptRequest>,
    faults: Vec<Fault>,
}

impl Read {
    /// Notes the next request, or its fault.
    fn add(&mut self, request: Result<ScriptRequest, Wrong>) {
        let at = self.requests.len() + self.faults.len();
        match request {
            Ok(request) => self.requests.push(request),
            Err(Wrong { part, message, remedy }) => {
                self.faults.push(Fault::new(format!("request[{at}]{part}"), message, remedy));
            }
        }
    }
}

/// A fault of a request, before the number of the request is known.
struct Wrong {
    part: &'static str,
    message: String,
    remedy: String,
}

impl Wrong {
    fn new(part: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { part, message: message.into(), remedy: remedy.into() }
    }
}

fn kind(name: &str) -> Result<ScriptKind, Wrong> {
    let found = KINDS.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, kind)| kind).ok_or_else(|| {
        let meant = did_you_mean(name, KINDS.map(|(known, _)| known));
        let all = KINDS.map(|(known, _)| known).join(", ");
        Wrong::new(".op", format!("`{name}` is no kind of request"), format!("{meant}choose one of {all}"))
    })
}

/// Converts a time in units of `picoseconds` each.
fn time(units: f64, picoseconds: u64) -> Result<Span, Wrong> {
    let exact = units * picoseconds as f64;
    // With this limit, sums of times stay far below the end of simulated time.
    if exact.is_finite() && (0.0..1e19).contains(&exact) {
        return Ok(Span::from_ps(exact.round() as u64));
    }
    Err(Wrong::new(".time", format!("`{units}` is no time of arrival"), "use seconds since the start, from zero on"))
}

fn whole_time(units: u64, picoseconds: u64) -> Result<Span, Wrong> {
    let exact = units.checked_mul(picoseconds).map(Span::from_ps);
    exact.ok_or_else(|| Wrong::new(".time", format!("`{units}` is too late"), "use times since the start"))
}

/// Reads an iterable of tuples: time, op, offset, size.
fn of_tuples(source: &Bound<'_, PyAny>) -> Result<Read, Failure> {
    let mut read = Read::default();
    for (at, item) in source.try_iter()?.enumerate() {
        let item = item?;
        read.add(of_tuple(&item));
        if at.is_multiple_of(1 << 16) {
            source.py().check_signals()?;
        }
        if read.faults.len() > MOST_FAULTS {
            break;
        }
    }
    Ok(read)
}

fn of_tuple(item: &Bound<'_, PyAny>) -> Result<ScriptRequest, Wrong> {
    let remedy = "write (time, op, offset, size), e.g. (0.5, \"read\", 0, 4096); a fifth value is the placement identifier of a write";
    let shown = || item.repr().map_or_else(|_| "it".to_owned(), |text| text.to_string());
    let wrong = |_| Wrong::new("", format!("`{}` is no request", shown()), remedy);
    let with_placement = item.extract::<[Bound<'_, PyAny>; 5]>();
    let ([at, op, offset, size], placement) = match with_placement {
        Ok([at, op, offset, size, placement]) => ([at, op, offset, size], Some(placement)),
        Err(_) => (item.extract::<[Bound<'_, PyAny>; 4]>().map_err(wrong)?, None),
    };
    let name: String = op.extract().map_err(|_| Wrong::new(".op", format!("`{op}` is no text"), remedy))?;
    let bytes = |part, value: &Bound<'_, PyAny>| {
        let bytes = value.extract().map(Bytes::new);
        bytes.map_err(|_| Wrong::new(part, format!("`{value}` is no number of bytes"), "use a whole number from 0 on"))
    };
    Ok(ScriptRequest {
        at: arrival(&at)?,
        kind: kind(&name)?,
        start: bytes(".offset", &offset)?,
        size: bytes(".size", &size)?,
        placement: placement.map_or(Ok(0), |id| id.extract().map_err(|_| wrong_placement(&id.to_string())))?,
    })
}

fn wrong_placement(shown: &str) -> Wrong {
    Wrong::new(".placement", format!("`{shown}` is no placement identifier"), "use a whole number from 0 to 65535")
}

/// Converts a time of arrival: seconds, a text with a unit of measure, or a `timedelta`.
fn arrival(value: &Bound<'_, PyAny>) -> Result<Span, Wrong> {
    let remedy = "use seconds, a text such as \"25us\", or a timedelta";
    let wrong = || Wrong::new(".time", format!("`{value}` is no time of arrival"), remedy);
    if value.is_instance_of::<PyDelta>() {
        return whole_time(u64::try_from(microseconds(value).map_err(|_| wrong())?).map_err(|_| wrong())?, 1_000_000);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return text.to_string().parse().map_err(|_| wrong());
    }
    time(value.extract().map_err(|_| wrong())?, TIMES[0].1)
}

/// Reads an Arrow table and sorts its requests by arrival, because the rows of a table have no order, and the rows of a
/// request log are in the order of completion.
fn of_table(source: &Bound<'_, PyAny>) -> Result<Read, Failure> {
    let (mut read, mut numbers) = (Read::default(), Vec::new());
    for batch in RecordBatchStreamReader::from_pyarrow_bound(source)? {
        let batch = batch.map_err(|error| Failure::argument("table", error.to_string(), "pass another table"))?;
        of_batch(&batch, &mut read)?;
        if let Some(column) = batch.column_by_name(NUMBER) {
            numbers.extend(whole(NUMBER, column)?);
        }
    }
    if read.faults.is_empty() {
        // Requests with equal arrivals are sorted by their numbers, or else by their rows.
        numbers.resize(read.requests.len(), None);
        let mut rows: Vec<_> = read.requests.into_iter().zip(numbers).collect();
        rows.sort_by_key(|(request, number)| (request.at, *number));
        read.requests = rows.into_iter().map(|(request, _)| request).collect();
    }
    Ok(read)
}

/// Finds a column of a batch by any of its names; returns the factor of that name, and the values.
fn column<'a>(batch: &'a RecordBatch, names: &[(&'static str, u64)]) -> Result<(u64, &'a dyn Array), Failure> {
    let found = names.iter().find_map(|(name, factor)| Some((*factor, batch.column_by_name(name)?.as_ref())));
    found.ok_or_else(|| {
        let all = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let schema = batch.schema();
        let has = schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
        let message = format!("has none of these columns: {all}; it has {has}");
        Failure::argument("table", message, "rename its columns, e.g. to time_s, op, offset and size")
    })
}

/// Returns the values of a column of whole numbers, in its own unit.
fn whole(name: &str, of: &dyn Array) -> Result<Vec<Option<u64>>, Failure> {
    match values(of) {
        Some(Values::Whole(values)) => Ok(values),
        Some(Values::Number(values)) => {
            let exact = |value: f64| ((0.0..1e18).contains(&value) && value.fract() == 0.0).then_some(value as u64);
            Ok(values.into_iter().map(|value| value.and_then(exact)).collect())
        }
        _ => Err(no_numbers(name, of)),
    }
}

fn no_numbers(name: &str, of: &dyn Array) -> Failure {
    let message = format!("the column {name} has values of the type {}", of.data_type());
    Failure::argument("table", message, "make them numbers")
}

fn of_batch(batch: &RecordBatch, read: &mut Read) -> Result<(), Failure> {
    let (unit, at) = column(batch, &TIMES)?;
    let unit = picoseconds(at.data_type()).unwrap_or(unit);
    let times: Vec<Option<Result<Span, Wrong>>> = match values(at) {
        Some(Values::Whole(values)) => values.into_iter().map(|value| Some(whole_time(value?, unit))).collect(),
        Some(Values::Number(values)) => values.into_iter().map(|value| Some(time(value?, unit))).collect(),
        _ => return Err(no_numbers("time", at)),
    };
    let (_, ops) = column(batch, &OPS)?;
    let Some(Values::Text(ops)) = values(ops) else {
        let message = format!("the column op has values of the type {}", ops.data_type());
        return Err(Failure::argument("table", message, "make them texts: read, write, flush or discard"));
    };
    let ((per_offset, offsets), (per_size, sizes)) = (column(batch, &OFFSETS)?, column(batch, &SIZES)?);
    let (offsets, sizes) = (whole("offset", offsets)?, whole("size", sizes)?);
    let placements = match batch.column_by_name(PLACEMENT) {
        Some(column) => whole(PLACEMENT, column)?,
        None => vec![None; offsets.len()],
    };
    for ((((at, op), offset), size), id) in times.into_iter().zip(ops).zip(offsets).zip(sizes).zip(placements) {
        let bytes = |part, value: Option<u64>, factor: u64| {
            let bytes = value.and_then(|value| value.checked_mul(factor)).map(Bytes::new);
            bytes.ok_or_else(|| Wrong::new(part, "is no number of bytes", "use whole numbers from 0 on"))
        };
        let missing = |part| Wrong::new(part, "is missing", "give every request one");
        let one = || {
            let kind = kind(&op.ok_or_else(|| missing(".op"))?)?;
            // Only writes have a placement identifier, as in a trace.
            let id = id.filter(|_| kind == ScriptKind::Write).unwrap_or_default();
            Ok(ScriptRequest {
                at: at.ok_or_else(|| missing(".time"))??,
                kind,
                placement: u16::try_from(id).map_err(|_| wrong_placement(&id.to_string()))?,
                start: bytes(".offset", offset, per_offset)?,
                size: bytes(".size", size, per_size)?,
            })
        };
        let request = one();
        read.add(request);
        if read.faults.len() > MOST_FAULTS {
            break;
        }
    }
    Ok(())
}
