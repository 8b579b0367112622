#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab against an AWS that is broken or hostile: every kind of bad answer at every place where one is read.

    servers_aws_test.py TRIMTAB_SIM TRIMTAB [WORDS…]     (TAP on stdout; WORDS choose rows by their names)

As servers_test.py, whose scenes these are: an NLB ("old") and a classic load balancer ("classic") are in order, "new" is
created, or "old" deleted, while a place is bewitched.  Beyond what is looked at there: once "new" is deleted again, the cloud
is as it was, and of "old" nothing is left, so that nothing leaks of calls whose answers were lost, or told of nothing.
"""
import email.utils
import functools
import gzip
import os
import sys
import time
import urllib.parse
from xml.sax.saxutils import escape

import hostile
from hostile import MIB, Spell, says
from servers_test import FINE, Place, Row, bewitch, play
from servers_test import spells as json_spells
from stage_aws import NLB, AwsStage, AwsTemplate

EC2 = "2016-11-15"


# --- what is asked ------------------------------------------------------------------------------------------------

def form(r):
    if r.form is None:
        text = r.body.decode("latin-1") if r.method == "POST" else ""
        r.form = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
    return r.form


def action(r):
    return form(r).get("Action", "")


def asked(*actions):
    return lambda r: action(r) in actions


def reads(r):
    return action(r).startswith("Describe")


# --- XML ----------------------------------------------------------------------------------------------------------

def opening(r):
    name = action(r)
    return f'<{name}Response xmlns="x">' + ("" if form(r)["Version"] == EC2 else f"<{name}Result>")


def closing(r):
    name = action(r)
    return ("" if form(r)["Version"] == EC2 else f"</{name}Result>") + f"</{name}Response>"


LISTS = {"DescribeLoadBalancers": ("LoadBalancers", "LoadBalancerDescriptions"), "DescribeSecurityGroups": ("securityGroupInfo",),
         "DescribeInstances": ("reservationSet",), "DescribeSubnets": ("subnetSet",), "DescribeRouteTables": ("routeTableSet",),
         "DescribeTargetGroups": ("TargetGroups",), "DescribeListeners": ("Listeners",),
         "DescribeTargetHealth": ("TargetHealthDescriptions",), "DescribeTags": ("TagDescriptions",),
         "DescribeAvailabilityZones": ("availabilityZoneInfo",)}


def list_of(r, inside):
    """`inside` in the list that was asked for (both, where two services have an action of that name)."""
    return "".join(f"<{name}>{inside}</{name}>" for name in LISTS.get(action(r), ("members",)))


def item(r):
    return "item" if form(r)["Version"] == EC2 else "member"


def answers(status, body_of, headers=()):
    """`body_of(request)`, in its answer's form."""
    return lambda c, r: c.answer(status, body_of(r), headers)


def inside(text_of, headers=()):
    return answers(200, lambda r: opening(r) + text_of(r) + closing(r), headers)


def listed(text):
    """The list that was asked for, with `text` in it; {i} is the name of its items."""
    return inside(lambda r: list_of(r, text.replace("{i}", item(r))))


def refusal(status, code, message="no", headers=()):
    body = f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error><RequestId>r</RequestId></ErrorResponse>"
    ec2 = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>r</RequestID></Response>"
    return answers(status, lambda r: ec2 if form(r).get("Version") == EC2 else body, headers)


def endless(begin_of, piece):
    def answer(c, r):
        def pieces():
            yield begin_of(r)
            for _ in range(hostile.HUGE // len(piece)):
                yield piece
        c.stream(pieces())
    return answer


@functools.lru_cache
def packed(begin):
    return gzip.compress(begin.encode() + b" " * (64 * MIB), 9)


def gzip_bomb(c, r):
    """A gibibyte in a mebibyte."""
    c.stream([packed(opening(r))] * 16, ["Content-Encoding: gzip"])


def echo(status):
    """Everything that was sent, in an error's text."""
    def answer(c, r):
        told = escape(" ".join([r.body.decode("latin-1"), *(f"{k}: {v}" for k, v in r.headers.items())]))
        refusal(status, "AccessDenied", told)(c, r)
    return answer


def pages(token_of):
    """A page, and a token for another."""
    count = {"n": 0}

    def answer(c, r):
        count["n"] += 1
        name = "nextToken" if form(r)["Version"] == EC2 else "NextMarker"
        inside(lambda r: list_of(r, "") + f"<{name}>{token_of(count['n'])}</{name}>")(c, r)
    return answer


def deep(r):
    return opening(r) + "<a>" * 200000


def laughs(r):
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY l0 "ha">{entities}]>' + opening(r) + "&l9;" + closing(r)


def outside(c, r):
    url = c.front.url("/etc/passwd")
    c.answer(200, f'<!DOCTYPE x SYSTEM "{url}" [<!ENTITY e SYSTEM "{url}">]>' + opening(r) + "&e;" + closing(r))


