"""A study whose results stay in a store, and questions to that store with pandas and DuckDB.

python store_queries.py [FOLDER]
"""

import pathlib
import sys
import tempfile

import duckdb
import pandas
import pyarrow

import flashloom

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "store"

study = flashloom.Study(
    {
        "name": "channels-and-depth",
        "device": "demo",
        "workload": "oltp",
        "run": {"limit": 2000, "precondition": ["fill"]},
        "set": {"device": {"flash": {"blocks": 26}, "ftl": {"capacity": "100MiB"}}},
        "metrics": ["read.p99"],
    }
)
study.axis("channels", "device.flash.channels", [2, 4]).axis("depth", "run.depth", [1, 8])
outcome = study.run(store=folder, progress=False)
again = study.run(store=folder, progress=False)
print(f"{len(outcome)} points; the second time {again.stored} came from the store")

# The table of this study, in pandas.
table = pyarrow.table(outcome.to_arrow()).to_pandas()
for row in table.itertuples():
    print(f"{row.channels:.0f} channels, depth {row.depth:.0f}: read p99 {row.read_p99_us:.1f} us")

# All results of the store, whichever study made them: each is a Parquet file of one row.
files = str(folder / "points" / "*" / "*.parquet")
rows: pandas.DataFrame = duckdb.sql(f"select * from read_parquet('{files}', union_by_name = true)").df()
print(f"{len(rows)} results in the store; the largest write amplification is {rows.waf.max():.2f}")
