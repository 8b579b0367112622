#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two tenants and names: one writes hostile texts into every field that names something; nothing of the other's is reached.

    names_test.py TRIMTAB_SIM TRIMTAB CLOUD [TEST…]     (TAP on stdout)

The texts come with new Services, as edits of one that works, and with a restart; then all of them go.  The cloud's log of
requests holds no path but those of the cluster's own things, the cloud is byte for byte what it was, and the owner is told.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CONFIG, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS, CLOUD = sys.argv[1:3], sys.argv[3]
HOSTILE = ["rg/../../1111", "rg/..?$expand=", "#", "../../networkSecurityGroups/nsg", "x?y=",
           "default/../../..?alt=media#", "..", "%2e%2e", "a%2Fb", "a\nb"]
AZURE = "service.beta.kubernetes.io/azure-"
AWS = "service.beta.kubernetes.io/aws-load-balancer-"
GKE = "networking.gke.io/"
# Every annotation that names something, and what stands around the name in it.
FIELDS = {
    "azure": {**{AZURE + n: "%s" for n in (
        "load-balancer-internal-subnet", "load-balancer-resource-group", "pip-name", "pip-name-ipv6",
        "pip-prefix-id", "pip-prefix-id-ipv6", "dns-label-name", "allowed-service-tags", "pls-resource-group", "pls-name",
        "pls-ip-configuration-subnet", "pls-fqdns", "pls-visibility", "pls-auto-approval")},
        AZURE + "pip-tags": "k/%s=v", AZURE + "pip-ip-tags": "k/%s=v"},
    "gce": {GKE + n: "%s" for n in ("load-balancer-ip-addresses", "load-balancer-subnet", "internal-load-balancer-subnet",
                                    "ip-collection-v6")},
    "aws": {**{AWS + n: "%s" for n in ("security-groups", "extra-security-groups", "eip-allocations", "subnets", "ssl-cert",
                                       "ssl-negotiation-policy", "access-log-s3-bucket-name", "access-log-s3-bucket-prefix")}},
}[CLOUD]
# Those that become a part of a path get every text, the others two each.
PATHS = ("resource-group", "pls-name", "prefix-id", "-addresses", "-subnet", "-security-groups")
# A Service that asks for what it gets anyway, and whose other annotations make the names count.
PLAIN = {"azure": {AZURE + "load-balancer-internal": "true"}, "gce": {GKE + "load-balancer-type": "Internal"},
         "aws": {AWS + "type": "nlb"}}[CLOUD]
FLAGS = {"azure": [], "gce": ["--run-l4-controller"], "aws": []}[CLOUD]
# Permitted targets of a request: resources of the cluster's own subscription and group, project, or the one path of AWS.
OWN = {
    "azure": re.compile(r"/subscriptions/[\w-]+/(resourceGroups/(?i:{group})/)?providers/Microsoft\.(Network|Compute)(/[\w.()-]+)*"),
    "gce": re.compile(r"/compute/(v1|beta)/projects/{project}/[a-z][\w-]*(/[\w-]+)*"),
    "aws": re.compile(r"/"),
}[CLOUD]
KUBE = re.compile(r"/(api|apis|healthz|version|openapi)(/[\w.:-]*[\w:-])*")
# A name that leads nowhere else, and that the cloud's pattern does not allow: one that stands goes on, an edit is refused.
ODD = {"azure": (AZURE + "load-balancer-internal-subnet", "-odd-"), "gce": (GKE + "internal-load-balancer-subnet", "Odd-"),
       "aws": (AWS + "eip-allocations", "odd_one")}[CLOUD]
# Of those that name another's thing (theirs()), the ones that get it.
SERVED = [("azure", "by-prefix"), ("azure", "by-subnet"), ("aws", "by-address"), ("aws", "by-subnet"), ("aws", "by-certificate"),
          ("aws", "by-certificate-classic"), ("aws", "by-bucket"), ("aws", "by-bucket-classic")]
