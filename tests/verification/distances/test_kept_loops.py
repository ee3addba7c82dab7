"""Compiled loops that numba keeps on disk must not outlive what they were compiled from."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from symveil.verification.distances import kernel_loops, sweeps

FOLDER = Path(sweeps.__file__).parent


@pytest.mark.parametrize(
    ("module", "sources"), [(sweeps, ("simplex.py", "lifting.py")), (kernel_loops, ("simplex.py", "sweeps.py"))]
)
def test_a_change_of_the_sources_changes_the_file_that_is_compiled(module: object, sources: tuple[str, ...]) -> None:
    """numba looks at the file of a function only: so that file carries a digest of the others it is compiled from."""
    digest = hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in sources)).hexdigest()[:16]
    assert digest == module.COMPILED_FROM, f"set COMPILED_FROM to {digest}"  # type: ignore[attr-defined]
