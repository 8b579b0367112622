/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_l4_desired.c: gce.l4.ilb_desired, gce.l4.netlb_desired and gce.ilb.desired of
 * trimtab-eval: the whole cloud after the first ensure of a balancer with a backend service.
 *
 * The provider says what it should be, and puts addresses in; here members are only brought into
 * the shape of the answer: links begin with "projects/", lists whose order means
 * nothing are sorted. */
#include "tests/eval/eval_gce_l4.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/gce/config/gce_options.h"
#include "providers/gce/groups/gce_groups.h"
#include "providers/gce/model/gce_ilb_names.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

#define text_of eval_text

/* ---- shape ----------------------------------------------------------------------------------- */

const char *eval_text(struct json_object *in, const char *name)
{
    return str_nonnull(json_str(in, name));
}

const char *eval_short_link(const char *link)
{
    const char *at = strstr(str_nonnull(link), "projects/");
    return at == NULL ? str_nonnull(link) : at;
}

struct gce_strs eval_sorted(struct arena *a, struct gce_strs s)
{
    struct str_set set = gce_strs_set(a, &s);
    return gce_strs_of(a, set.items, set.n);
}

struct json_object *eval_rule(struct arena *a, const struct gce_bs_desired *d,
                              const struct gce_rule *r, const char *ip)
{
    struct gce_rule full = gce_bs_rule_for(a, d, r, ip);
    full.network = eval_short_link(full.network);
    full.subnetwork = eval_short_link(full.subnetwork);
    full.backend_service = eval_short_link(full.backend_service);
    return gce_rule_body(&full);
}

struct json_object *eval_firewall(struct arena *a, const struct gce_bs_desired *d,
                                  const struct gce_firewall *f, const char *ip)
{
    struct gce_firewall full = gce_bs_firewall_for(a, d, f, ip);
    full.network = eval_short_link(full.network);
    full.sources = eval_sorted(a, full.sources);
    full.destinations = eval_sorted(a, full.destinations);
    full.tags = eval_sorted(a, full.tags);
    if (d->legacy) { /* recorded in the order of their bytes */
        for (size_t i = 0; i < full.allowed.n; i++) {
            full.allowed.items[i].ports = eval_sorted(a, full.allowed.items[i].ports);
        }
    }
    struct json_object *o = gce_firewall_body(&full, false);
    json_add_str(o, "description", full.description); /* also when it is "" */
    return o;
}

static int by_name(const void *x, const void *y)
{
    struct json_object *const *a = x;
    struct json_object *const *b = y;
    return strcmp(text_of(*a, "name"), text_of(*b, "name"));
}

struct json_object *eval_firewalls(struct arena *a, const struct gce_bs_desired *d, const char *ip,
                                   const char *ip6)
{
    struct json_object *out = json_object_new_array();
    const struct gce_bs_side *sides[] = {&d->v4, &d->v6};
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        const struct gce_bs_side *side = sides[i];
        const char *own = side->v6 ? ip6 : ip;
        if (side->want_firewall) {
            json_object_array_add(out, eval_firewall(a, d, &side->firewall, own));
        }
        if (side->want_deny) {
            json_object_array_add(out, eval_firewall(a, d, &side->deny, own));
        }
        if (side->wanted) {
            json_object_array_add(out, eval_firewall(a, d, &side->check_firewall, own));
        }
    }
    json_object_array_sort(out, by_name);
    return out;
}

struct json_object *eval_bservice(struct arena *a, const struct gce_bs_desired *d)
{
    struct gce_bservice b = d->service;
    b.checks = gce_strs_of(a, b.checks.items, b.checks.n);
    for (size_t i = 0; i < b.checks.n; i++) {
        b.checks.items[i] = eval_short_link(b.checks.items[i]);
    }
    return gce_bservice_body(&b, NULL);
}

/* ---- what is given --------------------------------------------------------------------------- */

int eval_bs_facts(struct arena *a, struct json_object *facts, struct gce_bs_facts *ret,
                  struct err *err)
{
    struct gce_options options;
    int code = gce_options_parse(a, NULL, 0, &options, err);
    if (code != ERR_OK) {
        return code;
    }
    *ret = (struct gce_bs_facts){
        .project = text_of(facts, "project"),
        .network_project = text_of(facts, "project"),
        .region = text_of(facts, "region"),
        .projects_base = gce_projects_base(a, "https://www.googleapis.com/compute/v1/"),
        .network = text_of(facts, "network"),
        .subnetwork = text_of(facts, "subnetwork"),
        .kube_system_uid = text_of(facts, "kube_system_uid"),
        .cluster_id = text_of(facts, "clusterID"),
        .check_sources = gce_strs_of(a, options.lb_src_cidrs, options.n_lb_src_cidrs),
        .check_sources_v6_ilb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_ILB),
        .check_sources_v6_netlb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_NETLB),
    };
    return ERR_OK;
}

