/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_rules.c: see azure_members_rules.h.  Pure. */
#include "providers/azure/members/azure_members_rules.h"
#include "common/base/hash.h"
#include "common/base/str.h"

#include <string.h>

/* ---- nodes ----------------------------------------------------------------------------------- */

const char *azure_members_set(struct arena *a, const char *machine)
{
    const char *end = strstr(machine, "/virtualmachines/");
    bool instance = strstr(machine, "/virtualmachinescalesets/") != NULL;
    return instance && end != NULL ? arena_strndup(a, machine, (size_t)(end - machine)) : NULL;
}

static struct azure_member_node node_of(struct arena *a, const struct azure_config *c,
                                        const struct tt_node *node)
{
    struct azure_member_node n = {
        .node = node,
        .machine = "",
        .excluded = azure_node_is_excluded(node, c->resource_group, false),
    };
    struct azure_machine m;
    if (azure_machine_parse(a, node->provider_id, &m, NULL) == ERR_OK) {
        n.machine = str_lower(a, strchr(node->provider_id, '/') + 2);
        n.vm_set = m.scale_set;
        n.set = azure_members_set(a, n.machine);
        n.model = n.set;
    }
    return n;
}

struct azure_member_node *azure_members_nodes(struct arena *a, const struct azure_config *c,
                                              const struct tt_node *const *nodes, size_t n)
{
    struct azure_member_node *ret = ARENA_ARRAY(a, struct azure_member_node, n + 1);
    for (size_t i = 0; i < n; i++) {
        ret[i] = node_of(a, c, nodes[i]);
    }
    return ret;
}

/* It may be a member of a pool, whichever Service's that is. */
static bool is_candidate(const struct azure_config *c, const struct tt_node *node, bool excluded)
{
    bool no_masters = c->pool_type == AZURE_POOL_IP || (c->standard_sku && c->exclude_masters);
    return !excluded && (node->flags & TT_NODE_ELIGIBLE) != 0 &&
           !(no_masters && azure_node_is_control_plane(node));
}

static uint64_t add_text(uint64_t h, const char *text)
{
    return hash_bytes(h, str_nonnull(text), strlen(str_nonnull(text)) + 1);
}

uint64_t azure_node_digest(const struct azure_config *c, const struct tt_node *node)
{
    uint64_t h = azure_node_is_control_plane(node) ? 2 : 1;
    if (!is_candidate(c, node, azure_node_is_excluded(node, c->resource_group, false))) {
        return 0;
    }
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        h = add_text(h, azure_node_internal_ip(node, (enum azure_family)f));
    }
    for (size_t i = 0; i < c->n_lbs; i++) {
        const struct azure_selector *s = &c->lbs[i].nodes;
        bool matches; /* none matches a selector that is refused */
        int rc = azure_selector_matches(s, node->labels, node->n_labels, &matches, NULL);
        h = add_text(h, rc == ERR_OK && matches ? "y" : "n");
    }
    return h != 0 ? h : 1;
}

