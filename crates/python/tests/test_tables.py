"""Tables go to pyarrow, pandas, polars and DuckDB, and tables of these come back as workloads."""

from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest
from conftest import DEVICE, WORKLOAD

import flashloom


@pytest.fixture(scope="module")
def outcome() -> flashloom.Outcome:
    workload = flashloom.Workload.parse(WORKLOAD)
    return flashloom.run(DEVICE, workload, requests=True, explain=True, series="5ms", precondition="fill")


def test_every_library_reads_every_table(outcome: flashloom.Outcome) -> None:
    for name in ["latency", "series", "requests", "explain", "erases"]:
        table = getattr(outcome, name)
        plain = table.to_pydict()
        arrow = pyarrow.table(table)
        assert arrow.to_pydict() == plain and arrow.num_rows == len(table) == table.num_rows > 0
        assert arrow.column_names == table.column_names
        assert polars.DataFrame(table).to_dict(as_series=False) == plain
        assert duckdb.sql("select count(*) from arrow").fetchall() == [(len(table),)]
        frame = arrow.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == table.column_names
        if hasattr(pandas.DataFrame, "from_arrow"):
            assert pandas.DataFrame.from_arrow(table).equals(frame)


def test_columns_say_their_units(outcome: flashloom.Outcome) -> None:
    assert outcome.requests.units["arrival_ps"] == "ps" and outcome.requests.units["sectors"] == "512B"
    assert outcome.requests.meanings["end_ps"] == "Completion"
    assert pyarrow.table(outcome.requests).schema.field("end_ps").metadata[b"unit"] == b"ps"


def test_counts_are_handed_on_without_a_copy(outcome: flashloom.Outcome) -> None:
    table = outcome.requests
    one, other = (pyarrow.table(table)["end_ps"].chunk(0).buffers()[1].address for _ in range(2))
    assert one == other
    kept = pyarrow.table(table)
    del table
    assert kept["end_ps"][0].as_py() > 0


def test_the_log_agrees_with_the_summary(outcome: flashloom.Outcome) -> None:
    log = pyarrow.table(outcome.requests).to_pandas()
    reads = log[log.kind == "read"]
    of = outcome.summary.kinds["read"]
    assert len(reads) == of.requests
    assert ((reads.end_ps - reads.arrival_ps).mean() / 1e6) == pytest.approx(of.latency_us["mean"], rel=1e-6)


ROWS = [(0.0, "write", 0, 8192), (1e-4, "read", 4096, 4096), (1e-3, "flush", 0, 0), (2e-3, "discard", 0, 8192)]
COLUMNS: dict[str, list[Any]] = {
    name: list(column) for name, column in zip(["time_s", "op", "offset", "size"], zip(*ROWS))
}


def hash_of(source: Any) -> str:
    return flashloom.run(DEVICE, flashloom.Workload(source), verify=True).event_hash


def test_every_library_gives_a_workload() -> None:
    wanted = hash_of(ROWS)
    frame = pandas.DataFrame(COLUMNS)
    assert hash_of(list(frame.itertuples(index=False))) == wanted
    assert hash_of(iter(ROWS)) == wanted and hash_of([list(row) for row in ROWS]) == wanted
    assert hash_of(pyarrow.table(COLUMNS)) == wanted
    assert hash_of(polars.DataFrame(COLUMNS)) == wanted
    assert hash_of(pyarrow.Table.from_pandas(frame.astype({"op": "category"}))) == wanted
    assert hash_of(duckdb.sql("select * from frame").to_arrow_table()) == wanted
    nanoseconds = pyarrow.array([round(row[0] * 1e9) for row in ROWS], pyarrow.duration("ns"))
    assert hash_of(pyarrow.table(COLUMNS).set_column(0, "time", nanoseconds)) == wanted
    assert hash_of(pyarrow.table(COLUMNS).take([3, 1, 2, 0])) == wanted, "rows have no order"
    texts = [("0s", *ROWS[0][1:]), ("100us", *ROWS[1][1:]), ("1ms", *ROWS[2][1:]), ("2ms", *ROWS[3][1:])]
    assert hash_of(texts) == wanted


def test_a_log_is_a_workload(outcome: flashloom.Outcome) -> None:
    again = flashloom.run(DEVICE, flashloom.Workload(outcome.requests), precondition="fill", requests=True)
    one, other = (pyarrow.table(of.requests).to_pandas().sort_values("request") for of in (outcome, again))
    for column in ["kind", "start_sector", "sectors"]:
        assert list(one[column]) == list(other[column])
    offset = one.arrival_ps.min()
    assert list(one.arrival_ps - offset) == list(other.arrival_ps - other.arrival_ps.min())


def test_tables_that_are_no_requests_are_refused() -> None:
    refused: list[tuple[dict[str, list[Any]], str]] = [
        ({"op": ["read"], "offset": [0], "size": [512]}, "has none of these columns: time, time_s"),
        ({"time_s": ["x"], "op": ["read"], "offset": [0], "size": [512]}, "the column time has values of the type"),
        ({"time_s": [0], "op": [1], "offset": [0], "size": [512]}, "make them texts: read, write"),
        ({"time_s": [0], "op": ["read"], "offset": [-1], "size": [512]}, r"request\[0\].offset: is no number"),
        ({"time_s": [0], "op": [None], "offset": [0], "size": [512]}, "the column op|op: is missing"),
        ({"time_s": [None], "op": ["read"], "offset": [0], "size": [512]}, "time"),
        ({"time_s": [0.0], "op": ["read"], "offset": [0.5], "size": [512]}, r"request\[0\].offset: is no number"),
    ]
    for columns, text in refused:
        with pytest.raises(flashloom.DescriptionError, match=text):
            flashloom.Workload(pyarrow.table(columns))
