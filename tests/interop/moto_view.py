# SPDX-License-Identifier: Apache-2.0
"""What is in an account of AWS, read by boto3, in words that two accounts share: no ids, ARNs and host names.

    view(cluster)      {"nlb web": {…}, "group nodes": {…}, …}

Members that moto has not, has otherwise than AWS, or never gives (docs/spec/aws.md §10.4) are left out here, each with its
reason, so that what is left must be the same.
"""
import re

LB_NAME = re.compile(r"\ba[0-9a-f]{31}\b")
GROUP_NAME = re.compile(r"^(k8s-[a-z0-9]+-[a-z0-9-]+?)-[0-9a-f]{10}$")
SERVICE = "kubernetes.io/service-name"
BALANCER_KEYS = {"load_balancing.cross_zone.enabled": "false", "access_logs.s3.enabled": "false",
                 "access_logs.s3.bucket": "", "access_logs.s3.prefix": ""}
TARGET_KEYS = {"preserve_client_ip.enabled": "true", "proxy_protocol_v2.enabled": "false"}


def tags(items):
    return {t["Key"]: t["Value"] for t in items}


def listed(keys, attributes):
    """Of attributes those in `keys`, with AWS' defaults for what moto does not list (rows 12, 13)."""
    found = {a["Key"]: a["Value"] for a in attributes}
    return {k: found.get(k, default) for k, default in keys.items()}


