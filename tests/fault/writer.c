/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c: see writer.h.  Both threads use it, but never at once: the test's only looks while the
 * controller rests. */
#include "tests/fault/writer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "sim/arm/arm.h"

#define NETWORK                                                                                    \
    "/subscriptions/" ARM_SUBSCRIPTION "/resourceGroups/" ARM_GROUP "/providers/Microsoft.Network"
#define BALANCER  NETWORK "/loadBalancers/kubernetes"
#define GROUP     NETWORK "/networkSecurityGroups/" ARM_NSG
#define FRONTEND  BALANCER "/frontendIPConfigurations/users-frontend"
#define OUTBOUND  "users-outbound" /* of tests/data/fault/foreign-azure.json */
#define PORTS     1024             /* that it allocates there */
#define MINE      "writer-"
#define EDITS_MAX 400
#define ONE_OF    2 /* writes are forestalled */

/* A public IP that it has tagged; one of that name may come again, which is another. */
struct tagged {
    char *guid;
    unsigned n; /* the tag's value */
};

struct writer {
    struct rng *rng;
    unsigned n_balancer; /* edits so far */
    unsigned n_group;
    unsigned n_tags;
    struct map *tagged; /* id → struct tagged, owned */
    bool gone;
};

static void tagged_free(void *arg)
{
    struct tagged *t = arg;
    free(t->guid);
    free(t);
}

struct writer *writer_new(uint64_t seed)
{
    struct writer *w = xcalloc(1, sizeof(*w));
    w->rng = rng_seeded_new(seed);
    w->tagged = map_new(tagged_free);
    return w;
}

void writer_free(struct writer *w)
{
    if (w != NULL) {
        rng_free(w->rng);
        map_free(w->tagged);
        free(w);
    }
}

/* ---- edits ----------------------------------------------------------------------------------- */

static void add_element(struct arena *a, struct json_object *body, const char *collection,
                        const char *text)
{
    struct json_object *o = NULL;
    struct json_object *list = json_member(arm_properties(body), collection);
    if (list == NULL) {
        list = json_object_new_array();
        json_add(arm_properties(body), collection, list);
    }
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        abort(); /* the text stands in this file */
    }
    json_object_array_add(list, json_object_get(o));
}

static void set_tag(struct arena *a, struct json_object *body, unsigned n)
{
    struct json_object *tags = json_member(body, "tags");
    if (tags == NULL) {
        tags = json_object_new_object();
        json_add(body, "tags", tags);
    }
    json_add_str(tags, MINE "last", arena_printf(a, "%u", n));
}

static struct json_object *outbound_of(struct json_object *lb)
{
    struct json_object *rules = json_path(lb, "properties.outboundRules");
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *r = json_object_array_get_idx(rules, i);
        if (str_eq(json_str(r, "name"), OUTBOUND)) {
            return json_member(r, "properties");
        }
    }
    return NULL;
}

static int64_t ports_after(unsigned n)
{
    return PORTS + 8 * (int64_t)(n % 100);
}

/* As AKS does when nodes come and go. */
static void edit_outbound(struct json_object *body, int64_t ports)
{
    struct json_object *outbound = outbound_of(body);
    if (outbound != NULL) {
        json_add_int(outbound, "allocatedOutboundPorts", ports);
    }
}

static void edit_balancer(struct writer *w, struct arena *a, struct json_object *body)
{
    unsigned n = w->n_balancer++;
    set_tag(a, body, n);
    edit_outbound(body, ports_after(w->n_balancer));
    add_element(a, body, "inboundNatRules",
                arena_printf(a,
                             "{\"name\":\"" MINE "%u\",\"properties\":{\"protocol\":\"Tcp\","
                             "\"frontendPort\":%u,\"backendPort\":22,\"idleTimeoutInMinutes\":4,"
                             "\"enableFloatingIP\":false,\"enableTcpReset\":false,"
                             "\"frontendIPConfiguration\":{\"id\":\"" FRONTEND "\"}}}",
                             n, 10000 + n));
}

static void edit_group(struct writer *w, struct arena *a, struct json_object *body)
{
    unsigned n = w->n_group++;
    add_element(a, body, "securityRules",
                arena_printf(a,
                             "{\"name\":\"" MINE "%u\",\"properties\":{\"access\":\"Deny\","
                             "\"direction\":\"Inbound\",\"protocol\":\"Tcp\",\"priority\":%u,"
                             "\"sourceAddressPrefix\":\"*\",\"sourcePortRange\":\"*\","
                             "\"destinationAddressPrefix\":\"*\",\"destinationPortRange\":\"%u\"}}",
                             n, 3000 + n, 20000 + n));
}

static void edit(struct writer *w, struct sim *s, struct arena *a, const char *id,
                 void (*how)(struct writer *w, struct arena *a, struct json_object *body))
{
    struct arm *arm = sim_module_state(s, "azure");
    struct arm_resource *res = arm_get(arm, id);
    if (res != NULL) {
        struct json_object *body = json_copy(res->body);
        how(w, a, body);
        (void)arm_commit(arm, id, body, "Succeeded");
        arm_settle(arm);
    }
}

