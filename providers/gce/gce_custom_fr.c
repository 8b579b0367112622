/* SPDX-License-Identifier: Apache-2.0 */
/* gce_custom_fr.c: see gce_custom_fr.h. */
#include "providers/gce/gce_custom_fr.h"

#include "common/base/str.h"

/* One GET in progress. */
struct one {
    struct gce_api api; /* of the place where it is */
    struct gce_read read;
    struct gce_link link;
    struct json_object *answer;
    struct err err;
};

static void begin(struct lb_sync *s, struct one *o, const struct gce_link *link,
                  enum gce_collection regional, enum gce_collection global)
{
    const struct gce_provider *p = gce_provider_of(s);
    bool is_global = *link->region == '\0';
    o->api = gce_api_beta(s->a, &p->cloud.api);
    o->api.project = str_or(link->project, p->cloud.api.project);
    o->api.region = link->region;
    o->link = *link;
    const struct gce_call_spec spec = {
        .collection = is_global ? global : regional, .verb = GCE_GET, .name = link->name};
    gce_read_init(&o->read, &o->api, s->call, s->a, &spec);
    o->read.job.cancel = s->cancel;
}

static void run(struct lb_sync *s, struct one *all, size_t n)
{
    struct http_job **jobs = ARENA_ARRAY(s->a, struct http_job *, n);
    for (size_t i = 0; i < n; i++) {
        jobs[i] = &all[i].read.job;
    }
    if (n > 0) {
        http_run(s->http, jobs, n);
    }
    for (size_t i = 0; i < n; i++) {
        s->reads += all[i].read.call.requests;
        if (gce_read_json(&all[i].read, s->a, &all[i].answer, &all[i].err) != ERR_OK) {
            all[i].answer = NULL;
        }
    }
}

static void read_rules(struct lb_sync *s, const struct gce_custom_refs *refs,
                       struct gce_custom_seen *seen)
{
    struct one *all = ARENA_ARRAY(s->a, struct one, refs->n);
    for (size_t i = 0; i < refs->n; i++) {
        begin(s, &all[i], &refs->items[i].link, GCE_RULES, GCE_GLOBAL_RULES);
    }
    run(s, all, refs->n);
    for (size_t i = 0; i < refs->n; i++) {
        seen[i].rule_err = all[i].err;
        if (all[i].err.code == ERR_OK) {
            gce_custom_rule_take(s->a, all[i].answer, &seen[i]);
        }
    }
}

static bool is_service(const struct gce_link *link)
{
    return str_eq(link->resource, "backendServices") && *link->zone == '\0' && *link->name != '\0';
}

/* Several rules of one load balancer have the same backend service. */
static struct one *find(struct one *all, size_t n, const struct gce_link *link)
{
    for (size_t i = 0; i < n; i++) {
        const struct gce_link *l = &all[i].link;
        if (str_eq(l->project, link->project) && str_eq(l->region, link->region) &&
            str_eq(l->name, link->name)) {
            return &all[i];
        }
    }
    return NULL;
}

static void read_services(struct lb_sync *s, size_t n, struct gce_custom_seen *seen)
{
    struct one *all = ARENA_ARRAY(s->a, struct one, n);
    struct one **of = ARENA_ARRAY(s->a, struct one *, n);
    size_t n_all = 0;
    for (size_t i = 0; i < n; i++) {
        struct gce_link link;
        if (!gce_custom_wants_service(&seen[i]) ||
            gce_link_parse(s->a, seen[i].backend, &link, NULL) != ERR_OK || !is_service(&link)) {
            continue;
        }
        of[i] = find(all, n_all, &link);
        if (of[i] == NULL) {
            of[i] = &all[n_all++];
            begin(s, of[i], &link, GCE_BACKENDS, GCE_GLOBAL_BACKENDS);
        }
    }
    run(s, all, n_all);
    for (size_t i = 0; i < n; i++) {
        if (of[i] == NULL) {
            continue;
        }
        seen[i].service_looked = true;
        seen[i].service_err = of[i]->err;
        if (of[i]->err.code == ERR_OK) {
            gce_custom_service_take(s->a, of[i]->answer, &seen[i]);
        }
    }
}

void gce_custom_fr_look(struct lb_sync *s, const struct gce_custom_refs *refs,
                        struct gce_custom_seen **ret_seen)
{
    struct gce_custom_seen *seen = ARENA_ARRAY(s->a, struct gce_custom_seen, refs->n);
    read_rules(s, refs, seen);
    read_services(s, refs->n, seen);
    *ret_seen = seen;
}
