/* SPDX-License-Identifier: Apache-2.0 */
/* health.c: see health.h.
 *
 * Owns the list of checks and the texts of the three pages.  Checks run outside the lock, from a
 * copy of the list; removing one waits until no page is being made. */
#include "controller/serve/health.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/log.h"

#define CHECKS_MAX 64
#define WHY_MAX    512
#define ALL        (HEALTH_Z | HEALTH_LIVE | HEALTH_READY)

struct check {
    char *name;
    unsigned where;
    health_check_fn *check;
    void *arg;
    atomic_bool failing; /* as it was last seen */
};

struct health {
    struct metrics *metrics;
    struct mutex lock;
    struct cond idle;
    struct check *checks[CHECKS_MAX] _guarded_by_(lock);
    size_t n _guarded_by_(lock);
    unsigned running _guarded_by_(lock); /* pages being made */
};

static bool always_fine(void *arg, char *why, size_t n)
{
    (void)arg;
    (void)why;
    (void)n;
    return true;
}

struct health *health_new(struct metrics *metrics)
{
    struct health *h = xcalloc(1, sizeof(*h));

    h->metrics = metrics;
    mutex_init(&h->lock);
    cond_init(&h->idle);
    return h;
}

static void check_free(struct check *c)
{
    if (c != NULL) {
        free(c->name);
        free(c);
    }
}

void health_free(struct health *h)
{
    if (h == NULL) {
        return;
    }
    mutex_lock(&h->lock);
    for (size_t i = 0; i < h->n; i++) {
        check_free(h->checks[i]);
    }
    mutex_unlock(&h->lock);
    mutex_done(&h->lock);
    cond_done(&h->idle);
    free(h);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Its place, or h->n. */
static size_t find(const struct health *h, const char *name) _requires_(h->lock)
{
    size_t i = 0;

    while (i < h->n && strcmp(h->checks[i]->name, name) != 0) {
        i++;
    }
    return i;
}

static void wait_idle(struct health *h) _requires_(h->lock)
{
    while (h->running > 0) {
        clock_wait(clock_real(), &h->idle, &h->lock, CLOCK_NEVER);
    }
}

void health_add(struct health *h, const char *name, unsigned where, health_check_fn *check,
                void *arg)
{
    assert((where & ~ALL) == 0);
    mutex_lock(&h->lock);
    wait_idle(h);
    size_t at = find(h, name);
    if (at == h->n) {
        assert(h->n < CHECKS_MAX);
        h->checks[h->n] = xcalloc(1, sizeof(*h->checks[0]));
        h->checks[h->n++]->name = xstrdup(name);
    }
    h->checks[at]->where = where;
    h->checks[at]->check = check;
    h->checks[at]->arg = arg;
    mutex_unlock(&h->lock);
}

void health_remove(struct health *h, const char *name)
{
    mutex_lock(&h->lock);
    wait_idle(h);
    size_t at = find(h, name);
    if (at < h->n) {
        check_free(h->checks[at]);
        h->n--;
        memmove(&h->checks[at], &h->checks[at + 1], (h->n - at) * sizeof(h->checks[0]));
    }
    mutex_unlock(&h->lock);
}

/* The checks of a page, in the arena; "ping" when there is none.  Until end_page() they stay. */
static struct check *const *begin_page(struct health *h, struct arena *a, unsigned where,
                                       size_t *ret_n)
{
    struct check **some = ARENA_ARRAY(a, struct check *, CHECKS_MAX);
    size_t n = 0;

    mutex_lock(&h->lock);
    h->running++;
    for (size_t i = 0; i < h->n; i++) {
        if ((h->checks[i]->where & where) != 0) {
            some[n++] = h->checks[i];
        }
    }
    mutex_unlock(&h->lock);
    if (n == 0) {
        some[n] = ARENA_NEW(a, struct check);
        *some[n++] = (struct check){.name = arena_strdup(a, "ping"), .check = always_fine};
    }
    *ret_n = n;
    return some;
}

static void end_page(struct health *h)
{
    mutex_lock(&h->lock);
    h->running--;
    cond_broadcast(&h->idle);
    mutex_unlock(&h->lock);
}

/* ---- running checks -------------------------------------------------------------------------- */

static void count(struct health *h, const char *name, const char *type, bool ok)
{
    const struct tt_kv is[] = {{"name", name}, {"type", type}};
    const struct tt_kv was[] = {
        {"name", name}, {"type", type}, {"status", ok ? "success" : "error"}};

    if (h->metrics != NULL) {
        metrics_set(h->metrics, METRIC_HEALTHCHECK, is, ARRAY_LEN(is), ok ? 1 : 0);
        metrics_add(h->metrics, METRIC_HEALTHCHECKS, was, ARRAY_LEN(was), 1);
    }
}

/* Says it when a check begins to fail, or ceases to; in between at v=2. */
static void tell(struct check *c, bool ok, const char *why)
{
    bool changed = atomic_exchange(&c->failing, !ok) == ok;

    if (!ok && changed) {
        log_warning("Health check fails", LOG_S("check", c->name), LOG_S("reason", why));
    } else if (!ok) {
        log_info(2, "Health check still fails", LOG_S("check", c->name), LOG_S("reason", why));
    } else if (changed) {
        log_info(0, "Health check is fine again", LOG_S("check", c->name));
    }
}

static bool run_check(struct health *h, struct check *c, const char *type, char why[WHY_MAX])
{
    why[0] = '\0';
    bool ok = c->check(c->arg, why, WHY_MAX);
    count(h, c->name, type, ok);
    tell(c, ok, why);
    return ok;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Takes `name` out of the list of what is to be left out; true when it was there, once or more. */
static bool take(const char **names, size_t *n, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        if (!str_eq(names[i], name)) {
            names[kept++] = names[i];
        }
    }
    bool had = kept < *n;
    *n = kept;
    return had;
}

static int cmp_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names to leave out that no check has, sorted, each once. */
static void append_unmatched(struct str_buf *b, const char **names, size_t n)
{
    qsort(names, n, sizeof(names[0]), cmp_text);
    str_append(b, "warn: some health checks cannot be excluded: no matches for ");
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(names[i], names[i - 1])) {
            continue;
        }
        str_append(b, i > 0 ? "," : "");
        str_append_go_quoted(b, names[i]);
    }
    str_append_c(b, '\n');
}

