#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile servers whose malice takes more than one answer: lists, watches and operations that never end.

    stories_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

The limits are those of stage.py: memory, time, safety, secrets.
"""
import json
import re
import sys
import threading

import hostile
from hostile import Spell, says
from stage import Stage, Template
import tap  # stage.py put its folder on the path

MILLION = 1000000
HANG_S = 180
template = None


def service_item(i):
    return ('{"metadata":{"name":"s%d","namespace":"many","uid":"u%d","resourceVersion":"5"},"spec":{"type":"ClusterIP",'
            '"ports":[{"port":80}]}}' % (i, i))


def list_of_services(r):
    return r.path.startswith("/api/v1/services") and "watch=" not in r.path


def watch_of_services(r):
    return r.path.startswith("/api/v1/services") and "watch=" in r.path


def operation(name, done=False, error=None):
    o = {"kind": "compute#operation", "name": name, "status": "DONE" if done else "RUNNING", "progress": 50}
    return {**o, "error": {"errors": [error]}} if error else o


def ends_well(stage, *names):
    for front in stage.fronts:
        front.heal()
        front.cut()
    stage.converge(*names)
    stage.check_memory()
    stage.check_secrets()
    stage.check_stop()


# --- the API server ---------------------------------------------------------------------------------------------

def stream_items(begin, item):
    """A list of a million items, in chunks of a thousand."""
    def answer(c, _):
        def pieces():
            yield begin
            for i in range(0, MILLION, 1000):
                yield ",".join(item(k) for k in range(i, i + 1000)) + ("," if i + 1000 < MILLION else "]}")
        c.stream(pieces())
    return answer


a_million_services = stream_items('{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[',
                                  service_item)
a_million_firewalls = stream_items(
    '{"kind":"compute#firewallList","items":[',
    lambda i: '{"name":"k8s-fw-a%d","description":"x","sourceRanges":["0.0.0.0/0"]}' % i)


def test_list__a_million_objects():
    with Stage(template, streams=False) as stage:
        spell = stage.kube.cast(Spell(a_million_services, list_of_services))
        stage.launch()
        # Counted, not timed: however slowly a sanitizer reads, as long as it reads there is nothing to complain about.
        stage.until("it says so, or was sent too much",
                    lambda: stage.logged("the list has more than 100000 objects") or spell.sent >= 64 << 20,
                    progress=lambda: spell.sent)
        assert spell.sent < 64 << 20, spell.sent
        stage.create("new")
        ends_well(stage, "new")


def test_list__continue_leads_to_itself():
    with Stage(template, streams=False) as stage:
        page = {"kind": "ServiceList", "apiVersion": "v1", "metadata": {"resourceVersion": "5", "continue": "again"},
                "items": []}
        spell = stage.kube.cast(Spell(says(200, page), list_of_services))
        stage.launch()
        assert spell.until_hit(50), spell.hits
        stage.check_alive()
        stage.check_memory()
        stage.create("new")
        ends_well(stage, "new")


def test_list__continue_with_ever_new_objects():
    with Stage(template, streams=False) as stage:
        count = iter(range(1 << 30))

        def answer(c, _):
            first = next(count) * 5000
            items = ",".join(service_item(i) for i in range(first, first + 5000))
            c.answer(200, '{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"t%d"},'
                          '"items":[%s]}' % (first, items))
        spell = stage.kube.cast(Spell(answer, list_of_services))
        stage.launch()
        stage.until("it says so, or was sent too much",
                    lambda: stage.logged("the list has more than 100000 objects") or spell.sent >= 64 << 20,
                    progress=lambda: spell.sent)
        assert spell.sent < 64 << 20, spell.sent
        stage.check_memory()
        stage.create("new")
        ends_well(stage, "new")


def test_list__of_another_kind():
    """Empty or not: no node leaves a pool, and no Service is forgotten, because of a list of something else."""
    meta = {"metadata": {"resourceVersion": "5"}}
    for path in ("/api/v1/nodes", "/api/v1/services"):
        for body in ({"kind": "PodList", **meta, "items": []}, {"kind": "PodList", **meta},
                     {**meta, "items": [], "kind": "PodList"},
                     {"kind": "Status", "status": "Failure", "code": 500, "message": "no", **meta, "items": []}):
            with Stage(template, streams=False) as stage:
                spell = stage.kube.cast(Spell(says(200, json.dumps(body, indent=1)),
                                              lambda r, p=path: r.path.startswith(p) and "watch=" not in r.path))
                stage.launch()
                assert spell.until_hit(2), (path, body)     # it was not believed
                assert stage.mutations() == {}, (path, body, stage.mutations())
                stage.check_old_untouched()
                stage.create("new")
                ends_well(stage, "new")


def watch_that_sends(*events, after=None):
    """`after`: a threading.Event that comes first."""
    def answer(c, _):
        c.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        if after is not None:
            after.wait(HANG_S)
        for event in events:
            if not c.send(json.dumps(event) + "\n"):
                return
        c.hold()
    return answer


def test_watch__versions_that_go_backwards():
    with Stage(template, streams=False) as stage:
        old = stage.get("old")
        events = [{"type": "MODIFIED", "object": {**old, "metadata": {**old["metadata"], "resourceVersion": str(v)}}}
                  for v in (9000, 3, 8000, 1)]
        spell = stage.kube.cast(Spell(watch_that_sends(*events), watch_of_services))
        stage.launch().until_watching()
        assert spell.until_hit(1)
        stage.create("new")
        stage.check_old_untouched()
        ends_well(stage, "new")


def test_watch__deletions_that_never_happened():
    """Believed, as every client believes its API server (docs/operations.md): the load balancer goes, as a whole and once."""
    with Stage(template, streams=False) as stage:
        old = stage.get("old")
        event = {"type": "DELETED", "object": {**old, "metadata": {**old["metadata"], "resourceVersion": "900000"}}}
        known = threading.Event()
        spell = Spell(watch_that_sends(event, after=known), watch_of_services)
        stage.kube.cast(spell)
        stage.launch().until_watching()
        assert spell.until_hit(1)
        stage.until("its first sync is over", lambda: stage.logged('"Synced" service="default/old"'))
        known.set()
        stage.until("it is taken away", lambda: stage.logged("Deleted load balancer"))
        left = [path for path in stage.template.documents(stage.must("GET", "/sim/state")) if "/forwardingRules/" in path or "/targetPools/" in path]
        assert not left, left
        stage.check_stop()


def test_watch__other_kinds_and_nonsense():
    with Stage(template, streams=False) as stage:
        events = [{"type": "ADDED", "object": {"kind": "Secret", "metadata": {"name": "x", "resourceVersion": "9"}}},
                  {"type": "SHOUTED", "object": {"kind": "Service", "metadata": {"name": "x", "resourceVersion": "9"}}},
                  {"type": "ADDED", "object": {"kind": "Service", "metadata": {"name": 7, "namespace": [], "uid": {}}}},
                  {"type": 7, "object": "x"}]
        stage.kube.cast(Spell(watch_that_sends(*events), watch_of_services))
        stage.launch().until_watching()
        stage.until("it says so", lambda: stage.logged("Unable to understand watch event") and
                    stage.logged("Object of a watch event is left out"))
        stage.create("new")
        ends_well(stage, "new")


# --- streaming lists -------------------------------------------------------------------------------------------

def is_stream(r):
    return r.path.startswith("/api/v1/") and "sendInitialEvents=true" in r.path


def is_list(r):
    return r.path.startswith("/api/v1/") and "watch=" not in r.path


def mark(kind, rv="900000"):
    return {"type": "BOOKMARK", "object": {"kind": kind, "metadata": {
        "resourceVersion": rv, "annotations": {"k8s.io/initial-events-end": "true"}}}}


def test_stream__of_another_kind():
    """With its end mark and all: neither nodes nor Services are forgotten because of a stream of something else."""
    for events in ([{"type": "ADDED", "object": {"kind": "Pod", "metadata": {"name": "x", "resourceVersion": "5"}}}, mark("Pod")],
                   [mark("Pod")]):
        with Stage(template) as stage:
            stage.kube.cast(Spell(watch_that_sends(*events), is_stream))
            listed = stage.kube.cast(Spell(says(500, "no"), is_list))
            stage.launch()
            assert listed.until_hit(1), events              # it was not believed
            assert stage.mutations() == {}, stage.mutations()
            stage.check_old_untouched()
            stage.create("new")
            ends_well(stage, "new")


def test_stream__a_million_objects():
    with Stage(template) as stage:
        item = '{"type":"ADDED","object":%s}'
        def answer(c, _):
            def pieces():
                for i in range(0, MILLION, 1000):
                    yield "".join(item % service_item(k) for k in range(i, i + 1000))
            c.stream(pieces())
        spell = stage.kube.cast(Spell(answer, lambda r: is_stream(r) and "/services" in r.path))
        stage.launch()
        stage.until("the stream was left", lambda: spell.ended, progress=lambda: spell.sent)
        assert spell.sent < 64 << 20, spell.sent
        stage.check_memory()
        stage.create("new")
        ends_well(stage, "new")


def test_stream__cut_before_its_mark():
    """Again and again: in the end the list comes instead, and nothing was believed before."""
    with Stage(template) as stage:
        def answer(c, _):
            c.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" +
                   json.dumps({"type": "ADDED", "object": stage.get("old")}) + "\n")
        spell = stage.kube.cast(Spell(answer, lambda r: is_stream(r) and "/services" in r.path))
        stage.launch().until_watching()
        assert 3 <= spell.hits <= 3 * stage.runs, spell.hits  # on a busy machine it may have begun anew
        stage.check_old_untouched()
        stage.create("new")
        ends_well(stage, "new")


# --- the cloud --------------------------------------------------------------------------------------------------

def of_operations(r):
    return "/operations/" in r.path


def test_operation__never_done():
    """The one Service waits; the others and the signal do not."""
    with Stage(template) as stage:
        stage.launch().until_watching()
        held = threading.Event()

        def answer(c, request):
            if held.is_set():
                c.hold()
                return
            name = request.path.split("/operations/")[1].split("/")[0]
            c.answer(200, json.dumps(operation(name)))
        spell = stage.compute.cast(Spell(answer, of_operations))
        stage.create("new")
        assert spell.until_hit(3), spell.hits
        held.set()
        stage.touch("old")
        stage.until("the other one was synced", lambda: len(stage.logged('"Synced"', "default/old")) > 0)
        stage.check_old_untouched()
        stage.check_stop()
        stage.compute.heal()
        stage.launch().until_watching()
        ends_well(stage, "new")


def test_operation__ends_in_an_error():
    with Stage(template) as stage:
        stage.launch().until_watching()

        def answer(c, request):
            bearer = request.headers.get("authorization", "")
            c.answer(200, json.dumps(operation("op", True, {
                "code": "RESOURCE_IN_USE_BY_SOMETHING", "message": f"you sent {bearer}"})))
        stage.compute.cast(Spell(answer, lambda r: r.method == "POST" and not r.path.split("?")[0].endswith("/wait")))
        stage.create("new")
        stage.until_event("new", "SyncLoadBalancerFailed", "RESOURCE_IN_USE_BY_SOMETHING")
        stage.check_secrets()
        ends_well(stage, "new")


def cloud_list(r):
    return r.method == "GET" and re.search(r"/(forwardingRules|targetPools|firewalls|addresses|httpHealthChecks)\?", r.path)


def test_pages__token_repeats_for_ever():
    with Stage(template) as stage:
        spell = Spell(says(200, {"kind": "compute#addressList", "nextPageToken": "again"}), cloud_list)
        stage.compute.cast(spell)
        stage.launch()
        stage.until("it says so", lambda: stage.logged("the list does not end"))
        assert spell.hits < 200, spell.hits
        stage.create("new")
        ends_well(stage, "new")


def test_pages__ever_new_tokens():
    with Stage(template) as stage:
        count = iter(range(1 << 30))
        spell = Spell(lambda c, _: c.answer(200, json.dumps({"kind": "compute#addressList",
                                                             "nextPageToken": f"t{next(count)}"})),
                      lambda r: cloud_list(r) and "/addresses?" in r.path)
        stage.compute.cast(spell)
        stage.launch()
        stage.until("it says so", lambda: stage.logged("the list does not end"))
        stage.check_memory()
        stage.create("new")
        ends_well(stage, "new")


EMPTY_LISTS = {
    "empty": lambda kind: {"kind": f"compute#{kind}List"},
    "no kind of ours": lambda _: {"kind": "List", "items": []},
    "items without names": lambda kind: {"kind": f"compute#{kind}List", "items": [{"metadata": 7}, {"name": 7}]},
    "items that are none": lambda kind: {"kind": f"compute#{kind}List", "items": [1, None, "x", []]},
}


def test_cloud_list__empty_although_it_is_not():
    """A Service that has an address is not given another one because a list does not know its load balancer."""
    kinds = {"forwardingRules": "forwardingRule", "targetPools": "targetPool", "firewalls": "firewall",
             "addresses": "address", "httpHealthChecks": "httpHealthCheck"}
    for name, body in EMPTY_LISTS.items():
        with Stage(template) as stage:
            stage.compute.cast(Spell(
                lambda c, r, body=body: c.answer(200, json.dumps(body(kinds[cloud_list(r).group(1)]))), cloud_list))
            stage.launch().until_watching()
            stage.until(f"{name}: it was looked at", lambda: stage.logged('"Finished syncing service"', "default/old"))
            stage.check_old_untouched()
            assert stage.mutations() == {}, (name, stage.mutations())
            stage.create("new")
            ends_well(stage, "new")


def list_of_firewalls(r):
    return cloud_list(r) and "/firewalls?" in r.path


def test_cloud_list__a_million_items():
    with Stage(template) as stage:
        spell = stage.compute.cast(Spell(a_million_firewalls, list_of_firewalls))
        stage.launch()
        stage.create("new")
        # Objects that cannot be kept are read one by one.
        stage.until("new has an address", lambda: stage.address("new"), progress=lambda: spell.sent)
        ends_well(stage, "new")


def test_sigterm__while_a_huge_list_comes_in():
    """Counted: what is sent after the signal is what was on its way, in the sockets' buffers, and little more."""
    for front, answer, matches in (("kube", a_million_services, list_of_services),
                                   ("compute", a_million_firewalls, list_of_firewalls)):
        for until in (1 << 20, 4 << 20):
            with Stage(template, streams=False) as stage:
                spell = getattr(stage, front).cast(Spell(answer, matches))
                stage.launch()
                stage.until("much was sent", lambda s=spell, n=until: s.sent >= n, progress=lambda s=spell: s.sent)
                before = spell.sent
                stage.check_stop()
                assert spell.sent - before < 8 << 20, (front, before, spell.sent)
                stage.check_old_untouched()


