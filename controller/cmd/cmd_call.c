/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_call.c: one call into the provider; see the header. */
#include "controller/cmd/cmd_call.h"

#define CALL_MS 120000

uint32_t cmd_verb(const struct cmd_session *s, const struct tt_service *svc)
{
    const struct sync_scope scope = cmd_session_scope(s);
    bool ensures = scope_wants(&scope, svc) && svc->deleted_us == 0;
    return ensures ? TT_VERB_ENSURE : TT_VERB_DELETE;
}

int cmd_validate(struct cmd_session *s, const char *key, struct err *err)
{
    const struct tt_service *svc = cmd_session_service(s, key);
    if (s->plugin->desc.validate == NULL) {
        return ERR_OK;
    }
    struct host_call *call = host_call_begin(s->host, s->a, 1, CALL_MS, 0, NULL);
    struct tt_item item = {.size = sizeof item, .verb = cmd_verb(s, svc), .service = svc};
    host_call_item(call, 0, &item);
    int32_t rc = s->plugin->desc.validate(s->provider, &item);
    int code = host_result_outcome(item.result, rc, false, err);
    host_call_end(call);
    return code;
}

int cmd_call(struct cmd_session *s, const char *key,
             int32_t (*fn)(void *provider, const struct tt_call *call,
                           const struct tt_batch *batch),
             const char **ret_text, struct err *err)
{
    const struct tt_service *svc = cmd_session_service(s, key);
    struct host_call *call =
        host_call_begin(s->host, s->a, 1, CALL_MS, (uint32_t)s->n_wanted - 1, NULL);
    struct tt_item *item = ARENA_NEW(s->a, struct tt_item);
    struct tt_batch batch = {.size = sizeof batch, .key = "", .n_items = 1};
    const struct tt_item *items[] = {item};
    *item = (struct tt_item){.size = sizeof *item,
                             .verb = cmd_verb(s, svc),
                             .reasons = TT_REASON_RESYNC,
                             .service = svc};
    host_call_item(call, 0, item);
    batch.items = items;
    host_call_nodes(call, &batch.nodes, &batch.n_nodes);
    int32_t rc = fn(s->provider, host_call_abi(call), &batch);
    if (ret_text != NULL) {
        *ret_text = item->result->text;
    }
    int code = host_result_outcome(item->result, rc, false, err);
    host_call_end(call);
    return code;
}
