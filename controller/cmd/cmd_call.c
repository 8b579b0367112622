/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_call.c: calls into the provider; see the header. */
#include "controller/cmd/cmd_call.h"

#include "common/lb/findings.h"
#include "common/lb/mark_rules.h"
#include "controller/sync/sync_internal.h"

uint32_t cmd_verb(const struct cmd_session *s, const struct tt_service *svc)
{
    const struct sync_scope scope = cmd_session_scope(s);
    bool ensures = scope_wants(&scope, svc) && svc->deleted_us == 0 && !cmd_session_is_gone(s, svc);
    return ensures ? TT_VERB_ENSURE : TT_VERB_DELETE;
}

static uint32_t flags_of(const struct cmd_session *s, const char *key)
{
    const struct sync_scope scope = cmd_session_scope(s);
    const struct tt_service *svc = cmd_session_service(s, key);
    const struct tt_service *previous = cmd_session_previous(s, key);
    enum mark mark = mark_of(s->a, previous == NULL ? svc : previous, s->plugin->desc.name);
    bool edits = previous != NULL && scope_is_edit(&scope, previous, svc);
    return (mark == MARK_MADE ? TT_ITEM_MADE : 0) |
           (mark != MARK_NONE || edits ? TT_ITEM_PUT_RIGHT : 0);
}

bool cmd_is_taken_over(const struct cmd_session *s, const char *key)
{
    const struct tt_service *svc = cmd_session_service(s, key);
    return cmd_verb(s, svc) == TT_VERB_ENSURE && lb_service_stands(svc) && flags_of(s, key) == 0;
}

/* The item as a sync would hand it over: an edit of a Service that the controller serves
 * is one here, too. */
static struct tt_item item_of(const struct cmd_session *s, const char *key)
{
    const struct sync_scope scope = cmd_session_scope(s);
    const struct tt_service *svc = cmd_session_service(s, key);
    const struct tt_service *previous = cmd_session_previous(s, key);
    uint32_t reasons = previous == NULL ? 0 : scope_reasons(&scope, previous, svc, true, NULL);
    uint32_t verb = cmd_verb(s, svc);
    return (struct tt_item){.size = sizeof(struct tt_item),
                            .verb = verb,
                            .reasons = reasons == 0 ? TT_REASON_RESYNC : reasons,
                            .service = svc,
                            .previous = previous,
                            .flags = verb == TT_VERB_ENSURE ? flags_of(s, key) : 0};
}

int cmd_validate(struct cmd_session *s, const char *key, struct err *err)
{
    if (s->plugin->desc.validate == NULL) {
        return ERR_OK;
    }
    struct host_call *call = host_call_begin(s->host, s->a, 1, cmd_wait_left_ms(s->wait), 0, NULL);
    struct tt_item item = item_of(s, key);
    host_call_item(call, 0, &item);
    host_call_enter(call, "validate");
    int32_t rc = s->plugin->desc.validate(s->provider, &item);
    int code = host_result_outcome(item.result, rc, false, err);
    host_call_end(call);
    return code;
}

bool cmd_validates(const struct cmd_session *s)
{
    const struct tt_provider *d = &s->plugin->desc;
    return d->validate != NULL && (d->capabilities & TT_CAP_CHECKS_ITSELF) == 0;
}

/* Another controller's class on what trimtab has only taken over, or never had: a sync does nothing
 * for it (docs/adr/0100). */
static bool is_left_to_others(const struct cmd_session *s, const char *key, struct err *err)
{
    const struct sync_scope scope = cmd_session_scope(s);
    const struct tt_service *svc = cmd_session_service(s, key);
    const struct tt_service *previous = cmd_session_previous(s, key);
    bool edited = previous != NULL && scope_wants(&scope, previous);
    if (!scope_is_foreign(&scope, svc) || svc->deleted_us != 0 || edited ||
        scope_needs_cleanup(&scope, svc)) {
        return false;
    }
    (void)err_set(err, ERR_IMPLEMENTED_ELSEWHERE,
                  "its loadBalancerClass %s is another controller's%s", svc->lb_class,
                  scope_holds(&scope, svc)
                      ? "; if it has a load balancer of ours, that stays until "
                        "the Service is deleted"
                      : "");
    return true;
}

int cmd_may_plan(struct cmd_session *s, const char *key, struct err *err)
{
    const struct tt_service *svc = cmd_session_service(s, key);
    if (is_left_to_others(s, key, err)) {
        return err->code;
    }
    return cmd_validates(s) && cmd_verb(s, svc) == TT_VERB_ENSURE ? cmd_validate(s, key, err)
                                                                  : ERR_OK;
}

const char *cmd_batch_key(const struct cmd_session *s, const char *key)
{
    const struct tt_provider *d = &s->plugin->desc;
    char text[SYNC_BATCH_KEY_MAX] = "";
    bool batches = d->batch_key != NULL && d->reconcile_batch != NULL;
    if (!batches ||
        d->batch_key(s->provider, cmd_session_service(s, key), text, sizeof(text)) != TT_OK) {
        return "";
    }
    text[sizeof(text) - 1] = '\0';
    return arena_strdup(s->a, text);
}

void cmd_call_batch(struct cmd_session *s, const struct cmd_batch *b, cmd_call_fn *fn)
{
    struct host_call *call =
        host_call_begin(s->host, s->a, (uint32_t)b->n, cmd_wait_left_ms(s->wait),
                        (uint32_t)(s->n_wanted - b->n), NULL);
    const struct tt_host *table = host_table(s->host);
    struct tt_item *all = ARENA_ARRAY(s->a, struct tt_item, b->n);
    const struct tt_item **items = ARENA_ARRAY(s->a, const struct tt_item *, b->n);
    struct tt_batch batch = {
        .size = sizeof batch, .key = b->key, .items = items, .n_items = (uint32_t)b->n};
    for (size_t i = 0; i < b->n; i++) {
        all[i] = item_of(s, b->services[i]);
        host_call_item(call, (uint32_t)i, &all[i]);
        table->slices(s->host, host_call_abi(call), all[i].service, &all[i].slices,
                      &all[i].n_slices, &all[i].has_slices);
        items[i] = &all[i];
    }
    host_call_nodes(call, &batch.nodes, &batch.n_nodes);
    host_call_enter(call, fn == s->plugin->desc.plan ? "plan" : "explain");
    int32_t rc = fn(s->provider, host_call_abi(call), &batch);
    for (size_t i = 0; i < b->n; i++) {
        b->said[i] = (struct cmd_said){.text = all[i].result->text,
                                       .rows = all[i].result->rows,
                                       .n_rows = all[i].result->n_rows};
        (void)host_result_outcome(all[i].result, rc, false, &b->errs[i]);
    }
    host_call_end(call);
}

int cmd_call(struct cmd_session *s, const char *key, cmd_call_fn *fn, struct cmd_said *ret,
             struct err *err)
{
    struct cmd_said said = {0};
    const struct cmd_batch one = {.key = "", .services = &key, .n = 1, .errs = err, .said = &said};
    cmd_call_batch(s, &one, fn);
    if (ret != NULL) {
        *ret = said;
    }
    return err->code;
}