def test_cloud_list__that_drips():
    """Others are not held up for ever: the signal is heard, and after healing all is well."""
    with Stage(template) as stage:
        spell = stage.compute.cast(Spell(hostile.drip, cloud_list))
        stage.launch()
        assert spell.until_hit(1)
        stage.check_stop()
        stage.compute.heal()
        stage.launch().until_watching()
        stage.create("new")
        ends_well(stage, "new")


COLLECTION = re.compile(r"/(forwardingRules|targetPools|firewalls|addresses|httpHealthChecks)/([^/?]+)")


def of_one_resource(r):
    return r.method == "GET" and COLLECTION.search(r.path)


def other_with_name(stage, collection, name):
    """A resource of another collection, as it really is but for its name."""
    kind = "targetPools" if collection == "firewalls" else "firewalls"
    other = next(r for path, r in stage.template.cloud.items() if f"/{kind}/" in path)
    return {**other, "name": name}


def lies_about_one(stage):
    """Name of a lie, and what it answers to who asks for (collection, name)."""
    yield "another kind", lambda c, n: other_with_name(stage, c, n)
    yield "another name", lambda c, n: {"kind": f"compute#{singular(c)}", "name": "another-one", "IPAddress": "192.0.2.7"}
    yield "nothing but its name", lambda _, n: {"name": n}
    yield "an error in a 200", lambda c, n: {"error": {"code": 404, "message": "not found", "errors": [{"reason": "notFound"}]}}
    yield "a page of a list", lambda c, n: {"kind": f"compute#{singular(c)}List", "items": []}


