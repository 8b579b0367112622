#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated AWS from outside: files for clients, signatures, the bytes of answers and errors, TLS, state and faults.

    aws_wire_test.py TRIMTAB_SIM      (TAP on stdout)
"""
import configparser
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import aws_client  # noqa: E402
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM = sys.argv[1]


class Sim:
    """A running simulator, its files in a folder of its own, and a client that signs with the key in them."""

    def __init__(self, *flags):
        self.home = tempfile.TemporaryDirectory()
        self.folder = os.path.join(self.home.name, "conf")
        self.log = os.path.join(self.home.name, "traffic.log")
        self.process = subprocess.Popen(
            [SIM, "--port=0", f"--write-cloud-config={self.folder}", f"--traffic-log={self.log}",
             *([] if any(f.startswith("--cloud") for f in flags) else ["--cloud=aws"]), *flags], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.env = dict(line.split("=", 1) for line in self.read("env-aws").splitlines())
        self.client = self.client_with(self.env["AWS_ACCESS_KEY_ID"], self.env["AWS_SECRET_ACCESS_KEY"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.home.cleanup()

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return f.read()

    def client_with(self, *credentials):
        return aws_client.Client(self.url, *credentials, region=self.env["AWS_REGION"], ca=self.env.get("AWS_CA_BUNDLE"))

    def call(self, service, action, params=None):
        return self.client.call(service, action, params)

    def control(self, method, path, body=None):
        self.client.connection.request(method, path, None if body is None else json.dumps(body))
        return json.loads(self.client.connection.getresponse().read() or b"null")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def test_files__of_the_cloud__name_this_simulator():
    with Sim("--nodes=1") as sim:
        conf = configparser.ConfigParser()
        conf.optionxform = str
        conf.read_string(sim.read("aws.conf"))
        assert conf["Global"]["Region"] == "us-east-1" and conf["Global"]["KubernetesClusterID"] == "kubernetes"
        services = {conf[s]["Service"]: conf[s] for s in conf.sections() if s.startswith("ServiceOverride")}
        assert set(services) == {"EC2", "Elastic Load Balancing", "Elastic Load Balancing v2"}, services
        for section in services.values():
            assert (section["Region"], section["URL"], section["SigningRegion"]) == ("us-east-1", sim.url, "us-east-1")
        status, answer = sim.call("ec2", "DescribeSubnets", {"SubnetId.1": conf["Global"]["SubnetID"]})
        assert status == 200 and answer.all("subnetSet/item/vpcId") == [conf["Global"]["VPC"]], answer.raw
        mode = stat.S_IMODE(os.stat(os.path.join(sim.folder, "env-aws")).st_mode)
        assert mode == 0o600, oct(mode)
        assert sim.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] == sim.url and "AWS_CA_BUNDLE" not in sim.env


def test_tls__ca_in_the_environment__is_trusted():
    with Sim("--tls") as sim:
        assert sim.url.startswith("https://") and f"URL = {sim.url}\n" in sim.read("aws.conf")
        status, answer = sim.call("sts", "GetCallerIdentity")
        assert (status, answer.text(".//Account")) == (200, "123456789012"), answer.raw


def test_zones__of_another_region__are_its_network():
    with Sim("--zones=eu-west-1a,eu-west-1b", "--nodes=3", "--ip-families=IPv4,IPv6") as sim:
        _, answer = sim.call("ec2", "DescribeAvailabilityZones")
        assert answer.all("availabilityZoneInfo/item/zoneName") == ["eu-west-1a", "eu-west-1b"], answer.raw
        _, answer = sim.call("ec2", "DescribeInstances")
        path = "reservationSet/item/instancesSet/item/"
        assert answer.all(path + "placement/availabilityZone") == ["eu-west-1a", "eu-west-1b", "eu-west-1a"], answer.raw
        assert answer.all(path + "privateDnsName")[0] == "ip-10-0-0-10.eu-west-1.compute.internal"
        status, answer = aws_client.Client(sim.url, sim.client.key, sim.client.secret, region="us-east-1").call("ec2", "DescribeVpcs")
        assert (status, answer.code) == (403, "SignatureDoesNotMatch"), answer.raw


def test_nodes__of_cluster_and_cloud__are_the_same():
    with Sim("--nodes=2") as sim:
        _, answer = sim.call("ec2", "DescribeInstances")
        ids = answer.all("reservationSet/item/instancesSet/item/instanceId")
        nodes = sim.control("GET", "/api/v1/nodes")["items"]
        assert sorted(n["spec"]["providerID"].rsplit("/", 1)[1] for n in nodes) == sorted(ids)
        assert all(n["spec"]["providerID"].startswith("aws:///us-east-1") for n in nodes)
        sim.control("PUT", "/sim/pods/default/none", {})
        added = sim.control("POST", "/sim/nodes", {"count": 1})["nodes"]
        assert added == ["ip-10-0-128-10.ec2.internal"], added


def test_answers__empty_and_absent__are_told_apart():
    with Sim() as sim:
        _, answer = sim.call("ec2", "DescribeRouteTables")
        association = "routeTableSet/item/associationSet/item/"
        assert answer.text(association + "main") == "true" and not answer.has(association + "subnetId"), answer.raw
        assert "<tagSet/>" in answer.raw
        _, answer = sim.call("ec2", "DescribeInstances")
        assert "<reservationSet/>" in answer.raw and "nextToken" not in answer.raw
        _, answer = sim.call("elb", "DescribeLoadBalancers")
        assert "<LoadBalancerDescriptions/>" in answer.raw and "NextMarker" not in answer.raw
        _, answer = sim.call("elbv2", "DescribeLoadBalancers")
        assert "<LoadBalancers/>" in answer.raw, answer.raw


def test_answers__of_each_family__have_their_root_namespace_and_request_id():
    with Sim() as sim:
        rows = [("ec2", "DescribeVpcs", '<DescribeVpcsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">', "requestId"),
                ("elb", "DescribeLoadBalancers",
                 '<DescribeLoadBalancersResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/">'
                 "<DescribeLoadBalancersResult>", "ResponseMetadata/RequestId"),
                ("sts", "GetCallerIdentity", '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
                 "<GetCallerIdentityResult>", "ResponseMetadata/RequestId")]
        for service, action, start, path in rows:
            _, answer = sim.call(service, action)
            assert answer.raw.startswith(start), answer.raw
            assert answer.text(path) == answer.headers["x-amzn-RequestId"], answer.raw
            assert answer.headers["Content-Type"] == "text/xml;charset=UTF-8"
            assert answer.headers["Date"].endswith(" GMT")


def test_text__of_any_kind__comes_back_as_it_was_sent():
    with Sim() as sim:
        vpc = sim.call("ec2", "DescribeVpcs")[1].text("vpcSet/item/vpcId")
        value = "<a> & \"b\"\t'c' é ~*%+="
        _, answer = sim.call("ec2", "CreateTags", {"ResourceId.1": vpc, "Tag.1.Key": "k/é", "Tag.1.Value": value})
        assert answer.text("return") == "true", answer.raw
        _, answer = sim.call("ec2", "DescribeVpcs", {"Filter.1.Name": "tag:k/é", "Filter.1.Value.1": value})
        assert value in answer.all("vpcSet/item/tagSet/item/value"), answer.raw


def test_errors__of_each_family__have_their_form():
    with Sim() as sim:
        status, answer = sim.call("ec2", "DescribeVpcs", {"VpcId.1": "vpc-00000000000000000"})
        assert (status, answer.code) == (400, "InvalidVpcID.NotFound"), answer.raw
        assert answer.root.tag == "Response" and answer.has("Errors/Error/Message") and answer.has("RequestID")
        status, answer = sim.call("elb", "DescribeLoadBalancers", {"LoadBalancerNames.member.1": "none"})
        assert (status, answer.code) == (400, "LoadBalancerNotFound"), answer.raw
        assert answer.root.tag == "ErrorResponse" and answer.text("Error/Type") == "Sender" and answer.has("RequestId")


def test_credentials__assumed__are_good_with_their_token_only():
    with Sim() as sim:
        role = {"RoleArn": "arn:aws:iam::123456789012:role/r", "RoleSessionName": "me"}
        _, answer = sim.call("sts", "AssumeRole", role)
        keys = [answer.text(f".//Credentials/{n}") for n in ("AccessKeyId", "SecretAccessKey", "SessionToken")]
        assert sim.client_with(*keys).call("ec2", "DescribeVpcs")[0] == 200
        status, answer = sim.client_with(*keys[:2]).call("ec2", "DescribeVpcs")
        assert (status, answer.code) == (401, "AuthFailure"), answer.raw
        assert sim.control("GET", "/sim/calls")["metadata"] == {"sts.AssumeRole": 1}
        with open(sim.log, encoding="utf-8") as log:
            assert "AssumeRole" not in log.read()


def test_requests__long__are_taken():
    with Sim() as sim:
        params = {"Filter.1.Name": "instance-id", **{f"Filter.1.Value.{i}": f"i-{i:017x}" for i in range(1, 201)}}
        status, answer = sim.call("ec2", "DescribeInstances", params)
        assert status == 200 and "<reservationSet/>" in answer.raw, answer.raw


def test_state__saved_and_loaded__has_the_same_resources():
    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, "state.json")
        with Sim("--nodes=2", f"--state={state}") as sim:
            vpc = sim.call("ec2", "DescribeVpcs")[1].text("vpcSet/item/vpcId")
            sim.call("ec2", "CreateSecurityGroup", {"GroupName": "kept", "GroupDescription": "d", "VpcId": vpc})
            before = sim.call("ec2", "DescribeInstances")[1].all("reservationSet/item/instancesSet/item/instanceId")
            assert sim.stop() == 0
        with Sim(f"--state={state}") as sim:
            after = sim.call("ec2", "DescribeInstances")[1].all("reservationSet/item/instancesSet/item/instanceId")
            _, answer = sim.call("ec2", "DescribeSecurityGroups", {"Filter.1.Name": "group-name", "Filter.1.Value.1": "kept"})
            assert before == after and answer.all("securityGroupInfo/item/vpcId") == [vpc], answer.raw
            assert f"VPC = {vpc}\n" in sim.read("aws.conf")


def test_faults__of_the_control_api__are_in_the_words_of_the_service():
    with Sim() as sim:
        sim.control("POST", "/sim/faults", [{"match": {"api": "aws", "op": "ec2.*"}, "do": "throttle", "retry_after": 7},
                                            {"match": {"api": "aws", "op": "elb.*"}, "do": "refuse", "status": 500},
                                            {"match": {"api": "aws", "op": "elbv2.*"}, "do": "refuse", "status": 400,
                                             "body": {"Code": "ResourceInUse", "Message": "busy"}}])
        status, answer = sim.call("ec2", "DescribeVpcs")
        assert (status, answer.code) == (503, "RequestLimitExceeded") and answer.headers["Retry-After"] == "7", answer.raw
        status, answer = sim.call("elb", "DescribeLoadBalancers")
        assert (status, answer.code, answer.text("Error/Type")) == (500, "InternalFailure", "Receiver"), answer.raw
        status, answer = sim.call("elbv2", "DescribeLoadBalancers")
        assert (status, answer.code, answer.text("Error/Message")) == (400, "ResourceInUse", "busy"), answer.raw
        assert sim.call("elbv2", "DescribeLoadBalancers")[0] == 200


def test_google__at_the_same_port__still_answers_probes():
    with Sim() as sim:
        sim.client.connection.request("GET", "/", headers={"Metadata-Flavor": "Google"})
        answer = sim.client.connection.getresponse()
        assert answer.status == 200 and answer.read() == b"computeMetadata/\n"


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[2:])))
