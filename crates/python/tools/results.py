"""Writes python/flashloom/results/ from the JSON schemas of the command, so that the types of results are those of Rust.

python tools/results.py         writes the files
python tools/results.py --check  says whether they are up to date
"""

import json
import pathlib
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent.parent
FOLDER = HERE / "python" / "flashloom" / "results"
SCHEMAS = ["result", "seeds-result", "study-result"]
# What a caller meets; the others are the types of their attributes.
ROOTS = ["Summary", "Spread", "Claim"]
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
# The files, and the types that begin each of them. A type that another one uses is in the file of its first user.
FILES = {
    "_claims": ("Claims of studies, and the spread of a metric over seeds.", ["Claim", "Spread"]),
    "_flash": ("What the flash did, and what it cost.", ["FlashRow", "ErrorSummary", "Erases", "EnduranceSummary", "LifeSummary", "Energies", "PowerSummary", "Utilisation"]),
    "_ftl": ("What an FTL did.", ["FdpSummary", "MapSummary", "MergeSummary", "ParitySummary", "RaidSummary", "RefreshSummary", "SlcCacheSummary", "SlcMlcSummary", "StreamsSummary", "LogSummary", "TranslationSummary", "ZonesSummary"]),
    "_time": ("Time series, and whether a run was steady.", ["SeriesSummary", "SteadySummary", "ValiditySummary", "WarmUpSummary"]),
    "_summary": ("The result of a run.", ["Summary"]),
}
HEAD = "The numbers of results, with their units of measure in their names: the keys of the JSON."
MADE = "Made by tools/results.py from `flashloom schema`."


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


def reached(roots: list[str], names: dict[str, dict], without: set[str]) -> list[str]:
    """The types that the roots use, and the roots, but for those that are known."""
    wanted: list[str] = []
    queue = list(roots)
    while queue:
        name = queue.pop(0)
        if name in without or name in wanted:
            continue
        if "properties" in names[name]:
            wanted.append(name)
        queue += references(names[name])
    return sorted(wanted)


def header(text: str) -> str:
    return f'"""{text}\n\n{MADE}"""\n\nfrom __future__ import annotations\n\n'


def texts() -> dict[str, str]:
    """The files by name."""
    names = definitions()
    files: dict[str, str] = {}
    homes: dict[str, str] = {}
    for file, (text, roots) in FILES.items():
        own = reached(roots, names, set(homes))
        homes.update({name: file for name in own})
        classes = "".join(written(name, names[name], names) for name in own)
        others: dict[str, list[str]] = {}
        used = {name for one in own for name in references(names[one])}
        for name in sorted(used - set(own)):
            if name in homes:
                others.setdefault(homes[name], []).append(name)
        typing = [name for name in ("Any", "Optional", "Union") if f"{name}[" in classes or f"{name}]" in classes]
        imports = [f"from typing import {', '.join(typing)}\n"] if typing else []
        lines = ["from flashloom._record import Record"]
        lines += [f"from flashloom.results.{home} import {', '.join(names)}" for home, names in sorted(others.items())]
        files[file] = header(text) + "\n".join([*imports, *lines]) + "\n" + classes
    every = reached(ROOTS, names, set())
    assert sorted(homes) == every, set(homes) ^ set(every)
    body = "".join(
        f"from flashloom.results.{file} import " + ", ".join(sorted(name for name in homes if homes[name] == file)) + "\n"
        for file in sorted(FILES)
    )
    listed = "".join(f'    "{name}",\n' for name in every)
    files["__init__"] = header(HEAD) + body + f"\n__all__ = [\n{listed}]\n"
    return {name: wrapped_imports(text) for name, text in files.items()}


def wrapped_imports(text: str) -> str:
    """Long lines of imports, one name a line."""
    lines = []
    for line in text.split("\n"):
        start, _, names = line.partition(" import ")
        if line.startswith("from ") and len(line) > 120:
            line = f"{start} import (\n" + "".join(f"    {name},\n" for name in names.split(", ")) + ")"
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    wanted = texts()
    if sys.argv[1:] == ["--check"]:
        old = [name for name, text in wanted.items() if (FOLDER / f"{name}.py").read_text() != text]
        sys.exit(f"{FOLDER} is out of date: run {sys.argv[0]}" if old else 0)
    FOLDER.mkdir(exist_ok=True)
    for name, text in wanted.items():
        (FOLDER / f"{name}.py").write_text(text)
