#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Amazon's own Python client (boto3) against the simulated AWS.

    boto3_test.py TRIMTAB_SIM DATA [TEST…]      (TAP on stdout; skipped where boto3 is absent)

TRIMTAB_AWS_PYTHON names the Python that has boto3, where it is not the one that runs this.

The client brings its own signatures, credential chain, pagers, waiters, retries and parsers: what it makes of the simulator's
answers is what programs for the real cloud would make of them.  At the end all traffic is checked against the schemas.
"""
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

PYTHON = os.environ.get("TRIMTAB_AWS_PYTHON", sys.executable)
if PYTHON != sys.executable and os.path.exists(PYTHON):
    os.execv(PYTHON, [PYTHON, *sys.argv])
try:
    import boto3
    import botocore
    from botocore.config import Config
    from botocore.exceptions import ClientError
except ImportError:
    boto3 = None

SIM, DATA = sys.argv[1], sys.argv[2]
ROLE = "arn:aws:iam::123456789012:role/controller"


class Cloud:
    """A running simulator, and the clients of one environment."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory()
        self.folder = self.home.name
        self.log = os.path.join(self.folder, "traffic.log")
        self.process = subprocess.Popen(
            [SIM, "--port=0", "--cloud=aws", "--nodes=4", f"--traffic-log={self.log}", f"--write-cloud-config={self.folder}"],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        with open(os.path.join(self.folder, "env-aws"), encoding="utf-8") as f:
            self.env = dict(line.rstrip("\n").split("=", 1) for line in f)
        self.vpc = self.client("ec2").describe_vpcs()["Vpcs"][0]["VpcId"]
        subnets = self.client("ec2").describe_subnets()["Subnets"]
        self.subnets = [s["SubnetId"] for s in subnets]
        self.instances = [i["InstanceId"] for r in self.client("ec2").describe_instances()["Reservations"] for i in r["Instances"]]

    def client(self, service, keys=True, **more):
        """A client of a session that knows nothing but `env`; `keys` False: without the static ones."""
        for name in [n for n in os.environ if n.startswith("AWS_")]:
            del os.environ[name]
        os.environ.update({k: v for k, v in self.env.items() if keys or not k.endswith(("_KEY_ID", "_ACCESS_KEY"))})
        os.environ.update({"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", **more.pop("env", {})})
        config = Config(retries={"mode": "standard", "max_attempts": 3})
        return boto3.Session().client(service, config=config, **more)

    def control(self, method, path, body=None):
        import urllib.request
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, method=method)) as answer:
            return json.loads(answer.read() or b"null")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(180)


def refused(status, code, action, **params):
    """The error as the client understood it."""
    try:
        answer = action(**params)
    except ClientError as error:
        got = error.response
        assert (got["ResponseMetadata"]["HTTPStatusCode"], got["Error"]["Code"]) == (status, code), got
        assert got["ResponseMetadata"].get("RequestId") or got.get("RequestId"), got
        return got
    raise AssertionError(f"not refused with {code}: {answer}")


# --- credentials -------------------------------------------------------------------------------------

def who(client):
    return client.get_caller_identity()["Arn"]


def test_credentials__environment__static_key(cloud):
    assert who(cloud.client("sts")) == "arn:aws:iam::123456789012:user/trimtab-sim"


def test_credentials__metadata_service__role_of_the_instance(cloud):
    assert who(cloud.client("sts", keys=False)) == "arn:aws:sts::123456789012:assumed-role/trimtab-sim-role/i-trimtab"


def test_credentials__container__with_its_authorization(cloud):
    env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": cloud.url + "/v1/credentials",
           "AWS_CONTAINER_AUTHORIZATION_TOKEN": "sim-container-authorization"}
    assert "assumed-role" in who(cloud.client("sts", keys=False, env=env))


