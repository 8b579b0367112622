#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a Kubernetes log of trimtab-sim (--kube-log) against the API's published definitions.

    check_kube_log.py SCHEMAS LOG      exit 0 fine, 1 violations (printed), 2 jsonschema is not installed

SCHEMAS is tests/data/schemas/kubernetes.json.  Bodies of POST and PUT and every answer of a kind that the file defines
are checked, lists item by item.  Merge patches and strategic ones are checked for names and types, with nothing required and
without their directives ($patch, $setElementOrder, $deleteFromPrimitiveList).  Kinds that are not defined there and JSON
patches are passed over and counted.
"""
import json
import re
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

GROUPS = {"v1": "core.v1.", "coordination.k8s.io/v1": "coordination.v1.", "discovery.k8s.io/v1": "discovery.v1.",
          "events.k8s.io/v1": "events.v1.", "authentication.k8s.io/v1": "authentication.v1.",
          "authorization.k8s.io/v1": "authorization.v1."}


KINDS = {"services": ("v1", "Service"), "nodes": ("v1", "Node"), "events": ("v1", "Event"), "configmaps": ("v1", "ConfigMap"),
         "namespaces": ("v1", "Namespace"), "endpointslices": ("discovery.k8s.io/v1", "EndpointSlice"),
         "leases": ("coordination.k8s.io/v1", "Lease")}


def kind_of(path):
    """The object at /api/v1/namespaces/NS/services/NAME/status."""
    found = re.match(r"/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?/([a-z]+)/[^/?]+", path)
    return KINDS.get(found.group(1), (None, None)) if found else (None, None)


def without_directives(value):
    """A patch without what only says how it is to be applied."""
    if isinstance(value, dict):
        return {k: without_directives(v) for k, v in value.items() if not k.startswith("$")}
    return [without_directives(v) for v in value] if isinstance(value, list) else value


def all_optional(schema):
    if isinstance(schema, dict):
        return {k: all_optional(v) for k, v in schema.items() if k != "required" or not isinstance(v, list)}
    return [all_optional(v) for v in schema] if isinstance(schema, list) else schema


def without_nulls(value):
    """null is absent in this API, on both sides: creationTimestamp in requests, eventTime in answers."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


class Checker:
    """One set of definitions and what was found."""

    def __init__(self, pack):
        self.pack = pack
        self.validators = {}
        self.optional = all_optional(pack["definitions"])
        self.checked = self.skipped = 0
        self.violations = []

    def definition(self, version, kind):
        name = "apis.meta.v1." + kind if kind == "Status" else GROUPS.get(version, "?") + str(kind)
        return name if name in self.pack["definitions"] else None

    def check(self, where, body, version=None, kind=None):
        """One object; items of a list have neither kind nor apiVersion of their own."""
        version, kind = body.get("apiVersion", version), body.get("kind", kind)
        if kind and kind.endswith("List") and isinstance(body.get("items"), list):
            for item in body["items"]:
                self.check(where, item, version, kind[:-4])
            return
        name = self.definition(version, kind)
        if not name:
            self.skipped += 1
            return
        self.validate(where, kind, name, body, self.pack["definitions"])

    def check_patch(self, where, path, patch):
        version, kind = kind_of(path)
        name = self.definition(version, kind)
        if not name or not isinstance(patch, dict):
            self.skipped += 1
            return
        self.validate(where, f"patch of {kind}", name, without_directives(patch), self.optional)

    def validate(self, where, what, name, body, definitions):
        key = (name, definitions is self.optional)
        if key not in self.validators:
            schema = {"$ref": "#/definitions/" + name, "definitions": definitions}
            self.validators[key] = jsonschema.Draft7Validator(schema)
        self.checked += 1
        for error in self.validators[key].iter_errors(without_nulls(body)):
            path = ".".join(str(p) for p in error.absolute_path)
            self.violations.append(f"{where}: {what} {path}: {error.message[:200]}")

    def line(self, entry):
        where = f"{entry['method']} {entry['path']}"
        if entry["method"] in ("POST", "PUT") and isinstance(entry["request"], dict) and entry["status"] < 300:
            self.check(where + " request", entry["request"])
        if entry["method"] == "PATCH" and entry["request"] is not None and entry["status"] < 300:
            self.check_patch(where + " request", entry["path"], entry["request"])
        if isinstance(entry["response"], dict):
            self.check(where + " response", entry["response"])


def main():
    if jsonschema is None:
        print("python3-jsonschema is not installed")
        return 2
    with open(sys.argv[1], encoding="utf-8") as f:
        checker = Checker(json.load(f))
    with open(sys.argv[2], encoding="utf-8") as f:
        for text in f:
            checker.line(json.loads(text))
    for violation in checker.violations:
        print(violation)
    print(f"{checker.checked} objects checked, {checker.skipped} of other kinds, {len(checker.violations)} violations")
    return 1 if checker.violations else 0


if __name__ == "__main__":
    sys.exit(main())
