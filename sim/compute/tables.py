#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the Compute schema pack into C tables: operations with their query parameters, and the types of
everything that a request may carry.

    tables.py gce.json > compute_tables.c

The simulator refuses what the pack does not know; it must not know more or less than the checker of
recorded traffic does, so both read the same pack.  Run by meson.
"""
import json
import sys


def posix(pattern):
    """The pattern as a POSIX extended regular expression: regcomp() knows no (?:…)."""
    return pattern and pattern.replace("(?:", "(").replace("0-9-_]", "0-9_-]")


def c_string(text):
    return json.dumps(text) if text is not None else "NULL"


class Tables:
    """Types are numbered as they are met; equal types share a number."""

    def __init__(self, pack):
        self.pack = pack
        self.types, self.rows = {}, []
        self.names = {}

    def type_of(self, schema):
        """Number of the type of a schema."""
        if "$ref" in schema:
            return self.definition(schema["$ref"].rsplit("/", 1)[1])
        key = json.dumps(schema, sort_keys=True)
        if key in self.types:
            return self.types[key]
        number = self.types[key] = len(self.rows)
        self.rows.append(None)
        self.rows[number] = self.row(schema)
        return number

    def definition(self, name):
        if name not in self.names:
            number = self.names[name] = len(self.rows)
            self.rows.append(None)
            self.rows[number] = self.row(self.pack["definitions"][name])
        return self.names[name]

    def row(self, schema):
        kind = schema.get("type")
        row = {"kind": "SCHEMA_ANY", "fields": None, "item": -1, "enum": schema.get("enum"),
               "pattern": posix(schema.get("pattern")), "min": schema.get("minimum"), "max": schema.get("maximum")}
        if kind == "object" and "properties" in schema:
            row["kind"] = "SCHEMA_OBJECT"
            row["fields"] = [(name, self.type_of(rule), bool(rule.get("readOnly")))
                             for name, rule in sorted(schema["properties"].items())]
        elif kind == "object":
            extra = schema.get("additionalProperties")
            row["kind"] = "SCHEMA_MAP"
            row["item"] = self.type_of(extra) if isinstance(extra, dict) else -1
        elif kind == "array":
            row["kind"], row["item"] = "SCHEMA_ARRAY", self.type_of(schema["items"])
        elif kind in ("string", "integer", "number", "boolean"):
            row["kind"] = "SCHEMA_" + kind.upper()
        return row

    def request(self, schema):
        """(type number, required members) of an operation's body."""
        if schema is None:
            return -1, []
        required = []
        for part in schema.get("allOf", [schema]):
            required += part.get("required", [])
            if "$ref" in part:
                number = self.type_of(part)
        return number, required


def listed_elsewhere(pack):
    """Lists that no controller of the pack asks for, but ingress-gce's own program does: as that of a region."""
    for op in pack["operations"]:
        if op["id"] == "compute.regionBackendServices.list":
            yield {**op, "id": "compute.backendServices.list", "path": "projects/{project}/global/backendServices"}


GLOBAL = {"addresses": ("get", "list", "insert", "delete"),
          "forwardingRules": ("get", "list", "insert", "delete", "patch", "setLabels", "setTarget")}


def global_ones(pack):
    """The operations of global addresses and rules are those of a region's, with another path."""
    for op in pack["operations"]:
        _, collection, verb = op["id"].split(".")
        if verb in GLOBAL.get(collection, ()):
            yield {**op, "id": f"compute.global{collection[0].upper()}{collection[1:]}.{verb}",
                   "path": op["path"].replace("regions/{region}", "global")}


def print_operations(tables, pack, out):
    queries = {}
    rows = []
    for op in sorted([*pack["operations"], *listed_elsewhere(pack), *global_ones(pack)], key=lambda o: o["id"]):
        query = tuple(sorted((n, tables.type_of(s)) for n, s in {**pack["query"], **op.get("query", {})}.items()))
        queries.setdefault(query, len(queries))
        number, required = tables.request(op["request"])
        rows.append((op, queries[query], number, required))
    for query, number in queries.items():
        items = ", ".join(f"{{{c_string(n)}, {t}, false}}" for n, t in query)
        out(f"static const struct schema_field query_{number}[] = {{{items}, {{NULL, 0, false}}}};")
    for op, _, _, required in rows:
        if required:
            name = op["id"].replace(".", "_")
            out(f"static const char *const required_{name}[] = "
                f"{{{', '.join(map(c_string, required))}, NULL}};")
    out("const struct compute_op compute_ops[] = {")
    for op, query, number, required in rows:
        name = f"required_{op['id'].replace('.', '_')}" if required else "NULL"
        out(f"    {{{c_string(op['id'])}, {c_string(op['method'])}, {c_string(op['path'])}, query_{query}, "
            f"{number}, {name}, {'true' if op.get('longRunning') else 'false'}}},")
    out("    {NULL},\n};")


def print_types(tables, out):
    enums = {}
    for row in tables.rows:
        if row["enum"]:
            enums.setdefault(tuple(row["enum"]), len(enums))
    for values, number in enums.items():
        out(f"static const char *const enum_{number}[] = {{{', '.join(map(c_string, values))}, NULL}};")
    for number, row in enumerate(tables.rows):
        if row["fields"] is not None:
            items = "".join(f"    {{{c_string(n)}, {t}, {'true' if r else 'false'}}},\n"
                            for n, t, r in row["fields"])
            out(f"static const struct schema_field fields_{number}[] = {{\n{items}    {{NULL, 0, false}},\n}};")
    out("const struct schema_type compute_types[] = {")
    for number, row in enumerate(tables.rows):
        fields = f"fields_{number}" if row["fields"] is not None else "NULL"
        values = f"enum_{enums[tuple(row['enum'])]}" if row["enum"] else "NULL"
        has = row["min"] is not None and row["kind"] != "SCHEMA_NUMBER"
        low, high = (row["min"], row["max"]) if has else (0, 0)
        out(f"    {{{row['kind']}, {fields}, {row['item']}, {values}, {c_string(row['pattern'])}, "
            f"{'true' if has else 'false'}, {low}, {high}}},")
    out("};")


def main():
    pack = json.load(open(sys.argv[1], encoding="utf-8"))
    tables = Tables(pack)
    operations = []
    print_operations(tables, pack, operations.append)
    # Resource types that only answers carry are needed to know what is output-only.
    print("/* Generated by tables.py from the Compute schema pack; do not edit. */")
    print('#include "sim/compute/schema.h"\n\n#include <stddef.h>\n')
    print_types(tables, print)
    print("\n".join(operations))


main()
