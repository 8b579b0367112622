/* SPDX-License-Identifier: Apache-2.0 */
/* lag.c: lists of public IPs that show a write some time later (setting `list_lag_ms`).
 *
 * Azure answers a list from a copy that lags behind: what was made, changed or deleted a moment ago
 * is missing, as it was, or still there, while the resource itself, read by its name, is right
 * (Azure/azure-cli issues 14482 and 17760).  A list shows each address as it was that time ago. */
#include "sim/arm/arm.h"

#include <stdlib.h>

#define PUBLIC_IPS "Microsoft.Network/publicIPAddresses"

/* One write that lists do not show yet. */
struct arm_lag {
    char *id;
    struct json_object *was; /* NULL: it was not there */
    int64_t until_ms;
    struct arm_lag *next; /* a later one */
};

static void lag_free(struct arm_lag *lag)
{
    free(lag->id);
    json_object_put(lag->was);
    free(lag);
}

void arm_lag_done(struct arm *arm)
{
    while (arm->lag != NULL) {
        struct arm_lag *next = arm->lag->next;
        lag_free(arm->lag);
        arm->lag = next;
    }
}

void arm_lag_note(struct arm *arm, const char *id)
{
    int64_t lag_ms = json_int(arm->settings, "list_lag_ms", 0);
    struct arena *a = arena_new();
    bool lags = lag_ms > 0 && str_eq_nocase(arm_id_type(a, id), PUBLIC_IPS);
    arena_free(a);
    if (!lags) {
        return;
    }
    const struct arm_resource *res = arm_get(arm, id);
    struct arm_lag *lag = xcalloc(1, sizeof(*lag));
    lag->id = xstrdup(id);
    lag->was = res != NULL ? arm_view(res) : NULL;
    lag->until_ms = clock_now_ms(sim_clock(arm->sim)) + lag_ms;
    struct arm_lag **end = &arm->lag;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = lag;
}

static void drop_old(struct arm *arm)
{
    while (arm->lag != NULL && arm->lag->until_ms <= clock_now_ms(sim_clock(arm->sim))) {
        struct arm_lag *next = arm->lag->next;
        lag_free(arm->lag);
        arm->lag = next;
    }
}

/* An earlier write of the same address counts: the list shows what was before that. */
static bool is_first(const struct arm *arm, const struct arm_lag *lag)
{
    const struct arm_lag *one = arm->lag;
    while (one != lag && !str_eq_nocase(one->id, lag->id)) {
        one = one->next;
    }
    return one == lag;
}

static void take_out(struct json_object *items, const char *id)
{
    for (size_t i = 0; i < json_len(items); i++) {
        if (str_eq_nocase(json_str(json_object_array_get_idx(items, i), "id"), id)) {
            json_object_array_del_idx(items, i, 1);
            return;
        }
    }
}

void arm_lag_apply(struct arm *arm, const char *type, const char *above, struct json_object *items)
{
    drop_old(arm);
    for (struct arm_lag *lag = arm->lag; lag != NULL && str_eq_nocase(type, PUBLIC_IPS);
         lag = lag->next) {
        if (!is_first(arm, lag) || !arm_id_is_below(lag->id, above)) {
            continue;
        }
        take_out(items, lag->id);
        if (lag->was != NULL) {
            (void)json_object_array_add(items, json_object_get(lag->was));
        }
    }
}
