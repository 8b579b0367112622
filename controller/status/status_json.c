/* SPDX-License-Identifier: Apache-2.0 */
/* status_json.c: the view of status.h as JSON, written straight into the answer: thousands of
 * Services never become a tree.  Members are always there, so that programs need not ask; moments
 * are RFC 3339 or null.  Members were written in camelCase once: each of these stays beside its
 * twin in snake_case. */
#include "controller/status/status.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/timefmt.h"
#include "common/services/tell/inside.h"

static void text(struct str_buf *b, const char *name, const char *value)
{
    str_appendf(b, "\"%s\": ", name);
    str_append_json_visible(b, value);
}

static void moment(struct str_buf *b, const char *name, int64_t wall_us)
{
    char at[32];

    if (wall_us == 0) {
        str_appendf(b, "\"%s\": null", name);
        return;
    }
    time_format_rfc3339(wall_us, at);
    str_appendf(b, "\"%s\": \"%s\"", name, at);
}

static void twin_moments(struct str_buf *b, const char *name, const char *older, int64_t wall_us)
{
    moment(b, name, wall_us);
    str_append(b, ", ");
    moment(b, older, wall_us);
    str_append(b, ", ");
}

static void conditions(struct str_buf *b, const struct status_service *s)
{
    str_append(b, "\"conditions\": [");
    for (uint32_t i = 0; i < s->n_conditions; i++) {
        const struct tt_condition *c = &s->conditions[i];
        str_append(b, i > 0 ? ", {" : "{");
        text(b, "type", str_nonnull(c->type));
        str_append(b, ", ");
        text(b, "status", str_nonnull(c->status));
        str_append(b, ", ");
        text(b, "reason", str_nonnull(c->reason));
        str_append(b, ", ");
        text(b, "message", str_nonnull(c->message));
        str_append_c(b, '}');
    }
    str_append_c(b, ']');
}

static void failure(struct str_buf *b, const struct board_row *r)
{
    if (r->code == TT_OK) {
        str_append(b, "\"error\": null");
        return;
    }
    str_append(b, "\"error\": {");
    text(b, "code", err_code_name(r->code));
    str_append(b, ", ");
    text(b, "message", r->message);
    str_append(b, ", ");
    moment(b, "since", r->failing_us);
    str_appendf(b, ", \"failures\": %u}", r->failures);
}

/* Each line of the text. */
static void texts(struct str_buf *b, const char *member, const char *lines)
{
    str_appendf(b, "\"%s\": [", member);
    for (const char *at = lines; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
        str_append_n(&line, at, n);
        str_append(b, at > lines ? ", " : "");
        str_append_json_visible(b, str_buf_text(&line));
        at += n + (at[n] == '\n' ? 1 : 0);
    }
    str_append(b, "], ");
}

static void service(struct str_buf *b, const struct status_service *s)
{
    const struct board_row *r = &s->row;

    str_append(b, "\n    {");
    text(b, "service", r->key);
    str_append(b, ", ");
    text(b, "state", board_state_word(r->state));
    str_append(b, ", ");
    text(b, "kind", r->kind);
    str_append(b, ", ");
    text(b, "address", s->address);
    str_append(b, ", ");
    text(b, "verb", r->verb);
    str_append(b, ", ");
    twin_moments(b, "last_sync", "lastSync", r->synced_us);
    str_appendf(b, "\"took_ms\": %" PRId64 ", \"tookMs\": %" PRId64 ", \"calls\": %u, ", r->took_ms,
                r->took_ms, r->calls);
    twin_moments(b, "syncing_since", "syncingSince", r->began_us);
    twin_moments(b, "next_try", "nextTry", r->next_us);
    failure(b, r);
    str_appendf(b, ", \"pending\": {\"create\": %u, \"change\": %u, \"delete\": %u, ", r->create,
                r->change, r->delete_);
    text(b, "plan", r->plan);
    str_append(b, "}, ");
    texts(b, "findings", r->findings);
    text(b, "serves_nobody", r->serves_nobody);
    str_append(b, ", ");
    if (!str_is_empty(r->left)) {
        texts(b, "left", r->left);
    }
    conditions(b, s);
}

/* Behind the one Service that is asked about: null without a watch of endpoints, [] without an
 * EndpointSlice. */
