/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_sync.c: see gce_bs_sync.h: the part before carrying out. */
#include "tests/golden/gce_bs_sync.h"
#include "tests/support/objects.h"

#include "common/lb/service_rules.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/model/gce_links.h"

#include <stdlib.h>
#include <string.h>

#define BASE "https://compute.googleapis.com/compute/v1/projects/"

static const char *const check_sources[] = {"130.211.0.0/22", "35.191.0.0/16", "209.85.152.0/22",
                                            "209.85.204.0/22"};
static const char *const sources_v6_ilb[] = {"2600:2d00:1:b029::/64"};
static const char *const sources_v6_netlb[] = {"2600:1901:8001::/48"};

/* The annotation of a node that is in network blue, too. */
static const char *in_blue(struct arena *a, int i)
{
    return arena_printf(a,
                        ",\"annotations\":{\"networking.gke.io/north-interfaces\":\"[{"
                        "\\\"network\\\":\\\"blue\\\",\\\"ipAddress\\\":\\\"172.16.0.%d\\\"}]\"}",
                        i);
}

struct json_object *gce_bs_sync_nodes(struct arena *a)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct json_object *list = NULL;
    for (int i = 0; i < 6; i++) {
        char zone = (char)('a' + i % 3);
        str_appendf(&b,
                    "%s{\"metadata\":{\"name\":\"node-%d\",\"labels\":{"
                    "\"topology.kubernetes.io/zone\":\"us-central1-%c\"}%s},\"spec\":{\"podCIDR\":"
                    "\"10.4.%d.0/24\",\"providerID\":\"gce://p1/us-central1-%c/node-%d\"},"
                    "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
                    "\"10.128.1.%d\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                    i == 0 ? "[" : ",", i, zone, i < 4 ? in_blue(a, i) : "", i, zone, i, i);
    }
    str_append(&b, "]");
    int rc = json_parse_arena(a, str_buf_text(&b), b.len, NULL, &list, NULL);
    return rc == ERR_OK ? list : NULL;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static struct gce_l4_flags flags_of(struct json_object *o)
{
    struct gce_l4_flags f = {.pinhole = true, .needs_pod_cidr = true};
    const struct {
        const char *name;
        bool *flag;
    } rows[] = {
        {"dual_stack_ilb", &f.dual_stack_ilb},
        {"dual_stack_netlb", &f.dual_stack_netlb},
        {"mixed_ilb", &f.mixed_ilb},
        {"mixed_netlb", &f.mixed_netlb},
        {"l3_default", &f.l3_default},
        {"discrete_ports", &f.discrete_ports},
        {"weighted_ilb", &f.weighted_ilb},
        {"weighted_netlb", &f.weighted_netlb},
        {"zonal_affinity", &f.zonal_affinity},
        {"strong_affinity", &f.strong_affinity},
        {"pinhole", &f.pinhole},
        {"disable_firewall", &f.disable_firewall},
        {"deny_firewall", &f.deny_firewall},
        {"deny_cleanup", &f.deny_cleanup},
        {"logging", &f.logging},
        {"byo_ipv6", &f.byo_ipv6},
        {"neg_local_draining", &f.neg_local_draining},
        {"empty_family_opens", &f.empty_family_opens},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        *rows[i].flag = json_bool(o, rows[i].name, *rows[i].flag);
    }
    return f;
}

static struct gce_bs_facts facts_of(struct gce_bs_sync *s)
{
    struct arena *a = s->a;
    struct json_object *o = s->facts;
    const char *project = str_or(json_str(o, "project"), "p1");
    const char *network_project = str_or(json_str(o, "network_project"), project);
    bool legacy_network = json_bool(o, "legacy_network", false);
    const char *network = str_or(json_str(o, "network"), "default");
    return (struct gce_bs_facts){
        .project = project,
        .network_project = network_project,
        .region = "us-central1",
        .projects_base = BASE,
        .network = arena_printf(a, BASE "%s/global/networks/%s", network_project, network),
        .subnetwork = legacy_network
                          ? ""
                          : arena_printf(a, BASE "%s/regions/us-central1/subnetworks/default",
                                         network_project),
        .kube_system_uid = str_or(json_str(o, "kube_system_uid"), "kubesystem-uid1"),
        .cluster_id = str_or(json_str(o, "cluster_id"), "0123456789abcdef"),
        .check_sources = gce_strs_of(a, check_sources, ARRAY_LEN(check_sources)),
        .check_sources_v6_ilb = gce_strs_of(a, sources_v6_ilb, 1),
        .check_sources_v6_netlb = gce_strs_of(a, sources_v6_netlb, 1),
        .on_xpn = !str_eq(project, network_project),
        .repair_adopted = json_bool(o, "repair_adopted", false),
        .hold_first = json_bool(o, "hold_first", false),
        .max_group_size = 1000,
        .flags = flags_of(json_member(o, "flags")),
    };
}

/* Of a Service of another network. */
static void put_network(struct gce_bs_sync *s, struct gce_bs_facts *f)
{
    const char *name = json_str(s->facts, "network_name");
    if (name != NULL) {
        f->network_name = name;
        f->home_subnetwork = f->subnetwork;
        f->network = arena_printf(s->a, BASE "%s/global/networks/%s-vpc", f->network_project, name);
        f->subnetwork = arena_printf(s->a, BASE "%s/regions/us-central1/subnetworks/%s-sub",
                                     f->network_project, name);
    }
}

static enum gce_kind kind_of(struct json_object *facts)
{
    static const struct {
        const char *word;
        enum gce_kind kind;
    } rows[] = {{"ilb-groups", GCE_KIND_ILB_GROUPS},
                {"ilb-negs", GCE_KIND_ILB_NEGS},
                {"netlb-groups", GCE_KIND_NETLB_GROUPS},
                {"netlb-negs", GCE_KIND_NETLB_NEGS},
                {"negs-only", GCE_KIND_NEGS_ONLY}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(json_str(facts, "kind"), rows[i].word)) {
            return rows[i].kind;
        }
    }
    return GCE_KIND_NONE;
}

static struct gce_l4_log *log_of(struct arena *a, struct json_object *o)
{
    if (o == NULL) {
        return NULL;
    }
    struct gce_l4_log *log = ARENA_NEW(a, struct gce_l4_log);
    *log = (struct gce_l4_log){.enable = json_bool(o, "enable", false),
                               .rate = 1.0,
                               .mode = str_or(json_str(o, "mode"), "EXCLUDE_ALL_OPTIONAL")};
    return log;
}

static struct str_set tags_of(struct arena *a, struct json_object *o)
{
    struct json_object *list = json_member(o, "node_tags");
    size_t n = list == NULL ? 1 : json_len(list);
    const char **tags = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        tags[i] =
            list == NULL ? "node" : json_object_get_string(json_object_array_get_idx(list, i));
    }
    return str_set_make(a, tags, n);
}