static void edit_address(struct writer *w, struct arena *a, struct json_object *body)
{
    struct tagged *t = xcalloc(1, sizeof(*t));
    t->n = w->n_tags++;
    t->guid = xstrdup(str_nonnull(json_str(arm_properties(body), "resourceGuid")));
    map_set(w->tagged, json_str(body, "id"), t);
    set_tag(a, body, t->n);
}

void writer_before_call(void *arg, const struct sim_call *call)
{
    struct writer *w = arg;
    if (w->gone || rng_below(w->rng, ONE_OF) != 0) {
        return;
    }
    if (str_eq(call->op, "LoadBalancers.CreateOrUpdate") && str_eq_nocase(call->path, BALANCER) &&
        w->n_balancer < EDITS_MAX) {
        edit(w, call->sim, call->arena, BALANCER, edit_balancer);
    } else if (str_eq(call->op, "SecurityGroups.CreateOrUpdate") && w->n_group < EDITS_MAX) {
        edit(w, call->sim, call->arena, GROUP, edit_group);
    } else if (str_eq(call->op, "PublicIPAddresses.CreateOrUpdate")) {
        edit(w, call->sim, call->arena, call->path, edit_address);
    }
}

/* ---- judgement ------------------------------------------------------------------------------- */

static bool is_mine(struct json_object *element)
{
    return str_has_prefix(str_nonnull(json_str(element, "name")), MINE);
}

static unsigned count_mine(struct json_object *list)
{
    unsigned n = 0;
    for (size_t i = 0; i < json_len(list); i++) {
        n += is_mine(json_object_array_get_idx(list, i));
    }
    return n;
}

struct search {
    struct json_object *azure;
    const char *lost; /* id of a public IP without its tag, or NULL */
    struct arena *a;
};

static bool check_tag(const char *id, void *value, void *arg)
{
    const struct tagged *t = value;
    struct search *s = arg;
    struct json_object *pip = json_member(s->azure, id);
    bool same = str_eq(json_str(json_member(pip, "properties"), "resourceGuid"), t->guid);
    const char *tag = json_str(json_member(pip, "tags"), MINE "last");
    if (same && !str_eq(tag, arena_printf(s->a, "%u", t->n))) {
        s->lost = id;
    }
    return true;
}

int writer_check(struct writer *w, struct arena *a, struct json_object *world, struct err *err)
{
    struct json_object *azure = json_member(world, "azure");
    struct json_object *lb = json_member(azure, BALANCER);
    unsigned nats = count_mine(json_path(lb, "properties.inboundNatRules"));
    unsigned rules = count_mine(json_path(json_member(azure, GROUP), "properties.securityRules"));
    if (w->n_balancer + w->n_group == 0) {
        return err_set(err, ERR_BUG, "the other writer never came between");
    }
    const char *last = w->n_balancer > 0 ? arena_printf(a, "%u", w->n_balancer - 1) : NULL;
    if (nats != w->n_balancer || rules != w->n_group ||
        !str_eq(json_str(json_member(lb, "tags"), MINE "last"), last)) {
        return err_set(err, ERR_CONFLICT,
                       "of another writer's %u NAT rules %u are left, of its %u security rules %u",
                       w->n_balancer, nats, w->n_group, rules);
    }
    int64_t ports = json_int(outbound_of(lb), "allocatedOutboundPorts", 0);
    if (ports != ports_after(w->n_balancer)) {
        return err_set(err, ERR_CONFLICT, "another writer's outbound rule allocates %lld ports",
                       (long long)ports);
    }
    struct search s = {.azure = azure, .a = a};
    map_each(w->tagged, check_tag, &s);
    return s.lost == NULL
               ? ERR_OK
               : err_set(err, ERR_CONFLICT, "another writer's tag of %s is gone", s.lost);
}

static void drop_mine(struct json_object *list)
{
    for (size_t i = json_len(list); i > 0; i--) {
        if (is_mine(json_object_array_get_idx(list, i - 1))) {
            json_object_array_del_idx(list, i - 1, 1);
        }
    }
}

static void leave_tags(struct writer *w, struct arena *a, struct json_object *body)
{
    (void)w;
    (void)a;
    struct json_object *tags = json_member(body, "tags");
    if (tags != NULL) {
        json_object_object_del(tags, MINE "last");
    }
}

static void leave_balancer(struct writer *w, struct arena *a, struct json_object *body)
{
    leave_tags(w, a, body);
    edit_outbound(body, PORTS);
    drop_mine(json_path(body, "properties.inboundNatRules"));
}

static void leave_group(struct writer *w, struct arena *a, struct json_object *body)
{
    (void)w;
    (void)a;
    drop_mine(json_path(body, "properties.securityRules"));
}

static void leave(struct sim *s, void *arg)
{
    struct writer *w = arg;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    w->gone = true;
    edit(w, s, a, BALANCER, leave_balancer);
    edit(w, s, a, GROUP, leave_group);
    size_t n = 0;
    const char **ids = map_keys(w->tagged, &n);
    for (size_t i = 0; i < n; i++) {
        edit(w, s, a, ids[i], leave_tags);
    }
    free(ids);
}

void writer_leave(struct writer *w, struct rig *r)
{
    rig_in_sim(r, leave, w);
}
