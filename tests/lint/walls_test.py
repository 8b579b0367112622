#!/usr/bin/env python3
"""A room links with the rooms before it alone: no object needs a symbol that a later room defines.

Includes do not show a function that is declared in a low header and defined in a high file; the symbols of the
libraries do.  tests/lint/rooms.py has the rooms and their order.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rooms import ROOMS  # noqa: E402  pylint: disable=wrong-import-position

LIBRARIES = {
    "controller": "controller/libcontroller.a",
    "controller/kube": "controller/kube/libkube.a",
    "providers/aws": "providers/aws/libaws.a",
    "providers/azure": "providers/azure/libazure.a",
    "providers/gce": "providers/gce/libgce.a",
}
LINE = re.compile(r"([^/\s:]+)\.c\.o:\s*[0-9a-f]*\s+([A-Za-z])\s+(\S+)$")


def symbols(text):
    """({name: object that defines it}, [(object, name that it needs)]) of the output of `nm -A`."""
    defined, needed = {}, []
    for line in text.split("\n"):
        m = LINE.search(line)
        if m and m.group(2) == "U":
            needed.append((m.group(1), m.group(3)))
        elif m and m.group(2) in "TDBRVWC":
            defined[m.group(3)] = m.group(1)
    return defined, needed


def floors(folder, sources):
    """{object: index of its room}; files of the folder itself stand on top."""
    rooms = ROOMS[folder]
    out = {}
    for path in sources:
        rest = path[len(folder) + 1:]
        room = rest.split("/")[0] if "/" in rest else None
        out[rest[:-2].replace("/", "_")] = rooms.index(room) if room in rooms else len(rooms)
    return out


def upward(folder, sources, text):
    """Needs that lead to a later room, a line each."""
    at = floors(folder, sources)
    defined, needed = symbols(text)
    return sorted({"%s: %s needs %s() of %s" % (folder, one, name, defined[name]) for one, name in needed
                   if name in defined and one in at and at.get(defined[name], -1) > at[one]})


def self_check():
    """The check finds a need that leads upward, and no other."""
    text = "a.a:model_x.c.o:0000000000000000 T low\na.a:arm_y.c.o:                 U low\na.a:model_x.c.o:                 U high\n" \
           "a.a:top.c.o:0000 T high\na.a:top.c.o: U low\n"
    found = upward("providers/azure", ["providers/azure/model/x.c", "providers/azure/arm/y.c", "providers/azure/top.c"], text)
    assert found == ["providers/azure: model_x needs high() of top"], found


def main(build, source):
    """One test per library."""
    self_check()
    print("1..%d" % len(LIBRARIES))
    bad = False
    for n, (folder, library) in enumerate(sorted(LIBRARIES.items()), 1):
        files = subprocess.run(["git", "-C", source, "ls-files", "-co", "--exclude-standard", folder], check=False,
                               capture_output=True, text=True).stdout.split("\n")
        sources = [f for f in files if f.endswith(".c")] or [
            os.path.relpath(os.path.join(d, f), source) for d, _, names in os.walk(os.path.join(source, folder)) for f in names
            if f.endswith(".c")]
        text = subprocess.run(["nm", "-A", os.path.join(build, library)], check=True, capture_output=True, text=True).stdout
        defined, _ = symbols(text)
        if not defined:
            print("ok %d %s # SKIP its objects show no symbols (LTO)" % (n, folder))
            continue
        found = upward(folder, sources, text)
        bad = bad or bool(found)
        for line in found:
            print("# " + line)
        print("%s %d %s: %d symbols" % ("not ok" if found else "ok", n, folder, len(defined)))
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
