/* SPDX-License-Identifier: Apache-2.0 */
/* test_plugin.c: finding a provider and checking its descriptor.  Loading real files is
 * the abi suite's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/attr.h"
#include "controller/host/plugin.h"
#include "controller/host/plugin_file.h"
#include "controller/metrics/metrics.h"
#include "tests/support/fake_provider.h"
#include "tests/support/unit.h"

struct fixture {
    struct fake_provider *fake;
    struct tt_provider d; /* to be broken */
};

static int set_up(void **state)
{
    static struct fixture f;

    f.fake = fake_provider_new(0);
    f.d = f.fake->desc;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    fake_provider_free(f->fake);
    return 0;
}

static void want_fault(const struct tt_provider *d, const char *want)
{
    struct tt_provider out;
    struct err err = ERR_INIT;

    assert_int_equal(ERR_INVALID, plugin_check(d, "fake", "x.so", &out, &err));
    if (strstr(err.message, want) == NULL) {
        fail_msg("\"%s\", want \"%s\"", err.message, want);
    }
}

/* NULL: nothing is wrong with it. */
static void want_all(const struct tt_provider *d, const char *want)
{
    struct tt_provider out;
    struct err err = ERR_INIT;

    if (want != NULL) {
        want_fault(d, want);
    } else if (plugin_check(d, "fake", "x.so", &out, &err) != ERR_OK) {
        fail_msg("refused: %s", err.message);
    }
}

static void plugin__wrong_version__says_both(void **state)
{
    struct fixture *f = *state;

    f->d.abi_major = 2;
    f->d.abi_minor = 7;
    want_fault(&f->d, "x.so: it was built for provider ABI 2.7, this trimtab speaks 1.14");
}

static void plugin__sizes__too_small_and_absurd(void **state)
{
    struct fixture *f = *state;

    f->d.size = offsetof(struct tt_provider, ensure_load_balancer_deleted);
    want_fault(&f->d, "are needed for the mandatory members");
    f->d.size = 1u << 20;
    want_fault(&f->d, "its descriptor has 1048576 bytes");
}

static void plugin__older_and_smaller__missing_members_are_null(void **state)
{
    struct fixture *f = *state;
    struct tt_provider out;
    struct err err = ERR_INIT;

    fake_provider_batches(f->fake);
    f->d = f->fake->desc;
    f->d.size = offsetof(struct tt_provider, batch_key);
    assert_int_equal(ERR_OK, plugin_check(&f->d, "fake", "x.so", &out, &err));
    assert_int_equal(sizeof(out), out.size);
    assert_null(out.batch_key);
    assert_null(out.reconcile_batch);
    assert_non_null(out.ensure_load_balancer_deleted);
}

static void plugin__missing_functions__are_named(void **state)
{
    struct fixture *f = *state;
    const struct tt_provider good = f->d;

    f->d.open = NULL;
    want_fault(&f->d, "the mandatory function open is missing");
    f->d = good;
    f->d.update_load_balancer = NULL;
    want_fault(&f->d, "the mandatory function update_load_balancer is missing");
    f->d = good;
    f->d.reconcile_batch = good.ensure_load_balancer;
    want_fault(&f->d, "batch_key and reconcile_batch belong together: batch_key is missing");
    want_fault(NULL, "returned nothing");
}

static void plugin__names__are_checked(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {NULL, "", "Fake", "fa/ke"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        f->d.name = names[i];
        want_fault(&f->d, "its name is not of [a-z0-9-], 1 to 63 characters");
    }
    f->d.name = "other";
    want_fault(&f->d, "it says that it is provider \"other\", not \"fake\"");
    f->d.name = "fake";
    f->d.version = "\xff";
    want_fault(&f->d, "its version is absent, too long or not UTF-8");
}

