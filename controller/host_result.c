/* SPDX-License-Identifier: Apache-2.0 */
/* host_result.c: what a provider sets as the outcome of one Service, checked and copied.
 *
 * The first thing that may not be makes the result broken, with a sentence that names it; later settings do not
 * mend that.  The lists here are compared with the descriptor where it has a say (finalizers, codes). */
#include <string.h>

#include "common/base/str.h"
#include "controller/host_internal.h"

#define HOST_PHRASE_MAX 65536
#define HOST_EXPLAIN_MAX                                                                           \
    ((size_t)4 * 1024 * 1024) /* texts and names of all rows; 10,000 nodes fit */

static void break_result(struct tt_result *r, const char *what) _requires_(r->call->lock)
{
    if (!r->broken) {
        r->broken = true;
        r->message = arena_printf(r->call->arena, "the provider handed over %s", what);
    }
}

/* A checked copy; NULL (and a broken result) when the text may not be. */
static const char *take_text(struct tt_result *r, const char *text, size_t max, const char *what)
    _requires_(r->call->lock)
{
    if (text == NULL || !host_text_ok(text, max)) {
        break_result(
            r, arena_printf(r->call->arena, "%s that is absent, too long or not UTF-8", what));
        return NULL;
    }
    return arena_strdup(r->call->arena, text);
}

static bool take_ports(struct tt_result *r, const struct tt_ingress *from, struct tt_ingress *to)
    _requires_(r->call->lock)
{
    if (from->n_ports > TT_LIST_MAX || (from->n_ports > 0 && from->ports == NULL)) {
        break_result(r, "too many ports in an ingress");
        return false;
    }
    struct tt_port_status *ports = arena_calloc(r->call->arena, from->n_ports, sizeof(*ports));
    for (uint32_t i = 0; i < from->n_ports; i++) {
        const struct tt_port_status *p = &from->ports[i];
        ports[i].protocol = take_text(r, p->protocol, 16, "a port's protocol");
        ports[i].port = p->port;
        if (p->error != NULL) {
            ports[i].error = take_text(r, p->error, 316, "a port's error");
        }
        if (p->port < 1 || p->port > 65535) {
            break_result(r, "a port that is no port");
        }
    }
    to->ports = ports;
    to->n_ports = from->n_ports;
    return !r->broken;
}

static void take_ingress(struct tt_result *r, const struct tt_ingress *from, struct tt_ingress *to)
    _requires_(r->call->lock)
{
    bool has_ip = !str_is_empty(from->ip);

    if (!has_ip && str_is_empty(from->hostname)) {
        break_result(r, "an ingress without ip and hostname");
        return;
    }
    if (has_ip) {
        to->ip = take_text(r, from->ip, 64, "an ingress ip");
    }
    if (!str_is_empty(from->hostname)) {
        to->hostname = take_text(r, from->hostname, 253, "an ingress hostname");
    }
    if (!str_is_empty(from->ip_mode)) {
        if (!has_ip || (!str_eq(from->ip_mode, "VIP") && !str_eq(from->ip_mode, "Proxy"))) {
            break_result(r, "an ipMode that is neither VIP nor Proxy, or has no ip");
            return;
        }
        to->ip_mode = arena_strdup(r->call->arena, from->ip_mode);
    }
    (void)take_ports(r, from, to); /* what it says is in r->broken */
}

