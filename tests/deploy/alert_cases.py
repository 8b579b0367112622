# SPDX-License-Identifier: Apache-2.0
"""When each alert fires, and when it is silent: rows for `promtool test rules` (alerts_test.py).

A row: name, alert, series {selector: values}, checks [(minute, [labels of the alerts that fire])].  Values are promtool's:
"1x30" is 1 at minutes 0 to 30, "_x5" nothing for five minutes, "0+1x9" counts up.  A cluster's replica is named as
operators label it: cluster, namespace, job, instance.
"""


def at(cluster="", instance="a", **more):
    """Labels of a scrape target; without a cluster as a lone Prometheus has them."""
    labels = {"job": "trimtab", "namespace": "kube-system", "instance": instance, **more}
    if cluster:
        labels["cluster"] = cluster
    return labels


def series(metric, labels):
    return metric + "{" + ",".join(f'{k}="{v}"' for k, v in sorted(labels.items())) + "}"


def up(values, *where, **more):
    return {series("up", at(*where, **more)): values}


def leads(values, *where, **more):
    return {series("leader_election_master_status", at(*where, name="trimtab", **more)): values}


def of(metric, values, *where, **more):
    return {series(metric, at(*where, **more)): values}


def group(cluster="", **more):
    """Labels of an alert that is about an installation."""
    labels = {"job": "trimtab", "namespace": "kube-system", **more}
    if cluster:
        labels["cluster"] = cluster
    return labels


STARTED = "process_start_time_seconds"
NONE = []
MINUTES = 90
GONE = "1x20 _x80"      # its series ends: the pods were deleted
DEAD = "1x20 0x80"      # its target is there and does not answer
COME_BACK = "1x20 0x3 1x80"
ALWAYS = "1x100"
STALE = "1x20 stale"

