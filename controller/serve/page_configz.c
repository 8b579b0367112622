/* SPDX-License-Identifier: Apache-2.0 */
/* page_configz.c: /configz: the flags as the Go controller's component config shows them.
 *
 * Upstream serves the Go struct CloudControllerManagerConfiguration (k8s.io/cloud-provider/config,
 * 1.36) under "cloudcontrollermanager.config.k8s.io", by the names of its fields; the table below
 * is that struct, in its order.  Under "trimtab" stand the flags that it has no field for: ours and
 * the provider's, secrets as "***". */
#include <string.h>

#include "controller/serve/pages.h"

#define GO_CONFIG "cloudcontrollermanager.config.k8s.io"

/* A field: where it is ("Generic.LeaderElection.LeaderElect"), and the flag that sets it. */
struct field {
    const char *path;
    const char *flag; /* NULL: no flag sets it; `otherwise` is its JSON */
    const char *otherwise;
};
static const struct field fields[] = {
    {"Generic.Port", "secure-port", NULL},
    {"Generic.Address", "bind-address", NULL},
    {"Generic.MinResyncPeriod", "min-resync-period", NULL},
    {"Generic.ClientConnection.Kubeconfig", "kubeconfig", NULL},
    {"Generic.ClientConnection.AcceptContentTypes", NULL, "\"\""},
    {"Generic.ClientConnection.ContentType", "kube-api-content-type", NULL},
    {"Generic.ClientConnection.QPS", "kube-api-qps", NULL},
    {"Generic.ClientConnection.Burst", "kube-api-burst", NULL},
    {"Generic.ControllerStartInterval", "controller-start-interval", NULL},
    {"Generic.LeaderElection.LeaderElect", "leader-elect", NULL},
    {"Generic.LeaderElection.LeaseDuration", "leader-elect-lease-duration", NULL},
    {"Generic.LeaderElection.RenewDeadline", "leader-elect-renew-deadline", NULL},
    {"Generic.LeaderElection.RetryPeriod", "leader-elect-retry-period", NULL},
    {"Generic.LeaderElection.ResourceLock", "leader-elect-resource-lock", NULL},
    {"Generic.LeaderElection.ResourceName", "leader-elect-resource-name", NULL},
    {"Generic.LeaderElection.ResourceNamespace", "leader-elect-resource-namespace", NULL},
    {"Generic.Controllers", "controllers", NULL},
    {"Generic.Debugging.EnableProfiling", "profiling", NULL},
    {"Generic.Debugging.EnableContentionProfiling", "contention-profiling", NULL},
    {"Generic.LeaderMigrationEnabled", "enable-leader-migration", NULL},
    {"Generic.LeaderMigration.LeaderName", NULL, "\"\""},
    {"Generic.LeaderMigration.ResourceLock", NULL, "\"\""},
    {"Generic.LeaderMigration.ControllerLeaders", NULL, "null"},
    {"KubeCloudShared.CloudProvider.Name", "cloud-provider", NULL},
    {"KubeCloudShared.CloudProvider.CloudConfigFile", "cloud-config", NULL},
    {"KubeCloudShared.ExternalCloudVolumePlugin", "external-cloud-volume-plugin", NULL},
    {"KubeCloudShared.UseServiceAccountCredentials", "use-service-account-credentials", NULL},
    {"KubeCloudShared.AllowUntaggedCloud", "allow-untagged-cloud", NULL},
    {"KubeCloudShared.RouteReconciliationPeriod", "route-reconciliation-period", NULL},
    {"KubeCloudShared.NodeMonitorPeriod", "node-monitor-period", NULL},
    {"KubeCloudShared.ClusterName", "cluster-name", NULL},
    {"KubeCloudShared.ClusterCIDR", "cluster-cidr", NULL},
    {"KubeCloudShared.AllocateNodeCIDRs", "allocate-node-cidrs", NULL},
    {"KubeCloudShared.CIDRAllocatorType", "cidr-allocator-type", NULL},
    {"KubeCloudShared.ConfigureCloudRoutes", "configure-cloud-routes", NULL},
    {"KubeCloudShared.NodeSyncPeriod", "node-sync-period", NULL},
    {"NodeController.ConcurrentNodeSyncs", "concurrent-node-syncs", NULL},
    {"NodeController.ConcurrentNodeStatusUpdates", "concurrent-node-status-updates", NULL},
    {"ServiceController.ConcurrentServiceSyncs", "concurrent-service-syncs", NULL},
    {"NodeStatusUpdateFrequency", "node-status-update-frequency", NULL},
    {"Webhook.Webhooks", "webhooks", NULL},
};

