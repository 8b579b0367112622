# SPDX-License-Identifier: Apache-2.0
"""stage.py's stage with AWS: a network and a classic load balancer that are in order, and Fronts before the API, STS and
the metadata service.

    way of credentials   environment (keys), instance (metadata service), web (STS), container (an HTTP endpoint)
"""
import os
import re

from stage import Stage, Template
from hostile import Front
import aws_shapes  # stage.py put its folder on the path
from controller_world import World

NLB = {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}}
NODES = "group nodes"
AUTHORIZATION = "sim-container-authorization"


class AwsTemplate(Template):
    cloud_name = "aws"

    def __init__(self, programs):
        super().__init__(programs, ("old", "classic"))
        with World(programs, f"--world={self.world}", cloud=self.cloud_name) as w:
            w.start()
            w.delete("old")
            w.until_gone("old")
            w.stop()
            self.without_old = self.documents(w.must("GET", "/sim/state"))

    def meta(self, name):
        return NLB if name == "old" else None

    def documents(self, state):
        found = aws_shapes.documents(state["aws"])
        found["rules of nodes"] = found[NODES].pop("IpPermissions")
        return found

    def holds(self, now, before):
        """Rules in the nodes' group may be added for others; nothing else may change."""
        return set(before) <= set(now or ()) if isinstance(before, list) else now == before


class AwsStage(Stage):
    """`deletes`: the Service "old" is deleted, so what is its own may go."""

    def __init__(self, template, way="environment", deletes=False):
        self.way, self.deletes = way, deletes
        super().__init__(template)
        self.known_secrets.add(AUTHORIZATION)
        with open(os.path.join(self.conf, "env-aws"), encoding="utf-8") as f:
            self.known_secrets.add(re.search("AWS_SECRET_ACCESS_KEY=(.+)", f.read()).group(1))

    def make_fronts(self, port, twist):
        self.api, self.sts, self.metadata = Front(port), Front(port), Front(port)
        return self.api, self.sts, self.metadata

    def write_config(self, _token_url):
        path = os.path.join(self.conf, "aws.conf")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r"(?m)^URL = .*", f"URL = {self.api.url()}", text))

    def identity_token(self):
        """As a kubelet writes it; the simulator reads its claims only."""
        path = os.path.join(self.folder, "token")
        token = aws_shapes.identity_token("system:serviceaccount:kube-system:trimtab")
        self.known_secrets.add(token)
        with open(path, "w", encoding="utf-8") as f:
            f.write(token)
        return path

    def cloud_environment(self):
        env = {"AWS_ENDPOINT_URL": self.api.url(), "AWS_ENDPOINT_URL_STS": self.sts.url(),
               "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.metadata.url(), "AWS_MAX_ATTEMPTS": "2"}
        if self.way != "environment":
            env.update(AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        if self.way == "web":
            env.update(AWS_WEB_IDENTITY_TOKEN_FILE=self.identity_token(),
                       AWS_ROLE_ARN="arn:aws:iam::123456789012:role/trimtab")
        if self.way == "container":
            env.update(AWS_CONTAINER_CREDENTIALS_FULL_URI=self.metadata.url("/v1/credentials"),
                       AWS_CONTAINER_AUTHORIZATION_TOKEN=AUTHORIZATION)
        return env

    def secrets(self):
        for front in self.fronts:
            for request in list(front.seen):
                for name in ("x-amz-security-token", "x-aws-ec2-metadata-token"):
                    if len(request.headers.get(name, "")) > 15:
                        self.known_secrets.add(request.headers[name])
        return super().secrets()

    def until_address(self, name):
        """After throttling calls are delayed for as much as a minute each; as long as some come, it goes on."""
        return self.until(f"{name} has an address", lambda: self.address(name), progress=lambda: len(self.api.seen))

    def nudge(self, name):
        """A change that makes a sync, if the Service is still there."""
        self.call("PATCH", self.services(name), {"metadata": {"annotations": {"touched": str(len(self.kube.seen))}}},
                  content_type="application/merge-patch+json")

    def wanted(self):
        return self.template.without_old if self.deletes else self.template.cloud

    def check_old_untouched(self):
        documents = self.template.documents(self.must("GET", "/sim/state"))
        for name, before in self.wanted().items():
            assert self.template.holds(documents.get(name), before), (name, before, documents.get(name))
        for name in ("classic",) if self.deletes else ("old", "classic"):
            assert self.address(name) == self.template.addresses[name], (name, self.address(name))

    def until_as_wanted(self):
        """Nothing more is there, and nothing is missing."""
        def documents():
            return self.template.documents(self.must("GET", "/sim/state"))
        self.until("the cloud is as it should be", lambda: documents() == self.wanted(), progress=lambda: len(self.api.seen))
