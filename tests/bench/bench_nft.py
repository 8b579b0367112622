#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of bench.py about nftables: what the provider's writer costs beside the least that a program can do.

    bench_nft.py TESTS N         in namespaces of its own; prints the figures as JSON.  TESTS: the folder `tests` of a build

kernel-tool loads N frontends with four targets through the provider's own functions, a thousand elements in a transaction, while nft_record.so
writes down what it sends.  In an empty namespace nft-client sends the very same bytes in the same pieces, and reads the answers.  Each is
run a few times by turns, and the median of its CPU time counts, which other processes lengthen much less than seconds on the clock.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from bench_rig import Broken

SIZES, TARGETS, ROUNDS, TRANSACTION = (1000, 20000), 4, 5, 140  # frontends of one transaction: 7 elements each


def lines(n):
    """A command for each transaction."""
    return "make\n" + "".join(f"load {at} {min(at + TRANSACTION, n)}\n" for at in range(0, n, TRANSACTION)) + "spent\n"


def fresh(*words, text=None, env=None):
    """A command in a new network namespace, where the kernel has no table."""
    done = subprocess.run(["unshare", "-n", *words], input=text, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})
    if done.returncode:
        raise Broken(f"{' '.join(words)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def number(name, said):
    found = re.search(rf"\b{name}=(\d+)", said)
    if not found:
        raise Broken(f"no {name} in {said[-300:]}")
    return int(found[1])


def median(values):
    return sorted(values)[len(values) // 2]


def measure(tests, n):
    tool, client = os.path.join(tests, "local", "kernel-tool"), os.path.join(tests, "bench", "nft-client")
    ours, least, sends = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "sent")
        said = fresh(tool, "real", text=lines(n), env={"NFT_RECORD": recording, "LD_PRELOAD": os.path.join(tests, "bench", "libnft-record.so")})
        if set(line for line in said.splitlines() if "=" not in line) != {"ok"}:
            raise Broken(f"kernel-tool: {said[-300:]}")
        for _ in range(ROUNDS):
            ours.append(number("cpu_us", fresh(tool, "real", text=lines(n))))
            said = fresh(client, recording)
            if number("refused", said):
                raise Broken(f"the kernel refuses what it took from kernel-tool: {said}")
            least.append(number("cpu_us", said))
            sends = number("sends", said)
    return {"ours_ms": median(ours) / 1000, "least_ms": median(least) / 1000, "sends": sends}


def bench_nft(row, programs):
    tests = os.path.join(os.path.dirname(os.path.dirname(programs.folder)), "tests")
    for n in SIZES:
        done = subprocess.run(["unshare", "-Urn", sys.executable, os.path.abspath(__file__), tests, str(n)], stdout=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode:
            raise Broken(f"nft with {n} Services ends with status {done.returncode}")
        found = json.loads(done.stdout)
        row(f"nft, {n} Services × {TARGETS} targets: written by the provider / the same requests by a minimal client", "< 2",
            "×{:.2f} ({ours_ms:.0f} ms / {least_ms:.0f} ms of CPU, {sends} sends)".format(found["ours_ms"] / found["least_ms"], **found))


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
