/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: health checks: who is asked, the probes that are in progress, and which Services a
 * verdict concerns.
 *
 * Each question is asked once for all Services that have it.  At most PROBES_MAX probes
 * are in progress. */
#include "providers/local/director/director_internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keep.h"
#include "common/base/str.h"

#define PROBES_MAX       256
#define CHANGED_AGAIN_MS 1000
#define CHANGED_TURN     256 /* Services of one call */
#define EARS_MAX         64
#define FDS_MAX          (1 + LOCAL_WATCH_FDS + PROBES_MAX) /* without ears */

/* The checks of one Service; most Services have the same ones. */
struct director_service {
    const struct interned *key;    /* "namespace/name"; first: interned_text_kind */
    const struct interned *checks; /* an array of pointers to them */
};

static struct director_check *const *checks_of(const struct director_service *s, size_t *ret_n)
{
    *ret_n = s->checks->n / sizeof(struct director_check *);
    return (const void *)s->checks->data;
}

static void check_free(void *value)
{
    struct director_check *c = value;

    local_probe_free(c->probe);
    free(c->path);
    free(c->key);
    free(c);
}

static void service_free(struct local_director *d, struct director_service *s)
{
    if (s != NULL) {
        intern_drop(d->texts, s->key);
        intern_drop(d->texts, s->checks);
        keep_free(s, sizeof *s);
    }
}

void local_checks_init(struct local_director *d)
{
    d->checks = map_new(check_free);
    index_init(&d->services, &interned_text_kind);
    d->changed = map_new(NULL);
}

