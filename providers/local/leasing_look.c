/* SPDX-License-Identifier: Apache-2.0 */
/* leasing_look.c: who holds an address, for people: a look at the Leases outside of the thread that
 * keeps them (leasing.h). */
#include "providers/local/leasing.h"

#include <string.h>

#include "common/base/str.h"

struct look {
    const struct local_provider *p;
    struct arena *a;
    size_t group;
    unsigned bucket;
    const char *director; /* NULL: none so far */
    const char *renewed;
};

/* Of several that claim it the one that wrote last: the others are dead, or about to let go. */
static void look_at(void *arg, const char *text, size_t n)
{
    struct look *x = arg;
    struct json_object *o = NULL;
    struct local_lease lease;

    if (json_parse_arena(x->a, text, n, NULL, &o, NULL) != ERR_OK ||
        !local_lease_read(x->a, x->p->config, o, &lease) || lease.seen.ended ||
        !local_bucket_set_has(&lease.seen.holds[x->group], x->bucket)) {
        return;
    }
    if (x->director == NULL || strcmp(lease.seen.version, x->renewed) > 0) {
        x->director = arena_strdup(x->a, lease.seen.name);
        x->renewed = arena_strdup(x->a, lease.seen.version);
    }
}

const char *local_leasing_holder(struct local_provider *p, struct arena *a,
                                 const struct tt_call *call, const struct ip_addr *addr)
{
    static const struct tt_kube_ref ref = {
        .api_version = LOCAL_LEASE_VERSION, .resource = "leases", .ns = LOCAL_LEASE_NAMESPACE};
    const struct local_pool *pool = local_pool_of(p->config, addr);
    struct look x = {.p = p,
                     .a = a,
                     .group = local_lease_group_of(p->config, pool),
                     .bucket = local_bucket(addr)};
    const struct tt_text_sink each = {.size = sizeof each, .put = look_at, .arg = &x};
    const char *label = arena_printf(a, LOCAL_LEASE_LABEL "=%s", p->config->instance);

    if (!local_shared_by_config(p->config, pool) || p->host->kube_each == NULL) {
        return NULL;
    }
    return p->host->kube_each(p->host->ctx, call, &ref, label, &each) == TT_OK ? x.director : NULL;
}
