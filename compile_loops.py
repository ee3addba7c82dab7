"""Compiles the loops of symveil, `src/symveil/**/*_loops.py`, by Cython and a C compiler, beside their sources.

`pip install` runs it as a hook of hatchling; `make loops` (`python compile_loops.py`) compiles what has changed since.
What a module was compiled from is written into it: `symveil/numbers/compiled.py` has the digest and compares it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.resolve()
PACKAGE = ROOT / "src" / "symveil"
sys.path.insert(0, str(PACKAGE.parent))

from symveil.numbers.compiled import source_digest, source_of  # noqa: E402 - needs none of the package's libraries

BUILD = ROOT / "build" / "loops"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
SHARED = "symveil.numbers._shared_by_loops"  # Cython's own C functions, once for all modules
PLACE = 'built_from("", __name__)'

# Results are the same bits everywhere: no product is fused with a sum, integers wrap around
EXACT = ["-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-trapping-math"]
FLAGS = [] if os.name == "nt" else ["-O3", *EXACT, "-g0", "-w"]
MACROS = [("CYTHON_COMPRESS_STRINGS", "0")]  # the digest can be read in the compiled module
DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "freethreading_compatible": True,
}
NO_COMPILER = "symveil's loops are compiled when it is installed: install a C compiler (on Debian `apt install gcc`)"


def sources() -> list[Path]:
    """The loops, the longest first: it is compiled while the others are."""
    found = [path for path in PACKAGE.rglob("*_loops.py") if PLACE in path.read_text("utf-8")]
    return sorted(found, key=lambda path: (-path.stat().st_size, path))


def target(source: Path) -> Path:
    """The compiled module of a source."""
    return source.with_suffix(SUFFIX)


def shared() -> Path:
    """The compiled module that all others use."""
    return PACKAGE.joinpath(*SHARED.split(".")[1:]).with_suffix(SUFFIX)


def is_current(source: Path, digest: str) -> bool:
    """Whether what stands beside a source was compiled from it."""
    return target(source).exists() and digest.encode() in target(source).read_bytes()


def copied(source: Path, digest: str) -> Path:
    """The source below `build`, with its digest in it, and what it includes."""
    for declarations in PACKAGE.rglob("*.pxd"):
        copy = BUILD / declarations.relative_to(PACKAGE.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        for folder in copy.relative_to(BUILD).parents:
            (BUILD / folder / "__init__.py").touch()
        copy.write_bytes(declarations.read_bytes())
    copy = BUILD / source.relative_to(PACKAGE.parent)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(source_of(source).replace(PLACE, f'built_from("{digest}", __name__)'), "utf-8")
    return copy


def compile_one(name: str, source: Path | None, built: Path) -> str:
    """One module: C from Python, and machine code from C. Empty, or what the compiler says against it."""
    from Cython.Build import cythonize  # noqa: PLC0415 - not before the digests say that it is needed
    from Cython.Compiler.Errors import CompileError  # noqa: PLC0415
    from setuptools import Distribution, Extension  # noqa: PLC0415
    from setuptools.errors import BaseError  # noqa: PLC0415

    os.chdir(BUILD)
    files = [str(source.relative_to(BUILD))] if source else []  # without one Cython writes the shared functions
    extension = Extension(name, files, extra_compile_args=FLAGS, define_macros=MACROS)
    try:
        extensions = cythonize(
            [extension],
            force=True,
            quiet=True,
            include_path=[str(BUILD)],
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
        )
        command: Any = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib, command.build_temp, command.force = str(BUILD / "out"), str(BUILD / "objects"), True
        command.ensure_finalized()
        command.run()
    except (CompileError, BaseError) as error:
        return f"{name}: {error}"
    made = Path(command.get_ext_fullpath(name))
    waiting = built.with_name(f".{built.name}.{os.getpid()}")
    shutil.copy2(made, waiting)
    waiting.replace(built)  # a process that has loaded the one before keeps it
    return ""


def compile_apart(name: str, source: Path | None, built: Path) -> str:
    """`compile_one` in a process of its own: it changes the folder, and build tools give this module another name."""
    command = [sys.executable, str(ROOT / "compile_loops.py"), "--one", name, str(source or ""), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return "" if done.returncode == 0 else done.stdout + done.stderr


def compiler() -> list[str]:
    """The C compiler's command, as setuptools takes it."""
    return (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()


def compile_loops(force: bool = False, only: tuple[str, ...] = ()) -> list[Path]:
    """Compile what is not compiled from its source of now; returns all compiled modules."""
    digests = {source: source_digest(source) for source in sources() if not only or source.stem in only}
    wanted: list[tuple[str, Path | None, Path]] = []
    if force or not shared().exists():
        wanted.append((SHARED, None, shared()))
    for source, digest in digests.items():
        if force or not is_current(source, digest):
            name = ".".join(source.relative_to(PACKAGE.parent).with_suffix("").parts)
            wanted.append((name, copied(source, digest), target(source)))
    if wanted:
        if os.name != "nt":
            try:
                subprocess.run([*compiler(), "--version"], capture_output=True, check=True)  # noqa: S603
            except (OSError, subprocess.CalledProcessError):
                raise SystemExit(NO_COMPILER) from None
        BUILD.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(min(len(wanted), os.cpu_count() or 1)) as pool:
            faults = [fault for fault in pool.map(compile_apart, *zip(*wanted, strict=True)) if fault]
        if faults:
            raise SystemExit("\n".join(faults))
    return [shared(), *map(target, digests)]


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # `make loops` needs no hatchling
    pass
else:

    class CompiledLoops(BuildHookInterface[Any]):
        """What hatchling runs before it builds a wheel, or installs this tree as it is."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's names
            """Compile, and let the wheel hold what was compiled, for this Python and this platform."""
            if self.target_name != "wheel":
                return
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["artifacts"] += [f"/{path.relative_to(ROOT).as_posix()}" for path in compile_loops()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compile the loops that have changed.")
    parser.add_argument("modules", nargs="*", help="names of modules, such as linear_loops; without any: all")
    parser.add_argument("--force", action="store_true", help="those that have not changed too")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # compile_apart
    given = parser.parse_args()
    if given.one:
        module, path, into = given.one
        sys.exit(compile_one(module, Path(path) if path else None, Path(into)) or None)
    compile_loops(given.force, tuple(given.modules))
