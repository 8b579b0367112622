/* SPDX-License-Identifier: Apache-2.0 */
/* gce_owned.c: everything in the project that has a name of ours (list_owned, provider.h), for
 * `trimtab orphans`.
 *
 * One list per kind, in one wave, straight from the cloud: a snapshot would not do for what is
 * going to be deleted.  Items are read one by one as bytes arrive; what is kept of each is a few
 * texts.  Whose they are says gce_owned_rules.h.  A kind that may not be listed is said and left
 * out.  Reads only. */
#include "common/base/str.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_kube_system.h"
#include "providers/gce/gce_owned_rules.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/gce_session.h"
#include "providers/gce/model/gce_l4_names.h"
#include "providers/gce/model/gce_links.h"

#include <stdlib.h>
#include <string.h>

/* The listed kinds.  The last one only shows whether Ingress uses the instance groups. */
static const enum gce_collection kinds[] = {
    GCE_ADDRESSES, GCE_RULES,      GCE_POOLS, GCE_FIREWALLS, GCE_CHECKS,         GCE_BACKENDS,
    GCE_HCS,       GCE_REGION_HCS, GCE_NEGS,  GCE_GROUPS,    GCE_GLOBAL_BACKENDS};
#define N_KINDS ARRAY_LEN(kinds)

struct listing {
    struct gce_session x;
    struct gce_owned_facts facts;
    struct inventory inv;
};

/* Where an item goes that is cut out of a list. */
struct sink {
    struct listing *l;
    enum gce_collection c;
};

/* Another program's backend service that uses our instance groups: Ingress's. */
static void note_groups(struct listing *l, struct json_object *o)
{
    struct json_object *backends = json_member(o, "backends");
    for (size_t i = 0; i < json_len(backends); i++) {
        const char *group = json_str(json_object_array_get_idx(backends, i), "group");
        const char *slash = strrchr(str_nonnull(group), '/');
        l->facts.in_use_elsewhere |= slash != NULL && str_eq(slash + 1, l->facts.group);
    }
}

static void take(struct listing *l, enum gce_collection c, struct json_object *o)
{
    struct gce_owned item;
    if (c == GCE_GLOBAL_BACKENDS || !gce_owned_read(&l->facts, c, o, &item)) {
        if (c == GCE_GLOBAL_BACKENDS || c == GCE_BACKENDS) {
            note_groups(l, o);
        }
        return;
    }
    struct gce_owned *copy = ARENA_NEW(l->x.s.a, struct gce_owned);
    *copy = item;
    inventory_add(&l->inv, &copy->item);
}

static void take_text(void *arg, const char *text, size_t n)
{
    const struct sink *k = arg;
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (json_parse(text, n, NULL, &o, NULL) == ERR_OK && json_object_is_type(o, json_type_object)) {
        take(k->l, k->c, o);
    }
}

/* ---- what is known before -------------------------------------------------------------------- */

static struct str_set node_names(struct arena *a, const struct gce_provider *p,
                                 const struct tt_call *call)
{
    const struct tt_node *const *nodes = NULL;
    uint32_t n = 0;
    p->cloud.host->nodes(p->cloud.host->ctx, call, &nodes, &n);
    const char **names = ARENA_ARRAY(a, const char *, n);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = nodes[i]->name;
    }
    return str_set_make(a, names, n);
}

struct counting {
    struct gce_owned_facts *facts;
    const char *uid; /* of namespace kube-system */
};

static void count_service(void *arg, const struct tt_service *svc)
{
    struct counting *c = arg;
    gce_owned_facts_add(c->facts, svc, c->uid);
}

