/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: building a plan and checking that it can be carried out.
 *
 * Planners append; lb_plan_seal() then proves what the executor relies on, so that a planner's slip
 * is a BUG before the first request and never a half-done flow: references point backwards and out
 * of the own wave, every operation says why and for which owners, one operation at most is
 * critical.  Texts handed in are borrowed (they are arena-owned or literals); lists are grown here.
 * Pure; one thread. */
#include "common/lb/plan.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/plan_order.h"
#include "common/lb/put_back.h"

#include <string.h>

#define INDEX_FROM 16

void lb_plan_init(struct lb_plan *p, struct arena *a)
{
    *p = (struct lb_plan){.a = a};
}

/* Arena arrays cannot be grown in place: the next larger power of two is copied into. */
static void *array_grown(struct arena *a, const void *items, size_t n, size_t size)
{
    bool full = n == 0 || (n >= 4 && (n & (n - 1)) == 0);
    if (!full) {
        return NULL;
    }
    void *bigger = arena_calloc(a, n == 0 ? 4 : n * 2, size);
    if (n > 0) {
        memcpy(bigger, items, n * size);
    }
    return bigger;
}

static void put_map(void *arg)
{
    map_free(arg);
}

/* A handful is compared one by one; thousands would take millions of steps. */
static void index_services(struct lb_plan *p)
{
    if (p->by_key == NULL && p->n_services >= INDEX_FROM) {
        p->by_key = map_new(NULL);
        arena_defer(p->a, put_map, p->by_key);
        for (size_t i = 0; i < p->n_services; i++) {
            map_set(p->by_key, p->services[i].key, (void *)(i + 1));
        }
    } else if (p->by_key != NULL) {
        map_set(p->by_key, p->services[p->n_services - 1].key, (void *)p->n_services);
    }
}

static struct lb_plan_service *find_service(const struct lb_plan *p, const char *key)
{
    if (p->by_key != NULL) {
        size_t at = (size_t)map_get(p->by_key, key);
        return at > 0 ? &p->services[at - 1] : NULL;
    }
    for (size_t i = 0; i < p->n_services; i++) {
        if (strcmp(p->services[i].key, key) == 0) {
            return &p->services[i];
        }
    }
    return NULL;
}

struct lb_plan_service *lb_plan_service(struct lb_plan *p, const char *key)
{
    struct lb_plan_service *found = find_service(p, key);
    if (found != NULL) {
        return found;
    }
    struct lb_plan_service *grown =
        array_grown(p->a, p->services, p->n_services, sizeof *p->services);
    p->services = grown != NULL ? grown : p->services;
    struct lb_plan_service *s = &p->services[p->n_services++];
    *s = (struct lb_plan_service){.key = arena_strdup(p->a, key)};
    index_services(p);
    return s;
}

/* Adds a sentence once, also when several resources ask for it. */
static void add_sentence(struct lb_plan *p, const char ***list, size_t *n, const char *text)
{
    for (size_t i = 0; i < *n; i++) {
        if (str_eq((*list)[i], text)) {
            return;
        }
    }
    const char **grown = array_grown(p->a, *list, *n, sizeof **list);
    *list = grown != NULL ? grown : *list;
    (*list)[(*n)++] = text;
}

void lb_plan_because(struct lb_plan *p, const char *key, const char *fmt, ...)
{
    struct lb_plan_service *s = lb_plan_service(p, key);
    va_list ap;
    va_start(ap, fmt);
    add_sentence(p, &s->because, &s->n_because, arena_vprintf(p->a, fmt, ap));
    va_end(ap);
}

void lb_plan_effect(struct lb_plan *p, const char *key, const char *fmt, ...)
{
    struct lb_plan_service *s = lb_plan_service(p, key);
    va_list ap;
    va_start(ap, fmt);
    add_sentence(p, &s->effects, &s->n_effects, arena_vprintf(p->a, fmt, ap));
    va_end(ap);
}

bool lb_kinds_have(const struct lb_kinds *k, const char *kind)
{
    for (size_t i = 0; k != NULL && i < k->n; i++) {
        if (str_eq(k->items[i], kind)) {
            return true;
        }
    }
    return false;
}

void lb_kinds_add(struct arena *a, struct lb_kinds **k, const char *kind)
{
    if (*k == NULL) {
        *k = ARENA_NEW(a, struct lb_kinds);
    }
    if ((*k)->n < LB_KINDS_MAX && !lb_kinds_have(*k, kind)) {
        (*k)->items[(*k)->n++] = arena_strdup(a, kind);
    }
}

static void tell_room(struct lb_plan *p, struct lb_plan_service *s)
{
    if (!s->makes_room) {
        s->makes_room = true;
        lb_plan_effect(p, s->key,
                       "The cloud has no room for both: the old resources are deleted before the "
                       "new ones are created.");
    }
}

