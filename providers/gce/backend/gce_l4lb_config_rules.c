/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4lb_config_rules.c: see gce_l4lb_config_rules.h.  First fault wins: mode and
 * fields, then the rate. */
#include "providers/gce/backend/gce_l4lb_config_rules.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_l4_rules.h"

#define RATE_MAX     1000000 /* spec.logging.sampleRate: a million is all of it */
#define MODE_CUSTOM  "CUSTOM"
#define MODE_DEFAULT "EXCLUDE_ALL_OPTIONAL"

const char *gce_log_config_name(const struct tt_service *s)
{
    const char *name = svc_annotation(s, GCE_ANN_L4LB_CONFIG);
    return str_is_empty(name) ? NULL : name;
}

/* ---- reading --------------------------------------------------------------------------------- */
static bool is_mode(const char *mode)
{
    return str_eq(mode, "INCLUDE_ALL_OPTIONAL") || str_eq(mode, MODE_DEFAULT) ||
           str_eq(mode, MODE_CUSTOM);
}

static struct gce_log_verdict wrong(enum gce_log_state state, const char *message)
{
    return (struct gce_log_verdict){.state = state, .message = message};
}

static struct gce_strs fields_of(struct arena *a, struct json_object *list)
{
    struct gce_strs s = {.items = ARENA_ARRAY(a, const char *, json_len(list))};
    for (size_t i = 0; i < json_len(list); i++) {
        const char *field = json_object_get_string(json_object_array_get_idx(list, i));
        s.items[s.n++] = arena_strdup(a, str_nonnull(field));
    }
    return s;
}

/* Where the definition of the kind lets nothing else through, a wrong type is a wrong value
 * all the same. */
static bool has_type(struct json_object *o, const char *name, enum json_type type)
{
    struct json_object *member = json_member(o, name);
    return member == NULL || json_object_is_type(member, type);
}

static struct gce_log_verdict read_logging(struct arena *a, struct json_object *o)
{
    if (!has_type(o, "optionalMode", json_type_string) ||
        !has_type(o, "optionalFields", json_type_array)) {
        return wrong(GCE_LOG_BAD_MODE, "optionalMode or optionalFields is of another type");
    }
    const char *mode = arena_strdup(a, str_or(json_str(o, "optionalMode"), MODE_DEFAULT));
    struct gce_strs fields = fields_of(a, json_member(o, "optionalFields"));
    bool custom = str_eq(mode, MODE_CUSTOM);
    if (!is_mode(mode)) {
        return wrong(GCE_LOG_BAD_MODE, arena_printf(a, "optionalMode \"%s\" is not known", mode));
    }
    if (custom != (fields.n > 0)) {
        return wrong(
            GCE_LOG_BAD_MODE,
            custom ? "optionalMode CUSTOM needs optionalFields"
                   : arena_printf(a, "optionalFields need optionalMode CUSTOM, not %s", mode));
    }
    int64_t rate = json_int(o, "sampleRate", RATE_MAX);
    if (!has_type(o, "sampleRate", json_type_int) || rate < 0 || rate > RATE_MAX) {
        return wrong(GCE_LOG_BAD_VALUE, "sampleRate is not between 0 and 1000000");
    }
    if (!has_type(o, "enabled", json_type_boolean)) {
        return wrong(GCE_LOG_BAD_VALUE, "enabled is neither true nor false");
    }
    return (struct gce_log_verdict){
        .state = GCE_LOG_MANAGED,
        .log = {.enable = json_bool(o, "enabled", false),
                .rate = (double)rate / RATE_MAX,
                .mode = mode,
                .fields = fields},
    };
}

void gce_log_read(struct arena *a, struct json_object *object, struct gce_log_verdict *ret)
{
    struct json_object *logging = json_path(object, "spec.logging");
    *ret = json_object_is_type(logging, json_type_object) ? read_logging(a, logging)
                                                          : (struct gce_log_verdict){0};
}

const struct gce_l4_log *gce_log_of(const struct gce_log_verdict *v)
{
    return v->state == GCE_LOG_MANAGED ? &v->log : NULL;
}

/* ---- findings -------------------------------------------------------------------------------- */
static const struct tt_condition *condition_now(const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_conditions; i++) {
        if (str_eq(s->conditions[i].type, GCE_LOG_CONDITION)) {
            return &s->conditions[i];
        }
    }
    return NULL;
}

static const char *reason_of(enum gce_log_state state)
{
    static const char *const reasons[] = {
        [GCE_LOG_UNMANAGED] = "Unmanaged", [GCE_LOG_MANAGED] = "Reconciled",
        [GCE_LOG_MISSING] = "Missing",     [GCE_LOG_FETCH_FAILED] = "Error",
        [GCE_LOG_BAD_MODE] = "Invalid",    [GCE_LOG_BAD_VALUE] = "Invalid",
    };
    return reasons[state];
}

bool gce_log_condition(const struct tt_service *s, const struct gce_log_verdict *v,
                       const char *failure, struct tt_condition *ret)
{
    bool managed = v->state == GCE_LOG_MANAGED;
    if (v->state == GCE_LOG_UNMANAGED && condition_now(s) == NULL) {
        return false;
    }
    bool met = managed && failure == NULL;
    *ret = (struct tt_condition){
        .type = GCE_LOG_CONDITION,
        .status = met ? "True" : "False",
        .reason = managed && !met ? "Error" : reason_of(v->state),
        .message = str_nonnull(managed ? failure : v->message),
    };
    return true;
}

static const char *event_reason(enum gce_log_state state)
{
    switch (state) {
    case GCE_LOG_MISSING:
        return "L4LBConfigNotFound";
    case GCE_LOG_FETCH_FAILED:
        return "L4LBConfigFetchFailed";
    case GCE_LOG_BAD_MODE:
        return "L4LBConfigInvalidMode";
    case GCE_LOG_BAD_VALUE:
        return "L4LBConfigUnknownError";
    case GCE_LOG_UNMANAGED:
    case GCE_LOG_MANAGED:
        break;
    }
    return NULL;
}

/* Until a moment ago a config was named: the condition still says so. */
static bool was_removed(const struct tt_service *s, const struct gce_log_verdict *v)
{
    const struct tt_condition *now = condition_now(s);
    return v->state == GCE_LOG_UNMANAGED && gce_log_config_name(s) == NULL && now != NULL &&
           !str_eq(now->reason, reason_of(GCE_LOG_UNMANAGED));
}

const char *gce_log_event(struct arena *a, const struct tt_service *s,
                          const struct gce_log_verdict *v, const char **ret_message)
{
    if (was_removed(s, v)) {
        *ret_message = "The annotation " GCE_ANN_L4LB_CONFIG
                       " is gone: logging stays as it is, and is no longer managed";
        return "L4LBConfigAnnotationRemoved";
    }
    const char *reason = event_reason(v->state);
    if (reason != NULL) {
        *ret_message =
            arena_printf(a, "L4LBConfig %s/%s: %s; logging stays as it is", str_nonnull(s->ns),
                         str_nonnull(v->config), str_nonnull(v->message));
    }
    return reason;
}
