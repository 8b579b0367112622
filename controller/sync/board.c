/* SPDX-License-Identifier: Apache-2.0 */
/* board.c: see board.h.
 *
 * A row takes 36 bytes and its key in one block as long as all is well: thousands of Services cost
 * little.  What is pending or under way, and what is wrong, has a block of its own.  Kinds are few
 * and held once (kube/words.h). */
#include "controller/sync/board.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/index.h"
#include "common/base/keep.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "controller/kube/model/words.h"

#define NO_KIND UINT16_MAX

#define BATCHES_MAX 1024 /* at most one per worker, of which there are 1,000 at most */

/* Data of a Service that is waiting or under way, or has something to report. */
struct trouble {
    int64_t began_us; /* SYNCING: when */
    int64_t failing_us;
    int64_t next_us;
    char *message;                  /* heap; NULL: none */
    char *plan;                     /* heap; NULL: nothing is pending */
    char *findings, *serves_nobody; /* heap; NULL: none */
    char *left;                     /* heap; NULL: nothing was left as it was taken over */
    int32_t code;
    unsigned failures;
    uint16_t create, change, delete_;
};

struct entry {
    const char *verb; /* static */
    int64_t synced_us;
    struct trouble *trouble; /* NULL: all of it is zero */
    int32_t took_ms;
    uint32_t calls;
    uint16_t kind;  /* a word's place; NO_KIND: not said, or too long for one */
    uint8_t state;  /* enum board_state */
    uint8_t before; /* SYNCING: what it was */
    char key[];
};
static_assert(offsetof(struct entry, key) == 36, "there are tens of thousands of them");

struct running {
    uint64_t number;
    char *batch_key;
    size_t n;
    int64_t began_us;
};

struct board {
    struct clock *clock;
    struct mutex lock;
    struct index entries _guarded_by_(lock);
    struct running running[BATCHES_MAX] _guarded_by_(lock); /* in the order of their beginning */
    size_t n_running _guarded_by_(lock);
    uint64_t next_number _guarded_by_(lock);
};

const char *board_state_word(enum board_state state)
{
    static const char *const words[] = {"Waiting",  "Syncing", "Ready",
                                        "Retrying", "Failed",  "Elsewhere"};

    return (size_t)state < ARRAY_LEN(words) ? words[state] : "";
}

static void trouble_free(struct trouble *t)
{
    if (t != NULL) {
        free(t->message);
        free(t->plan);
        free(t->findings);
        free(t->serves_nobody);
        free(t->left);
        free(t);
    }
}

static void entry_free(struct entry *e)
{
    if (e != NULL) {
        trouble_free(e->trouble);
        keep_free(e, offsetof(struct entry, key) + strlen(e->key) + 1);
    }
}

static const void *entry_key(const void *record)
{
    return ((const struct entry *)record)->key;
}

static const struct index_kind by_key = {entry_key, index_text_hash, index_text_cmp};

static struct trouble *trouble_of(struct entry *e)
{
    if (e->trouble == NULL) {
        e->trouble = xcalloc(1, sizeof(*e->trouble));
    }
    return e->trouble;
}

static void tidy_trouble(struct entry *e)
{
    const struct trouble *t = e->trouble;

    if (t != NULL && t->began_us == 0 && t->failing_us == 0 && t->next_us == 0 &&
        t->message == NULL && t->plan == NULL && t->findings == NULL && t->serves_nobody == NULL &&
        t->left == NULL && t->code == TT_OK && t->failures == 0 &&
        t->create + t->change + t->delete_ == 0) {
        trouble_free(STEAL(e->trouble));
    }
}

struct board *board_new(struct clock *clock)
{
    struct board *b = xcalloc(1, sizeof(*b));

    b->clock = clock;
    mutex_init(&b->lock);
    mutex_lock(&b->lock);
    index_init(&b->entries, &by_key);
    mutex_unlock(&b->lock);
    return b;
}

void board_free(struct board *b)
{
    if (b == NULL) {
        return;
    }
    mutex_lock(&b->lock);
    for (size_t i = 0; i < b->entries.cap; i++) {
        entry_free(b->entries.at[i]);
    }
    index_done(&b->entries);
    for (size_t i = 0; i < b->n_running; i++) {
        free(b->running[i].batch_key);
    }
    mutex_unlock(&b->lock);
    mutex_done(&b->lock);
    free(b);
}

/* ---- batches --------------------------------------------------------------------------------- */

