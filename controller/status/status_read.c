/* SPDX-License-Identifier: Apache-2.0 */
/* status_read.c: the JSON of another process's /status back into a view (status.h).
 *
 * What is absent is zero, what is unknown is skipped: the two need not be of one version.  Nothing
 * is trusted but its type. */
#include <string.h>

#include "common/base/timefmt.h"
#include "common/services/tell/inside.h"
#include "controller/status/status.h"

static int64_t moment(struct json_object *o, const char *name)
{
    const char *at = json_str(o, name);
    int64_t us = 0;

    return at != NULL && time_parse_rfc3339(at, &us) ? us : 0;
}

/* By its name, or by that which a process of an older version gives it. */
static int64_t twin_moment(struct json_object *o, const char *name, const char *older)
{
    int64_t us = moment(o, name);

    return us != 0 ? us : moment(o, older);
}

static enum board_state state_of(const char *word)
{
    for (int i = 0; i < STATUS_STATES; i++) {
        if (str_eq(board_state_word((enum board_state)i), word)) {
            return (enum board_state)i;
        }
    }
    return BOARD_WAITING;
}

static unsigned count(struct json_object *o, const char *name)
{
    int64_t n = json_int(o, name, 0);

    return n < 0 || n > INT32_MAX ? 0 : (unsigned)n;
}

static const char *member(struct json_object *o, const char *name)
{
    return str_nonnull(json_str(o, name));
}

/* A list of texts as lines. */
static const char *lines(struct json_object *list, struct arena *a)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    for (size_t i = 0; i < json_len(list); i++) {
        const char *line = json_object_get_string(json_object_array_get_idx(list, i));
        str_append(&b, str_nonnull(line));
        str_append_c(&b, '\n');
    }
    return str_buf_to_arena(&b, a);
}

static void read_conditions(struct json_object *list, struct arena *a, struct status_service *s)
{
    size_t n = json_len(list);
    struct tt_condition *all = ARENA_ARRAY(a, struct tt_condition, n);

    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        all[i] = (struct tt_condition){.type = member(o, "type"),
                                       .status = member(o, "status"),
                                       .reason = member(o, "reason"),
                                       .message = member(o, "message")};
    }
    s->conditions = all;
    s->n_conditions = (uint32_t)n;
}

/* An unknown code, of another version, still counts as a failure. */
static int32_t code_of(struct json_object *failure)
{
    int code = failure == NULL ? TT_OK : err_code_parse(json_str(failure, "code"));

    return failure != NULL && code <= TT_OK ? TT_TRANSIENT : code;
}

static void read_service(struct json_object *o, struct arena *a, struct status_service *s)
{
    struct json_object *failure = json_member(o, "error");
    struct json_object *pending = json_member(o, "pending");

    s->address = member(o, "address");
    s->row = (struct board_row){
        .key = member(o, "service"),
        .kind = member(o, "kind"),
        .state = state_of(json_str(o, "state")),
        .verb = member(o, "verb"),
        .synced_us = twin_moment(o, "last_sync", "lastSync"),
        .began_us = twin_moment(o, "syncing_since", "syncingSince"),
        .next_us = twin_moment(o, "next_try", "nextTry"),
        .took_ms = json_int(o, "took_ms", json_int(o, "tookMs", 0)),
        .calls = count(o, "calls"),
        .code = code_of(failure),
        .message = member(failure, "message"),
        .failing_us = moment(failure, "since"),
        .failures = count(failure, "failures"),
        .create = count(pending, "create"),
        .change = count(pending, "change"),
        .delete_ = count(pending, "delete"),
        .plan = member(pending, "plan"),
        .findings = lines(json_member(o, "findings"), a),
        .serves_nobody = member(o, "serves_nobody"),
        .left = lines(json_member(o, "left"), a),
    };
    read_conditions(json_member(o, "conditions"), a, s);
}

