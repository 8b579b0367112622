#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab against moto, an emulator of AWS that others wrote: what it makes there must be what it makes in trimtab-sim.

    moto_test.py TRIMTAB_SIM TRIMTAB [SCENARIO…]      (TAP on stdout; skipped where moto and boto3 are absent)

TRIMTAB_AWS_PYTHON names the Python that has them, where it is not the one that runs this: that of a venv with
`pip install 'moto[server]' boto3`.

Each scenario (moto_scenarios.py) runs in two clusters, one with either cloud.  After each step both accounts are read by
boto3 and compared (aws_view.py), and a plan must say that nothing is left to be done.  In other clusters trimtab is killed
after each single write of a creation, and what the next one finds must be deletable.  At the end nothing is left in any
account.  Most of the time is waiting, so all clusters run side by side, each with its thread.
The calls of each step are printed; those of LIMITS are what docs/performance.md says.
"""
import concurrent.futures
import itertools
import os
import re
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

PYTHON = os.environ.get("TRIMTAB_AWS_PYTHON", sys.executable)
if PYTHON != sys.executable and os.path.exists(PYTHON):
    os.execv(PYTHON, [PYTHON, *sys.argv])
try:
    import boto3
    import moto.server
except ImportError:
    boto3 = None
import moto_scenarios as scenarios  # noqa: E402  pylint: disable=wrong-import-position
from aws_view import differences  # noqa: E402  pylint: disable=wrong-import-position
from moto_world import Cluster  # noqa: E402  pylint: disable=wrong-import-position

# moto has added some of too many tags when it refuses them (row 31 of docs/spec/aws.md §10.4).
SOME_TAGS = re.compile(r"^/classic <web>/tags/k\d+: None")
PROGRAMS = sys.argv[1:3]
LOOK = 8                      # the most calls of a sync that has nothing to do
MOTO_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "moto_server.py")
MODES = ("", "Managed")       # NLBSecurityGroupMode
STRANDS = 2                   # clusters that share the writes of one creation
THREADS = 6 * STRANDS + len(scenarios.ACCOUNTS)  # six creations, and the scenarios
# The most calls in the simulator, and in moto, whose new NLBs do not say that logs are off: they are told so once.
LIMITS = {
    "NLB create, first, 2 ports": (14, 14), "NLB create, further, 1 port": (8, 8), "NLB no change": (6, 7),
    "NLB no change, again": (6, 6),
    "NLB node added": (7, 7), "NLB node gone": (6, 6), "NLB source ranges": (8, 8), "NLB delete, 2 ports": (7, 7),
    "NLB delete": (6, 6), "NLB create, managed group, 2 ports": (16, 16), "NLB no change, managed group, 2 ports": (7, 8),
    "NLB source ranges, managed group": (11, 11), "NLB delete, managed group": (7, 7),
    "classic create": (9, 9), "classic no change": (3, 3), "classic node added": (3, 3), "classic node gone": (3, 3),
    "classic source ranges": (5, 5), "classic delete": (6, 6), "restart, 3 NLBs and 2 classic": (18, 18),
}


def lockstep(pair, scenario):
    """Runs the scenario in both; (step, refused Services) after each step."""
    runs = [scenario(c) for c in pair]
    while True:
        for c in pair:
            c.begin()
        steps = [next(run, None) for run in runs]
        assert steps[0] == steps[1], steps
        if steps[0] is None:
            return
        yield steps[0] if isinstance(steps[0], tuple) else (steps[0], ())


def play(t, pair, scenario):
    title = scenario.__name__.replace("_", " ")
    for step, refused in lockstep(pair, scenario):
        calls = [c.settle(refused) for c in pair]
        t.table.append((title, step, *calls))
        wrong = [line for line in differences(*(c.view() for c in pair)) if not SOME_TAGS.search(line)]
        for c in pair:
            wrong += [] if refused else [f"{c.where}: {line}" for line in c.plan()]
        counts = [sum(c.values()) for c in calls]
        limits = [most + LOOK * c.more_looks for c, most in zip(pair, LIMITS.get(step, (1000, 1000)))]
        wrong += [f"{c.where}: {n} calls instead of {most}: {ops}"
                  for c, n, most, ops in zip(pair, counts, limits, calls) if n > most]
        t.check(f"{title}: {step}: the same in both, {counts[0]} and {counts[1]} calls", wrong)


class Deaths:
    """The controller dies after each single write of a creation, and the Service is deleted before the next one starts.

    Each such deletion waits for ten seconds (docs/adr/0073-own-writes-before-lists.md).  So STRANDS clusters share the writes,
    and those of all Deaths wait side by side, in threads of `pool`.
    """

    def __init__(self, pool, where, mode, what, notes):
        self.where, self.mode, self.what, self.notes = where, mode, what, notes
        self.strands = [pool.submit(self.strand, first) for first in range(1, STRANDS + 1)]

    def strand(self, first):
        """Dies after the write `first` and each STRANDS-th one from there; what is wrong, and the first number of writes that no
        creation has."""
        wrong = []
        with Cluster(PROGRAMS, self.where, self.mode, boto3, MOTO_SERVER) as cluster:
            start = cluster.view()
            cluster.start()
            for writes in itertools.count(first, STRANDS):
                died = self.die_after(cluster, writes)
                wrong += [f"after {writes} writes: {line}" for line in differences(start, cluster.view())]
                if not died:
                    return wrong, writes

    def die_after(self, cluster, writes):
        """Returns false if the creation was complete with fewer writes."""
        cluster.begin()
        cluster.relay.hold_after(writes)
        cluster.service("web", self.notes, ports=scenarios.ports(80, 81))
        cluster.until("it is held or done", lambda: cluster.relay.held.is_set() or 'verb="ensure"' in cluster.log()[cluster.mark:])
        died = cluster.relay.held.is_set()
        cluster.kill()
        cluster.relay.release()
        cluster.delete("web")
        cluster.start()
        cluster.until_gone("web")
        return died

    def check(self, t):
        wrong, ends = [], []
        for strand in self.strands:
            try:
                lines, end = strand.result()
                ends.append(end)
            except Exception:  # pylint: disable=broad-except  one that breaks is one failed line
                lines = traceback.format_exc().splitlines()
            wrong += lines
        count = min(ends, default=1) - 1
        t.check(f"{self.what}: killed after each of {count} writes in {self.where}, nothing is left", wrong)


def all_deaths(pool):
    """Each creation, in each cloud."""
    jobs = [(mode, f"NLB, {mode or 'no groups'}", scenarios.NLB) for mode in MODES] + [("", "classic", {})]
    return [Deaths(pool, where, *job) for job in jobs for where in ("sim", "moto")]


class Results:
    """The results of one thread, kept until their turn comes."""

    def __init__(self):
        self.checks, self.table = [], []

    def check(self, *result):
        self.checks.append(result)

    def tell(self, t):
        for result in self.checks:
            t.check(*result)


def print_table(table):
    width = max(len(f"{title}: {step}") for title, step, *_ in table)
    print(f"# {'step':{width}}   sim  moto")
    for title, step, sim, other in table:
        print(f"# {title + ': ' + step:{width}}  {sum(sim.values()):4}  {sum(other.values()):4}"
              + ("" if sim == other else "   " + ", ".join(f"{op} {sim.get(op, 0)}/{other.get(op, 0)}" for op in
                                                          sorted(sim.keys() | other.keys()) if sim.get(op) != other.get(op))))


def account(mode, played):
    """Scenarios, one after the other, in two clusters."""
    t = Results()
    with Cluster(PROGRAMS, "sim", mode, boto3) as sim, Cluster(PROGRAMS, "moto", mode, boto3, MOTO_SERVER) as other:
        pair, starts = (sim, other), []
        for c in pair:
            starts.append(c.view())
            c.start()
        for scenario in played:
            try:
                play(t, pair, scenario)
            except Exception:  # pylint: disable=broad-except  one that breaks is one failed line
                t.check(scenario.__name__, traceback.format_exc().splitlines())
                break
        for c, start in zip(pair, starts):
            t.check(f"{', '.join(x.__name__ for x in played)}: nothing is left in {c.where}", differences(start, c.view()))
    return t


def main():
    if boto3 is None:
        return tap.skip("moto and boto3 are not installed (pip install 'moto[server]' boto3)")
    print(f"# moto {moto.__version__}, boto3 {boto3.__version__}")
    t, table, chosen = tap.Report(), [], sys.argv[3:]
    interrupts = not chosen or "interrupted" in chosen
    accounts = [(mode, [x for x in every if not chosen or x.__name__ in chosen]) for mode, every in scenarios.ACCOUNTS]
    with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
        deaths = all_deaths(pool) if interrupts else []
        for results in [pool.submit(account, *one) for one in accounts if one[1]]:
            results.result().tell(t)
            table += results.result().table
        for job in deaths:
            job.check(t)
    if table:
        print_table(table)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
