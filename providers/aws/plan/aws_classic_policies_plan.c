/* SPDX-License-Identifier: Apache-2.0 */
/* aws_classic_policies_plan.c: the two policies of a classic load balancer that a Service may ask
 * for.
 *
 * Proxy protocol belongs to back-ends, which are instance ports; SSL negotiation to listeners that
 * end TLS.  A policy is made once, then set where it is missing.  Policies of others on a back-end
 * stay on it; a back-end keeps its policies when its listener goes, a listener that is recreated
 * has lost them.  Without the proxy-protocol annotation the policy is taken off the back-ends and
 * stays defined; without the ssl-negotiation-policy annotation nothing is taken back
 * (docs/spec/aws.md 4.6 item 4, 4.7, 13 row 42). */
#include "providers/aws/plan/aws_classic_internal_plan.h"

#include "common/base/str.h"

/* ---- definitions ----------------------------------------------------------------------------- */

struct definition {
    const char *name;
    const char *type;
    const char *attribute;
    const char *value;
    const char *why;
};

static void define(struct aws_classic_run *r, const struct definition *def)
{
    struct aws_planning *p = r->p;
    if (r->seen != NULL && aws_texts_have(&r->seen->other_policies, def->name)) {
        return;
    }
    int d = aws_draft(p, r->fill, LB_CREATE, "load balancer policy", def->name, def->why);
    aws_draft_action(p, d, AWS_ELB, "CreateLoadBalancerPolicy");
    aws_draft_text(p, d, "LoadBalancerName", r->want->name);
    aws_draft_text(p, d, "PolicyName", def->name);
    aws_draft_text(p, d, "PolicyTypeName", def->type);
    aws_draft_text(p, d, "PolicyAttributes.member.1.AttributeName", def->attribute);
    aws_draft_text(p, d, "PolicyAttributes.member.1.AttributeValue", def->value);
    aws_draft_field(p, d, def->attribute, NULL, def->value);
    aws_draft_op(p, d)->tolerate = LB_TOLERATE_EXISTS;
    r->changes++;
}

static void draft_names(struct aws_planning *p, int d, const struct aws_texts *names)
{
    if (names->n == 0) {
        aws_draft_text(p, d, "PolicyNames", ""); /* an empty list */
    }
    aws_draft_list(p, d, "PolicyNames.member.%zu", names);
}

/* ---- proxy protocol -------------------------------------------------------------------------- */

static const struct aws_classic_backend *backend_of(const struct aws_classic *seen, int32_t port)
{
    for (size_t i = 0; seen != NULL && i < seen->n_backends; i++) {
        if (seen->backends[i].port == port) {
            return &seen->backends[i];
        }
    }
    return NULL;
}

static bool speaks_proxy(const struct aws_classic_backend *b)
{
    return b != NULL && aws_texts_have(&b->policies, AWS_PROXY_POLICY);
}

/* Does the policy have to be put on, or taken off, the back-end? */
static void backend_set(struct aws_classic_run *r, int32_t port, bool on, enum aws_phase phase)
{
    struct aws_planning *p = r->p;
    const struct aws_classic_backend *b = backend_of(r->seen, port);
    size_t n_seen = b != NULL ? b->policies.n : 0;
    const char **names = ARENA_ARRAY(p->a, const char *, n_seen + 1);
    struct aws_texts after = {.items = names};
    for (size_t i = 0; i < n_seen; i++) {
        if (!str_eq(b->policies.items[i], AWS_PROXY_POLICY)) {
            names[after.n++] = b->policies.items[i];
        }
    }
    if (on) {
        names[after.n++] = AWS_PROXY_POLICY;
    }
    int d =
        aws_classic_draft(r, phase, "SetLoadBalancerPoliciesForBackendServer",
                          on ? "proxy protocol is asked for" : "proxy protocol is not asked for");
    aws_draft_int(p, d, "InstancePort", port);
    draft_names(p, d, &after);
    aws_draft_field(p, d, arena_printf(p->a, "backends[%d].policies", port),
                    on ? NULL : AWS_PROXY_POLICY, on ? AWS_PROXY_POLICY : NULL);
    if (phase == AWS_PHASE_LEAVE) {
        aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT; /* it may have gone with its listener */
    }
}