# Resources of another tenant, shared or not: annotation, value for "theirs" or "shared", the key that confines it.
SHARED = {
    "azure": [(AZURE + "load-balancer-resource-group", "%s", "allowedResourceGroups"),
              (AZURE + "pls-resource-group", "%s", "allowedResourceGroups"),
              (AZURE + "pls-auto-approval", "%s", "allowedSubscriptions")],
    "gce": [(GKE + "ip-collection-v6", "projects/%s/regions/us-central1/publicDelegatedPrefixes/p", "allowed-projects")],
    "aws": [(AWS + "security-groups", "sg-%s", "AllowedSecurityGroups"),
            (AWS + "extra-security-groups", "sg-%s", "AllowedSecurityGroups"),
            (AWS + "access-log-s3-bucket-name", "%s", "AllowedBuckets")],
}[CLOUD]


def names(key, text):
    """Annotations in which `key` names something, and in which that counts."""
    if key.startswith(AZURE + "pls-"):
        return {**PLAIN, AZURE + "pls-create": "true", key: text}
    if key.startswith(AWS + "access-log-"):
        return {**PLAIN, AWS + "access-log-enabled": "true", key: text}
    return {**PLAIN, key: text}


def may_be_anything(key, text):
    """Name tags and prefixes may hold anything that prints; they are looked up or sent as values."""
    return key.startswith(AWS) and key.endswith(("-subnets", "-prefix")) and text != "a\nb"


def add_to_cloud(w, path, resource):
    """Adds a thing of the other tenant's that a person made; returns its path (AWS: the list that it is in)."""
    state = w.must("GET", "/sim/state")
    if CLOUD == "aws":
        state[CLOUD]["ec2"].setdefault(path, []).append(resource)
    else:
        state[CLOUD][path] = resource
    w.must("PUT", "/sim/state", state)
    return path


def theirs(w):
    """Services of ours that name what stands for the other tenant's."""
    if CLOUD == "azure":
        w.create("public", {"annotations": {}})
        w.until_made("public")
        (pip,) = [p.split("/")[-1] for p in w.cloud("publicIPAddresses")]
        (subnet,) = [p.split("/")[-1] for p in w.cloud("subnets")] or ["subnet"]
        network = list(w.cloud("publicIPAddresses"))[0].split("/publicIPAddresses/")[0]
        prefix = add_to_cloud(w, network + "/publicIPPrefixes/theirs", {
            "location": "eastus", "sku": {"name": "Standard"},
            "properties": {"prefixLength": 28, "publicIPAddressVersion": "IPv4", "ipPrefix": "203.0.113.16/28"}})
        w.create("link", {"annotations": {**PLAIN, AZURE + "pls-create": "true", AZURE + "pls-name": "their-link"}})
        w.until_made("link")
        assert w.cloud("privateLinkServices")
        return [("by-link", {**PLAIN, AZURE + "pls-create": "true", AZURE + "pls-name": "their-link"}),
                ("by-name", {AZURE + "pip-name": pip}),
                ("by-address", {AZURE + "load-balancer-ipv4": w.address("public")}),
                ("by-subnet", {**PLAIN, AZURE + "load-balancer-internal-subnet": subnet}),
                ("by-prefix", {AZURE + "pip-prefix-id": prefix})]
    if CLOUD == "gce":
        return [("by-address", {**PLAIN, GKE + "load-balancer-ip-addresses": list(w.cloud("forwardingRules"))[0].split("/")[-1]}),
                ("by-subnet", {**PLAIN, GKE + "load-balancer-subnet": "default"})]
    (group, *_) = [r for r in re.findall(r"sg-[0-9a-f]+", w.state())]
    (subnet, *_) = [r for r in re.findall(r"subnet-[0-9a-f]+", w.state())]
    address = "eipalloc-0123456789abcdef0"
    add_to_cloud(w, "Addresses", {"AllocationId": address, "PublicIp": "203.0.113.17", "Domain": "vpc"})
    tls = {AWS + "ssl-cert": "arn:aws:acm:us-east-1:123456789012:certificate/theirs", AWS + "ssl-ports": "*"}
    logs = {AWS + "access-log-enabled": "true", AWS + "access-log-s3-bucket-name": "theirs"}
    return [("by-group", {AWS + "type": "nlb", AWS + "security-groups": group}),
            ("by-group-classic", {AWS + "security-groups": group}),
            ("by-subnet", {AWS + "type": "nlb", AWS + "subnets": subnet}),
            ("by-address", {AWS + "type": "nlb", AWS + "subnets": subnet, AWS + "eip-allocations": address}),
            ("by-certificate", {AWS + "type": "nlb", **tls}),
            ("by-certificate-classic", {**tls, AWS + "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01"}),
            ("by-bucket", {AWS + "type": "nlb", **logs}), ("by-bucket-classic", logs)]


