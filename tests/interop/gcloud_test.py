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
        print("1..0 # SKIP gcloud is not installed")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/traffic.log"
        sim = subprocess.Popen([SIM, "--port=0", "--nodes=3", f"--write-cloud-config={folder}/conf",
                                f"--traffic-log={log}"], stdout=subprocess.PIPE, text=True)
        sim.stdout.readline()
        env = dict(os.environ, CLOUDSDK_CONFIG=f"{folder}/gcloud", CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK="1")
        with open(f"{folder}/conf/env-gce", encoding="utf-8") as f:
            env.update(line.rstrip("\n").split("=", 1) for line in f)
        print(f"1..{len(STEPS) + 1}")
        failed = 0
        for number, (command, text) in enumerate(STEPS, 1):
            run = subprocess.run(["gcloud", *command.split()], env=env, capture_output=True, text=True, check=False)
            good = text in run.stdout + run.stderr
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - gcloud {command}")
            for line in [] if good else (run.stdout + run.stderr).splitlines():
                print(f"# {line}")
        sim.send_signal(signal.SIGTERM)
        sim.wait(30)
        check = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", log], capture_output=True,
                               text=True, check=False)
        skip = " # SKIP python3-jsonschema is not installed" if check.returncode == 2 else ""
        failed += check.returncode == 1
        print(f"{'not ok' if check.returncode == 1 else 'ok'} {len(STEPS) + 1} - traffic{skip}")
        for line in check.stdout.splitlines():
            print(f"# {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