class View:
    """One look at everything."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.ec2, self.elb, self.v2 = (cluster.client(s) for s in ("ec2", "elb", "elbv2"))
        here = [{"Name": "vpc-id", "Values": [cluster.vpc]}]
        self.zones = {s["SubnetId"]: s["AvailabilityZone"] for s in self.ec2.describe_subnets(Filters=here)["Subnets"]}
        self.groups = self.ec2.describe_security_groups(Filters=here)["SecurityGroups"]
        services = cluster.must("GET", cluster.services())["items"]
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

    def machines(self, ids):
        return sorted(self.cluster.machines.get(i, i) for i in ids)

    def names_of_groups(self, ids):
        return sorted(self.group_names.get(i, i) for i in ids)

    # --- security groups ---
    def rules(self, group):
        found = []
        for p in group["IpPermissions"]:
            what = (p["IpProtocol"], self.port(p.get("FromPort", "")), self.port(p.get("ToPort", "")))
            found += [(*what, r["CidrIp"], self.plain(r.get("Description", ""))) for r in p["IpRanges"]]
            found += [(*what, r["CidrIpv6"], self.plain(r.get("Description", ""))) for r in p.get("Ipv6Ranges", [])]
            found += [(*what, *self.names_of_groups([r["GroupId"]]), self.plain(r.get("Description", "")))
                      for r in p["UserIdGroupPairs"]]
        return sorted(found)

    def security_groups(self):
        return {f"group {self.plain(g['GroupName'])}": {"rules": self.rules(g), "tags": tags(g.get("Tags", []))}
                for g in self.groups if g["GroupName"] != "default"}

    # --- classic ---
    def classic(self, lb):
        name = lb["LoadBalancerName"]
        attributes = self.elb.describe_load_balancer_attributes(LoadBalancerName=name)["LoadBalancerAttributes"]
        check = lb.get("HealthCheck") or {}
        target = re.sub(r"^([A-Z]+):(\d+)", lambda at: f"{at.group(1)}:{self.port(at.group(2))}", check.get("Target", ""))
        draining = attributes.get("ConnectionDraining", {})
        return {
            "listeners": sorted((x["Listener"]["LoadBalancerPort"], x["Listener"]["Protocol"], self.port(x["Listener"]["InstancePort"]),
                                 x["Listener"].get("SSLCertificateId", "")) for x in lb["ListenerDescriptions"]),
            "scheme": lb.get("Scheme"), "zones": sorted(self.zones[s] for s in lb["Subnets"]),
            "groups": self.names_of_groups(lb["SecurityGroups"]), "check": {**check, "Target": target},
            "machines": self.machines(i["InstanceId"] for i in lb["Instances"]),
            "proxy": sorted(self.port(b["InstancePort"]) for b in lb.get("BackendServerDescriptions", []) if b.get("PolicyNames")),
            "cross-zone": attributes.get("CrossZoneLoadBalancing", {}).get("Enabled", False),
            "logs": attributes.get("AccessLog", {}).get("Enabled", False),
            # the timeout counts only while it is on, and moto sets one of its own (row 23)
            "draining": draining.get("Timeout") if draining.get("Enabled") else None,
            "idle": attributes.get("ConnectionSettings", {}).get("IdleTimeout", 60),
            "tags": tags(self.elb.describe_tags(LoadBalancerNames=[name])["TagDescriptions"][0]["Tags"])}

    # --- NLB ---
    def target_group(self, arn):
        group, = self.v2.describe_target_groups(TargetGroupArns=[arn])["TargetGroups"]
        health = self.v2.describe_target_health(TargetGroupArn=arn)["TargetHealthDescriptions"]
        check = {k: v for k, v in group.items() if k.startswith("HealthCheck") or k.endswith("ThresholdCount")}
        check["HealthCheckPort"] = self.port(check["HealthCheckPort"])
        for member in ("HealthCheckEnabled", "HealthCheckTimeoutSeconds"):       # moto's own default for HTTP is TCP's
            check.pop(member, None)
        if check["HealthCheckProtocol"] == "TCP":
            check.pop("HealthCheckPath", None)                                   # moto keeps what HTTP checks had
        return {"name": self.plain(group["TargetGroupName"]),
                "protocol": group["Protocol"], "port": self.port(group["Port"]), "check": check,
                "machines": self.machines(h["Target"]["Id"] for h in health),
                "target ports": sorted({self.port(h["Target"]["Port"]) for h in health}),
                "attributes": listed(TARGET_KEYS, self.v2.describe_target_group_attributes(TargetGroupArn=arn)["Attributes"]),
                "tags": self.tags_of(arn)}

    def tags_of(self, arn):
        return tags(self.v2.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"])

    def nlb(self, lb):
        arn, listeners = lb["LoadBalancerArn"], {}
        for x in self.v2.describe_listeners(LoadBalancerArn=arn)["Listeners"]:
            secure = x["Protocol"] == "TLS"
            listeners[f"{x['Protocol']} {x['Port']}"] = {
                "certificates": sorted(c["CertificateArn"] for c in x.get("Certificates", [])),
                "policy": x.get("SslPolicy") if secure else None,          # moto gives one to all (row 3)
                "group": self.target_group(x["DefaultActions"][0]["TargetGroupArn"])}
        return {
            "type": lb["Type"], "scheme": lb.get("Scheme") or "internet-facing",                      # row 10
            "zones": sorted(z["ZoneName"] for z in lb["AvailabilityZones"]),
            "groups": self.names_of_groups(lb.get("SecurityGroups", [])), "listeners": listeners,
            "attributes": listed(BALANCER_KEYS, self.v2.describe_load_balancer_attributes(LoadBalancerArn=arn)["Attributes"]),
            "tags": self.tags_of(arn)}

    def all(self):
        found = self.security_groups()
        for lb in self.elb.describe_load_balancers()["LoadBalancerDescriptions"]:
            found[f"classic {self.plain(lb['LoadBalancerName'])}"] = self.classic(lb)
        for lb in self.v2.describe_load_balancers()["LoadBalancers"]:
            found[f"nlb {self.plain(lb['LoadBalancerName'])}"] = self.nlb(lb)
        named = [self.plain(g["TargetGroupName"]) for g in self.v2.describe_target_groups()["TargetGroups"]]
        found["target groups"] = {name: named.count(name) for name in sorted(named)}
        return found


def view(cluster):
    return View(cluster).all()


def differences(left, right, path=""):
    """Lines that say where two views differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [line for key in sorted(left.keys() | right.keys(), key=str)
                for line in differences(left.get(key), right.get(key), f"{path}/{key}")]
    return [] if left == right else [f"{path}: {left!r} / {right!r}"]
