#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The form of trimtab's requests to the API server during a Service's life, compared with those of a Go controller-manager.

    kube_wire_test.py TRIMTAB_SIM TRIMTAB DATA [TEST…]     (TAP on stdout)

DATA/ccm-1.36/client-requests.jsonl is the recording (its leases and its reviews belong to other tests).  A form is: verb,
path with names left out, keys of the query, content type where there is a body, the client at the end of the user agent,
and the members of the body.  Every difference stands in a table here, with its reason, and both tables must be exact.
"""
import json
import os
import re
import sys
from urllib.parse import parse_qsl, urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position
from kube_recorder import Recorder  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
RECORDING = os.path.join(sys.argv[3], "ccm-1.36", "client-requests.jsonl")
PATCH = "application/strategic-merge-patch+json"

# Requests of other parts than the service controller and its watches.
ELSEWHERE = ("/leases", "/configmaps", "subjectaccessreviews", "tokenreviews", "/namespaces/kube-system/events")
STATUS = f"patch /api/v1/namespaces/NS/services/NAME/status  {PATCH} service-controller "
MARK = "metadata.annotations.trimtab.io/carried-out metadata.annotations.trimtab.io/carried-out-by"
ONLY_UPSTREAM = {
    "get /version  aws-cloud-provider": "asked by the AWS provider",
    STATUS + "metadata.finalizers": "ours carry metadata.uid and resourceVersion, so that they hit neither another Service of that name nor, late, a later state",
    STATUS + "status.loadBalancer.ingress": "likewise; and the one after the finalizer's removal, with null, is not sent",
    f"patch /api/v1/namespaces/NS/events/NAME  {PATCH} service-controller count lastTimestamp message":
        "EnsuringLoadBalancer comes once: a sync that has nothing to do says nothing (--strict-upstream-events)",
}
ONLY_OURS = {
    STATUS + f"{MARK} metadata.finalizers metadata.resourceVersion metadata.uid": "see above; and what is made here is marked",
    STATUS + f"{MARK} metadata.resourceVersion metadata.uid status.loadBalancer.ingress": "see above",
    STATUS + "metadata.$deleteFromPrimitiveList/finalizers metadata.resourceVersion metadata.uid":
        "null would take the finalizers of others along",
    "get /api/v1/namespaces/NS/configmaps/ingress-uid  service-controller": "asked by the Google provider",
    "create /api/v1/namespaces/NS/configmaps  application/json service-controller apiVersion data.provider-uid data.uid "
    "kind metadata.name metadata.namespace": "likewise",
}
# How a cache begins is the reflectors' affair: with streaming lists as upstream (whose `timeout` repeats timeoutSeconds),
# or with a list and a watch from there.
BEGINNINGS = (
    {"watch allowWatchBookmarks,resourceVersionMatch,sendInitialEvents,timeout,timeoutSeconds,watch"},
    {"watch allowWatchBookmarks,resourceVersionMatch,sendInitialEvents,timeoutSeconds,watch"},
    {"list limit,resourceVersion", "watch allowWatchBookmarks,resourceVersion,timeoutSeconds,watch"},
)


def members(value, path=""):
    """Paths of all members; items of lists are not told apart."""
    if isinstance(value, dict) and value:
        return sorted({m for k, v in value.items() for m in members(v, f"{path}.{k}" if path else k)})
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [path]
    return [path]


def form(verb, uri, agent, content_type, body):
    parts = urlsplit(uri)
    path = re.sub(r"/namespaces/[^/]+/", "/namespaces/NS/", parts.path)
    path = re.sub(r"/(services|events|leases|serviceaccounts)/[^/]+", r"/\1/NAME", path)
    keys = ",".join(sorted(k for k, _ in parse_qsl(parts.query, keep_blank_values=True)))
    words = [verb, path, keys] + ([content_type, agent, *members(body)] if body else [agent])
    return " ".join(words)


def upstream_forms():
    forms = set()
    with open(RECORDING, encoding="utf-8") as f:
        for line in f:
            r = json.loads(line)
            if any(part in r["uri"] for part in ELSEWHERE):
                continue
            kind = PATCH if r["verb"] == "patch" else "application/json"
            forms.add(form(r["verb"], r["uri"], r["userAgent"].rsplit("/", 1)[1], kind, r["request"]))
    return forms


def our_form(r):
    verb = {"GET": "get", "POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}[r["method"]]
    if "watch=true" in r["path"]:
        verb = "watch"
    elif verb == "get" and re.search(r"/(services|nodes|endpointslices)(\?|$)", r["path"]):
        verb = "list"
    body = json.loads(r["body"]) if r["body"] else None
    return form(verb, r["path"], r["headers"]["user-agent"].rsplit("/", 1)[1], r["headers"].get("content-type"), body)


def one_life():
    """Created, annotated, deleted, as in the recording."""
    with World(PROGRAMS, "--nodes=2") as w, Recorder(w.url) as recorder:
        w.kubeconfig = recorder.kubeconfig(os.path.join(w.folder, "relay"), {})
        w.start()
        w.create("web")
        w.until_address("web")
        w.until_event("web", "EnsuredLoadBalancer", "Ensured load balancer")
        w.patch("web", {"metadata": {"annotations": {"x": "y"}}})
        w.until("it is synced again", lambda: len(w.logged('"Synced"', "default/web")) >= 2)
        w.delete("web")
        w.until_gone("web")
        w.until_event("web", "DeletedLoadBalancer", "Deleted load balancer")
        assert w.stop()[0] == 0
        return recorder.seen()


SEEN = one_life()
OURS = {our_form(r) for r in SEEN}
UPSTREAM = upstream_forms()


def is_watching(f):
    return f.startswith(("list ", "watch "))


def compare(found, table, who):
    wrong = [f"{who}, not in the table: {f}" for f in sorted(found - set(table))]
    return wrong + [f"in the table, but {who} it is not: {f}" for f in sorted(set(table) - found)]


def test_forms__differ_only_where_the_tables_say():
    ours, upstream = ({f for f in forms if not is_watching(f)} for forms in (OURS, UPSTREAM))
    wrong = compare(upstream - ours, ONLY_UPSTREAM, "only upstream")
    wrong += compare(ours - upstream, ONLY_OURS, "only ours")
    assert not wrong, "\n".join(wrong)
    assert all(ONLY_UPSTREAM.values()) and all(ONLY_OURS.values())


def test_caches__begin_in_one_of_the_ways():
    for kind in ("services", "nodes"):
        asked = {f.replace(f"/api/v1/{kind} ", "").removesuffix(" shared-informers")
                 for f in OURS if is_watching(f) and f"/{kind} " in f}
        assert asked in BEGINNINGS, (kind, asked)


def test_headers__as_the_protocol_wants_them():
    for r in SEEN:
        h = r["headers"]
        assert re.fullmatch(r"cloud-controller-manager/v1\.36\.2 \(linux/\w+\) kubernetes/trimtab-[\d.]+/"
                            r"(service-controller|shared-informers)", h["user-agent"]), r
        assert h["accept"] == "application/json, */*", r
        assert "authorization" not in h and not any(k.startswith("impersonate") for k in h), r


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
