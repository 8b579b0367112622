/* SPDX-License-Identifier: Apache-2.0 */
/* gce_tags.c: see gce_tags.h. */
#include "providers/gce/cache/gce_tags.h"

#include "common/base/hash.h"
#include "common/base/lock.h"
#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

#define ZONES_MAX 64 /* zones of one region: a handful */

struct gce_tags {
    struct mutex lock;
    uint64_t nodes _guarded_by_(lock); /* digest of the set that `tags` belongs to */
    char *tags _guarded_by_(lock);     /* one per line; NULL: none yet */
};

struct gce_tags *gce_tags_new(void)
{
    struct gce_tags *t = xcalloc(1, sizeof(*t));
    mutex_init(&t->lock);
    return t;
}

void gce_tags_free(struct gce_tags *t)
{
    if (t == NULL) {
        return;
    }
    mutex_done(&t->lock);
    free(t->tags);
    free(t);
}

static uint64_t digest(struct arena *a, const struct gce_members *m)
{
    const char *text = str_set_text(a, &m->paths, "\n");
    return hash_bytes(0, text, strlen(text));
}

static struct str_set lines(struct arena *a, const char *text)
{
    size_t n;
    char **items = str_split(a, text, '\n', &n);
    return str_set_make(a, (const char *const *)items, n);
}

/* One zone's list in progress. */
struct zone_list {
    struct gce_read read;
    struct gce_splitter cutter;
    struct arena *a;
    struct gce_instance *items;
    size_t n;
    size_t cap;
    struct err err;
};

static void take_instance(void *arg, const char *text, size_t n)
{
    struct zone_list *z = arg;
    struct json_object *o;
    if (json_parse_arena(z->a, text, n, NULL, &o, &z->err) != ERR_OK) {
        return;
    }
    if (z->n == z->cap) {
        size_t cap = z->cap == 0 ? 64 : z->cap * 2;
        struct gce_instance *more = ARENA_ARRAY(z->a, struct gce_instance, cap);
        if (z->n > 0) {
            memcpy(more, z->items, z->n * sizeof(*more));
        }
        z->items = more;
        z->cap = cap;
    }
    if (gce_instance_decode(z->a, o, &z->items[z->n], &z->err) == ERR_OK) {
        z->n++;
    }
}

static const char *filter(struct arena *a, const struct gce_tags_ask *ask)
{
    const char *prefix = str_nonnull(ask->prefix);
    for (size_t i = 0; i < ask->members->n_ids; i++) {
        if (!str_has_prefix(ask->members->ids[i].name, prefix)) {
            prefix = "";
        }
    }
    return gce_instances_filter(a, prefix);
}

static struct str_set zones_of(struct arena *a, const struct gce_members *m)
{
    const char **zones = ARENA_ARRAY(a, const char *, m->n_ids);
    for (size_t i = 0; i < m->n_ids; i++) {
        zones[i] = m->ids[i].zone;
    }
    struct str_set set = str_set_make(a, zones, m->n_ids);
    set.n = set.n > ZONES_MAX ? ZONES_MAX : set.n;
    return set;
}

static int list_zones(const struct gce_tags_ask *ask, struct arena *a, struct zone_list *z,
                      const struct str_set *zones, struct err *err)
{
    struct http_job *jobs[ZONES_MAX];
    for (size_t i = 0; i < zones->n; i++) {
        z[i].a = a;
        gce_splitter_init(&z[i].cutter, take_instance, &z[i]);
        struct gce_call_spec spec = {
            .collection = GCE_INSTANCES,
            .verb = GCE_LIST,
            .zone = zones->items[i],
            .filter = filter(a, ask),
            .cutter = &z[i].cutter,
        };
        gce_read_init(&z[i].read, ask->api, ask->call, a, &spec);
        jobs[i] = &z[i].read.job;
    }
    http_run(ask->http, jobs, zones->n);
    int rc = ERR_OK;
    for (size_t i = 0; i < zones->n; i++) {
        if (rc == ERR_OK && z[i].read.job.err.code != ERR_OK) {
            rc = err_copy(err, &z[i].read.job.err);
        } else if (rc == ERR_OK && z[i].err.code != ERR_OK) { /* its tag would be missing */
            rc = err_set(err, ERR_TRANSIENT, "an instance of %s is not readable: %s",
                         zones->items[i], z[i].err.message);
        }
        gce_splitter_done(&z[i].cutter);
    }
    return rc;
}

static int read_tags(const struct gce_tags_ask *ask, struct arena *a, struct str_set *ret,
                     unsigned *ret_reads, struct err *err)
{
    struct str_set zones = zones_of(a, ask->members);
    struct zone_list *z = ARENA_ARRAY(a, struct zone_list, zones.n);
    int rc = list_zones(ask, a, z, &zones, err);
    size_t n = 0;
    for (size_t i = 0; i < zones.n; i++) {
        n += z[i].n;
        *ret_reads += z[i].read.call.requests;
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct gce_instance *all = ARENA_ARRAY(a, struct gce_instance, n);
    size_t k = 0;
    for (size_t i = 0; i < zones.n; i++) {
        if (z[i].n > 0) {
            memcpy(&all[k], z[i].items, z[i].n * sizeof(*all));
            k += z[i].n;
        }
    }
    return gce_host_tags(a, ask->members->ids, ask->members->n_ids, all, n, ret, err);
}

int gce_tags_get(struct gce_tags *t, const struct gce_tags_ask *ask, struct arena *a,
                 struct str_set *ret, unsigned *ret_reads, struct err *err)
{
    uint64_t nodes = digest(a, ask->members);
    mutex_lock(&t->lock);
    bool known = t->tags != NULL && t->nodes == nodes;
    char *copy = known ? arena_strdup(a, t->tags) : NULL;
    mutex_unlock(&t->lock);
    if (known) {
        *ret = lines(a, copy);
        return ERR_OK;
    }
    struct str_set tags;
    int rc = read_tags(ask, a, &tags, ret_reads, err);
    if (rc != ERR_OK) {
        return rc;
    }
    mutex_lock(&t->lock);
    free(t->tags);
    t->tags = xstrdup(str_set_text(a, &tags, "\n"));
    t->nodes = nodes;
    mutex_unlock(&t->lock);
    *ret = tags;
    return ERR_OK;
}
