#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab against servers that are broken or hostile: every kind of bad answer at every place where one is read.

    servers_test.py TRIMTAB_SIM TRIMTAB [WORDS…]     (TAP on stdout; WORDS choose rows by their names, all that have them)

Without words a run plays a tenth of the rows (tests/support/sample.py), ten runs one after another play all.

A row is a place (which requests) and a spell (what they are answered).  In each the Service "old" has its load balancer;
"new" is created while the place is bewitched.  Then: trimtab is alive, its memory is bounded, it says what is wrong
and where; after healing "new" is served, "old" is as it was; no secret was printed; SIGTERM ends it at once.
"""
import concurrent.futures
import os
import re
import sys

import hostile
from hostile import Spell, says
from stage import Stage, Template
import sample  # stage.py put its folder on the path
import tap

PARALLEL = 3    # rows at once: they wait more than they work
PARTS = 10      # one of which a run plays
ENOUGH = 64 << 20                                   # of an endless list, which is read as it comes, to see that it is not kept
KEPT = 1 / 4                                        # of what was sent: less than this may memory grow
# Spells during which nothing can be complained about yet: the answer is still coming.
LASTING = ("drip", "silence", "length too long", "length huge")


def status(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
            "message": message}


def google(code, message):
    return {"error": {"code": code, "message": message, "errors": [{"reason": "x", "message": message}]}}


# --- places -----------------------------------------------------------------------------------------------------

class Place:
    """Requests of one kind, and what an answer to them begins like."""

    def __init__(self, name, front, matches, begin, wrap, before_start=False, words="", edits_old=False):
        self.name, self.front, self.matches, self.begin = name, front, matches, begin
        self.wrap, self.before_start, self.words, self.edits_old = wrap, before_start, words, edits_old

    def is_told(self, stage):
        """Does trimtab say what is wrong?"""
        if self.words in stage.log():
            return True
        events = " ".join(f"{e[1]} {e[2]}" for e in stage.events("new", "old"))
        return self.words in events


def is_watch(r):
    return "watch=1" in r.path or "watch=true" in r.path


def of_new(r):
    """Compute requests about "new": "old" is left alone, so that others' syncs can be seen to go on."""
    return r.method == "GET" and re.search(r"/(forwardingRules|targetPools|firewalls|httpHealthChecks|addresses)/", r.path)


PLACES = [
    Place("ready", "kube", lambda r: r.path.startswith("/healthz"), "ok",
          lambda t: status(403, "Forbidden", t), True, "API server"),
    Place("list", "kube", lambda r: r.path.startswith("/api/v1/services") and not is_watch(r),
          '{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[',
          lambda t: status(403, "Forbidden", t), True, "v1.Service"),
    Place("nodes", "kube", lambda r: r.path.startswith("/api/v1/nodes") and not is_watch(r),
          '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[',
          lambda t: status(403, "Forbidden", t), True, "v1.Node"),
    Place("watch", "kube", lambda r: r.path.startswith("/api/v1/services") and is_watch(r),
          '{"type":"ADDED","object":{', lambda t: status(403, "Forbidden", t), True, "v1.Service"),
    Place("stream", "kube", lambda r: r.path.startswith("/api/v1/") and "sendInitialEvents=true" in r.path,
          '{"type":"ADDED","object":{', lambda t: status(403, "Forbidden", t), True),
    Place("patch", "kube", lambda r: r.method == "PATCH" and "/services/new" in r.path,
          '{"kind":"Service","metadata":{', lambda t: status(403, "Forbidden", t), False, "default/new"),
    Place("configmap", "kube", lambda r: "/configmaps" in r.path, '{"kind":"ConfigMap","data":{',
          lambda t: status(403, "Forbidden", t), True, "ingress-uid"),
    Place("events", "kube", lambda r: "/events" in r.path, '{"kind":"Event",',
          lambda t: status(403, "Forbidden", t), False, ""),
    Place("read", "compute", of_new, '{"kind":"compute#forwardingRule","name":"', lambda t: google(403, t), False,
          "default/new"),
    Place("reread", "compute", of_new, '{"kind":"compute#forwardingRule","name":"', lambda t: google(403, t), False,
          "default/old", edits_old=True),
    Place("bulk", "compute", lambda r: r.method == "GET" and not of_new(r) and "/operations/" not in r.path,
          '{"items":[', lambda t: google(403, t), True, "default/"),
    Place("write", "compute", lambda r: r.method == "POST" and not r.path.endswith("/wait"),
          '{"kind":"compute#operation","name":"', lambda t: google(403, t), False, "default/new"),
    Place("wait", "compute", lambda r: "/operations/" in r.path, '{"kind":"compute#operation","status":"',
          lambda t: google(403, t), False, "default/new"),
    Place("metadata", "metadata", lambda r: True, '{"access_token":"', lambda t: {"error": t}, True, "metadata server"),
    Place("token", "token", lambda r: True, '{"accessToken":"', lambda t: {"error": t, "error_description": t}, True,
          "token-url"),
]


