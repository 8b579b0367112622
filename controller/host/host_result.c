/* SPDX-License-Identifier: Apache-2.0 */
/* host_result.c: what a provider sets as the outcome of one Service, checked and copied.
 *
 * The first thing that may not be makes the result broken, with a sentence that names it; later
 * settings do not fix that.  The lists here are compared with the descriptor where it has a say
 * (finalizers, codes). */
#include <string.h>

#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "controller/host/host_internal.h"
#include "controller/queue/queue_rules.h"
#include "controller/rules/word_rules.h"

bool host_has_result(const struct tt_result *r, const char *name)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 3};

    if (r == NULL && log_limit_ok(&limit, clock_now_ms(clock_real()))) {
        log_error("the result is NULL", "Fault of the provider: the result is ignored",
                  LOG_S("function", name));
    }
    return r != NULL;
}

void host_break_result(struct tt_result *r, const char *what)
{
    if (!r->broken) {
        r->broken = true;
        r->message = arena_printf(r->call->arena, "the provider handed over %s", what);
    }
}

/* A checked copy; NULL (and a broken result) when the text may not be. */
const char *host_take_text(struct tt_result *r, const char *text, size_t max, const char *what)
{
    if (text == NULL || !host_text_ok(text, max)) {
        host_break_result(
            r, arena_printf(r->call->arena, "%s that is absent, too long or not UTF-8", what));
        return NULL;
    }
    return arena_strdup(r->call->arena, text);
}

static bool take_ports(struct tt_result *r, const struct tt_ingress *from, struct tt_ingress *to)
    _requires_(r->call->lock)
{
    if (from->n_ports > TT_LIST_MAX || (from->n_ports > 0 && from->ports == NULL)) {
        host_break_result(r, "too many ports in an ingress");
        return false;
    }
    struct tt_port_status *ports = arena_calloc(r->call->arena, from->n_ports, sizeof(*ports));
    for (uint32_t i = 0; i < from->n_ports; i++) {
        const struct tt_port_status *p = &from->ports[i];
        ports[i].protocol = host_take_text(r, p->protocol, 16, "a port's protocol");
        ports[i].port = p->port;
        if (!str_eq(p->protocol, "TCP") && !str_eq(p->protocol, "UDP") &&
            !str_eq(p->protocol, "SCTP")) {
            host_break_result(r, "a port's protocol that is not TCP, UDP or SCTP");
        }
        if (p->error != NULL) {
            ports[i].error = host_take_text(r, p->error, 316, "a port's error");
        }
        if (p->port < 1 || p->port > 65535) {
            host_break_result(r, "a port that is no port");
        }
    }
    to->ports = ports;
    to->n_ports = from->n_ports;
    return !r->broken;
}

/* `what` that is not what the API server takes: it would refuse the whole status, each time. */
static void refuse_word(struct tt_result *r, const char *what, const char *word, const char *want)
    _requires_(r->call->lock)
{
    if (!r->broken) {
        host_break_result(
            r, arena_printf(r->call->arena, "%s that is not %s: \"%s\"", what, want, word));
    }
}

/* Addresses, as strict as the API server is. */
static void take_addresses(struct tt_result *r, const struct tt_ingress *from,
                           struct tt_ingress *to) _requires_(r->call->lock)
{
    struct ip_addr ip;

    if (!str_is_empty(from->ip)) {
        to->ip = host_take_text(r, from->ip, 64, "an ingress ip");
        if (to->ip != NULL && !ip_parse(to->ip, &ip)) {
            refuse_word(r, "an ingress ip", to->ip, "an IP address");
        }
    }
    if (!str_is_empty(from->hostname)) {
        to->hostname = host_take_text(r, from->hostname, 253, "an ingress hostname");
        if (to->hostname != NULL && !word_is_hostname(to->hostname)) {
            refuse_word(r, "an ingress hostname", to->hostname, "a DNS name in lower case");
        }
    }
}