/* The first listener of an instance port speaks for all of them. */
static bool is_first(const struct aws_classic_want *want, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (want->listeners[i].instance_port == want->listeners[at].instance_port) {
            return false;
        }
    }
    return true;
}

static bool is_wanted(const struct aws_classic_want *want, int32_t instance_port)
{
    for (size_t i = 0; i < want->n_listeners; i++) {
        if (want->listeners[i].instance_port == instance_port) {
            return true;
        }
    }
    return false;
}

static void plan_proxy(struct aws_classic_run *r)
{
    const struct aws_classic_want *w = r->want;
    bool on = w->proxy_protocol;
    bool any = false;
    for (size_t i = 0; i < w->n_listeners; i++) {
        int32_t port = w->listeners[i].instance_port;
        bool is_on = speaks_proxy(backend_of(r->seen, port));
        if (is_first(w, i) && on != is_on) {
            any = any || on;
            backend_set(r, port, on, r->set);
        }
    }
    for (size_t i = 0; r->seen != NULL && i < r->seen->n_backends; i++) {
        const struct aws_classic_backend *b = &r->seen->backends[i];
        if (speaks_proxy(b) && !is_wanted(w, b->port)) {
            backend_set(r, b->port, false, AWS_PHASE_LEAVE); /* its listener has gone */
        }
    }
    if (any) {
        define(r, &(struct definition){
                      .name = AWS_PROXY_POLICY,
                      .type = "ProxyProtocolPolicyType",
                      .attribute = "ProxyProtocol",
                      .value = "true",
                      .why = "proxy protocol is asked for",
                  });
    }
}

/* ---- SSL negotiation ------------------------------------------------------------------------- */

/* Its policies now; NULL: it is made in this plan, or has none. */
static const struct aws_texts *listener_policies(const struct aws_classic_run *r,
                                                 const struct aws_classic_listener *l)
{
    for (size_t i = 0; r->seen != NULL && i < r->seen->n_listeners; i++) {
        const struct aws_classic_listener *seen = &r->seen->listeners[i];
        if (seen->port == l->port && !aws_classic_is_new(r, l)) {
            return &seen->policies;
        }
    }
    return NULL;
}

static void listener_set(struct aws_classic_run *r, const struct aws_classic_listener *l)
{
    struct aws_planning *p = r->p;
    const struct aws_texts *have = listener_policies(r, l);
    const char *name = r->want->ssl_policy;
    if (have != NULL && have->n == 1 && str_eq(have->items[0], name)) {
        return;
    }
    int d = aws_classic_draft(r, r->set, "SetLoadBalancerPoliciesOfListener",
                              "the annotation aws-load-balancer-ssl-negotiation-policy asks for "
                              "it");
    aws_draft_int(p, d, "LoadBalancerPort", l->port);
    aws_draft_text(p, d, "PolicyNames.member.1", name);
    const char *old = have != NULL ? str_join(p->a, have->items, have->n, ", ") : NULL;
    aws_draft_field(p, d, arena_printf(p->a, "listeners[%d].policies", l->port), old, name);
}

static void plan_ssl(struct aws_classic_run *r)
{
    const struct aws_classic_want *w = r->want;
    define(r, &(struct definition){
                  .name = w->ssl_policy,
                  .type = "SSLNegotiationPolicyType",
                  .attribute = "Reference-Security-Policy",
                  .value = w->ssl_reference,
                  .why = "the annotation aws-load-balancer-ssl-negotiation-policy asks for it",
              });
    for (size_t i = 0; i < w->n_listeners; i++) {
        const struct aws_classic_listener *l = &w->listeners[i];
        if (str_eq_nocase(l->protocol, "ssl") || str_eq_nocase(l->protocol, "https")) {
            listener_set(r, l);
        }
    }
}

void aws_classic_plan_policies(struct aws_classic_run *r)
{
    plan_proxy(r);
    if (r->want->has_ssl_policy) {
        plan_ssl(r);
    }
}