def test_credentials__web_identity__by_a_token_file(cloud):
    def part(o):
        return base64.urlsafe_b64encode(json.dumps(o).encode()).rstrip(b"=").decode()
    path = os.path.join(cloud.folder, "token")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{part({'alg': 'RS256'})}.{part({'iss': 'https://c', 'sub': 's', 'aud': ['sts.amazonaws.com']})}.c2ln")
    env = {"AWS_WEB_IDENTITY_TOKEN_FILE": path, "AWS_ROLE_ARN": ROLE, "AWS_ROLE_SESSION_NAME": "me"}
    assert who(cloud.client("sts", keys=False, env=env)) == "arn:aws:sts::123456789012:assumed-role/controller/me"


def test_credentials__assumed_role__needs_its_session_token(cloud):
    c = cloud.client("sts").assume_role(RoleArn=ROLE, RoleSessionName="me", DurationSeconds=900)["Credentials"]
    keys = {"aws_access_key_id": c["AccessKeyId"], "aws_secret_access_key": c["SecretAccessKey"]}
    assert cloud.client("ec2", aws_session_token=c["SessionToken"], **keys).describe_vpcs()["Vpcs"]
    refused(401, "AuthFailure", cloud.client("ec2", **keys).describe_vpcs)
    refused(403, "InvalidClientTokenId", cloud.client("elb", **keys).describe_load_balancers)


def test_credentials__wrong__refused_by_each_service(cloud):
    for service in ("ec2", "elb", "elbv2"):
        client = cloud.client(service, aws_access_key_id=cloud.env["AWS_ACCESS_KEY_ID"], aws_secret_access_key="guess")
        if service == "ec2":
            refused(401, "AuthFailure", client.describe_vpcs)
        else:
            refused(403, "SignatureDoesNotMatch", client.describe_load_balancers)


# --- EC2 ---------------------------------------------------------------------------------------------

def test_pages__of_instances__by_the_clients_pager(cloud):
    pages = list(cloud.client("ec2").get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5}))
    assert len(pages) == 1, pages
    cloud.control("PUT", "/sim/settings/aws", {"page_size": 3})
    pages = list(cloud.client("ec2").get_paginator("describe_instances").paginate())
    cloud.control("PUT", "/sim/settings/aws", {})
    got = [i["InstanceId"] for p in pages for r in p["Reservations"] for i in r["Instances"]]
    assert sorted(got) == sorted(cloud.instances), (got, cloud.instances)  # each once; AWS promises no order
    assert len(pages) == 2, pages


def test_groups__their_whole_life__as_the_client_reads_it(cloud):
    ec2 = cloud.client("ec2")
    tags = [{"Key": "kubernetes.io/cluster/kubernetes", "Value": "owned"}]
    made = ec2.create_security_group(GroupName="g", Description="d & e", VpcId=cloud.vpc,
                                     TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}])["GroupId"]
    refused(400, "InvalidGroup.Duplicate", ec2.create_security_group, GroupName="g", Description="d", VpcId=cloud.vpc)
    rule = {"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "IpRanges": [{"CidrIp": "0.0.0.0/0", "Description": "a b"}]}
    assert ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[rule])["Return"] is True
    refused(400, "InvalidPermission.Duplicate", ec2.authorize_security_group_ingress, GroupId=made, IpPermissions=[rule])
    group, = ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": ["g"]}])["SecurityGroups"]
    assert group["Description"] == "d & e" and group["Tags"] == tags, group
    assert group["IpPermissions"] == [{**rule, "UserIdGroupPairs": [], "Ipv6Ranges": [], "PrefixListIds": []}], group
    ec2.revoke_security_group_ingress(GroupId=made, IpPermissions=[rule])
    refused(400, "InvalidPermission.NotFound", ec2.revoke_security_group_ingress, GroupId=made, IpPermissions=[rule])
    ec2.delete_security_group(GroupId=made)
    refused(400, "InvalidGroup.NotFound", ec2.delete_security_group, GroupId=made)


