/* SPDX-License-Identifier: Apache-2.0 */
/* plan_join.c: the plans of several Services as one, for `trimtab plan` over a whole cluster.
 *
 * Services are sorted by key, operations keep the order of their plans and are numbered again, and
 * with them the "known after N" in their fields and what they are sent after.  An operation on a
 * shared resource that several plans have is done once: it stands once, with all owners.  Waves are
 * kept: the plans would be carried out side by side, so the joined one has as many waves as the
 * longest.  Strings are borrowed from the plans.  Part of plan_print.h.  Pure. */
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/plan_print.h"

#include <string.h>

/* The plans so far. */
struct join {
    struct arena *a;
    struct tt_plan *all;
    const struct tt_operation **operations; /* all->operations */
    bool several;                           /* there is something to join */
    struct map *shared; /* identity of a shared operation → struct tt_operation of `operations` */
};

/* "known after 3" of a plan whose operations have the numbers `to` (by their old ones)
 * in the joined one. */
static const char *renumbered(struct arena *a, const char *text, const uint32_t *to, uint32_t n_to)
{
    uint64_t n;
    if (text == NULL || !str_has_prefix(text, PLAN_KNOWN_AFTER) ||
        !str_to_u64(text + strlen(PLAN_KNOWN_AFTER), &n) || n == 0 || n > n_to) {
        return text;
    }
    return arena_printf(a, PLAN_KNOWN_AFTER "%llu", (unsigned long long)to[n]);
}

static struct tt_operation *operation_moved(struct arena *a, const struct tt_operation *op,
                                            const uint32_t *to, uint32_t n_to)
{
    struct tt_operation *moved = ARENA_NEW(a, struct tt_operation);
    struct tt_field *fields = ARENA_ARRAY(a, struct tt_field, op->n_fields);
    for (uint32_t i = 0; i < op->n_fields; i++) {
        fields[i] = op->fields[i];
        fields[i].new_text = renumbered(a, op->fields[i].new_text, to, n_to);
    }
    *moved = *op;
    moved->size = sizeof *moved;
    moved->n = to[op->n];
    uint32_t *after = ARENA_ARRAY(a, uint32_t, op->n_after);
    for (uint32_t i = 0; i < op->n_after; i++) {
        after[i] = op->after[i] <= n_to ? to[op->after[i]] : 0;
    }
    moved->after = after;
    moved->sent_after = op->sent_after > 0 && op->sent_after <= n_to ? to[op->sent_after] : 0;
    moved->fields = fields;
    return moved;
}

/* ---- what several plans do to one resource --------------------------------------------------- */

/* Two operations of different plans are one when these texts are equal.  A resource that has one
 * name in several zones occurs several times in a plan: `nth` is the occurrence. */
static const char *identity(struct arena *a, const struct tt_operation *op, uint32_t nth)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%u\n%s\n%s\n%s\n%s\n%s\n%u", op->verb, op->kind, str_nonnull(op->api_kind),
                op->name, str_nonnull(op->summary), str_nonnull(op->note), nth);
    for (uint32_t i = 0; i < op->n_fields; i++) {
        const struct tt_field *f = &op->fields[i];
        str_appendf(&b, "\n%s\n%s\n%s", f->path, str_nonnull(f->old_text),
                    str_nonnull(f->new_text));
    }
    return arena_strdup(a, str_buf_text(&b));
}

static uint32_t occurrence(const struct tt_plan *plan, uint32_t at)
{
    const struct tt_operation *op = plan->operations[at];
    uint32_t n = 0;
    for (uint32_t i = 0; i < at; i++) {
        const struct tt_operation *other = plan->operations[i];
        n += other->verb == op->verb && str_eq(other->kind, op->kind) &&
             str_eq(str_nonnull(other->api_kind), str_nonnull(op->api_kind)) &&
             str_eq(other->name, op->name);
    }
    return n;
}

static int cmp_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_owners(struct arena *a, struct tt_operation *to, const struct tt_operation *from)
{
    const char **owners = ARENA_ARRAY(a, const char *, to->n_owners + from->n_owners);
    uint32_t n = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < to->n_owners; i++) {
        owners[n++] = to->owners[i];
    }
    for (uint32_t i = 0; i < from->n_owners; i++) {
        owners[n++] = from->owners[i];
    }
    qsort(owners, n, sizeof *owners, cmp_text);
    for (uint32_t i = 0; i < n; i++) {
        if (kept == 0 || !str_eq(owners[kept - 1], owners[i])) {
            owners[kept++] = owners[i];
        }
    }
    to->owners = owners;
    to->n_owners = kept;
}

/* Returns the operation of an earlier plan that this one is, or NULL. */
static struct tt_operation *same_as_before(struct join *j, const struct tt_plan *plan, uint32_t at,
                                           const char **ret_id)
{
    const struct tt_operation *op = plan->operations[at];
    bool alone = !j->several || (op->flags & TT_OP_SHARED) == 0;
    *ret_id = alone ? NULL : identity(j->a, op, occurrence(plan, at));
    return *ret_id == NULL ? NULL : map_get(j->shared, *ret_id);
}

static void add_operations(struct join *j, const struct tt_plan *plan)
{
    uint32_t *to = ARENA_ARRAY(j->a, uint32_t, plan->n_operations + 1);
    struct tt_operation **same = ARENA_ARRAY(j->a, struct tt_operation *, plan->n_operations + 1);
    const char **ids = ARENA_ARRAY(j->a, const char *, plan->n_operations + 1);
    uint32_t next = j->all->n_operations;
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        same[i] = same_as_before(j, plan, i, &ids[i]);
        to[op->n <= plan->n_operations ? op->n : 0] = same[i] != NULL ? same[i]->n : ++next;
    }
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        if (same[i] != NULL) {
            add_owners(j->a, same[i], op);
            j->all->calls -= op->calls < j->all->calls ? op->calls : j->all->calls;
            continue;
        }
        struct tt_operation *moved = operation_moved(j->a, op, to, plan->n_operations);
        j->operations[j->all->n_operations++] = moved;
        if (ids[i] != NULL) {
            map_set(j->shared, ids[i], moved);
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

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
    struct join j = {a, all, operations, n > 1, map_new(NULL)};
    for (size_t i = 0; i < n; i++) {
        for (uint32_t s = 0; s < plans[i]->n_services; s++) {
            services[all->n_services++] = plans[i]->services[s];
        }
        all->calls += plans[i]->calls;
        add_operations(&j, plans[i]);
        all->waves = plans[i]->waves > all->waves ? plans[i]->waves : all->waves;
    }
    map_free(j.shared);
    qsort(services, n_services, sizeof *services, cmp_key);
    return all;
}
