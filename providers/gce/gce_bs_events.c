/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_events.c: what the owner of a Service hears of single operations (gce_flow.h).
 *
 * As ingress-gce tells it: of NEGs that are made and taken away and whose endpoints come and go,
 * and of forwarding rules, because clients notice these (gce-l4.md §3.7, §4.7, §7.7).  Only for its
 * kinds; repeated ones are counted by the host. */
#include "common/base/str.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/ops/gce_ops.h"

#include <string.h>

struct told {
    uint32_t type;
    const char *reason;
    const char *message;
};

static const char *neg_of(struct arena *a, const struct gce_op *op)
{
    return arena_printf(a, "NEG \"%s\" in zone \"%s\"", op->name, str_nonnull(op->zone));
}

/* A failure begins with the NEG that the event has named. */
static const char *without_name(struct arena *a, const struct gce_op *op, const char *message)
{
    const char *name = arena_printf(a, "%s %s: ", gce_op_kind(op->c), op->name);
    return str_has_prefix(message, name) ? message + strlen(name) : message;
}

static bool about_members(struct arena *a, const struct gce_op *op, bool failed,
                          const struct err *err, struct told *ret)
{
    bool attach = op->verb == GCE_ATTACH;
    const char *text =
        arena_printf(a, "%s %zu network endpoint(s) (%s)", attach ? "Attach" : "Detach",
                     json_len(json_member(op->body, "networkEndpoints")), neg_of(a, op));
    ret->type = failed ? TT_EVENT_WARNING : TT_EVENT_NORMAL;
    ret->reason = failed   ? (attach ? "AttachFailed" : "DetachFailed")
                  : attach ? "Attach"
                           : "Detach";
    ret->message =
        failed ? arena_printf(a, "Failed to %s: %s", text, without_name(a, op, err->message))
               : text;
    return true;
}

static bool about_neg(struct arena *a, const struct gce_op *op, bool failed, const struct err *err,
                      struct told *ret)
{
    if (op->verb == GCE_ATTACH || op->verb == GCE_DETACH) {
        return about_members(a, op, failed, err, ret);
    }
    bool made = op->verb == GCE_INSERT;
    if (failed || (!made && op->verb != GCE_DELETE)) {
        return false;
    }
    ret->type = TT_EVENT_NORMAL;
    ret->reason = made ? "Create" : "Delete";
    ret->message = arena_printf(a, "%s %s", made ? "Created" : "Deleted", neg_of(a, op));
    return true;
}

static bool about_rule(struct arena *a, const struct gce_op *op, bool failed, struct told *ret)
{
    const char *did = op->verb == GCE_INSERT   ? "created"
                      : op->verb == GCE_PATCH  ? "patched"
                      : op->verb == GCE_DELETE ? "deleted"
                                               : NULL;
    if (failed || did == NULL) {
        return false;
    }
    ret->type = TT_EVENT_NORMAL;
    ret->reason = "Sync";
    ret->message = arena_printf(a, "ForwardingRule \"%s\" %s", op->name, did);
    return true;
}

/* "… is already being used by 'projects/p/regions/r/forwardingRules/NAME'": the name; NULL:
 * no rule has it. */
static const char *rule_in(struct arena *a, const char *message)
{
    static const char before[] = "/forwardingRules/";
    const char *at = strstr(message, before);
    size_t n =
        at == NULL ? 0 : strspn(at + strlen(before), "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n == 0 ? NULL : arena_strndup(a, at + strlen(before), n);
}

static const char *about_older(struct arena *a, const char *key)
{
    return arena_printf(a, "rule of an older %s", key);
}

struct gce_strs gce_bs_flow_older_told(struct lb_sync *s, const char *key, uint32_t verb)
{
    const struct gce_provider *p = gce_provider_of(s);
    const char **one = ARENA_ARRAY(s->life, const char *, 1);
    one[0] = gce_told_text(p->cloud.told, s->life, about_older(s->a, key));
    bool told = verb == TT_VERB_DELETE && !str_is_empty(one[0]);
    return (struct gce_strs){.items = one, .n = told ? 1 : 0};
}

/* A backend service that a rule still has: the next deletion looks whose that is. */
static void note_older(struct lb_sync *s, const struct lb_item *item, const struct gce_op *arg,
                       const struct err *err)
{
    const struct gce_provider *p = gce_provider_of(s);
    const char *rule =
        arg->c == GCE_BACKENDS && arg->verb == GCE_DELETE && err != NULL && err->code == ERR_IN_USE
            ? rule_in(s->a, err->message)
            : NULL;
    if (rule != NULL) {
        (void)gce_told_is_news(p->cloud.told, about_older(s->a, item->key), rule);
    }
}

void gce_bs_flow_tell(struct lb_sync *s, const struct lb_item *item, const struct lb_op *op,
                      unsigned outcome, const struct err *err)
{
    const struct gce_op *arg = op->arg;
    struct told t = {0};
    bool failed = outcome == LB_FAILED && err->code != ERR_CONFLICT && err->code != ERR_CANCELLED;
    bool any = false;
    if (outcome == LB_DONE && arg->c == GCE_NEGS && arg->verb == GCE_INSERT) {
        gce_item_of(item)->made_neg = true;
    }
    if (outcome == LB_FAILED) {
        gce_item_of(item)->failed_op = arg;
        gce_item_of(item)->failed_code = err->code;
    }
    if (outcome == LB_TOLERATED || outcome == LB_FAILED) {
        note_older(s, item, arg, err);
    }
    if (outcome != LB_DONE && !failed) {
        return;
    }
    if (arg->c == GCE_NEGS) {
        any = about_neg(s->a, arg, failed, err, &t);
    } else if (arg->c == GCE_RULES) {
        any = about_rule(s->a, arg, failed, &t);
    }
    if (any) {
        s->host->event(s->host->ctx, item->in->service, t.type, t.reason, t.message);
    }
}