DOWN = [
    ("one of two clusters is deleted", {**up(ALWAYS, "east"), **up(GONE, "west")},
     [(20, NONE), (24, NONE), (32, [group("west")]), (80, [group("west")])]),
    ("one of two clusters does not answer", {**up(ALWAYS, "east"), **up(DEAD, "west")},
     [(24, NONE), (30, [group("west")])]),
    ("both clusters are dead", {**up(DEAD, "east"), **up(GONE, "west")}, [(32, [group("east"), group("west")])]),
    ("a lone installation without a label cluster is deleted", up(STALE), [(20, NONE), (30, [group()])]),
    ("it was never there", {}, [(4, NONE), (6, [{"job": "trimtab"}])]),
    ("it never answered", up("0x100"), [(4, NONE), (6, [group()])]),
    ("a fresh start: the first scrape fails", up("0 1x100"), [(6, NONE), (60, NONE)]),
    ("a scrape is lost for three minutes", up(COME_BACK), [(23, NONE), (26, NONE), (60, NONE)]),
    ("one of two replicas is down", {**up(ALWAYS, instance="a"), **up(DEAD, instance="b")}, [(40, NONE), (80, NONE)]),
    ("both replicas are down", {**up(DEAD, instance="a"), **up(GONE, instance="b")}, [(24, NONE), (32, [group()])]),
    ("pods are replaced in a roll-out", {**up("1x20 _x80", instance="a"), **up("_x20 1x80", instance="b")}, [(30, NONE), (60, NONE)]),
    ("without an election", up(ALWAYS), [(60, NONE)]),
    ("another job is down", {**up(ALWAYS), **of("up", "0x100", job="other")}, [(60, NONE)]),
]
REPLICA_DOWN = [
    ("one of two", {**up(ALWAYS, "east", "a"), **up(DEAD, "east", "b")}, [(30, NONE), (40, [at("east", "b")])]),
    ("all of them: that is TrimtabDown", {**up(DEAD, instance="a"), **up(DEAD, instance="b")}, [(60, NONE)]),
    ("a single replica, without an election", up(DEAD), [(60, NONE)]),
    ("a cluster is dead beside a healthy one", {**up(ALWAYS, "east"), **up(DEAD, "west")}, [(60, NONE)]),
    ("a roll-out", {**up("1x20 0x3 _x60", instance="a"), **up("_x21 1x80", instance="b")}, [(40, NONE), (60, NONE)]),
    ("a scrape is lost for three minutes", {**up(ALWAYS, instance="a"), **up(COME_BACK, instance="b")}, [(25, NONE), (60, NONE)]),
]
NO_LEADER = [
    ("two replicas, none leads", {**up(ALWAYS, instance="a"), **up(ALWAYS, instance="b"), **leads("1x20 0x80", instance="a"),
                                  **leads("0x100", instance="b")}, [(20, NONE), (22, NONE), (24, [group()]), (80, [group()])]),
    ("without an election there is no such metric", up(ALWAYS), [(3, NONE), (60, NONE)]),
    ("one replica, with an election", {**up(ALWAYS), **leads(ALWAYS)}, [(60, NONE)]),
    ("one replica that cannot get the lease", {**up(ALWAYS), **leads("0x100")}, [(1, NONE), (3, [group()])]),
    ("a fresh start: a minute until it leads", {**up(ALWAYS), **leads("0 1x100")}, [(1, NONE), (3, NONE), (60, NONE)]),
    ("one leads, one stands by", {**up(ALWAYS, instance="a"), **up(ALWAYS, instance="b"), **leads(ALWAYS, instance="a"),
                                  **leads("0x100", instance="b")}, [(60, NONE)]),
    ("the lease changes hands", {**up(ALWAYS, instance="a"), **up(ALWAYS, instance="b"), **leads("1x20 0x80", instance="a"),
                                 **leads("0x21 1x80", instance="b")}, [(21, NONE), (24, NONE), (60, NONE)]),
    ("the leader cannot be scraped, the standby can", {**up(DEAD, instance="a"), **up(ALWAYS, instance="b"),
                                                       **leads("1x20 _x80", instance="a"), **leads("0x100", instance="b")},
     [(30, NONE), (80, NONE)]),
    ("the pods are gone: that is TrimtabDown", {**up(GONE), **leads("1x20 _x80")}, [(60, NONE)]),
    ("one of two clusters has no leader", {**up(ALWAYS, "east"), **up(ALWAYS, "west"), **leads(ALWAYS, "east"), **leads("0x100", "west")},
     [(10, [group("west")])]),
    ("one of two clusters has no election", {**up(ALWAYS, "east"), **up(ALWAYS, "west"), **leads(ALWAYS, "east")}, [(60, NONE)]),
]
NO_LEADER_SEEN = [
    ("the leader's node is lost, the standby never gets the lease", {**up(DEAD, instance="a"), **up(ALWAYS, instance="b"),
                                                                     **leads("1x20 _x80", instance="a"), **leads("0x100", instance="b")},
     [(30, NONE), (45, [group()]), (80, [group()])]),
    ("its target goes with it", {**up(GONE, instance="a"), **up(ALWAYS, instance="b"), **leads("1x20 _x80", instance="a"),
                                 **leads("0x100", instance="b")}, [(30, NONE), (45, [group()])]),
    ("the standby takes over", {**up(DEAD, instance="a"), **up(ALWAYS, instance="b"), **leads("1x20 _x80", instance="a"),
                                **leads("0x22 1x80", instance="b")}, [(45, NONE), (80, NONE)]),
    ("the leader is not scraped for ten minutes", {**up("1x20 0x10 1x80", instance="a"), **up(ALWAYS, instance="b"),
                                                   **leads("1x20 _x10 1x80", instance="a"), **leads("0x100", instance="b")},
     [(30, NONE), (40, NONE), (80, NONE)]),
    ("one leads, one stands by", {**up(ALWAYS, instance="a"), **up(ALWAYS, instance="b"), **leads(ALWAYS, instance="a"),
                                  **leads("0x100", instance="b")}, [(60, NONE)]),
    ("without an election there is no such metric", up(ALWAYS), [(60, NONE)]),
    ("the pods are gone: that is TrimtabDown", {**up(GONE), **leads("1x20 _x80")}, [(60, NONE)]),
    ("in one of two clusters", {**up(DEAD, "west", "a"), **up(ALWAYS, "west", "b"), **up(ALWAYS, "east"), **leads(ALWAYS, "east"),
                                **leads("1x20 _x80", "west", "a"), **leads("0x100", "west", "b")}, [(45, [group("west")])]),
]
CRASH_LOOP = [
    ("three starts within a quarter of an hour", of(STARTED, "1000x5 1001x3 1002x3 1003x80"), [(4, NONE), (14, [at()]), (40, NONE)]),
    ("two starts, as in an upgrade", of(STARTED, "1000x5 1001x3 1002x80"), [(14, NONE), (40, NONE)]),
    ("a fresh start", of(STARTED, "_x5 1000x80"), [(10, NONE), (40, NONE)]),
    ("new pods are other series", {**of(STARTED, "1000x5 _x80", instance="a"), **of(STARTED, "_x5 1001x5 _x80", instance="b"),
                                   **of(STARTED, "_x10 1002x80", instance="c")}, [(14, NONE), (40, NONE)]),
    ("in one of two clusters", {**of(STARTED, "1000x100", "east"), **of(STARTED, "1000x5 1001x3 1002x3 1003x80", "west")},
     [(14, [at("west")])]),
]
SYNCS = "trimtab_syncs_total"
FORBIDDEN = {"verb": "ensure", "result": "forbidden"}
SYNC_FAILING = [
    ("it fails and is tried again every five minutes", of(SYNCS, "0x4 1x4 2x4 3x4 4x4 5x4 6x4 7x4 8x50", **FORBIDDEN),
     [(10, NONE), (25, [group(**FORBIDDEN)])]),
    ("its first failure makes the series", of(SYNCS, "_x4 1x4 2x4 3x4 4x4 5x4 6x4 7x50", **FORBIDDEN), [(30, [group(**FORBIDDEN)])]),
    ("one failure, then all is well", of(SYNCS, "0x4 1x80", **FORBIDDEN), [(10, NONE), (20, NONE), (60, NONE)]),
    ("syncs that end well", of(SYNCS, "0+1x100", verb="ensure", result="ok"), [(60, NONE)]),
    ("throttled ones have an alert of their own", of(SYNCS, "0+1x100", verb="ensure", result="throttled"), [(60, NONE)]),
    ("it starts anew in between", of(SYNCS, "0x4 5x4 6x4 0x2 1x4 2x4 3x4 4x4 5x4 6x4", **FORBIDDEN), [(30, [group(**FORBIDDEN)])]),
    ("a standby, and a fresh start", up(ALWAYS), [(60, NONE)]),
    ("in one of two clusters", {**of(SYNCS, "0+1x100", "west", **FORBIDDEN), **of(SYNCS, "0x100", "east", **FORBIDDEN)},
     [(40, [group("west", **FORBIDDEN)])]),
]
DEPTH = "workqueue_depth"
BUCKET = "trimtab_change_duration_seconds_bucket"


