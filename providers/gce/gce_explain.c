/* SPDX-License-Identifier: Apache-2.0 */
/* gce_explain.c: which load balancer a Service gets, by which rule, and which nodes serve it
 * (explain, validate).
 *
 * For people (docs/ux.md): the answer first, then the questions in the order in which they were
 * asked (gce_decide.h writes them down itself), then nodes, packet and health
 * (gce_explain_nodes.h).  Looks as a sync would, once, and changes nothing. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_cluster_id.h"
#include "providers/gce/cache/gce_kube_system.h"
#include "providers/gce/cache/gce_network.h"
#include "providers/gce/cache/gce_slots.h"
#include "providers/gce/cache/gce_subnetwork.h"
#include "providers/gce/gce_custom_fr.h"
#include "providers/gce/gce_explain_nodes.h"
#include "providers/gce/gce_findings.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_session.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/ops/gce_members_read.h"

/* One Service's explanation. */
struct explain {
    struct lb_explain rows;
    struct gce_session *session;
    struct lb_sync *s; /* the session's */
    const struct tt_item *item;
    const struct tt_service *svc;
    struct gce_case c;
    struct gce_decision d;
    const char *uid;           /* of namespace kube-system; NULL: not known */
    struct gce_bs_facts facts; /* of find_facts() */
};

/* ---- looking --------------------------------------------------------------------------------- */

/* Names of ingress-gce's kinds hold it.  Without the right to read it the answer is shorter, not
 * absent. */
static const char *system_uid(struct explain *x)
{
    const struct gce_provider *p = x->session->p;
    if (x->uid == NULL && !p->cloud.offline &&
        gce_kube_system_uid(p->kube_system, p->cloud.host, x->s->call, x->s->a, &x->uid, NULL) !=
            ERR_OK) {
        x->uid = NULL;
    }
    return x->uid;
}

static void l4_names(struct explain *x, const char *uid, struct gce_l4_names *ret)
{
    gce_l4_names_make(x->s->a, uid, x->svc->ns, x->svc->name, str_nonnull(x->svc->uid), ret);
}

static enum gce_found found_of(const void *seen)
{
    return seen == NULL ? GCE_FOUND_ABSENT : GCE_FOUND_PRESENT;
}