void local_checks_done(struct local_director *d)
{
    map_free(d->checks);
    for (size_t i = 0; i < d->services.cap; i++) {
        service_free(d, d->services.at[i]);
    }
    index_done(&d->services);
    map_free(d->changed);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* It has these checks no more. */
static void release(struct local_director *d, struct director_service *s)
{
    size_t n = 0;
    struct director_check *const *checks = s == NULL ? NULL : checks_of(s, &n);

    for (size_t i = 0; i < n; i++) {
        if (--checks[i]->users == 0) {
            check_free(map_take(d->checks, checks[i]->key));
        }
    }
    service_free(d, s);
}

static struct director_check *use(struct local_director *d, const struct local_checked *x,
                                  bool *some_new)
{
    struct director_check *c = map_get(d->checks, x->key);

    if (c == NULL) {
        *some_new = true;
        c = xcalloc(1, sizeof *c);
        c->key = xstrdup(x->key);
        c->spec = x->spec;
        c->path = xstrdup(x->spec.path);
        c->spec.path = c->path;
        c->verdict.down = x->starts_down;
        c->next_ms = clock_now_ms(d->args.clock) +
                     (int64_t)(rng_unit(d->args.rng) * (double)x->spec.interval_ms);
        map_set(d->checks, x->key, c);
    }
    c->users++;
    return c;
}

void local_director_check(struct local_director *d, const char *service,
                          struct local_checked *items, size_t n)
{
    struct director_service *s = keep_alloc(sizeof *s);
    struct director_check **checks = xcalloc(n + 1, sizeof(*checks));
    bool some_new = false;

    s->key = intern_text(d->texts, service);
    mutex_lock(&d->lock);
    for (size_t i = 0; i < n; i++) { /* before the old ones go: what stays keeps its verdict */
        items[i].check = use(d, &items[i], &some_new);
        checks[i] = items[i].check;
    }
    s->checks = intern_get(d->texts, checks, n * sizeof(*checks));
    if (n > 0) {
        release(d, index_put(&d->services, s));
    } else {
        release(d, index_take(&d->services, s->key));
        service_free(d, s);
    }
    mutex_unlock(&d->lock);
    free(checks);
    if (some_new) { /* the thread knows when each of the others is due */
        local_director_wake(d);
    }
}

bool local_director_health(struct local_director *d, const char *key, struct local_health *ret)
{
    mutex_lock(&d->lock);
    const struct director_check *c = map_get(d->checks, key);
    bool known = c != NULL;
    if (known) {
        *ret = (struct local_health){.down = c->verdict.down, .weight = c->weight};
    }
    mutex_unlock(&d->lock);
    return known;
}

struct local_health local_director_health_by(struct local_director *d,
                                             const struct director_check *c)
{
    mutex_lock(&d->lock);
    const struct local_health h = {.down = c->verdict.down, .weight = c->weight};
    mutex_unlock(&d->lock);
    return h;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* The Services that have the check are changed. */
static void note_services(struct local_director *d, const struct director_check *c)
{
    for (size_t i = 0; i < d->services.cap; i++) {
        const struct director_service *s = d->services.at[i];
        size_t n = 0;
        struct director_check *const *checks = s == NULL ? NULL : checks_of(s, &n);
        for (size_t k = 0; k < n; k++) {
            if (checks[k] == c) {
                map_set(d->changed, intern_str(s->key), NULL);
                break;
            }
        }
    }
}

struct asking {
    struct local_director *d;
    int64_t now_ms;
    int64_t next_ms;
    size_t under_way;
    bool frozen;
    size_t checks, failing;
};

static void heard(struct asking *x, struct director_check *c, enum local_probe_end end,
                  uint16_t weight)
{
    bool good = end == LOCAL_PROBE_GOOD;
    bool other_weight = good && weight != c->weight;
    char text[IP_TEXT_MAX];

    local_probe_free(STEAL(c->probe));
    c->failing = !good;
    c->weight = good ? weight : c->weight;
    c->next_ms = x->now_ms + local_check_after_ms(c->spec.interval_ms, rng_unit(x->d->args.rng));
    local_director_count(x->d, "local_checks_total", local_check_word(c->spec.kind),
                         good ? "good" : "bad", 1);
    bool changed = local_check_heard(&c->verdict, &c->spec, good, x->frozen);
    if (changed || other_weight) {
        note_services(x->d, c);
    }
    if (changed) {
        const struct local_news head = {.warning = !good};
        ip_format(&c->spec.addr, text);
        local_director_note(x->d, &head, "target %s port %u is %s (check %s)", text, c->spec.port,
                            good ? "up" : "down", local_check_word(c->spec.kind));
    }
}

static bool ask(const char *key, void *value, void *arg)
{
    struct director_check *c = value;
    struct asking *x = arg;
    uint16_t weight = 0;

    (void)key;
    if (c->probe == NULL && c->next_ms <= x->now_ms && x->under_way < PROBES_MAX) {
        c->probe = local_probe_new(&c->spec, x->now_ms);
        if (c->probe == NULL) {
            heard(x, c, LOCAL_PROBE_BAD, 0);
        }
        x->under_way += c->probe != NULL;
    }
    if (c->probe != NULL) {
        enum local_probe_end end = local_probe_go(c->probe, x->now_ms, &weight);
        if (end != LOCAL_PROBE_WAITS) {
            x->under_way--;
            heard(x, c, end, weight);
        }
    }
    int64_t next_ms = c->probe != NULL ? local_probe_deadline_ms(c->probe) : c->next_ms;
    x->next_ms = next_ms < x->next_ms ? next_ms : x->next_ms;
    return true;
}

static bool count_one(const char *key, void *value, void *arg)
{
    const struct director_check *c = value;
    struct asking *x = arg;

    (void)key;
    x->under_way += c->probe != NULL;
    x->checks++;
    x->failing += c->failing;
    return true;
}

int64_t local_checks_turn(struct local_director *d, int64_t now_ms)
{
    struct asking x = {.d = d, .now_ms = now_ms, .next_ms = LOCAL_ANNOUNCE_NEVER};

    map_each(d->checks, count_one, &x);
    x.frozen = local_storm_turn(d, local_check_is_storm(x.failing, x.checks), now_ms);
    map_each(d->checks, ask, &x);
    return x.next_ms;
}

/* ---- telling the provider -------------------------------------------------------------------- */

/* Those that could not be changed are tried again in a second. */
int64_t local_checks_tell(struct local_director *d, int64_t now_ms)
{
    size_t n = 0;

    if (now_ms < d->changed_again_ms) {
        return d->changed_again_ms;
    }
    mutex_lock(&d->lock);
    struct map *changed = d->changed;
    d->changed = map_new(NULL);
    mutex_unlock(&d->lock);
    const char **keys = map_keys(changed, &n);
    size_t left = 0;
    for (size_t i = 0; i < n && d->args.changed != NULL; i += CHANGED_TURN) {
        size_t part = n - i < CHANGED_TURN ? n - i : CHANGED_TURN;
        if (!d->args.changed(d->args.arg, keys + i, part)) {
            mutex_lock(&d->lock);
            for (size_t k = i; k < i + part; k++) {
                map_set(d->changed, keys[k], NULL);
            }
            mutex_unlock(&d->lock);
            left += part;
        }
    }
    free(keys);
    map_free(changed);
    d->changed_again_ms = left > 0 ? now_ms + CHANGED_AGAIN_MS : 0;
    return left > 0 ? d->changed_again_ms : LOCAL_ANNOUNCE_NEVER;
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct fds {
    struct pollfd *items;
    size_t n;
};

static bool add_fd(const char *key, void *value, void *arg)
{
    const struct director_check *c = value;
    struct fds *f = arg;

    (void)key;
    if (c->probe != NULL && f->n < FDS_MAX) {
        f->items[f->n++] =
            (struct pollfd){.fd = local_probe_fd(c->probe), .events = local_probe_events(c->probe)};
    }
    return true;
}

void local_director_wait(struct local_director *d, int64_t most_ms)
{
    struct pollfd items[FDS_MAX + EARS_MAX] = {{.fd = d->wake[0], .events = POLLIN}};
    struct fds f = {items, 1};
    int told[LOCAL_WATCH_FDS];
    unsigned n_told = d->watched ? d->args.kernel->ops->watch_fds(d->args.kernel, told) : 0;
    int ears[EARS_MAX];

    for (unsigned i = 0; i < n_told; i++) {
        items[f.n++] = (struct pollfd){.fd = told[i], .events = POLLIN};
    }
    mutex_lock(&d->lock);
    map_each(d->checks, add_fd, &f);
    size_t n_ears = local_holds_ears(d, ears, EARS_MAX);
    for (size_t i = 0; i < n_ears; i++) {
        items[f.n++] = (struct pollfd){.fd = ears[i], .events = POLLIN};
    }
    mutex_unlock(&d->lock);
    (void)poll(items, (nfds_t)f.n, (int)most_ms);
}