def singular(collection):
    return collection[:-2] if collection == "addresses" else collection[:-1]


def test_cloud_get__something_else_under_the_name():
    """From what is not the load balancer's forwarding rule nothing follows for its forwarding rule."""
    with Stage(template) as lies_of:
        lies = list(lies_about_one(lies_of))
    for lie, body in lies:
        with Stage(template) as stage:
            stage.launch().until_watching()
            stage.until("the old one was synced", lambda: stage.logged('"Synced"', "default/old"))
            spell = stage.compute.cast(Spell(
                lambda c, r, body=body: c.answer(200, json.dumps(body(*COLLECTION.search(r.path).groups()))),
                lambda r: of_one_resource(r) and "/forwardingRules/" in r.path))
            stage.patch("old", {"spec": {"sessionAffinity": "ClientIP"}})
            assert spell.until_hit(1), lie
            stage.until_event("old", "SyncLoadBalancerFailed")
            stage.check_old_untouched()
            assert stage.mutations() == {}, (lie, stage.mutations())
            stage.compute.heal()
            stage.touch("old")
            stage.until("the edit is made", lambda: [p.get("sessionAffinity") for p in stage.cloud("targetPools").values()] ==
                        ["CLIENT_IP"])
            assert stage.address("old") == template.addresses["old"]
            stage.check_secrets()
            stage.check_stop()