static void result_ingress(struct tt_result *r, const struct tt_ingress *ingress, uint32_t n)
{
    mutex_lock(&r->call->lock);
    if (n > TT_LIST_MAX || (n > 0 && ingress == NULL)) {
        break_result(r, "a list of ingresses that is too long");
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

static void result_condition(struct tt_result *r, const struct tt_condition *condition)
{
    mutex_lock(&r->call->lock);
    struct tt_condition c = *condition;
    c.type = take_text(r, condition->type, 316, "a condition's type");
    c.status = condition->status == NULL
                   ? NULL
                   : take_text(r, condition->status, 16, "a condition's status");
    c.reason = take_text(r, str_nonnull(condition->reason), TT_TEXT_MAX, "a condition's reason");
    c.message = take_text(r, str_nonnull(condition->message), TT_TEXT_MAX, "a condition's message");
    uint32_t at = 0;
    while (at < r->n_conditions && !str_eq(r->conditions[at].type, c.type)) {
        at++;
    }
    if (at == HOST_CONDITIONS_MAX) {
        break_result(r, "too many conditions");
    } else if (!r->broken) {
        r->conditions[at] = c;
        r->n_conditions += at == r->n_conditions;
    }
    mutex_unlock(&r->call->lock);
}

static void result_annotation(struct tt_result *r, const char *key, const char *value)
{
    mutex_lock(&r->call->lock);
    const char *k = take_text(r, key, 317, "an annotation's key");
    const char *v = value == NULL ? NULL : take_text(r, value, 65536, "an annotation's value");
    uint32_t at = 0;
    while (at < r->n_annotations && !str_eq(r->annotations[at].key, k)) {
        at++;
    }
    if (at == HOST_ANNOTATIONS_MAX) {
        break_result(r, "too many annotations");
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
    mutex_lock(&r->call->lock);
    if (name == NULL || !owns_finalizer(r->call->host->args.desc, name)) {
        break_result(r, "a finalizer that its descriptor does not name");
    } else if (r->n_drop_finalizers == HOST_FINALIZERS_MAX) {
        break_result(r, "too many finalizers");
    } else {
        r->drop_finalizers[r->n_drop_finalizers++] = arena_strdup(r->call->arena, name);
    }
    mutex_unlock(&r->call->lock);
}

static void result_exists(struct tt_result *r, int32_t exists)
{
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

static void result_fail(struct tt_result *r, int32_t code, const char *message,
                        int64_t retry_after_ms)
{
    mutex_lock(&r->call->lock);
    r->done = true;
    if (code == TT_OK || !code_is_allowed(r->call->host->args.desc, code)) {
        break_result(r,
                     arena_printf(r->call->arena, "the code %d, which is none it may use", code));
    }
    const char *text = take_text(r, str_nonnull(message), TT_TEXT_MAX, "a message");
    if (!r->broken) {
        r->code = code;
        r->message = str_or(text, "no reason was given");
        r->retry_after_ms = retry_after_ms;
    }
    mutex_unlock(&r->call->lock);
}

static void result_resource(struct tt_result *r, const char *kind, const char *name)
{
    mutex_lock(&r->call->lock);
    r->resource_kind = take_text(r, kind, TT_TEXT_MAX, "a resource's kind");
    r->resource_name = take_text(r, name, TT_TEXT_MAX, "a resource's name");
    mutex_unlock(&r->call->lock);
}

static void result_text(struct tt_result *r, const char *text)
{
    mutex_lock(&r->call->lock);
    r->text = take_text(r, text, HOST_PHRASE_MAX, "a text");
    mutex_unlock(&r->call->lock);
}

/* ---- rows of an explanation ---------------------------------------------------------------------- */

/* Counts bytes that the result is about to keep; false (and a broken result) when they are too many. */
static bool charge(struct tt_result *r, size_t n) _requires_(r->call->lock)
{
    if (n > HOST_EXPLAIN_MAX - r->rows_bytes) {
        break_result(r, "an explanation of more than 4 MiB");
        return false;
    }
    r->rows_bytes += n;
    return true;
}

/* NULL stays NULL. */
static const char *take_phrase(struct tt_result *r, const char *text) _requires_(r->call->lock)
{
    return text == NULL || !charge(r, strnlen(text, HOST_PHRASE_MAX) + 1)
               ? NULL
               : take_text(r, text, HOST_PHRASE_MAX, "a text of an explanation");
}

static const char *const *take_names(struct tt_result *r, const struct tt_explain_row *row)
    _requires_(r->call->lock)
{
    if (row->n_names > TT_LIST_MAX || (row->n_names > 0 && row->names == NULL)) {
        break_result(r, "too many names in an explanation");
        return NULL;
    }
    if (!charge(r, row->n_names * sizeof(*row->names))) {
        return NULL;
    }
    const char **names = ARENA_ARRAY(r->call->arena, const char *, row->n_names);
    for (uint32_t i = 0; i < row->n_names && !r->broken; i++) {
        const char *name = str_nonnull(row->names[i]);
        if (charge(r, strnlen(name, TT_TEXT_MAX) + 1)) {
            names[i] = take_text(r, row->names[i], TT_TEXT_MAX, "a name in an explanation");
        }
    }
    return names;
}

/* The texts that a row of a section must have (provider.h). */
struct row_rule {
    const char *const
        *subjects; /* the words of which the subject is one, NULL behind the last; NULL: any text */
    bool subject, value, outcome; /* required */
};

static const struct row_rule *rule_of(uint32_t section)
{
    static const char *const verdicts[] = {"served", "loses", "elsewhere", "refused", "none", NULL};
    static const char *const steps[] = {"client", "load balancer", "backend", "node", "pod", NULL};
    static const char *const protocols[] = {"HTTP", "HTTPS", "TCP", NULL};
    static const struct row_rule rules[] = {
        [TT_EXPLAIN_ANSWER] = {.subjects = verdicts, .subject = true, .outcome = true},
        [TT_EXPLAIN_DECISION] = {.subject = true},
        [TT_EXPLAIN_NODES] = {.value = true},
        [TT_EXPLAIN_ZONE] = {.subject = true},
        [TT_EXPLAIN_NODES_RULE] = {.value = true},
        [TT_EXPLAIN_LEFT_OUT] = {.subject = true, .outcome = true},
        [TT_EXPLAIN_HOP] = {.subjects = steps, .subject = true},
        [TT_EXPLAIN_HEALTH] = {.subjects = protocols, .subject = true},
        [TT_EXPLAIN_ADDRESS] = {.value = true},
        [TT_EXPLAIN_NOTE] = {.subject = true, .value = true},
        [TT_EXPLAIN_WARNING] = {.value = true},
    };

    return section >= TT_EXPLAIN_ANSWER && section < ARRAY_LEN(rules) ? &rules[section] : NULL;
}

static bool is_one_of(const char *const *words, const char *text)
{
    while (*words != NULL && !str_eq(*words, text)) {
        words++;
    }
    return *words != NULL;
}

/* Breaks the result when the row lacks a text of its section, or has a word that its section does not know. */
static void check_row(struct tt_result *r, const struct tt_explain_row *row,
                      const struct row_rule *rule) _requires_(r->call->lock)
{
    const char *lacks = rule->subject && row->subject == NULL   ? "subject"
                        : rule->value && row->value == NULL     ? "value"
                        : rule->outcome && row->outcome == NULL ? "outcome"
                                                                : NULL;

    if (lacks != NULL) {
        break_result(r, arena_printf(r->call->arena,
                                     "a row of section %u of an explanation without %s",
                                     row->section, lacks));
    } else if (rule->subjects != NULL && !is_one_of(rule->subjects, row->subject)) {
        break_result(r,
                     arena_printf(r->call->arena,
                                  "a row of section %u of an explanation with an unknown subject",
                                  row->section));
    }
}

/* Whether it has all members of 1.4; a later row may have more. */
static bool is_whole_row(const struct tt_explain_row *row)
{
    return row != NULL && TT_HAS(row, every_ms);
}

static void push_row(struct tt_result *r, const struct tt_explain_row *row)
    _requires_(r->call->lock)
{
    if (r->n_rows == r->cap_rows) {
        size_t cap = r->cap_rows == 0 ? 32 : r->cap_rows * 2;
        struct tt_explain_row *rows = arena_calloc(r->call->arena, cap, sizeof(*rows));
        if (r->n_rows > 0) {
            memcpy(rows, r->rows, r->n_rows * sizeof(*rows));
        }
        r->rows = rows;
        r->cap_rows = cap;
    }
    r->rows[r->n_rows++] = *row;
}

static void take_row(struct tt_result *r, const struct tt_explain_row *row,
                     const struct row_rule *rule) _requires_(r->call->lock)
{
    check_row(r, row, rule);
    if (r->broken) {
        return;
    }
    const struct tt_explain_row copy = {.size = sizeof(copy),
                                        .section = row->section,
                                        .n_names = row->n_names,
                                        .subject = take_phrase(r, row->subject),
                                        .value = take_phrase(r, row->value),
                                        .outcome = take_phrase(r, row->outcome),
                                        .names = take_names(r, row),
                                        .count = row->count,
                                        .of = row->of,
                                        .port = row->port,
                                        .every_ms = row->every_ms};
    if (!r->broken) {
        push_row(r, &copy);
    }
}

/* Rows of sections that this version does not know are skipped; a broken result takes no more. */
static void result_row(struct tt_result *r, const struct tt_explain_row *row)
{
    mutex_lock(&r->call->lock);
    if (!is_whole_row(row)) {
        break_result(r, "a row of an explanation that is too small");
    } else if (r->n_rows == TT_LIST_MAX) {
        break_result(r, "too many rows of an explanation");
    } else if (!r->broken && rule_of(row->section) != NULL) {
        take_row(r, row, rule_of(row->section));
    }
    mutex_unlock(&r->call->lock);
}

/* ---- the end of a call --------------------------------------------------------------------------- */

static void result_own(struct tt_result *r, uint32_t bits)
{
    mutex_lock(&r->call->lock);
    r->own = bits; /* what this version does not know is not used */
    mutex_unlock(&r->call->lock);
}

static void result_again(struct tt_result *r, int64_t after_ms)
{
    mutex_lock(&r->call->lock);
    r->again_ms = after_ms > 0 ? after_ms : 0;
    mutex_unlock(&r->call->lock);
}

static void result_done(struct tt_result *r)
{
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
    t->result_text = result_text;
    t->result_row = result_row;
    t->result_done = result_done;
    t->result_own = result_own;
    t->result_again = result_again;
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