static void plugin__tables__are_checked(void **state)
{
    struct fixture *f = *state;
    static const char *const empty[] = {""};
    static const struct tt_kube_kind kind = {.resource = "configmaps"};
    static const struct tt_lease lease[9] = {{.ns = "kube-system"}};
    static const struct tt_metric metric = {.name = "x", .type = 9};
    const struct tt_provider good = f->d;

    f->d.n_classes = 1;
    want_fault(&f->d, "its table of classes has 1 entries but is NULL");
    f->d = good;
    f->d.finalizers = empty;
    f->d.n_finalizers = 1;
    want_fault(&f->d, "entry 1 of its finalizers is empty or too long");
    f->d = good;
    f->d.own_annotations = empty;
    f->d.n_own_annotations = 1;
    want_fault(&f->d, "entry 1 of its annotations of its own is empty or too long");
    f->d = good;
    f->d.kube_kinds = &kind;
    f->d.n_kube_kinds = 1;
    want_fault(&f->d, "kind 1 lacks apiVersion, resource or verbs");
    f->d = good;
    f->d.leases = lease;
    f->d.n_leases = 1;
    want_fault(&f->d, "lease 1 lacks namespace or name");
    f->d.n_leases = 9;
    want_fault(&f->d, "it wants 9 leases, at most 8 can be held");
    f->d = good;
    f->d.metrics = &metric;
    f->d.n_metrics = 1;
    want_fault(&f->d, "metric 1 is not described well");
    f->d.n_metrics = 5000;
    want_fault(&f->d, "too many");
}

/* Words that other programs read: one that they refuse costs them everything that
 * stands beside it. */
static void plugin__metrics__are_what_prometheus_reads(void **state)
{
    struct fixture *f = *state;
    static const char *const blank[] = {"a b"}, *const hidden[] = {"__a"}, *const le[] = {"le"},
                             *const twice[] = {"a", "a"}, *const none[] = {NULL};
    static const double back[] = {1, 1}, infinite[] = {1, HUGE_VAL}, not [] = {NAN},
                        good[] = {1, 2};
    static const struct {
        struct tt_metric m;
        const char *want; /* NULL: fine */
    } rows[] = {
        {{.name = "acme_members", .type = TT_METRIC_GAUGE, .help = "Members"}, NULL},
        {{.name = "acme members", .type = TT_METRIC_GAUGE}, "metric 1, \"acme members\", is not"},
        {{.name = "1acme", .type = TT_METRIC_GAUGE}, "metric 1, \"1acme\", is not"},
        {{.name = "acme{a=\"b\"}", .type = TT_METRIC_GAUGE}, "is not [a-zA-Z_:]"},
        {{.name = "acme\xff", .type = TT_METRIC_GAUGE}, "metric 1, \"(no text)\", is not"},
        {{.name = "acme", .type = TT_METRIC_GAUGE, .help = "\xff"}, "the help of metric acme"},
        {{.name = "trimtab_x", .type = TT_METRIC_GAUGE}, "begin with trimtab_ are trimtab's own"},
        {{.name = METRIC_QUEUE_DEPTH, .type = TT_METRIC_GAUGE}, "taken by workqueue_depth"},
        {{.name = METRIC_QUEUE_DURATION "_sum", .type = TT_METRIC_COUNTER},
         "the name is taken by workqueue_queue_duration_seconds"},
        {{.name = "process_cpu_seconds", .type = TT_METRIC_GAUGE},
         "the name is taken by process_cpu_seconds_total"},
        {{.name = "acme", .type = TT_METRIC_GAUGE, .labels = blank, .n_labels = 1},
         "label 1 of metric acme, \"a b\", is not"},
        {{.name = "acme", .type = TT_METRIC_GAUGE, .labels = hidden, .n_labels = 1}, "\"__a\""},
        {{.name = "acme", .type = TT_METRIC_GAUGE, .labels = none, .n_labels = 1}, "(no text)"},
        {{.name = "acme", .type = TT_METRIC_GAUGE, .labels = le, .n_labels = 1}, NULL},
        {{.name = "acme", .type = TT_METRIC_HISTOGRAM, .labels = le, .n_labels = 1}, "\"le\""},
        {{.name = "acme", .type = TT_METRIC_GAUGE, .labels = twice, .n_labels = 2}, "a twice"},
        {{.name = "acme", .type = TT_METRIC_HISTOGRAM, .buckets = good, .n_buckets = 2}, NULL},
        {{.name = "acme", .type = TT_METRIC_HISTOGRAM, .buckets = back, .n_buckets = 2},
         "bucket 2 of metric acme is not a finite number above"},
        {{.name = "acme", .type = TT_METRIC_HISTOGRAM, .buckets = infinite, .n_buckets = 2},
         "bucket 2 of metric acme is not"},
        {{.name = "acme", .type = TT_METRIC_HISTOGRAM, .buckets = not, .n_buckets = 1}, "bucket 1"},
        {{.name = "acme", .type = TT_METRIC_COUNTER, .buckets = good, .n_buckets = 2},
         "metric acme has buckets, but is not a histogram"},
    };
    static const struct tt_metric pair[] = {
        {.name = "acme", .type = TT_METRIC_HISTOGRAM},
        {.name = "acme_bucket", .type = TT_METRIC_COUNTER},
    };

    f->d.n_metrics = 1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        f->d.metrics = &rows[i].m;
        want_all(&f->d, rows[i].want);
    }
    f->d.metrics = pair;
    f->d.n_metrics = 2;
    want_fault(&f->d, "metric acme_bucket: the name is taken by acme");
}