bool azure_members_wants(const struct azure_members_in *in, const struct azure_pool *p, size_t node)
{
    const struct azure_member_node *n = &in->nodes[node];
    if (!is_candidate(in->config, n->node, n->excluded)) {
        return false;
    }
    if (p->hosts != NULL && !p->hosts[node]) {
        return false;
    }
    if (p->vm_set != NULL && !azure_eq(p->vm_set, n->vm_set)) {
        return false;
    }
    return p->spread == NULL || p->spread[node];
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *before(struct arena *a, const char *id, const char *part)
{
    const char *low = str_lower(a, id);
    const char *end = strstr(low, part);
    return end != NULL ? arena_strndup(a, low, (size_t)(end - low)) : low;
}

const char *azure_members_nic(struct arena *a, const char *config_id)
{
    bool instance = azure_id_part(a, config_id, "virtualMachineScaleSets") != NULL;
    return instance ? NULL : before(a, config_id, "/ipconfigurations/");
}

const char *azure_members_machine(struct arena *a, const struct map *nics, const char *config_id)
{
    const char *nic = azure_members_nic(a, config_id);
    return nic == NULL ? before(a, config_id, "/networkinterfaces/") : map_get(nics, nic);
}

void azure_members_learn(struct arena *a, struct map *nics, struct json_object *docs)
{
    struct json_object *o;
    AZURE_EACH (o, docs) {
        const char *machine = azure_ref(o, "virtualMachine");
        if (machine != NULL) {
            map_set(nics, str_lower(a, azure_doc_id(o)), str_lower(a, machine));
        }
    }
}

size_t azure_pool_count_addresses(struct json_object *pool)
{
    size_t n = 0;
    struct json_object *o;
    AZURE_EACH (o, azure_array(pool, "loadBalancerBackendAddresses")) {
        n += !str_is_empty(azure_prop_str(o, "ipAddress"));
    }
    return n;
}

/* A NIC pool may show its members among the addresses, too: without an address. */
size_t azure_pool_count_nics(struct json_object *pool)
{
    struct json_object *addresses = azure_array(pool, "loadBalancerBackendAddresses");
    size_t n = json_len(addresses);
    return n > 0 ? n - azure_pool_count_addresses(pool)
                 : json_len(azure_array(pool, "backendIPConfigurations"));
}

bool azure_pool_is_wrong_kind(const struct azure_config *c, const struct azure_pool *p)
{
    if (p->doc == NULL) {
        return false;
    }
    return c->pool_type == AZURE_POOL_IP ? azure_pool_count_nics(p->doc) > 0
                                         : azure_pool_count_addresses(p->doc) > 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct compare {
    struct arena *a;
    const struct azure_members_in *in;
    struct azure_members_diff *ret;
    struct map *nodes; /* machine → struct azure_member_node */
    struct map *edits; /* machine → struct azure_machine_edit */
    size_t cap;
};

static struct azure_machine_edit *edit_of(struct compare *c, const char *machine, const char *nic)
{
    struct azure_machine_edit *e = map_get(c->edits, machine);
    if (e == NULL) {
        e = &c->ret->edits[c->ret->n++];
        *e = (struct azure_machine_edit){
            .machine = machine,
            .nic = nic,
            .node = map_get(c->nodes, machine),
            .join = ARENA_ARRAY(c->a, struct azure_pool *, c->in->n_pools),
            .leave = ARENA_ARRAY(c->a, struct azure_pool *, c->in->n_pools),
        };
        map_set(c->edits, machine, e);
    }
    e->nic = e->nic == NULL ? nic : e->nic;
    return e;
}

struct member {
    const char *machine; /* NULL: not known */
    const char *nic;
    bool leaves;
};

/* A machine that is in the pool leaves when its node is excluded or was taken away, and from the
 * pool of one Service also when nothing runs on it; otherwise it is no business of ours. */
static bool has_to_leave(const struct compare *c, const struct azure_pool *p, const char *machine)
{
    const struct azure_member_node *n = map_get(c->nodes, machine);
    if (n == NULL) {
        return c->in->once != NULL && map_has(c->in->once, machine);
    }
    size_t at = (size_t)(n - c->in->nodes);
    bool moves = p->elsewhere != NULL && p->elsewhere[at];
    return n->excluded || moves || (p->hosts != NULL && !azure_members_wants(c->in, p, at));
}

static struct member *members_of(struct compare *c, const struct azure_pool *p, size_t *ret_n,
                                 size_t *ret_stay)
{
    struct json_object *configs = azure_pool_is_wrong_kind(c->in->config, p)
                                      ? NULL
                                      : azure_array(p->doc, "backendIPConfigurations");
    struct member *m = ARENA_ARRAY(c->a, struct member, json_len(configs) + 1);
    struct json_object *o;
    *ret_n = *ret_stay = 0;
    AZURE_EACH (o, configs) {
        struct member *x = &m[(*ret_n)++];
        x->machine = azure_members_machine(c->a, c->in->nics, azure_doc_id(o));
        x->nic = azure_members_nic(c->a, azure_doc_id(o));
        x->leaves = x->machine != NULL && has_to_leave(c, p, x->machine);
        c->ret->unknown_nics = c->ret->unknown_nics || x->machine == NULL;
        *ret_stay += !x->leaves;
    }
    return m;
}

static size_t join_all(struct compare *c, struct azure_pool *p, const struct map *there)
{
    size_t n = 0;
    for (size_t i = 0; i < c->in->n_nodes; i++) {
        const struct azure_member_node *node = &c->in->nodes[i];
        if (!azure_members_wants(c->in, p, i)) {
            continue;
        }
        if (node->machine[0] == '\0') {
            c->ret->unknown_machines = true;
        } else if (!map_has(there, node->machine)) {
            struct azure_machine_edit *e = edit_of(c, node->machine, NULL);
            e->join[e->n_join++] = p;
            n++;
        }
    }
    return n;
}

static void compare_pool(struct compare *c, struct azure_pool *p)
{
    size_t n, stay;
    struct map *there = map_new(NULL);
    struct member *members = members_of(c, p, &n, &stay);
    for (size_t i = 0; i < n; i++) {
        if (members[i].machine != NULL) {
            map_set(there, members[i].machine, NULL);
        }
    }
    size_t coming = join_all(c, p, there);
    for (size_t i = 0; stay + coming > 0 && i < n; i++) {
        if (!members[i].leaves) {
            continue;
        }
        struct azure_machine_edit *e = edit_of(c, members[i].machine, members[i].nic);
        if (e->n_leave == 0 || e->leave[e->n_leave - 1] != p) {
            e->leave[e->n_leave++] = p;
        }
    }
    map_free(there);
}

static struct compare begin(struct arena *a, const struct azure_members_in *in,
                            struct azure_members_diff *ret)
{
    struct compare c = {
        .a = a, .in = in, .ret = ret, .nodes = map_new(NULL), .edits = map_new(NULL)};
    size_t most = in->n_nodes + 1;
    for (size_t i = 0; i < in->n_nodes; i++) {
        map_set(c.nodes, in->nodes[i].machine, &in->nodes[i]);
    }
    for (size_t i = 0; i < in->n_pools; i++) {
        most += json_len(azure_array(in->pools[i].doc, "backendIPConfigurations"));
    }
    *ret = (struct azure_members_diff){.edits = ARENA_ARRAY(a, struct azure_machine_edit, most)};
    return c;
}

static void end(struct compare *c)
{
    map_free(c->nodes);
    map_free(c->edits);
}

void azure_members_compare(struct arena *a, const struct azure_members_in *in,
                           struct azure_members_diff *ret)
{
    struct compare c = begin(a, in, ret);
    for (size_t i = 0; in->config->pool_type == AZURE_POOL_NIC && i < in->n_pools; i++) {
        compare_pool(&c, &in->pools[i]);
    }
    end(&c);
}

void azure_members_leave_all(struct arena *a, const struct azure_members_in *in, const char *why,
                             struct azure_members_diff *ret)
{
    struct compare c = begin(a, in, ret);
    for (size_t i = 0; i < in->n_pools; i++) {
        struct json_object *o;
        AZURE_EACH (o, azure_array(in->pools[i].doc, "backendIPConfigurations")) {
            const char *machine = azure_members_machine(a, in->nics, azure_doc_id(o));
            if (machine == NULL) {
                ret->unknown_nics = true;
                continue;
            }
            struct azure_machine_edit *e =
                edit_of(&c, machine, azure_members_nic(a, azure_doc_id(o)));
            bool twice = e->n_leave > 0 && e->leave[e->n_leave - 1] == &in->pools[i];
            e->why = why;
            if (!twice) {
                e->leave[e->n_leave++] = &in->pools[i];
            }
        }
    }
    end(&c);
}

struct azure_refs azure_members_refs(struct arena *a, const struct azure_machine_edit *e)
{
    const char **join = ARENA_ARRAY(a, const char *, e->n_join + 1);
    const char **leave = ARENA_ARRAY(a, const char *, e->n_leave + 1);
    for (size_t i = 0; i < e->n_join; i++) {
        join[i] = e->join[i]->id;
    }
    for (size_t i = 0; i < e->n_leave; i++) {
        leave[i] = e->leave[i]->id;
    }
    return (struct azure_refs){
        .join = join, .n_join = e->n_join, .leave = leave, .n_leave = e->n_leave};
}
