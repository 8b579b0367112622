/* SPDX-License-Identifier: Apache-2.0 */
/* test_host.c: what a provider may hand over, and what it is offered: results, Kubernetes objects,
 * snapshots, metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

/* A call for one Service, demo/web. */
struct fixture {
    struct stand *r;
    struct host_call *call;
    const struct tt_host *h;
    struct tt_item in;
    struct kube_object *obj;
    struct tt_result *result;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.r = stand_new(0)};
    stand_service(f.r, "web", STAND_LB, NULL, NULL);
    f.obj = kube_store_get(f.r->syncer.services, "demo/web");
    f.h = host_table(f.r->host);
    f.call = host_call_begin(f.r->host, f.r->a, 1, 60000, 7, NULL);
    f.in =
        (struct tt_item){.size = sizeof(f.in), .verb = TT_VERB_ENSURE, .service = f.obj->service};
    host_call_item(f.call, 0, &f.in);
    f.result = f.in.result;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    host_call_end(f->call);
    kube_object_unref(f->obj);
    stand_free(f->r);
    return 0;
}

static void want_outcome(const struct fixture *f, int32_t rc, int code, const char *message)
{
    struct err err = ERR_INIT;

    assert_int_equal(code, host_result_outcome(f->result, rc, false, &err));
    assert_string_equal(message, err.message);
}

static const char *long_text(struct arena *a, size_t n)
{
    char *s = arena_alloc(a, n + 1);

    memset(s, 'x', n);
    return s;
}

/* ---- results --------------------------------------------------------------------------------- */

static void result__failure__code_message_and_delay(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    f->h->result_fail(f->result, TT_THROTTLED, "slow down", 3000);
    assert_int_equal(TT_THROTTLED, host_result_outcome(f->result, TT_THROTTLED, false, &err));
    assert_string_equal("slow down", err.message);
    assert_int_equal(3000, err.retry_after_ms);
}

static void result__later_settings__replace_earlier_ones(void **state)
{
    struct fixture *f = *state;
    const struct tt_ingress one = {.ip = "192.0.2.1"};
    const struct tt_ingress two[] = {{.ip = "192.0.2.2", .ip_mode = "Proxy"},
                                     {.hostname = "lb.example.com"}};

    f->h->result_fail(f->result, TT_TRANSIENT, "no", 0);
    f->h->result_ingress(f->result, &one, 1);
    f->h->result_ingress(f->result, two, 2);
    f->h->result_annotation(f->result, "a", "1");
    f->h->result_annotation(f->result, "a", NULL);
    f->h->result_done(f->result);
    want_outcome(f, TT_OK, ERR_OK, "");
    assert_int_equal(2, f->result->n_ingress);
    assert_string_equal("Proxy", f->result->ingress[0].ip_mode);
    assert_int_equal(1, f->result->n_annotations);
    assert_null(f->result->annotations[0].value);
}

enum fault {
    LONG_MESSAGE,
    BAD_UTF8,
    BAD_CODE,
    OK_AS_FAILURE,
    EMPTY_INGRESS,
    BAD_MODE,
    MODE_WITHOUT_IP,
    BAD_PORT,
    NO_LIST,
    FINALIZER,
    MANY_CONDITIONS,
    LONG_KEY,
    N_FAULTS,
};
static const char *const fault_texts[N_FAULTS] = {
    [LONG_MESSAGE] = "a message that is absent, too long or not UTF-8",
    [BAD_UTF8] = "a message that is absent, too long or not UTF-8",
    [BAD_CODE] = "the code 77, which is none it may use",
    [OK_AS_FAILURE] = "the code 0, which is none it may use",
    [EMPTY_INGRESS] = "an ingress without ip and hostname",
    [BAD_MODE] = "an ipMode that is neither VIP nor Proxy, or has no ip",
    [MODE_WITHOUT_IP] = "an ipMode that is neither VIP nor Proxy, or has no ip",
    [BAD_PORT] = "a port that is no port",
    [NO_LIST] = "a list of ingresses that is too long",
    [FINALIZER] = "a finalizer that its descriptor does not name",
    [MANY_CONDITIONS] = "too many conditions",
    [LONG_KEY] = "an annotation's key that is absent, too long or not UTF-8",
};

