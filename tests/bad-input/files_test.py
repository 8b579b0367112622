#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configuration and credentials that are broken: what trimtab says, and that it says no secret.

    files_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

Each row is a file and words of the error: where (file, line), what was found, what is allowed or to be done.
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

from hostile import Spell, says
from stage import PLANTED, Stage, Template
import tap  # stage.py put its folder on the path

TRIMTAB = os.path.abspath(sys.argv[2])
SECRETS = ("planted-secret-one", "planted-secret-two", "cGxhbnRlZC1zZWNyZXQ")
template = None


def run(folder, *args, env=None, user=None):
    done = subprocess.run([TRIMTAB, *args], capture_output=True, text=True, check=False, timeout=180, cwd=folder,
                          errors="replace", env={"PATH": os.environ["PATH"], "HOME": folder, **(env or {})}, user=user)
    text = done.stdout + done.stderr
    for secret in SECRETS:
        assert secret not in text, (secret, text)
    return done


def controller(folder, *args, **kw):
    return run(folder, "--cloud-provider=gce", "--leader-elect=false", "--secure-port=0", "-v=4", *args, **kw)


def refused(done, *words):
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1, done
    assert last.startswith("error: "), done.stderr
    for word in words:
        assert word in last, (word, last)
    assert len(last) < 1200 and last == last.strip()


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return path


def odd_files(folder, fifo="no regular file"):
    """Paths that are no readable files, with the words for them.  `fifo`: the words for a pipe without a writer."""
    os.mkdir(os.path.join(folder, "folder"))
    os.symlink("/nonexistent", os.path.join(folder, "dangling"))
    os.symlink("loop", os.path.join(folder, "loop"))
    os.mkfifo(os.path.join(folder, "fifo"))
    write(folder, "huge", b"#" * (20 << 20))
    write(folder, "unreadable", b"x")
    os.chmod(os.path.join(folder, "unreadable"), 0)
    yield "folder", "is a directory"
    yield "dangling", "no such file or directory"
    yield "absent", "no such file or directory"
    yield "loop", "too many levels of symbolic links"
    yield "fifo", fifo
    yield "huge", "larger than"
    if os.getuid() != 0:
        yield "unreadable", "permission denied"


# --- gce.conf -------------------------------------------------------------------------------------------------

CONFS = [
    (b"[global]\nregional = maybe\n", ["bad.conf:2:", '"maybe"', '"regional"', "allowed: true, yes, on"]),
    (b"[global\nx", ["bad.conf:1:", "expected"]),
    (b"project-id = p\n", ["bad.conf:1:1: expected section header", "the first line is [global]"]),
    (b"[global]\nproject-id = a\x00b\n", ["bad.conf:2:", "NUL"]),
    (b"\xef\xbb\xbf[global]\nproject-id = p\n", ["bad.conf:1:1:", "U+FEFF", "without a byte order mark"]),
    (b"\xff\xfe[\x00g\x00", ["bad.conf:1:1: illegal UTF-8", "save the file as UTF-8"]),
    (b'{"project": "p"}', ["bad.conf:1:1:", "the file is lines of key = value below [global]"]),
    (b"[global]\nproject-id\n", ["bad.conf:2:", "blank value", "write key = value"]),
    (b"[global]\nproject-id = \"open\n", ["bad.conf:2:"]),
    (b"[global]\nproject-id = p\\q\n", ["bad.conf:2:", "must be followed by new line or double quote"]),
    (b"[global]\nproject-id = p\nlocal-zone = us\n", ['bad.conf:3: local-zone "us" is no zone', "us-central1-a"]),
]
FINDINGS = [
    (b"[global]\nnode-tags = t\nsubnetwrk-name = x\n", ['bad.conf:3: unknown key "subnetwrk-name" in [global]; did you '
                                                       'mean "subnetwork-name"?']),
    (b"[global]\nnode-tags = t\nzzzzzzzz = x\n", ['bad.conf:3: unknown key "zzzzzzzz" in [global]']),
    (b"[global]\nnode-tags = t\n[globl]\nx = 1\n", ["bad.conf:3: unknown section [globl]; only [global] is read; did you"]),
    (b"[global]\nnode-tags = t\napi-endpoint = ftp://x\n", ["bad.conf:3: api-endpoint is no http:// or https:// URL"]),
    (b"[global]\nnode-tags = t\nnode-tags = u\nlocal-zone = a-b1-c\nproject-id = p\nLocal-Zone = a-b1-d\n",
     ["warning: bad.conf:6: Local-Zone is set again: line 4 no longer counts"]),
    (b"[global]\nnode-tags = t\nallowed-projects = p\nallowed-projects = a,b\n",
     ['bad.conf:4: allowed-projects "a,b" is no project: it allows nothing']),
    (b"[global]\nnode-tags = t\nproject-id =\n", ["warning: bad.conf:3: project-id is empty, which counts as not set"]),
    (b"[global]\nnode-tags = t\ntoken-url = :bad\ntoken-body = planted-secret-one\n", ["token-url is no http://"]),
]