bool lb_plan_makes_room(struct lb_plan *p, const char *key, const char *what)
{
    struct lb_plan_service *s = lb_plan_service(p, key);
    lb_kinds_add(p->a, &s->asks_room, what);
    bool full = lb_kinds_have(s->full, what);
    if (full) {
        tell_room(p, s);
    }
    return full;
}

void lb_plan_again(struct lb_plan *p, const char *key)
{
    lb_plan_service(p, key)->again = true;
}

void lb_plan_room_like(struct lb_plan *to, struct lb_plan *from, const char *key)
{
    struct lb_plan_service *s = lb_plan_service(to, key);
    const struct lb_plan_service *like = lb_plan_service(from, key);
    s->full = like->full;
    s->again = s->again || like->again;
    for (size_t i = 0; like->asks_room != NULL && i < like->asks_room->n; i++) {
        lb_kinds_add(to->a, &s->asks_room, like->asks_room->items[i]);
    }
    if (like->makes_room) {
        tell_room(to, s);
    }
}

void lb_plan_left(struct lb_plan *p, const char *key, const char *fmt, ...)
{
    struct lb_plan_service *s = lb_plan_service(p, key);
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_printf(
        p->a,
        "%s: it was so when the load balancer was taken over, and is put right by an edit or with "
        "--repair-adopted",
        arena_vprintf(p->a, fmt, ap));
    va_end(ap);
    for (size_t i = 0; i < s->n_left; i++) {
        if (strcmp(s->left[i], text) == 0) {
            return; /* several ports, one wish */
        }
    }
    add_sentence(p, &s->left, &s->n_left, text);
}

int lb_plan_add(struct lb_plan *p, const char *key, const struct lb_op *op)
{
    if (p->n_ops == p->cap_ops) {
        size_t cap = p->cap_ops == 0 ? 8 : p->cap_ops * 2;
        struct lb_op *bigger = ARENA_ARRAY(p->a, struct lb_op, cap);
        if (p->n_ops > 0) {
            memcpy(bigger, p->ops, p->n_ops * sizeof *bigger);
        }
        p->ops = bigger;
        p->cap_ops = cap;
    }
    struct lb_op *added = &p->ops[p->n_ops];
    *added = *op;
    added->wave = 0;
    added->part_no = 0;
    if (added->owners.n == 0 && key != NULL) {
        const char *own = lb_plan_service(p, key)->key;
        added->owners = str_set_make(p->a, &own, 1);
    }
    const char *owner;
    STR_SET_EACH (owner, &added->owners) {
        (void)lb_plan_service(
            p, owner); /* every owner has an entry, also when it has no operation alone */
    }
    p->sealed = false;
    return (int)p->n_ops++;
}

bool lb_op_type_is_whole(const struct lb_op_type *type)
{
    return type != NULL &&
           (type->step != NULL) + (type->run != NULL) + (type->run_many != NULL) == 1;
}

const struct lb_undo lb_controller_puts_back = {.verb = LB_CREATE};

bool lb_op_takes_down(const struct lb_op *op)
{
    return op->undo != NULL && (op->undo->verb == LB_CREATE || op->undo->takes_down);
}

bool lb_ops_share_owner(const struct lb_op *x, const struct lb_op *y)
{
    const char *key;
    STR_SET_EACH (key, &x->owners) {
        if (str_set_has(&y->owners, key)) {
            return true;
        }
    }
    return false;
}

bool lb_op_ends_undo(const struct lb_op *op, const struct lb_undo *u)
{
    bool makes = op->verb == LB_CREATE || op->verb == LB_CHANGE;
    return makes && str_eq(op->kind, u->until_kind) && str_eq(op->name, u->until_name) &&
           str_eq(str_nonnull(op->part), str_nonnull(u->until_part));
}

size_t lb_plan_changes(const struct lb_plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        n += p->ops[i].verb != LB_KEEP;
    }
    return n;
}

/* ---- sealing --------------------------------------------------------------------------------- */
/* May operation `at` depend on operation `on`?  Only when that one is over before `at` begins. */
static int check_reference(const struct lb_plan *p, size_t at, int on, const char *what,
                           struct err *err)
{
    const struct lb_op *op = &p->ops[at];
    if (on < 0 || (size_t)on >= at) {
        return err_set(err, ERR_BUG, "operation %zu (%s %s): %s does not point backwards", at + 1,
                       op->kind, op->name, what);
    }
    const struct lb_op *other = &p->ops[on];
    if (op->verb != LB_KEEP && other->verb != LB_KEEP && other->wave >= op->wave) {
        return err_set(err, ERR_BUG, "operation %zu (%s %s): %s points into its own wave", at + 1,
                       op->kind, op->name, what);
    }
    return ERR_OK;
}

