/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4lb_config.c: L4LBConfig objects: what they say, the findings of their Services;
 * gce-l4.md §4.12. */
#include "tests/unit/gce/kube_fake.h"

#include "providers/gce/backend/gce_l4lb_config.h"
#include "tests/support/unit.h"

#include <stdio.h>

static const struct tt_kv names_cfg[] = {{"networking.gke.io/l4lb-config", "cfg"}};
static const struct tt_kv names_nothing[] = {{"networking.gke.io/l4lb-config", ""}};

static struct tt_service service_with(const struct tt_kv *annotations,
                                      const struct tt_condition *condition)
{
    return (struct tt_service){.size = sizeof(struct tt_service),
                               .ns = "demo",
                               .name = "web",
                               .annotations = annotations,
                               .n_annotations = annotations != NULL,
                               .conditions = condition,
                               .n_conditions = condition != NULL};
}

struct read_row {
    const char *logging; /* spec.logging; NULL: absent */
    enum gce_log_state state;
    const char *want; /* "enable rate mode fields", or the message */
};
static const struct read_row read_rows[] = {
    {NULL, GCE_LOG_UNMANAGED, NULL},
    {"null", GCE_LOG_UNMANAGED, NULL},
    {"{}", GCE_LOG_MANAGED, "0 1.000000 EXCLUDE_ALL_OPTIONAL"},
    {"{\"enabled\":true}", GCE_LOG_MANAGED, "1 1.000000 EXCLUDE_ALL_OPTIONAL"},
    {"{\"enabled\":true,\"sampleRate\":0,\"optionalMode\":\"INCLUDE_ALL_OPTIONAL\"}",
     GCE_LOG_MANAGED, "1 0.000000 INCLUDE_ALL_OPTIONAL"},
    {"{\"enabled\":true,\"sampleRate\":1000000}", GCE_LOG_MANAGED,
     "1 1.000000 EXCLUDE_ALL_OPTIONAL"},
    {"{\"enabled\":true,\"sampleRate\":250000,\"optionalMode\":\"CUSTOM\","
     "\"optionalFields\":[\"a\",\"b\"]}",
     GCE_LOG_MANAGED, "1 0.250000 CUSTOM a b"},
    {"{\"enabled\":false,\"optionalMode\":\"CUSTOM\",\"optionalFields\":[\"a\"]}", GCE_LOG_MANAGED,
     "0 1.000000 CUSTOM a"},
    {"{\"optionalMode\":\"custom\"}", GCE_LOG_BAD_MODE, "optionalMode \"custom\" is not known"},
    {"{\"optionalMode\":\"CUSTOM\"}", GCE_LOG_BAD_MODE, "optionalMode CUSTOM needs optionalFields"},
    {"{\"optionalMode\":\"CUSTOM\",\"optionalFields\":[]}", GCE_LOG_BAD_MODE,
     "optionalMode CUSTOM needs optionalFields"},
    {"{\"optionalFields\":[\"a\"]}", GCE_LOG_BAD_MODE,
     "optionalFields need optionalMode CUSTOM, not EXCLUDE_ALL_OPTIONAL"},
    {"{\"optionalMode\":7}", GCE_LOG_BAD_MODE, "optionalMode or optionalFields is of another type"},
    {"{\"sampleRate\":-1}", GCE_LOG_BAD_VALUE, "sampleRate is not between 0 and 1000000"},
    {"{\"sampleRate\":1000001}", GCE_LOG_BAD_VALUE, "sampleRate is not between 0 and 1000000"},
    {"{\"sampleRate\":\"1\"}", GCE_LOG_BAD_VALUE, "sampleRate is not between 0 and 1000000"},
    {"{\"enabled\":\"yes\"}", GCE_LOG_BAD_VALUE, "enabled is neither true nor false"},
    {"{\"sampleRate\":-1,\"optionalMode\":\"x\"}", GCE_LOG_BAD_MODE,
     "optionalMode \"x\" is not known"}, /* the first fault */
};

