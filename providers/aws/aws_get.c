/* SPDX-License-Identifier: Apache-2.0 */
/* aws_get.c: is there anything of this Service's?  (get_load_balancer, and the session that explain and orphans share)
 *
 * Balancers of both kinds count, and so do the pieces that an interrupted deletion left (a target group, a security group, rules in groups of nodes):
 * who asks wants to know whether there is something to go on with (docs/spec/aws.md 7.3). */
#include "common/base/str.h"
#include "providers/aws/aws_session.h"

#include <string.h>

static struct session_source source_of(const struct aws_provider *p)
{
    return (struct session_source){
        .host = p->host,
        .clock = p->clock,
        .rng = p->rng,
        .http = p->http,
        .watch = p->watch,
        .cancel = p->cancel,
    };
}

void aws_session_begin(struct aws_session *x, struct aws_provider *p, const struct tt_call *call,
                       const struct tt_batch *batch, bool fresh)
{
    *x = (struct aws_session){0};
    aws_scope_begin(&x->scope, p, call);
    struct lb_sync *s = &x->s;
    *s = (struct lb_sync){
        .a = x->scope.a,
        .provider = &x->scope,
        .batch = batch,
        .fresh = fresh,
        .n_items = batch->n_items,
    };
    const struct session_source source = source_of(p);
    session_begin(&x->session, &source, s, call);
    s->items = ARENA_ARRAY(s->a, struct lb_item, s->n_items + 1);
    x->y = (struct aws_sync){.s = s, .p = p, .scope = &x->scope};
    x->y.items = ARENA_ARRAY(s->a, struct aws_item, s->n_items + 1);
    for (size_t i = 0; i < s->n_items; i++) {
        struct aws_item *it = &x->y.items[i];
        it->item = &s->items[i];
        it->service = aws_service_read(s->a, &p->naming, batch->items[i]->service);
        s->items[i] = (struct lb_item){.in = batch->items[i], .key = it->service->key};
    }
    s->data = &x->y;
}

void aws_session_end(struct aws_session *x)
{
    session_end(&x->session);
    aws_scope_end(&x->scope);
}

int aws_session_ready(struct aws_session *x, struct err *err)
{
    struct aws_provider *p = x->scope.p;
    return p->offline ? ERR_OK : aws_auth_ready(p->auth, x->s.http, x->s.cancel, err);
}

static bool is_about(const struct aws_rule *r, const char *lb_name)
{
    static const char *const prefixes[] = {AWS_RULE_CLIENT, AWS_RULE_HEALTH};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (str_has_prefix(r->description, prefixes[i]) &&
            str_eq(r->description + strlen(prefixes[i]), lb_name)) {
            return true;
        }
    }
    return false;
}

static bool has_rules(const struct aws_group *g, const char *lb_name)
{
    for (size_t i = 0; i < g->rules.n; i++) {
        if (is_about(&g->rules.items[i], lb_name)) {
            return true;
        }
    }
    return false;
}

static bool has_pieces(const struct aws_session *x, const struct aws_item *it)
{
    for (size_t i = 0; i < it->around.n_groups; i++) {
        const struct aws_group *g = it->around.groups[i];
        bool ours =
            str_eq(g->name, it->service->classic_group) || str_eq(g->name, it->service->nlb_group);
        if ((ours && aws_tags_are_owned(&x->scope.p->naming, &g->tags)) ||
            has_rules(g, it->service->lb_name)) {
            return true;
        }
    }
    return it->seen.n_groups > 0;
}

static void tell(struct aws_session *x, const struct aws_item *it)
{
    const struct tt_host *host = x->s.host;
    struct tt_result *result = it->item->in->result;
    const struct aws_nlb *nlb = it->seen.nlb;
    const struct aws_classic *classic = it->seen.classic;
    host->result_exists(result, nlb != NULL || classic != NULL || has_pieces(x, it));
    const char *dns = nlb != NULL ? nlb->dns : classic != NULL ? classic->dns : "";
    if (!str_is_empty(dns)) {
        const struct tt_ingress ingress = {.hostname = dns};
        host->result_ingress(result, &ingress, 1);
    }
}

/* As a deletion looks: everything of both kinds. */
int32_t aws_get_load_balancer(void *provider, const struct tt_call *call,
                              const struct tt_item *item)
{
    struct aws_provider *p = provider;
    const struct tt_item *items[] = {item};
    const struct tt_batch batch = {.size = sizeof(batch), .key = "", .items = items, .n_items = 1};
    struct aws_session x;
    struct err err = ERR_INIT;
    aws_session_begin(&x, p, call, &batch, true);
    struct aws_item *it = &x.y.items[0];
    int rc = ERR_OK;
    if (it->service->kind == AWS_ELSEWHERE) {
        p->host->result_exists(item->result, 0);
    } else {
        rc = aws_session_ready(&x, &err);
        rc = rc == ERR_OK ? aws_observe(&x.s, &err) : rc;
        rc = rc == ERR_OK ? err_copy(&err, &it->item->err) : rc;
        if (rc == ERR_OK) {
            tell(&x, it);
        }
    }
    if (rc != ERR_OK) {
        (void)err_prefix(&err, "looking for the load balancer");
        p->host->result_fail(item->result, err.code, err.message, err.retry_after_ms);
    }
    aws_session_end(&x);
    return rc;
}
