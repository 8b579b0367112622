"""Rooms: the folders inside a folder, in the order in which they may use each other.

A file may include its own room and the rooms that stand before it; files that lie in the folder itself may include all of
its rooms.  UPWARD names the includes that do not keep to that yet: the list may only shrink, and an entry that is no
longer needed is an offence, too.  tests/lint/lint.py has the arrows between folders.
"""
import re

ROOMS = {
    "controller": ["kube", "base", "rules", "options", "metrics", "queue", "rbac", "host", "sync", "status", "serve", "process", "cmd"],
    "controller/kube": ["model", "client", "store", "watch", "lease", "events"],
    "providers/aws": ["model", "auth", "api", "rules", "cloud", "plan"],
    "providers/azure": ["model", "config", "arm", "snapshot", "pip", "nsg", "pls", "lb", "sync", "members"],
    "providers/gce": ["model", "api", "decide", "config", "cache", "ops", "target_pool", "negs", "groups", "backend"],
}
MOST_FILES = 40  # .c files of a folder outside tests/
UPWARD = {}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)


def place(path):
    """(folder, index of its room; the number of rooms for a file of the folder itself) for every folder around a path."""
    places = {}
    parts = path.split("/")
    for i in range(len(parts) - 1, 0, -1):
        folder = "/".join(parts[:i])
        if folder in ROOMS:
            room = parts[i] if i < len(parts) - 1 else None
            rooms = ROOMS[folder]
            places[folder] = rooms.index(room) if room in rooms else len(rooms) if room is None else -1
    return places


def rule_rooms(tree):
    """A room includes the rooms before it only; known includes upward may only become fewer."""
    bad = []
    met = set()
    for f in tree.code(*[folder + "/" for folder in ROOMS]):
        mine = place(f)
        for folder, room in mine.items():
            if room < 0:
                bad.append("%s: a room that %s does not have" % (f, folder))
        for m in INCLUDE.finditer(tree.text(f)):
            theirs = place(m.group(1))
            if m.group(1) == "controller/install_paths.h" or not any(folder in mine and room > mine[folder] for folder, room in theirs.items()):
                continue
            if m.group(1) in UPWARD.get(f, ()):
                met.add((f, m.group(1)))
                continue
            bad.append("%s: includes upward: %s" % (f, m.group(1)))
    if "providers/builtin.h" in tree.files:
        for f, targets in sorted(UPWARD.items()):
            bad += ["%s: does not include %s any more: take it out of UPWARD" % (f, t) for t in targets if (f, t) not in met]
    return bad


def rule_crowds(tree):
    """No folder outside tests/ holds more than 40 .c files."""
    count = {}
    for f in tree.code():
        if f.endswith(".c") and not f.startswith("tests/"):
            folder = f.rsplit("/", 1)[0] if "/" in f else "."
            count[folder] = count.get(folder, 0) + 1
    return ["%s: %d .c files; %d is the most" % (d, n, MOST_FILES) for d, n in sorted(count.items()) if n > MOST_FILES]