static void commit_ingress_fault(const struct fixture *f, enum fault fault)
{
    const struct tt_port_status port = {.protocol = "TCP", .port = 70000};
    struct tt_ingress in = {.ip = "192.0.2.1"};

    if (fault == BAD_PORT) {
        in.ports = &port;
        in.n_ports = 1;
    } else if (fault == EMPTY_INGRESS) {
        in.ip = NULL;
    } else {
        in.ip = fault == MODE_WITHOUT_IP ? NULL : in.ip;
        in.hostname = "x";
        in.ip_mode = fault == BAD_MODE ? "vip" : "VIP";
    }
    f->h->result_ingress(f->result, fault == NO_LIST ? NULL : &in, fault == NO_LIST ? 3 : 1);
}

static void commit_fault(const struct fixture *f, enum fault fault)
{
    switch (fault) {
    case LONG_MESSAGE:
        f->h->result_fail(f->result, TT_TRANSIENT, long_text(f->r->a, TT_TEXT_MAX + 1), 0);
        break;
    case BAD_UTF8:
        f->h->result_fail(f->result, TT_TRANSIENT, "\xc3\x28", 0);
        break;
    case BAD_CODE:
    case OK_AS_FAILURE:
        f->h->result_fail(f->result, fault == BAD_CODE ? 77 : TT_OK, "x", 0);
        break;
    case FINALIZER:
        f->h->result_drop_finalizer(f->result, "kubernetes.io/pv-protection");
        break;
    case MANY_CONDITIONS:
        for (int i = 0; i <= HOST_CONDITIONS_MAX; i++) {
            const struct tt_condition c = {.type = arena_printf(f->r->a, "t%d", i),
                                           .status = "True"};
            f->h->result_condition(f->result, &c);
        }
        break;
    case LONG_KEY:
        f->h->result_annotation(f->result, long_text(f->r->a, 400), "x");
        break;
    default:
        commit_ingress_fault(f, fault);
        break;
    }
}

static void result__what_may_not_be__is_a_fault_of_the_provider(void **state)
{
    (void)state;
    for (enum fault fault = LONG_MESSAGE; fault < N_FAULTS; fault++) {
        void *fresh = NULL;
        struct err err = ERR_INIT;
        set_up(&fresh);
        struct fixture *f = fresh;
        commit_fault(f, fault);
        f->h->result_done(f->result);
        assert_int_equal(ERR_BUG, host_result_outcome(f->result, TT_OK, false, &err));
        if (strstr(err.message, fault_texts[fault]) == NULL) {
            fail_msg("fault %d: \"%s\", want \"%s\"", (int)fault, err.message, fault_texts[fault]);
        }
        tear_down(&fresh);
    }
}

static struct tt_explain_row row_of(uint32_t section, const char *subject, const char *value,
                                    const char *outcome)
{
    return (struct tt_explain_row){.size = sizeof(struct tt_explain_row),
                                   .section = section,
                                   .subject = subject,
                                   .value = value,
                                   .outcome = outcome};
}

