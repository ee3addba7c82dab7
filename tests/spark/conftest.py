"""One Spark for all tests of this folder: starting it takes its time."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import pytest

import symveil as sv
from symveil.engines.spark_session import quiet


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    """local[2] with a second chance for each task: `local[N]` alone never runs a task again."""
    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(sv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    from pyspark.sql import SparkSession

    with warnings.catch_warnings(action="ignore"), quiet():
        session = (
            SparkSession.builder.master("local[2,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
            .getOrCreate()
        )
    yield session
    session.stop()
