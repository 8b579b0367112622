/* SPDX-License-Identifier: Apache-2.0 */
/* serve_access.c: delegated authentication and authorization against the simulator's API server,
 * which enforces RBAC.
 *
 * Who may see /metrics is decided by the roles that docs/operations.md shows; the CAs come from the
 * ConfigMap, whose change is seen by its watch. */
#include "tests/support/rig.h"
#include "tests/unit/serve/access_kit.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define MAP "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

/* The rig's connections are plain HTTP, so the client is anonymous: it gets the rights of trimtab's
 * account. */
static const char roles[] =
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: ClusterRole\n"
    "metadata: {name: delegator}\n"
    "rules:\n"
    "- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}\n"
    "- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}\n"
    "- {apiGroups: [\"\"], resources: [configmaps], verbs: [get, list, watch, patch]}\n"
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: ClusterRoleBinding\n"
    "metadata: {name: delegator}\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: delegator}\n"
    "subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: \"system:anonymous\"}]\n"
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: ClusterRole\n"
    "metadata: {name: trimtab-metrics-reader}\n"
    "rules:\n"
    "- {nonResourceURLs: [/metrics], verbs: [get]}\n"
    "---\n"
    "apiVersion: rbac.authorization.k8s.io/v1\n"
    "kind: ClusterRoleBinding\n"
    "metadata: {name: trimtab-metrics-reader}\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
    "trimtab-metrics-reader}\n"
    "subjects: [{kind: ServiceAccount, namespace: monitoring, name: prometheus}]\n";

struct stand {
    struct arena *a;
    const char *folder;
    struct rig *rig;
    struct options *options;
    struct metrics *metrics;
    struct access *access;
};

static void write_map(struct stand *s, const char *method, const char *path, const char *pem,
                      int want)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                   "\"extension-apiserver-authentication\"},\"data\":{\"client-ca-file\":");
    str_append_json_quoted(&b, pem);
    str_append(&b, "}}");
    assert_int_equal(rig_kube(s->rig, method, path, str_buf_text(&b), NULL), want);
}

static void start(struct stand *s, const char *client_ca)
{
    struct err err = ERR_INIT;
    *s = (struct stand){.a = arena_new(), .metrics = metrics_new()};
    s->folder = kit_folder(s->a);
    const struct rig_args rig = {.sim = {.rbac = kit_write(s->a, s->folder, "rbac.yaml", roles)}};
    if (rig_new(&rig, &s->rig, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    write_map(s, "PATCH", MAP, client_ca, 200); /* it is there, as in every cluster */
    const char *kc = kit_kubeconfig(s->a, s->folder, "kc", rig_url(s->rig));
    char *argv[] = {arena_strdup(s->a, "trimtab"), arena_strdup(s->a, "--cloud-provider=gce"),
                    arena_printf(s->a, "--authentication-kubeconfig=%s", kc),
                    arena_printf(s->a, "--authorization-kubeconfig=%s", kc)};
    const struct options_input in = {.argc = ARRAY_LEN(argv), .argv = argv, .program = "trimtab"};
    assert_int_equal(options_parse(&in, &s->options, &err), ERR_OK);
    const struct access_args args = {
        .options = s->options, .user_agent = "trimtab/test", .metrics = s->metrics};
    if (access_new(&args, &s->access, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static void done(struct stand *s)
{
    access_free(s->access);
    options_free(s->options);
    metrics_free(s->metrics);
    rig_free(s->rig);
    kit_folder_done(s->folder);
    arena_free(s->a);
}

static int status_of(struct stand *s, const char *method, const char *path, const char *token)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const struct kit_header headers[] = {
        {token == NULL ? NULL : "Authorization", arena_printf(a, "Bearer %s", str_nonnull(token))},
        {NULL, NULL}};
    struct access_request req = kit_request(a, method, path, headers);
    struct access_verdict v;
    if (!access_decide(s->access, &req, &v)) {
        access_ask(s->access, &req, NULL, &v);
    }
    return v.status;
}

static void access__roles_of_the_cluster__decide(void **state)
{
    (void)state;
    struct kit_ca *ca = kit_ca_new("ca");
    struct stand s;
    start(&s, ca->pem);
    const struct {
        const char *method;
        const char *path;
        const char *token;
        int status;
    } rows[] = {
        {"GET", "/healthz", NULL, 0},
        {"GET", "/metrics", NULL, 403},
        {"GET", "/metrics", "sa:monitoring:prometheus", 0},
        {"DELETE", "/metrics", "sa:monitoring:prometheus", 403},
        {"GET", "/configz", "sa:monitoring:prometheus", 403},
        {"GET", "/metrics", "sa:monitoring:grafana", 403},
        {"GET", "/configz", "sim-admin", 0}, /* system:masters */
        {"GET", "/metrics", "nonsense", 401},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int got = status_of(&s, rows[i].method, rows[i].path, rows[i].token);
        if (got != rows[i].status) {
            fail_msg("row %zu: want %d, got %d", i, rows[i].status, got);
        }
    }
    int64_t tokens = rig_calls(s.rig, "kubernetes", "tokenreviews.create");
    int64_t subjects = rig_calls(s.rig, "kubernetes", "subjectaccessreviews.create");
    assert_int_equal(tokens, 4); /* four tokens, each once */
    assert_int_equal(subjects, 5);
    assert_int_equal(status_of(&s, "GET", "/metrics", "sa:monitoring:prometheus"), 0);
    assert_int_equal(rig_calls(s.rig, "kubernetes", "tokenreviews.create"), tokens);
    done(&s);
    kit_ca_free(ca);
}

static bool is_known(struct stand *s, X509 *cert)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct access_request req = kit_request(a, "GET", "/healthz", NULL);
    struct access_verdict v;
    req.cert = cert;
    assert_true(access_decide(s->access, &req, &v));
    return v.status == 0;
}

/* By the real clock: certificates are of today. */
static X509 *certificate(struct kit_ca *ca)
{
    int64_t now_s = clock_wall_s(clock_real());
    return kit_issue(
        ca, &(struct kit_cert){
                .cn = "x", .usage = "clientAuth", .from_s = now_s - 3600, .until_s = now_s + 3600});
}

static void access__config_map_is_changed__the_watch_tells(void **state)
{
    (void)state;
    struct kit_ca *old_ca = kit_ca_new("old");
    struct kit_ca *new_ca = kit_ca_new("new");
    struct stand s;
    start(&s, old_ca->pem);
    X509 *old_cert = certificate(old_ca);
    X509 *new_cert = certificate(new_ca);
    assert_true(is_known(&s, old_cert));
    assert_false(is_known(&s, new_cert));
    write_map(&s, "PATCH", MAP, new_ca->pem, 200);
    while (!is_known(&s, new_cert)) {
        (void)poll(NULL, 0, 1);
    }
    assert_false(is_known(&s, old_cert));
    assert_int_equal(rig_calls(s.rig, "kubernetes", "configmaps.get"), 1);
    X509_free(old_cert);
    X509_free(new_cert);
    done(&s);
    kit_ca_free(old_ca);
    kit_ca_free(new_ca);
}

UNIT_MAIN(serve_access)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access__roles_of_the_cluster__decide),
        cmocka_unit_test(access__config_map_is_changed__the_watch_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