static int find_facts(struct listing *l, struct err *err)
{
    struct gce_provider *p = l->x.p;
    struct gce_owned_facts *f = &l->facts;
    const struct gcfg_list *tags = &p->config.node_tags;
    const char *uid = "";
    *f = (struct gce_owned_facts){
        .a = l->x.s.a,
        .used = map_new(NULL),
        .lbs = map_new(NULL),
        .pools = map_new(NULL),
        .nodes = node_names(l->x.s.a, p, l->x.s.call),
        .tags = str_set_make(l->x.s.a, tags->items, tags->n),
        .project = p->cloud.facts.project,
        .network_project = p->cloud.facts.network_project,
        .region = p->cloud.facts.region,
    };
    int rc =
        gce_cluster_id_get(p->cluster_id, p->cloud.host, l->x.s.call, f->a, &f->cluster_id, err);
    if (rc == ERR_OK) {
        rc = gce_kube_system_uid(p->kube_system, p->cloud.host, l->x.s.call, f->a, &uid, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    /* A placeholder of a plan is not an id. */
    f->cluster_id = str_eq(f->cluster_id, GCE_CLUSTER_ID_UNKNOWN) ? "" : f->cluster_id;
    uid = str_eq(uid, GCE_KUBE_SYSTEM_UNKNOWN) ? "" : uid;
    f->l4_hash = str_is_empty(uid) ? "" : gce_l4_cluster_hash(f->a, uid);
    f->group = str_is_empty(f->cluster_id) ? "" : gce_l4_group_name(f->a, f->cluster_id);
    struct counting counting = {.facts = f, .uid = uid};
    inventory_each_service(&tt_gce_provider, p->cloud.host, l->x.s.call, count_service, &counting);
    return ERR_OK;
}

/* ---- the lists ------------------------------------------------------------------------------- */

static void list_state(struct listing *l)
{
    if (l->x.p->state == NULL) {
        return;
    }
    json_object_object_foreach(l->x.p->state, path, o)
    {
        struct gce_link link;
        enum gce_collection c;
        if (gce_link_parse(l->x.s.a, path, &link, NULL) == ERR_OK &&
            gce_api_collection_of(link.resource, *link.region != '\0', &c)) {
            for (size_t i = 0; i < N_KINDS; i++) {
                if (kinds[i] == c) {
                    take(l, c, o);
                }
            }
        }
    }
}

static void say(const struct gce_provider *p, uint32_t severity, const char *message)
{
    p->cloud.host->report_finding(p->cloud.host->ctx, severity, "", message);
}

static int list_cloud(struct listing *l, struct err *err)
{
    struct gce_provider *p = l->x.p;
    struct arena *a = l->x.s.a;
    struct gce_read *reads = ARENA_ARRAY(a, struct gce_read, N_KINDS);
    struct gce_splitter *cutters = ARENA_ARRAY(a, struct gce_splitter, N_KINDS);
    struct sink *sinks = ARENA_ARRAY(a, struct sink, N_KINDS);
    struct http_job *jobs[N_KINDS];
    for (size_t i = 0; i < N_KINDS; i++) {
        sinks[i] = (struct sink){.l = l, .c = kinds[i]};
        gce_splitter_init(&cutters[i], take_text, &sinks[i]);
        const struct gce_call_spec spec = {
            .collection = kinds[i],
            .verb = gce_api_is_zonal(kinds[i]) ? GCE_LIST_ALL : GCE_LIST,
            .cutter = &cutters[i],
        };
        gce_read_init(&reads[i], &p->cloud.api, l->x.s.call, a, &spec);
        jobs[i] = &reads[i].job;
    }
    http_run(l->x.s.http, jobs, N_KINDS);
    int rc = ERR_OK;
    for (size_t i = 0; i < N_KINDS; i++) {
        const struct err *failed = &reads[i].job.err;
        gce_splitter_done(&cutters[i]);
        if (failed->code != ERR_OK && kinds[i] == GCE_GLOBAL_BACKENDS) {
            l->facts.in_use_elsewhere = true; /* unknown */
        } else if (failed->code == ERR_FORBIDDEN) {
            say(p, TT_LOG_WARNING,
                arena_printf(a, "not looked at: %s: %s", gce_owned_words[kinds[i]].kind,
                             failed->message));
        } else if (failed->code != ERR_OK && rc == ERR_OK) {
            rc = err_copy(err, failed);
        }
    }
    return rc;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Only what a part of ours can take away that runs here. */
static const struct tt_service *remover_of(const void *arg, const struct inventory_unit *unit)
{
    const struct listing *l = arg;
    const struct tt_service *svc = gce_owned_service(&l->facts, unit);
    if (svc == NULL) {
        return NULL;
    }
    const struct gce_case c = {.service = svc, .flags = &l->x.p->options.switches, .gone = true};
    struct gce_decision d;
    gce_decide(&c, &d);
    return d.teardown && gce_kind_is_run(c.flags, d.kind) ? svc : NULL;
}

static const char *command_of(const void *arg, const struct inventory_item *item)
{
    const struct listing *l = arg;
    return gce_owned_command(&l->facts, item);
}

static void tell(struct listing *l)
{
    const struct inventory_report r = {
        .host = l->x.p->cloud.host,
        .call = l->x.s.call,
        .words = gce_owned_words,
        .command = command_of,
        .remover = remover_of,
        .arg = l,
    };
    gce_owned_settle(&l->facts, &l->inv);
    inventory_report(&l->inv, &r);
}

int32_t gce_list_owned(void *provider, const struct tt_call *call)
{
    struct gce_provider *p = provider;
    struct listing l = {0};
    struct err err = ERR_INIT;
    gce_session_begin(&l.x, p, call, NULL);
    inventory_init(&l.inv, l.x.s.a);
    int rc = gce_session_ready(&l.x, &err);
    if (rc == ERR_OK) {
        rc = find_facts(&l, &err);
    }
    if (rc == ERR_OK && p->cloud.offline) {
        list_state(&l);
    } else if (rc == ERR_OK) {
        rc = list_cloud(&l, &err);
    }
    if (rc == ERR_OK) {
        rc = inventory_check(&l.inv, &err);
    }
    if (rc == ERR_OK) {
        tell(&l);
    } else {
        say(p, TT_LOG_ERROR, err.message);
    }
    map_free(l.facts.used);
    map_free(l.facts.lbs);
    map_free(l.facts.pools);
    gce_session_end(&l.x);
    return rc;
}