static struct gce_l4_flags flags_of(struct json_object *facts)
{
    bool dual = json_bool(facts, "dual_stack", false);
    bool mixed = json_bool(facts, "mixed_protocol", false);
    bool weighted = json_bool(facts, "weighted", false);
    bool deny = json_bool(facts, "deny_firewall", false);
    return (struct gce_l4_flags){
        .dual_stack_ilb = dual,
        .dual_stack_netlb = dual,
        .mixed_ilb = mixed,
        .mixed_netlb = mixed,
        .l3_default = json_bool(facts, "l3_default", false),
        .discrete_ports = json_bool(facts, "discrete_ports", false),
        .weighted_ilb = weighted,
        .weighted_netlb = weighted,
        .zonal_affinity = json_bool(facts, "zonal_affinity", false),
        .strong_affinity = json_bool(facts, "strong_affinity", false),
        .pinhole = json_bool(facts, "pinhole", false),
        .disable_firewall = json_bool(facts, "disable_firewall", false),
        .deny_firewall = deny,
        .deny_cleanup = deny,
    };
}

static void input_of(struct arena *a, const struct tt_service *svc, enum gce_kind kind,
                     struct gce_bs_input *ret)
{
    *ret = (struct gce_bs_input){
        .service = svc,
        .key = arena_printf(a, "%s/%s", str_nonnull(svc->ns), str_nonnull(svc->name)),
        .verb = TT_VERB_ENSURE,
        .kind = kind,
        .tags_known = true,
        .user_v4 = {.name = "", .ip = str_nonnull(svc->lb_ip), .tier = ""},
        .user_v6 = {.name = "", .ip = "", .tier = ""},
        .subnetwork = "",
    };
}

/* ---- L4 -------------------------------------------------------------------------------------- */

static struct json_object *l4_bservice(struct arena *a, const struct gce_bs_desired *d)
{
    struct json_object *o = eval_bservice(a, d);
    const struct gce_bservice *b = &d->service;
    json_object_object_del(o, "connectionDraining");
    json_object_object_del(o, "networkPassThroughLbTrafficPolicy");
    json_object_object_del(o, "connectionTrackingPolicy");
    json_add_int(o, "drainingTimeoutSec", b->draining_s);
    json_add_str(o, "zonalSpillover", b->spillover);
    if (b->has_tracking) {
        json_add_bool(o, "enableStrongAffinity", b->strong);
        json_add_str(o, "trackingMode", b->tracking_mode);
        json_add_int(o, "idleTimeoutSec", b->idle_s);
    }
    return o;
}

static struct json_object *annotations_of(const struct gce_bs_desired *d)
{
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < d->n_annotations; i++) {
        json_add_str(o, d->annotations[i].key, d->annotations[i].value); /* none for NULL */
    }
    return o;
}

static struct json_object *l4_answer(struct arena *a, const struct gce_bs_desired *d,
                                     const char *ip, const char *ip6)
{
    struct json_object *status = json_object_new_array();
    struct json_object *rules = json_object_new_array();
    const struct gce_bs_side *sides[] = {&d->v4, &d->v6};
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        const struct gce_bs_side *side = sides[i];
        const char *own = side->v6 ? ip6 : ip;
        for (size_t k = 0; side->wanted && k < side->n_rules; k++) {
            json_object_array_add(rules, eval_rule(a, d, &side->rules[k], own));
        }
        if (side->wanted) {
            json_push_str(status, own);
        }
    }
    json_object_array_sort(rules, by_name);
    struct json_object *o = json_object_new_object();
    json_add(o, "annotations", annotations_of(d));
    json_add(o, "status_ips", status);
    json_add(o, "forwarding_rules", rules);
    json_add(o, "firewalls", eval_firewalls(a, d, ip, ip6));
    json_add(o, "backend_service", l4_bservice(a, d));
    json_add(o, "health_check", gce_hc_body(&d->check));
    return o;
}

/* The subnetworks that exist where the recordings were made. */
static bool subnet_exists(const char *name)
{
    return *name == '\0' || str_eq(name, "sub-1") || str_eq(name, "test-subnet") ||
           str_eq(name, "another-subnet");
}