# --- spells -----------------------------------------------------------------------------------------------------

def spells(place):
    """(name, answer, how long it lasts): what each place is answered."""
    begin, wrap = place.begin, place.wrap
    deep = '{"items":' * 100000
    yield "endless body", hostile.endless(begin)
    yield "endless string", hostile.endless(begin + '"', b"x" * hostile.MIB)
    yield "endless headers", hostile.endless_headers
    yield "redirect loop", hostile.redirect_loop
    yield "redirect away", hostile.redirect_away
    yield "drip", hostile.drip
    yield "silence", hostile.silence
    yield "truncated JSON", says(200, begin)
    yield "deeply nested", says(200, deep)
    yield "deep arrays", says(200, "[" * 1000000)
    yield "NULs", says(200, b'{"items":[\x00\x00],"name":"a\\u0000b"}')
    yield "NUL in a name", says(200, '{"a\\u0000b":1}')
    yield "duplicate keys", says(200, '{"items":[],"items":[],"name":"a","name":"b","metadata":{},"metadata":{}}')
    yield "not UTF-8", says(200, b'{"kind":"\xff\xfe","name":"\xc0\xaf"}')
    yield "HTML", says(200, "<html><body>Please log in</body></html>")
    yield "HTML error", says(502, "<html><body>" + "Bad gateway. " * 10000 + "</body></html>")
    yield "empty", says(200, "")
    yield "error in a 200", says(200, wrap("refused, although it says 200"))
    for name, text in (("null", "null"), ("array", "[]"), ("number", "7"), ("string", '"x"'), ("true", "true")):
        yield f"top-level {name}", says(200, text)
    for name, text in WRONG_TYPES:
        yield f"wrong type: {name}", says(200, text)
    yield "length too long", says(200, begin, length=100000)
    yield "length negative", says(200, begin, length=-5)
    yield "length huge", says(200, begin, length=1 << 62)
    yield "hang up", hostile.hang_up
    yield "garbage", hostile.garbage
    yield "TLS alert", hostile.tls_alert
    yield "401", says(401, wrap("Unauthorized"))
    yield "403", says(403, wrap("no"))
    yield "403 echo", hostile.echo_secrets(403, wrap)
    yield "401 echo", hostile.echo_secrets(401, wrap)
    yield "500 echo", hostile.echo_secrets(500, wrap)
    yield "429", says(429, wrap("slow down"))
    for name, after in (("absurd", "99999999999999999999"), ("negative", "-1"), ("words", "never"), ("long", "86400")):
        yield f"429 {name}", says(429, wrap("slow down"), [f"Retry-After: {after}"])


WRONG_TYPES = [
    ("items null", '{"kind":"List","metadata":{"resourceVersion":"1"},"items":null}'),
    ("items string", '{"kind":"List","metadata":{"resourceVersion":"1"},"items":"x"}'),
    ("items map", '{"kind":"List","metadata":{"resourceVersion":"1"},"items":{"a":1}}'),
    ("items of numbers", '{"kind":"List","metadata":{"resourceVersion":"1"},"items":[1,null,"x",[]]}'),
    ("metadata number", '{"kind":"List","metadata":7,"items":[]}'),
    ("metadata of an item", '{"kind":"List","metadata":{"resourceVersion":"1"},"items":[{"metadata":7}]}'),
    ("members", '{"kind":7,"status":[],"error":"x","name":{},"region":7,"IPAddress":[],"data":[],"access_token":7,'
                '"expires_in":"soon","accessToken":{},"expireTime":7,"message":{}}'),
    ("ports map", '{"type":"ADDED","object":{"kind":"Service","metadata":{"name":"x","namespace":"y",'
                  '"resourceVersion":"9","uid":"u"},"spec":{"ports":{"a":1},"type":7}}}\n'),
    ("event of another kind", '{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"x","namespace":"y",'
                              '"resourceVersion":"9","uid":"u"}}}\n'),
    ("unknown event type", '{"type":"RENAMED","object":{"kind":"Service","metadata":{"name":"x","namespace":"y",'
                           '"resourceVersion":"9","uid":"u"}}}\n'),
    ("error event", '{"type":"ERROR","object":{"kind":"Status","code":"four"}}\n'),
]

