# SPDX-License-Identifier: Apache-2.0
"""sample: the part of a long list of cases that one run takes, so that consecutive commits take all of them.

    chosen = sample.from_env(ci=1, quick=5)             N by TRIMTAB_SAMPLE: 1 takes every case
    print(chosen.line())                                "# sample: turn 804, part 4 of 5 …"
    rows = [r for r in rows if chosen.takes(r.name)]

A case belongs to the part `hash(name) % N`; a run takes the part `turn % N`.  scripts/check sets the turn to the
number of the commit, so N consecutive commits, each of them checked, take every case once.  Twin of tests/support/sample.c:
both read the same variables, and tests/data/sample/parts.txt holds them to the same hash.

    TRIMTAB_SAMPLE        all, ci, quick, or the number N itself; unset: ci
    TRIMTAB_SAMPLE_TURN   the turn, a number from 0 on; unset: 0
"""
import os
import re

FNV_OFFSET, FNV_PRIME, MASK = 0xcbf29ce484222325, 0x100000001b3, (1 << 64) - 1


def name_hash(name):
    """FNV-1a over the UTF-8 bytes of `name`, 64 bits, with the upper half folded into the lower one."""
    h = FNV_OFFSET
    for byte in name.encode():
        h = (h ^ byte) * FNV_PRIME & MASK
    return h ^ h >> 32


class Sample:
    """`parts` is N; `by_hand`: the environment names no turn."""

    def __init__(self, parts, turn, by_hand=False):
        self.parts, self.turn, self.by_hand = parts, turn, by_hand

    def takes(self, name):
        """Returns whether this run plays the case of that name."""
        return name_hash(name) % self.parts == self.turn % self.parts

    def line(self):
        """Returns a TAP comment that says which part runs, and how to repeat it."""
        if self.parts == 1:
            return "# sample: every case"
        how = "run by hand, no TRIMTAB_SAMPLE_TURN" if self.by_hand else f"repeat: TRIMTAB_SAMPLE_TURN={self.turn}"
        return (f"# sample: turn {self.turn}, part {self.turn % self.parts} of {self.parts} ({how}); "
                "every case: TRIMTAB_SAMPLE=all")


def _number(variable, text, least):
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < least:
        raise SystemExit(f"{variable}={text}: expected a number from {least} on")
    return int(text)


def from_env(ci, quick, env=os.environ):
    """Returns the Sample of the environment; `ci` and `quick` are this program's N in these modes.  Exits with a
    message if a variable has no meaning."""
    mode = env.get("TRIMTAB_SAMPLE") or "ci"
    turn = env.get("TRIMTAB_SAMPLE_TURN") or ""
    known = {"all": 1, "ci": ci, "quick": quick}
    parts = known[mode] if mode in known else _number("TRIMTAB_SAMPLE", mode, 1)
    return Sample(parts, _number("TRIMTAB_SAMPLE_TURN", turn, 0) if turn else 0, by_hand=not turn)
