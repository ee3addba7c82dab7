"""Spark's daemon, having imported what tasks need: every worker is still a process of its own, forked from this one.

A task that fails takes its worker with it, and the next one would import everything again, which takes longer than most
tasks do.
"""

from __future__ import annotations

if __name__ == "__main__":
    from pyspark.daemon import manager

    import symveil as sv
    from symveil.release.spark_job import SparkJob  # noqa: F401

    sv.select_mechanism(sv.words("ab", 2), epsilon=1)  # with it come all mechanisms
    manager()