uint64_t board_batch_begin(struct board *b, const char *batch_key, size_t n)
{
    int64_t now_us = clock_wall_us(b->clock);

    mutex_lock(&b->lock);
    uint64_t number = ++b->next_number;
    if (b->n_running < BATCHES_MAX) {
        b->running[b->n_running++] = (struct running){
            .number = number, .batch_key = xstrdup(batch_key), .n = n, .began_us = now_us};
    }
    mutex_unlock(&b->lock);
    return number;
}

void board_batch_end(struct board *b, uint64_t batch)
{
    mutex_lock(&b->lock);
    for (size_t i = 0; i < b->n_running; i++) {
        if (b->running[i].number == batch) {
            free(b->running[i].batch_key);
            b->n_running--;
            memmove(&b->running[i], &b->running[i + 1], (b->n_running - i) * sizeof(b->running[0]));
            break;
        }
    }
    mutex_unlock(&b->lock);
}

/* ---- one Service ----------------------------------------------------------------------------- */

static struct entry *entry_of(struct board *b, const char *key) _requires_(b->lock)
{
    struct entry *e = index_get(&b->entries, key);

    if (e == NULL) {
        size_t size = strlen(key) + 1;
        e = keep_alloc(offsetof(struct entry, key) + size);
        e->verb = "";
        e->kind = NO_KIND;
        memcpy(e->key, key, size);
        (void)index_put(&b->entries, e); /* it was not there */
    }
    return e;
}

static void set_text(char **to, char *text)
{
    free(*to);
    *to = text;
}

void board_begin(struct board *b, const char *key, const char *verb)
{
    int64_t now_us = clock_wall_us(b->clock);

    mutex_lock(&b->lock);
    struct entry *e = entry_of(b, key);
    e->before = e->state == BOARD_SYNCING ? e->before : e->state;
    e->state = BOARD_SYNCING;
    e->verb = verb;
    struct trouble *t = trouble_of(e);
    t->began_us = now_us;
    if (strcmp(verb, "update") != 0) { /* which compares nothing that is named */
        set_text(&t->left, NULL);
    }
    mutex_unlock(&b->lock);
}

static char *short_copy(const char *text, size_t max)
{
    size_t len = strlen(text);

    if (len <= max) {
        return xstrdup(text);
    }
    size_t cut = max - strlen("…");
    while (cut > 0 && ((unsigned char)text[cut] & 0xC0) == 0x80) {
        cut--; /* not in the middle of a character */
    }
    struct str_buf out = STR_BUF_INIT;
    str_append_n(&out, text, cut);
    str_append(&out, "…");
    return str_buf_steal(&out);
}

void board_end(struct board *b, const char *key, const struct board_end *how)
{
    int64_t now_us = clock_wall_us(b->clock);
    bool ok = how->state == BOARD_READY || how->state == BOARD_ELSEWHERE;
    char *message = how->message == NULL ? NULL : short_copy(how->message, BOARD_MESSAGE_MAX);
    char *nobody = str_is_empty(how->nobody) ? NULL : short_copy(how->nobody, BOARD_MESSAGE_MAX);

    mutex_lock(&b->lock);
    struct entry *e = entry_of(b, key);
    struct trouble *t = trouble_of(e);
    t->began_us = how->state == BOARD_SYNCING ? t->began_us : 0;
    if (how->part && t->failing_us != 0) {
        e->state = e->before;
        mutex_unlock(&b->lock);
        free(message);
        free(nobody);
        return;
    }
    e->state = (uint8_t)how->state;
    e->synced_us = now_us;
    e->took_ms = how->took_ms > INT32_MAX ? INT32_MAX : (int32_t)how->took_ms;
    e->calls = how->calls;
    t->code = how->code;
    t->next_us = how->delay_ms < 0 ? 0 : now_us + how->delay_ms * 1000;
    set_text(&t->message, message);
    if (how->nobody != NULL) {
        set_text(&t->serves_nobody, nobody);
    }
    if (ok) {
        t->failing_us = 0;
        t->failures = 0;
        t->create = t->change = t->delete_ = 0;
        set_text(&t->plan, NULL);
    } else if (how->state != BOARD_SYNCING) {
        t->failing_us = t->failing_us == 0 ? now_us : t->failing_us;
        t->failures++;
    }
    tidy_trouble(e);
    mutex_unlock(&b->lock);
}