static void plugin__names_of_objects__are_what_the_api_server_accepts(void **state)
{
    struct fixture *f = *state;
    static const struct {
        struct tt_kube_kind k;
        const char *want;
    } kinds[] = {
        {{"v1", "configmaps", "kube-system", "ids", "get,create"}, NULL},
        {{"a.example.com/v1beta1", "rules/status", NULL, NULL, "patch"}, NULL},
        {{"v1", "configmaps", NULL, NULL, "get,peek"},
         "the verbs of kind 1 (configmaps): unknown verb \"peek\""},
        {{"v1", "configmaps", NULL, NULL, "get,"}, NULL},
        {{"v1", "configmaps", NULL, NULL, "*"}, "unknown verb \"*\""},
        {{"v1", "config maps", NULL, NULL, "get"}, "kind 1, \"config maps\" of \"v1\", is not"},
        {{"v1/../x", "configmaps", NULL, NULL, "get"}, "kind 1, \"configmaps\" of"},
        {{"v1", "configmaps", "kube_system", NULL, "get"}, "namespace or name of kind 1"},
        {{"v1", "configmaps", NULL, "../ids", "get"}, "namespace or name of kind 1"},
    };
    static const struct {
        const char *text, *want;
    } finalizers[] = {{"example.com/own", NULL},
                      {"own one", "entry 1 of its finalizers, \"own one\", is not"}},
      annotations[] = {{"example.com/made-*", NULL}, {"a*b", "\"a*b\", is not"}, {"*", NULL}},
      reasons[] = {{"AddressAssigned", NULL}, {"Address Assigned", "is not a word like"}},
      components[] = {{"acme-controller", NULL}, {"acme\ncontroller", "its event component"}},
      leases[] = {{"acme", NULL}, {"ac/me", "lease 1, kube-system/ac/me, has a name"}};
    const struct tt_provider good = f->d;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        f->d.kube_kinds = &kinds[i].k;
        f->d.n_kube_kinds = 1;
        want_all(&f->d, kinds[i].want);
    }
#define NAMES(rows, member)                                                                        \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {                                                 \
        f->d = good;                                                                               \
        f->d.member = &rows[i].text;                                                               \
        f->d.n_##member = 1;                                                                       \
        want_all(&f->d, rows[i].want);                                                             \
    }
    NAMES(finalizers, finalizers)
    NAMES(annotations, own_annotations)
    NAMES(reasons, event_reasons)
#undef NAMES
    for (size_t i = 0; i < ARRAY_LEN(components); i++) {
        f->d = good;
        f->d.event_component = components[i].text;
        want_all(&f->d, components[i].want);
    }
    for (size_t i = 0; i < ARRAY_LEN(leases); i++) {
        const struct tt_lease lease = {.ns = "kube-system", .name = leases[i].text};
        f->d = good;
        f->d.leases = &lease;
        f->d.n_leases = 1;
        want_all(&f->d, leases[i].want);
    }
}