def test_gce_conf__fatal_faults_say_file_line_and_what_is_allowed():
    with tempfile.TemporaryDirectory() as folder:
        for content, words in CONFS:
            write(folder, "bad.conf", content)
            refused(run(folder, "check-config", "--cloud-provider=gce", "--cloud-config=bad.conf"), *words)


def test_gce_conf__findings_do_not_stop_it():
    with tempfile.TemporaryDirectory() as folder:
        for content, words in FINDINGS:
            write(folder, "bad.conf", content)
            done = run(folder, "check-config", "--cloud-provider=gce", "--cloud-config=bad.conf", "--strict")
            assert done.returncode == 2 and done.stderr == "", done
            for word in words:
                assert word in done.stdout, (word, done.stdout)


def test_endpoints__plain_http_over_a_network_is_a_finding():
    override = b'[Global]\nZone = us-east-1a\n[ServiceOverride "1"]\nService = EC2\nRegion = us-east-1\nURL = http://%s\n' \
        b"SigningRegion = us-east-1\n"
    rows = (("gce", b"[global]\nnode-tags = t\napi-endpoint = http://%s\n", "api-endpoint"),
            ("gce", b"[global]\nnode-tags = t\ntoken-url = http://%s\ntoken-body = x\n", "token-url"),
            ("aws", override, 'ServiceOverride "1"'),
            ("azure", b'{"tenantId": "t", "subscriptionId": "s", "resourceGroup": "g", "location": "l",'
                      b' "resourceManagerEndpoint": "http://%s"}', "resourceManagerEndpoint"))
    with tempfile.TemporaryDirectory() as folder:
        for cloud, content, key in rows:
            for host, warned in ((b"10.1.2.3:80", True), (b"127.0.0.1:80", False)):
                write(folder, "conf", content % host)
                done = run(folder, "check-config", f"--cloud-provider={cloud}", "--cloud-config=conf")
                text = f"{key} is http://10.1.2.3:80: the controller's credentials and the cloud's answers cross the network"
                assert (text in done.stdout) == warned, (cloud, key, host, done)


def test_gce_conf__no_file():
    with tempfile.TemporaryDirectory() as folder:
        for name, words in odd_files(folder, fifo="nothing writes into this pipe"):
            refused(run(folder, "check-config", "--cloud-provider=gce", f"--cloud-config={name}"),
                    "--cloud-config: ", name, words)


def test_gce_conf__the_controller_says_the_same():
    with Stage(template) as stage:
        for content, words in CONFS[:2]:
            write(stage.folder, "bad.conf", content)
            refused(controller(stage.folder, f"--kubeconfig={stage.kubeconfig}", "--cloud-config=bad.conf",
                               env=stage.environment()), *words)
        write(stage.folder, "slip.conf", open(f"{stage.conf}/gce.conf", "rb").read() + b"subnetwrk-name = x\n")
        stage.launch(f"--cloud-config={stage.folder}/slip.conf").until_watching()
        assert stage.logged("unknown key", "subnetwrk-name", "did you mean"), stage.log()
        stage.check_stop()


# --- kubeconfig (controller.md 4.2) ------------------------------------------------------------------------------

SERVER = "https://127.0.0.1:1"
TOKEN = "token: planted-secret-one"


def kubeconfig(server=SERVER, cluster="", user=TOKEN, user_name="u", current="x", cluster_name="c"):
    return (f'apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: "{server}"{cluster}}}}}]\n'
            f"users: [{{name: u, user: {{{user}}}}}]\n"
            f"contexts: [{{name: x, context: {{cluster: {cluster_name}, user: {user_name}}}}}]\n"
            f"current-context: {current}\n")