static void inside(struct str_buf *b, const struct status_view *v)
{
    if (v->endpoints == STATUS_ENDPOINTS_UNREAD) {
        return;
    }
    str_append(b, ", \"inside\": ");
    if (v->endpoints == STATUS_ENDPOINTS_UNWATCHED || v->inside == NULL) {
        str_append(b, v->endpoints == STATUS_ENDPOINTS_UNWATCHED ? "null" : "[]");
        return;
    }
    struct json_object *list = ks_inside_json(v->inside);
    json_print(b, list, JSON_PRETTY);
    json_object_put(list);
}

static void leader(struct str_buf *b, const struct status_leader *l)
{
    str_appendf(b, "  \"leader\": {\"elects\": %s, \"leads\": %s, ", l->elects ? "true" : "false",
                l->leads ? "true" : "false");
    text(b, "lease", str_nonnull(l->lease));
    str_append(b, ", ");
    text(b, "holder", str_nonnull(l->holder));
    str_append(b, "},\n");
}

static void numbers(struct str_buf *b, const struct status_view *v, const struct status_filter *f)
{
    size_t by_state[STATUS_STATES];

    (void)status_count(v, f, by_state); /* the sum is not printed */
    str_append(b, "  \"summary\": {");
    for (int i = 0; i < STATUS_STATES; i++) {
        const char *word = board_state_word((enum board_state)i);
        str_appendf(b, "%s\"%c%s\": %zu, \"%s\": %zu", i > 0 ? ", " : "", word[0] - 'A' + 'a',
                    word + 1, by_state[i], word, by_state[i]);
    }
    str_appendf(b, "},\n  \"queue\": {\"waiting\": %zu, \"processing\": %zu, \"delayed\": %zu, ",
                v->queue.waiting, v->queue.processing, v->queue.delayed);
    str_appendf(b, "\"at_rest\": %s", v->at_rest ? "true" : "false");
    if (v->next_due_ms >= 0) {
        str_appendf(b, ", \"next_due_seconds\": %" PRId64, (v->next_due_ms + 999) / 1000);
    }
    str_append(b, "},\n");
    str_append(b, "  \"batches\": [");
    for (size_t i = 0; i < v->n_batches; i++) {
        str_append(b, i > 0 ? ", {" : "{");
        text(b, "key", v->batches[i].batch_key);
        str_appendf(b, ", \"services\": %zu, ", v->batches[i].n);
        moment(b, "since", v->batches[i].began_us);
        str_append_c(b, '}');
    }
    str_append(b, "],\n  \"budget\": [");
    for (size_t i = 0; i < v->n_budgets; i++) {
        const struct status_budget *g = &v->budgets[i];
        str_append(b, i > 0 ? ", {" : "{");
        text(b, "api", g->api);
        if (*g->kind != '\0') {
            str_append(b, ", ");
            text(b, "kind", g->kind);
            str_appendf(b, ", \"held\": %" PRIu64, g->held);
        }
        str_appendf(b,
                    ", \"requests\": %" PRIu64 ", \"throttled\": %" PRIu64
                    ", \"qps\": %g, \"burst\": %d}",
                    g->requests, g->throttled, g->qps, g->burst);
    }
    str_append(b, "],\n");
}

void status_json(struct str_buf *b, const struct status_view *v, const struct status_filter *f)
{
    size_t shown = 0;
    size_t left = 0;

    str_appendf(b, "{\n  \"format_version\": %d, ", JSON_FORMAT_VERSION);
    text(b, "version", v->version);
    str_append(b, ", ");
    text(b, "provider", v->provider);
    str_append(b, ", ");
    text(b, "cluster", v->cluster);
    str_append(b, ", ");
    moment(b, "started", v->started_us);
    str_append(b, ", ");
    moment(b, "now", v->now_us);
    str_appendf(b, ", \"running\": %s,\n", v->running ? "true" : "false");
    leader(b, &v->leader);
    numbers(b, v, f);
    str_append(b, "  \"services\": [");
    for (size_t i = 0; i < v->n_services; i++) {
        if (!status_shows(f, &v->services[i])) {
            continue;
        }
        if (f->most != 0 && shown == f->most) {
            left++;
            continue;
        }
        str_append(b, shown++ > 0 ? "," : "");
        service(b, &v->services[i]);
        if (f->service != NULL) {
            inside(b, v);
        }
        str_append_c(b, '}');
    }
    str_appendf(b, "%s],\n  \"not_shown\": %zu, \"notShown\": %zu\n}\n", shown > 0 ? "\n  " : "",
                left, left);
}