def changes(slow, all_of_them, *where):
    """Changes a minute, and those of them that took longer than ten minutes."""
    return {**of(BUCKET, f"0+{all_of_them - slow}x100", *where, verb="ensure", le="60"),
            **of(BUCKET, f"0+{all_of_them - slow}x100", *where, verb="ensure", le="600"),
            **of(BUCKET, f"0+{all_of_them}x100", *where, verb="ensure", le="+Inf")}


QUEUE_OLD = [
    ("the queue is never empty", of(DEPTH, "3x100", name="service"), [(10, NONE), (40, [group()])]),
    ("it is empty now and then", of(DEPTH, "3x7 0 3x7 0 3x7 0 3x7 0 3x7 0 3x7 0", name="service"), [(40, NONE)]),
    ("another queue", of(DEPTH, "3x100", name="node"), [(40, NONE)]),
    ("a standby beside the leader", {**of(DEPTH, "0x100", instance="a", name="service"), **of(DEPTH, "0x100", instance="b", name="service")},
     [(40, NONE)]),
    ("one of two replicas is the leader", {**of(DEPTH, "3x100", instance="a", name="service"),
                                           **of(DEPTH, "0x100", instance="b", name="service")}, [(40, [group()])]),
    ("many changes are slow", changes(3, 10), [(40, [group()])]),
    ("few changes are slow", changes(0, 10), [(40, NONE)]),
    ("nothing changes: no quantile", changes(0, 0), [(40, NONE)]),
    ("one change in a quiet week took long", {**of(BUCKET, "0x100", verb="ensure", le="600"),
                                              **of(BUCKET, "0x10 1x90", verb="ensure", le="+Inf")}, [(20, NONE), (26, NONE), (60, NONE)]),
    ("in one of two clusters", {**changes(3, 10, "west"), **changes(0, 10, "east")}, [(40, [group("west")])]),
    ("a fresh start", up(ALWAYS), [(40, NONE)]),
]
REQUESTS = "trimtab_cloud_requests_total"
THROTTLED = [
    *((f"{api} answers 429", of(REQUESTS, "0+30x100", api=api, operation="x", code="429"), [(5, NONE), (30, [group()])])
      for api in ("gce", "azure")),
    ("AWS says Throttling, with 400", of("cloudprovider_aws_api_throttled_requests_total", "0+3x100", operation_name="DescribeTags"),
     [(30, [group()])]),
    ("syncs are held back", of(SYNCS, "0+3x100", verb="ensure", result="throttled"), [(30, [group()])]),
    ("all three at once are one alert", {**of(REQUESTS, "0+30x100", api="aws", operation="x", code="429"),
                                         **of("cloudprovider_aws_api_throttled_requests_total", "0+30x100", operation_name="x"),
                                         **of(SYNCS, "0+30x100", verb="ensure", result="throttled")}, [(30, [group()])]),
    ("one in ten minutes", of(REQUESTS, "0x10 1x10 2x10 3x10 4x10 5x10 6x30", api="gce", operation="x", code="429"), [(40, NONE)]),
    ("requests that went well", of(REQUESTS, "0+300x100", api="gce", operation="x", code="200"), [(40, NONE)]),
    ("a burst after a start", of(REQUESTS, "0 100x100", api="gce", operation="x", code="429"), [(5, NONE), (13, NONE), (40, NONE)]),
    ("in one of two clusters", {**of(REQUESTS, "0+30x100", "west", api="gce", operation="x", code="429"),
                                **of(REQUESTS, "0+1x100", "east", api="gce", operation="x", code="429")}, [(30, [group("west")])]),
    ("before the first request", up(ALWAYS), [(40, NONE)]),
]
CLIENT = "rest_client_requests_total"
KUBE = [
    *((f"code {code}", of(CLIENT, "0+4x100", code=code, method="GET", host="10.0.0.1"), [(5, NONE), (30, [group()])])
      for code in ("401", "403", "500", "503", "<error>")),
    ("an API server that is away, asked twice a minute", of(CLIENT, "0+2x100", code="<error>", method="GET", host="h"), [(30, [group()])]),
    # 1 at minutes 0, 0.75, 1.5, … as minutes see it
    ("one kind that is refused for good, 1.3 times a minute", of(CLIENT, "0 1 2 4 5 6 8 9 10 12 13 14 16 17 18 20 21 22 24 25 26 28 29 30 "
                                                                 "32 33 34 36 37 38 40 41 42 44 45 46 48 49 50",
                                                                 code="403", method="GET", host="h"), [(5, NONE), (20, [group()]), (35, [group()])]),
    ("one error every two minutes", of(CLIENT, "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11 12 12 13 13 14 14 15 15",
                                       code="500", method="GET", host="h"), [(20, NONE), (30, NONE)]),
    ("it restarts: two minutes", of(CLIENT, "0x10 30 60 60x80", code="<error>", method="GET", host="h"), [(14, NONE), (21, NONE), (60, NONE)]),
    ("answers of all days", {**of(CLIENT, "0+60x100", code="200", method="GET", host="h"),
                             **of(CLIENT, "0+60x100", code="404", method="GET", host="h"),
                             **of(CLIENT, "0+60x100", code="409", method="PUT", host="h")}, [(40, NONE)]),
    ("trimtab starts anew in between", of(CLIENT, "0+6x20 0+6x60", code="500", method="GET", host="h"), [(40, [group()])]),
    ("in one of two clusters", {**of(CLIENT, "0+6x100", "west", code="403", method="GET", host="h"),
                                **of(CLIENT, "0+6x100", "east", code="200", method="GET", host="h")}, [(40, [group("west")])]),
    ("before the first error", up(ALWAYS), [(40, NONE)]),
]
FOUND = "trimtab_drift_found_total"
RULE = {"kind": "forwarding rule"}
DRIFT = [
    ("the first difference makes the series", of(FOUND, "_x10 1x200", **RULE), [(9, NONE), (12, [group(**RULE)]), (60, [group(**RULE)]), (85, NONE)]),
    ("another one", of(FOUND, "1x75 2x30", **RULE), [(70, NONE), (78, [group(**RULE)])]),
    ("an old difference", of(FOUND, "1x200", **RULE), [(75, NONE)]),
    ("--drift=off", up(ALWAYS), [(40, NONE)]),
    ("in one of two clusters", {**of(FOUND, "_x10 2x90", "west", **RULE), **of(FOUND, "2x100", "east", **RULE)},
     [(65, [group("west", **RULE)])]),
    ("trimtab starts anew and finds it again", of(FOUND, "3x70 _x3 1x60", **RULE), [(80, [group(**RULE)])]),
    ("it was not scraped for an hour and more", {**of(FOUND, "3x10 _x69 3x60", **RULE), **of(STARTED, "-9000x10 _x69 -9000x60")},
     [(81, NONE), (85, NONE), (90, NONE)]),
    ("in a gap of half an hour it found another one", {**of(FOUND, "3x40 _x30 4x60", **RULE), **of(STARTED, "-9000x40 _x30 -9000x60")},
     [(80, [group(**RULE)])]),
    ("in a gap it started anew and found it again", {**of(FOUND, "3x10 _x69 3x60", **RULE), **of(STARTED, "-9000x10 _x69 4500x60")},
     [(81, [group(**RULE)]), (90, [group(**RULE)])]),
]
KEPT_GAUGE = "trimtab_load_balancers_kept"
KEPT = [
    ("three are kept", of(KEPT_GAUGE, "0x10 3x90"), [(9, NONE), (11, [group()]), (60, [group()])]),
    ("they came back", of(KEPT_GAUGE, "0x10 3x20 0x60"), [(20, [group()]), (40, NONE)]),
    ("none is", of(KEPT_GAUGE, "0x100"), [(60, NONE)]),
    ("in one of two clusters", {**of(KEPT_GAUGE, "0x100", "east"), **of(KEPT_GAUGE, "3x100", "west")}, [(20, [group("west")])]),
    ("before the first scrape", {}, [(40, NONE)]),
]
ODD = {"resource": "services"}
UNREADABLE_GAUGE = "trimtab_unreadable_objects"
UNREADABLE = [
    ("a Service", of(UNREADABLE_GAUGE, "0x10 1x90", **ODD), [(15, NONE), (25, [group(**ODD)]), (60, [group(**ODD)])]),
    ("it is mended within minutes", of(UNREADABLE_GAUGE, "0x10 1x5 0x90", **ODD), [(14, NONE), (30, NONE)]),
    ("none is", of(UNREADABLE_GAUGE, "0x100", **ODD), [(60, NONE)]),
    ("in one of two clusters", {**of(UNREADABLE_GAUGE, "0x100", "east", **ODD), **of(UNREADABLE_GAUGE, "2x100", "west", **ODD)},
     [(20, [group("west", **ODD)])]),
]
LATE_GAUGE = "trimtab_provider_calls_late"
LATE = [
    ("one does not come back", of(LATE_GAUGE, "0x10 1x90"), [(13, NONE), (17, [group()]), (60, [group()])]),
    ("one came late", of(LATE_GAUGE, "0x10 1x2 0x90"), [(12, NONE), (30, NONE)]),
    ("none is", of(LATE_GAUGE, "0x100"), [(60, NONE)]),
    ("of one of two replicas", {**of(LATE_GAUGE, "0x100", instance="a"), **of(LATE_GAUGE, "1x100", instance="b")}, [(20, [group()])]),
]
TTL = "rest_client_exec_plugin_ttl_seconds"
CREDENTIALS = [
    ("the plugin gives no newer one", of(TTL, "100 40 0-60x30"), [(1, NONE), (4, [at()])]),
    ("a newer one comes in time", of(TTL, "100 40 600-60x9 600-60x9"), [(1, NONE), (8, NONE), (16, NONE)]),
    ("no plugin, or one that gives tokens", of(TTL, "Inf+0x100"), [(40, NONE)]),
    ("before the first scrape", {}, [(40, NONE)]),
    ("of one of two replicas", {**of(TTL, "Inf+0x100", instance="a"), **of(TTL, "-5x100", instance="b")}, [(10, [at(instance="b")])]),
]
RSS = "process_resident_memory_bytes"
MEMORY = [
    ("250 MiB", of(RSS, "262144000x100"), [(10, NONE), (20, [at()])]),
    ("50 MiB", of(RSS, "52428800x100"), [(60, NONE)]),
    ("a peak while it starts", of(RSS, "262144000x5 52428800x90"), [(10, NONE), (30, NONE)]),
    ("of one of two replicas", {**of(RSS, "52428800x100", instance="a"), **of(RSS, "262144000x100", instance="b")}, [(20, [at(instance="b")])]),
]
CASES = {
    "TrimtabDown": DOWN, "TrimtabReplicaDown": REPLICA_DOWN, "TrimtabNoLeader": NO_LEADER, "TrimtabNoLeaderSeen": NO_LEADER_SEEN,
    "TrimtabCrashLoop": CRASH_LOOP,
    "TrimtabSyncFailing": SYNC_FAILING, "TrimtabQueueOld": QUEUE_OLD, "TrimtabCloudThrottled": THROTTLED,
    "TrimtabKubeApiErrors": KUBE, "TrimtabDrift": DRIFT, "TrimtabLoadBalancersKept": KEPT,
    "TrimtabObjectsUnreadable": UNREADABLE, "TrimtabProviderCallsLate": LATE, "TrimtabCredentialsExpiring": CREDENTIALS, "TrimtabMemoryHigh": MEMORY,
}
