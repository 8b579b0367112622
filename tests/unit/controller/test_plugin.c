/* SPDX-License-Identifier: Apache-2.0 */
/* test_plugin.c: finding a provider and checking its descriptor.  Loading real files is the abi suite's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/attr.h"
#include "controller/plugin.h"
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

static void plugin__wrong_version__says_both(void **state)
{
    struct fixture *f = *state;

    f->d.abi_major = 2;
    f->d.abi_minor = 7;
    want_fault(&f->d, "x.so: it was built for provider ABI 2.7, this trimtab speaks 1.5");
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

static void plugin_open__built_in__found_by_name(void **state)
{
    struct fixture *f = *state;
    const struct tt_provider *const builtins[] = {&f->fake->desc};
    struct plugin *p = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(ERR_OK, plugin_open("fake", "/nowhere", builtins, 1, &p, &err));
    assert_string_equal("fake", p->desc.name);
    plugin_free(p);
    assert_int_equal(ERR_NOT_FOUND, plugin_open("nope", "/nowhere", builtins, 1, &p, &err));
    assert_string_equal(
        "unknown cloud provider \"nope\": built in are: fake; there is no /nowhere/nope.so",
        err.message);
    assert_int_equal(ERR_INVALID, plugin_open("../x", "/nowhere", builtins, 1, &p, &err));
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
        T(plugin_open__built_in__found_by_name),
    };
    return cmocka_run_group_tests_name("controller-plugin", tests, NULL, NULL);
}