static void result_row__text_missing_or_word_unknown__is_a_fault(void **state)
{
    static const struct {
        uint32_t section;
        const char *subject, *value, *outcome, *fault; /* NULL: fine */
    } rows[] = {
        {TT_EXPLAIN_ANSWER, "none", NULL, "is not served.", NULL},
        {TT_EXPLAIN_ANSWER, "perhaps", NULL, "is served.",
         "1 of an explanation with an unknown subject"},
        {TT_EXPLAIN_ANSWER, NULL, NULL, "is served.", "1 of an explanation without subject"},
        {TT_EXPLAIN_ANSWER, "served", NULL, NULL, "1 of an explanation without outcome"},
        {TT_EXPLAIN_DECISION, "spec.type", NULL, NULL, NULL},
        {TT_EXPLAIN_DECISION, NULL, "x", "y", "2 of an explanation without subject"},
        {TT_EXPLAIN_NODES, NULL, NULL, NULL, "3 of an explanation without value"},
        {TT_EXPLAIN_ZONE, NULL, NULL, NULL, "4 of an explanation without subject"},
        {TT_EXPLAIN_NODES_RULE, NULL, NULL, NULL, "5 of an explanation without value"},
        {TT_EXPLAIN_LEFT_OUT, "node-1", NULL, NULL, "6 of an explanation without outcome"},
        {TT_EXPLAIN_HOP, "load balancer", NULL, NULL, NULL},
        {TT_EXPLAIN_HOP, "router", "r", NULL, "7 of an explanation with an unknown subject"},
        {TT_EXPLAIN_HEALTH, "TCP", NULL, NULL, NULL},
        {TT_EXPLAIN_HEALTH, "UDP", NULL, NULL, "8 of an explanation with an unknown subject"},
        {TT_EXPLAIN_ADDRESS, NULL, NULL, NULL, "9 of an explanation without value"},
        {TT_EXPLAIN_NOTE, "Cost", NULL, NULL, "10 of an explanation without value"},
        {TT_EXPLAIN_WARNING, NULL, NULL, NULL, "11 of an explanation without value"},
        {77, NULL, NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(0, i == 0 ? 0 : set_up(state));
        struct fixture *f = *state;
        const struct tt_explain_row row =
            row_of(rows[i].section, rows[i].subject, rows[i].value, rows[i].outcome);
        f->h->result_row(f->result, &row);
        if (rows[i].fault == NULL) {
            want_outcome(f, TT_OK, ERR_OK, "");
        } else {
            want_outcome(f, TT_OK, ERR_BUG,
                         arena_printf(f->r->a, "the provider handed over a row of section %s",
                                      rows[i].fault));
        }
        assert_int_equal(f->result->n_rows, rows[i].fault == NULL && rows[i].section != 77);
        assert_int_equal(0, i + 1 == ARRAY_LEN(rows) ? 0 : tear_down(state));
    }
}

/* By long texts, and by many names: neither of them is kept beyond the bound. */
static void result_row__more_than_4_mib__is_a_fault(void **state)
{
    for (int by_names = 0; by_names < 2; by_names++) {
        assert_int_equal(0, by_names == 0 ? 0 : set_up(state));
        struct fixture *f = *state;
        struct tt_explain_row row = row_of(TT_EXPLAIN_ZONE, "zone-a", NULL, NULL);
        const char **names = ARENA_ARRAY(f->r->a, const char *, TT_LIST_MAX);
        for (uint32_t i = 0; i < TT_LIST_MAX; i++) {
            names[i] = "node-0";
        }
        row.value = by_names ? NULL : long_text(f->r->a, 65536);
        row.names = names;
        row.n_names = by_names ? TT_LIST_MAX : 0;
        for (int i = 0; i < 100; i++) {
            f->h->result_row(f->result, &row);
        }
        want_outcome(f, TT_OK, ERR_BUG,
                     "the provider handed over an explanation of more than 4 MiB");
        assert_in_range(f->result->rows_bytes, 3u << 20, 4u << 20);
        assert_int_equal(0, by_names == 1 ? 0 : tear_down(state));
    }
}

static void result__code_outside_the_descriptors__is_a_fault(void **state)
{
    struct fixture *f = *state;

    f->r->provider->desc.codes = 1u << TT_TRANSIENT;
    f->h->result_fail(f->result, TT_QUOTA, "x", 0);
    want_outcome(f, TT_QUOTA, ERR_BUG,
                 "the provider handed over the code 7, which is none it may use");
}

static void result__silence__means_what_the_code_says(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    want_outcome(f, TT_OK, ERR_OK, "");
    want_outcome(f, TT_IN_USE, ERR_IN_USE, "the provider said in-use without a reason");
    want_outcome(f, -1, ERR_BUG, "the provider returned -1, which is no code it may use");
    assert_int_equal(ERR_BUG, host_result_outcome(f->result, TT_OK, true, &err));
    assert_int_equal(ERR_CANCELLED, host_result_outcome(f->result, TT_CANCELLED, true, &err));
}

/* ---- what is offered ------------------------------------------------------------------------- */

static void host__snapshots__stay_the_same_during_a_call(void **state)
{
    struct fixture *f = *state;
    const struct tt_call *call = host_call_abi(f->call);
    const struct tt_service *const *services = NULL;
    const struct tt_node *const *nodes = NULL;
    uint32_t n = 0;

    stand_node(f->r, "b", NULL, NULL);
    stand_node(f->r, "a", NULL, NULL);
    f->h->nodes(f->h->ctx, call, &nodes, &n);
    assert_int_equal(2, n);
    assert_string_equal("a", nodes[0]->name);
    stand_node_gone(f->r, "a");
    f->h->nodes(f->h->ctx, call, &nodes, &n);
    assert_int_equal(2, n);
    assert_string_equal("a", nodes[0]->name);
    f->h->services(f->h->ctx, call, &services, &n);
    assert_int_equal(1, n);
    assert_int_equal(7, call->waiting);
}

/* "demo/web ", "-demo/web ". */
static void note_service(void *arg, const char *ns, const char *name, const struct tt_service *s)
{
    str_appendf(arg, "%s%s/%s ", s == NULL ? "-" : "", ns, name);
    if (s != NULL) {
        assert_string_equal(s->name, name);
        assert_string_equal(s->type, "LoadBalancer");
    }
}

static const char *told_since(struct stand *r, const struct tt_call *call, uint64_t *version)
{
    struct str_buf told = STR_BUF_INIT;
    const struct tt_host *h = host_table(r->host);
    const struct tt_service_sink each = {sizeof(each), note_service, &told};
    const char *all = h->services_since(h->ctx, call, version, &each) != 0 ? "all: " : "";
    const char *text = arena_printf(r->a, "%s%s", all, str_buf_text(&told));
    str_buf_done(&told);
    return text;
}

/* Kept small, their changes identify them; kept whole, all of them each time. */
static void host__services__by_name_and_by_changes(void **state)
{
    (void)state;
    for (int small = 0; small < 2; small++) {
        struct stand *r = stand_new(small ? TT_CAP_FEW_SERVICES : 0);
        const struct tt_host *h = host_table(r->host);
        struct host_call *c = host_call_begin(r->host, r->a, 1, 60000, 0, NULL);
        const struct tt_call *call = host_call_abi(c);
        const struct tt_service *const *all = NULL;
        uint64_t version = 0;
        uint32_t n = 0;
        stand_service(r, "web", STAND_LB, NULL, NULL);
        stand_service(r, "api", STAND_LB, NULL, NULL);
        assert_string_equal(told_since(r, call, &version), "all: demo/api demo/web ");
        const struct tt_service *web = h->service(h->ctx, call, "demo", "web");
        assert_string_equal(web->name, "web");
        assert_null(h->service(h->ctx, call, "demo", "webs"));
        stand_service_gone(r, "web");
        assert_string_equal(web->name, "web"); /* until the call ends */
        assert_null(h->service(h->ctx, call, "demo", "web"));
        assert_string_equal(told_since(r, call, &version), small ? "-demo/web " : "all: demo/api ");
        assert_string_equal(told_since(r, call, &version), "");
        h->services(h->ctx, call, &all, &n);
        assert_int_equal(n, 1);
        assert_string_equal(all[0]->name, "api");
        host_call_end(c);
        stand_free(r);
    }
}

static void host__slices_unknown__unless_watched(void **state)
{
    struct fixture *f = *state;
    const struct tt_slice *const *slices = NULL;
    uint32_t n = 9;
    uint32_t known = 9;

    f->h->slices(f->h->ctx, host_call_abi(f->call), f->obj->service, &slices, &n, &known);
    assert_int_equal(0, known);
    assert_int_equal(0, n);
}

static void host__may_mutate__fence_deadline_and_cancel(void **state)
{
    struct fixture *f = *state;
    const struct tt_call *call = host_call_abi(f->call);

    assert_int_equal(1, f->h->may_mutate(f->h->ctx, call));
    assert_int_equal(0, call->cancelled(call));
    clock_fake_advance(f->r->clock, 60000);
    assert_int_equal(1, call->cancelled(call));
    assert_int_equal(0, f->h->may_mutate(f->h->ctx, call));
    assert_int_equal(0, f->h->may_mutate(f->h->ctx, NULL)); /* for which Service? */
    host_set_opening(f->r->host, true);
    assert_int_equal(1, f->h->may_mutate(f->h->ctx, NULL));
    fence_close(&f->r->fence);
    assert_int_equal(0, f->h->may_mutate(f->h->ctx, NULL));
}

static void take_text(void *arg, const char *text, size_t n)
{
    snprintf(arg, 64, "%.*s", (int)n, text);
}

static const struct tt_kube_kind kinds[] = {
    {"v1", "configmaps", "kube-system", "ids", "get,create"},
    {"networking.example.com/v1", "rules", NULL, NULL, "list,patch,delete"},
};

static void host__kubernetes_objects__only_what_is_declared(void **state)
{
    struct fixture *f = *state;
    char text[64] = "";
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = take_text, .arg = text};
    const struct tt_kube_ref ids = {"v1", "configmaps", "kube-system", "ids", NULL};
    const struct tt_kube_ref others = {"v1", "configmaps", "kube-system", "others", NULL};
    const struct tt_kube_ref rules = {"networking.example.com/v1", "rules", "demo", "r1", NULL};
    const struct tt_call *call = host_call_abi(f->call);

    f->r->provider->desc.kube_kinds = kinds;
    f->r->provider->desc.n_kube_kinds = ARRAY_LEN(kinds);
    assert_int_equal(TT_OK, f->h->kube_get(f->h->ctx, call, &ids, &sink));
    assert_string_equal("{}", text);
    assert_int_equal(TT_FORBIDDEN, f->h->kube_get(f->h->ctx, call, &others, &sink));
    assert_int_equal(TT_FORBIDDEN, f->h->kube_delete(f->h->ctx, call, &ids, NULL));
    assert_int_equal(TT_OK, f->h->kube_delete(f->h->ctx, call, &rules, "uid-1"));
    assert_int_equal(TT_OK, f->h->kube_patch(f->h->ctx, call, &rules,
                                             "application/merge-patch+json", "{}", NULL));
    assert_int_equal(TT_BUG, f->h->kube_patch(f->h->ctx, call, &rules, "text/plain", "{}", NULL));
    assert_int_equal(TT_OK, f->h->kube_list(f->h->ctx, call,
                                            &(struct tt_kube_ref){"networking.example.com/v1",
                                                                  "rules", "demo", NULL, NULL},
                                            "a=b", NULL));
    assert_int_equal(4, f->r->n_requests);
    assert_string_equal("/apis/networking.example.com/v1/namespaces/demo/rules/r1",
                        f->r->requests[1].path);
    assert_non_null(strstr(f->r->requests[1].body, "\"preconditions\":{\"uid\":\"uid-1\"}"));
}