class Tenants(World):
    """One cluster with a Service of each tenant, both served."""

    def __init__(self, confined=False):
        self.logs = tempfile.mkdtemp(prefix="trimtab-names-")
        self.traffic, self.kube = os.path.join(self.logs, "cloud"), os.path.join(self.logs, "kube")
        super().__init__(PROGRAMS, "--nodes=2", f"--traffic-log={self.traffic}", f"--kube-log={self.kube}", cloud=CLOUD)
        if confined:
            self.confine()
        self.start()
        for name in ("theirs", "ours"):
            self.create(name, {"annotations": PLAIN})
        for name in ("theirs", "ours"):
            self.until_made(name)  # tests compare what there is with this

    def __exit__(self, *what):
        super().__exit__(*what)
        shutil.rmtree(self.logs)

    def confine(self):
        """Lets Services name things of the tenant that is allowed to share, and of nobody else."""
        path = os.path.join(self.conf, CONFIG[CLOUD])
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if CLOUD == "azure":
            text = json.dumps({**json.loads(text), "allowedResourceGroups": ["shared"], "allowedSubscriptions": []})
        elif CLOUD == "gce":
            text += "\n[global]\nallowed-projects = shared\n"
        else:
            text += "\n[Trimtab]\nAllowedSecurityGroups = sg-shared\nAllowedBuckets = shared\n"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def start(self, *flags):
        return super().start(*FLAGS, *flags)

    def plan(self, edit, name="ours"):
        """(exit status, what `trimtab plan` prints) of the Service's manifest with `edit` in it."""
        manifest = self.get(name)
        manifest["metadata"] = {"name": name, "namespace": "default", **edit["metadata"]}
        done = subprocess.run(
            [self.trimtab_exe, "plan", "-f", "-", f"--cloud-provider={CLOUD}", f"--cloud-config={self.conf}/{CONFIG[CLOUD]}",
             f"--kubeconfig={self.kubeconfig}", *FLAGS], input=json.dumps({"apiVersion": "v1", "kind": "Service", **manifest}),
            env=self.environment(), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def state(self):
        return json.dumps(self.must("GET", "/sim/state")[CLOUD], sort_keys=True)

    def documents(self):
        """The same without etags: a shared document that was written there and back has another one."""
        return re.sub(r'"etag": "[^,}]*"', '"etag": 0', self.state())

    @staticmethod
    def requests(log):
        with open(log, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def until_refused(self, name, key, text, since=0):
        """A Warning event names the field and what is wanted."""
        def told():
            return [e for e in self.events(name) if e[0] == "Warning" and key in e[2] and "want " in e[2]]
        return self.until(f"{name} is refused for {key} {text!r}", lambda: len(told()) > since and told())

    def strangers(self):
        """Requests that lead to another thing than one of the cluster's own."""
        if CLOUD == "azure":
            with open(os.path.join(self.conf, "azure.json"), encoding="utf-8") as f:
                own = re.compile(OWN.pattern.replace("{group}", re.escape(json.load(f)["resourceGroup"])))
        elif CLOUD == "gce":
            with open(os.path.join(self.conf, "gce.conf"), encoding="utf-8") as f:
                own = re.compile(OWN.pattern.replace("{project}", re.search(r"project-id *= *\"?([\w-]+)", f.read()).group(1)))
        else:
            own = OWN
        bad, requests = [], self.requests(self.traffic)
        assert requests
        for r in self.requests(self.kube):
            if not KUBE.fullmatch(r["path"].partition("?")[0]):
                bad.append(f"{r['method']} {r['path']}")
        for r in requests:
            path, _, query = r["path"].partition("?")
            if not own.fullmatch(path) or re.search(r"expand=$|alt=media|y=", query):
                bad.append(f"{r['method']} {r['path']}")
        return bad


def test_new_services__refused_and_nothing_is_reached():
    with Tenants() as w:
        before = w.state()
        created = {}
        for k, (key, form) in enumerate(FIELDS.items()):
            for t, text in enumerate(HOSTILE if key.endswith(PATHS) else HOSTILE[k % 5::5]):
                if may_be_anything(key, text):
                    continue
                name = f"new-{k}-{t}"
                created[name] = (key, text)
                w.create(name, {"annotations": names(key, form % text)})
        for name, (key, text) in created.items():
            w.until_refused(name, key, text)
        assert [n for n in created if w.address(n)] == []
        assert w.state() == before
        for name in created:
            w.delete(name)
        for name in created:
            w.until_gone(name)
        assert w.state() == before
        assert w.strangers() == []


def test_edits_of_a_working_service__refused_and_it_stays():
    with Tenants() as w:
        before = w.state()
        address = w.address("ours")
        for key, form in FIELDS.items():
            if may_be_anything(key, HOSTILE[0]):
                continue
            told = len([e for e in w.events("ours") if key in e[2]])
            edit = names(key, form % HOSTILE[0])
            w.patch("ours", {"metadata": {"annotations": edit}})
            w.until_refused("ours", key, HOSTILE[0], told)
            w.patch("ours", {"metadata": {"annotations": {k: PLAIN.get(k) for k in edit}}})
        assert (w.address("ours"), w.state()) == (address, before)
        assert w.strangers() == []


def test_nodes__follow_a_service_whose_name_is_refused():
    key = next(k for k in FIELDS if not may_be_anything(k, HOSTILE[0]))
    with Tenants() as w:
        address = w.address("ours")
        w.patch("ours", {"metadata": {"annotations": names(key, FIELDS[key] % HOSTILE[0])}})
        w.until_refused("ours", key, HOSTILE[0])
        w.must("POST", "/sim/nodes", {"count": 1})
        w.until("its nodes are brought up to date", lambda: w.logged('"Synced"', 'service="default/ours"', 'verb="update"'))
        assert w.address("ours") == address
        assert w.strangers() == []


def test_plan_of_an_edit__refuses_what_a_sync_refuses():
    key, odd = ODD
    with Tenants() as w:
        edit = {"metadata": {"annotations": {**PLAIN, key: odd}}}
        status, out = w.plan({"metadata": {"annotations": PLAIN}})
        assert status in (0, 2), out
        status, out = w.plan(edit)
        assert status == 1 and key in out and f'"{odd}": want ' in " ".join(out.split()), out
        w.patch("ours", edit)
        w.until_refused("ours", key, odd)
        w.stop()  # no process knows that it was another one; the mark on the Service says that trimtab made what stands
        status, out = w.plan(edit)
        assert status == 1 and f'"{odd}": want ' in " ".join(out.split()), out


def test_plan_of_an_edit__shows_that_a_private_link_goes():
    if CLOUD != "azure":
        return
    with Tenants() as w:
        asks = {**PLAIN, AZURE + "pls-create": "true"}
        applied = json.dumps({"metadata": {"annotations": asks}, "spec": {}})  # a manifest without it takes the annotation off
        w.create("link", {"annotations": {**asks, "kubectl.kubernetes.io/last-applied-configuration": applied}})
        w.until("the link stands", lambda: w.cloud("privateLinkServices"))
        w.until_address("link")
        status, out = w.plan({"metadata": {"annotations": PLAIN}}, "link")
        assert status == 2 and re.search(r"^ +(\d+ +)?- private link", out, re.M), out
        w.patch("link", {"metadata": {"annotations": {AZURE + "pls-create": None}}})
        w.until("the link is gone", lambda: not w.cloud("privateLinkServices"))


def test_things_of_the_other__as_they_were_when_the_namer_has_gone():
    with Tenants() as w:
        for i, (name, annotations) in enumerate(theirs(w)):
            before = w.documents()
            w.create(name, {"annotations": annotations}, ports=[{"port": 8100 + i}])
            w.until(f"{name} is served or refused", lambda: w.address(name) or [
                e for e in w.events(name) if e[0] == "Warning"])
            assert w.address("theirs") is not None
            assert w.address(name) or (CLOUD, name) not in SERVED, (name, w.events(name))
            w.delete(name)
            w.until_gone(name)
            assert w.documents() == before, name
        assert w.strangers() == []


def test_edited_and_deleted_while_nobody_looked__nothing_is_left():
    """The process that takes them down has never seen what their annotations said before."""
    ids = {"azure": "/subscriptions/s/resourceGroups/rg", "gce": "projects/p/regions/r/addresses/a", "aws": "arn:aws:x:y:1:z/a"}
    with Tenants() as w:
        before = w.documents()
        edits = {}
        for k, (key, form) in enumerate(FIELDS.items()):
            for text in ("x?y=", "#", ids[CLOUD], "another")[k % 2::2]:
                if text != "another" or not key.endswith("resource-group"):  # that one is looked into
                    edits[f"gone-{len(edits)}"] = names(key, form % text)
        for i, name in enumerate(edits):
            w.create(name, {"annotations": PLAIN}, ports=[{"port": 9000 + i}])
        for name in edits:
            w.until_made(name)
        w.stop()
        for name, edit in edits.items():
            w.patch(name, {"metadata": {"annotations": {**{k: None for k in PLAIN}, **edit}}})
            w.delete(name)
        w.start()
        for name in edits:
            w.until_gone(name)
        assert w.documents() == before
        assert w.strangers() == []


def test_gone_with_a_group_that_cannot_be_read__nothing_is_left():
    if CLOUD != "azure":
        return
    with Tenants() as w:
        before = w.documents()
        w.create("locked", {"annotations": {}}, ports=[{"port": 8200}])
        w.until_made("locked")
        w.must("POST", "/sim/faults", {"match": {"path": "*/resourceGroups/locked/*"}, "count": 0, "do": "refuse", "status": 403,
                                       "body": {"error": {"code": "AuthorizationFailed", "message": "no"}}})
        w.patch("locked", {"metadata": {"annotations": {AZURE + "load-balancer-resource-group": "locked"}}})
        w.until_event("locked", "SyncLoadBalancerFailed", "AuthorizationFailed")
        w.delete("locked")
        w.until_gone("locked")
        assert w.documents() == before


def test_confined__what_the_lists_do_not_name_is_refused():
    with Tenants(confined=True) as w:
        before = w.state()
        for i, (key, form, config_key) in enumerate(SHARED):
            w.create(f"lists-{i}", {"annotations": names(key, form % "theirs")})
            w.until_event(f"lists-{i}", "SyncLoadBalancerFailed", config_key)
        assert w.state() == before
        assert w.strangers() == []


def test_restart__a_hostile_name_on_a_standing_service_is_refused_and_deletion_ends():
    key = next(k for k in FIELDS if k.endswith(("resource-group", "ip-addresses", "-security-groups")))
    with Tenants() as w:
        before = w.state()
        address = w.address("ours")
        w.stop()
        w.patch("ours", {"metadata": {"annotations": {key: HOSTILE[0]}}})
        w.start()
        if CLOUD != "aws":  # names become no paths there: a standing one is only looked up
            w.until_refused("ours", key, HOSTILE[0])
            assert (w.address("ours"), w.state()) == (address, before)
        w.delete("ours")
        w.until_gone("ours")
        assert w.address("theirs") is not None
        assert w.strangers() == []


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
