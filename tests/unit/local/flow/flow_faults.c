/* SPDX-License-Identifier: Apache-2.0 */
/* flow_faults.c: see flow_faults.h. */
#include "tests/unit/local/flow/flow_faults.h"

#include <string.h>

static const struct fault {
    const char *name;
    enum fake_kernel_fault fault;
    int code;
    bool restarts; /* another process continues */
} faults[] = {
    {"refused, AUTH", FAKE_KERNEL_REFUSE, ERR_AUTH, false},
    {"refused, CONFLICT", FAKE_KERNEL_REFUSE, ERR_CONFLICT, false},
    {"refused, INVALID", FAKE_KERNEL_REFUSE, ERR_INVALID, true},
    {"refused, TRANSIENT", FAKE_KERNEL_REFUSE, ERR_TRANSIENT, true},
    {"lost", FAKE_KERNEL_LOSE, 0, false},
    {"lost, another process", FAKE_KERNEL_LOSE, 0, true},
    {"all answers of the call are lost", FAKE_KERNEL_OVERRUN, 0, false},
    {"killed", FAKE_KERNEL_GONE, ERR_TRANSIENT, true},
};

struct run {
    unsigned steps;
    const char *state;
    bool well;
};

/* The process continues until the step has come, while time passes that it waits for. */
static void until_step(struct flow_kit *k, unsigned step)
{
    for (int i = 0; i < 200 && fake_kernel_steps(k->kernel) < step; i++) {
        (void)flow_kit_run(k, "sync");
        (void)flow_kit_pass(k);
    }
}

/* Step 0: nothing goes wrong. */
static struct run run_one(struct arena *a, const struct flow_row *flow, const struct fault *fault,
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
        until_step(&k, step);
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

static unsigned sweep_flow(struct arena *a, const struct flow_row *flow,
                           const struct sample *sample)
{
    const struct run whole = run_one(a, flow, NULL, 0);
    unsigned failed = !whole.well;

    assert_true(whole.steps > 3);
    for (size_t f = 0; f < ARRAY_LEN(faults); f++) {
        for (unsigned step = 1; step <= whole.steps; step++) {
            if (!sample_takes(sample,
                              arena_printf(a, "%s %s %u", flow->name, faults[f].name, step))) {
                continue;
            }
            const struct run r = run_one(a, flow, &faults[f], step);
            bool same = str_eq(r.state, whole.state);
            if (!same) {
                print_error("%s, %s at %u of %u\n  want %s\n  got  %s\n", flow->name,
                            faults[f].name, step, whole.steps, whole.state, r.state);
            }
            failed += !same || !r.well;
        }
    }
    return failed;
}

unsigned flow_faults_sweep(const struct flow_row *flows, size_t n, const struct sample *sample)
{
    unsigned failed = 0;

    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        failed += sweep_flow(a, &flows[i], sample);
        arena_free(a);
    }
    return failed;
}