KUBECONFIGS = [
    ("", ["no configuration has been provided"]),
    ("\x00\x01", ['error loading config file "kc": line 1: control characters']),
    ("- a\n", ['error loading config file "kc": want an object, got an array']),
    ("clusters: [\n  {name: c\n", ['error loading config file "kc": line 3']),
    ("apiVersion: v1\nkind: Pod\n", ['"Pod"', "want Config of v1"]),
    (kubeconfig(current="nosuch"), ["context was not found for specified context: nosuch"]),
    (kubeconfig(cluster_name="nosuch"), ['cluster "nosuch" was not found for context "x"']),
    (kubeconfig(user_name="nobody"), ['user "nobody" was not found for context "x"']),
    (kubeconfig(server="ftp://x"), ['server "ftp://x": want scheme http or https']),
    (kubeconfig(server=":::"), ['server ":::"']),
    (kubeconfig(cluster=', certificate-authority-data: "!!!"'), ["certificate-authority-data for c is not base64"]),
    (kubeconfig(cluster=", certificate-authority: /nonexistent/ca"), ["unable to read certificate-authority /nonexistent/ca"]),
    (kubeconfig(cluster=', insecure-skip-tls-verify: true, certificate-authority-data: "aGVsbG8="'),
     ["root certificates file with the insecure flag is not allowed"]),
    (kubeconfig(cluster=', proxy-url: "gopher://x"'), ['invalid \'proxy-url\' "gopher://x"', "http, https or socks5"]),
    (kubeconfig(user='client-certificate-data: "cGxhbnRlZC1zZWNyZXQ!", client-key-data: "cGxhbnRlZC1zZWNyZXQ="'),
     ["client-certificate-data for u is not base64"]),
    (kubeconfig(user="client-certificate: /nonexistent/crt"), ["unable to read client-cert /nonexistent/crt",
                                                               "client-key-data or client-key must be specified"]),
    (kubeconfig(user="tokenFile: /nonexistent/token"), ["unable to read tokenFile /nonexistent/token for u"]),
    (kubeconfig(user="exec: {apiVersion: client.authentication.k8s.io/v1, command: x}"),
     ["interactiveMode must be specified for u to use exec authentication plugin"]),
    (kubeconfig(user="exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"),
     ["exec plugin: invalid apiVersion", "want client.authentication.k8s.io/v1 or"]),
    (kubeconfig(user="auth-provider: {name: gcp}"), ['auth-provider "gcp" of user "u" is not supported']),
    (kubeconfig(user="token: planted-secret-one, username: a, password: planted-secret-two"),
     ["more than one authentication method found for u", "only one is allowed"]),
    (kubeconfig(user="token: [planted-secret-one]"), ["users[0].token: want a string, got an array"]),
    (kubeconfig(user='token: "planted-secret-one\\nX-Evil: 1"'), ["token has a control byte"]),
    (kubeconfig().replace("clusters: [", "clusters: [{name: c, cluster: {server: a}},"), ['duplicate name "c"']),
]


def test_kubeconfig__every_fault_names_the_file():
    with tempfile.TemporaryDirectory() as folder:
        for content, words in KUBECONFIGS:
            write(folder, "kc", content)
            refused(controller(folder, "--kubeconfig=kc"), *words, "kc")


def test_kubeconfig__no_file():
    with tempfile.TemporaryDirectory() as folder:
        for name, words in odd_files(folder):
            refused(controller(folder, f"--kubeconfig={name}"), "kubeconfig: ", name, words)


def test_kubeconfig__roots_that_are_none():
    """They are read when the first connection is made."""
    with Stage(template) as stage:
        text = open(stage.kubeconfig, encoding="utf-8").read()
        write(stage.folder, "kubeconfig", re.sub(r"certificate-authority: .*", 'certificate-authority-data: "aGVsbG8="', text))
        stage.launch()
        stage.until("it says so", lambda: stage.logged("Waiting for the API server", "TLS") or stage.trimtab.poll() is not None)
        stage.check_secrets()


# --- credentials ----------------------------------------------------------------------------------------------