def test_instances__one_that_stops_existing__waited_for(cloud):
    ec2 = cloud.client("ec2")
    ec2.get_waiter("instance_running").wait(InstanceIds=cloud.instances[:1], WaiterConfig={"Delay": 1, "MaxAttempts": 1})
    refused(400, "InvalidInstanceID.NotFound", ec2.describe_instances, InstanceIds=["i-00000000000000000"])
    refused(400, "InvalidParameterCombination", ec2.describe_instances, InstanceIds=cloud.instances[:1], MaxResults=5)


# --- balancers ---------------------------------------------------------------------------------------

def test_classic__its_whole_life__as_the_client_reads_it(cloud):
    elb, ec2 = cloud.client("elb"), cloud.client("ec2")
    group = ec2.create_security_group(GroupName="classic", Description="d", VpcId=cloud.vpc)["GroupId"]
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 30080}
    dns = elb.create_load_balancer(LoadBalancerName="c", Listeners=[listener], Subnets=cloud.subnets[:2], SecurityGroups=[group],
                                   Tags=[{"Key": "k", "Value": "v"}])["DNSName"]
    elb.register_instances_with_load_balancer(LoadBalancerName="c", Instances=[{"InstanceId": i} for i in cloud.instances[:2]])
    elb.configure_health_check(LoadBalancerName="c", HealthCheck={
        "Target": "TCP:30080", "Interval": 10, "Timeout": 5, "UnhealthyThreshold": 6, "HealthyThreshold": 2})
    lb, = elb.describe_load_balancers(LoadBalancerNames=["c"])["LoadBalancerDescriptions"]
    assert lb["DNSName"] == dns and lb["SecurityGroups"] == [group] and lb["HealthCheck"]["Interval"] == 10, lb
    assert [d["Listener"] for d in lb["ListenerDescriptions"]] == [listener], lb
    assert sorted(i["InstanceId"] for i in lb["Instances"]) == sorted(cloud.instances[:2]), lb
    elb.modify_load_balancer_attributes(LoadBalancerName="c", LoadBalancerAttributes={"ConnectionSettings": {"IdleTimeout": 99}})
    attributes = elb.describe_load_balancer_attributes(LoadBalancerName="c")["LoadBalancerAttributes"]
    assert attributes["ConnectionSettings"]["IdleTimeout"] == 99, attributes
    assert elb.describe_tags(LoadBalancerNames=["c"])["TagDescriptions"][0]["Tags"] == [{"Key": "k", "Value": "v"}]
    refused(400, "DependencyViolation", ec2.delete_security_group, GroupId=group)
    elb.delete_load_balancer(LoadBalancerName="c")
    elb.delete_load_balancer(LoadBalancerName="c")
    refused(400, "LoadBalancerNotFound", elb.describe_load_balancers, LoadBalancerNames=["c"])
    ec2.delete_security_group(GroupId=group)


