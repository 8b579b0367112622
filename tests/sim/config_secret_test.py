# SPDX-License-Identifier: Apache-2.0
"""trimtab with its configuration in a Secret, alone and beside a file, and what it does when that changes.

Usage: config_secret_test.py SIM TRIMTAB
"""
import base64
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import ALONE, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
SECRETS = "/api/v1/namespaces/kube-system/secrets"
RELOADS = ["--enable-dynamic-reloading", "--cloud-config-secret-name=azure-cloud-provider"]
MARK = "hunter2-do-not-print"


class Azure(World):
    """An Azure cluster; `file` says whether --cloud-config is given."""

    def __init__(self, file=True):
        super().__init__(PROGRAMS, "--nodes=2", cloud="azure")
        self.file_too = file
        with open(self.config_path(), encoding="utf-8") as f:
            self.config = f.read()

    def config_path(self):
        return os.path.join(self.conf, "azure.json")

    def flags(self):
        own = [f"--cloud-config={self.config_path()}"] if self.file_too else []
        return ["--cloud-provider=azure", *ALONE, *own]

    def secret(self, text, method="POST"):
        value = base64.b64encode(text.encode()).decode()
        path = SECRETS if method == "POST" else SECRETS + "/azure-cloud-provider"
        self.must(method, path, {"apiVersion": "v1", "kind": "Secret", "data": {"cloud-config": value},
                                 "metadata": {"name": "azure-cloud-provider", "namespace": "kube-system"}})

    def refused(self, *flags):
        r = subprocess.run([self.trimtab_exe, *self.flags(), f"--kubeconfig={self.kubeconfig}", *flags], timeout=180,
                           capture_output=True, text=True, check=False, env=self.environment())
        assert r.returncode == 1, r
        assert MARK not in r.stderr, r.stderr
        return r.stderr.strip()

    def watching(self, times):
        self.until(f"it has started {times} times", lambda: len(self.logged('"Watching"')) >= times)

    def tags(self):
        return [pip.get("tags", {}) for pip in self.cloud("publicIPAddresses").values()]


def test_secret_alone__serves():
    with Azure(file=False) as w:
        w.secret(w.config)
        w.start(*RELOADS)
        w.create("web")
        w.until_address("web")


def test_secret_over_file__its_keys_win():
    with Azure() as w:
        w.secret('{"tags": "from=secret"}')
        w.start(*RELOADS)
        w.create("web")
        w.until_address("web")
        assert all(t.get("from") == "secret" for t in w.tags()) and w.tags(), w.tags()


def test_no_secret__says_which():
    with Azure(file=False) as w:
        last = w.refused(*RELOADS)
        assert 'secret kube-system/azure-cloud-provider' in last and "not found" in last, last
        w.secret('{"aadClientSecret": "%s", "vmType": []}' % MARK)
        last = w.refused(*RELOADS)
        assert "secret kube-system/azure-cloud-provider, key cloud-config:1: vmType: want text, got a list" in last, last
        last = w.refused(*RELOADS, "--cloud-config-key=other")
        assert 'no key "other" (it has: cloud-config)' in last, last


def test_no_reloading__the_secret_is_not_looked_at():
    with Azure() as w:
        w.start("--cloud-config-secret-name=azure-cloud-provider")
        assert w.logged("--cloud-config-secret-name has no effect without --enable-dynamic-reloading")
        assert not [op for op in w.calls()["kubernetes"] if op.startswith("secrets.")]


def test_reloading__needs_something_to_reload():
    with Azure(file=False) as w:
        told = w.refused("--enable-dynamic-reloading")
        assert "--enable-dynamic-reloading needs --cloud-config or --cloud-config-secret-name" in told, told


def test_secret_changes__taken_over_without_a_restart():
    with Azure() as w:
        w.secret('{"tags": "from=first"}')
        w.start(*RELOADS)
        w.create("web")
        address = w.until_address("web")
        w.secret('{"tags": "from=second"}', "PUT")
        w.watching(2)
        w.create("more")
        w.until_address("more")
        w.until("its tag is the new one", lambda: any(t.get("from") == "second" for t in w.tags()))
        assert w.trimtab.poll() is None and w.address("web") == address
        code, _ = w.stop()
        assert code == 0, code


def test_file_changes_to_nonsense__the_old_one_stays_and_is_replaced_later():
    with Azure() as w:
        w.start("--enable-dynamic-reloading")
        with open(w.config_path(), "w", encoding="utf-8") as f:
            f.write('{"aadClientSecret": "%s", "vmType": []}' % MARK)
        w.until("it complains", lambda: w.logged("is at fault: the old one stays"))
        assert MARK not in w.log()
        w.create("web")
        w.until_address("web")
        with open(w.config_path(), "w", encoding="utf-8") as f:
            f.write(w.config.replace("{", '{"tags": "from=third", ', 1))
        w.watching(2)
        w.until("it is in use", lambda: any(t.get("from") == "third" for t in w.tags()))


def test_disabled__rests_until_it_changes():
    with Azure() as w:
        w.secret('{"disableCloudProvider": true}')
        w.runs += 1
        w.trimtab = subprocess.Popen([w.trimtab_exe, *w.flags(), f"--kubeconfig={w.kubeconfig}", *RELOADS],
                                     stderr=w.file(f"run-{w.runs}"), env=w.environment())
        w.until("it says so", lambda: w.logged("turns the cloud provider off"))
        w.create("web")
        w.secret("{}", "PUT")
        w.until_address("web")
        w.secret('{"disableCloudProvider": true}', "PUT")
        w.until("it rests again", lambda: len(w.logged("turns the cloud provider off")) >= 2)
        code, _ = w.stop()
        assert code == 0, code


def test_plan__reads_the_secret_as_the_controller_does():
    with Azure() as w:
        w.secret('{"tags": "from=secret"}')
        w.create("web")
        flags = ["plan", "--cloud-provider=azure", f"--cloud-config={w.config_path()}", f"--kubeconfig={w.kubeconfig}",
                 "--verbose"]
        for secret in (False, True):
            more = ["--cloud-config-secret-name=azure-cloud-provider"] if secret else []
            r = subprocess.run([w.trimtab_exe, *flags, *more], capture_output=True, text=True, check=False, timeout=180,
                               env=w.environment())
            assert r.returncode == 2, r
            assert ("from" in r.stdout) == secret, r.stdout
        r = subprocess.run([w.trimtab_exe, *flags, "--cloud-config-secret-name=none"], capture_output=True, text=True,
                           check=False, timeout=180, env=w.environment())
        assert r.returncode == 1 and "secret kube-system/none" in r.stderr, r


def lists_for_a_look(w):
    """How often balancers are listed for a Service that is as it should be, looked at three times."""
    w.create("web")
    w.until_made("web")
    before = None
    for turn in range(4):
        w.edit("web", {"metadata": {"annotations": {"service.beta.kubernetes.io/azure-pls-fqdns": f"n{turn}"}}})
        # The first look follows the writes, which make some of what was read stale.
        before = w.calls()["azure"].get("LoadBalancers.List", 0) if turn == 0 else before
    return w.calls()["azure"].get("LoadBalancers.List", 0) - before


def test_cache_switched_off__read_in_every_sync():
    for off in (False, True):
        with Azure() as w:
            if off:
                with open(w.config_path(), "w", encoding="utf-8") as f:
                    f.write(w.config.replace("{", '{"disableAPICallCache": true, ', 1))
            w.start()
            lists = lists_for_a_look(w)
            assert lists == (3 if off else 0), (off, lists)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