static uint32_t verb_of(struct json_object *facts)
{
    const char *verb = str_or(json_str(facts, "verb"), "ensure");
    return str_eq(verb, "delete")   ? TT_VERB_DELETE
           : str_eq(verb, "update") ? TT_VERB_UPDATE
                                    : TT_VERB_ENSURE;
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *name_of_neg(struct gce_bs_sync *s, const struct gce_bs_facts *f,
                               const struct tt_service *svc)
{
    struct gce_l4_names n;
    gce_l4_names_make(s->a, f->kube_system_uid, svc->ns, svc->name, svc->uid, &n);
    return n.backend;
}

static int by_instance(const void *x, const void *y)
{
    const struct gce_endpoint *a = x;
    const struct gce_endpoint *b = y;
    return strcmp(a->instance, b->instance);
}

static struct gce_endpoint *endpoints_of(struct gce_bs_sync *s, const char *zone, size_t *ret_n)
{
    struct json_object *list = json_member(s->model->members, zone);
    struct gce_endpoint *out = ARENA_ARRAY(s->a, struct gce_endpoint, json_len(list));
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *e = json_object_array_get_idx(list, i);
        out[i] = (struct gce_endpoint){
            .instance = arena_strdup(s->a, json_str(e, "instance")),
            .ip = arena_strdup(s->a, str_nonnull(json_str(e, "ipAddress"))),
            .ipv6 = arena_strdup(s->a, str_nonnull(json_str(e, "ipv6Address")))};
    }
    *ret_n = json_len(list);
    qsort(out, *ret_n, sizeof *out, by_instance);
    return out;
}

static struct gce_neg_places current_of(struct gce_bs_sync *s, const struct gce_bs_facts *f)
{
    size_t n = (size_t)json_object_object_length(s->model->members);
    struct gce_neg_places out = {.items = ARENA_ARRAY(s->a, struct gce_neg_place, n)};
    json_object_object_foreach(s->model->members, zone, list)
    {
        struct gce_neg_place *p = &out.items[out.n++];
        (void)list;
        *p = (struct gce_neg_place){.zone = arena_strdup(s->a, zone),
                                    .subnet = gce_link_last(f->subnetwork)};
        p->endpoints = endpoints_of(s, zone, &p->n);
    }
    return out;
}

