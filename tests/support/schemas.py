# SPDX-License-Identifier: Apache-2.0
"""The JSON documents of trimtab against their schemas in docs/schemas/.

    schemas.check("plan", text)          raises when the document is not as its schema says
    schemas.wrong("plan", document)      what is wrong, in lines; [] when nothing is

Imported by tap.py, which makes every document that a test gets from a command of trimtab (`-o json`) be checked: see
watch_commands().  Without python3-jsonschema nothing is checked, and one line says so.
"""
import functools
import json
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schemas")
NAMES = sorted(name.removesuffix(".json") for name in os.listdir(FOLDER) if name.endswith(".json"))

try:
    import jsonschema
except ImportError:
    jsonschema = None
    print("# documents are not checked: python3-jsonschema is not installed", flush=True)


@functools.cache
def validator(name):
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as f:
        schema = json.load(f)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def wrong(name, document):
    if jsonschema is None:
        return []
    return [f"{name}: {'/'.join(str(p) for p in e.absolute_path)}: {e.message}" for e in validator(name).iter_errors(document)]


def check(name, text):
    found = wrong(name, json.loads(text))
    assert not found, found[:5]


def command_of(argv):
    """The command whose document this call prints; None: it prints none of ours."""
    words = [str(word) for word in argv] if isinstance(argv, (list, tuple)) else []
    as_json = any(word in ("-o=json", "-ojson", "--output=json") for word in words) or \
        any(words[i:i + 2] in (["-o", "json"], ["--output", "json"]) for i in range(len(words)))
    if not as_json or not words or not os.path.basename(words[0]).startswith("trimtab"):
        return None
    return words[1] if words[1] in NAMES else None


def watch_commands():
    """From now on subprocess.run() checks what a command prints; a document that is wrong is an AssertionError there."""
    real = subprocess.run

    @functools.wraps(real)
    def run(*args, **kwargs):
        done = real(*args, **kwargs)
        argv = args[0] if args else kwargs.get("args")
        name = command_of(argv)
        if name is not None and done.stdout:
            check(name, done.stdout)
        return done

    if jsonschema is not None:
        subprocess.run = run


if __name__ == "__main__":
    sys.exit("usage: import schemas")
