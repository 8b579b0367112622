# SPDX-License-Identifier: Apache-2.0
"""A small client of the AWS Query APIs: signs a form, sends it, reads the XML.

    client = Client(url, "AKIA…", "secret")
    status, answer = client.call("ec2", "DescribeVpcs", {"VpcId.1": "vpc-1"})
    answer.text("vpcSet/item/vpcId"), answer.code

It signs with code of its own, so that it can stand between the simulator and the provider.
"""
import datetime
import hashlib
import hmac
import http.client
import re
import ssl
import urllib.parse
import xml.etree.ElementTree as ElementTree

VERSIONS = {"ec2": "2016-11-15", "elb": "2012-06-01", "elbv2": "2015-12-01", "sts": "2011-06-15"}
SCOPES = {"elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing"}
FORM = "application/x-www-form-urlencoded; charset=utf-8"


class Answer:
    """An answer: `raw` text, and its elements without namespaces."""

    def __init__(self, raw, headers):
        self.raw, self.headers = raw, headers
        try:
            self.root = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", raw, count=1))
        except ElementTree.ParseError:
            self.root = ElementTree.Element("none")

    def all(self, path):
        return [e.text or "" for e in self.root.iterfind(path)]

    def text(self, path):
        return next(iter(self.all(path)), None)

    def has(self, path):
        return self.root.find(path) is not None

    @property
    def code(self):
        return next((e.text for e in self.root.iter("Code")), None) if self.root.find(".//Error") is not None else None


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Client:
    """Calls one endpoint for all services; keep-alive."""

    def __init__(self, url, key, secret, token=None, region="us-east-1", ca=None):
        self.url, self.key, self.secret, self.token, self.region = urllib.parse.urlsplit(url), key, secret, token, region
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        more = {"context": ssl.create_default_context(cafile=ca)} if ca else {}
        self.connection = kind(self.url.hostname, self.url.port, timeout=120, **more)

    def _authorization(self, scope_service, headers, body, stamp):
        names = sorted(headers)
        canonical = "\n".join(["POST", "/", "", *(f"{n}:{headers[n]}" for n in names), "", ";".join(names),
                               hashlib.sha256(body).hexdigest()])
        scope = f"{stamp[:8]}/{self.region}/{scope_service}/aws4_request"
        key = ("AWS4" + self.secret).encode()
        for part in scope.split("/"):
            key = _hmac(key, part)
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        return (f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={';'.join(names)}, "
                f"Signature={signature}")

    def call(self, service, action, params=None):
        """(status, Answer)"""
        pairs = {"Action": action, "Version": VERSIONS[service], **(params or {})}
        body = urllib.parse.urlencode(pairs, quote_via=urllib.parse.quote).encode()
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"content-type": FORM, "host": self.url.netloc, "x-amz-date": stamp}
        if self.token:
            headers["x-amz-security-token"] = self.token
        headers["Authorization"] = self._authorization(SCOPES.get(service, service), headers, body, stamp)
        self.connection.request("POST", "/", body, headers)
        answer = self.connection.getresponse()
        return answer.status, Answer(answer.read().decode(), dict(answer.getheaders()))