def test_network_balancer__its_whole_life__as_the_client_reads_it(cloud):
    v2 = cloud.client("elbv2")
    lb = v2.create_load_balancer(Name="n", Type="network", SubnetMappings=[{"SubnetId": s} for s in cloud.subnets],
                                 Tags=[{"Key": "k", "Value": "v"}])["LoadBalancers"][0]
    arn = lb["LoadBalancerArn"]
    assert ":loadbalancer/net/n/" in arn and lb["Scheme"] == "internet-facing" and lb["VpcId"] == cloud.vpc, lb
    v2.get_waiter("load_balancer_available").wait(LoadBalancerArns=[arn], WaiterConfig={"Delay": 1, "MaxAttempts": 2})
    tg = v2.create_target_group(Name="t", Protocol="TCP", Port=30080, VpcId=cloud.vpc, TargetType="instance",
                                HealthCheckProtocol="TCP")["TargetGroups"][0]["TargetGroupArn"]
    listener = v2.create_listener(LoadBalancerArn=arn, Protocol="TCP", Port=80,
                                  DefaultActions=[{"Type": "forward", "TargetGroupArn": tg}])["Listeners"][0]["ListenerArn"]
    other = v2.create_target_group(Name="u", Protocol="TCP", Port=30081, VpcId=cloud.vpc)["TargetGroups"][0]["TargetGroupArn"]
    refused(400, "DuplicateListener", v2.create_listener, LoadBalancerArn=arn, Protocol="TCP", Port=80,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": other}])
    v2.delete_target_group(TargetGroupArn=other)
    v2.register_targets(TargetGroupArn=tg, Targets=[{"Id": i, "Port": 30080} for i in cloud.instances])
    health = v2.describe_target_health(TargetGroupArn=tg)["TargetHealthDescriptions"]
    assert sorted(h["Target"]["Id"] for h in health) == sorted(cloud.instances), health
    v2.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=[
        {"Key": "load_balancing.cross_zone.enabled", "Value": "true"}])
    attributes = {a["Key"]: a["Value"] for a in v2.describe_load_balancer_attributes(LoadBalancerArn=arn)["Attributes"]}
    assert attributes["load_balancing.cross_zone.enabled"] == "true", attributes
    assert [g["TargetGroupArn"] for g in v2.describe_target_groups(LoadBalancerArn=arn)["TargetGroups"]] == [tg]
    refused(400, "ResourceInUse", v2.delete_target_group, TargetGroupArn=tg)
    v2.deregister_targets(TargetGroupArn=tg, Targets=[{"Id": cloud.instances[0], "Port": 30080}])
    v2.delete_listener(ListenerArn=listener)
    v2.delete_load_balancer(LoadBalancerArn=arn)
    v2.delete_target_group(TargetGroupArn=tg)
    refused(400, "LoadBalancerNotFound", v2.describe_load_balancers, LoadBalancerArns=[arn])


def test_pages__of_balancers_and_groups__by_the_clients_pagers(cloud):
    v2, elb = cloud.client("elbv2"), cloud.client("elb")
    subnets = [{"SubnetId": s} for s in cloud.subnets]
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 30080}
    names = [f"p{i}" for i in range(5)]
    arns, groups = [], []
    for name in names:
        made, = v2.create_load_balancer(Name=name, Type="network", SubnetMappings=subnets)["LoadBalancers"]
        arns.append(made["LoadBalancerArn"])
        made, = v2.create_target_group(Name=name, Protocol="TCP", Port=80, VpcId=cloud.vpc)["TargetGroups"]
        groups.append(made["TargetGroupArn"])
        elb.create_load_balancer(LoadBalancerName=name, Listeners=[listener], Subnets=cloud.subnets[:1])
    for client, action, member, key in ((v2, "describe_load_balancers", "LoadBalancers", "LoadBalancerName"),
                                        (v2, "describe_target_groups", "TargetGroups", "TargetGroupName"),
                                        (elb, "describe_load_balancers", "LoadBalancerDescriptions", "LoadBalancerName")):
        pages = [[x[key] for x in page[member]]
                 for page in client.get_paginator(action).paginate(PaginationConfig={"PageSize": 2})]
        assert [len(page) for page in pages] == [2, 2, 1] and sorted(sum(pages, [])) == names, (action, pages)
    for name, arn, group in zip(names, arns, groups):
        v2.delete_load_balancer(LoadBalancerArn=arn)
        v2.delete_target_group(TargetGroupArn=group)
        elb.delete_load_balancer(LoadBalancerName=name)
    v2.get_waiter("load_balancers_deleted").wait(LoadBalancerArns=arns, WaiterConfig={"Delay": 1, "MaxAttempts": 1})