static void read__rows__value_or_what_is_wrong(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(read_rows); i++) {
        const struct read_row *row = &read_rows[i];
        struct gce_log_verdict v;
        const char *text = row->logging == NULL
                               ? "{\"spec\":{}}"
                               : arena_printf(a, "{\"spec\":{\"logging\":%s}}", row->logging);
        print_message("# %s\n", text);
        gce_log_read(a, pure_json(a, text), &v);
        assert_int_equal(v.state, row->state);
        const struct gce_l4_log *log = gce_log_of(&v);
        assert_int_equal(log != NULL, row->state == GCE_LOG_MANAGED);
        const char *got = v.message;
        if (log != NULL) {
            got = arena_printf(a, "%d %f %s", log->enable, log->rate, log->mode);
            for (size_t f = 0; f < log->fields.n; f++) {
                got = arena_printf(a, "%s %s", got, log->fields.items[f]);
            }
        }
        same_text("verdict", got, row->want);
    }
}

struct told_row {
    enum gce_log_state state;
    bool annotated;
    const char *had;       /* reason of the condition that is there; NULL: none */
    const char *failure;   /* of the backend service */
    const char *condition; /* "status reason message"; NULL: nothing is said */
    const char *event;     /* its reason */
};
static const struct told_row told_rows[] = {
    {GCE_LOG_UNMANAGED, false, NULL, NULL, NULL, NULL},
    {GCE_LOG_UNMANAGED, false, "Reconciled", NULL, "False Unmanaged ",
     "L4LBConfigAnnotationRemoved"},
    {GCE_LOG_UNMANAGED, false, "Missing", NULL, "False Unmanaged ", "L4LBConfigAnnotationRemoved"},
    {GCE_LOG_UNMANAGED, false, "Unmanaged", NULL, "False Unmanaged ", NULL},
    {GCE_LOG_UNMANAGED, true, "Reconciled", NULL, "False Unmanaged ", NULL},
    {GCE_LOG_MANAGED, true, NULL, NULL, "True Reconciled ", NULL},
    {GCE_LOG_MANAGED, true, "Reconciled", "quota", "False Error quota", NULL},
    {GCE_LOG_MISSING, true, NULL, NULL, "False Missing w", "L4LBConfigNotFound"},
    {GCE_LOG_MISSING, true, NULL, "quota", "False Missing w", "L4LBConfigNotFound"},
    {GCE_LOG_FETCH_FAILED, true, NULL, NULL, "False Error w", "L4LBConfigFetchFailed"},
    {GCE_LOG_BAD_MODE, true, NULL, NULL, "False Invalid w", "L4LBConfigInvalidMode"},
    {GCE_LOG_BAD_VALUE, true, NULL, NULL, "False Invalid w", "L4LBConfigUnknownError"},
};