static const struct option_value *value_of(const struct options *o, const char *flag)
{
    for (size_t i = 0; i < o->n_values; i++) {
        if (str_eq(o->values[i].def->name, flag)) {
            return &o->values[i];
        }
    }
    return NULL;
}

static void append_list(struct str_buf *b, const char *const *items, size_t n)
{
    str_append_c(b, '[');
    for (size_t i = 0; i < n; i++) {
        str_append(b, i > 0 ? "," : "");
        str_append_json_quoted(b, items[i]);
    }
    str_append_c(b, ']');
}

static void append_value(struct arena *a, struct str_buf *b, const struct options *o,
                         const struct option_value *v)
{
    size_t n = 0;

    switch (v->def->type) {
    case OPTION_BOOL:
    case OPTION_INT:
    case OPTION_FLOAT:
        str_append(b, v->text);
        return;
    case OPTION_LIST:
    case OPTION_STRINGS:
        if (v->def->offset != OPTION_NO_MEMBER) {
            const struct option_list *l = (const void *)((const char *)o + v->def->offset);
            append_list(b, l->items, l->n);
        } else {
            char **items = str_split(a, v->text, ',', &n);
            append_list(b, (const char *const *)items, v->text[0] == '\0' ? 0 : n);
        }
        return;
    default:
        str_append_json_quoted(b, v->text);
    }
}

/* How many leading members (parts before the last '.') two paths share, in bytes with the dots. */
static size_t shared(const char *x, const char *y)
{
    size_t same = 0;

    for (size_t i = 0; x[i] != '\0' && x[i] == y[i]; i++) {
        same = x[i] == '.' ? i + 1 : same;
    }
    return same;
}

static size_t count_dots(const char *path)
{
    size_t n = 0;

    for (const char *p = path; *p != '\0'; p++) {
        n += *p == '.';
    }
    return n;
}

/* Closes what is over and opens what begins, from the field before to this one; "" stands
 * for both ends. */
static void move_to(struct str_buf *b, const char *from, const char *to)
{
    size_t same = shared(from, to);

    for (size_t n = count_dots(from + same); n > 0; n--) {
        str_append_c(b, '}');
    }
    if (to[0] == '\0') {
        return;
    }
    str_append(b, from[0] != '\0' ? "," : "");
    const char *at = to + same;
    for (const char *dot; (dot = strchr(at, '.')) != NULL; at = dot + 1) {
        str_append_json_quoted_n(b, at, (size_t)(dot - at));
        str_append(b, ":{");
    }
    str_append_json_quoted(b, at);
    str_append_c(b, ':');
}

static void append_go_config(struct arena *a, struct str_buf *b, const struct options *o)
{
    const char *before = "";

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct field *f = &fields[i];
        const struct option_value *v = f->flag == NULL ? NULL : value_of(o, f->flag);
        move_to(b, before, f->path);
        if (v != NULL) {
            append_value(a, b, o, v);
        } else {
            str_append(b, f->otherwise != NULL ? f->otherwise : "null");
        }
        before = f->path;
    }
    move_to(b, before, "");
}

static bool has_field(const char *flag)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (str_eq(fields[i].flag, flag)) {
            return true;
        }
    }
    return false;
}

static void append_rest(struct arena *a, struct str_buf *b, const struct options *o)
{
    bool first = true;

    for (size_t i = 0; i < o->n_values; i++) {
        const struct option_value *v = &o->values[i];
        if (has_field(v->def->name)) {
            continue;
        }
        str_append(b, first ? "" : ",");
        str_append_json_quoted(b, v->def->name);
        str_append_c(b, ':');
        if (v->def->secret) {
            str_append(b, "\"***\"");
        } else {
            append_value(a, b, o, v);
        }
        first = false;
    }
}

void page_configz(void *arg, const struct page_request *req, struct page_answer *ret)
{
    const struct options *o = ((const struct pages_args *)arg)->options;

    ret->content_type = PAGE_JSON;
    ret->nosniff = true;
    str_append(&ret->body, "{\"" GO_CONFIG "\":{");
    append_go_config(req->a, &ret->body, o);
    str_append(&ret->body, "},\"trimtab\":{");
    append_rest(req->a, &ret->body, o);
    str_append(&ret->body, "}}");
}