/* A thread of the provider's own: it has no call, and its goodbye must get out while
 * the process ends. */
static void host__without_a_call__as_the_capability_and_the_fence_say(void **state)
{
    struct fixture *f = *state;
    const struct tt_kube_ref rules = {"networking.example.com/v1", "rules", "demo", "r1", NULL};
    const char *merge = "application/merge-patch+json";

    f->r->provider->desc.kube_kinds = kinds;
    f->r->provider->desc.n_kube_kinds = ARRAY_LEN(kinds);
    assert_int_equal(TT_CANCELLED, f->h->kube_patch(f->h->ctx, NULL, &rules, merge, "{}", NULL));
    f->r->provider->desc.capabilities |= TT_CAP_WITHOUT_CALL;
    assert_int_equal(1, f->h->may_mutate(f->h->ctx, NULL));
    cancel_fire(f->r->cancel); /* the process ends */
    assert_int_equal(TT_OK, f->h->kube_patch(f->h->ctx, NULL, &rules, merge, "{}", NULL));
    fence_close(&f->r->fence);
    assert_int_equal(TT_CANCELLED, f->h->kube_patch(f->h->ctx, NULL, &rules, merge, "{}", NULL));
    assert_int_equal(1, f->r->n_requests);
}

static const char *pages(const char *target)
{
    static const char base[] =
        "/apis/networking.example.com/v1/rules?labelSelector=a%3Db&limit=250";
    static char second[300];
    if (strcmp(target, base) == 0) {
        return "{\"metadata\":{\"continue\":\"a+b\"},\"items\":[{\"n\":1},{\"n\":2}]}";
    }
    snprintf(second, sizeof(second), "%s&continue=a%%2Bb", base);
    return strcmp(target, second) == 0 ? "{\"metadata\":{},\"items\":[{\"n\":3}]}" : "[]";
}

