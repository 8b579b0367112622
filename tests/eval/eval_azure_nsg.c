/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure_nsg.c: the functions azure.access, azure.aggregate_prefixes and azure.nsg.* of
 * trimtab-eval.
 *
 * Each takes apart its input, calls the provider's own function, and puts the answer together;
 * nothing is computed here but the normal form in which rules are compared: names and sets,
 * whatever ARM's spelling of them is. */
#include "tests/eval/eval.h"

#include <stdlib.h>
#include <string.h>

#include "providers/azure/model/azure_doc.h"
#include "providers/azure/nsg/azure_nsg_doc.h"
#include "providers/azure/nsg/azure_nsg_plan.h"
#include "providers/azure/nsg/azure_nsg_rules.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

/* ---- input ----------------------------------------------------------------------------------- */

/* No name of the configuration matters to security rules. */
static const struct azure_naming *naming(void)
{
    static const struct azure_config config = {
        .subscription_id = "s",
        .network_subscription_id = "s",
        .resource_group = "rg",
        .lb_resource_group = "rg",
        .pls_resource_group = "rg",
        .vnet_name = "vnet",
        .vnet_resource_group = "rg",
        .subnet_name = "subnet",
        .lb_name = "",
        .preconfigured_pools = "",
    };
    static const struct azure_naming n = {.config = &config, .cluster = "kubernetes"};
    return &n;
}

static int read_access(struct arena *a, struct json_object *service,
                       const struct azure_access **ret, struct err *err)
{
    const struct tt_service *s;
    int rc = eval_service(a, service, &s, err);
    if (rc == ERR_OK) {
        *ret = azure_access_read(a, azure_service_read(a, naming(), s));
    }
    return rc;
}

static struct azure_texts read_texts(struct arena *a, struct json_object *in, const char *name)
{
    struct azure_texts t;
    t.items = eval_strs(a, in, name, &t.n);
    return t;
}

static struct str_set read_set(struct arena *a, struct json_object *in, const char *name)
{
    size_t n;
    const char **items = eval_strs(a, in, name, &n);
    return str_set_make(a, items, n);
}

/* The addresses of each family, in their canonical spelling. */
static void read_destinations(struct arena *a, struct json_object *in,
                              struct str_set ret[AZURE_FAMILIES])
{
    size_t n;
    const char **texts = eval_strs(a, in, "destinations", &n);
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const char **items = ARENA_ARRAY(a, const char *, n);
        size_t n_items = 0;
        for (size_t i = 0; i < n; i++) {
            const char *text = azure_addr_canonical(a, texts[i]);
            if (text != NULL && azure_addr_text_family(text) == (enum azure_family)f) {
                items[n_items++] = text;
            }
        }
        ret[f] = str_set_make(a, items, n_items);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static struct json_object *prefixes_out(struct arena *a, const struct azure_prefixes *p)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < p->n; i++) {
        json_push_str(out, azure_prefix_text(a, &p->items[i]));
    }
    return out;
}

static void add_set(struct json_object *o, const char *name, const struct str_set *set)
{
    if (set->n > 0) {
        json_add(o, name, json_strs(set->items, set->n));
    }
}

static void add_text(struct json_object *o, const char *name, const char *text)
{
    if (*text != '\0') {
        json_add_str(o, name, text);
    }
}

static struct json_object *normal_rule(const struct azure_nsg_rule *r)
{
    struct json_object *o = json_object_new_object();
    add_text(o, "name", r->name);
    json_add_int(o, "priority", r->now.priority);
    add_text(o, "access", r->now.access);
    add_text(o, "direction", r->now.direction);
    add_text(o, "protocol", r->now.protocol);
    add_set(o, "sources", &r->now.sources);
    add_set(o, "sourcePorts", &r->now.source_ports);
    add_set(o, "destinations", &r->now.destinations);
    add_set(o, "destinationPorts", &r->now.ports);
    add_set(o, "sourceASGs", &r->now.source_groups);
    add_set(o, "destinationASGs", &r->now.destination_groups);
    return o;
}

