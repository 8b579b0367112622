/* SPDX-License-Identifier: Apache-2.0 */
/* gce_subnetwork.c: see gce_subnetwork.h.  Several syncs may look at once at the start;
 * they find the same. */
#include "providers/gce/cache/gce_subnetwork.h"

#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/lb/driver.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/model/gce_links.h"

#include <stdlib.h>

#define SUBNETWORKS_MAX 1000 /* of one network in one region; Google allows fewer */
#define AGAIN_MS        300000

struct gce_subnet_search {
    struct mutex lock;
    char *link _guarded_by_(lock);            /* NULL until it is known; "" when there is none */
    int64_t not_before_ms _guarded_by_(lock); /* after a refusal */
    bool told _guarded_by_(lock);
};

struct gce_subnet_search *gce_subnet_search_new(void)
{
    struct gce_subnet_search *f = xcalloc(1, sizeof(*f));
    mutex_init(&f->lock);
    return f;
}

void gce_subnet_search_free(struct gce_subnet_search *f)
{
    if (f == NULL) {
        return;
    }
    free(f->link);
    mutex_done(&f->lock);
    free(f);
}

const char *gce_subnet_search_known(struct gce_subnet_search *f, struct arena *a)
{
    mutex_lock(&f->lock);
    const char *known = arena_strdup(a, str_nonnull(f->link));
    mutex_unlock(&f->lock);
    return known;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* The subnetworks of a list, as far as the search needs them. */
struct found {
    struct arena *a;
    const char *links[SUBNETWORKS_MAX];
    const char *cidrs[SUBNETWORKS_MAX];
    size_t n;
    bool bad; /* one is not readable, or there are too many */
};

static void take(void *arg, const char *text, size_t n)
{
    struct found *f = arg;
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (f->n == SUBNETWORKS_MAX || json_parse(text, n, NULL, &o, NULL) != ERR_OK ||
        str_is_empty(json_str(o, "selfLink"))) {
        f->bad = true;
        return;
    }
    if (!str_is_empty(json_str(o, "ipCidrRange"))) { /* those of IPv6 alone have none */
        f->links[f->n] = arena_strdup(f->a, json_str(o, "selfLink"));
        f->cidrs[f->n++] = arena_strdup(f->a, json_str(o, "ipCidrRange"));
    }
}

static void run(struct lb_sync *s, struct gce_read *r)
{
    struct http_job *jobs[] = {&r->job};
    r->job.cancel = s->cancel;
    http_run(s->http, jobs, 1);
    s->reads += r->call.requests;
}

static int read_network(struct lb_sync *s, const char *name, struct json_object **ret,
                        struct err *err)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    const struct gce_call_spec spec = {.collection = GCE_NETWORKS, .verb = GCE_GET, .name = name};
    struct gce_read r;
    gce_read_init(&r, &cloud->api, s->call, s->a, &spec);
    run(s, &r);
    return gce_read_json(&r, s->a, ret, err);
}

static int list(struct lb_sync *s, const char *network, struct found *f, struct err *err)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    struct gce_splitter cutter;
    struct gce_read r;
    gce_splitter_init(&cutter, take, f);
    const struct gce_call_spec spec = {
        .collection = GCE_SUBNETWORKS,
        .verb = GCE_LIST,
        .filter = arena_printf(s->a, "network eq .*/%s$", network),
        .cutter = &cutter,
    };
    gce_read_init(&r, &cloud->api, s->call, s->a, &spec);
    run(s, &r);
    gce_splitter_done(&cutter);
    if (r.job.err.code != ERR_OK) {
        return err_copy(err, &r.job.err);
    }
    return f->bad ? err_set(err, ERR_TRANSIENT, "the list of subnetworks is not readable") : ERR_OK;
}

/* Of an auto-mode network; `ret_why` says why there is none. */
static int pick(struct lb_sync *s, const char *network, const char **ret_link, const char **ret_why,
                struct err *err)
{
    struct found *f = ARENA_NEW(s->a, struct found);
    const char **inside = NULL;
    size_t n = 0;
    f->a = s->a;
    int rc = list(s, network, f, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (gce_subnets_in_auto_range(s->a, f->links, f->cidrs, f->n, &inside, &n, err) != ERR_OK) {
        *ret_why = arena_strdup(s->a, err->message);
        err_clear(err);
    } else if (n == 1) {
        *ret_link = inside[0];
    } else {
        *ret_why = n == 0 ? "no subnetwork of the region is in the range of auto-mode networks"
                          : "several subnetworks of the region are in the range of auto-mode "
                            "networks";
    }
    return ERR_OK;
}

static int search(struct lb_sync *s, const char **ret_link, const char **ret_why, struct err *err)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    const char *name = gce_link_last(str_nonnull(cloud->facts.network_url));
    struct json_object *network = NULL;
    *ret_link = "";
    *ret_why = NULL;
    if (str_is_empty(name)) {
        return ERR_OK;
    }
    int rc = gce_auth_ready(cloud->auth, s->http, s->cancel, err);
    if (rc == ERR_OK) {
        rc = read_network(s, name, &network, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    if (!str_is_empty(json_str(network, "IPv4Range"))) {
        return ERR_OK; /* a legacy network has none */
    }
    if (!json_bool(network, "autoCreateSubnetworks", false)) {
        *ret_why = "the network is of custom mode";
        return ERR_OK;
    }
    return pick(s, name, ret_link, ret_why, err);
}

/* ---- what is known --------------------------------------------------------------------------- */

static void tell(struct gce_subnet_search *f, const struct lb_sync *s, const char *why)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    const struct tt_kv values[] = {{"network", cloud->facts.network_url}, {"reason", why}};
    mutex_lock(&f->lock);
    bool told = f->told;
    f->told = true;
    mutex_unlock(&f->lock);
    if (!told) {
        s->host->log(s->host->ctx, TT_LOG_WARNING, 0,
                     "The cluster's subnetwork is not known; name it in the cloud config "
                     "(subnetwork-name)",
                     values, ARRAY_LEN(values));
    }
}

static void put_off(struct gce_subnet_search *f, int64_t now_ms)
{
    mutex_lock(&f->lock);
    f->not_before_ms = now_ms + AGAIN_MS;
    mutex_unlock(&f->lock);
}

int gce_subnet_search_get(struct gce_subnet_search *f, struct lb_sync *s, const char **ret,
                          struct err *err)
{
    int64_t now_ms = s->host->now_ms(s->host->ctx);
    const char *link = NULL;
    const char *why = NULL;
    mutex_lock(&f->lock);
    bool enough = f->link != NULL || now_ms < f->not_before_ms;
    *ret = arena_strdup(s->a, str_nonnull(f->link));
    mutex_unlock(&f->lock);
    if (enough) {
        return ERR_OK;
    }
    int rc = search(s, &link, &why, err);
    if (rc == ERR_NOT_FOUND || rc == ERR_FORBIDDEN) {
        tell(f, s, err->message);
        put_off(f, now_ms);
        err_clear(err);
        return ERR_OK;
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "looking for the cluster's subnetwork");
        return rc;
    }
    if (why != NULL) {
        tell(f, s, why);
    }
    mutex_lock(&f->lock);
    if (f->link == NULL) {
        f->link = xstrdup(link);
    }
    mutex_unlock(&f->lock);
    *ret = link;
    return ERR_OK;
}
