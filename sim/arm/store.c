/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: every resource of the simulated cloud by its id, and which resource groups there are.
 *
 * The store checks nothing: a world may hold anything.  Kinds that are not served are kept
 * like the others. */
#include "sim/arm/arm.h"

#include <assert.h>
#include <string.h>

static void resource_free(void *p)
{
    struct arm_resource *res = p;
    json_object_put(res->body);
    free(res->id);
    free(res);
}

void arm_store_init(struct arm *arm)
{
    arm->resources = map_new(resource_free);
    memset(arm->first, 0, sizeof(arm->first));
    memset(arm->last, 0, sizeof(arm->last));
    arm->groups = map_new(free);
    arm->addresses = map_new(free);
}

void arm_store_done(struct arm *arm)
{
    map_free(arm->resources);
    map_free(arm->groups);
    map_free(arm->addresses);
}

/* Keys are short-lived: most ids fit. */
static char *lower(const char *id, char *buf, size_t n)
{
    size_t len = strlen(id);
    char *out = len < n ? buf : xmalloc(len + 1);
    for (size_t i = 0; i <= len; i++) {
        out[i] = id[i] >= 'A' && id[i] <= 'Z' ? (char)(id[i] - 'A' + 'a') : id[i];
    }
    return out;
}

struct arm_resource *arm_get(const struct arm *arm, const char *id)
{
    char buf[512];
    if (!id) {
        return NULL;
    }
    char *key = lower(id, buf, sizeof(buf));
    struct arm_resource *res = map_get(arm->resources, key);
    if (key != buf) {
        free(key);
    }
    return res;
}

/* Where a kind's list hangs; 0: kinds that are not served. */
static size_t slot_of(const struct arm_kind *kind)
{
    size_t slot = kind ? (size_t)(kind - arm_kinds) + 1 : 0;
    assert(slot < ARM_KINDS_MAX);
    return slot;
}

static void append(struct arm *arm, struct arm_resource *res)
{
    size_t i = slot_of(res->kind);
    res->prev = arm->last[i];
    *(res->prev ? &res->prev->next : &arm->first[i]) = res;
    arm->last[i] = res;
}

static void take_out(struct arm *arm, struct arm_resource *res)
{
    size_t i = slot_of(res->kind);
    *(res->prev ? &res->prev->next : &arm->first[i]) = res->next;
    *(res->next ? &res->next->prev : &arm->last[i]) = res->prev;
}

struct arm_resource *arm_set(struct arm *arm, const char *id, struct json_object *body)
{
    struct arm_resource *res = arm_get(arm, id);
    if (res) {
        json_object_put(res->body);
        res->body = body;
        return res;
    }
    struct arena *a = arena_new();
    const char *type = arm_id_type(a, id);
    res = xcalloc(1, sizeof(*res));
    res->id = xstrdup(id);
    res->kind = type ? arm_kind_find(type) : NULL;
    res->body = body;
    res->seq = ++arm->next_seq;
    append(arm, res);
    map_set(arm->resources, arm_id_key(a, id), res);
    if (arm_id_subscription(a, id) && arm_id_group(a, id)) {
        arm_group_add(arm, arm_id_subscription(a, id), arm_id_group(a, id));
    }
    arena_free(a);
    return res;
}

void arm_unset(struct arm *arm, const char *id)
{
    struct arm_resource *res = arm_get(arm, id);
    struct arena *a = arena_new();
    if (res) {
        take_out(arm, res);
        map_remove(arm->resources, arm_id_key(a, id));
    }
    arena_free(a);
}

void arm_each(const struct arm *arm, const char *type,
              bool (*fn)(struct arm_resource *res, void *arg), void *arg)
{
    const struct arm_kind *kind = type ? arm_kind_find(type) : NULL;
    size_t from = type ? slot_of(kind) : 0, to = type ? from : ARM_KINDS_MAX - 1;
    for (size_t i = from; i <= to; i++) {
        for (struct arm_resource *res = arm->first[i]; res; res = res->next) {
            if (!fn(res, arg)) {
                return;
            }
        }
    }
}

/* --- groups ----------------------------------------------------------------------------------- */

static char *group_key(struct arena *a, const char *subscription, const char *group)
{
    return str_lower(a,
                     arena_printf(a, "/subscriptions/%s/resourcegroups/%s", subscription, group));
}

void arm_group_add(struct arm *arm, const char *subscription, const char *group)
{
    struct arena *a = arena_new();
    char *key = group_key(a, subscription, group);
    if (!map_has(arm->groups, key)) {
        map_set(arm->groups, key, xstrdup(group));
    }
    arena_free(a);
}

void arm_group_remove(struct arm *arm, const char *subscription, const char *group)
{
    struct arena *a = arena_new();
    (void)map_remove(arm->groups, group_key(a, subscription, group));
    arena_free(a);
}

const char *arm_group_name(const struct arm *arm, const char *subscription, const char *group)
{
    struct arena *a = arena_new();
    const char *name = map_get(arm->groups, group_key(a, subscription, group));
    arena_free(a);
    return name ? name : group;
}

bool arm_group_known(const struct arm *arm, const char *subscription, const char *group)
{
    struct arena *a = arena_new();
    bool known = map_has(arm->groups, group_key(a, subscription, group));
    arena_free(a);
    return known;
}

bool arm_subscription_known(const struct arm *arm, const char *subscription)
{
    struct arena *a = arena_new();
    char *prefix = group_key(a, subscription, "");
    size_t n = 0;
    const char **keys = map_keys(arm->groups, &n);
    bool known = str_eq_nocase(subscription, arm->subscription);
    for (size_t i = 0; i < n && !known; i++) {
        known = str_has_prefix(keys[i], prefix);
    }
    free(keys);
    arena_free(a);
    return known;
}