def forms():
    """Bodies that are no answer, whatever was asked."""
    yield "endless body", endless(opening, b" " * MIB)
    yield "endless text", endless(lambda r: opening(r) + "<x>", b"x" * MIB)
    yield "endless attribute", endless(lambda r: opening(r) + '<x a="', b"x" * MIB)
    yield "endless comment", endless(lambda r: opening(r) + "<!--", b"x" * MIB)
    yield "endless elements", endless(opening, b"<a><b>c</b></a>" * 70000)
    yield "endless headers", hostile.endless_headers
    yield "gzip bomb", gzip_bomb
    yield "gzip that is none", inside(lambda r: "", ["Content-Encoding: gzip"])
    yield "unknown encoding", inside(lambda r: "", ["Content-Encoding: zstd"])
    yield "redirect loop", hostile.redirect_loop
    yield "redirect away", hostile.redirect_away
    yield "drip", hostile.drip
    yield "silence", hostile.silence
    yield "truncated XML", answers(200, opening)
    yield "truncated tag", answers(200, lambda r: opening(r) + "<Load")
    yield "deeply nested", answers(200, deep)
    yield "entities in entities", answers(200, laughs)
    yield "document from elsewhere", outside
    yield "NULs", answers(200, lambda r: (opening(r) + "a\0b" + closing(r)).encode())
    yield "character zero", inside(lambda r: "<x>&#0;</x>")
    yield "not UTF-8", answers(200, lambda r: opening(r).encode() + b"<x>\xff\xfe</x>" + closing(r).encode())
    yield "unknown charset", answers(200, lambda r: '<?xml version="1.0" encoding="x-none"?>' + opening(r) + closing(r))
    yield "HTML", says(200, "<html><body>Please log in</body></html>")
    yield "HTML that is no XML", says(200, "<!DOCTYPE html><html><body><br>Please log in</body></html>")
    yield "HTML error", says(502, "<html><body>" + "Bad gateway. " * 10000 + "</body></html>")
    yield "JSON", says(200, {"LoadBalancers": []})
    yield "empty", says(200, "")
    yield "blank", says(200, " \n ")
    yield "another action", answers(200, lambda r: "<DescribeHostsResponse><hostSet/></DescribeHostsResponse>")
    yield "two documents", answers(200, lambda r: (opening(r) + closing(r)) * 2)
    yield "error in a 200", refusal(200, "InternalFailure", "although it says 200")
    yield "error without code", says(400, "<ErrorResponse><Error/></ErrorResponse>")
    yield "error with a long text", refusal(400, "Weird", "x" * MIB)
    yield "error with a long code", refusal(400, "W" * 100000)
    yield "error of another form", says(400, '{"__type":"AccessDenied"}')
    yield "length too long", lambda c, r: c.answer(200, opening(r), length=100000)
    yield "length negative", lambda c, r: c.answer(200, opening(r), length=-5)
    yield "length huge", lambda c, r: c.answer(200, opening(r), length=1 << 62)
    yield "hang up", hostile.hang_up
    yield "garbage", hostile.garbage
    yield "TLS alert", hostile.tls_alert
    yield "401", refusal(401, "AuthFailure")
    yield "403", refusal(403, "UnauthorizedOperation")
    yield "403 echo", echo(403)
    yield "400 echo", echo(400)
    yield "500 echo", echo(500)
    yield "expired keys", refusal(400, "ExpiredToken", "expired")
    for name, date in (("absurd", "Thu, 01 Jan 9999 00:00:00 GMT"), ("before time", "Thu, 01 Jan 1970 00:00:01 GMT"),
                       ("unreadable", "yesterday"), ("in an hour", None)):
        yield f"clock {name}", refusal(403, "RequestTimeTooSkewed", "skewed", [f"Date: {date or in_an_hour()}"])
    yield "throttled", refusal(400, "Throttling", "Rate exceeded")
    for name, after in (("absurd", "99999999999999999999"), ("negative", "-1"), ("words", "never"), ("long", "86400")):
        yield f"throttled {name}", refusal(503, "RequestLimitExceeded", "slow", [f"Retry-After: {after}"])


def in_an_hour():
    return email.utils.formatdate(time.time() + 3600, usegmt=True)


def lists():
    """Lists of which nothing may be concluded."""
    yield "no list", inside(lambda r: "")
    yield "list of texts", listed("<{i}>x</{i}><{i}>y</{i}>")
    yield "list of nothings", listed("<{i}/><{i}></{i}>")
    yield "text for a list", inside(lambda r: list_of(r, "none"))
    yield "endless list", endless(lambda r: opening(r) + "<" + LISTS.get(action(r), ("x",))[0] + ">",
                                  b"<member><LoadBalancerName>x</LoadBalancerName></member><item><groupId>y</groupId></item>" * 12000)
    yield "pages without end", pages(str)
    yield "pages in a circle", pages(lambda n: "ABC"[n % 3])
    yield "one page for ever", pages(lambda n: "A")
    yield "huge tokens", pages(lambda n: f"{n}" + "x" * MIB)