static void take_ingress(struct tt_result *r, const struct tt_ingress *from, struct tt_ingress *to)
    _requires_(r->call->lock)
{
    bool has_ip = !str_is_empty(from->ip);

    if (!has_ip && str_is_empty(from->hostname)) {
        host_break_result(r, "an ingress without ip and hostname");
        return;
    }
    take_addresses(r, from, to);
    if (!str_is_empty(from->ip_mode)) {
        if (!has_ip || (!str_eq(from->ip_mode, "VIP") && !str_eq(from->ip_mode, "Proxy"))) {
            host_break_result(r, "an ipMode that is neither VIP nor Proxy, or has no ip");
            return;
        }
        to->ip_mode = arena_strdup(r->call->arena, from->ip_mode);
    }
    (void)take_ports(r, from, to); /* what it says is in r->broken */
}

static void result_ingress(struct tt_result *r, const struct tt_ingress *ingress, uint32_t n)
{
    if (!host_has_result(r, "result_ingress")) {
        return;
    }
    mutex_lock(&r->call->lock);
    if (n > TT_LIST_MAX || (n > 0 && ingress == NULL)) {
        host_break_result(r, "a list of ingresses that is too long");
    } else {
        struct tt_ingress *copy = arena_calloc(r->call->arena, n, sizeof(*copy));
        for (uint32_t i = 0; i < n; i++) {
            take_ingress(r, &ingress[i], &copy[i]);
        }
        r->ingress = copy;
        r->n_ingress = n;
        r->has_ingress = true;
    }
    mutex_unlock(&r->call->lock);
}

static bool is_status(const char *s)
{
    return str_eq(s, "True") || str_eq(s, "False") || str_eq(s, "Unknown");
}

/* `c` is the copy: texts are there unless the result is broken. */
static void check_condition(struct tt_result *r, const struct tt_condition *c)
    _requires_(r->call->lock)
{
    if (r->broken) {
        return;
    }
    if (!word_is_qualified(c->type) || str_eq(c->type, REPORT_CONDITION)) {
        refuse_word(r, "a condition's type", c->type, "a name like example.com/Ready of its own");
    } else if (c->status != NULL && !is_status(c->status)) {
        refuse_word(r, "a condition's status", c->status, "True, False or Unknown");
    } else if (!str_is_empty(c->reason) && !word_is_reason(c->reason)) {
        refuse_word(r, "a condition's reason", c->reason, "a word like Provisioning");
    }
}

static void take_condition(struct tt_result *r, const struct tt_condition *condition)
    _requires_(r->call->lock)
{
    struct tt_condition c = *condition;

    c.type = host_take_text(r, condition->type, 316, "a condition's type");
    c.status = condition->status == NULL
                   ? NULL
                   : host_take_text(r, condition->status, 16, "a condition's status");
    c.reason =
        host_take_text(r, str_nonnull(condition->reason), TT_TEXT_MAX, "a condition's reason");
    c.message =
        host_take_text(r, str_nonnull(condition->message), TT_TEXT_MAX, "a condition's message");
    check_condition(r, &c);
    uint32_t at = 0;
    while (at < r->n_conditions && !str_eq(r->conditions[at].type, c.type)) {
        at++;
    }
    if (at == HOST_CONDITIONS_MAX) {
        host_break_result(r, "too many conditions");
    } else if (!r->broken) {
        r->conditions[at] = c;
        r->n_conditions += at == r->n_conditions;
    }
}

static void result_condition(struct tt_result *r, const struct tt_condition *condition)
{
    if (!host_has_result(r, "result_condition")) {
        return;
    }
    mutex_lock(&r->call->lock);
    if (condition == NULL) {
        host_break_result(r, "a condition that is NULL");
    } else {
        take_condition(r, condition);
    }
    mutex_unlock(&r->call->lock);
}