void board_late(struct board *b, const char *key, const char *message)
{
    char *copy = short_copy(message, BOARD_MESSAGE_MAX);

    mutex_lock(&b->lock);
    struct entry *e = entry_of(b, key);
    if (e->state ==
        BOARD_SYNCING) { /* else it came back a moment ago, or was a look, which shows nothing */
        struct trouble *t = trouble_of(e);
        e->state = BOARD_FAILED;
        t->began_us = 0;
        t->code = TT_TRANSIENT;
        t->next_us = 0;
        t->failing_us = t->failing_us == 0 ? clock_wall_us(b->clock) : t->failing_us;
        set_text(&t->message, STEAL(copy));
    }
    mutex_unlock(&b->lock);
    free(copy);
}

void board_drop(struct board *b, const char *key)
{
    mutex_lock(&b->lock);
    entry_free(index_take(&b->entries, key)); /* there may be none */
    mutex_unlock(&b->lock);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Of one Service of a plan. */
struct pending {
    unsigned create, change, delete_;
    struct str_buf lines;
};

static void pending_free(void *p)
{
    struct pending *x = p;

    str_buf_done(&x->lines);
    free(x);
}

static void pending_add(struct pending *p, const struct tt_operation *op)
{
    static const char symbols[] = {' ', '+', '~', '-', '='};

    p->create += op->verb == TT_OP_CREATE;
    p->change += op->verb == TT_OP_CHANGE;
    p->delete_ += op->verb == TT_OP_DELETE;
    if (p->lines.len > BOARD_PLAN_MAX) {
        return;
    }
    str_appendf(&p->lines, "%c ", op->verb < sizeof(symbols) ? symbols[op->verb] : ' ');
    str_append_clean(&p->lines, op->kind, STR_BREAKS_SHOWN);
    str_append_c(&p->lines, ' ');
    str_append_clean(&p->lines, op->name, STR_BREAKS_SHOWN);
    if (!str_is_empty(op->why)) {
        str_append(&p->lines, "  because ");
        str_append_clean(&p->lines, op->why, STR_BREAKS_SHOWN);
    }
    str_append_c(&p->lines, '\n');
}

static char *findings_text(const struct tt_plan_service *s)
{
    _cleanup_(str_buf_done) struct str_buf lines = STR_BUF_INIT;

    if (!TT_HAS(s, serves_nobody)) {
        return NULL;
    }
    for (uint32_t i = 0; i < s->n_findings && lines.len <= BOARD_PLAN_MAX; i++) {
        str_append_clean(&lines, s->findings[i]->message, STR_BREAKS_SHOWN);
        str_append_c(&lines, '\n');
    }
    return lines.len == 0 ? NULL : short_copy(lines.data, BOARD_PLAN_MAX);
}

static char *nobody_text(const struct tt_plan_service *s)
{
    bool says = TT_HAS(s, serves_nobody) && !str_is_empty(s->serves_nobody);

    return says ? short_copy(s->serves_nobody, BOARD_MESSAGE_MAX) : NULL;
}

static uint16_t small(unsigned n)
{
    return n > UINT16_MAX ? UINT16_MAX : (uint16_t)n;
}

/* The values that a plan leaves, behind those of the plans of earlier stages; heap, NULL: none. */
static char *lines_left(const char *before, const struct tt_plan_service *s)
{
    struct str_buf lines = STR_BUF_INIT;

    str_append(&lines, str_nonnull(before));
    for (uint32_t i = 0; TT_HAS(s, n_left) && i < s->n_left; i++) {
        if (strstr(str_nonnull(before), s->left[i]) == NULL) {
            str_append(&lines, "! ");
            str_append_clean(&lines, s->left[i], STR_BREAKS_SHOWN);
            str_append_c(&lines, '\n');
        }
    }
    char *text = lines.len == 0 ? NULL : short_copy(lines.data, BOARD_PLAN_MAX);
    str_buf_done(&lines);
    return text;
}

/* Assigns operations to Services in one pass, because a plan may have thousands of both. */
static struct map *pending_of(const struct tt_plan *plan)
{
    struct map *all = map_new(pending_free);

    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        for (uint32_t o = 0; op->verb != TT_OP_KEEP && o < op->n_owners; o++) {
            struct pending *p = map_get(all, op->owners[o]);
            if (p == NULL) {
                p = xcalloc(1, sizeof(*p));
                map_set(all, op->owners[o], p);
            }
            pending_add(p, op);
        }
    }
    return all;
}

