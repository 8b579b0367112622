#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The AWS page says what the sources do: its IAM policy grants what is called, its events are those that are told.

    page_test.py TREE     (TAP on stdout)

An action is a word in quotes, in a source of the provider, that a schema pack knows as an operation.  The sources of metrics
and errors name actions that nobody calls.
"""
import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

TREE = sys.argv[1]
PREFIXES = {"ec2": "ec2", "elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing", "sts": "sts"}
NOT_CALLS = ("aws_metrics.c", "aws_errors.c")
# Operations of two services that only one of them is asked for.
WHOSE = {"DescribeTags": "elasticloadbalancing"}
# Of whoever brings credentials, before any policy of ours counts.
UNSIGNED = {"sts:AssumeRoleWithWebIdentity"}
# With RoleARN, or role_arn of a profile: a policy of the identity that assumes, which the page tells beside.
BESIDE = {"sts:AssumeRole"}


def read(*path):
    with open(os.path.join(TREE, *path), encoding="utf-8") as f:
        return f.read()


def operations():
    """{action: IAM's prefixes of the services that have it}"""
    known = {}
    for pack, prefix in PREFIXES.items():
        for operation in json.loads(read("tests", "data", "schemas", f"aws-{pack}.json"))["operations"]:
            known.setdefault(operation["id"], set()).add(prefix)
    return known


def called(sources):
    known = operations()
    found = set()
    for text in sources:
        for word in set(re.findall(r'"([A-Z][A-Za-z]+)"', text)) & set(known):
            prefixes = {WHOSE[word]} if word in WHOSE else known[word]
            assert len(prefixes) == 1, f"{word} is of {sorted(prefixes)}: say in WHOSE which one is meant"
            found.add(f"{next(iter(prefixes))}:{word}")
    return found


def sources():
    paths = glob.glob(os.path.join(TREE, "providers", "aws", "**", "*.c"), recursive=True)
    assert len(paths) > 20, paths
    return [read(path) for path in sorted(paths) if os.path.basename(path) not in NOT_CALLS]


def statement(sid):
    block, = re.findall(r"(?ms)^```json\n(.*?)^```", read("docs", "providers", "aws.md"))
    found, = (s for s in json.loads(block)["Statement"] if s["Sid"] == sid)
    assert found["Effect"] == "Allow", found
    return found["Action"]


def test_policy__grants_what_is_called_and_nothing_else():
    granted = statement("Calls")
    needed = called(sources()) - UNSIGNED - BESIDE
    assert set(granted) == needed, {"missing": sorted(needed - set(granted)), "too many": sorted(set(granted) - needed)}


def test_policy__is_sorted_and_names_each_action_once():
    for sid in ("Calls", "AskedByElasticLoadBalancing"):
        actions = statement(sid)
        assert actions == sorted(set(actions)), actions
    assert not set(statement("Calls")) & set(statement("AskedByElasticLoadBalancing"))


def test_calls__one_more_would_be_found():
    more = called([*sources(), 'aws_draft_action(p, d, AWS_ELBV2, "SetIpAddressType");'])
    assert more - called(sources()) == {"elasticloadbalancing:SetIpAddressType"}, more


def test_assumed_roles__are_told_beside_the_policy():
    assert BESIDE <= called(sources())
    for action in BESIDE:
        assert f"`{action}`" in read("docs", "providers", "aws.md"), action


def spelled(text):
    """With reasons that several clouds have in place of their names."""
    for name, word in re.findall(r'#define (LB_FINDING_\w+) +"(\w+)"', read("common", "lb", "findings.h")):
        text = text.replace(name, f'"{word}"')
    return text


def reasons(text):
    """Of events and findings: the word behind whom it is told to."""
    return set(re.findall(r'(?:aws_plan_finding\(\S+|add_finding\(\w+|TT_EVENT_WARNING|\.reason =|forbidden_reason =),?\s+"([A-Z]\w+)"', text))


def test_events__are_those_of_the_descriptor_and_of_the_page():
    told = set().union(*(reasons(spelled(text)) for text in sources()))
    table, = re.findall(r"(?ms)^static const char \*const event_reasons\[\] = \{(.*?)\};",
                        read("providers", "aws", "aws_provider.c"))
    assert told == set(re.findall(r'"(\w+)"', table)), told ^ set(re.findall(r'"(\w+)"', table))
    section = read("docs", "providers", "aws.md").split("\n## Events\n")[1].split("\n## ")[0]
    rows = re.findall(r"(?m)^\| (`.*?`) \|", section)
    shown = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert told == shown, told ^ shown


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[2:])))