def key_file(stage, **changes):
    with open(f"{stage.conf}/service-account.json", encoding="utf-8") as f:
        return {k: v for k, v in {**json.load(f), **changes}.items() if v is not ...}


def credentials(stage):
    bad_pem = "-----BEGIN PRIVATE KEY-----\nplanted-secret-one\n-----END PRIVATE KEY-----\n"
    yield key_file(stage, private_key=bad_pem), ["key.json: private_key: ", "neither PEM nor DER"]
    yield key_file(stage, private_key=""), ["key.json: private_key: ", "0 bytes"]
    yield key_file(stage, private_key=...), ["key.json: a service account needs client_email and private_key"]
    yield key_file(stage, client_email=...), ["key.json: a service account needs client_email and private_key"]
    yield key_file(stage, private_key=7, client_email=[]), ["key.json: a service account needs"]
    yield key_file(stage, type="external_account"), ['"external_account" are not supported',
                                                     "allowed: service_account, authorized_user"]
    yield key_file(stage, type=...), ['key.json: has no member "type"', "gcloud auth application-default login"]
    yield key_file(stage, universe_domain="example.com"), ["universe example.com is not supported"]
    yield key_file(stage, token_uri="ftp://planted-secret-one:planted-secret-two@x/"), ["token_uri is no http://"]
    yield {"type": "authorized_user", "client_id": "c", "client_secret": "planted-secret-two"}, [
        "key.json: an authorized user needs client_id and refresh_token"]
    yield "", ["key.json: no JSON: line 1", "create the key again"]
    yield "[]", ['key.json: has no member "type"']
    yield json.dumps(key_file(stage))[:200], ["key.json: no JSON: line 1"]


def with_default_credentials(stage):
    text = open(f"{stage.conf}/gce.conf", encoding="utf-8").read()
    write(stage.folder, "adc.conf", text + "token-url = nil\n")
    return [f"--kubeconfig={stage.kubeconfig}", "--cloud-config=adc.conf"]


def test_credentials__every_fault_names_the_file():
    with Stage(template) as stage:
        args = with_default_credentials(stage)
        env = {**stage.environment(), "GOOGLE_APPLICATION_CREDENTIALS": "key.json"}
        for content, words in credentials(stage):
            write(stage.folder, "key.json", content if isinstance(content, str) else json.dumps(content))
            refused(controller(stage.folder, *args, env=env), 'could not init cloud provider "gce": ', *words)
            done = run(stage.folder, "check-config", "--cloud-provider=gce", "--cloud-config=adc.conf", env=env)
            assert done.returncode == 0 and "with this environment the controller would not start" in done.stdout, done


def test_credentials__no_file():
    with Stage(template) as stage:
        args = with_default_credentials(stage)
        for name, words in odd_files(stage.folder):
            env = {**stage.environment(), "GOOGLE_APPLICATION_CREDENTIALS": name}
            refused(controller(stage.folder, *args, env=env), "GOOGLE_APPLICATION_CREDENTIALS", name, words)


def test_credentials__token_endpoint_refuses_the_key():
    """The message names the endpoint, its answer and the remedy; it has the endpoint's error code, never its prose."""
    with Stage(template) as stage:
        args = with_default_credentials(stage)
        write(stage.folder, "key.json", json.dumps(key_file(stage, token_uri=stage.token.url("/token"))))
        stage.token.cast(Spell(says(400, {"error": "invalid_grant", "error_description": "planted-secret-one"}),
                               lambda r: True))
        env = {**stage.environment(), "GOOGLE_APPLICATION_CREDENTIALS": "key.json"}
        done = run(stage.folder, "plan", "--cloud-provider=gce", *args, env=env)
        text = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1 and f"key.json: {stage.token.url()} answered 400 (invalid_grant); is the key still valid, " \
            "the account enabled, and the clock right?" in text, text