static void result_annotation(struct tt_result *r, const char *key, const char *value)
{
    if (!host_has_result(r, "result_annotation")) {
        return;
    }
    mutex_lock(&r->call->lock);
    const char *k = host_take_text(r, key, 317, "an annotation's key");
    if (k != NULL && (!word_is_qualified(k) || svc_is_report(k))) {
        refuse_word(r, "an annotation's key", k, "a name like example.com/name of its own");
    }
    const char *v = value == NULL ? NULL : host_take_text(r, value, 65536, "an annotation's value");
    uint32_t at = 0;
    while (at < r->n_annotations && !str_eq(r->annotations[at].key, k)) {
        at++;
    }
    if (at == HOST_ANNOTATIONS_MAX) {
        host_break_result(r, "too many annotations");
    } else if (!r->broken) {
        r->annotations[at] = (struct tt_kv){.key = k, .value = v};
        r->n_annotations += at == r->n_annotations;
    }
    mutex_unlock(&r->call->lock);
}

static bool owns_finalizer(const struct tt_provider *desc, const char *name)
{
    for (uint32_t i = 0; i < desc->n_finalizers; i++) {
        if (str_eq(desc->finalizers[i], name)) {
            return true;
        }
    }
    return false;
}

static void result_drop_finalizer(struct tt_result *r, const char *name)
{
    if (!host_has_result(r, "result_drop_finalizer")) {
        return;
    }
    mutex_lock(&r->call->lock);
    if (name == NULL || !owns_finalizer(r->call->host->args.desc, name)) {
        host_break_result(r, "a finalizer that its descriptor does not name");
    } else if (r->n_drop_finalizers == HOST_FINALIZERS_MAX) {
        host_break_result(r, "too many finalizers");
    } else {
        r->drop_finalizers[r->n_drop_finalizers++] = arena_strdup(r->call->arena, name);
    }
    mutex_unlock(&r->call->lock);
}

static void result_exists(struct tt_result *r, int32_t exists)
{
    if (!host_has_result(r, "result_exists")) {
        return;
    }
    mutex_lock(&r->call->lock);
    r->has_exists = true;
    r->exists = exists != 0;
    mutex_unlock(&r->call->lock);
}

static bool code_is_allowed(const struct tt_provider *desc, int32_t code)
{
    if (code < TT_OK || code > TT_EXISTS) {
        return false;
    }
    return desc->codes == 0 || code == TT_OK || code == TT_BUG || (desc->codes >> code & 1u) != 0;
}

/* A wait that ends: a provider that says INT64_MAX must not make a Service wait forever.
 * `most` in ms. */
static int64_t bounded_wait(const struct tt_result *r, int64_t asked_ms, int64_t most)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 3};

    if (asked_ms <= most) {
        return asked_ms > 0 ? asked_ms : 0;
    }
    if (log_limit_ok(&limit, clock_now_ms(r->call->host->args.clock))) {
        log_warning("The provider asks for a longer wait than there is: it is cut",
                    LOG_S("service", r->key), LOG_I("askedMs", asked_ms), LOG_MS("cutTo", most));
    }
    return most;
}

static void result_fail(struct tt_result *r, int32_t code, const char *message,
                        int64_t retry_after_ms)
{
    if (!host_has_result(r, "result_fail")) {
        return;
    }
    mutex_lock(&r->call->lock);
    r->done = true;
    if (code == TT_OK || !code_is_allowed(r->call->host->args.desc, code)) {
        host_break_result(
            r, arena_printf(r->call->arena, "the code %d, which is none it may use", code));
    }
    const char *text = host_take_text(r, str_nonnull(message), TT_TEXT_MAX, "a message");
    if (!r->broken) {
        r->code = code;
        r->message = str_or(text, "no reason was given");
        r->retry_after_ms = bounded_wait(r, retry_after_ms, QUEUE_RETRY_ASKED_MAX_MS);
    }
    mutex_unlock(&r->call->lock);
}

static void result_resource(struct tt_result *r, const char *kind, const char *name)
{
    if (!host_has_result(r, "result_resource")) {
        return;
    }
    mutex_lock(&r->call->lock);
    r->resource_kind = host_take_text(r, kind, TT_TEXT_MAX, "a resource's kind");
    r->resource_name = host_take_text(r, name, TT_TEXT_MAX, "a resource's name");
    mutex_unlock(&r->call->lock);
}

