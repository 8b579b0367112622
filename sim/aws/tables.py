#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the schema packs of AWS into C tables: actions, and the types of everything that travels, with their names on the wire.

    tables.py aws-ec2.json aws-elb.json aws-elbv2.json aws-sts.json > aws_tables.c

The simulator refuses what the packs do not know; the checker of recorded traffic reads the same packs, so neither can
know more than the other.  Run by meson.
"""
import json
import re
import sys

KINDS = {"string": "AMZ_STRING", "integer": "AMZ_INTEGER", "boolean": "AMZ_BOOLEAN"}
SERVICES = {"aws-ec2": "AMZ_EC2", "aws-elb": "AMZ_ELB", "aws-elbv2": "AMZ_ELBV2", "aws-sts": "AMZ_STS"}
SCOPES = {"aws-ec2": "ec2", "aws-elb": "elasticloadbalancing", "aws-elbv2": "elasticloadbalancing", "aws-sts": "sts"}


def c_string(text):
    return json.dumps(text) if text is not None else "NULL"


def characters(pattern):
    """The set of characters of a pattern that is one class repeated; None for other patterns, which are not checked."""
    found = re.fullmatch(r"\^\(?(?:\?:)?\[([^\]]*)\][*+]\)?\$", pattern or "")
    if not found or "\\u" in found[1]:
        return None
    text = found[1].replace("\\w", "w").replace("\\s", "s").replace("\\d", "0123456789").replace("a-zA-Z0-9", "w")
    return "".join(dict.fromkeys(text.replace("\\", "")))


class Types:
    """Types are numbered as they are met; definitions and equal inline types of a pack share a number."""

    def __init__(self):
        self.rows, self.known = [], {}

    def of(self, pack, schema):
        """Number of the type of a schema, -1 for "nothing"."""
        if schema is None:
            return -1
        name = schema["$ref"].rsplit("/", 1)[1] if "$ref" in schema else None
        key = (pack["api"], name or json.dumps({k: v for k, v in schema.items() if k != "wire"}, sort_keys=True))
        if key not in self.known:
            number = self.known[key] = len(self.rows)
            self.rows.append(None)
            self.rows[number] = self.row(pack, pack["definitions"][name] if name else schema, name)
        return self.known[key]

    def row(self, pack, schema, name):
        kind = schema.get("type")
        least = schema.get("minimum", schema.get("minLength", schema.get("minItems")))
        most = schema.get("maximum", schema.get("maxLength", schema.get("maxItems")))
        row = {"kind": KINDS.get(kind, "AMZ_ANY"), "name": name, "fields": None, "item": -1,
               "enum": schema.get("enum"), "required": schema.get("required"),
               "ranged": least is not None or most is not None, "min": least or 0, "max": most or 0,
               "chars": characters(schema.get("pattern"))}
        if kind == "object":
            row["kind"] = "AMZ_OBJECT"
            row["fields"] = [self.field(pack, n, s) for n, s in schema.get("properties", {}).items()]
        elif kind == "array":
            row["kind"], row["item"] = "AMZ_ARRAY", self.of(pack, schema["items"])
        return row

    def field(self, pack, name, schema):
        wire = schema.get("wire", {})
        if wire.get("flat"):
            raise SystemExit(f"{pack['api']}: {name}: flat lists are not understood")
        number = self.of(pack, schema)
        item = (wire.get("item") or ("item" if pack["wire"]["protocol"] == "ec2" else "member")
                if self.rows[number] and self.rows[number]["kind"] == "AMZ_ARRAY" else None)
        return name, wire.get("query", name), wire.get("xml", name), item, number


class Lists:
    """NULL-terminated lists of texts, each printed once."""

    def __init__(self):
        self.names = {}

    def name(self, items):
        if not items:
            return "NULL"
        if tuple(items) not in self.names:
            number = len(self.names)
            self.names[tuple(items)] = f"list_{number}"
            print(f"static const char *const list_{number}[] = {{{', '.join(map(c_string, items))}, NULL}};")
        return self.names[tuple(items)]


def print_types(types, lists):
    for number, row in enumerate(types.rows):
        if row["fields"] is not None:
            items = "".join(f"    {{{c_string(n)}, {c_string(q)}, {c_string(x)}, {c_string(i)}, {t}}},\n"
                            for n, q, x, i, t in row["fields"])
            print(f"static const struct amz_field fields_{number}[] = {{\n{items}    {{NULL, NULL, NULL, NULL, 0}},\n}};")
    lines = []
    for number, row in enumerate(types.rows):
        fields = f"fields_{number}" if row["fields"] is not None else "NULL"
        lines.append(f"    {{{row['kind']}, {c_string(row['name'])}, {fields}, {row['item']}, "
                     f"{lists.name(row['enum'])}, {lists.name(row['required'])}, "
                     f"{'true' if row['ranged'] else 'false'}, {row['min']}, {row['max']}, {c_string(row['chars'])}}},")
    print("const struct amz_type amz_types[] = {")
    print("\n".join(lines))
    print("};")


def main():
    types, lists, packs, rows = Types(), Lists(), [], []
    print("/* Generated by tables.py from the schema packs of AWS; do not edit. */")
    print('#include "sim/aws/schema.h"\n\n#include <stddef.h>\n')
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            pack = json.load(file)
        packs.append(pack)
        for op in sorted(pack["operations"], key=lambda o: o["id"]):
            errors = [text for code, status in sorted(op["errors"].items()) for text in (code, str(status))]
            rows.append((op["id"], SERVICES[pack["api"]], types.of(pack, op["request"]),
                         types.of(pack, op["response"]), lists.name(errors)))
    print_types(types, lists)
    print("const struct amz_op amz_ops[] = {")
    for name, service, request, answer, errors in rows:
        print(f"    {{{c_string(name)}, {service}, {request}, {answer}, {errors}}},")
    print("    {NULL, AMZ_EC2, -1, -1, NULL},\n};")
    print("const struct amz_dialect amz_dialects[AMZ_SERVICES_MAX] = {")
    for pack in packs:
        api, wire = pack["api"], pack["wire"]
        space = wire["xmlNamespace"].rstrip("/") + "/"
        print(f"    [{SERVICES[api]}] = {{{c_string(api.split('-')[1])}, {c_string(SCOPES[api])}, "
              f"{c_string(pack['version'])}, {c_string(space)}, {'true' if wire['protocol'] == 'ec2' else 'false'}}},")
    print("};")


main()