def test_targets__healthy__waited_for_in_both_generations(cloud):
    v2, elb, instance = cloud.client("elbv2"), cloud.client("elb"), cloud.instances[0]
    arn = v2.create_load_balancer(Name="w", Type="network", Subnets=cloud.subnets)["LoadBalancers"][0]["LoadBalancerArn"]
    group = v2.create_target_group(Name="w", Protocol="TCP", Port=30080, VpcId=cloud.vpc)["TargetGroups"][0]["TargetGroupArn"]
    v2.create_listener(LoadBalancerArn=arn, Protocol="TCP", Port=80, DefaultActions=[{"Type": "forward", "TargetGroupArn": group}])
    v2.register_targets(TargetGroupArn=group, Targets=[{"Id": instance}])
    once = {"Delay": 1, "MaxAttempts": 1}
    v2.get_waiter("target_in_service").wait(TargetGroupArn=group, Targets=[{"Id": instance}], WaiterConfig=once)
    elb.create_load_balancer(LoadBalancerName="w", Subnets=cloud.subnets[:1], Listeners=[
        {"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 30080}])
    elb.register_instances_with_load_balancer(LoadBalancerName="w", Instances=[{"InstanceId": instance}])
    elb.get_waiter("any_instance_in_service").wait(LoadBalancerName="w", WaiterConfig=once)
    v2.delete_load_balancer(LoadBalancerArn=arn)
    v2.delete_target_group(TargetGroupArn=group)
    elb.delete_load_balancer(LoadBalancerName="w")


def test_tags__of_balancers__added_read_and_removed(cloud):
    v2 = cloud.client("elbv2")
    arn = v2.create_load_balancer(Name="g", Type="network", Subnets=cloud.subnets)["LoadBalancers"][0]["LoadBalancerArn"]
    v2.add_tags(ResourceArns=[arn], Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
    v2.remove_tags(ResourceArns=[arn], TagKeys=["a"])
    assert v2.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"] == [{"Key": "b", "Value": "2"}]
    v2.delete_load_balancer(LoadBalancerArn=arn)


def test_errors__by_the_clients_classes__are_told_apart(cloud):
    v2, elb, gone = cloud.client("elbv2"), cloud.client("elb"), "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
    for action, wanted, params in (
            (v2.describe_load_balancers, v2.exceptions.LoadBalancerNotFoundException, {"Names": ["none"]}),
            (v2.describe_target_groups, v2.exceptions.TargetGroupNotFoundException, {"Names": ["none"]}),
            (v2.describe_target_health, v2.exceptions.TargetGroupNotFoundException,
             {"TargetGroupArn": gone + "targetgroup/none/0123456789abcdef"}),
            (elb.describe_load_balancer_attributes, elb.exceptions.AccessPointNotFoundException, {"LoadBalancerName": "none"})):
        try:
            answer = action(**params)
        except wanted:
            continue
        raise AssertionError(f"{action} was not refused: {answer}")


# --- faults ------------------------------------------------------------------------------------------

def test_throttling__the_client__tries_again(cloud):
    for service, action in (("ec2", "describe_vpcs"), ("elb", "describe_load_balancers"), ("elbv2", "describe_load_balancers")):
        cloud.control("POST", "/sim/faults", {"match": {"op": f"{service}.*"}, "do": "throttle"})
        answer = getattr(cloud.client(service), action)()
        assert answer["ResponseMetadata"]["RetryAttempts"] == 1, answer


def test_traffic__all_of_it__is_what_the_schemas_allow(cloud):
    assert cloud.stop() == 0
    run = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", "--strict-errors", cloud.log],
                         capture_output=True, text=True, check=False)
    if "python3-jsonschema" in run.stderr:
        raise tap.Absent("python3-jsonschema is not installed")
    assert run.returncode == 0, run.stdout + run.stderr


def main():
    if boto3 is None:
        return tap.skip("boto3 is not installed (pip install boto3)")
    print(f"# boto3 {boto3.__version__}, botocore {botocore.__version__}")
    cloud = Cloud()
    try:
        return tap.run(tap.tests_of(globals(), sys.argv[3:]), cloud)
    finally:
        if cloud.process.poll() is None:
            cloud.stop()
        cloud.home.cleanup()


if __name__ == "__main__":
    sys.exit(main())