/* Of a Service that was asked about by itself. */
static void read_inside(struct json_object *o, struct arena *a, struct status_view *v)
{
    struct json_object *list = NULL;

    if (!json_object_object_get_ex(o, "inside", &list)) {
        return;
    }
    v->endpoints = list == NULL ? STATUS_ENDPOINTS_UNWATCHED : STATUS_ENDPOINTS_KNOWN;
    v->inside = ks_inside_read(a, list);
}

static void read_services(struct json_object *o, struct arena *a, struct status_view *v)
{
    struct json_object *list = json_member(o, "services");

    v->n_services = json_len(list);
    v->services = ARENA_ARRAY(a, struct status_service, v->n_services);
    for (size_t i = 0; i < v->n_services; i++) {
        read_service(json_object_array_get_idx(list, i), a, &v->services[i]);
        v->by_state[v->services[i].row.state]++;
    }
    if (v->n_services == 1) {
        read_inside(json_object_array_get_idx(list, 0), a, v);
    }
}

static void read_work(struct json_object *o, struct arena *a, struct status_view *v)
{
    struct json_object *queue = json_member(o, "queue");
    struct json_object *batches = json_member(o, "batches");
    struct json_object *budgets = json_member(o, "budget");

    v->queue.waiting = count(queue, "waiting");
    v->queue.processing = count(queue, "processing");
    v->queue.delayed = count(queue, "delayed");
    v->at_rest = json_bool(queue, "at_rest", false);
    v->next_due_ms = json_int(queue, "next_due_seconds", -1);
    v->next_due_ms = v->next_due_ms < 0 || v->next_due_ms > INT32_MAX ? -1 : v->next_due_ms * 1000;
    v->n_batches = json_len(batches);
    v->batches = ARENA_ARRAY(a, struct board_batch, v->n_batches);
    for (size_t i = 0; i < v->n_batches; i++) {
        struct json_object *g = json_object_array_get_idx(batches, i);
        v->batches[i] = (struct board_batch){.batch_key = member(g, "key"),
                                             .n = count(g, "services"),
                                             .began_us = moment(g, "since")};
    }
    v->n_budgets = json_len(budgets);
    struct status_budget *all = ARENA_ARRAY(a, struct status_budget, v->n_budgets);
    for (size_t i = 0; i < v->n_budgets; i++) {
        struct json_object *g = json_object_array_get_idx(budgets, i);
        struct json_object *qps = json_member(g, "qps");
        all[i] = (struct status_budget){.api = member(g, "api"),
                                        .kind = str_nonnull(json_str(g, "kind")),
                                        .held = (uint64_t)json_int(g, "held", 0),
                                        .requests = (uint64_t)json_int(g, "requests", 0),
                                        .throttled = (uint64_t)json_int(g, "throttled", 0),
                                        .qps = qps == NULL ? 0 : json_object_get_double(qps),
                                        .burst = (int)count(g, "burst")};
    }
    v->budgets = all;
}

int status_read(struct json_object *o, struct arena *a, struct status_view *ret, struct err *err)
{
    struct json_object *leader = json_member(o, "leader");
    struct json_object *services = json_member(o, "services");

    if (leader == NULL || !json_object_is_type(services, json_type_array)) {
        return err_set(err, ERR_INVALID, "the answer is not the status of a trimtab");
    }
    *ret = (struct status_view){
        .version = member(o, "version"),
        .provider = member(o, "provider"),
        .cluster = member(o, "cluster"),
        .started_us = moment(o, "started"),
        .now_us = moment(o, "now"),
        .running = json_bool(o, "running", false),
        .leader = {.elects = json_bool(leader, "elects", false),
                   .leads = json_bool(leader, "leads", false),
                   .lease = member(leader, "lease"),
                   .holder = member(leader, "holder")},
    };
    read_services(o, a, ret);
    read_work(o, a, ret);
    return ERR_OK;
}