static void join_text(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
    str_append_c(arg, ' ');
}

static void host__kube_each__every_object_of_every_page(void **state)
{
    struct fixture *f = *state;
    struct str_buf seen = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = join_text, .arg = &seen};
    const struct tt_kube_ref rules = {"networking.example.com/v1", "rules", NULL, NULL, NULL};
    const struct tt_call *call = host_call_abi(f->call);

    f->r->get = pages;
    assert_int_equal(TT_FORBIDDEN, f->h->kube_each(f->h->ctx, call, &rules, "a=b", &sink));
    f->r->provider->desc.kube_kinds = kinds;
    f->r->provider->desc.n_kube_kinds = ARRAY_LEN(kinds);
    assert_int_equal(TT_OK, f->h->kube_each(f->h->ctx, call, &rules, "a=b", &sink));
    assert_string_equal("{\"n\":1} {\"n\":2} {\"n\":3} ", str_buf_text(&seen));
    assert_int_equal(2, f->r->n_requests);
    stand_refuse(f->r, "GET", "/rules", 404, "NotFound", "no such resource");
    assert_int_equal(TT_NOT_FOUND, f->h->kube_each(f->h->ctx, call, &rules, "a=b", &sink));
    assert_int_equal(TT_BUG, f->h->kube_each(f->h->ctx, call, &rules, "a=b", NULL));
    str_buf_done(&seen);
}

