# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster in Azure that the Go cloud-controller-manager and trimtab serve in turns.

The Go program comes from TRIMTAB_GO_CCM_AZURE: any build of a cloud-controller-manager with an azure provider that takes
resourceManagerEndpoint.  k8s.io/legacy-cloud-providers (v0.28) is the last one in a public Go module that can be fetched
without its repository; what differs between it and the present one is told in go_ccm_azure_test.py.

What counts is not how a rule is called but who gets through to where: `Traffic` works that out from the documents.
"""
import ipaddress
import json
import os
import tempfile

from go_ccm_world import GoWorld

GO_CCM_AZURE = os.environ.get("TRIMTAB_GO_CCM_AZURE", "")
BALANCERS, ADDRESSES, GROUPS = "loadBalancers", "publicIPAddresses", "networkSecurityGroups"
TRAFFIC = (BALANCERS, ADDRESSES, GROUPS)
VNET = ipaddress.ip_network("10.240.0.0/16")
# Possible clients: the Internet, private networks that Services name as sources, and a neighbour in the network.
CLIENTS = ("8.8.8.8", "10.1.1.1", "10.2.1.1", "192.0.2.1", "192.0.2.200", "10.240.0.200")
HOW = ("idleTimeoutInMinutes", "loadDistribution", "enableFloatingIP", "enableTcpReset", "disableOutboundSnat", "backendPort")


def kind(path):
    """loadBalancers, publicIPAddresses …"""
    return path.split("/providers/")[-1].split("/")[1]


def last(path):
    return path.split("?")[0].split("/")[-1]


class Traffic:
    """Where packets end, by the documents of balancers, public addresses and the security group."""

    def __init__(self, documents):
        self.addresses = {d["id"].lower(): d["properties"].get("ipAddress") for i, d in documents.items()
                          if kind(i) == ADDRESSES}
        self.balancers = {i: d for i, d in documents.items() if kind(i) == BALANCERS}
        self.groups = [d for i, d in documents.items() if kind(i) == GROUPS]

    def frontends(self):
        """(address, protocol, port): how it is served, and by whom."""
        found = {}
        for balancer in self.balancers.values():
            properties = balancer["properties"]
            parts = {p["id"].lower(): p for member in ("frontendIPConfigurations", "backendAddressPools", "probes")
                     for p in properties.get(member, [])}
            for rule in properties.get("loadBalancingRules", []):
                r = rule["properties"]
                frontend = parts[r["frontendIPConfiguration"]["id"].lower()]["properties"]
                pool = parts[r["backendAddressPool"]["id"].lower()]["properties"]
                public = frontend.get("publicIPAddress", {}).get("id", "").lower()
                address = self.addresses.get(public) if public else frontend.get("privateIPAddress")
                found[(address, r["protocol"], r["frontendPort"])] = {
                    **{how: r.get(how) for how in HOW},
                    "members": sorted(c["id"].split("/networkInterfaces/")[0].split("/")[-1] if "virtualMachines" in c["id"]
                                      else c["id"].split("/networkInterfaces/")[1].split("/")[0]
                                      for c in pool.get("backendIPConfigurations", [])),
                    "probe": self.asked(parts, r)}
        return found

    @staticmethod
    def asked(parts, rule):
        if not rule.get("probe"):
            return None
        probe = parts[rule["probe"]["id"].lower()]["properties"]
        return probe["protocol"], probe["port"], probe.get("requestPath"), probe["intervalInSeconds"]

    def lets_in(self, client, address, protocol, port):
        """The security group's first inbound rule that fits."""
        rules = [r["properties"] for g in self.groups for r in g["properties"].get("securityRules", [])]
        for r in sorted(rules, key=lambda r: r["priority"]):
            if (r["direction"] == "Inbound" and r["protocol"].lower() in ("*", protocol.lower())
                    and any(ports_have(p, port) for p in both(r, "destinationPortRange"))
                    and any(holds(p, client) for p in both(r, "sourceAddressPrefix"))
                    and any(holds(p, address) for p in both(r, "destinationAddressPrefix", "destinationAddressPrefixes"))):
                return r["access"] == "Allow"
        return holds("VirtualNetwork", client) and holds("VirtualNetwork", address)

    def open(self):
        """Every (address, protocol, port, client) that gets through to some machine."""
        return {(*key, client) for key, how in self.frontends().items() for client in CLIENTS
                if how["members"] and self.lets_in(client, *key)}


def both(rule, one, many=None):
    many = many or (one + "es" if one.endswith("x") else one + "s")
    return ([rule[one]] if rule.get(one) else []) + (rule.get(many) or [])


def ports_have(text, port):
    low, _, high = text.partition("-")
    return text == "*" or int(low) <= port <= int(high or low)