/* Waiting for one that may still be in progress: it must be before this one, and of its wave unless
 * `after` says more. */
static int check_sent_after(const struct lb_plan *p, size_t at, struct err *err)
{
    const struct lb_op *op = &p->ops[at];
    if (op->sent_after < 0 || (size_t)op->sent_after >= at) {
        return err_set(err, ERR_BUG, "operation %zu (%s %s): sent_after does not point backwards",
                       at + 1, op->kind, op->name);
    }
    bool same = p->ops[op->sent_after].wave == op->wave;
    if (op->wave == 0 || p->ops[op->sent_after].wave == 0 || (!op->after.given && !same)) {
        return err_set(err, ERR_BUG, "operation %zu (%s %s): sent_after points into another wave",
                       at + 1, op->kind, op->name);
    }
    return ERR_OK;
}

static int check_words(const struct lb_plan *p, size_t at, struct err *err)
{
    const struct lb_op *op = &p->ops[at];
    const char *missing = NULL;
    if (op->verb < LB_CREATE || op->verb > LB_KEEP) {
        missing = "verb";
    } else if (str_is_empty(op->kind)) {
        missing = "kind";
    } else if (str_is_empty(op->name)) {
        missing = "name";
    } else if (op->owners.n == 0) {
        missing = "owner";
    } else if (op->verb != LB_KEEP && str_is_empty(op->why)) {
        missing = "why";
    }
    if (missing == NULL) {
        return ERR_OK;
    }
    return err_set(err, ERR_BUG, "operation %zu (%s %s) has no %s", at + 1, str_nonnull(op->kind),
                   str_nonnull(op->name), missing);
}

static int check_op(const struct lb_plan *p, size_t at, struct err *err)
{
    const struct lb_op *op = &p->ops[at];
    int rc = check_words(p, at, err);
    if (rc == ERR_OK && op->only_if_op != -1) {
        rc = check_reference(p, at, op->only_if_op, "only_if", err);
    }
    if (rc == ERR_OK && op->sent_after != -1) {
        rc = check_sent_after(p, at, err);
    }
    for (size_t i = 0; rc == ERR_OK && i < op->after.n; i++) {
        rc = check_reference(p, at, op->after.ops[i], "after", err);
    }
    for (size_t f = 0; rc == ERR_OK && f < op->n_fields; f++) {
        const struct lb_value *v = &op->fields[f].new_value;
        if (v->text == NULL && v->op != -1) {
            rc = check_reference(p, at, v->op, op->fields[f].path, err);
        }
    }
    return rc;
}

static int check_undo_alone(const struct lb_undo *u, struct err *err)
{
    if (!lb_op_type_is_whole(u->type) || str_is_empty(u->kind) || str_is_empty(u->name) ||
        (u->verb != LB_CREATE && u->verb != LB_CHANGE)) {
        return err_set(err, ERR_BUG, "putting %s %s back cannot be carried out",
                       str_nonnull(u->kind), str_nonnull(u->name));
    }
    return ERR_OK;
}

/* A replacement that never comes would leave the debt open when all went well. */
static int check_undo(const struct lb_plan *p, const struct lb_undo *u, size_t from,
                      struct err *err)
{
    for (const struct lb_undo *one = u; one != NULL; one = one->then) {
        int rc = check_undo_alone(one, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    for (size_t i = from; i < p->n_ops; i++) {
        if (lb_op_ends_undo(&p->ops[i], u)) {
            return ERR_OK;
        }
    }
    return err_set(err, ERR_BUG, "%s %s is put back until %s %s is there, which no operation makes",
                   u->kind, u->name, str_nonnull(u->until_kind), str_nonnull(u->until_name));
}

static int check_undos(const struct lb_plan *p, struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < p->n_ops; i++) {
        const struct lb_op *op = &p->ops[i];
        rc = op->ask != NULL ? check_undo_alone(op->ask, err) : ERR_OK;
        if (rc == ERR_OK && op->undo != NULL && op->undo != &lb_controller_puts_back) {
            rc = check_undo(p, op->undo, i + 1, err);
        }
    }
    return rc;
}

int lb_plan_seal(struct lb_plan *p, struct err *err)
{
    size_t critical = 0;
    lb_plan_order(p);
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct lb_op *op = &p->ops[i];
        int rc = check_op(p, i, err);
        if (rc != ERR_OK) {
            return rc;
        }
        critical += op->critical;
        if (critical > 1) {
            return err_set(err, ERR_BUG, "operation %zu (%s %s) is a second critical one", i + 1,
                           op->kind, op->name);
        }
    }
    int rc = check_undos(p, err);
    p->sealed = rc == ERR_OK;
    return rc;
}