/* ---- the end of a call ----------------------------------------------------------------------- */

static void result_own(struct tt_result *r, uint32_t bits)
{
    if (!host_has_result(r, "result_own")) {
        return;
    }
    mutex_lock(&r->call->lock);
    r->own = bits; /* what this version does not know is not used */
    mutex_unlock(&r->call->lock);
}

static void result_again(struct tt_result *r, int64_t after_ms)
{
    if (!host_has_result(r, "result_again")) {
        return;
    }
    mutex_lock(&r->call->lock);
    r->again_ms = bounded_wait(r, after_ms, QUEUE_AGAIN_MAX_MS);
    mutex_unlock(&r->call->lock);
}

static void result_nobody(struct tt_result *r, const char *why)
{
    if (!host_has_result(r, "result_nobody")) {
        return;
    }
    mutex_lock(&r->call->lock);
    r->stands_nobody = host_take_text(r, str_nonnull(why), TT_TEXT_MAX, "a reason");
    mutex_unlock(&r->call->lock);
}

/* A result that names no addresses has none to write. */
static int32_t write_addresses(struct tt_result *r, bool of_update)
{
    const struct host_hooks *hooks = &r->call->host->args.hooks;
    mutex_lock(&r->call->lock);
    bool broken = r->broken;
    bool verb = r->verb == TT_VERB_ENSURE || (of_update && r->verb == TT_VERB_UPDATE);
    bool fits = !broken && !r->done && r->has_ingress && verb;
    mutex_unlock(&r->call->lock);
    if (!fits || hooks->on_serves == NULL) {
        return broken ? TT_BUG : TT_OK;
    }
    return hooks->on_serves(r->call->call_arg, r);
}

static void result_serves(struct tt_result *r)
{
    if (host_has_result(r, "result_serves")) {
        (void)write_addresses(r, false); /* the end of the call writes them again */
        r->publish_failure = NULL;
    }
}

static int32_t result_publish(struct tt_result *r)
{
    return host_has_result(r, "result_publish") ? write_addresses(r, true) : TT_BUG;
}

static void result_done(struct tt_result *r)
{
    if (!host_has_result(r, "result_done")) {
        return;
    }
    mutex_lock(&r->call->lock);
    r->done = true;
    r->code = TT_OK;
    r->retry_after_ms = 0;
    if (!r->broken) {
        r->message = NULL;
    }
    mutex_unlock(&r->call->lock);
}

void host_table_results(struct tt_host *t)
{
    t->result_ingress = result_ingress;
    t->result_condition = result_condition;
    t->result_annotation = result_annotation;
    t->result_drop_finalizer = result_drop_finalizer;
    t->result_exists = result_exists;
    t->result_fail = result_fail;
    t->result_resource = result_resource;
    t->result_done = result_done;
    t->result_own = result_own;
    t->result_again = result_again;
    t->result_serves = result_serves;
    t->result_nobody = result_nobody;
    t->result_publish = result_publish;
}

int host_result_outcome(const struct tt_result *r, int32_t rc, bool must_settle, struct err *ret)
{
    err_clear(ret);
    if (r->broken) {
        return err_set(ret, ERR_BUG, "%s", r->message);
    }
    if (!code_is_allowed(r->call->host->args.desc, rc)) {
        return err_set(ret, ERR_BUG, "the provider returned %d, which is no code it may use", rc);
    }
    if (r->done && r->code != TT_OK) {
        (void)err_set(ret, r->code, "%s", r->message); /* the code is read from *ret */
        ret->retry_after_ms = r->retry_after_ms;
        return ret->code;
    }
    if (r->done) {
        return ERR_OK;
    }
    if (rc == TT_CANCELLED) {
        return err_set(ret, ERR_CANCELLED, "the call was cancelled");
    }
    if (must_settle) {
        return err_set(ret, ERR_BUG, "the provider did not say how it went");
    }
    if (rc != TT_OK) {
        return err_set(ret, rc, "the provider said %s without a reason", err_code_name(rc));
    }
    return ERR_OK;
}
