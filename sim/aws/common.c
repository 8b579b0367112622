/* SPDX-License-Identifier: Apache-2.0 */
/* common.c: what the actions of all services need: ids, settings, lists, tags, and who uses a
 * security group.
 *
 * Ids come from the simulator's seeded randomness, so the same start gives the same ids.
 * Source: docs/spec/aws.md §3.4, §9.3. */
#include "sim/aws/aws.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* --- ids, names, time ------------------------------------------------------------------------- */

char *amz_new_hex(struct aws *aws, struct arena *a, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_alloc(a, n + 1);
    for (size_t i = 0; i < n; i++) {
        text[i] = digits[rng_below(sim_rng(aws->sim), 16)];
    }
    return text;
}

char *amz_new_id(struct aws *aws, struct arena *a, const char *prefix)
{
    char *id;
    do {
        id = arena_printf(a, "%s%s%s", prefix, str_has_suffix(prefix, "-") ? "" : "-",
                          amz_new_hex(aws, a, 17));
    } while (sim_id_is_loaded(aws->sim, id));
    return id;
}

char *amz_arn(struct aws *aws, struct arena *a, const char *service, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *rest = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return arena_printf(a, "arn:aws:%s:%s:" AMZ_ACCOUNT ":%s", service, aws->region, rest);
}

int64_t amz_wall_s(const struct aws *aws)
{
    return clock_wall_s(sim_clock(aws->sim)) + amz_setting(aws, "clock_offset_s", 0);
}

char *amz_now(struct aws *aws, struct arena *a)
{
    char text[32];
    time_format_rfc3339(amz_wall_s(aws) * 1000000, text);
    return arena_strdup(a, text);
}

void amz_add_date(const struct aws *aws, struct sim_call *call)
{
    char date[64];
    time_t now = (time_t)amz_wall_s(aws);
    struct tm tm;
    gmtime_r(&now, &tm);
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    http_req_add_header(call->req, "Date", date);
}

/* --- settings --------------------------------------------------------------------------------- */

int64_t amz_setting(const struct aws *aws, const char *name, int64_t otherwise)
{
    return json_int(aws->settings, name, otherwise);
}

int64_t amz_quota(const struct aws *aws, const char *name, int64_t otherwise)
{
    const struct sim_config *cfg = sim_cfg(aws->sim);
    size_t n = strlen(name);
    for (size_t i = 0; i < cfg->n_quotas; i++) {
        const char *quota = cfg->quotas[i];
        if (strncasecmp(quota, name, n) == 0 && quota[n] == '=') {
            (void)!str_to_i64(quota + n + 1, &otherwise);
        }
    }
    return json_int(json_member(aws->settings, "quotas"), name, otherwise);
}

/* --- lists ------------------------------------------------------------------------------------ */

struct json_object *amz_list(struct json_object *o, const char *name)
{
    struct json_object *list = json_member(o, name);
    if (!json_object_is_type(list, json_type_array)) {
        list = json_object_new_array();
        json_object_object_add(o, name, list);
    }
    return list;
}

struct json_object *amz_find(struct json_object *list, const char *member, const char *text,
                             size_t *ret_i)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        if (str_eq(json_str(o, member), text)) {
            if (ret_i) {
                *ret_i = i;
            }
            return o;
        }
    }
    return NULL;
}

struct json_object *amz_item(struct json_object *list)
{
    return json_len(list) > 0 ? json_object_array_get_idx(list, 0) : NULL;
}

bool amz_has_text(struct json_object *list, const char *text)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        if (json_object_is_type(o, json_type_string) && str_eq(json_object_get_string(o), text)) {
            return true;
        }
    }
    return false;
}

void amz_remove_at(struct json_object *list, size_t i)
{
    (void)json_object_array_del_idx(list, i, 1);
}

/* --- tags ------------------------------------------------------------------------------------- */

const char *amz_tag(struct json_object *tags, const char *key)
{
    struct json_object *tag = amz_find(tags, "Key", key, NULL);
    return tag ? str_nonnull(json_str(tag, "Value")) : NULL;
}

