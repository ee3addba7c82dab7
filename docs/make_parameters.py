"""Write the fields of descriptions into a page and into schemas: `python docs/make_parameters.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from symveil.formats.cost_files import CostFiles
from symveil.formats.sequences.columns import ColumnOptions
from symveil.mechanisms.choice import MechanismChoice, takers
from symveil.parameters import list_of, schema_of
from symveil.tasks.count import CountOptions
from symveil.tasks.learn_privately import LearnOptions
from symveil.tasks.parameters import RunOptions

DOCS = Path(__file__).parent
PAGE = DOCS / "reference" / "parameters.md"
SHIPPED = DOCS.parent / "src" / "symveil" / "formats" / "schemas" / "manifest.schema.json"
SCHEMAS = (SHIPPED, DOCS / "manifest.schema.json")
_OPENING = """\
<!-- Written by docs/make_parameters.py from the fields of the classes; do not edit. -->

# Parameters

Each parameter is declared once, as a field of a class. The options of commands, the fields of the studio's forms, the
schema of manifests and the parameters of Python functions are made from these fields. The option of a parameter is its
name with dashes, if no other is named; its meaning is in [commands](commands.md#shared-options) and in the docstrings
of [Python](mechanisms.md). In italics: the label in a form; then the default.
"""
_SECTIONS = (
    ("Which mechanism", "`MechanismChoice`: `release`, `explain`, `audit`, `privatize`; in the studio *Release*."),
    ("Costs from files", "`--costs` or `--places` give the `costs` of a mechanism; Python has `sv.read_costs` for it."),
    ("How a file is read", "`ColumnOptions`: every command that reads sequences has those that apply to it."),
    ("How a file is released", "`RunOptions`: `privatize`; other commands that write or charge have some of them."),
    ("What is counted", "`CountOptions`: `count`."),
    ("What is learned", "`LearnOptions`: `learn` with `--epsilon`."),
)


def reference() -> str:
    """The whole page."""
    lists = (
        list_of(MechanismChoice, taken_by=takers),
        list_of(CostFiles),
        list_of(ColumnOptions),
        list_of(RunOptions),
        list_of(CountOptions),
        list_of(LearnOptions),
    )
    sections = zip(_SECTIONS, lists, strict=True)
    return _OPENING + "".join(f"\n## {title}\n\n{lead}\n\n{fields}" for (title, lead), fields in sections)


def manifest_schema(text: str) -> str:
    """The text of the manifest's schema, with what the fields of `MechanismChoice` say about its parameters."""
    own = json.loads(text)["properties"]["parameters"]
    own["properties"] = schema_of(MechanismChoice, without=("not_private",))
    own["properties"]["mechanism"]["enum"].append("private")  # the policy for opacity of a log's release
    rows = [f"    {_json(name)}: {_json(rule)}" for name, rule in own["properties"].items()]
    others = [f"   {_json(key)}: {_json(own[key])}" for key in own if key != "properties"]
    entry = ",\n".join([*others, '   "properties": {\n' + ",\n".join(rows) + "\n   }"])
    pattern = r'(?m)^  "parameters": \{.*?\},\n(?=  ")'
    return re.sub(pattern, lambda _: f'  "parameters": {{\n{entry}\n  }},\n', text, count=1, flags=re.DOTALL)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    for path in SCHEMAS:
        path.write_text(manifest_schema(path.read_text(encoding="utf-8")), encoding="utf-8")