# Their answer is valid, or no message is needed about it.
FINE = {"ready", "events", "stream"}                # a stream that fails is replaced by a list
STREAMED = ("list", "nodes", "watch", "stream")
LISTED = ("list", "nodes", "watch")                 # places that are only come to without streaming lists


# --- a scene --------------------------------------------------------------------------------------------------

def is_fine(place, spell):
    return place.name in FINE or (place.name, spell) in FINE


def lasts_long(place, spell):
    return spell in LASTING or place.name in STREAMED and spell.startswith("endless")


def check_not_kept(stage, spell):
    """An endless answer is dropped: between half of ENOUGH and all of it memory does not grow along."""
    stage.until("the server was left, or much was sent", lambda: spell.ended or spell.sent >= ENOUGH // 2)
    sent, used = spell.sent, stage.memory_mib("VmRSS")
    stage.until("the server was left, or enough was sent", lambda: spell.ended or spell.sent >= ENOUGH)
    if not spell.ended:
        stage.check_growth(used, KEPT * (spell.sent - sent))


def bewitch(stage, place, name, spell, meet):
    """Starts trimtab, casts the spell, brings them together by `meet()`, looks, and heals.  Returns the memory used."""
    front = getattr(stage, place.front)
    if place.before_start:
        front.cast(spell)
    stage.launch()
    if not place.before_start:
        stage.until_watching()
        front.cast(spell)
    meet()
    stage.until(f"{place.name} is asked", lambda: spell.hits)
    if not is_fine(place, name) and not lasts_long(place, name):
        stage.until("it says what is wrong", lambda: place.is_told(stage))
    stage.check_alive()
    stage.check_old_untouched()
    if name.startswith("endless"):
        check_not_kept(stage, spell)
    used = stage.check_memory()
    front.heal()
    front.cut()
    return used


def scene(template, place, name, answer):
    lasts = 1 if place.front in ("metadata", "token") else None
    with Stage(template, token_lasts=lasts, token_url=place.name == "token",
               streams=place.name not in LISTED) as stage:
        spell = Spell(answer, place.matches)

        def meet():
            if place.edits_old:
                stage.until("the old one was synced", lambda: stage.logged('"Synced"', "default/old"))
                stage.patch("old", {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}})
            else:
                stage.create("new")
        used = bewitch(stage, place, name, spell, meet)
        if place.edits_old:
            change_and_back(stage)
            stage.create("new")
        stage.converge("new")
        stage.check_memory()
        stage.check_secrets()
        stage.check_stop()
        return used, spell.sent


def ranges(stage):
    return [f["sourceRanges"] for f in stage.cloud("firewalls").values() if "-fw-" in f["name"]]


def change_and_back(stage):
    """The edit that was held up is made, and nothing else; then it is taken back."""
    stage.touch("old")
    stage.until("the edit is made", lambda: ranges(stage) == [["10.0.0.0/8"]])
    stage.patch("old", {"spec": {"loadBalancerSourceRanges": None}})
    stage.until("it is taken back", lambda: ranges(stage) == [["0.0.0.0/0"]])


def rows():
    """Name of the row, what its scene gets, and where it stands: numbers of its place and of its spell."""
    for p, place in enumerate(PLACES):
        for s, (name, answer) in enumerate(spells(place)):
            yield Row(f"{place.name}: {name}", (place, name, answer), p + s)


class Row:
    """`slot`: the turns that play it, modulo the number of parts.  Along a place and along a spell neighbours have slots one
    after the other, so every turn meets each place, and each spell that has as many rows as there are parts."""

    def __init__(self, name, args, slot):
        self.name, self.args, self.slot = name, args, slot

    def is_in(self, chosen):
        return self.slot % chosen.parts == chosen.turn % chosen.parts


def play(template_of, rows_of, scene_of):
    """Plays the rows of this run, several at once; returns the exit code.  template_of(programs) makes their template."""
    words, chosen = sys.argv[3:], sample.from_env(ci=PARTS, quick=PARTS)
    if words:
        played = [r for r in rows_of() if any(w in r.name for w in words)]
        if not played:
            print(f"no row has {' or '.join(words)} in its name", file=sys.stderr)
            return 2
    else:
        played = [r for r in rows_of() if r.is_in(chosen)]
        print(chosen.line(), flush=True)
    template, results = template_of(sys.argv[1:3]), []
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        futures = [(r.name, pool.submit(scene_of, template, *r.args)) for r in played]
        status = tap.run([*((name, lambda n=name, f=future: results.append((*f.result(), n))) for name, future in futures),
                          ("the simulators end well", template.remove)])
    for used, sent, name in sorted(results)[-1:]:
        print(f"# most memory: {used:.0f} MiB, after {sent} bytes, in {name}")
    return status


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(play(Template, rows, scene))
