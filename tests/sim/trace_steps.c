/* SPDX-License-Identifier: Apache-2.0 */
/* trace_steps.c: see trace_steps.h. */
#include "tests/sim/trace_steps.h"

#include "common/base/str.h"

static void restart(struct rig *r)
{
    struct err err = ERR_INIT;
    assert_true(rig_stop(r));
    assert_int_equal(rig_start(r, &err), ERR_OK);
}

static void each_service(struct rig *r, const char *method, const struct trace_step *step)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    size_t n = 0;
    char **names = str_split(a, step->what, ' ', &n);
    for (size_t i = 0; i < n; i++) {
        const char *path = arena_printf(a, TRACE_SERVICES "%s", names[i]);
        assert_int_equal(rig_kube(r, method, path, step->body, NULL), 200);
    }
}

static void act(struct rig *r, const struct trace_step *step)
{
    switch (step->act) {
    case TRACE_CREATE:
        adoption_create(r, step->what);
        break;
    case TRACE_PATCH:
        each_service(r, "PATCH", step);
        break;
    case TRACE_DELETE:
        each_service(r, "DELETE", step);
        break;
    case TRACE_RESTART:
        restart(r);
        break;
    case TRACE_ADD_NODE:
        assert_int_equal(rig_kube(r, "POST", "/sim/nodes", "{\"count\":1}", NULL), 200);
        break;
    case TRACE_REMOVE_NODE:
        assert_int_equal(rig_kube(r, "DELETE", step->what, NULL, NULL), 200);
        break;
    }
}

void trace_step_play(struct rig *r, const struct trace_step *step)
{
    act(r, step);
    if (!rig_settle(r, RIG_LATER)) {
        fail_msg("%s: no rest:\n%s", step->name, rig_log(r));
    }
}
