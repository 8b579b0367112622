#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stage of the tests beside: simulators that are kept forget the world before, and every row has its turn.

    stage_test.py TRIMTAB_SIM TRIMTAB     (TAP on stdout)
"""
import collections
import os
import subprocess
import sys

import hostile
from hostile import Spell
import servers_aws_test
import servers_test
from servers_test import PARTS
from stage import MEMORY_MIB, UNPROVOKED, Stage, Template, is_sanitized
from controller_world import World  # stage.py put its folder on the path
import sample
import tap

PROGRAMS = [os.path.abspath(p) for p in sys.argv[1:3]]
SERVERS = (servers_test, servers_aws_test)


def turns():
    return [sample.Sample(PARTS, turn) for turn in range(1003, 1003 + PARTS)]


def test_rows__consecutive_turns_play_every_row_once():
    for module in SERVERS:
        rows = list(module.rows())
        assert len({r.name for r in rows}) == len(rows)
        for row in rows:
            assert sum(row.is_in(turn) for turn in turns()) == 1, row.name


def test_rows__every_turn_has_every_place_and_every_spell():
    """A spell with fewer rows than there are turns has each of them in a turn of its own."""
    for module in SERVERS:
        slots = collections.defaultdict(list)
        for row in module.rows():
            place, spell = row.args[:2]
            for name in (f"place {place.name}", f"spell {spell}"):
                slots[name] += [i for i, turn in enumerate(turns()) if row.is_in(turn)]
        for name, of in slots.items():
            assert len(set(of)) == min(PARTS, len(of)), (module.__name__, name, of)


def test_rows__every_turn_of_google_has_every_spell():
    for turn in turns():
        met = {row.args[1] for row in servers_test.rows() if row.is_in(turn)}
        assert met == {row.args[1] for row in servers_test.rows()}


def test_rows__all_is_every_row():
    everything = sample.from_env(ci=PARTS, quick=PARTS, env={"TRIMTAB_SAMPLE": "all"})
    for module in SERVERS:
        assert all(row.is_in(everything) for row in module.rows())


def test_kept_simulator__forgets_what_was_before():
    template = Template(PROGRAMS)
    try:
        with Stage(template) as stage:
            first = stage.sim
            begin = stage.must("GET", "/sim/state")
            stage.create("new")
            stage.launch()
            stage.until_address("new")
            stage.fault(match={"api": "gce"}, do="refuse", status=500)
            stage.delete("old")
            assert stage.must("GET", "/sim/state") != begin and stage.mutations() and stage.calls()["kubernetes"]
            stage.stop()
        with Stage(template) as stage:
            assert stage.sim is first                 # it is the same one
            assert stage.must("GET", "/sim/state") == begin
            assert stage.must("GET", "/sim/faults") == [] and not any(stage.calls().values()), stage.calls()
            stage.check_old_untouched()
            stage.launch()
            stage.create("new")
            stage.until_address("new")
            stage.check_stop()
    finally:
        template.remove()


def seed_of(simulator):
    return [a for a in simulator.process.args if a.startswith("--seed=")][-1]


def test_kept_simulator__has_a_seed_of_its_own():
    """With one that was used already, a simulator would give identities that its world has."""
    template = Template(PROGRAMS)
    try:
        with World(PROGRAMS) as maker, Stage(template) as one, Stage(template) as two:
            assert len({seed_of(world.sim) for world in (maker, one, two)}) == 3
    finally:
        template.remove()


def test_kept_simulator__of_a_stage_that_failed_is_not_used_again():
    template = Template(PROGRAMS)
    try:
        for failure in (AssertionError("as rows fail"), None):
            try:
                with Stage(template) as stage:
                    used = stage.sim
                    if failure:
                        raise failure
            except AssertionError as error:
                assert error is failure
            with Stage(template) as stage:
                assert (stage.sim is used) == (failure is None), failure
    finally:
        template.remove()


def test_kept_simulator__complaint_of_a_sanitizer_is_an_error_of_its_stage():
    template = Template(PROGRAMS)
    try:
        with Stage(template) as stage:
            used = stage.sim
        try:
            with Stage(template) as stage:
                assert stage.sim is used
                with open(used.err, "a", encoding="utf-8") as f:
                    print("x.c:7:3: runtime error: signed integer overflow", file=f)
            raise ValueError("nothing was said")
        except AssertionError as error:
            assert "signed integer overflow" in str(error), error
        with Stage(template) as stage:
            assert stage.sim is not used
    finally:
        used.said = os.path.getsize(used.err)
        template.remove()


def stage_fails(check, words):
    """The limit is kept: the check fails, and says so in these words."""
    if words == "MiB" and is_sanitized():
        return
    try:
        check()
    except AssertionError as error:
        assert words in str(error), error
    else:
        raise ValueError(f"nothing was said of {words}")


def test_play__words_that_match_nothing_fail():
    done = subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "servers_test.py"),
                           *sys.argv[1:3], "no such row"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no row has no such row" in done.stderr, (done.returncode, done.stderr)


def test_stage__starts_trimtab_again_only_if_it_gave_up_waiting():
    template = Template(PROGRAMS)
    try:
        with Stage(template) as stage:
            stage.kube.cast(Spell(hostile.silence, lambda r: r.path.startswith("/healthz")))
            stage.launch()
            stage.until("it gave up and was started again", lambda: stage.runs > 1)
            stage.kube.heal()
            stage.until_watching()
            assert [where for where, _ in stage.said()][:2] == ["run-1", "run-2"]
            stage.peak_mib = MEMORY_MIB + 1           # as if the run that gave up had used it
            stage_fails(stage.check_memory, "MiB")
            stage.kill()
            stage.revive()                            # any other end is an error
            assert stage.has_ended() and stage.runs == 2
            stage.gave_up, stage.unprovoked = lambda: True, UNPROVOKED
            stage_fails(stage.revive, "on an API server that answers")
            assert stage.runs == 2
    finally:
        template.remove()


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
