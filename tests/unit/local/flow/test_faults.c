/* SPDX-License-Identifier: Apache-2.0 */
/* test_faults.c: in each flow the kernel refuses step k, loses the answer to step k, or the process is killed before step k, for
 * every k; then the same process, or another one, runs until nothing is left to do.  The invariants hold after every step of the kernel (flow_kit.h), in
 * the end it has what it has when nothing goes wrong, and a process that plans then plans nothing. */
#include "tests/unit/local/flow/flow_kit.h"

#include <string.h>

#include "tests/support/unit.h"

#define ROUTES "pool [10.0.0.0/29], announce: {by: routes}; "
static const struct flow {
    const char *name, *before, *change;
} flows[] = {
    {"the first one", "", "svc d/a"},
    {"create", "svc d/b; idle", "svc d/a"},
    {"create, two families, two ports", "svc d/b; idle",
     "svc d/a fam=46 ports=80/TCP/30080,53/UDP/30053"},
    {"add a target", "svc d/a; svc d/b; idle", "nodes n1 n2 n3"},
    {"remove a target", "svc d/a ports=53/UDP/30053; svc d/b; idle", "nodes n1"},
    {"no target is left", "svc d/a local; eps d/a n1; idle", "eps d/a"},
    {"the first target", "svc d/a local; eps d/a; idle", "eps d/a n1"},
    {"ranges", "svc d/a; idle", "svc d/a ranges=192.0.2.0/24,198.51.100.0/24"},
    {"another port", "svc d/a; idle", "svc d/a ports=81/TCP/30081"},
    {"affinity", "svc d/a; idle", "svc d/a affinity"},
    {"move", "svc d/a; idle", "svc d/a ask=10.0.0.5"},
    {"move of IPv6", "svc d/a fam=6; idle", "svc d/a fam=6 ask=fd00::5"},
    {"delete", "svc d/a; svc d/b; idle", "delete d/a"},
    {"delete, IPv6", "svc d/a fam=6; idle", "delete d/a"},
    {"delete a sharer", "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle",
     "delete d/a"},
    {"delete both sharers", "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle",
     "delete d/a; delete d/b"},
    {"another sharer", "svc d/a share=k; idle", "svc d/b share=k ports=81/TCP/30081 created=2"},
    {"type", "svc d/a; idle", "svc d/a type=ClusterIP"},
    {"create, routes", ROUTES "svc d/b; idle", "svc d/a"},
    {"delete, routes", ROUTES "svc d/a; svc d/b; idle", "delete d/a"},
    {"move, routes", ROUTES "svc d/a; idle", "svc d/a ask=10.0.0.5"},
    {"adopt", "svc d/a; svc d/b; idle", "restart"},
    {"adopt, and a node has gone", "svc d/a; svc d/b; idle", "restart; nodes n1"},
    {"after a flush", "svc d/a; svc d/b; idle", "foreign flush"},
};
static const struct fault {
    const char *name;
    enum fake_kernel_fault fault;
    int code;
    bool restarts; /* another process goes on */
} faults[] = {
    {"refused, AUTH", FAKE_KERNEL_REFUSE, ERR_AUTH, false},
    {"refused, CONFLICT", FAKE_KERNEL_REFUSE, ERR_CONFLICT, false},
    {"refused, INVALID", FAKE_KERNEL_REFUSE, ERR_INVALID, true},
    {"refused, TRANSIENT", FAKE_KERNEL_REFUSE, ERR_TRANSIENT, true},
    {"lost", FAKE_KERNEL_LOSE, 0, false},
    {"lost, another process", FAKE_KERNEL_LOSE, 0, true},
    {"killed", FAKE_KERNEL_GONE, ERR_TRANSIENT, true},
};

struct run {
    unsigned steps;
    const char *state;
    bool well;
};

/* Step 0: nothing goes wrong. */
static struct run run_one(struct arena *a, const struct flow *flow, const struct fault *fault,
                          unsigned step)
{
    static struct flow_kit k;
    const struct fake_kernel_plan well = {.fault = FAKE_KERNEL_WELL};
    struct run r = {0};

    flow_kit_begin(&k);
    (void)flow_kit_run(&k, flow->before);
    (void)flow_kit_run(&k, flow->change);
    str_buf_reset(&k.out);
    struct fake_kernel_plan plan = {.step = step};
    if (step > 0) {
        plan.fault = fault->fault;
        plan.code = fault->code;
        k.conflicts = k.conflicts || fault->code == ERR_CONFLICT;
        k.killed_at = fault->fault == FAKE_KERNEL_GONE ? step : 0;
    }
    fake_kernel_plan(k.kernel, &plan);
    if (step > 0 && fault->restarts) {
        for (int i = 0; i < 9 && fake_kernel_steps(k.kernel) < step; i++) {
            (void)flow_kit_run(&k, "sync");
        }
        str_buf_reset(&k.out);
        (void)flow_kit_run(&k, "well; restart");
    }
    const char *said = flow_kit_run(&k, "idle");
    r.steps = fake_kernel_steps(k.kernel);
    fake_kernel_plan(k.kernel, &well);
    r.state = arena_strdup(a, flow_kit_state(&k));
    uint32_t planned = flow_kit_second_plan(&k);
    r.well = !k.broken && strstr(said, "BROKEN") == NULL && strstr(said, "SETTLE") == NULL &&
             planned == 0;
    if (!r.well) {
        print_error("%s, %s at %u: %u are planned; %s\n", flow->name,
                    step == 0 ? "nothing" : fault->name, step, planned, str_buf_text(&k.out));
    }
    flow_kit_end(&k);
    return r;
}

static void every_step_of_every_flow(void **state)
{
    struct arena *a = arena_new();
    unsigned failed = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
        const struct run whole = run_one(a, &flows[i], NULL, 0);
        failed += !whole.well;
        assert_true(whole.steps > 3);
        for (size_t f = 0; f < ARRAY_LEN(faults); f++) {
            for (unsigned step = 1; step <= whole.steps; step++) {
                const struct run r = run_one(a, &flows[i], &faults[f], step);
                bool same = str_eq(r.state, whole.state);
                if (!same) {
                    print_error("%s, %s at %u of %u\n  want %s\n  got  %s\n", flows[i].name,
                                faults[f].name, step, whole.steps, whole.state, r.state);
                }
                failed += !same || !r.well;
            }
        }
    }
    arena_free(a);
    assert_int_equal(failed, 0);
}

UNIT_MAIN(faults)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_step_of_every_flow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
