#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""replicas.py judges who held the lease when something was written: rows of requests, in the order in which they were sent.

    replicas_test.py      (TAP on stdout)
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from replicas import LEASE, NAME, Record, Replicas  # noqa: E402  pylint: disable=wrong-import-position

DONE, REFUSED, UNANSWERED = 200, 409, None


def lease(who, since, status=DONE):
    """A write of the lease by `who`, which holds it since then; None: a release."""
    return who, "PUT", f"{LEASE}/{NAME}", {"spec": {"holderIdentity": who if since else "", "acquireTime": since}}, status


def change(who):
    return who, "POST", "/compute/v1/x", {}, DONE


def senders_of_overlaps(*requests):
    records = []
    for moment, (who, method, path, body, status) in enumerate(requests):
        record = Record(who, method, path, json.dumps(body).encode())
        record.sent, record.status = float(moment), status
        records.append(record)
    replicas = Replicas.__new__(Replicas)  # without a simulator
    replicas.sent = lambda: records
    return [line.split()[1] for line in replicas.overlaps()]


def test_overlaps__holder_writes__none():
    assert senders_of_overlaps(lease("a", 1), change("a"), lease("a", None), lease("b", 2), change("b")) == []


def test_overlaps__former_holder_writes__found():
    assert senders_of_overlaps(lease("a", 1), lease("b", 2), change("a"), change("b")) == ["a"]


def test_overlaps__refused_write_of_the_lease__changes_nothing():
    assert senders_of_overlaps(lease("a", 1), lease("b", 2, REFUSED), change("a")) == []


def test_overlaps__write_without_an_answer__counts():
    """Its sender died, and it may have been done: also where the next one begins anew, or the same one goes on."""
    begun = lease("a", 1), lease("b", 2), lease("a", 1, UNANSWERED), change("b")
    for next_write in ((), (lease("b", 3),), (lease("a", 1),), (lease("b", None),)):
        assert senders_of_overlaps(*begun, *next_write) == ["b"], next_write


def test_overlaps__write_without_an_answer_and_the_holder_goes_on__was_refused():
    assert senders_of_overlaps(lease("a", 1), lease("b", 2), lease("a", 1, UNANSWERED), change("b"), lease("b", 2)) == []


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[1:])))