static void never_told(void *arg, const char *type, const char *json, size_t n)
{
    (void)arg;
    (void)n;
    fail_msg("%s %s", type, json);
}

static void host__kube_watch__of_declared_kinds_alone(void **state)
{
    struct fixture *f = *state;
    static const struct tt_kube_kind listed[] = {
        {.api_version = "networking.example.com/v1", .resource = "rules", .verbs = "get,list"}};
    const struct tt_kube_ref rules = {"networking.example.com/v1", "rules", NULL, NULL, NULL};
    const struct tt_kube_ref one = {"networking.example.com/v1", "rules", NULL, "a", NULL};

    assert_int_equal(TT_FORBIDDEN, f->h->kube_watch(f->h->ctx, &rules, NULL, never_told, NULL));
    f->r->provider->desc.kube_kinds = listed;
    f->r->provider->desc.n_kube_kinds = ARRAY_LEN(listed);
    assert_int_equal(TT_FORBIDDEN, f->h->kube_watch(f->h->ctx, &rules, NULL, never_told, NULL));
    assert_int_equal(TT_BUG, f->h->kube_watch(f->h->ctx, &one, NULL, never_told, NULL));
    assert_int_equal(TT_BUG, f->h->kube_watch(f->h->ctx, &rules, NULL, NULL, NULL));
    assert_int_equal(TT_BUG, f->h->kube_watch(f->h->ctx, NULL, NULL, never_told, NULL));
    assert_int_equal(0, f->r->n_requests);
}

static void host__hold_finalizers__one_patch_then_none(void **state)
{
    struct fixture *f = *state;
    static const char *const own[] = {"example.com/v1"};
    const struct tt_call *call = host_call_abi(f->call);

    assert_int_equal(TT_BUG, f->h->hold_finalizers(f->h->ctx, call, &f->in, own, 1));
    f->r->provider->desc.finalizers = own;
    f->r->provider->desc.n_finalizers = 1;
    assert_int_equal(TT_OK, f->h->hold_finalizers(f->h->ctx, call, &f->in, own, 1));
    assert_int_equal(TT_OK, f->h->hold_finalizers(f->h->ctx, call, &f->in, own, 1));
    assert_int_equal(1, stand_patches(f->r));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"" STAND_F
                        "\",\"example.com/v1\"]}}",
                        stand_patch(f->r, 0));
}

static void host__hold_finalizers__own_ones_alone(void **state)
{
    struct fixture *f = *state;
    static const char *const own[] = {"example.com/v1"};
    const struct tt_call *call = host_call_abi(f->call);

    f->r->provider->desc.finalizers = own;
    f->r->provider->desc.n_finalizers = 1;
    f->h->result_own(f->result, TT_OWN_FINALIZERS | 0x80000000u); /* what is unknown is not used */
    assert_int_equal(TT_OK, f->h->hold_finalizers(f->h->ctx, call, &f->in, NULL, 0));
    assert_int_equal(0, stand_patches(f->r));
    assert_int_equal(TT_OK, f->h->hold_finalizers(f->h->ctx, call, &f->in, own, 1));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"example.com/v1\"]}}",
                        stand_patch(f->r, 0));
    f->h->result_done(f->result);
    want_outcome(f, TT_OK, ERR_OK, "");
}

