# SPDX-License-Identifier: Apache-2.0
"""The resources of an AWS account in words that two accounts share: no ids, ARNs and host names.

    View(Account(boto3 clients, vpc) or World(state), services, machines).all()      {"nlb web": {…}, "group nodes": {…}, …}

An account is read by boto3, a simulated one also out of its state.  Members that moto has not, has otherwise than AWS, or
never gives (docs/spec/aws.md §10.4) are left out here, each with its reason, so that what is left must be the same.
"""
import re

LB_NAME = re.compile(r"\ba[0-9a-f]{31}\b")
GROUP_NAME = re.compile(r"^(k8s-[a-z0-9]+-[a-z0-9-]+?)-[0-9a-f]{10}$")
BALANCER_KEYS = {"load_balancing.cross_zone.enabled": "false", "access_logs.s3.enabled": "false",
                 "access_logs.s3.bucket": "", "access_logs.s3.prefix": ""}
TARGET_KEYS = {"preserve_client_ip.enabled": "true", "proxy_protocol_v2.enabled": "false"}


class Account:
    """One that boto3 reads: `client` makes clients."""

    def __init__(self, client, vpc):
        self.ec2, self.elb, self.v2 = (client(s) for s in ("ec2", "elb", "elbv2"))
        self.here = [{"Name": "vpc-id", "Values": [vpc]}]

    def subnets(self):
        return self.ec2.describe_subnets(Filters=self.here)["Subnets"]

    def groups(self):
        return self.ec2.describe_security_groups(Filters=self.here)["SecurityGroups"]

    def classics(self):
        return self.elb.describe_load_balancers()["LoadBalancerDescriptions"]

    def classic_attributes(self, name):
        return self.elb.describe_load_balancer_attributes(LoadBalancerName=name)["LoadBalancerAttributes"]

    def classic_tags(self, name):
        return self.elb.describe_tags(LoadBalancerNames=[name])["TagDescriptions"][0]["Tags"]

    def nlbs(self):
        return self.v2.describe_load_balancers()["LoadBalancers"]

    def listeners(self, arn):
        return self.v2.describe_listeners(LoadBalancerArn=arn)["Listeners"]

    def target_groups(self):
        return self.v2.describe_target_groups()["TargetGroups"]

    def targets(self, arn):
        return self.v2.describe_target_health(TargetGroupArn=arn)["TargetHealthDescriptions"]

    def attributes(self, arn):
        if ":targetgroup/" in arn:
            return self.v2.describe_target_group_attributes(TargetGroupArn=arn)["Attributes"]
        return self.v2.describe_load_balancer_attributes(LoadBalancerArn=arn)["Attributes"]

    def tags(self, arn):
        return self.v2.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"]


class World:
    """The simulator's state: the same documents, found without a request."""

    def __init__(self, state):
        self.ec2, self.elb, self.v2 = (state.get(s, {}) for s in ("ec2", "elb", "elbv2"))

    def subnets(self):
        return self.ec2["Subnets"]

    def groups(self):
        return self.ec2["SecurityGroups"]

    def classics(self):
        return self.elb.get("LoadBalancerDescriptions", [])

    def classic_attributes(self, name):
        return self.elb.get("Attributes", {}).get(name, {})

    def classic_tags(self, name):
        return next((t["Tags"] for t in self.elb.get("Tags", []) if t["LoadBalancerName"] == name), [])

    def nlbs(self):
        return self.v2.get("LoadBalancers", [])

    def listeners(self, arn):
        return [x for x in self.v2.get("Listeners", []) if x["LoadBalancerArn"] == arn]

    def target_groups(self):
        return self.v2.get("TargetGroups", [])

    def targets(self, arn):
        return self.v2.get("TargetHealth", {}).get(arn, [])

    def attributes(self, arn):
        return self.v2.get("TargetGroupAttributes" if ":targetgroup/" in arn else "Attributes", {}).get(arn, [])

    def tags(self, arn):
        return next((t["Tags"] for t in self.v2.get("Tags", []) if t["ResourceArn"] == arn), [])


def pairs(items):
    return {t["Key"]: t["Value"] for t in items}


def listed(keys, attributes):
    """Of attributes those in `keys`, with AWS' defaults for what moto does not list (rows 12, 13)."""
    return {**keys, **{k: v for k, v in pairs(attributes).items() if k in keys}}


