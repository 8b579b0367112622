#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/edits.md has the interruptions that `fault-edits --time` measures, and no others.

    page_test.py FAULT-EDITS PAGE            this run's part of the edits (sample.h)
    page_test.py FAULT-EDITS PAGE --write    all of them, into the page

A duration of the page may be half or twice the measured one: the simulated cloud's answers take longer or shorter by chance."""
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

CLOUDS = {
    "gce": ("Google", ["gce-target-pool", "gce-external-group", "gce-external-neg", "gce-internal-group", "gce-internal-neg"],
            ["target pool", "external, groups", "external, NEGs", "internal, groups", "internal, NEGs"]),
    "aws": ("AWS", ["aws-nlb", "aws-nlb-groups", "aws-nlb-internal", "aws-classic"],
            ["NLB", "NLB with groups", "internal NLB", "classic"]),
    "azure": ("Azure", ["azure-external", "azure-internal", "azure-node-ports", "azure-two-balancers", "azure-both-families"],
              ["external", "internal", "without floating IP", "several balancers", "both families"]),
}
PORTS = "spec.ports"
WORDS = {  # of values that are longer than a cell
    (PORTS, '[{"name":"http","port":80},{"name":"https","port":8443,"nodePort":32443}]'): "another number for a port",
    (PORTS, '[{"name":"http","port":80}]'): "one port fewer",
    (PORTS, '[{"name":"http","port":80},{"name":"https","port":443},{"name":"more","port":444,"nodePort":32444}]'): "one port more",
    (PORTS, '[{"name":"http","port":80,"nodePort":32080},{"name":"https","port":443}]'): "another node port",
    (PORTS, '[{"name":"udp","port":80,"protocol":"UDP","nodePort":32081}]'): "UDP instead of TCP",
    ("spec", '{"externalTrafficPolicy":"Local","healthCheckNodePort":32101,"ports":[{"name":"http","port":80}]}'):
        "`externalTrafficPolicy: Local`, and one port fewer",
    ("spec", '{"sessionAffinity":"ClientIP","loadBalancerSourceRanges":["192.0.2.0/24"]}'):
        "`sessionAffinity: ClientIP`, and source ranges",
}
NONE, LEAST_S, FACTOR = "–", 0.1, 2.0

Time = collections.namedtuple("Time", "kind edit announced seconds")


def edit_text(field, value):
    words = WORDS.get((field, value))
    if words is not None:
        return words if field == "spec" else f"`{field}`: {words}"
    if field == "notes":
        needs = list(json.loads(value).items())
        return ", ".join(f"`{key}: {note}`" if note is not None else f"`{key}` goes" for key, note in reversed(needs))
    if value == "null":
        return f"`{field}` goes"
    return f"`{field}: {value.strip(chr(34))}`"


def measure(program, cloud, env):
    """[Time] of a run, and what it says at its end."""
    run = subprocess.run([program, "--time", "--cloud", cloud], capture_output=True, text=True, env=env, check=False)
    times = []
    for line in run.stdout.splitlines():
        if line.startswith("# time\t"):
            _, kind, field, value, rest = line.split("\t")
            said, ms, _ = rest.split()
            times.append(Time(kind, edit_text(field, value), said == "announced", int(ms) / 1000))
    return times, run


def seconds_text(s):
    return NONE if s == 0 else f"{s:.1f} s" if s < 1 else f"{s:.0f} s"


def cells(page):
    """{(kind, edit): text} of the tables."""
    found = {}
    for name, kinds, columns in CLOUDS.values():
        table = re.search(rf"^\| {name}: edit \|.*?(?=^[^|]|\n\n)", page, re.M | re.S)
        rows = table.group(0).strip().split("\n")[2:] if table else []
        for row in rows:
            edit, *values = [cell.strip() for cell in row.strip("|").split(" | ")]
            assert len(values) == len(columns), row
            found.update({(kind, edit.strip()): value for kind, value in zip(kinds, values)})
    return found


def wrong(times, page):
    found = cells(page)
    for t in times:
        text = found.get((t.kind, t.edit), NONE)
        told = 0 if text in (NONE, "") else max(float(text.split()[0]), LEAST_S)
        if t.seconds < 0:
            yield f"{t.kind}: {t.edit}: clients are never served again"
        elif t.seconds == 0 and told > 0:
            yield f"{t.kind}: {t.edit}: the page says {text}, and nothing is interrupted"
        elif t.seconds > 0 and told == 0:
            yield f"{t.kind}: {t.edit}: it interrupts for {t.seconds} s, and the page does not say so"
        elif t.seconds > 0 and not told / FACTOR - 0.5 <= t.seconds <= told * FACTOR + 0.5:
            yield f"{t.kind}: {t.edit}: it interrupts for {t.seconds} s, and the page says {text}"


def table_of(cloud, times):
    name, kinds, columns = CLOUDS[cloud]
    by = {(t.kind, t.edit): t.seconds for t in times}
    edits = list(dict.fromkeys(t.edit for t in sorted(times, key=lambda t: t.edit) if t.seconds > 0))
    rows = [f"| {name}: edit | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for edit in edits:
        rows.append(f"| {edit} | " + " | ".join(seconds_text(by[k, edit]) if (k, edit) in by else "" for k in kinds) + " |")
    return "\n".join(rows)


def write(program, path):
    env = dict(os.environ, TRIMTAB_SAMPLE="all")
    counts = ["| cloud | edits tried | of them interrupt | announced by the plan |", "|---|---|---|---|"]
    tables = []
    for cloud, (name, _, _) in CLOUDS.items():
        times, _ = measure(program, cloud, env)
        breaks = [t for t in times if t.seconds != 0]
        counts.append(f"| {name} | {len(times)} | {len(breaks)} | {sum(t.announced for t in breaks)} |")
        tables.append(table_of(cloud, times))
    page = open(path, encoding="utf-8").read()
    text = "\n".join(counts) + "\n\n" + "\n\n".join(tables)
    page = re.sub(r"(<!-- interruptions: begin[^\n]*\n).*?(<!-- interruptions: end)", lambda m: m.group(1) + text + "\n\n" + m.group(2), page,
                  flags=re.S)
    open(path, "w", encoding="utf-8").write(page)


def main():
    program, path = sys.argv[1:3]
    if "--write" in sys.argv:
        write(program, path)
        return
    page = open(path, encoding="utf-8").read()
    report = tap.Report()
    report.check("the page has a table for each cloud", [name for name, _, _ in CLOUDS.values() if f"| {name}: edit |" not in page])
    some = next(iter(k for k, text in cells(page).items() if text not in (NONE, "")))
    lies = [Time(*some, True, 0.0), Time(*some, True, 1000.0), Time(some[0], "an edit that the page does not have", True, 3.0)]
    report.check("an interruption that the page does not have is found, and one that is none",
                 [] if len(list(wrong(lies, page))) == len(lies) else ["it is not"])
    for cloud in CLOUDS:
        times, run = measure(program, cloud, os.environ)
        failed = [line for line in run.stdout.splitlines() if line.startswith(("not ok", "# FOUND", "# BROKEN"))]
        report.check(f"{cloud}: {len(times)} edits interrupt as the page says", failed + list(wrong(times, page)))
    sys.exit(report.end())


if __name__ == "__main__":
    main()