static void host__metrics__counted_and_unknown_ones_ignored(void **state)
{
    struct fixture *f = *state;
    const struct tt_kv labels[] = {{"api", "fake"}, {"operation", "x.get"}, {"code", "200"}};

    f->h->report_call(f->h->ctx, host_call_abi(f->call), "fake", "x.get", 200, 12);
    f->h->report_call(f->h->ctx, host_call_abi(f->call), "fake", "x.get", 200, 12);
    f->h->metric_add(f->h->ctx, "nobody_knows_it", NULL, 0, 1);
    assert_true(metrics_value(f->r->metrics, METRIC_CLOUD_REQUESTS, labels, 3) == 2);
    assert_true(metrics_value(f->r->metrics, METRIC_CLOUD_DURATION, labels, 2) == 2);
    assert_true(metrics_value(f->r->metrics, "nobody_knows_it", NULL, 0) == 0);
    assert_int_equal(2, host_call_requests(f->call));
}

static void host__event_that_may_not_be__is_dropped(void **state)
{
    struct fixture *f = *state;

    f->h->event(f->h->ctx, f->obj->service, TT_EVENT_WARNING, "Reason", "\xff");
    f->h->event(f->h->ctx, f->obj->service, TT_EVENT_WARNING, NULL, "x");
    f->h->event(f->h->ctx, f->obj->service, TT_EVENT_WARNING, "Told", "by the provider");
    assert_string_equal("Warning Told by the provider\n", stand_events(f->r));
}

/* ---- what is ours in the cloud --------------------------------------------------------------- */

static struct tt_owned last_resource;
static unsigned n_resources;

static void on_resource(void *arg, const struct tt_owned *owned)
{
    (void)arg;
    n_resources++;
    last_resource = *owned;
}

static void report_resource__what_cannot_be_shown__not_handed_on(void **state)
{
    struct fixture *f = *state;
    struct tt_host_ctx *h = host_new(&(struct host_args){.desc = &f->r->provider->desc,
                                                         .clock = f->r->clock,
                                                         .fence = &f->r->fence,
                                                         .hooks = {.on_resource = on_resource}});
    const struct tt_host *t = host_table(h);
    const struct tt_owned fine = {
        .size = sizeof(fine), .kind = "address", .name = "a1", .created_us = 7};
    struct tt_owned bad[] = {fine, fine, fine, fine, fine};

    n_resources = 0;
    t->report_resource(h, NULL, &fine);
    assert_int_equal(1, n_resources);
    assert_string_equal("a1", last_resource.name);
    assert_int_equal(7, last_resource.created_us);
    bad[0].kind = NULL;
    bad[1].name = "";
    bad[2].command = long_text(f->r->a, TT_TEXT_MAX + 1);
    bad[3].owner = "\xff";
    bad[4].size = 8; /* built with a header that had less */
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        t->report_resource(h, NULL, &bad[i]);
    }
    t->report_resource(h, NULL, NULL);
    assert_int_equal(1, n_resources);
    host_free(h);
}

UNIT_MAIN(host)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(report_resource__what_cannot_be_shown__not_handed_on),
        T(result__failure__code_message_and_delay),
        T(result__later_settings__replace_earlier_ones),
        cmocka_unit_test(result__what_may_not_be__is_a_fault_of_the_provider),
        T(result_row__text_missing_or_word_unknown__is_a_fault),
        T(result_row__more_than_4_mib__is_a_fault),
        T(result__code_outside_the_descriptors__is_a_fault),
        T(result__silence__means_what_the_code_says),
        T(host__snapshots__stay_the_same_during_a_call),
        cmocka_unit_test(host__services__by_name_and_by_changes),
        T(host__slices_unknown__unless_watched),
        T(host__may_mutate__fence_deadline_and_cancel),
        T(host__kubernetes_objects__only_what_is_declared),
        T(host__without_a_call__as_the_capability_and_the_fence_say),
        T(host__kube_each__every_object_of_every_page),
        T(host__kube_watch__of_declared_kinds_alone),
        T(host__hold_finalizers__one_patch_then_none),
        T(host__hold_finalizers__own_ones_alone),
        T(host__metrics__counted_and_unknown_ones_ignored),
        T(host__event_that_may_not_be__is_dropped),
    };
    return cmocka_run_group_tests_name("controller-host", tests, NULL, NULL);
}