def test_metadata_server__says_who_and_what_to_do():
    with Stage(template) as stage:
        stage.metadata.cast(Spell(says(403, "planted-secret-one"), lambda r: True))
        done = run(stage.folder, "plan", "--cloud-provider=gce", f"--kubeconfig={stage.kubeconfig}",
                   f"--cloud-config={stage.conf}/gce.conf", env=stage.environment())
        text = " ".join((done.stdout + done.stderr).split())
        assert f"the metadata server {stage.metadata.url()} answered 403; GCE_METADATA_HOST names another one" in text, text
        assert "token-url = nil in the cloud config and GOOGLE_APPLICATION_CREDENTIALS" in text, text
        write(stage.folder, "bare.conf", "[global]\nnode-tags = t\n")
        refused(controller(stage.folder, f"--kubeconfig={stage.kubeconfig}", "--cloud-config=bare.conf",
                           env=stage.environment()),
                f"metadata server 127.0.0.1:{stage.metadata.port}: instance/zone answered 403",
                "away from Google write both into the cloud config", "GCE_METADATA_HOST")


# --- token files ------------------------------------------------------------------------------------------------

def with_token_file(stage, content):
    text = open(stage.kubeconfig, encoding="utf-8").read()
    write(stage.folder, "token", content)
    write(stage.folder, "kubeconfig", re.sub(r"token: .*", f"tokenFile: {stage.folder}/token", text))


def bearer(request):
    return request.headers.get("authorization", "")


def test_token_file__empty_at_the_start():
    with Stage(template) as stage:
        with_token_file(stage, "\n")
        refused(controller(stage.folder, f"--kubeconfig={stage.kubeconfig}",
                           f"--cloud-config={stage.conf}/gce.conf", env=stage.environment()),
                'token of user "admin"', f"read {stage.folder}/token: is empty")


def test_token_file__rotated():
    """A 401 makes the file be read again, so nothing is lost when the old token dies before its time."""
    if template.tls is None:
        return                                      # without TLS no token is sent
    with Stage(template) as stage:
        with_token_file(stage, PLANTED["kubeconfig"])
        stage.launch().until_watching()
        write(stage.folder, "token", "planted-kube-token-two")
        stage.known_secrets.add("planted-kube-token-two")
        spell = stage.kube.cast(Spell(says(401, {"kind": "Status", "status": "Failure", "reason": "Unauthorized", "code": 401,
                                                 "message": "Unauthorized"}),
                                      lambda r: bearer(r) != "Bearer planted-kube-token-two"))
        stage.kube.cut()
        stage.create("new")
        assert spell.until_hit(1)
        stage.until_address("new")
        stage.check_old_untouched()
        stage.check_secrets()
        stage.check_stop()


def test_token_file__vanishes_or_is_emptied():
    """The last good token is used while there is no other."""
    with Stage(template) as stage:
        with_token_file(stage, PLANTED["kubeconfig"])
        stage.launch().until_watching()
        write(stage.folder, "token", "")
        stage.create("one")
        stage.until_address("one")
        os.unlink(os.path.join(stage.folder, "token"))
        stage.create("two")
        stage.until_address("two")
        stage.check_old_untouched()
        stage.check_secrets()
        stage.check_stop()


# --- flags (controller.md 3.2) ------------------------------------------------------------------------------------

ELECT = "--leader-elect=true"
FLAGS = [
    (["--leader-elect=maybe"], ['invalid argument "maybe" for "--leader-elect" flag', "ParseBool"]),
    ([ELECT, "--leader-elect-lease-duration=10s"], ["leaseDuration must be greater than renewDeadline"]),
    ([ELECT, "--leader-elect-retry-period=9s"], ["renewDeadline must be greater than retryPeriod*JitterFactor"]),
    ([ELECT, "--leader-elect-lease-duration=0s"], ["leaseDuration must be a second or more"]),
    ([ELECT, "--leader-elect-resource-lock=endpoints"], ['--leader-elect-resource-lock: "endpoints"', 'only "leases"']),
    ([ELECT, "--leader-elect-resource-name="], ["--leader-elect-resource-name cannot be empty"]),
    ([ELECT, "--leader-elect-resource-namespace="], ["--leader-elect-resource-namespace cannot be empty"]),
    (["--secure-port=70000"], ["--secure-port 70000 must be between 0 and 65535", "0 for turning off"]),
    (["--secure-port=http"], ['invalid argument "http" for "--secure-port" flag', "ParseInt"]),
    (["--kube-api-qps=much"], ['invalid argument "much" for "--kube-api-qps" flag']),
    (["--concurrent-service-syncs=0"], ["concurrent-service-syncs"]),
    (["--resync-period=5"], ['invalid argument "5" for "--resync-period" flag', "missing unit"]),
    (["--vmodule=x"], ["--vmodule", "pattern=N"]),
    (["--logging-format=xml"], ["xml"]),
    (["--feature-gates=x"], ["feature-gates"]),
    (["--resync-period=-5s"], ["resync-period must not be negative"]),
    (["--enable-l4-deny-firewal"], ["did you mean --enable-l4-deny-firewall?"]),
    (["--cloud-provider-gce-lb-src-cidrs=10.0.0.0/8,x"], ["--cloud-provider-gce-lb-src-cidrs: invalid CIDR address: x"]),
    (["--enable-l4-deny-firewall"], ["needs --enable-l4-deny-firewall-rollback-cleanup"]),
    (["plan"], ['does not take any arguments, got ["plan"]']),
]