/* A pod on every node, when the case names no slices. */
static struct json_object *default_slices(struct gce_bs_sync *s)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct json_object *list = NULL;
    str_appendf(&b, "[{\"metadata\":{\"name\":\"one\",\"namespace\":\"demo\",\"labels\":{"
                    "\"kubernetes.io/service-name\":\"web\"}},\"addressType\":\"IPv4\","
                    "\"endpoints\":[");
    for (size_t i = 0; i < json_len(s->nodes); i++) {
        struct json_object *node = json_object_array_get_idx(s->nodes, i);
        str_appendf(&b,
                    "%s{\"addresses\":[\"10.4.%zu.1\"],\"conditions\":{\"ready\":true},"
                    "\"nodeName\":\"%s\",\"targetRef\":{\"kind\":\"Pod\",\"name\":\"web-%zu\"}}",
                    i > 0 ? "," : "", i, json_str(json_member(node, "metadata"), "name"), i);
    }
    str_append(&b, "]}]");
    int rc = json_parse_arena(s->a, str_buf_text(&b), b.len, NULL, &list, NULL);
    return rc == ERR_OK ? list : NULL;
}

static const struct tt_slice **slices_of(struct gce_bs_sync *s, size_t *ret_n)
{
    struct json_object *given = json_member(s->facts, "slices");
    return test_slices(s->a, given != NULL ? given : default_slices(s), ret_n);
}

static struct gce_node_filter filter_of(const struct gce_bs_facts *f)
{
    return (struct gce_node_filter){.mode = str_is_empty(f->subnetwork) ? GCE_NODES_LEGACY
                                                                        : GCE_NODES_DEFAULT_SUBNET,
                                    .default_subnet = "default",
                                    .needs_pod_cidr = f->flags.needs_pod_cidr};
}

static int think_members(struct gce_bs_sync *s, const struct gce_bs_facts *f,
                         struct gce_bs_input *in, struct gce_neg_members *ret, struct err *err)
{
    size_t n_nodes = 0;
    size_t n_slices = 0;
    const struct tt_node **nodes = test_nodes(s->a, s->nodes, &n_nodes);
    const struct tt_slice **slices = slices_of(s, &n_slices);
    struct gce_neg_places current = current_of(s, f);
    const struct gce_neg_wish wish = {.ns = in->service->ns,
                                      .name = in->service->name,
                                      .local = svc_only_local_traffic(in->service),
                                      .internal = gce_kind_is_internal(in->kind),
                                      .filter = filter_of(f),
                                      .subnetwork = f->subnetwork,
                                      .network = f->network_name,
                                      .nodes = nodes,
                                      .n_nodes = n_nodes,
                                      .slices = slices,
                                      .n_slices = n_slices};
    int rc = gce_neg_membership(s->a, &wish, &current, ret, err);
    in->zones = ret->zones;
    return rc;
}

static void think_groups(struct gce_bs_sync *s, struct gce_bs_input *in)
{
    size_t n = 0;
    const struct tt_node **nodes = test_nodes(s->a, s->nodes, &n);
    const char **zones = ARENA_ARRAY(s->a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        struct gce_instance_id id;
        zones[i] = gce_instance_from_provider_id(s->a, nodes[i]->provider_id, &id, NULL) == ERR_OK
                       ? id.zone
                       : "";
    }
    struct str_set set = str_set_make(s->a, zones, n);
    in->zones = gce_strs_of(s->a, set.items, set.n);
}

/* Zones that have a NEG or shall have one. */
static struct str_set zones_of_negs(struct gce_bs_sync *s, const struct gce_bs_input *in)
{
    size_t n = in->zones.n;
    const char **zones =
        ARENA_ARRAY(s->a, const char *, n + (size_t)json_object_object_length(s->model->resources));
    for (size_t i = 0; i < n; i++) {
        zones[i] = in->zones.items[i];
    }
    json_object_object_foreach(s->model->resources, path, o)
    {
        (void)o;
        if (str_has_prefix(path, "zones/") && strstr(path, "/networkEndpointGroups/") != NULL) {
            const char *zone = path + strlen("zones/");
            zones[n++] = arena_strndup(s->a, zone, strcspn(zone, "/"));
        }
    }
    return str_set_make(s->a, zones, n);
}

