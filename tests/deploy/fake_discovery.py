# SPDX-License-Identifier: Apache-2.0
"""An API server that says which kinds there are, and has no objects: as much as `kubectl --dry-run=client` asks."""
import http.server
import json
import threading

# group/version: [(kind, plural, namespaced)]
KINDS = {
    "v1": [("ServiceAccount", "serviceaccounts", True), ("ConfigMap", "configmaps", True), ("Secret", "secrets", True),
           ("Service", "services", True), ("Namespace", "namespaces", False)],
    "apps/v1": [("Deployment", "deployments", True), ("DaemonSet", "daemonsets", True)],
    "policy/v1": [("PodDisruptionBudget", "poddisruptionbudgets", True)],
    "networking.k8s.io/v1": [("NetworkPolicy", "networkpolicies", True)],
    "rbac.authorization.k8s.io/v1": [("Role", "roles", True), ("RoleBinding", "rolebindings", True),
                                     ("ClusterRole", "clusterroles", False),
                                     ("ClusterRoleBinding", "clusterrolebindings", False)],
    "monitoring.coreos.com/v1": [("ServiceMonitor", "servicemonitors", True), ("PrometheusRule", "prometheusrules", True)],
}


def group_of(name):
    version = {"groupVersion": name, "version": name.split("/")[1]}
    return {"name": name.split("/")[0], "versions": [version], "preferredVersion": version}


def resources(name):
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name,
            "resources": [{"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind,
                           "verbs": verbs} for kind, plural, namespaced in KINDS[name]]}


def answers():
    groups = [group_of(name) for name in KINDS if "/" in name]
    found = {"/api": {"kind": "APIVersions", "versions": ["v1"]},
             "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
             "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}}
    for name in KINDS:
        found[f"/apis/{name}" if "/" in name else f"/api/{name}"] = resources(name)
    return found


class Handler(http.server.BaseHTTPRequestHandler):
    ANSWERS = answers()

    def do_GET(self):  # pylint: disable=invalid-name
        found = self.ANSWERS.get(self.path.split("?")[0])
        body = json.dumps(found or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                                    "message": "not found", "code": 404}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class Discovery:
    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
