"""Write the fields of descriptions into the schema of manifests: `python docs/make_parameters.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from symveil.mechanisms.choice import MechanismChoice
from symveil.parameters import schema_of

DOCS = Path(__file__).parent
SHIPPED = DOCS.parent / "src" / "symveil" / "formats" / "schemas" / "manifest.schema.json"
SCHEMAS = (SHIPPED, DOCS / "manifest.schema.json")


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
    for path in SCHEMAS:
        path.write_text(manifest_schema(path.read_text(encoding="utf-8")), encoding="utf-8")
