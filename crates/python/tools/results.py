"""Writes python/flashloom/results.py from the JSON schemas of the command, so that the types of results are those of Rust.

python tools/results.py         writes the file
python tools/results.py --check  says whether it is up to date
"""

import json
import pathlib
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent.parent
FILE = HERE / "python" / "flashloom" / "results.py"
SCHEMAS = ["result", "seeds-result", "study-result"]
# What a caller meets; the others are the types of their attributes.
ROOTS = ["Summary", "Spread", "Claim"]
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


def definitions() -> dict[str, dict]:
    """All types of all schemas, by name."""
    found: dict[str, dict] = {}
    for schema in SCHEMAS:
        command = [sys.executable, "-m", "flashloom", "schema", schema]
        document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found.update(document["$defs"])
    return found


def type_of(schema: dict, names: dict[str, dict]) -> tuple[str, bool]:
    """The type of a value in Python, and whether it may be missing."""
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            inner = [one for one in schema[choice] if one.get("type") != "null"]
            kinds = sorted({type_of(one, names)[0] for one in inner})
            has_null = len(inner) < len(schema[choice])
            return (kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]", has_null)
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        of = names[name]
        return (name, False) if "properties" in of else type_of(of, names)
    kinds = schema.get("type", "object")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    has_null = "null" in kinds
    kind = next(kind for kind in kinds if kind != "null")
    if kind == "array":
        return f"list[{type_of(schema['items'], names)[0]}]", has_null
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"dict[str, {type_of(inner, names)[0] if isinstance(inner, dict) else 'Any'}]", has_null
    return SCALARS[kind], has_null


def references(schema: object) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else []
        return own + [name for value in schema.values() for name in references(value)]
    return [name for value in schema for name in references(value)] if isinstance(schema, list) else []


def quoted(text: str, indent: str) -> str:
    lines = textwrap.wrap(text.replace("\n", " "), 116 - len(indent) - 3)
    return f'{indent}"""' + f"\n{indent}".join(lines) + '"""'


def written(name: str, schema: dict, names: dict[str, dict]) -> str:
    lines = ["\n", f"class {name}(Record):", quoted(schema.get("description", name), "    "), ""]
    required = schema.get("required", [])
    for key, value in schema["properties"].items():
        kind, has_null = type_of(value, names)
        is_empty = kind.startswith(("list[", "dict["))
        if has_null or (key not in required and not is_empty):
            kind = f"Optional[{kind}]"
        lines.append(f"    {key}: {kind}")
        lines.append(quoted(value.get("description", ""), "    "))
    return "\n".join(lines) + "\n"


def text() -> str:
    names = definitions()
    wanted: list[str] = []
    queue = list(ROOTS)
    while queue:
        name = queue.pop(0)
        if name not in wanted and "properties" in names[name]:
            wanted.append(name)
        queue += [inner for inner in references(names[name]) if inner not in wanted and inner not in queue]
    classes = "".join(written(name, names[name], names) for name in sorted(wanted))
    body = "from flashloom._record import Record\n" + classes
    used = [name for name in ("Any", "Optional", "Union") if f"{name}[" in body or f"{name}]" in body]
    head = '"""The numbers of results, with their units of measure in their names: the keys of the JSON.\n\n'
    head += 'Made by tools/results.py from `flashloom schema`."""\n\n'
    head += "from __future__ import annotations\n\n"
    return head + (f"from typing import {', '.join(used)}\n\n" if used else "") + body


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if FILE.read_text() == text() else f"{FILE} is out of date: run {sys.argv[0]}")
    FILE.write_text(text())
