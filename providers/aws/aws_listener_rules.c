/* SPDX-License-Identifier: Apache-2.0 */
/* aws_listener_rules.c: which listeners of a classic load balancer come and which go.
 *
 * A listener cannot be changed: one that differs in anything goes, and another comes on its port.  AWS answers protocols in
 * upper case, and ARNs in any.  Source: docs/spec/aws.md 4.6 item 3; vectors 11.5.  Part of aws_rules.h.  Pure. */
#include "providers/aws/aws_rules.h"

#include "common/base/str.h"

/* Absent equals absent only, not the empty text. */
static bool texts_eq(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : str_eq_nocase(x, y);
}

static bool listeners_eq(const struct aws_classic_listener *x, const struct aws_classic_listener *y)
{
    return texts_eq(x->protocol, y->protocol) &&
           texts_eq(x->instance_protocol, y->instance_protocol) &&
           x->instance_port == y->instance_port && x->port == y->port &&
           texts_eq(x->certificate, y->certificate);
}

struct aws_listener_diff aws_listeners_diff(struct arena *a,
                                            const struct aws_classic_listener *desired,
                                            size_t n_desired,
                                            const struct aws_classic_listener *actual,
                                            size_t n_actual)
{
    bool *found = ARENA_ARRAY(a, bool, n_desired);
    int32_t *remove = ARENA_ARRAY(a, int32_t, n_actual);
    struct aws_classic_listener *create = ARENA_ARRAY(a, struct aws_classic_listener, n_desired);
    struct aws_listener_diff out = {.create = create, .remove = remove};
    for (size_t i = 0; i < n_actual; i++) {
        bool stays = false;
        for (size_t j = 0; j < n_desired; j++) {
            if (listeners_eq(&actual[i], &desired[j])) {
                found[j] = true;
                stays = true;
                break; /* one listener answers to one wish: a second equal wish is asked for, and AWS says no */
            }
        }
        if (!stays) {
            remove[out.n_remove++] = actual[i].port;
        }
    }
    for (size_t j = 0; j < n_desired; j++) {
        if (!found[j]) {
            create[out.n_create++] = desired[j];
        }
    }
    return out;
}
