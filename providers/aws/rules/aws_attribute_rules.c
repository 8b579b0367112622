/* SPDX-License-Identifier: Apache-2.0 */
/* aws_attribute_rules.c: see aws_attribute_rules.h, and aws_rules.h for the differences.
 *
 * Only what the controller sets is compared, so that attributes which AWS adds, or a person sets by
 * hand, neither cost a call nor are lost (docs/spec/aws.md 4.8, 5.8, 5.10, 13 row 10). */
#include "providers/aws/rules/aws_attribute_rules.h"

#include "common/base/str.h"
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_rules.h"

#define IDLE_TIMEOUT_S 60

/* An empty value is an absent one here, other than in health checks. */
static int filled_i32(const struct tt_service *s, const char *name, int32_t *ret, struct err *err)
{
    return aws_annotation_filled(s, name) == NULL ? ERR_OK
                                                  : aws_annotation_i32(s, name, 0, ret, err);
}

static int flag(const struct tt_service *s, const char *name, int *ret, struct err *err)
{
    bool on = false;
    int rc = aws_annotation_bool(s, name, &on, err);
    *ret = on ? 1 : 0;
    return rc;
}

int aws_classic_attributes(const struct tt_service *s, struct aws_classic_attributes *ret,
                           struct err *err)
{
    struct aws_classic_attributes out = {
        .emit_interval = -1,
        .bucket = aws_annotation_filled(s, "access-log-s3-bucket-name"),
        .prefix = aws_annotation_filled(s, "access-log-s3-bucket-prefix"),
        .draining_timeout = -1,
        .idle_timeout = IDLE_TIMEOUT_S};
    int rc = flag(s, "access-log-enabled", &out.access_log, err);
    if (rc == ERR_OK) {
        rc = filled_i32(s, "access-log-emit-interval", &out.emit_interval, err);
    }
    if (rc == ERR_OK) {
        rc = flag(s, "connection-draining-enabled", &out.draining, err);
    }
    if (rc == ERR_OK) {
        rc = filled_i32(s, "connection-draining-timeout", &out.draining_timeout, err);
    }
    if (rc == ERR_OK) {
        rc = filled_i32(s, "connection-idle-timeout", &out.idle_timeout, err);
    }
    if (rc == ERR_OK) {
        rc = flag(s, "cross-zone-load-balancing-enabled", &out.cross_zone, err);
    }
    if (rc == ERR_OK) {
        *ret = out;
    }
    return rc;
}

static const char *word(bool on)
{
    return on ? "true" : "false";
}

int aws_nlb_attributes(struct arena *a, const struct tt_service *s, struct aws_tags *ret,
                       struct err *err)
{
    bool logs = false;
    bool cross_zone = false;
    int rc = aws_annotation_bool(s, "cross-zone-load-balancing-enabled", &cross_zone, err);
    if (rc == ERR_OK) {
        rc = aws_annotation_bool(s, "access-log-enabled", &logs, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, 4);
    size_t n = 0;
    if (logs) {
        items[n++] = (struct aws_tag){AWS_ATTRIBUTE_BUCKET,
                                      str_nonnull(aws_annotation(s, "access-log-s3-bucket-name"))};
    }
    items[n++] = (struct aws_tag){AWS_ATTRIBUTE_LOGS, word(logs)};
    if (logs) {
        items[n++] = (struct aws_tag){
            AWS_ATTRIBUTE_PREFIX, str_nonnull(aws_annotation(s, "access-log-s3-bucket-prefix"))};
    }
    items[n++] = (struct aws_tag){AWS_ATTRIBUTE_CROSS_ZONE, word(cross_zone)};
    *ret = (struct aws_tags){.items = items, .n = n};
    return ERR_OK;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* A missing attribute counts as "" with `missing_is_empty`; else it differs when `send_unknown`. */
static struct aws_tags diff(struct arena *a, const struct aws_tags *wanted,
                            const struct aws_tags *actual, bool missing_is_empty, bool send_unknown)
{
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, wanted->n);
    size_t n = 0;
    for (size_t i = 0; i < wanted->n; i++) {
        const char *is = aws_tag(actual, wanted->items[i].key);
        bool differs = is != NULL || missing_is_empty
                           ? !str_eq(str_nonnull(is), wanted->items[i].value)
                           : send_unknown;
        if (differs) {
            items[n++] = wanted->items[i];
        }
    }
    return (struct aws_tags){.items = n > 0 ? items : NULL, .n = n};
}

struct aws_tags aws_nlb_attributes_diff(struct arena *a, const struct aws_tags *wanted,
                                        const struct aws_tags *actual)
{
    return diff(a, wanted, actual, true, false);
}

struct aws_tags aws_group_attributes_diff(struct arena *a, const struct aws_tags *wanted,
                                          const struct aws_tags *actual, bool send_unknown)
{
    return diff(a, wanted, actual, false, send_unknown);
}

/* Those of a target group of instances for which nothing was asked. */
static const struct aws_tag group_defaults[] = {
    {AWS_ATTRIBUTE_KEEPS_CLIENT_IP, "true"},
    {"proxy_protocol_v2.enabled", "false"},
};

struct aws_tags aws_group_attributes_asked(struct arena *a, const struct aws_service *now,
                                           const struct aws_service *before, bool sees_clients)
{
    const struct aws_tags *named = &now->group_attributes;
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, named->n + ARRAY_LEN(group_defaults));
    size_t n = 0;
    for (; n < named->n; n++) {
        items[n] = named->items[n];
    }
    for (size_t i = 0; i < ARRAY_LEN(group_defaults); i++) {
        const char *key = group_defaults[i].key;
        bool was = before != NULL && before->kind == AWS_NLB &&
                   aws_tag(&before->group_attributes, key) != NULL;
        bool needed = sees_clients && str_eq(key, AWS_ATTRIBUTE_KEEPS_CLIENT_IP);
        if ((was || needed) && aws_tag(named, key) == NULL) {
            items[n++] = group_defaults[i];
        }
    }
    return (struct aws_tags){.items = items, .n = n};
}