def done_but(answer):
    """It is done, and the answer is `answer`'s."""
    def cast(c, r):
        c.really(r)
        answer(c, r)
    return cast


def lost():
    """Writes that were done, and whose answers do not say so."""
    yield "done, then hung up", done_but(hostile.hang_up)
    yield "done, then 500", done_but(refusal(500, "InternalFailure"))
    yield "done, then HTML", done_but(says(200, "<html></html>"))
    yield "done, then truncated", done_but(answers(200, opening))
    yield "done, then nothing in it", done_but(inside(lambda r: ""))
    yield "done, then garbage", done_but(hostile.garbage)
    yield "done, then refused", done_but(refusal(403, "AccessDenied"))


# --- places -------------------------------------------------------------------------------------------------------

class AwsPlace(Place):
    """`way`: where keys come from; `words`: one of them is in a warning that the owner of a Service gets."""

    def __init__(self, name, front, matches, words, before_start=True, way="environment", begin="", deletes=False):
        super().__init__(name, front, matches, begin, lambda t: {"code": "AccessDenied", "message": t}, before_start, words)
        self.way, self.deletes = way, deletes

    def is_told(self, stage):
        warnings = [e[2] for e in stage.events("old", "classic", "new") if e[0] == "Warning"]
        return any(word in text for word in self.words for text in warnings)


def of_keys(r):
    return r.path.startswith("/latest/meta-data/iam/security-credentials/")


def of_api(name, *actions):
    return AwsPlace(name, "api", asked(*actions), actions)


READS = [of_api("balancers", "DescribeLoadBalancers"), of_api("groups", "DescribeSecurityGroups"),
         of_api("instances", "DescribeInstances"),
         of_api("parts", "DescribeTargetGroups", "DescribeListeners", "DescribeTargetHealth", "DescribeTags",
                "DescribeTargetGroupAttributes", "DescribeLoadBalancerAttributes"),
         AwsPlace("reads", "api", reads, ("Describe",))]
FIRST = ("AuthorizeSecurityGroupIngress", "CreateSecurityGroup", "CreateTargetGroup", "CreateLoadBalancer")
LATER = ("CreateListener", "RegisterTargets", "RegisterInstancesWithLoadBalancer", "ConfigureHealthCheck")
WRITES = [AwsPlace("creates", "api", asked(*FIRST), FIRST, before_start=False),
          AwsPlace("later", "api", asked(*LATER), LATER, before_start=False)]
DELETION = AwsPlace("deletion", "api", reads, ("Describe",), before_start=False, deletes=True)
STS = AwsPlace("web identity", "sts", lambda r: True, ("credentials: web identity",), way="web")
KEYS = [AwsPlace("role", "metadata", of_keys, ("credentials: instance role",), way="instance",
                 begin='{"Code":"Success","AccessKeyId":"'),
        AwsPlace("container", "metadata", lambda r: True, ("credentials: container",), way="container", begin='{"AccessKeyId":"')]
# Where no session token is to be had, the metadata service is asked without one.
TOKEN = AwsPlace("session token", "metadata", lambda r: r.method == "PUT", (), way="instance", begin="A")
FINE.add(TOKEN.name)
# A resource whose creation did not name it is looked for: no message is needed.
FINE.update((place.name, "done, then nothing in it") for place in WRITES)


def rows():
    plays = [*((p, [*forms(), *lists()]) for p in (*READS, DELETION)), *((p, [*forms(), *lost()]) for p in WRITES), (STS, forms()),
             *((p, json_spells(p)) for p in (*KEYS, TOKEN))]
    number, known = 0, {}
    for p, (place, spells) in enumerate(plays):
        for name, answer in spells:
            number += 1
            yield Row(f"{place.name}: {name}", (place, name, answer, number), p + known.setdefault(name, len(known)))


def scene(template, place, name, answer, number):
    meta = NLB if number % 2 else None
    with AwsStage(template, place.way, place.deletes) as stage:
        spell = Spell(answer, place.matches)
        if place.deletes:
            used = bewitch(stage, place, name, spell, lambda: stage.delete("old"))
            stage.nudge("old")
            stage.until_gone("old")
        else:
            used = bewitch(stage, place, name, spell, lambda: stage.create("new", meta))
            stage.converge("new")
            stage.delete("new")
            stage.until_gone("new")
        stage.until_as_wanted()
        stage.check_memory()
        stage.check_secrets()
        stage.check_stop()
        return used, spell.sent


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(play(AwsTemplate, rows, scene))
