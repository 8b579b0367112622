#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults that are seeded into the product are found by fault-edits, each with the property that it breaks.

    seeded_test.py BUILD SOURCE CLOUDS            the fault of this turn (sample.py); TRIMTAB_SAMPLE=all: every one
    seeded_test.py BUILD SOURCE CLOUDS NAME…      these

A seed (seeds.py) replaces a text in a copy of one source file of the product.  The copy is compiled with the command of the build
folder and linked, in place of the original, into a trimtab and a fault-edits of their own.  The product as it is must pass the same edit.
Each run also checks that the text of every seed still stands in its file, and that every property has a seed."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.dont_write_bytecode = True
import sample  # noqa: E402
import seeds  # noqa: E402
import tap  # noqa: E402

PLANNER = "-DTRIMTAB_EDITS_PROGRAM"  # how fault-edits knows the program that plans


class Build:
    """The commands of a build folder."""

    def __init__(self, folder, source):
        self.folder, self.source = os.path.abspath(folder), os.path.abspath(source)
        commands = json.load(open(os.path.join(self.folder, "compile_commands.json"), encoding="utf-8"))
        self.commands = {}
        for c in commands:
            path = os.path.relpath(os.path.join(c["directory"], c["file"]), self.source)
            self.commands.setdefault(path, []).append(c)

    def run(self, words):
        run = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"{shlex.join(words)}\n{run.stdout}{run.stderr}")
        return run.stdout

    def compile(self, path, out, text=None, defines=None):
        """Compiles `path`, with `text` in place of its own if there is one, and with other values of these definitions."""
        commands = [c for c in self.commands[path] if "fault-deeds" not in c["output"]]
        assert len(commands) == 1, f"{path} is compiled by {len(commands)} commands"
        words = shlex.split(commands[0]["command"])
        source = commands[0]["file"]
        if text is not None:
            source = out + ".c"
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
        for i, word in enumerate(words):
            name = word.split("=", 1)[0]
            if defines and name in defines:
                words[i] = f'{name}="{defines[name]}"'
            elif word in ("-o", "-MF", "-MQ"):
                words[i + 1] = out + (".d" if word == "-MF" else "")
            elif word == commands[0]["file"]:
                words[i] = source
        self.run([*words, "-Wno-error"])

    def link(self, target, out, objects, instead=None):
        """Links `target` with `objects` first, which takes those of the same names out of the archives, or `instead` of one."""
        line = self.run(["ninja", "-t", "commands", target]).strip().splitlines()[-1]
        words = [objects[0] if w == instead else w for w in shlex.split(line)]
        words[words.index("-o") + 1] = out
        first = words.index(out) + 1
        self.run([*words[:first], *[o for o in objects if o not in words], *words[first:]])


def patched(build, seed):
    with open(os.path.join(build.source, seed.file), encoding="utf-8") as f:
        text = f.read()
    if text.count(seed.old) != 1:
        raise RuntimeError(f"{seed.file} has the text of this seed {text.count(seed.old)} times, not once:\n{seed.old}")
    return text.replace(seed.old, seed.new)


def stale(build, there):
    """Yields what is wrong with the table."""
    for seed in there:
        try:
            patched(build, seed)
        except RuntimeError as error:
            yield from str(error).splitlines()
    shown = {digit for seed in seeds.SEEDS for digit in re.findall(r"^E([1-8]) ", seed.found)}
    yield from (f"no seed shows E{p}" for p in "12345678" if p not in shown)


def make(build, seed, folder):
    """Returns a fault-edits with the fault, which asks a trimtab with the fault for its plans."""
    part, deed = os.path.join(folder, "seed.o"), os.path.join(folder, "deed.o")
    trimtab, edits = os.path.join(folder, "trimtab"), os.path.join(folder, "fault-edits")
    build.compile(seed.file, part, text=patched(build, seed))
    build.compile("tests/edits/deed.c", deed, defines={PLANNER: trimtab})
    build.link("trimtab", trimtab, [part])
    build.link("tests/edits/fault-edits", edits, [deed, part], instead="tests/edits/fault-edits.p/deed.c.o")
    return edits


def findings(program, seed):
    run = subprocess.run([program, *seed.edit], capture_output=True, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if line.startswith(("# FOUND: ", "# BROKEN", "# again"))]
    if not re.search(r"^# [1-9][0-9]* edits", run.stdout, re.M):
        lines.append(f"# BROKEN: no edit was made: {run.stdout[-500:]}{run.stderr[-500:]}")
    return lines


def wrong(build, seed):
    """Returns lines that say why the seed is not found as it should be."""
    clean = findings(os.path.join(build.folder, "tests/edits/fault-edits"), seed)
    if clean:
        return ["the product without the fault:", *clean]
    with tempfile.TemporaryDirectory(prefix="trimtab-seed-") as folder:
        lines = findings(make(build, seed, folder), seed)
    if not any(re.search(f"^# FOUND: (?:{seed.found})", line) for line in lines):
        return [f"no finding is like {seed.found}:", *lines]
    return []


def main():
    build, clouds, names = Build(*sys.argv[1:3]), sys.argv[3].split(","), sys.argv[4:]
    there = [s for s in seeds.SEEDS if s.cloud in clouds]
    chosen = sample.from_env(ci=len(there), quick=len(there))
    print(chosen.line(), flush=True)
    taken = [s for i, s in enumerate(there) if (s.name in names if names else i % chosen.parts == chosen.turn % chosen.parts)]
    report = tap.Report(len(taken) + 1)
    report.check(f"{len(there)} seeds have their text in the product, at least one for each property", list(stale(build, there)))
    for seed in taken:
        try:
            lines = wrong(build, seed)
        except RuntimeError as error:
            lines = str(error).splitlines()
        report.check(f"{seed.name}: a fault in {seed.file} is found", lines)
    sys.exit(report.end())


if __name__ == "__main__":
    main()