void amz_tags_put(struct json_object *tags, struct json_object *from)
{
    for (size_t i = 0; i < json_len(from); i++) {
        struct json_object *tag = json_object_array_get_idx(from, i);
        struct json_object *have = amz_find(tags, "Key", json_str(tag, "Key"), NULL);
        if (!have) {
            have = json_object_new_object();
            json_add_str(have, "Key", json_str(tag, "Key"));
            json_object_array_add(tags, have);
        }
        json_object_object_add(have, "Value",
                               json_object_new_string(str_nonnull(json_str(tag, "Value"))));
    }
}

void amz_tags_drop(struct json_object *tags, const char *key, const char *value)
{
    size_t i;
    struct json_object *tag = amz_find(tags, "Key", key, &i);
    if (tag && (!value || str_eq(str_nonnull(json_str(tag, "Value")), value))) {
        amz_remove_at(tags, i);
    }
}

bool amz_tags_check(struct amz_request *q, struct json_object *from, struct json_object *have,
                    size_t most)
{
    bool ec2 = q->service == AMZ_EC2;
    size_t added = 0;
    for (size_t i = 0; i < json_len(from); i++) {
        const char *key = json_str(json_object_array_get_idx(from, i), "Key");
        size_t first = 0;
        if (str_is_empty(key)) {
            return amz_refuse_value(q, "Tag keys must not be empty.");
        }
        if (str_has_prefix(key, "aws:")) {
            return amz_refuse_value(
                q, "Tag keys starting with 'aws:' are reserved for internal use: %s", key);
        }
        (void)amz_find(from, "Key", key, &first);
        if (first != i) {
            return amz_declares(q, "DuplicateTagKeys")
                       ? amz_refuse(q, "DuplicateTagKeys", "Duplicate tag key '%s'", key)
                       : amz_refuse_value(q, "Duplicate tag key '%s' specified.", key);
        }
        added += !amz_tag(have, key);
    }
    if (json_len(have) + added > (size_t)amz_quota(q->aws, "tags", (int64_t)most)) {
        return amz_refuse(q, ec2 ? "TagLimitExceeded" : "TooManyTags",
                          "The quota for the number of tags is exceeded");
    }
    return true;
}

/* --- groups in use ---------------------------------------------------------------------------- */

/* The resource that lists the group, as texts or as {"GroupId"}; NULL: none. */
static const char *user_among(const struct aws *aws, enum amz_kind_id kind, const char *member,
                              const char *group_id)
{
    for (struct amz_resource *r = amz_first(aws, kind); r; r = r->next) {
        struct json_object *list = json_member(r->body, member);
        bool gone = str_eq(json_str(json_member(r->body, "State"), "Name"), "terminated");
        if (!gone && (amz_has_text(list, group_id) || amz_find(list, "GroupId", group_id, NULL))) {
            return r->id;
        }
    }
    return NULL;
}

const char *amz_group_user(const struct aws *aws, const char *group_id)
{
    static const struct {
        enum amz_kind_id kind;
        const char *member;
    } users[] = {
        {AMZ_INSTANCE, "SecurityGroups"},
        {AMZ_INTERFACE, "Groups"},
        {AMZ_CLASSIC, "SecurityGroups"},
        {AMZ_LOAD_BALANCER, "SecurityGroups"},
    };
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        const char *user = user_among(aws, users[i].kind, users[i].member, group_id);
        if (user) {
            return user;
        }
    }
    return amz_is_held(aws, group_id) ? "a network interface that is being deleted" : NULL;
}

void amz_groups_hold(struct aws *aws, struct json_object *group_ids)
{
    amz_hold(aws, "group_release_ms", group_ids);
}

void amz_hold(struct aws *aws, const char *setting, struct json_object *ids)
{
    int64_t ms = amz_setting(aws, setting, 0);
    for (size_t i = 0; ms > 0 && i < json_len(ids); i++) {
        int64_t *until = xcalloc(1, sizeof(*until));
        *until = clock_now_ms(sim_clock(aws->sim)) + ms;
        map_set(aws->held, json_object_get_string(json_object_array_get_idx(ids, i)), until);
    }
}

bool amz_is_held(const struct aws *aws, const char *id)
{
    const int64_t *until = map_get(aws->held, id);
    return until && clock_now_ms(sim_clock(aws->sim)) < *until;
}