def holds(prefix, address):
    if prefix == "*" or address is None:
        return prefix == "*"
    inside = ipaddress.ip_address(address) in VNET
    if prefix in ("VirtualNetwork", "Internet"):
        return inside == (prefix == "VirtualNetwork")
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(prefix)
    except ValueError:
        return False                     # a service tag: nobody here is in one


class AzureCluster(GoWorld):
    """One in Azure, with the credentials of an application, which both programs understand."""

    def __init__(self, programs, label, config, *flags):
        handle, self.traffic_log = tempfile.mkstemp(prefix="trimtab-go-", suffix=".log")
        os.close(handle)
        super().__init__(programs, GO_CCM_AZURE, label, f"--traffic-log={self.traffic_log}", *flags, cloud="azure")
        path = f"{self.conf}/azure.json"
        with open(path, encoding="utf-8") as f:
            whole = json.load(f)
        whole.update(useManagedIdentityExtension=False, aadClientId="me", aadClientSecret="sim-client-secret",
                     cloudConfigType="file", **config)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(whole, f)
        self.group = f"/subscriptions/{whole['subscriptionId']}/resourceGroups/{whole['resourceGroup']}/providers"
        self.headers = {"Metadata": "true"}
        token = self.must("GET", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x")["access_token"]
        self.headers["Authorization"] = f"Bearer {token}"

    def __exit__(self, kind_of_error, value, trace):
        try:
            super().__exit__(kind_of_error, value, trace)
        finally:
            os.remove(self.traffic_log)

    def arm(self, method, path, body=None):
        """A request to Microsoft.Network of the user's own; the document that is answered."""
        return self.must(method, f"{self.group}/Microsoft.Network/{path}?api-version=2025-05-01", body)

    def reserve(self, name, sku):
        """A public address of the user's own; returns the number."""
        return self.arm("PUT", f"publicIPAddresses/{name}", {"location": "eastus", "sku": {"name": sku}, "properties": {
            "publicIPAllocationMethod": "Static"}})["properties"]["ipAddress"]

    # --- what is there ---
    def documents(self):
        """The documents that make traffic flow, by id."""
        return {i: d for i, d in self.must("GET", "/sim/state")["azure"].items() if kind(i) in TRAFFIC}

    def traffic(self):
        return Traffic(self.documents())

    def names(self):
        """The addresses by owner, to compare clusters that assigned them in another order."""
        found = {}
        for name, svc in self.all_services().items():
            for ingress in svc.get("status", {}).get("loadBalancer", {}).get("ingress", []):
                found[ingress["ip"]] = "+".join(filter(None, [found.get(ingress["ip"]), name]))
        return found

    def served(self):
        """Service by Service: protocols and ports with how they are served, and who may come."""
        traffic, names, ports = self.traffic(), self.names(), self.health_ports()
        served = {}
        for (address, protocol, port), how in traffic.frontends().items():
            key = f"{names.get(address, address)} {protocol} {port}"
            probe = how["probe"] and (how["probe"][0], ports.get(how["probe"][1], "its port"), *how["probe"][2:])
            served[key] = {**how, "probe": probe, "clients": [
                c for c in CLIENTS if traffic.lets_in(c, address, protocol, port)]}
            served[key].pop("backendPort")
        return served

    def health_ports(self):
        return {svc["spec"]["healthCheckNodePort"]: "the check port" for svc in self.all_services().values()
                if svc["spec"].get("healthCheckNodePort")}

    def nodes(self):
        return [n["metadata"]["name"] for n in self.must("GET", "/api/v1/nodes")["items"]]

    # --- what happened ---
    def log_size(self):
        with open(self.traffic_log, encoding="utf-8") as f:
            return len(f.readlines())

    def writes_since(self, mark):
        """(method, kind, name, answer) of each write behind line `mark` of the traffic log."""
        with open(self.traffic_log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f.readlines()[mark:]]
        return [(e["method"], kind(e["path"]), last(e["path"]), e["response"]) for e in lines
                if e["api"] == "azure" and e["method"] != "GET" and (e["status"] or 500) < 300]

    def interruptions(self, before, mark):
        """Traffic that was allowed before and not after some write of a document behind `mark`."""
        documents, wanted, lost = dict(before), Traffic(before).open(), []
        for method, what, name, answer in self.writes_since(mark):
            path = next((i for i in documents if kind(i) == what and last(i).lower() == name.lower()), None)
            if what in TRAFFIC and method == "PUT":
                documents[path or answer["id"]] = answer
            elif what in TRAFFIC and path:
                del documents[path]
            missing = wanted - Traffic(documents).open()
            lost += [f"{method} {what}/{name}: {m} is cut off" for m in sorted(missing)]
            wanted -= missing
        return lost
