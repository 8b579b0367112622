/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_left.c: what a new controller would find left of Services that are gone; see the header.
 * sync_left.c is the same for the controller. */
#include "controller/cmd/cmd_left.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "controller/cmd/cmd_load.h"

static void unref_object(void *o)
{
    kube_object_unref(o);
}

void cmd_left_note(void *call_arg, const struct tt_service *service)
{
    struct cmd_session *s = call_arg;
    const char *ns = s == NULL ? NULL : s->targets.ns;
    if (s == NULL || (ns != NULL && !str_eq(ns, service->ns))) {
        return;
    }
    const char *key = svc_key(s->a, service);
    const struct tt_service *now = cmd_session_service(s, key);
    const struct sync_scope scope = cmd_session_scope(s);
    if (now != NULL && (scope_wants(&scope, now) || scope_is_foreign(&scope, now))) {
        return; /* it is among those that are wanted, or another controller's by now */
    }
    struct kube_object *object = now == NULL ? kube_object_gone(service) : NULL;
    if (object != NULL) {
        arena_defer(s->a, unref_object, object);
        s->gone = cmd_grow(s->a, s->gone, s->n_gone, &s->cap_gone, sizeof(*s->gone));
        s->gone[s->n_gone++] = object->service;
        cmd_load_note(s, key, "the cluster has no such Service any more");
    }
    if (object != NULL || now != NULL) {
        cmd_load_want(s, key);
    }
}

int cmd_left_add(struct cmd_session *s, struct err *err)
{
    if (s->plugin->desc.list_left == NULL || !s->targets.all) {
        return ERR_OK;
    }
    cmd_wait_for(s->wait, "asking what is left of Services that are gone");
    struct host_call *call = host_call_begin(s->host, s->a, 1, cmd_wait_left_ms(s->wait), 0, s);
    host_call_enter(call, "list_left");
    int32_t rc = s->plugin->desc.list_left(s->provider, host_call_abi(call));
    int code = host_result_outcome(host_call_result(call, 0), rc, false, err);
    host_call_end(call);
    cmd_wait_end(s->wait);
    cmd_load_sort_wanted(s);
    if (code != ERR_OK) {
        (void)err_prefix(err, "what is left of Services that are gone is not known");
    }
    return code;
}
