/* SPDX-License-Identifier: Apache-2.0 */
/* gce_shared_ip.c: see gce_shared_ip.h. */
#include "providers/gce/cache/gce_shared_ip.h"

#include "common/base/str.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/cache/gce_cloud.h"

#define RULES_MAX 1000 /* at one address; Google allows far fewer */

bool gce_ip_may_look(const struct lb_sync *s)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    return !cloud->offline && (s->observed_fresh || s->planning);
}

bool gce_ip_is_anothers(struct lb_sync *s, const struct tt_service *self, const char *ip)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    cloud->host->services(cloud->host->ctx, s->call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        bool other = !str_eq(all[i]->uid, self->uid) && all[i]->deleted_us == 0;
        for (uint32_t k = 0; other && k < all[i]->n_ingress; k++) {
            if (str_eq(all[i]->ingress[k].ip, ip)) {
                return true;
            }
        }
    }
    return false;
}

struct found {
    struct arena *a;
    struct gce_ip_uses *uses;
    const struct gce_rule **rules;
    bool bad; /* an item is not readable, or there are too many */
};

static void take_address(void *arg, const char *text, size_t n)
{
    struct found *f = arg;
    struct json_object *o;
    struct gce_address one;
    if (json_parse_arena(f->a, text, n, NULL, &o, NULL) != ERR_OK ||
        gce_address_decode(f->a, o, &one, NULL) != ERR_OK) {
        f->bad = true;
    } else if (str_eq(one.ip, f->uses->ip)) {
        f->uses->reserved = true;
        f->uses->address = one;
    }
}

static void take_rule(void *arg, const char *text, size_t n)
{
    struct found *f = arg;
    struct json_object *o;
    struct gce_rule *one = ARENA_NEW(f->a, struct gce_rule);
    if (f->uses->n_rules == RULES_MAX ||
        json_parse_arena(f->a, text, n, NULL, &o, NULL) != ERR_OK ||
        gce_rule_decode(f->a, o, one, NULL) != ERR_OK) {
        f->bad = true;
    } else if (str_eq(one->ip, f->uses->ip)) {
        f->rules[f->uses->n_rules++] = one;
    }
}

int gce_ip_look(struct lb_sync *s, const char *ip, struct gce_ip_uses *ret, struct err *err)
{
    static const struct {
        enum gce_collection c;
        const char *field;
        void (*take)(void *arg, const char *text, size_t n);
    } lists[] = {{GCE_ADDRESSES, "address", take_address}, {GCE_RULES, "IPAddress", take_rule}};
    const struct gce_cloud *cloud = gce_cloud_of(s);
    struct gce_read *reads = ARENA_ARRAY(s->a, struct gce_read, ARRAY_LEN(lists));
    struct gce_splitter cutters[ARRAY_LEN(lists)];
    struct http_job *jobs[ARRAY_LEN(lists)];
    struct found f = {
        .a = s->a, .uses = ret, .rules = ARENA_ARRAY(s->a, const struct gce_rule *, RULES_MAX)};
    *ret = (struct gce_ip_uses){.ip = ip, .rules = f.rules};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        gce_splitter_init(&cutters[i], lists[i].take, &f);
        const struct gce_call_spec spec = {
            .collection = lists[i].c,
            .verb = GCE_LIST,
            .filter = arena_printf(s->a, "%s eq %s", lists[i].field, ip),
            .cutter = &cutters[i],
        };
        gce_read_init(&reads[i], &cloud->api, s->call, s->a, &spec);
        reads[i].job.cancel = s->cancel;
        jobs[i] = &reads[i].job;
    }
    http_run(s->http, jobs, ARRAY_LEN(lists));
    int rc = ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        gce_splitter_done(&cutters[i]);
        s->reads += reads[i].call.requests;
        if (reads[i].job.err.code != ERR_OK && rc == ERR_OK) {
            rc = err_copy(err, &reads[i].job.err);
            (void)err_prefix(err, "looking for the owner of address %s", ip);
        }
    }
    return rc == ERR_OK && f.bad
               ? err_set(err, ERR_TRANSIENT, "the owner of address %s is not readable", ip)
               : rc;
}
