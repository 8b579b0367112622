/* SPDX-License-Identifier: Apache-2.0 */
/* aws_listener_rules.c: which listeners of a classic load balancer come and which go.
 *
 * A listener cannot be changed but for its certificate: one that differs in anything else goes, and
 * another comes on its port.  AWS answers protocols in upper case, and ARNs in any.  Source:
 * docs/spec/aws.md 4.6 item 3; vectors 11.5.  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include "common/base/str.h"

/* Absent equals absent only, not the empty text. */
static bool texts_eq(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : str_eq_nocase(x, y);
}

static bool equal_but_certificate(const struct aws_classic_listener *x,
                                  const struct aws_classic_listener *y)
{
    return texts_eq(x->protocol, y->protocol) &&
           texts_eq(x->instance_protocol, y->instance_protocol) &&
           x->instance_port == y->instance_port && x->port == y->port;
}

static bool listeners_eq(const struct aws_classic_listener *x, const struct aws_classic_listener *y)
{
    return equal_but_certificate(x, y) && texts_eq(x->certificate, y->certificate);
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
                /* one listener answers to one wish: a second equal wish is asked for, and
                 * AWS says no */
                break;
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

/* Is there one like this, with another certificate? */
static bool has_another_certificate(const struct aws_classic_listener *wanted,
                                    const struct aws_classic_listener *actual, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (equal_but_certificate(wanted, &actual[i])) {
            return !str_is_empty(wanted->certificate) && !str_is_empty(actual[i].certificate);
        }
    }
    return false;
}

struct aws_listener_diff aws_listeners_in_place(struct arena *a,
                                                const struct aws_listener_diff *diff,
                                                const struct aws_classic_listener *actual,
                                                size_t n_actual)
{
    struct aws_classic_listener *create =
        ARENA_ARRAY(a, struct aws_classic_listener, diff->n_create);
    struct aws_classic_listener *certify =
        ARENA_ARRAY(a, struct aws_classic_listener, diff->n_create);
    int32_t *remove = ARENA_ARRAY(a, int32_t, diff->n_remove);
    struct aws_listener_diff out = {.create = create, .remove = remove, .certify = certify};
    for (size_t i = 0; i < diff->n_create; i++) {
        if (has_another_certificate(&diff->create[i], actual, n_actual)) {
            certify[out.n_certify++] = diff->create[i];
        } else {
            create[out.n_create++] = diff->create[i];
        }
    }
    for (size_t i = 0; i < diff->n_remove; i++) {
        bool stays = false;
        for (size_t k = 0; k < out.n_certify; k++) {
            stays = stays || certify[k].port == diff->remove[i];
        }
        if (!stays) {
            remove[out.n_remove++] = diff->remove[i];
        }
    }
    return out;
}