static int look(struct explain *x, unsigned needs, struct err *err)
{
    const char *rule = svc_default_lb_name(x->s->a, str_nonnull(x->svc->uid));
    const struct gce_switches *f = &x->session->p->options.switches;
    bool l4 = (needs & GCE_NEEDS_RULE) != 0 && f->run_ilb && x->d.is != GCE_KIND_ILB_NEGS;
    const char *uid = (needs & GCE_NEEDS_BACKEND) != 0 || l4 ? system_uid(x) : NULL;
    struct gce_l4_names names = {0};
    struct gce_slots slots;
    gce_slots_init(&slots, x->s->a);
    slots.verb = TT_VERB_DELETE; /* a rule without an address is shown as it is */
    if ((needs & GCE_NEEDS_RULE) != 0) {
        gce_slots_add(&slots, true, GCE_RULES, NULL, rule);
    }
    if (uid != NULL && l4) {
        gce_l4_rule_slots(&slots, uid, x->svc);
    }
    if (uid != NULL && (needs & GCE_NEEDS_BACKEND) != 0) {
        l4_names(x, uid, &names);
        gce_slots_add(&slots, true, GCE_BACKENDS, NULL, names.backend);
    }
    int rc = gce_slots_look(&slots, x->s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if ((needs & GCE_NEEDS_RULE) != 0) {
        const struct gce_rule *r = gce_slots_rule(&slots, rule);
        x->c.rule_found = found_of(r);
        x->c.rule = r != NULL ? *r : x->c.rule;
        x->c.has_l4_rule = l4 && uid != NULL && gce_l4_rule_stands(&slots, uid, x->svc);
    }
    if ((needs & GCE_NEEDS_BACKEND) != 0) {
        const struct gce_bservice *b =
            uid == NULL ? NULL : gce_slots_bservice(&slots, names.backend);
        x->c.backend_found = found_of(b);
        x->c.backend_scheme = b != NULL ? b->scheme : "";
        x->c.backend_group = b != NULL && b->n_backends > 0 ? b->backends[0].group : "";
    }
    return ERR_OK;
}

static int decide(struct explain *x, struct err *err)
{
    int rc = ERR_OK;
    gce_decide(&x->c, &x->d);
    while (rc == ERR_OK && x->d.needs != 0) {
        rc = look(x, x->d.needs, err);
        gce_decide(&x->c, &x->d);
    }
    return rc;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* ERR_INVALID with the words that a sync would have, for what the Service alone can say. */
static int check_kind(struct arena *a, const struct gce_provider *p, const struct tt_service *svc,
                      enum gce_kind kind, struct err *err)
{
    if (kind == GCE_KIND_TARGET_POOL) {
        struct gce_tp_outcome outcome = {0};
        const struct gce_tp_input in = {
            .service = svc, .key = "", .cluster_id = "", .outcome = &outcome};
        struct gce_tp_desired d;
        return gce_tp_desired_make(a, &p->tp_facts, &in, &d, err);
    }
    if (kind == GCE_KIND_NEGS_ONLY) {
        return ERR_OK;
    }
    struct gce_bs_facts f = p->bs_facts;
    f.kube_system_uid = "-"; /* names do not matter here, but without ids there are none */
    f.cluster_id = "-";
    struct gce_bs_outcome outcome = {0};
    const struct gce_bs_input in = {.service = svc,
                                    .key = svc_key(a, svc),
                                    .verb = TT_VERB_ENSURE,
                                    .kind = kind,
                                    .subnetwork = "",
                                    .user_v4 = {.name = "", .ip = "", .tier = ""},
                                    .user_v6 = {.name = "", .ip = "", .tier = ""},
                                    .outcome = &outcome};
    struct gce_bs_desired d;
    return gce_bs_desired_make(a, &f, &in, &d, err);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *zone_of(struct arena *a, const struct gce_explained *e, size_t node)
{
    struct gce_node_verdict v;
    gce_node_judge(a, &e->filter, e->nodes[node], &v);
    return str_nonnull(v.zone);
}

/* Zones in which a node is: there its NEGs are looked for. */
static struct gce_strs all_zones(struct arena *a, const struct gce_explained *e)
{
    const char **zones = ARENA_ARRAY(a, const char *, e->n_nodes);
    size_t n = 0;
    for (size_t i = 0; i < e->n_nodes; i++) {
        const char *zone = zone_of(a, e, i);
        if (*zone != '\0') {
            zones[n++] = zone;
        }
    }
    struct str_set set = str_set_make(a, zones, n);
    return gce_strs_of(a, set.items, set.n);
}

/* Present members of the NEGs, because members stay. */
static void read_members(struct explain *x, struct gce_explained *e)
{
    struct arena *a = x->s->a;
    const char *uid = system_uid(x);
    struct gce_l4_names names;
    if (uid == NULL || x->session->p->cloud.offline) {
        e->current_unknown = !x->session->p->cloud.offline;
        return;
    }
    l4_names(x, uid, &names);
    const struct gce_strs zones = all_zones(a, e);
    struct gce_members_list *lists = ARENA_ARRAY(a, struct gce_members_list, zones.n);
    struct gce_neg_places *places = ARENA_NEW(a, struct gce_neg_places);
    for (size_t i = 0; i < zones.n; i++) {
        lists[i] =
            (struct gce_members_list){.c = GCE_NEGS, .zone = zones.items[i], .name = names.backend};
    }
    gce_members_read(x->s, lists, zones.n);
    places->items = ARENA_ARRAY(a, struct gce_neg_place, zones.n);
    for (size_t i = 0; i < zones.n; i++) {
        e->current_unknown = e->current_unknown || lists[i].err.code != ERR_OK;
        if (!lists[i].absent && lists[i].err.code == ERR_OK) {
            places->items[places->n++] =
                (struct gce_neg_place){.zone = lists[i].zone,
                                       .subnet = gce_link_last(e->subnetwork),
                                       .endpoints = lists[i].items,
                                       .n = lists[i].n};
        }
    }
    e->current = places;
}

/* Instances in the cluster's groups where no node takes part: the last ones stay
 * (gce_groups_rules.c).  0: nodes take part, or it is not known. */
static size_t group_members(struct explain *x, const struct gce_explained *e)
{
    const struct gce_provider *p = x->session->p;
    struct arena *a = x->s->a;
    struct gce_explained all = *e;
    all.filter.needs_pod_cidr = false; /* of NEGs alone */
    const struct gce_strs zones = all_zones(a, &all);
    struct gce_members_list *lists = ARENA_ARRAY(a, struct gce_members_list, zones.n);
    const char *id = NULL;
    size_t n = 0;
    if (p->cloud.offline || gce_explain_group_nodes(a, e) > 0 ||
        gce_cluster_id_get(p->cluster_id, p->cloud.host, x->s->call, a, &id, NULL) != ERR_OK ||
        str_eq(id, GCE_CLUSTER_ID_UNKNOWN)) {
        return 0;
    }
    for (size_t i = 0; i < zones.n; i++) {
        lists[i] = (struct gce_members_list){
            .c = GCE_GROUPS, .zone = zones.items[i], .name = gce_l4_group_name(a, id)};
    }
    gce_members_read(x->s, lists, zones.n);
    for (size_t i = 0; i < zones.n; i++) {
        n += lists[i].err.code == ERR_OK ? lists[i].n : 0;
    }
    return n;
}

/* The address that it has: of its rule, else of its status. */
static const char *address_of(const struct explain *x)
{
    const struct tt_service *svc = x->svc;
    bool is_rule = x->c.rule_found == GCE_FOUND_PRESENT &&
                   str_eq(x->c.rule.scheme, "INTERNAL") == gce_kind_is_internal(x->d.kind);
    if (is_rule) {
        return x->c.rule.ip;
    }
    return svc->n_ingress > 0 ? str_nonnull(svc->ingress[0].ip) : "";
}

/* The cluster's network, or that which the Service names.  ERR_INVALID: it cannot be had. */
static int find_facts(struct explain *x, struct err *err)
{
    const struct gce_provider *p = x->session->p;
    const struct gce_network_reads r = {
        .texts = p->kube_texts, .host = p->cloud.host, .call = x->s->call, .a = x->s->a};
    x->facts = p->bs_facts;
    if (str_is_empty(x->facts.subnetwork)) {
        x->facts.subnetwork = gce_subnet_search_known(p->subnet_search, x->s->a);
    }
    bool negs = gce_kind_has_negs(x->d.kind) &&
                (x->d.kind != GCE_KIND_NEGS_ONLY || p->options.switches.standalone_negs);
    return negs ? gce_bs_find_network(&r, gce_network_of_service(x->svc), &x->facts, err) : ERR_OK;
}

static void nodes(struct explain *x)
{
    const struct gce_provider *p = x->session->p;
    struct arena *a = x->s->a;
    struct gce_explained e = {
        .service = x->svc,
        .kind = x->d.kind,
        .ip = address_of(x),
        .nodes = x->s->batch->nodes,
        .n_nodes = x->s->batch->n_nodes,
        .slices = x->item->slices,
        .n_slices = x->item->n_slices,
        .has_slices = x->item->has_slices != 0,
        .project = p->cloud.facts.project,
        .region = p->cloud.facts.region,
        .subnetwork = x->facts.subnetwork,
        .network = x->facts.network_name,
        .filter = gce_bs_node_filter(&x->facts),
        .flags = p->bs_facts.flags,
        .legacy_groups = gce_legacy_is_on(&p->options.switches, NULL),
        .max_group = p->bs_facts.max_group_size,
    };
    if (gce_kind_has_negs(e.kind)) {
        read_members(x, &e);
    }
    if (e.kind == GCE_KIND_TARGET_POOL) {
        struct gce_members m;
        gce_members_of(a, e.nodes, e.n_nodes, e.project, e.region, &m);
        e.n_left = m.n_ids == 0 ? gce_session_pool_size(x->session, x->svc) : 0;
    } else if (!gce_kind_has_negs(e.kind)) {
        e.n_left = group_members(x, &e);
    }
    gce_explain_nodes(&x->rows, a, &e);
}

/* ---- NEGs alone ------------------------------------------------------------------------------ */

/* The result of the rules that it names, as in a sync. */
static const char *custom_rules(struct explain *x)
{
    const struct gce_provider *p = x->session->p;
    struct arena *a = x->s->a;
    const char *uid = system_uid(x);
    struct gce_l4_names names;
    struct gce_custom_refs refs;
    struct gce_custom_seen *seen = NULL;
    struct gce_custom_verdict v;
    gce_custom_refs_parse(a, svc_annotation(x->svc, GCE_ANN_CUSTOM_RULES), p->cloud.facts.project,
                          p->cloud.facts.region, &refs);
    if (refs.n > 0 && (p->cloud.offline || uid == NULL)) {
        return "that of the forwarding rules that it names, which were not read";
    }
    l4_names(x, str_nonnull(uid), &names);
    gce_custom_fr_look(x->s, &refs, &seen);
    gce_custom_judge(a, x->svc, &refs, seen, names.backend, &v);
    return arena_printf(a, "%s, %s: %s%s%s", v.condition.status, v.condition.reason,
                        v.condition.message, v.event != NULL && v.asks ? ". " : "",
                        v.event != NULL && v.asks ? v.event : "");
}

static void note(struct explain *x, const char *heading, const char *text)
{
    const struct tt_explain_row row =
        LB_EXPLAIN_ROW(TT_EXPLAIN_NOTE, .subject = heading, .value = text);
    lb_explain_add(&x->rows, &row);
}

/* Of kinds with a backend service that gce_l4_desired.c gives the locality policy. */
static void weights(struct explain *x)
{
    bool unsupported = false;
    bool internal = gce_kind_is_internal(x->d.kind);
    const char *locality =
        gce_kind_part(x->d.kind) == GCE_PART_L4 && gce_kind_has_service(x->d.kind)
            ? gce_l4_locality(x->svc, internal, &x->session->p->options.l4, &unsupported)
            : "";
    if (str_has_prefix(str_nonnull(locality), "WEIGHTED")) {
        lb_explain_weighted(&x->rows);
    }
}

static void negs_alone(struct explain *x)
{
    const struct gce_switches *f = &x->session->p->options.switches;
    if (f->standalone_negs) {
        nodes(x);
    } else {
        note(x, "Nodes",
             "another program makes the NEGs (--enable-l4-standalone-negs is off here)");
    }
    note(x, "Status",
         f->standalone_status ? custom_rules(x)
                              : "another program's (--run-l4-standalone-neg-controller is off)");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void say(struct explain *x)
{
    const struct lb_sync *s = x->s;
    const struct gce_provider *p = x->session->p;
    lb_explain_init(&x->rows, s->a);
    gce_decide_explain(&x->rows, &x->c, &x->d);
    bool builds = x->d.kind != GCE_KIND_NONE && !x->d.teardown;
    struct err refused = ERR_INIT;
    bool fine = builds && check_kind(s->a, p, x->svc, x->d.kind, &refused) == ERR_OK &&
                find_facts(x, &refused) == ERR_OK;
    const char *kind = gce_decide_kind(x->d.kind != GCE_KIND_NONE ? x->d.kind : x->d.is);
    if (builds && !fine) {
        lb_explain_answer(&x->rows, "refused", kind,
                          arena_printf(s->a, "is refused: %s.", refused.message));
    } else {
        lb_explain_answer(&x->rows, gce_decide_verdict(&x->c, &x->d), kind,
                          gce_decide_answer(s->a, &x->c, &x->d));
    }
    if (fine && x->facts.network_name != NULL) {
        lb_explain_decision(&x->rows, "network of spec.selector", x->facts.network_name,
                            arena_printf(s->a, "VPC %s, subnetwork %s",
                                         gce_link_last(x->facts.network),
                                         gce_link_last(x->facts.subnetwork)));
    }
    if (fine && x->d.kind == GCE_KIND_NEGS_ONLY) {
        negs_alone(x);
    } else if (fine) {
        nodes(x);
        weights(x);
        if (svc_only_local_traffic(x->svc)) {
            lb_explain_all_down(&x->rows, true); /* a last resort of pass-through balancers */
        }
    }
    lb_explain_send(&x->rows, p->cloud.host, x->item->result, svc_key(s->a, x->svc));
}

static int explain_one(struct gce_session *session, const struct tt_item *item, struct err *err)
{
    struct explain x = {.session = session, .s = &session->s, .item = item, .svc = item->service};
    x.c = (struct gce_case){
        .service = x.svc, .previous = item->previous, .flags = &session->p->options.switches};
    int rc = gce_session_ready(session, err);
    if (rc == ERR_OK) {
        rc = decide(&x, err);
    }
    if (rc == ERR_OK) {
        say(&x);
    }
    return rc;
}

int32_t gce_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct gce_provider *p = provider;
    struct gce_session session;
    int32_t first = TT_OK;
    gce_session_begin(&session, p, call, batch);
    for (uint32_t i = 0; i < batch->n_items; i++) {
        struct err err = ERR_INIT;
        const struct tt_item *item = batch->items[i];
        if (explain_one(&session, item, &err) != ERR_OK) {
            p->cloud.host->result_fail(item->result, err.code, err.message, err.retry_after_ms);
            first = first == TT_OK ? err.code : first;
        }
    }
    gce_session_end(&session);
    return first;
}

/* Pure: what can be said of a Service without looking at anything else. */
int32_t gce_validate(void *provider, const struct tt_item *item)
{
    const struct gce_provider *p = provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct gce_case c = {.service = item->service,
                               .previous = item->previous,
                               .flags = &p->options.switches,
                               .gone = item->verb == TT_VERB_DELETE};
    struct gce_decision d;
    struct err err = ERR_INIT;
    gce_decide(&c, &d);
    if (d.kind == GCE_KIND_NONE) {
        p->cloud.host->result_fail(item->result, TT_IMPLEMENTED_ELSEWHERE,
                                   "another controller serves this kind of load balancer", 0);
        return TT_IMPLEMENTED_ELSEWHERE;
    }
    struct gce_name_scope scope = gce_provider_name_scope(p);
    scope.target_pool = d.kind == GCE_KIND_TARGET_POOL;
    if (!d.teardown &&
        (gce_svc_type_check(a, item->service, p->options.lenient_type, &err) != ERR_OK ||
         gce_findings_type_key_check(a, item->service, p->options.lenient_type, &err) != ERR_OK ||
         gce_names_check(a, &scope, item->service, item->previous, &err) != ERR_OK ||
         check_kind(a, p, item->service, d.kind, &err) != ERR_OK)) {
        p->cloud.host->result_fail(item->result, err.code, err.message, 0);
        return err.code;
    }
    return TT_OK;
}