static bool is_linked(struct gce_bs_sync *s, const char *name, const char *zone)
{
    struct json_object *service = gce_model_get(s->model, GCE_BACKENDS, NULL, name);
    struct json_object *backends = json_member(service, "backends");
    const char *part = arena_printf(s->a, "/zones/%s/", zone);
    for (size_t i = 0; i < json_len(backends); i++) {
        const char *link = json_str(json_object_array_get_idx(backends, i), "group");
        if (strstr(link, part) != NULL) {
            return true;
        }
    }
    return false;
}

static int plan_of_negs(struct gce_bs_sync *s, const struct gce_bs_facts *f,
                        const struct gce_bs_input *in, const struct gce_neg_members *members,
                        struct gce_neg_plan *ret, struct err *err)
{
    struct str_set zones = zones_of_negs(s, in);
    struct str_set wanted = str_set_make(s->a, in->zones.items, in->zones.n);
    const char *name = name_of_neg(s, f, in->service);
    *ret = (struct gce_neg_plan){.items = ARENA_ARRAY(s->a, struct gce_neg_one, zones.n),
                                 .description = gce_neg_describe(
                                     s->a, f->kube_system_uid, in->service->ns, in->service->name),
                                 .network = f->network,
                                 .subnetwork = f->subnetwork,
                                 .local = svc_only_local_traffic(in->service),
                                 .first_op = -1,
                                 .last_op = -1};
    for (size_t i = 0; i < zones.n; i++) {
        struct gce_neg_one *one = &ret->items[ret->n++];
        struct json_object *o = gce_model_get(s->model, GCE_NEGS, zones.items[i], name);
        const void *as = NULL;
        if (o != NULL && gce_slot_decode(s->a, GCE_NEGS, o, &as, err) != ERR_OK) {
            return err->code;
        }
        *one = (struct gce_neg_one){.zone = zones.items[i],
                                    .name = name,
                                    .seen = as,
                                    .wanted = str_set_has(&wanted, zones.items[i])};
        one->foreign = one->seen != NULL &&
                       gce_neg_description_judge(s->a, ret->description, one->seen->description) !=
                           GCE_NEG_MATCHES;
        one->linked = is_linked(s, name, one->zone);
        one->is = endpoints_of(s, one->zone, &one->n_is);
        for (size_t p = 0; p < members->places.n; p++) {
            if (str_eq(members->places.items[p].zone, one->zone)) {
                one->want = members->places.items[p].endpoints;
                one->n_want = members->places.items[p].n;
            }
        }
    }
    return ERR_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void put_tree(void *o)
{
    json_object_put(o);
}

static int look(struct gce_bs_sync *s, struct err *err)
{
    for (size_t i = 0; i < s->slots.n; i++) {
        struct gce_slot *slot = &s->slots.items[i];
        struct json_object *o = gce_model_get(s->model, slot->c, slot->zone, slot->name);
        slot->known = o == NULL ? GCE_ABSENT : GCE_PRESENT;
        if (o == NULL) {
            continue;
        }
        struct json_object *copy = json_copy(o);
        arena_defer(s->a, put_tree, copy);
        if (gce_slot_decode(s->a, slot->c, copy, &slot->as, err) != ERR_OK) {
            return err->code;
        }
    }
    return ERR_OK;
}

static void see_addresses(struct gce_bs_sync *s, struct gce_bs_input *in)
{
    struct gce_strs names = gce_l4_address_names(s->a, in->service);
    const struct gce_address **found = ARENA_ARRAY(s->a, const struct gce_address *, names.n);
    size_t n = 0;
    for (size_t i = 0; i < names.n; i++) {
        struct json_object *o = gce_model_get(s->model, GCE_ADDRESSES, NULL, names.items[i]);
        const void *as = NULL;
        if (o != NULL && gce_slot_decode(s->a, GCE_ADDRESSES, o, &as, NULL) == ERR_OK) {
            found[n++] = as;
        }
    }
    gce_l4_user_address(s->a, in->service, found, n, false, &in->user_v4, NULL);
    gce_l4_user_address(s->a, in->service, found, n, true, &in->user_v6, NULL);
}

static void see_other_scheme(struct gce_bs_sync *s, const struct gce_bs_facts *f,
                             struct gce_bs_input *in)
{
    struct gce_l4_names n;
    bool internal = gce_kind_is_internal(in->kind);
    gce_l4_names_make(s->a, f->kube_system_uid, in->service->ns, in->service->name,
                      in->service->uid, &n);
    in->other_scheme_has_check =
        gce_model_get(s->model, internal ? GCE_REGION_HCS : GCE_HCS, NULL, n.shared_check) != NULL;
}

/* ---- planning -------------------------------------------------------------------------------- */

/* As gce_bs_named_reserved() finds them in the snapshot. */
static void see_reserved(struct gce_bs_sync *s, const struct gce_bs_desired *d,
                         struct gce_bs_input *in)
{
    size_t n = 0;
    const char **ips =
        ARENA_ARRAY(s->a, const char *, (size_t)json_object_object_length(s->model->resources) + 1);
    json_object_object_foreach(s->model->resources, path, o)
    {
        const char *name = str_nonnull(json_str(o, "name"));
        bool held =
            str_eq(name, d->v4.address_name) || str_eq(name, str_nonnull(d->v6.address_name));
        if (strstr(path, "/addresses/") != NULL && !held) {
            ips[n++] = str_nonnull(json_str(o, "address"));
        }
    }
    in->reserved_ips = str_set_make(s->a, ips, n);
}

static int plan_verb(struct gce_bs_sync *s, const struct gce_bs_facts *f, struct gce_bs_input *in,
                     const struct gce_neg_plan *negs, struct err *err)
{
    struct gce_bs_desired *d = ARENA_NEW(s->a, struct gce_bs_desired);
    bool ensure = in->verb == TT_VERB_ENSURE;
    bool desires = ensure && gce_kind_has_service(in->kind);
    int rc = desires ? gce_bs_desired_make(s->a, f, in, d, err) : ERR_OK;
    if (rc != ERR_OK) {
        return rc;
    }
    gce_slots_init(&s->slots, s->a);
    gce_bs_slots(&s->slots, f, in, desires ? d : NULL);
    rc = look(s, err);
    if (desires) {
        see_reserved(s, d, in);
    }
    if (rc == ERR_OK && ensure) {
        rc = gce_bs_plan_ensure(&s->plan, f, in, d, &s->slots, negs, err);
    } else if (rc == ERR_OK && in->verb == TT_VERB_UPDATE) {
        rc = gce_bs_plan_update(&s->plan, f, in, &s->slots, negs, err);
    } else if (rc == ERR_OK) {
        rc = gce_bs_plan_delete(&s->plan, f, in, &s->slots, negs, err);
    }
    return rc == ERR_OK ? lb_plan_seal(&s->plan, err) : rc;
}

int gce_bs_sync_plan(struct gce_bs_sync *s, struct err *err)
{
    struct gce_bs_facts *f = ARENA_NEW(s->a, struct gce_bs_facts);
    struct gce_bs_input *in = ARENA_NEW(s->a, struct gce_bs_input);
    struct gce_neg_plan *negs = ARENA_NEW(s->a, struct gce_neg_plan);
    struct gce_neg_members members = {0};
    const struct tt_service *svc = test_service(s->a, s->service);
    const char *subnet = json_str(s->facts, "subnetwork");
    *f = facts_of(s);
    put_network(s, f);
    *in = (struct gce_bs_input){
        .service = svc,
        .key = svc_key(s->a, svc),
        .verb = verb_of(s->facts),
        .kind = kind_of(s->facts),
        .tags = tags_of(s->a, s->facts),
        .tags_known = true,
        .subnetwork =
            subnet == NULL
                ? ""
                : arena_printf(s->a, BASE "p1/regions/us-central1/subnetworks/%s", subnet),
        .log = log_of(s->a, json_member(s->facts, "log")),
        .others_want_shared_check = json_bool(s->facts, "others_want_shared_check", false),
        .outcome = &s->outcome,
    };
    s->outcome = (struct gce_bs_outcome){0};
    lb_plan_init(&s->plan, s->a);
    int rc = ERR_OK;
    if (gce_kind_has_negs(in->kind)) {
        rc = in->verb == TT_VERB_DELETE ? ERR_OK : think_members(s, f, in, &members, err);
        rc = rc == ERR_OK ? plan_of_negs(s, f, in, &members, negs, err) : rc;
    } else {
        think_groups(s, in);
    }
    see_addresses(s, in);
    see_other_scheme(s, f, in);
    return rc == ERR_OK ? plan_verb(s, f, in, negs, err) : rc;
}
