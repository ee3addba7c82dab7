"""One Spark for all tests of this folder: starting it takes its time."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import pytest

import symveil as sv
from symveil.release.spark_session import quiet


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    """local[2] with a second chance for each task and no third: `local[N]` alone never runs a task again."""
    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    places = [str(Path(sv.__file__).parents[1]), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)
    from pyspark.sql import SparkSession

    with warnings.catch_warnings(action="ignore"), quiet():
        session = (
            SparkSession.builder.master("local[2,2]")
            .config("spark.python.daemon.module", "spark_daemon")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            # a few rows: to compile Java for each query takes longer than to interpret it
            # (docs/how-to/large-files-and-clusters.md runs with Spark's own settings)
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
            .getOrCreate()
        )
    yield session
    session.stop()
