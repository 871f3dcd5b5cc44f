"""Data engines that frames are counted in: each makes a frame of its own from a PyArrow table."""

import os
import shutil
from functools import cache

import duckdb
import pandas as pd
import polars as pl
import pytest

# What Narwhals says of Dask; the package that it names is for its own users to choose.
IGNORE_DASK = "ignore:Dask support is moving:FutureWarning"


def duckdb_relation(table):
    return duckdb.connect().from_arrow(table)


def dask_frame(table):
    dd = pytest.importorskip("dask.dataframe")
    # Types of Arrow, for Dask would make text of Python objects.
    return dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=3)


def ibis_table(table):
    return pytest.importorskip("ibis").memtable(table)


def spark_frame(table):
    return spark_session().createDataFrame(table)


@cache
def spark_session():
    """Return a session of Spark on two cores; it ends with the process."""
    sql = pytest.importorskip("pyspark.sql")
    if not (shutil.which("java") or "JAVA_HOME" in os.environ):
        pytest.skip("PySpark needs Java, and there is none.")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1"}
    builder = sql.SparkSession.builder.master("local[2]").config(map=settings)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


ENGINES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas on pyarrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars, lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": duckdb_relation,
    "dask": dask_frame,
    "ibis": ibis_table,
    "pyspark": spark_frame,
}