def test_cloud_list__of_another_collection():
    """Pools carry the names of forwarding rules: a list of the ones says nothing about the others."""
    pools = [r for path, r in template.cloud.items() if "/targetPools/" in path]
    for kind in ("compute#targetPoolList", "compute#forwardingRuleList"):
        with Stage(template) as stage:
            stage.compute.cast(Spell(says(200, {"kind": kind, "items": pools}),
                                     lambda r: cloud_list(r) and "/forwardingRules?" in r.path))
            stage.launch().until_watching()
            stage.until("it was looked at", lambda: stage.logged('"Finished syncing service"', "default/old"))
            stage.check_old_untouched()
            assert stage.mutations() == {}, (kind, stage.mutations())
            stage.create("new")
            ends_well(stage, "new")


def test_operation__another_one_is_done():
    """Only the operation that was begun says that its work is done."""
    with Stage(template) as stage:
        stage.launch().until_watching()
        spell = stage.compute.cast(Spell(says(200, operation("operation-of-others", done=True)), of_operations))
        stage.create("new")
        assert spell.until_hit(2), spell.hits           # asked again: it was not believed
        stage.check_old_untouched()
        ends_well(stage, "new")


def test_operation__done_with_half_an_error():
    """However little of an error there is, what was asked for was not done."""
    for error, words in (({"httpErrorStatusCode": 403, "httpErrorMessage": "FORBIDDEN"}, "Error 403: the operation failed"),
                         ({"error": {"code": 400, "message": "so not"}}, "Error 400: the operation failed: so not"),
                         ({"error": "no"}, "the operation failed")):
        with Stage(template) as stage:
            stage.launch().until_watching()
            stage.compute.cast(Spell(says(200, {**operation("op", done=True), **error}),
                                     lambda r: r.method == "POST" and not r.path.split("?")[0].endswith("/wait")))
            stage.create("new")
            stage.until_event("new", "SyncLoadBalancerFailed", words)
            ends_well(stage, "new")


def test_silence__everywhere_and_sigterm():
    for front in ("kube", "compute", "metadata", "token"):
        with Stage(template, token_url=front == "token") as stage:
            spell = getattr(stage, front).cast(Spell(hostile.silence, lambda r: True))
            stage.launch()
            assert spell.until_hit(1), front
            stage.check_stop()


def main():
    global template  # pylint: disable=global-statement
    template = Template(sys.argv[1:3])
    try:
        return tap.run(tap.tests_of(globals(), sys.argv[3:]))
    finally:
        template.remove()


if __name__ == "__main__":
    sys.exit(main())