class View:
    """One look at everything; `machines` are names of nodes by instance."""

    def __init__(self, source, services, machines):
        self.source, self.machines = source, machines
        self.zones = {s["SubnetId"]: s["AvailabilityZone"] for s in source.subnets()}
        self.groups = [g for g in source.groups() if g["GroupName"] != "default"]
        self.target_groups = {g["TargetGroupArn"]: g for g in source.target_groups()}
        self.owners = {"a" + s["metadata"]["uid"].replace("-", "")[:31]: s["metadata"]["name"] for s in services}
        self.ports = {p["nodePort"]: f"node port of {s['metadata']['name']}:{p['port']}" for s in services
                      for p in s["spec"].get("ports", []) if p.get("nodePort")}
        self.ports.update({s["spec"]["healthCheckNodePort"]: f"check port of {s['metadata']['name']}" for s in services
                           if s["spec"].get("healthCheckNodePort")})
        self.group_names = {g["GroupId"]: self.plain(g["GroupName"]) for g in self.groups}

    def plain(self, text):
        """Names that follow from a Service's uid, by the Service; of a target group's name its readable half."""
        text = LB_NAME.sub(lambda at: f"<{self.owners.get(at.group(), 'one that is gone')}>", text)
        at = GROUP_NAME.match(text)
        return at.group(1) if at else text

    def port(self, number):
        try:
            return self.ports.get(int(number), str(number))
        except ValueError:
            return number

    def nodes(self, ids):
        return sorted(self.machines.get(i, i) for i in ids)

    def names_of_groups(self, ids):
        return sorted(self.group_names.get(i, i) for i in ids)

    def rules(self, group):
        found = []
        for p in group["IpPermissions"]:
            what = (p["IpProtocol"], self.port(p.get("FromPort", "")), self.port(p.get("ToPort", "")))
            sources = [(r["CidrIp"], r) for r in p["IpRanges"]] + [(r["CidrIpv6"], r) for r in p.get("Ipv6Ranges", [])]
            sources += [(*self.names_of_groups([r["GroupId"]]), r) for r in p["UserIdGroupPairs"]]
            found += [(*what, source, self.plain(r.get("Description", ""))) for source, r in sources]
        return {" ".join(rule).strip(): found.count(rule) for rule in sorted(found)}

    def classic_listener(self, listener):
        x = listener["Listener"]
        return (x["LoadBalancerPort"], x["Protocol"], self.port(x["InstancePort"]), x.get("SSLCertificateId", ""),
                *listener.get("PolicyNames", []))

    def classic(self, lb):
        name = lb["LoadBalancerName"]
        attributes, check = self.source.classic_attributes(name), lb.get("HealthCheck") or {}
        target = re.sub(r"^([A-Z]+):(\d+)", lambda at: f"{at.group(1)}:{self.port(at.group(2))}", check.get("Target", ""))
        draining = attributes.get("ConnectionDraining", {})
        return {
            "listeners": sorted(self.classic_listener(x) for x in lb["ListenerDescriptions"]),
            "scheme": lb.get("Scheme"), "zones": sorted(self.zones[s] for s in lb["Subnets"]),
            "groups": self.names_of_groups(lb["SecurityGroups"]), "check": {**check, "Target": target},
            "nodes": self.nodes(i["InstanceId"] for i in lb["Instances"]),
            "proxy": sorted(self.port(b["InstancePort"]) for b in lb.get("BackendServerDescriptions", [])
                            if b.get("PolicyNames")),
            "cross-zone": attributes.get("CrossZoneLoadBalancing", {}).get("Enabled", False),
            "logs": attributes.get("AccessLog", {}).get("Enabled", False),
            # the timeout counts only while it is on, and moto sets one of its own (row 23)
            "draining": draining.get("Timeout") if draining.get("Enabled") else None,
            "idle": attributes.get("ConnectionSettings", {}).get("IdleTimeout", 60),
            "tags": pairs(self.source.classic_tags(name))}

    def target_group(self, arn):
        group, targets = self.target_groups[arn], self.source.targets(arn)
        check = {k: v for k, v in group.items() if k.startswith("HealthCheck") or k.endswith("ThresholdCount")}
        check["HealthCheckPort"] = self.port(check["HealthCheckPort"])
        for member in ("HealthCheckEnabled", "HealthCheckTimeoutSeconds"):       # moto's own default for HTTP is TCP's
            check.pop(member, None)
        if check["HealthCheckProtocol"] == "TCP":
            check.pop("HealthCheckPath", None)                                   # moto keeps what HTTP checks had
        return {"name": self.plain(group["TargetGroupName"]), "protocol": group["Protocol"], "port": self.port(group["Port"]),
                "check": check, "nodes": self.nodes(h["Target"]["Id"] for h in targets),
                "target ports": sorted({self.port(h["Target"]["Port"]) for h in targets}),
                "attributes": listed(TARGET_KEYS, self.source.attributes(arn)), "tags": pairs(self.source.tags(arn))}

    def nlb(self, lb):
        arn, listeners = lb["LoadBalancerArn"], {}
        for x in self.source.listeners(arn):
            secure = x["Protocol"] == "TLS"
            listeners[f"{x['Protocol']} {x['Port']}"] = {
                "certificates": sorted(c["CertificateArn"] for c in x.get("Certificates", [])),
                "policy": x.get("SslPolicy") if secure else None,          # moto gives one to all (row 3)
                "group": self.target_group(x["DefaultActions"][0]["TargetGroupArn"])}
        return {
            "type": lb["Type"], "scheme": lb.get("Scheme") or "internet-facing",                      # row 10
            "zones": sorted(z["ZoneName"] for z in lb["AvailabilityZones"]),
            "groups": self.names_of_groups(lb.get("SecurityGroups", [])), "listeners": listeners,
            "attributes": listed(BALANCER_KEYS, self.source.attributes(arn)), "tags": pairs(self.source.tags(arn))}

    def all(self):
        found = {f"group {self.plain(g['GroupName'])}": {"rules": self.rules(g), "tags": pairs(g.get("Tags", []))}
                 for g in self.groups}
        found.update({f"classic {self.plain(lb['LoadBalancerName'])}": self.classic(lb) for lb in self.source.classics()})
        found.update({f"nlb {self.plain(lb['LoadBalancerName'])}": self.nlb(lb) for lb in self.source.nlbs()})
        named = [self.plain(g["TargetGroupName"]) for g in self.target_groups.values()]
        return {**found, "target groups": {name: named.count(name) for name in sorted(named)}}


def differences(left, right, path=""):
    """Lines that say where two views differ."""
    if isinstance(left, tuple) and isinstance(left[0], dict):
        return [line for i, pair in enumerate(zip(left, right)) for line in differences(*pair, f"{path}{i}")]
    if isinstance(left, dict) and isinstance(right, dict):
        return [line for key in sorted(left.keys() | right.keys(), key=str)
                for line in differences(left.get(key), right.get(key), f"{path}/{key}")]
    return [] if left == right else [f"{path}: {left!r} / {right!r}"]
