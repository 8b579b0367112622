/* SPDX-License-Identifier: Apache-2.0 */
/* call.h: a call of Azure Resource Manager, carried on by hand: what must be asked, and what is
 * answered.
 *
 * The clock stands still, so the moment before which a request must not be sent is part of what is
 * asked. */
#ifndef TRIMTAB_TESTS_AZURE_CALL_H
#define TRIMTAB_TESTS_AZURE_CALL_H

#include "tests/unit/azure/auth_kit.h"

#include "providers/azure/arm/azure_arm.h"
#include "providers/azure/arm/azure_auth_internal.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define ARM "https://management.azure.com"
#define LBS "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/loadBalancers"
#define LB  LBS "/lb"
#define V   "?api-version=2025-05-01"
#define DOC(state)                                                                                 \
    "{\"id\":\"" LB "\",\"name\":\"lb\",\"properties\":{\"provisioningState\":\"" state "\"}}"
#define PLAIN   "{\"id\":\"" LB "\",\"name\":\"lb\"}"
#define STATUS  ARM "/subscriptions/s/providers/Microsoft.Network/locations/x/operations/1" V
#define STATUS2 ARM "/subscriptions/s/providers/Microsoft.Network/locations/x/operations/2" V

/* A request and its answer. */
struct turn {
    const char *method; /* NULL ends a conversation */
    const char *url;
    int64_t wait_ms; /* from now; what jitter decides is at 0.5 */
    int status;      /* 0: no answer */
    const char *header;
    const char *value;
    const char *body; /* NULL: none */
};

struct call_kit {
    struct kit *k;
    struct azure_arm arm;
    struct rng *rng;
    struct azure_call call;
};

static _unused_ void call_open(struct call_kit *c, struct kit *k, const char *config)
{
    kit_open(k, config, NULL);
    azure_auth_store(k->auth, AZURE_TENANT_COMPUTE, "t1", 3600000, 0);
    *c = (struct call_kit){.k = k, .rng = rng_seeded_new(1)};
    c->arm = (struct azure_arm){.base = k->cloud.arm,
                                .config = &k->config,
                                .auth = k->auth,
                                .clock = k->clock,
                                .rng = c->rng};
    azure_arm_init(&c->arm);
}

static _unused_ void call_close(struct call_kit *c)
{
    azure_arm_done(&c->arm);
    rng_free(c->rng);
}

#define CONFIG                                                                                     \
    "subscriptionId: s\nresourceGroup: rg\ntenantId: t\naadClientId: c\naadClientSecret: s\n"

static _unused_ void call_begin(struct call_kit *c, enum azure_verb verb)
{
    const struct azure_call_spec spec = {
        .kind = AZURE_LBS,
        .verb = verb,
        .id = verb == AZURE_LIST ? LBS : LB,
        .body = verb == AZURE_PUT ? pure_json(c->k->a, PLAIN) : NULL,
        .if_match = verb == AZURE_PUT ? "\"etag\"" : NULL,
    };
    c->k->req = (struct http_request){0};
    err_clear(&c->k->err);
    azure_call_begin(&c->call, &c->arm, NULL, c->k->a, &spec);
}

/* The answer is given only when the right question was asked. */
static _unused_ enum http_next answer(struct call_kit *c, const char *name, size_t i,
                                      const struct turn *t)
{
    struct kit *k = c->k;
    same_text(arena_printf(k->a, "%s, turn %zu", name, i), k->req.method, t->method);
    same_text(arena_printf(k->a, "%s, turn %zu", name, i), k->req.url, t->url);
    int64_t wait = k->req.not_before_ms == 0 ? 0 : k->req.not_before_ms - clock_now_ms(k->clock);
    if (t->wait_ms < 0 ? wait <= 0 || wait > -t->wait_ms : wait != t->wait_ms) {
        fail_msg("%s, turn %zu: waits %lld ms, want %lld", name, i, (long long)wait,
                 (long long)t->wait_ms);
    }
    const struct http_header header = {t->header, t->value};
    const char *body = str_nonnull(t->body);
    const struct http_response resp = {.status = t->status,
                                       .body = body,
                                       .body_len = strlen(body),
                                       .headers = &header,
                                       .n_headers = t->header != NULL};
    if (t->status == 0) {
        (void)err_set(&k->err, ERR_TRANSIENT, "connection lost");
    }
    return azure_call_step(&c->call, &k->req, &resp, &k->err);
}

static _unused_ void ask_now(struct call_kit *c, enum azure_verb verb, enum http_next want,
                             int64_t wait_ms)
{
    struct kit *k = c->k;
    call_begin(c, verb);
    assert_int_equal(azure_call_step(&c->call, &k->req, NULL, &k->err), want);
    int64_t wait = k->req.not_before_ms == 0 ? 0 : k->req.not_before_ms - clock_now_ms(k->clock);
    assert_int_equal(wait > 0 ? wait : 0, wait_ms);
}

#endif