/* All checks of a page; the lines of the verbose form.  True: none failed. */
static bool run_all(struct health *h, const struct page_request *req, unsigned where,
                    const char *type, struct str_buf *lines)
{
    char why[WHY_MAX];
    bool all_ok = true;
    size_t n = 0;
    size_t n_out = 0;
    const char *const *asked = page_query_all(req, "exclude", &n_out);
    const char **out = ARENA_ARRAY(req->a, const char *, n_out);
    struct check *const *checks = begin_page(h, req->a, where, &n);

    for (size_t i = 0; i < n_out; i++) {
        out[i] = asked[i];
    }
    for (size_t i = 0; i < n; i++) {
        if (take(out, &n_out, checks[i]->name)) {
            str_appendf(lines, "[+]%s excluded: ok\n", checks[i]->name);
        } else if (run_check(h, checks[i], type, why)) {
            str_appendf(lines, "[+]%s ok\n", checks[i]->name);
        } else {
            str_appendf(lines, "[-]%s failed: reason withheld\n", checks[i]->name);
            all_ok = false;
        }
    }
    end_page(h);
    if (n_out > 0) {
        append_unmatched(lines, out, n_out);
    }
    return all_ok;
}

static void root_page(struct health *h, const struct page_request *req, unsigned where,
                      const char *type, struct page_answer *ret)
{
    _cleanup_(str_buf_done) struct str_buf lines = STR_BUF_INIT;
    bool ok = run_all(h, req, where, type, &lines);

    ret->nosniff = true;
    if (!ok) {
        str_appendf(&lines, "%s check failed", type);
        page_fail(ret, 500, str_buf_text(&lines));
    } else if (page_query_has(req, "verbose")) {
        str_appendf(&ret->body, "%s%s check passed\n", str_buf_text(&lines), type);
    } else {
        str_append(&ret->body, "ok");
    }
}

static void one_page(struct health *h, const struct page_request *req, unsigned where,
                     const char *type, const char *name, struct page_answer *ret)
{
    char why[WHY_MAX];
    size_t n = 0;
    struct check *const *checks = begin_page(h, req->a, where, &n);
    size_t i = 0;

    while (i < n && strcmp(checks[i]->name, name) != 0) {
        i++;
    }
    if (i == n) {
        page_fail(ret, 404, "404 page not found");
    } else if (run_check(h, checks[i], type, why)) {
        ret->nosniff = true;
        str_append(&ret->body, "ok");
    } else {
        page_fail(ret, 500, arena_printf(req->a, "internal server error: %s", why));
    }
    end_page(h);
}

void health_page(void *arg, const struct page_request *req, struct page_answer *ret)
{
    static const struct {
        const char *type;
        unsigned where;
    } pages[] = {{"healthz", HEALTH_Z}, {"livez", HEALTH_LIVE}, {"readyz", HEALTH_READY}};

    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        size_t n = strlen(pages[i].type);
        const char *rest = req->path + 1 + n;
        if (strncmp(req->path + 1, pages[i].type, n) != 0 || (*rest != '\0' && *rest != '/')) {
            continue;
        }
        if (*rest == '\0' || rest[1] == '\0') {
            root_page(arg, req, pages[i].where, pages[i].type, ret);
        } else {
            one_page(arg, req, pages[i].where, pages[i].type, rest + 1, ret);
        }
        return;
    }
    page_fail(ret, 404, "404 page not found");
}