static void told__rows__condition_and_event(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(told_rows); i++) {
        const struct told_row *row = &told_rows[i];
        const struct tt_condition had = {.type = GCE_LOG_CONDITION, .reason = row->had};
        struct tt_service s =
            service_with(row->annotated ? names_cfg : NULL, row->had != NULL ? &had : NULL);
        bool wrong = row->state > GCE_LOG_MANAGED;
        const struct gce_log_verdict v = {.state = row->state,
                                          .config = row->annotated ? "cfg" : NULL,
                                          .message = wrong ? "w" : NULL};
        struct tt_condition c;
        const char *message = NULL;
        print_message("# row %zu\n", i);
        bool says = gce_log_condition(&s, &v, row->failure, &c);
        same_text("condition",
                  says ? arena_printf(a, "%s %s %s", c.status, c.reason, c.message) : NULL,
                  row->condition);
        same_text("event", gce_log_event(a, &s, &v, &message), row->event);
        assert_int_equal(message != NULL, row->event != NULL);
        if (wrong) {
            same_text("message", message, "L4LBConfig demo/cfg: w; logging stays as it is");
        }
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void get__shared_config__asked_once_and_again_later(void **state)
{
    struct kube_fake *f = kube_fake_new(*state);
    struct gce_kube_texts *c = gce_kube_texts_new();
    struct tt_service s = service_with(names_cfg, NULL);
    struct gce_log_verdict v;
    kube_fake_put(f, "demo/cfg", "{\"spec\":{\"logging\":{\"enabled\":true}}}");
    for (int i = 0; i < 3; i++) {
        gce_l4lb_config_get(c, &f->host, NULL, *state, &s, &v);
        assert_int_equal(v.state, GCE_LOG_MANAGED);
        assert_true(gce_log_of(&v)->enable);
        same_text("config", v.config, "cfg");
    }
    same_text("requests", kube_fake_story(f), "get demo/cfg");
    kube_fake_put(f, "demo/cfg", "{\"spec\":{\"logging\":{\"enabled\":false}}}");
    f->now_ms += GCE_KUBE_TEXTS_AGE_MS;
    gce_l4lb_config_get(c, &f->host, NULL, *state, &s, &v);
    assert_false(gce_log_of(&v)->enable);
    same_text("requests", kube_fake_story(f), "get demo/cfg");
    gce_kube_texts_free(c);
    kube_fake_free(f);
}

static void get__not_to_be_had__says_why_and_stays_with_that_for_a_moment(void **state)
{
    static const struct {
        int32_t code;
        enum gce_log_state state;
        const char *message, *requests;
    } rows[] = {
        {TT_NOT_FOUND, GCE_LOG_MISSING, "it does not exist", "get demo/cfg"},
        {TT_FORBIDDEN, GCE_LOG_FETCH_FAILED, "it could not be read: forbidden", "get demo/cfg"},
        {TT_CANCELLED, GCE_LOG_FETCH_FAILED, "it could not be read: cancelled",
         "get demo/cfg · get demo/cfg"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_fake *f = kube_fake_new(*state);
        struct gce_kube_texts *c = gce_kube_texts_new();
        struct tt_service s = service_with(names_cfg, NULL);
        struct gce_log_verdict v;
        for (int k = 0; k < 2; k++) {
            f->refuse[k].request = "get demo/cfg";
            f->refuse[k].code = rows[i].code;
        }
        for (int k = 0; k < 2; k++) {
            gce_l4lb_config_get(c, &f->host, NULL, *state, &s, &v);
            assert_int_equal(v.state, rows[i].state);
            same_text("why", v.message, rows[i].message);
            assert_null(gce_log_of(&v));
        }
        same_text("requests", kube_fake_story(f), rows[i].requests);
        gce_kube_texts_free(c);
        kube_fake_free(f);
    }
}

static void get__no_annotation__no_request(void **state)
{
    const struct tt_kv *const annotations[] = {NULL, names_nothing};
    for (size_t i = 0; i < ARRAY_LEN(annotations); i++) {
        struct kube_fake *f = kube_fake_new(*state);
        struct gce_kube_texts *c = gce_kube_texts_new();
        struct tt_service s = service_with(annotations[i], NULL);
        struct gce_log_verdict v = {.state = GCE_LOG_BAD_MODE};
        gce_l4lb_config_get(c, &f->host, NULL, *state, &s, &v);
        assert_int_equal(v.state, GCE_LOG_UNMANAGED);
        same_text("requests", kube_fake_story(f), "");
        gce_kube_texts_free(c);
        kube_fake_free(f);
    }
}

static void get__thousands_of_configs__bounded(void **state)
{
    struct kube_fake *f = kube_fake_new(*state);
    struct gce_kube_texts *c = gce_kube_texts_new();
    for (int i = 0; i < 2500; i++) {
        const struct tt_kv name = {"networking.gke.io/l4lb-config", arena_printf(*state, "c%d", i)};
        struct tt_service s = service_with(&name, NULL);
        struct gce_log_verdict v;
        gce_l4lb_config_get(c, &f->host, NULL, *state, &s, &v);
        assert_int_equal(v.state, GCE_LOG_MISSING);
    }
    struct tt_service s = service_with(names_cfg, NULL);
    struct gce_log_verdict v;
    (void)kube_fake_story(f);
    for (int i = 0; i < 2; i++) {
        gce_l4lb_config_get(c, &f->host, NULL, *state, &s, &v);
    }
    same_text("requests", kube_fake_story(f), "get demo/cfg");
    gce_kube_texts_free(c);
    kube_fake_free(f);
}

UNIT_MAIN(l4lb_config)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(read__rows__value_or_what_is_wrong),
        PURE_TEST(told__rows__condition_and_event),
        PURE_TEST(get__shared_config__asked_once_and_again_later),
        PURE_TEST(get__not_to_be_had__says_why_and_stays_with_that_for_a_moment),
        PURE_TEST(get__no_annotation__no_request),
        PURE_TEST(get__thousands_of_configs__bounded),
    };
    return cmocka_run_group_tests_name("gce-l4lb-config", tests, NULL, NULL);
}