static int compare_rules(const void *x, const void *y)
{
    const struct azure_nsg_rule *a = *(struct azure_nsg_rule *const *)x;
    const struct azure_nsg_rule *b = *(struct azure_nsg_rule *const *)y;
    if (a->now.priority != b->now.priority) {
        return a->now.priority < b->now.priority ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

/* {changed, rules}: what would be sent, read again. */
static int document_out(struct arena *a, struct json_object *rules, bool changed,
                        struct json_object **ret, struct err *err)
{
    struct azure_nsg g;
    int rc = azure_nsg_read(a, rules, &g, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *out = json_object_new_array();
    if (g.n > 0) {
        qsort(g.rules, g.n, sizeof(struct azure_nsg_rule *), compare_rules);
    }
    for (size_t i = 0; i < g.n; i++) {
        json_object_array_add(out, normal_rule(g.rules[i]));
    }
    *ret = json_object_new_object();
    json_add_bool(*ret, "changed", changed);
    json_add(*ret, "rules", out);
    return ERR_OK;
}

/* ---- sources and ports ----------------------------------------------------------------------- */

static struct json_object *ports_out(const struct azure_access *x)
{
    struct json_object *out = json_object_new_object();
    for (int p = 0; p < AZURE_PROTOCOLS; p++) {
        struct json_object *ports = json_object_new_array();
        for (size_t i = 0; i < x->ports[p].n; i++) {
            json_object_array_add(ports, json_object_new_int(x->ports[p].items[i]));
        }
        if (x->ports[p].n > 0) {
            json_add(out, azure_protocol_text(p), json_object_get(ports));
        }
        json_object_put(ports);
    }
    return out;
}

RUN(access_read)
{
    const struct azure_access *x;
    int rc = read_access(a, json_member(in, "service"), &x, err);
    if (rc == ERR_OK) {
        rc = azure_access_check_sources(x, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *o = json_object_new_object();
    json_add(o, "sourceRanges", prefixes_out(a, &x->source_ranges));
    json_add(o, "allowedIPRanges", prefixes_out(a, &x->allowed_ranges));
    json_add(o, "invalidSourceRanges",
             json_strs(x->bad_source_ranges.items, x->bad_source_ranges.n));
    json_add(o, "invalidAllowedIPRanges",
             json_strs(x->bad_allowed_ranges.items, x->bad_allowed_ranges.n));
    json_add(o, "serviceTags", json_strs(x->tags.items, x->tags.n));
    json_add_bool(o, "allowInternet", x->allow_internet);
    json_add_bool(o, "denyAll", x->deny_all);
    json_add(o, "additionalIPs",
             x->bad_additional != NULL ? json_object_new_string("invalid")
                                       : json_strs(x->additional.items, x->additional.n));
    json_add(o, "ports", ports_out(x));
    *ret = o;
    return ERR_OK;
}

RUN(aggregate)
{
    size_t n;
    const char **texts = eval_strs(a, in, "prefixes", &n);
    struct ip_net *nets = ARENA_ARRAY(a, struct ip_net, n);
    for (size_t i = 0; i < n; i++) {
        if (!azure_prefix_parse(texts[i], &nets[i])) {
            return err_set(err, ERR_INVALID, "prefixes[%zu]: \"%s\" is no network", i, texts[i]);
        }
    }
    struct azure_prefixes given = {.items = nets, .n = n};
    struct azure_prefixes few = azure_prefixes_aggregate(a, &given);
    *ret = json_object_new_object();
    json_add(*ret, "prefixes", prefixes_out(a, &few));
    json_add_bool(*ret, "allowAll", azure_prefixes_allow_all(&given));
    return ERR_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int compare_wire(const void *x, const void *y)
{
    int64_t a = azure_prop_int(*(struct json_object *const *)x, "priority", 0);
    int64_t b = azure_prop_int(*(struct json_object *const *)y, "priority", 0);
    return (a > b) - (a < b);
}

RUN(desired)
{
    struct azure_nsg g;
    struct azure_nsg_pass pass = {.patch = true};
    int rc = read_access(a, json_member(in, "service"), &pass.access, err);
    if (rc == ERR_OK) {
        rc = azure_access_check_sources(pass.access, err);
    }
    if (rc == ERR_OK) {
        rc = azure_nsg_read(a, azure_own(a, json_object_new_array()), &g, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    read_destinations(a, in, pass.destinations);
    pass.allowed = str_set_union(a, &pass.destinations[AZURE_IPV4], &pass.destinations[AZURE_IPV6]);
    rc = azure_nsg_apply(&g, &pass, err);
    if (rc == ERR_OK) {
        struct json_object *rules = azure_nsg_write(&g);
        json_object_array_sort(rules, compare_wire); /* ordered by priority */
        *ret = json_object_new_object();
        json_add(*ret, "rules", json_object_get(rules));
    }
    return rc;
}

/* The ports that other Services need.  Which of them wants the deny rule, and where they are, is
 * not asked here: upstream takes any port of protocol "*" for a yes, and all destinations for
 * theirs. */
static void read_shared(struct arena *a, struct json_object *in, struct azure_nsg_pass *p)
{
    struct json_object *ports = json_member(in, "retainedPorts");
    for (int i = 0; i < AZURE_PROTOCOLS; i++) {
        p->shared.ports[i] = read_set(a, ports, azure_protocol_text(i));
    }
    p->shared.addresses =
        str_set_union(a, &p->destinations[AZURE_IPV4], &p->destinations[AZURE_IPV6]);
    if (p->shared.ports[AZURE_ANY].n > 0) {
        p->shared.denied = p->shared.addresses;
    }
}

RUN(patch)
{
    struct azure_nsg g;
    struct azure_nsg_pass pass = {0};
    bool want = json_bool(in, "want", false);
    int rc = read_access(a, json_member(in, "service"), &pass.access, err);
    if (rc == ERR_OK && want) {
        rc = azure_access_check_sources(pass.access, err);
    }
    if (rc == ERR_OK) {
        rc = azure_nsg_read(a, json_member(in, "rules"), &g, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    pass.patch = want && !pass.access->service->disable_nsg_rule;
    read_destinations(a, in, pass.destinations);
    read_shared(a, in, &pass);
    pass.allowed = read_set(a, in, "managed");
    rc = azure_nsg_apply(&g, &pass, err);
    return rc == ERR_OK ? document_out(a, azure_nsg_write(&g), azure_nsg_changed(&g), ret, err)
                        : rc;
}

static int read_members(struct arena *a, struct json_object *services, struct azure_nsg_input *ret,
                        struct err *err)
{
    size_t n = json_len(services);
    struct azure_nsg_member *members = ARENA_ARRAY(a, struct azure_nsg_member, n);
    for (size_t i = 0; i < n; i++) {
        int rc = read_access(a, json_object_array_get_idx(services, i), &members[i].access, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    ret->members = members;
    ret->n_members = n;
    return ERR_OK;
}

static int read_nodes(struct arena *a, struct json_object *nodes, struct azure_texts *ret,
                      struct err *err)
{
    const struct tt_node *const *list;
    size_t n;
    int rc = eval_nodes(a, nodes, &list, &n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        most += list[i]->n_addresses;
    }
    const char **ips = ARENA_ARRAY(a, const char *, most);
    *ret = (struct azure_texts){.items = ips};
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < list[i]->n_addresses; k++) {
            if (strcmp(list[i]->addresses[k].type, "InternalIP") == 0) {
                ips[ret->n++] = list[i]->addresses[k].address;
            }
        }
    }
    return ERR_OK;
}

RUN(reconcile)
{
    struct azure_nsg_change change = {
        .want = json_bool(in, "want", false),
        .lb_ips = read_texts(a, in, "lbIPs"),
        .backend_ips = read_texts(a, in, "backendIPs"),
    };
    struct azure_nsg_input input = {
        .rules = json_member(in, "rules"),
        .changes = &change,
        .n_changes = 1,
    };
    struct azure_nsg_result result;
    int rc = read_access(a, json_member(in, "service"), &change.access, err);
    if (rc == ERR_OK) {
        rc = read_members(a, json_member(in, "services"), &input, err);
    }
    if (rc == ERR_OK) {
        rc = read_nodes(a, json_member(in, "nodes"), &input.node_ips, err);
    }
    if (rc == ERR_OK) {
        rc = azure_nsg_plan(a, &input, &result, err);
    }
    if (rc == ERR_OK) {
        rc = err_copy(err, &result.errs[0]);
    }
    return rc == ERR_OK ? document_out(a, result.rules, result.changed, ret, err) : rc;
}

const struct eval_fn eval_azure_nsg[] = {
    {"azure.access", access_read},      {"azure.aggregate_prefixes", aggregate},
    {"azure.nsg.desired", desired},     {"azure.nsg.patch", patch},
    {"azure.nsg.reconcile", reconcile}, {NULL, NULL},
};
