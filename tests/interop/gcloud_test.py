#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real gcloud against the simulated cloud: creates, lists, describes, deletes; then the traffic is checked.

    gcloud_test.py TRIMTAB_SIM DATA      (TAP on stdout; skipped where gcloud is absent)
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, DATA = sys.argv[1], sys.argv[2]

# Command and a text that must be in its output.
STEPS = (
    ("compute addresses create web --region us-central1", "addresses/web"),
    ("compute firewall-rules create allow-web --allow tcp:80 --source-ranges 10.0.0.0/8", "tcp:80"),
    ("compute http-health-checks create hc --port 10256 --request-path /healthz", "10256"),
    ("compute target-pools create tp --region us-central1 --http-health-check hc", "us-central1"),
    ("compute target-pools add-instances tp --instances node-0 --instances-zone us-central1-a", "Updated"),
    ("compute forwarding-rules create fr --region us-central1 --ports 80-81 --target-pool tp --address web",
     "forwardingRules/fr"),
    ("compute forwarding-rules list", "us-central1/targetPools/tp"),
    ("compute forwarding-rules describe fr --region us-central1", "portRange: 80-81"),
    ("compute addresses list", "IN_USE"),
    ("compute instances list --filter=name=node-1", "10.128.0.11"),
    ("compute target-pools delete tp --region us-central1", "already being used by"),
    ("compute forwarding-rules delete fr --region us-central1", "Deleted"),
)


def main():
    if not shutil.which("gcloud"):
        return tap.skip("gcloud is not installed")
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/traffic.log"
        sim = subprocess.Popen([SIM, "--port=0", "--nodes=3", f"--write-cloud-config={folder}/conf",
                                f"--traffic-log={log}"], stdout=subprocess.PIPE, text=True)
        sim.stdout.readline()
        env = dict(os.environ, CLOUDSDK_CONFIG=f"{folder}/gcloud", CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK="1")
        with open(f"{folder}/conf/env-gce", encoding="utf-8") as f:
            env.update(line.rstrip("\n").split("=", 1) for line in f)
        report = tap.Report(len(STEPS) + 1)
        for command, text in STEPS:
            run = subprocess.run(["gcloud", *command.split()], env=env, capture_output=True, text=True, check=False)
            output = run.stdout + run.stderr
            report.check(f"gcloud {command}", "" if text in output else output or "nothing was printed")
        sim.send_signal(signal.SIGTERM)
        sim.wait(180)
        check = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", log], capture_output=True,
                               text=True, check=False)
        report.check("traffic", (check.stdout + check.stderr or "exit 1") if check.returncode == 1 else "",
                     "SKIP python3-jsonschema is not installed" if check.returncode == 2 else "")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
