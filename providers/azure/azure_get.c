/* SPDX-License-Identifier: Apache-2.0 */
/* azure_get.c: does a load balancer of this Service exist?  (get_load_balancer, azure_session.h)
 *
 * A frontend on a balancer of either kind is one; so is a public IP of ours alone, because a
 * deletion that was interrupted must be continued with (docs/spec/azure.md 10.3).  Ownership is
 * asked of what is there, not guessed from names, so an address that another program made and we
 * merely use does not count. */
#include "common/base/str.h"
#include "providers/azure/azure_session.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/lb/azure_frontend_rules.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"

static struct session_source source_of(const struct azure_provider *p)
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

void azure_session_begin(struct azure_session *x, struct azure_provider *p,
                         const struct tt_call *call, const struct tt_batch *batch, bool fresh)
{
    *x = (struct azure_session){0};
    struct lb_sync *s = &x->s;
    *s = (struct lb_sync){
        .a = arena_new(),
        .provider = p,
        .batch = batch,
        .fresh = fresh,
        .n_items = batch->n_items,
    };
    const struct session_source source = source_of(p);
    session_begin(&x->session, &source, s, call);
    s->items = ARENA_ARRAY(s->a, struct lb_item, s->n_items);
    x->y = (struct azure_sync){.s = s, .p = p};
    x->y.items = ARENA_ARRAY(s->a, struct azure_item, s->n_items);
    for (size_t i = 0; i < s->n_items; i++) {
        const struct tt_service *service = batch->items[i]->service;
        s->items[i] =
            (struct lb_item){.in = batch->items[i], .key = azure_service_name(s->a, service)};
        struct azure_item *it = &x->y.items[i];
        it->item = &s->items[i];
        it->want = true;
        it->service = azure_service_read(s->a, &p->naming, service);
        it->flip = azure_service_flip(s->a, &p->naming, it->service);
    }
    s->data = &x->y;
}

void azure_session_end(struct azure_session *x)
{
    session_end(&x->session);
    arena_free(x->s.a);
}

int azure_session_look(struct azure_session *x, struct err *err)
{
    struct azure_provider *p = x->s.provider;
    int rc = ERR_OK;
    if (!p->offline) {
        rc = azure_auth_ready_all(p->auth, x->s.http, x->s.cancel, err);
    }
    azure_need_nothing(&x->y);
    return rc == ERR_OK ? azure_observe_release(&x->s, err) : rc;
}

static bool has_frontend(struct azure_session *x, const struct azure_service *s,
                         struct json_object *lb)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        if (azure_sync_owner(&x->y, s, o).owns) {
            return true;
        }
    }
    return false;
}

struct json_object *azure_session_lb(struct azure_session *x, const struct azure_service *s,
                                     bool internal)
{
    for (size_t i = 0; i < x->y.lbs.n; i++) {
        struct json_object *lb = x->y.lbs.items[i];
        if (azure_lb_is_internal(azure_doc_name(lb)) == internal && has_frontend(x, s, lb)) {
            return lb;
        }
    }
    return NULL;
}

/* One that a user reserved stays when the Service goes: it is not a piece of ours. */
static bool has_pip(struct azure_session *x, const struct azure_service *s)
{
    const struct azure_provider *p = x->s.provider;
    for (size_t i = 0; i < x->y.pips.n; i++) {
        struct json_object *pip = x->y.pips.items[i];
        struct azure_pip_ownership o = azure_pip_owner(x->s.a, &p->naming, s, pip);
        if ((o.owns && !o.user_assigned) || azure_pip_is_stripped(x->s.a, &p->naming, s, pip)) {
            return true;
        }
    }
    return false;
}

static void tell(struct azure_session *x, const struct azure_item *it)
{
    const struct azure_service *s = it->service;
    struct tt_result *result = it->item->in->result;
    const struct tt_host *host = x->s.host;
    struct json_object *own = azure_session_lb(x, s, s->internal);
    struct json_object *other = azure_session_lb(x, it->flip, it->flip->internal);
    bool is_there = own != NULL || other != NULL || has_pip(x, s);
    host->result_exists(result, is_there);
    struct azure_texts ips = azure_addresses_of(&x->y, own != NULL ? s : it->flip);
    struct tt_ingress *ingress = ARENA_ARRAY(x->s.a, struct tt_ingress, ips.n + 1);
    for (size_t i = 0; i < ips.n; i++) {
        ingress[i].ip = ips.items[i];
    }
    if (ips.n > 0) {
        host->result_ingress(result, ingress, (uint32_t)ips.n);
    }
}

int32_t azure_get_load_balancer(void *provider, const struct tt_call *call,
                                const struct tt_item *item)
{
    struct azure_provider *p = provider;
    const struct tt_item *items[] = {item};
    const struct tt_batch batch = {.size = sizeof(batch), .key = "", .items = items, .n_items = 1};
    struct azure_session x;
    struct err err = ERR_INIT;
    azure_session_begin(&x, p, call, &batch, true);
    int rc = azure_session_look(&x, &err);
    if (rc != ERR_OK) {
        (void)err_prefix(&err, "looking for the load balancer");
        p->host->result_fail(item->result, err.code, err.message, err.retry_after_ms);
    } else {
        tell(&x, &x.y.items[0]);
    }
    azure_session_end(&x);
    return rc;
}
