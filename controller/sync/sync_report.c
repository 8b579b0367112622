/* SPDX-License-Identifier: Apache-2.0 */
/* sync_report.c: when a Service's condition and annotations of ours change (report_rules.h has
 * their texts).
 *
 * Gives bodies of patches; sync_kube.c sends them, joined with whatever else is written, so that a
 * report costs no request of its own unless nothing else is to be said.  What the Service says
 * already is not said again.  With the flags off nothing is added or brought up to date; what
 * stands there goes with the load balancer all the same. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "common/lb/status_rules.h"
#include "controller/kube/events/event_stable.h"
#include "controller/sync/sync_internal.h"

struct annotation {
    const char *key;
    const char *value; /* NULL: to be dropped */
};

/* The last ensure failed, and what was written of that may be newer than this sync's view. */
static bool had_failed(const struct sync_item *item)
{
    return item->known.half || item->known.refused;
}

/* NULL: it is so. */
static const char *annotations_body(const struct sync_item *item, const struct annotation *wanted,
                                    size_t n)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    bool changes = false;

    str_append(&b, "{\"metadata\":{\"annotations\":{");
    for (size_t i = 0; i < n; i++) {
        bool unseen = wanted[i].value == NULL && had_failed(item);
        if (!unseen && str_eq(wanted[i].value, svc_annotation(item->svc, wanted[i].key))) {
            continue;
        }
        str_append(&b, changes ? "," : "");
        str_append_json_quoted(&b, wanted[i].key);
        str_append(&b, ":");
        if (wanted[i].value != NULL) {
            str_append_json_quoted(&b, wanted[i].value);
        } else {
            str_append(&b, "null");
        }
        changes = true;
    }
    str_append(&b, "}}}");
    return changes ? str_buf_to_arena(&b, item->a) : NULL;
}

static size_t push(const char **ret, size_t n, const char *body)
{
    if (body != NULL) {
        ret[n++] = body;
    }
    return n;
}

static struct report_outcome outcome_of(const struct sync_item *item)
{
    bool failed = item->err.code != ERR_OK;
    const char *text = event_stable(item->a, item->err.message);

    return (struct report_outcome){
        .code = item->err.code,
        .message = !failed ? ""
                   : item->err.code == ERR_IN_PROGRESS
                       ? text
                       : arena_printf(item->a, "Error syncing load balancer: %s", text),
        .has_address = sync_stands(item),
        .stays = sync_owns(item, TT_OWN_STAYS),
        .generation = item->svc->generation,
    };
}

static const char *good_body(const struct sync_item *item)
{
    const struct report_outcome o = outcome_of(item);
    struct tt_condition c = report_condition(item->a, &o);
    const char *body = sync_condition_body(item, &c);

    c.last_transition_us = clock_wall_us(item->s->clock);
    return body == NULL && had_failed(item) ? condition_patch(item->a, &c) : body;
}

static size_t after_good(const struct sync_item *item, const char **ret)
{
    const struct tt_result *r = item->result;
    struct annotation wanted[2];
    size_t n_wanted = 0;
    size_t n = 0;

    if (item->s->conditions && item->todo == SYNC_ENSURE) {
        n = push(ret, n, good_body(item));
    }
    n = push(ret, n, sync_nobody_body(item));
    n = push(ret, n, item->todo == SYNC_ENSURE ? sync_former_gone_body(item) : NULL);
    if (!item->s->annotations) {
        return n;
    }
    if (r != NULL && r->planned > 0) {
        wanted[n_wanted++] = (struct annotation){
            LB_LAST_PLAN_ANNOTATION,
            report_last_plan(item->a, &r->changes, clock_wall_us(item->s->clock))};
    }
    if (item->todo == SYNC_ENSURE) { /* an update of its nodes does not fix the rest */
        wanted[n_wanted++] = (struct annotation){LB_LAST_ERROR_ANNOTATION, NULL};
    }
    return push(ret, n, annotations_body(item, wanted, n_wanted));
}

static size_t after_failure(const struct sync_item *item, int64_t delay_ms, const char **ret)
{
    const struct report_outcome o = outcome_of(item);
    size_t n = 0;

    if (item->s->conditions) {
        struct tt_condition c = report_condition(item->a, &o);
        n = push(ret, n, sync_condition_body(item, &c));
    }
    if (item->s->annotations && o.code != TT_IN_PROGRESS) {
        int64_t now_us = clock_wall_us(item->s->clock);
        const struct annotation wanted = {
            LB_LAST_ERROR_ANNOTATION,
            report_last_error(item->a, svc_annotation(item->svc, LB_LAST_ERROR_ANNOTATION),
                              o.message, now_us, now_us + delay_ms * 1000)};
        n = push(ret, n, annotations_body(item, &wanted, 1));
    }
    return push(ret, n, sync_nobody_body(item));
}

static size_t after_gone(const struct sync_item *item, const char **ret)
{
    static const struct annotation none[] = {{LB_LAST_PLAN_ANNOTATION, NULL},
                                             {LB_LAST_ERROR_ANNOTATION, NULL}};
    const struct tt_condition c = {.type = REPORT_CONDITION};
    size_t n = push(ret, 0, sync_condition_body(item, &c));

    n = push(ret, n, sync_nobody_gone_body(item));
    n = push(ret, n, sync_former_gone_body(item));
    return push(ret, n, annotations_body(item, none, ARRAY_LEN(none)));
}

bool sync_report_is_news(const struct sync_item *item)
{
    const struct report_outcome o = outcome_of(item);
    const struct tt_condition c = report_condition(item->a, &o);

    return sync_condition_body(item, &c) != NULL;
}

size_t sync_report_bodies(const struct sync_item *item, enum sync_report what, int64_t delay_ms,
                          const char **ret)
{
    switch (what) {
    case SYNC_REPORT_DONE:
        return after_good(item, ret);
    case SYNC_REPORT_FAILED:
        return after_failure(item, delay_ms, ret);
    case SYNC_REPORT_GONE:
        break;
    }
    return after_gone(item, ret);
}