static void plan_one(struct board *b, const struct map *pending,
                     const struct tt_plan_service *service)
{
    static const struct pending none = {0};
    const struct pending *of = map_get(pending, service->key);
    const struct pending *p = of == NULL ? &none : of;
    const char *kind = str_is_empty(service->kind) ? NULL : kube_word(service->kind);
    uint32_t place = NO_KIND;
    char *text = p->lines.len == 0 ? NULL : short_copy(p->lines.data, BOARD_PLAN_MAX);
    char *findings = findings_text(service);
    char *nobody = nobody_text(service);

    mutex_lock(&b->lock);
    struct entry *e = entry_of(b, service->key);
    struct trouble *t = trouble_of(e);
    e->kind = kind != NULL && kube_word_place(kind, &place) ? (uint16_t)place : e->kind;
    t->create = small(p->create);
    t->change = small(p->change);
    t->delete_ = small(p->delete_);
    set_text(&t->plan, text);
    if (e->state == BOARD_SYNCING && str_eq(e->verb, "update")) {
        free(findings); /* an update of backends does not look at all wishes */
    } else {
        set_text(&t->findings, findings);
    }
    set_text(&t->serves_nobody, nobody);
    set_text(&t->left, lines_left(t->left, service));
    tidy_trouble(e);
    mutex_unlock(&b->lock);
}

void board_plan(struct board *b, const struct tt_plan *plan)
{
    struct map *pending = pending_of(plan);

    for (uint32_t i = 0; i < plan->n_services; i++) {
        if (!str_is_empty(plan->services[i]->key)) {
            plan_one(b, pending, plan->services[i]);
        }
    }
    map_free(pending);
}

/* ---- readers --------------------------------------------------------------------------------- */

struct copying {
    struct arena *a;
    struct board_row *rows;
    size_t n;
};

static const char *copy_text(struct arena *a, const char *text)
{
    return text == NULL ? "" : arena_strdup(a, text);
}

static void copy_row(struct copying *c, const struct entry *e)
{
    static const struct trouble none = {0};
    const struct trouble *t = e->trouble == NULL ? &none : e->trouble;

    c->rows[c->n++] = (struct board_row){
        .key = arena_strdup(c->a, e->key),
        .kind = e->kind == NO_KIND ? "" : kube_word_at(e->kind),
        .state = (enum board_state)e->state,
        .verb = e->verb,
        .synced_us = e->synced_us,
        .began_us = e->state == BOARD_SYNCING ? t->began_us : 0,
        .took_ms = e->took_ms,
        .calls = e->calls,
        .code = t->code,
        .message = copy_text(c->a, t->message),
        .failing_us = t->failing_us,
        .failures = t->failures,
        .next_us = t->next_us,
        .create = t->create,
        .change = t->change,
        .delete_ = t->delete_,
        .plan = copy_text(c->a, t->plan),
        .findings = copy_text(c->a, t->findings),
        .serves_nobody = copy_text(c->a, t->serves_nobody),
        .left = copy_text(c->a, t->left),
    };
}

void board_counts(struct board *b, size_t ret[BOARD_STATES])
{
    for (int i = 0; i < BOARD_STATES; i++) {
        ret[i] = 0;
    }
    mutex_lock(&b->lock);
    for (size_t i = 0; i < b->entries.cap; i++) {
        const struct entry *e = b->entries.at[i];
        if (e != NULL) {
            ret[e->state]++;
        }
    }
    mutex_unlock(&b->lock);
}

void board_look(struct board *b, struct arena *a, struct board_view *ret)
{
    struct copying c = {.a = a};

    *ret = (struct board_view){.wall_us = clock_wall_us(b->clock)};
    mutex_lock(&b->lock);
    c.rows = ARENA_ARRAY(a, struct board_row, b->entries.n);
    void **sorted = index_sorted(&b->entries);
    for (size_t i = 0; sorted[i] != NULL; i++) {
        copy_row(&c, sorted[i]);
    }
    free(sorted);
    ret->batches = ARENA_ARRAY(a, struct board_batch, b->n_running);
    for (size_t i = 0; i < b->n_running; i++) {
        const struct running *r = &b->running[i];
        ret->batches[i] = (struct board_batch){
            .batch_key = arena_strdup(a, r->batch_key), .n = r->n, .began_us = r->began_us};
    }
    ret->n_batches = b->n_running;
    mutex_unlock(&b->lock);
    ret->rows = c.rows;
    ret->n_rows = c.n;
}
