"""symveil: differential privacy for symbolic systems.

>>> import symveil as sv
>>> words = sv.words(alphabet="abc", length=5)
>>> mechanism = sv.Exponential(words, epsilon=2)
>>> mechanism.guarantee
Guarantee(epsilon=2.0, how='exact')
>>> private = mechanism.release("abcab")

Names are imported when they are first used, so that `import symveil` costs nothing.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, cast

__version__ = "0.4.0"

if os.environ.get("SYMVEIL_INTERPRETED"):  # compiled loops run as Python: for tests and coverage
    importlib.import_module("symveil.numbers.compiled").interpret()

if TYPE_CHECKING:
    from importlib.abc import InspectLoader

    from symveil.bounds.lower_bound import LowerBound, lower_bound
    from symveil.calibration.edit_channel import ChannelParameters
    from symveil.central.counts import PrivateCounts
    from symveil.enforcement.enforce import enforce_opacity
    from symveil.enforcement.synthesize import synthesize_opacity
    from symveil.errors import SymveilError
    from symveil.estimation.named_table import Estimate
    from symveil.formats.cost_files import read_costs, read_places
    from symveil.formats.models.model_files import load_model, save_model
    from symveil.formats.models.networkx_graphs import from_networkx
    from symveil.formats.models.transition_tables import read_channel
    from symveil.formats.road_graphs import road_model
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.formats.sequences.sequence_files import read_sequences
    from symveil.formats.shapes import read_coordinates
    from symveil.languages.cost_table import CostTable
    from symveil.languages.free import FreeLanguage, words
    from symveil.languages.hamming_automaton import HammingAutomaton, hamming_automaton
    from symveil.languages.levenshtein_automaton import LevenshteinAutomaton, levenshtein_automaton
    from symveil.languages.open import runs_up_to, words_up_to
    from symveil.languages.runs import RunLanguage, runs
    from symveil.laws.adjacency import adjacency_table
    from symveil.laws.guarantee import Guarantee
    from symveil.laws.law import DistanceLaw
    from symveil.laws.protection import protection
    from symveil.mechanisms.calibrate import calibrate
    from symveil.mechanisms.choice import MechanismChoice
    from symveil.mechanisms.edit_channel import EditChannel
    from symveil.mechanisms.exponential import Exponential
    from symveil.mechanisms.law import Law
    from symveil.mechanisms.online import Online
    from symveil.mechanisms.optimal import Optimal
    from symveil.mechanisms.permute_and_flip import PermuteAndFlip
    from symveil.mechanisms.selection import choose_mechanism, select_mechanism
    from symveil.mechanisms.staircase import Staircase
    from symveil.mechanisms.truncated_levenshtein import TruncatedLevenshtein
    from symveil.models.alphabet import Alphabet
    from symveil.models.automaton import Automaton, TransitionSystem
    from symveil.models.channel import Channel
    from symveil.models.labelled_chain import LabelledChain
    from symveil.models.markov_chain import MarkovChain
    from symveil.models.program import unroll
    from symveil.models.program_steps import draw, emit, hide
    from symveil.models.silent import without_silent
    from symveil.models.stochastic_system import LogicalSystem, StochasticSystem
    from symveil.pictures.maps import road_map_svg
    from symveil.tasks.budgets import grant_budget, ledger_status, person_status
    from symveil.tasks.check import check_manifest
    from symveil.tasks.compare import compare
    from symveil.tasks.compare_tables import compare_table
    from symveil.tasks.count import count, count_file
    from symveil.tasks.estimate import estimate, estimate_statistic
    from symveil.tasks.explain import average_over_model
    from symveil.tasks.learn import alphabet_of, learn_chain
    from symveil.tasks.learn_privately import learn
    from symveil.tasks.privatize import privatize
    from symveil.tasks.privatize_file import privatize_file
    from symveil.tasks.symbols import position_symbols, symbols_file
    from symveil.tasks.synthesize import synthesize
    from symveil.tasks.table_files import read_counts
    from symveil.tasks.verify import compose, privacy_curve
    from symveil.verification.audit import audit
    from symveil.verification.chain_pairs import audit_by_chain
    from symveil.verification.opacity.observation import delayed_estimate, observer
    from symveil.verification.opacity.opacity_verdict import violation_probability
    from symveil.verification.opacity.run_observations import sensitive_strings
    from symveil.verification.opacity.verify import verify_opacity
    from symveil.verification.smallest_epsilon import smallest_epsilon
    from symveil.verification.verify_privacy import verify_privacy

__all__ = [
    "Alphabet",
    "Automaton",
    "Channel",
    "ChannelParameters",
    "ColumnOptions",
    "CostTable",
    "DistanceLaw",
    "EditChannel",
    "Estimate",
    "Exponential",
    "FreeLanguage",
    "Guarantee",
    "HammingAutomaton",
    "LabelledChain",
    "Law",
    "LevenshteinAutomaton",
    "LogicalSystem",
    "LowerBound",
    "MarkovChain",
    "MechanismChoice",
    "Online",
    "Optimal",
    "PermuteAndFlip",
    "PrivateCounts",
    "RunLanguage",
    "Staircase",
    "StochasticSystem",
    "SymveilError",
    "TransitionSystem",
    "TruncatedLevenshtein",
    "__version__",
    "adjacency_table",
    "alphabet_of",
    "audit",
    "audit_by_chain",
    "average_over_model",
    "calibrate",
    "check_manifest",
    "choose_mechanism",
    "compare",
    "compare_table",
    "compose",
    "count",
    "count_file",
    "delayed_estimate",
    "draw",
    "emit",
    "enforce_opacity",
    "estimate",
    "estimate_statistic",
    "from_networkx",
    "grant_budget",
    "hamming_automaton",
    "hide",
    "learn",
    "learn_chain",
    "ledger_status",
    "levenshtein_automaton",
    "load_model",
    "lower_bound",
    "observer",
    "person_status",
    "position_symbols",
    "privacy_curve",
    "privatize",
    "privatize_file",
    "protection",
    "read_channel",
    "read_coordinates",
    "read_costs",
    "read_counts",
    "read_places",
    "read_sequences",
    "road_map_svg",
    "road_model",
    "runs",
    "runs_up_to",
    "save_model",
    "select_mechanism",
    "sensitive_strings",
    "smallest_epsilon",
    "symbols_file",
    "synthesize",
    "synthesize_opacity",
    "unroll",
    "verify_opacity",
    "verify_privacy",
    "violation_probability",
    "without_silent",
    "words",
    "words_up_to",
]


def __getattr__(name: str) -> object:
    """The name, imported by the statement above that type checkers and the contract of the layers read too."""
    if name not in __all__:
        raise AttributeError(f"module 'symveil' has no attribute {name!r}")
    if not _homes:
        _homes.update(_compiled_imports())
    globals()[name] = getattr(importlib.import_module(_homes[name]), name)
    return globals()[name]


_homes: dict[str, str] = {}


def _compiled_imports() -> dict[str, str]:
    """The module of each name, from the imports above as they were compiled: an installation may have no sources."""
    import dis  # noqa: PLC0415 - only here: `import symveil` costs nothing

    homes, module = {}, ""
    code = cast("InspectLoader", __spec__.loader).get_code(__name__)
    for each in dis.get_instructions(code):  # type: ignore[arg-type]
        if each.opname == "IMPORT_NAME":
            module = each.argval
        elif each.opname == "IMPORT_FROM":
            homes[each.argval] = module
    return homes


def __dir__() -> list[str]:
    return __all__