static void plugin_open__built_in__found_by_name(void **state)
{
    struct fixture *f = *state;
    const struct tt_provider *const builtins[] = {&f->fake->desc};
    struct plugin *p = NULL;
    struct err err = ERR_INIT;

    struct plugin_search search = {
        .name = "fake", .dir = "/nowhere", .builtins = builtins, .n_builtins = 1};

    assert_int_equal(ERR_OK, plugin_open(&search, &p, &err));
    assert_string_equal("fake", p->desc.name);
    plugin_free(p);
    search.name = "nope";
    assert_int_equal(ERR_NOT_FOUND, plugin_open(&search, &p, &err));
    assert_string_equal(
        "unknown cloud provider \"nope\": built in are: fake; there is no /nowhere/nope.so",
        err.message);
    search.name = "../x";
    assert_int_equal(ERR_INVALID, plugin_open(&search, &p, &err));
}

/* A folder in /tmp, an empty file in it; each row changes modes and says whether the file
 * may be loaded. */
static void plugin_file__others_may_write__is_refused(void **state)
{
    static const struct {
        mode_t folder, inner, file;
        bool foreign;     /* as an account sees it that does not own them */
        const char *want; /* the end of the path that is named; NULL: fine */
    } rows[] = {
        {0755, 0755, 0644, false, NULL},          {0755, 0755, 0664, false, "/inner/x.so"},
        {0755, 0755, 0646, false, "/inner/x.so"}, {0755, 0775, 0644, false, "/inner"},
        {0755, 0757, 0644, false, "/inner"},      {0757, 0755, 0644, false, "/tt-plugin"},
        {01777, 0755, 0644, false, NULL},         {0755, 0755, 0755, true, "/tt-plugin"},
    };
    char folder[] = "/tmp/tt-plugin-XXXXXX";
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(mkdtemp(folder));
    char *inner = xasprintf("%s/inner", folder);
    char *file = xasprintf("%s/x.so", inner);
    char *link = xasprintf("%s/link.so", folder);
    assert_int_equal(0, mkdir(inner, 0755));
    assert_int_equal(0, close(open(file, O_CREAT | O_WRONLY, 0644)));
    assert_int_equal(0, symlink(file, link));
    for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
        const char *want = rows[i / 2].want;
        bool unknown = rows[i / 2].foreign && geteuid() == 0; /* root owns them: fine for all */
        assert_int_equal(0, chmod(folder, rows[i / 2].folder));
        assert_int_equal(0, chmod(inner, rows[i / 2].inner));
        assert_int_equal(0, chmod(file, rows[i / 2].file));
        err_clear(&err);
        int rc = plugin_file_check(i % 2 == 0 ? file : link,
                                   rows[i / 2].foreign ? geteuid() + 1 : geteuid(), &err);
        bool good = want == NULL || unknown
                        ? rc == ERR_OK
                        : rc == ERR_FORBIDDEN && strstr(err.message, want) != NULL &&
                              strstr(err.message, "--allow-writable-plugins") != NULL;
        if (!good) {
            fail_msg("row %zu: %d, \"%s\"", i, rc, err.message);
        }
    }
    assert_int_equal(0, unlink(link) | unlink(file) | rmdir(inner) | rmdir(folder));
    free(inner);
    free(file);
    free(link);
}

UNIT_MAIN(plugin)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(plugin__wrong_version__says_both),
        T(plugin__sizes__too_small_and_absurd),
        T(plugin__older_and_smaller__missing_members_are_null),
        T(plugin__missing_functions__are_named),
        T(plugin__names__are_checked),
        T(plugin__tables__are_checked),
        T(plugin__metrics__are_what_prometheus_reads),
        T(plugin__names_of_objects__are_what_the_api_server_accepts),
        T(plugin_open__built_in__found_by_name),
        T(plugin_file__others_may_write__is_refused),
    };
    return cmocka_run_group_tests_name("controller-plugin", tests, NULL, NULL);
}
