//! The class `Table`: results that other libraries take over Arrow's PyCapsule interface without a copy.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use report::table::{Column, Field};

use crate::error::Failure;

/// A table of results: `pyarrow.table(t)`, `pandas.DataFrame.from_arrow(t)`, `polars.DataFrame(t)` and DuckDB take it
/// without a copy. The names of its columns end with their units of measure; `units` and `meanings` describe the
/// columns.
#[pyclass(module = "flashloom", frozen)]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Converts the table to an Arrow batch.
    pub(crate) fn new(rows: report::table::Table) -> Result<Self, Failure> {
        let (fields, columns): (Vec<_>, Vec<_>) = rows.into_columns().map(converted).unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        Ok(Self { batch: batch.map_err(|error| Failure::Bug(error.to_string()))? })
    }

    fn described<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for field in self.batch.schema_ref().fields() {
            if let Some(value) = field.metadata().get(key) {
                dict.set_item(field.name(), value)?;
            }
        }
        Ok(dict)
    }
}

/// Converts a column to Arrow. Counts are not copied.
fn converted((field, column): (Field, Column)) -> (arrow_schema::Field, ArrayRef) {
    let (of, values): (DataType, ArrayRef) = match column {
        Column::Count(values) => (DataType::UInt64, Arc::new(UInt64Array::from(values))),
        Column::Number(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
        Column::Text(values) => (DataType::Utf8, Arc::new(StringArray::from_iter_values(values))),
    };
    let is_optional = of == DataType::Float64;
    let mut metadata = HashMap::from([("meaning".to_owned(), field.meaning.into_owned())]);
    if !field.unit.symbol().is_empty() {
        metadata.insert("unit".to_owned(), field.unit.symbol().to_owned());
    }
    (arrow_schema::Field::new(field.name, of, is_optional).with_metadata(metadata), values)
}

fn failed(error: ArrowError) -> Failure {
    Failure::Bug(error.to_string())
}

#[pymethods]
impl Table {
    /// Returns the table as a stream of Arrow, for other libraries.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that wants other types casts them itself, as the interface allows.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let batches: Box<dyn RecordBatchReader + Send> = Box::new(batches);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), c"arrow_array_stream")
    }

    /// Returns the schema of the table, for other libraries.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The number of rows, which all columns have.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The units of measure of the columns that have one, e.g. `ps` or `B/s`.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.described(py, "unit")
    }

    /// The meanings of the columns, by name.
    #[getter]
    fn meanings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.described(py, "meaning")
    }

    /// Returns the columns as lists, for a program without a library for Arrow.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        use arrow_array::cast::AsArray;
        use arrow_array::types::{Float64Type, UInt64Type};
        let dict = PyDict::new(py);
        for (field, column) in self.batch.schema_ref().fields().iter().zip(self.batch.columns()) {
            let name = field.name();
            match field.data_type() {
                DataType::UInt64 => dict.set_item(name, column.as_primitive::<UInt64Type>().values().to_vec())?,
                DataType::Float64 => {
                    dict.set_item(name, column.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())?;
                }
                _ => dict.set_item(name, column.as_string::<i32>().iter().collect::<Vec<_>>())?,
            }
        }
        Ok(dict)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("flashloom.Table({} rows: {})", self.batch.num_rows(), self.column_names().join(", "))
    }
}
