/* SPDX-License-Identifier: Apache-2.0 */
/* plan_join.c: the plans of several Services as one, for `trimtab plan` over a whole cluster.
 *
 * Services are sorted by key, operations keep the order of their plans and are numbered anew, and with them
 * the "known after N" in their fields and what they are sent after.  Waves are kept: the plans would be carried out side by side, so
 * the joined one has as many waves as the longest.  Strings are borrowed from the plans.  Part of
 * plan_print.h.  Pure. */
#include "common/base/str.h"
#include "common/lb/plan_print.h"

#include <string.h>

/* "known after 3" of a plan whose operations were moved by `shift`. */
static const char *shifted(struct arena *a, const char *text, uint32_t shift)
{
    uint64_t n;
    if (shift == 0 || text == NULL || !str_has_prefix(text, PLAN_KNOWN_AFTER) ||
        !str_to_u64(text + strlen(PLAN_KNOWN_AFTER), &n)) {
        return text;
    }
    return arena_printf(a, PLAN_KNOWN_AFTER "%llu", (unsigned long long)(n + shift));
}

static const struct tt_operation *operation_moved(struct arena *a, const struct tt_operation *op,
                                                  uint32_t shift)
{
    struct tt_operation *moved = ARENA_NEW(a, struct tt_operation);
    struct tt_field *fields = ARENA_ARRAY(a, struct tt_field, op->n_fields);
    for (uint32_t i = 0; i < op->n_fields; i++) {
        fields[i] = op->fields[i];
        fields[i].new_text = shifted(a, op->fields[i].new_text, shift);
    }
    *moved = *op;
    moved->size = sizeof *moved;
    moved->n = op->n + shift;
    moved->sent_after = op->sent_after > 0 ? op->sent_after + shift : 0;
    moved->fields = fields;
    return moved;
}

static int cmp_key(const void *a, const void *b)
{
    const struct tt_plan_service *x = *(const struct tt_plan_service *const *)a;
    const struct tt_plan_service *y = *(const struct tt_plan_service *const *)b;
    return strcmp(x->key, y->key);
}

const struct tt_plan *plan_join(struct arena *a, const struct tt_plan *const *plans, size_t n)
{
    struct tt_plan *all = ARENA_NEW(a, struct tt_plan);
    size_t n_services = 0;
    size_t n_operations = 0;
    for (size_t i = 0; i < n; i++) {
        n_services += plans[i]->n_services;
        n_operations += plans[i]->n_operations;
    }
    const struct tt_plan_service **services =
        ARENA_ARRAY(a, const struct tt_plan_service *, n_services);
    const struct tt_operation **operations =
        ARENA_ARRAY(a, const struct tt_operation *, n_operations);
    *all = (struct tt_plan){.size = sizeof *all, .services = services, .operations = operations};
    for (size_t i = 0; i < n; i++) {
        uint32_t shift = all->n_operations;
        for (uint32_t o = 0; o < plans[i]->n_operations; o++) {
            operations[all->n_operations++] = operation_moved(a, plans[i]->operations[o], shift);
        }
        for (uint32_t s = 0; s < plans[i]->n_services; s++) {
            services[all->n_services++] = plans[i]->services[s];
        }
        all->calls += plans[i]->calls;
        all->waves = plans[i]->waves > all->waves ? plans[i]->waves : all->waves;
    }
    qsort(services, n_services, sizeof *services, cmp_key);
    return all;
}
