#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every golden plan as a document, and every schema with documents that are wrong.

    documents_test.py GOLDEN_RUNNER CASES     (TAP on stdout)

A schema that takes a document with a member too many, one too few, or one of another name would hold nothing.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import schemas  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

RUNNER, CASES = sys.argv[1:3]


def cases():
    return [folder for cloud in ("aws", "azure", "gce") for folder, _, files in os.walk(os.path.join(CASES, cloud))
            if "plan.txt" in files]


def test_every_plan__is_as_its_schema_says():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plans")
        done = subprocess.run([RUNNER, CASES], env={**os.environ, "TRIMTAB_GOLDEN_JSON": path}, check=False,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:]
        with open(path, encoding="utf-8") as f:
            lines = f.readlines()
    print(f"# {len(lines)} plans of {len(cases())} cases")
    assert len(lines) >= len(cases()) // 2, len(lines)   # a case whose Service is refused has no plan
    for line in lines:
        schemas.check("plan", line)


def nothing_missing(schema):
    """The smallest document that has every member of the schema, with one item in each list."""
    for choice in schema.get("anyOf", []):
        if choice.get("type") != "null":
            return nothing_missing(choice)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    if kind == "object":
        return {name: nothing_missing(member) for name, member in schema["properties"].items()}
    if kind == "array":
        return [nothing_missing(schema["items"])]
    return {"string": "1.4", "integer": 1, "number": 1, "boolean": True}[kind]


def objects(value, path=()):
    """The paths of all objects in a document."""
    if isinstance(value, dict):
        yield path
        for name, member in value.items():
            yield from objects(member, path + (name,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from objects(item, path + (i,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


def test_every_schema__takes_no_member_of_another_name():
    tried = 0
    for name in schemas.NAMES:
        whole = nothing_missing(schemas.validator(name).schema)
        assert not schemas.wrong(name, whole), (name, schemas.wrong(name, whole))
        for path in objects(whole):
            for member in at(whole, path):
                renamed = copy.deepcopy(whole)
                place = at(renamed, path)
                place[member + "s"] = place.pop(member)
                assert schemas.wrong(name, renamed), (name, path, member)
                tried += 1
            more = copy.deepcopy(whole)
            at(more, path)["another"] = 1
            assert schemas.wrong(name, more), (name, path)
    assert tried > 100, tried


def test_every_schema__needs_the_version():
    for name in schemas.NAMES:
        whole = nothing_missing(schemas.validator(name).schema)
        first = whole[0] if isinstance(whole, list) else whole
        assert list(first)[0] == "format_version", name
        for version in (0, 2, "1", None):
            assert schemas.wrong(name, [{**first, "format_version": version}] if isinstance(whole, list)
                                 else {**whole, "format_version": version}), (name, version)


def test_every_schema__is_linked_from_the_page():
    with open(os.path.join(schemas.FOLDER, "..", "interfaces.md"), encoding="utf-8") as f:
        page = f.read()
    for name in schemas.NAMES:
        assert f"](schemas/{name}.json)" in page, name


def test_what_a_command_prints__is_checked_wherever_a_test_asks_for_it():
    for words, name in ((["/b/trimtab", "plan", "-o", "json"], "plan"), (["trimtab", "status", "x", "-o=json"], "status"),
                        (["trimtab", "orphans", "--output", "json"], "orphans"), (["trimtab", "plan"], None),
                        (["trimtab", "rbac", "-o", "json"], None), (["kubectl", "get", "-o", "json"], None)):
        assert schemas.command_of(words) == name, words


if __name__ == "__main__":
    if schemas.jsonschema is None:
        sys.exit(tap.skip("python3-jsonschema is not installed"))
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