# Of the HTTPS port, with a port to serve at.
SERVING = [
    (["--bind-address=nowhere"], ['--bind-address, --secure-port: address "nowhere" is no IP address']),
    (["--tls-min-version=VersionTLS99"], ['--tls-min-version: unknown tls version "VersionTLS99"', "possible values: VersionTLS10"]),
    (["--tls-cipher-suites=TLS_NOPE"], ["--tls-cipher-suites: Cipher suite TLS_NOPE", "preferred values: TLS_AES_128_GCM_SHA256"]),
    (["--tls-curve-preferences=99"], ['--tls-curve-preferences: "99"', "possible values: 23 (P-256)"]),
    (["--tls-cert-file=half.crt"], ["--tls-private-key-file is not set", "go together"]),
    (["--tls-private-key-file=half.crt"], ["--tls-cert-file is not set", "go together"]),
    (["--tls-cert-file=absent", "--tls-private-key-file=half.crt"], ["--tls-cert-file: ", "absent", "no such file or directory"]),
    (["--tls-cert-file=empty", "--tls-private-key-file=half.crt"], ["--tls-cert-file: read empty: is empty"]),
    (["--tls-cert-file=half.crt", "--tls-private-key-file=half.crt"], ["half.crt", "the certificate cannot be read; it must be PEM"]),
    (["--tls-sni-cert-key=half.crt"], ['--tls-sni-cert-key "half.crt"', "the form is CERT,KEY"]),
    (["--authentication-kubeconfig=absent"], ["--authentication-kubeconfig: ", "absent", "no such file or directory"]),
    (["--authorization-kubeconfig=absent"], ["--authorization-kubeconfig: ", "absent", "no such file or directory"]),
    (["--client-ca-file=absent"], ["--client-ca-file: ", "absent", "no such file or directory"]),
    (["--requestheader-client-ca-file=absent"], ["--requestheader-client-ca-file: ", "absent", "no such file or directory"]),
    (["--client-ca-file=half.crt"], ["--client-ca-file: it has no certificate (want PEM)"]),
]


def refused_flags(stage, flags, words):
    """One error, which has these words."""
    done = controller(stage.folder, f"--kubeconfig={stage.kubeconfig}", f"--cloud-config={stage.conf}/gce.conf",
                      *flags, env=stage.environment())
    assert done.returncode == 1, (flags, done)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, (flags, done.stderr)
    for word in words:
        assert word in errors[0], (flags, word, errors[0])


def test_flags__refusals_say_what_is_allowed():
    with Stage(template) as stage:
        for flags, words in FLAGS:
            refused_flags(stage, flags, words)


def test_flags__refusals_of_the_https_port():
    with Stage(template) as stage, socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # taken: what is wrong with the flags is said before
        port = f"--secure-port={s.getsockname()[1]}"
        write(stage.folder, "half.crt", "planted-secret-one")
        write(stage.folder, "empty", "")
        for flags, words in SERVING:
            refused_flags(stage, ["--bind-address=127.0.0.1", port, *flags], words)
        s.listen()
        refused_flags(stage, ["--bind-address=127.0.0.1", port], ["is in use by another process", "choose another port"])


def main():
    global template  # pylint: disable=global-statement
    template = Template(sys.argv[1:3])
    try:
        return tap.run(tap.tests_of(globals(), sys.argv[3:]))
    finally:
        template.remove()


if __name__ == "__main__":
    sys.exit(main())