static int l4_desired(struct arena *a, struct json_object *in, enum gce_kind kind,
                      struct json_object **ret, struct err *err)
{
    struct json_object *given = json_member(in, "facts");
    const struct tt_service *svc;
    struct gce_bs_facts facts;
    struct gce_bs_input input;
    struct gce_bs_desired d;
    size_t n_tags;
    bool internal = gce_kind_is_internal(kind);
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = eval_bs_facts(a, given, &facts, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    facts.flags = flags_of(given);
    input_of(a, svc, kind, &input);
    const char **tags = eval_strs(a, given, "node_tags", &n_tags);
    input.tags = str_set_make(a, tags, n_tags);
    const char *subnet = gce_l4_subnet(svc, internal);
    bool asked = internal || gce_l4_wants_v6(svc, facts.flags.dual_stack_netlb);
    if (asked && !subnet_exists(subnet)) {
        return err_set(err, ERR_INVALID, "Subnetwork \"%s\" can't be found for project %s", subnet,
                       facts.project);
    }
    code = gce_bs_desired_make(a, &facts, &input, &d, err);
    if (code == ERR_OK) {
        *ret = l4_answer(a, &d, str_or(svc->lb_ip, text_of(given, "ipv4")), text_of(given, "ipv6"));
    }
    return code;
}

RUN(ilb_desired)
{
    return l4_desired(a, in, GCE_KIND_ILB_NEGS, ret, err);
}

RUN(netlb_desired)
{
    return l4_desired(a, in, GCE_KIND_NETLB_GROUPS, ret, err);
}

/* ---- instance groups ------------------------------------------------------------------------- */

static struct json_object *groups_answer(struct arena *a, const struct gce_groups_want *want,
                                         const char *group)
{
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < want->n; i++) {
        const struct gce_strs *nodes = &want->zones[i].nodes;
        json_add(o, arena_printf(a, "%s/%s", want->zones[i].zone, group),
                 json_strs(nodes->items, nodes->n));
    }
    return o;
}

static struct json_object *ilb_answer(struct arena *a, const struct gce_bs_desired *d,
                                      const struct gce_groups_want *groups, const char *group,
                                      const char *ip)
{
    struct json_object *service = eval_bservice(a, d);
    struct json_object *links = json_object_new_array();
    for (size_t i = 0; i < d->groups.n; i++) {
        json_push_str(links, eval_short_link(d->groups.items[i]));
    }
    if (d->groups.n > 0) {
        json_add(service, "groups", links);
    } else {
        json_object_put(links);
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "status_ip", ip);
    json_add(o, "forwarding_rule", eval_rule(a, d, &d->v4.rules[0], ip));
    json_add(o, "backend_service", service);
    json_add(o, "health_check", gce_hc_body(&d->check));
    json_add(o, "firewalls", eval_firewalls(a, d, ip, ""));
    json_add(o, "instance_groups", groups_answer(a, groups, group));
    return o;
}

int eval_ilb_desired(struct arena *a, struct json_object *in, struct json_object **ret,
                     struct err *err)
{
    struct json_object *given = json_member(in, "facts");
    const struct tt_service *svc;
    const struct tt_node *const *nodes;
    size_t n_nodes;
    size_t n_tags;
    struct gce_bs_facts facts;
    struct gce_bs_input input;
    struct gce_bs_desired d;
    struct gce_groups_want groups;
    struct gce_ilb_names names;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = eval_nodes(a, json_member(in, "nodes"), &nodes, &n_nodes, err);
    }
    if (code == ERR_OK) {
        code = eval_bs_facts(a, given, &facts, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    input_of(a, svc, GCE_KIND_ILB_GROUPS, &input);
    const char **tags = eval_strs(a, given, "nodeTags", &n_tags);
    input.tags = str_set_make(a, tags, n_tags);
    const struct gce_node_filter filter = {.default_subnet = gce_link_last(facts.subnetwork)};
    gce_groups_of(a, nodes, n_nodes, true, &filter, 1000, &groups);
    input.zones.items = ARENA_ARRAY(a, const char *, groups.n);
    for (size_t i = 0; i < groups.n; i++) {
        input.zones.items[input.zones.n++] = groups.zones[i].zone;
    }
    gce_ilb_names_make(a, svc, facts.cluster_id, &names);
    code = gce_bs_desired_make(a, &facts, &input, &d, err);
    if (code == ERR_OK) {
        *ret = ilb_answer(a, &d, &groups, names.group, str_or(svc->lb_ip, text_of(in, "ip")));
    }
    return code;
}

const struct eval_fn eval_gce_l4_desired[] = {
    {"gce.l4.ilb_desired", ilb_desired},
    {"gce.l4.netlb_desired", netlb_desired},
    {NULL, NULL},
};
