#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the pages and metrics of a running trimtab with the list on /statusz and with docs/.

    served_test.py TRIMTAB_SIM TRIMTAB CLOUD SOURCE [TEST…]     (TAP on stdout)
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position
from https_port import ADMIN, Port  # noqa: E402  pylint: disable=wrong-import-position
from metrics_page import metrics_of  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
CLOUD, SOURCE = sys.argv[3:5]
SECTIONS = ("controller", "process", "access", CLOUD)
# Served and not listed, each with its reason.
UNLISTED = {
    "/debug/pprof": "404 with a sentence that names the tool for programs in C",
    "/debug/pprof/heap": "the same",
    "/debug/flags/v": "below /debug/flags, which lists it",
    "/healthz/leaderElection": "below /healthz, whose ?verbose lists it",
}


def docs(name):
    with open(os.path.join(SOURCE, "docs", name), encoding="utf-8") as f:
        return f.read()


def started(w, *flags):
    port = Port(w.kubeconfig)
    w.start(*port.flags, *flags)
    w.until("the port is open", port.is_up)
    return port


def listed(port):
    return re.search(r"(?m)^Paths: (.*)$", port.get("/statusz"))[1].split()


def test_paths__each_that_is_listed_answers_and_stands_in_the_docs():
    page = docs("operations.md")
    for flags in ([], ["--profiling=false"]):
        with World(PROGRAMS, "--nodes=1", cloud=CLOUD) as w:
            port = started(w, *flags)
            paths = listed(port)
            assert "/metrics" in paths and "/statusz" in paths, paths
            for path in paths:
                assert port.ask(path, ADMIN)[0] == 200, (path, port.ask(path, ADMIN))
                assert f"`{path}`" in page or f"`{path}/" in page, f"docs/operations.md does not name {path}"
            assert ("/debug/flags" in paths) == (not flags), paths


def test_paths__what_is_served_is_listed_or_has_a_reason():
    """Of the table of pages, and of a page that is not in it."""
    with open(os.path.join(SOURCE, "controller", "serve", "pages.c"), encoding="utf-8") as f:
        table = re.findall(r'(?m)^    \{"(/[^"]*)", (true|false)', f.read())
    assert len(table) > 8, table
    with World(PROGRAMS, "--nodes=1", cloud=CLOUD) as w:
        port = started(w, "--leader-elect=true")
        w.until("its checks are there", lambda: "leaderElection" in port.get("/healthz?verbose"))
        paths = listed(port)
        for path, _ in table:
            assert (path in paths) != (path in UNLISTED), f"{path} is neither listed nor in UNLISTED, or in both"
        for path in UNLISTED:
            status, text = port.ask(path, ADMIN)
            assert status == (404 if "pprof" in path else 200), (path, status)
            assert "pprof" not in path or "perf" in text, text
        assert port.ask("/nothing", ADMIN)[0] == 404


def types_of(text):
    return dict(re.findall(r"(?m)^# TYPE (\w+) (\w+)$", text))


def test_metrics__the_page_has_each_and_no_other():
    """The page is printed from the tables; the program says how many metrics it has, those that were never used included."""
    page = metrics_of(docs("metrics.md"), SECTIONS)
    with World(PROGRAMS, "--nodes=2", cloud=CLOUD) as w:
        port = started(w, "--leader-elect=true")
        w.create("web")
        w.until_address("web")
        w.delete("web")
        w.until_gone("web")
        text = port.get("/metrics")
        served = types_of(text)
        assert len(served) > 40, served
        unknown = {name: kind for name, kind in served.items() if page.get(name, ("",))[0] != kind}
        assert not unknown, f"served, and docs/metrics.md does not say so: {unknown}"
        for name, labels in re.findall(r"(?m)^(\w+)\{(.*)\} ", text):
            base = re.sub("_(bucket|sum|count)$", "", name) if name not in page else name
            here = set(re.findall(r'(\w+)="', labels)) - {"le"}
            assert here <= page[base][1], (name, here, page[base][1])
        registered = sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                         if line.startswith("registered_metrics_total{"))
        assert registered == len(page), f"{registered} are registered, docs/metrics.md has {len(page)} for {CLOUD}"


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[5:])))
