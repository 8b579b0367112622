/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_index.c: see azure_lb_index.h.
 *
 * Base names of Services are of one length (docs/spec/azure.md 6.2), so that an element is found by
 * the beginning of its name; a Service whose base name is shorter looks through all.  Keys are in
 * lower case.  Pure. */
#include "providers/azure/lb/azure_lb_index.h"
#include "common/base/ip.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/lb/azure_probe_rules.h"
#include "providers/azure/model/azure_doc.h"

#include <ctype.h>
#include <string.h>

#define BASE_LEN 32 /* "a" and the UID without its dashes, cut */
#define KEY_MAX  512

enum by {
    BY_NAME = 0,
    BY_REF, /* frontends: their public IP; rules: their frontend */
    BY_IP,  /* frontends: their private address */
    BY_COUNT,
};

struct entry {
    struct json_object *o;
    size_t order;
};
struct bucket {
    struct entry *items;
    size_t n;
    size_t cap;
};
struct azure_lb_index {
    struct arena *a;
    struct json_object *lb;
    struct map *by[AZURE_LB_PARTS][BY_COUNT]; /* NULL: not asked for this part yet */
    size_t n;
};

const char *azure_lb_part_name(enum azure_lb_part part)
{
    static const char *const names[] = {"frontendIPConfigurations", "loadBalancingRules", "probes"};
    return names[part];
}

static void put_map(void *arg)
{
    map_free(arg);
}

/* The first `most` bytes in lower case; a longer text is cut, which makes more
 * candidates, not fewer. */
static const char *key_of(const char *text, size_t most, char key[KEY_MAX])
{
    size_t n = strnlen(text, most < KEY_MAX - 1 ? most : KEY_MAX - 1);
    for (size_t i = 0; i < n; i++) {
        key[i] = (char)tolower((unsigned char)text[i]);
    }
    key[n] = '\0';
    return key;
}

static const char *key_of_ip(const char *text, char key[KEY_MAX])
{
    struct ip_addr ip;
    if (!ip_parse(text, &ip)) {
        return key_of(text, KEY_MAX, key);
    }
    ip_format(&ip, key);
    return key;
}

/* The element's key; NULL: none. */
static const char *key_by(enum by by, enum azure_lb_part part, struct json_object *o,
                          char key[KEY_MAX])
{
    const char *text = NULL;
    switch (by) {
    case BY_NAME:
        return key_of(azure_doc_name(o), BASE_LEN, key);
    case BY_REF:
        text = part == AZURE_LB_FRONTENDS ? azure_ref(o, "publicIPAddress")
               : part == AZURE_LB_RULES   ? azure_ref(o, "frontendIPConfiguration")
                                          : NULL;
        return text != NULL ? key_of(text, KEY_MAX, key) : NULL;
    default:
        text = part == AZURE_LB_FRONTENDS ? azure_prop_str(o, "privateIPAddress") : NULL;
        return text != NULL ? key_of_ip(text, key) : NULL;
    }
}

static void add_to(struct arena *a, struct map *m, const char *key, struct entry e)
{
    struct bucket *b = map_get(m, key);
    if (b == NULL) {
        b = ARENA_NEW(a, struct bucket);
        map_set(m, key, b);
    }
    if (b->n == b->cap) {
        b->cap = b->cap * 2 + 2;
        struct entry *more = ARENA_ARRAY(a, struct entry, b->cap);
        if (b->n > 0) {
            memcpy(more, b->items, b->n * sizeof(*more));
        }
        b->items = more;
    }
    b->items[b->n++] = e;
}

static void add(struct azure_lb_index *ix, enum azure_lb_part part, struct json_object *o)
{
    char text[KEY_MAX];
    struct entry e = {.o = o, .order = ix->n++};
    for (int by = 0; by < BY_COUNT; by++) {
        const char *key = key_by((enum by)by, part, o, text);
        if (key != NULL) {
            add_to(ix->a, ix->by[part][by], key, e);
        }
    }
}

/* Most balancers of a sync are checked in one respect only. */
static void fill(struct azure_lb_index *ix, enum azure_lb_part part)
{
    struct json_object *o;
    if (ix->by[part][BY_NAME] != NULL) {
        return;
    }
    for (int by = 0; by < BY_COUNT; by++) {
        ix->by[part][by] = map_new(NULL);
        arena_defer(ix->a, put_map, ix->by[part][by]);
    }
    AZURE_EACH (o, azure_array(ix->lb, azure_lb_part_name(part))) {
        add(ix, part, o);
    }
}

struct azure_lb_index *azure_lb_index_new(struct arena *a, struct json_object *lb)
{
    struct azure_lb_index *ix = ARENA_NEW(a, struct azure_lb_index);
    *ix = (struct azure_lb_index){.a = a, .lb = lb};
    return ix;
}

void azure_lb_index_add(struct azure_lb_index *ix, enum azure_lb_part part, struct json_object *o)
{
    if (ix != NULL && ix->by[part][BY_NAME] != NULL) {
        add(ix, part, o); /* else it is found when the part is looked through */
    }
}

void azure_lb_index_drop(struct azure_lb_index *ix, enum azure_lb_part part, struct json_object *o)
{
    char text[KEY_MAX];
    for (int by = 0; ix != NULL && by < BY_COUNT && ix->by[part][by] != NULL; by++) {
        const char *key = key_by((enum by)by, part, o, text);
        struct bucket *b = key != NULL ? map_get(ix->by[part][by], key) : NULL;
        for (size_t i = b != NULL ? b->n : 0; i > 0; i--) {
            if (b->items[i - 1].o == o) {
                memmove(&b->items[i - 1], &b->items[i], (b->n - i) * sizeof(*b->items));
                b->n--;
            }
        }
    }
}

/* ---- candidates ------------------------------------------------------------------------------ */

struct found {
    struct arena *a;
    struct entry *items;
    size_t n;
    size_t cap;
};

static void take(struct found *f, const struct bucket *b)
{
    for (size_t i = 0; b != NULL && i < b->n; i++) {
        size_t at = f->n;
        while (at > 0 && f->items[at - 1].order > b->items[i].order) {
            at--;
        }
        if (at > 0 && f->items[at - 1].o == b->items[i].o) {
            continue;
        }
        if (f->n == f->cap) {
            f->cap = f->cap * 2 + 8;
            struct entry *more = ARENA_ARRAY(f->a, struct entry, f->cap);
            if (f->n > 0) {
                memcpy(more, f->items, f->n * sizeof(*more));
            }
            f->items = more;
        }
        memmove(&f->items[at + 1], &f->items[at], (f->n - at) * sizeof(*f->items));
        f->items[at] = b->items[i];
        f->n++;
    }
}

static struct azure_elements elements(const struct found *f)
{
    struct azure_elements out = {.items = ARENA_ARRAY(f->a, struct json_object *, f->n + 1)};
    for (size_t i = 0; i < f->n; i++) {
        out.items[out.n++] = f->items[i].o;
    }
    return out;
}

static struct azure_elements all_of(struct arena *a, struct json_object *lb,
                                    enum azure_lb_part part)
{
    struct json_object *array = azure_array(lb, azure_lb_part_name(part));
    struct azure_elements out = {.items =
                                     ARENA_ARRAY(a, struct json_object *, json_len(array) + 1)};
    struct json_object *o;
    AZURE_EACH (o, array) {
        out.items[out.n++] = o;
    }
    return out;
}

/* Filling is not a change that a caller could see. */
static const struct bucket *look(const struct azure_lb_index *ix, enum azure_lb_part part,
                                 enum by by, const char *key)
{
    fill((struct azure_lb_index *)(uintptr_t)ix, part);
    return map_get(ix->by[part][by], key);
}

static bool can_tell(const struct azure_lb_index *ix, const struct azure_service *s)
{
    return ix != NULL && strlen(s->base) == BASE_LEN;
}

struct azure_elements azure_lb_named(struct arena *a, const struct azure_lb_index *ix,
                                     struct json_object *lb, enum azure_lb_part part,
                                     const struct azure_service *s)
{
    char key[KEY_MAX];
    struct found f = {.a = a};
    if (!can_tell(ix, s)) {
        return all_of(a, lb, part);
    }
    take(&f, look(ix, part, BY_NAME, key_of(s->base, BASE_LEN, key)));
    take(&f, look(ix, part, BY_NAME, key_of(AZURE_SHARED_PROBE, BASE_LEN, key)));
    return elements(&f);
}

struct azure_elements azure_lb_claimed(struct arena *a, const struct azure_lb_index *ix,
                                       struct json_object *lb, const struct azure_claim *c)
{
    char key[KEY_MAX];
    const struct azure_service *s = c->service;
    struct found f = {.a = a};
    if (!can_tell(ix, s)) {
        return all_of(a, lb, AZURE_LB_FRONTENDS);
    }
    take(&f, look(ix, AZURE_LB_FRONTENDS, BY_NAME, key_of(s->base, BASE_LEN, key)));
    for (size_t i = 0; i < c->n_pips; i++) {
        take(&f,
             look(ix, AZURE_LB_FRONTENDS, BY_REF, key_of(azure_doc_id(c->pips[i]), KEY_MAX, key)));
    }
    for (size_t i = 0; s->internal && i < s->n_lb_ips; i++) {
        take(&f, look(ix, AZURE_LB_FRONTENDS, BY_IP, key_of_ip(s->lb_ips[i], key)));
    }
    return elements(&f);
}

static struct azure_elements by_ref(struct arena *a, const struct azure_lb_index *ix,
                                    struct json_object *lb, enum azure_lb_part part, const char *id)
{
    char key[KEY_MAX];
    struct found f = {.a = a};
    if (ix == NULL) {
        return all_of(a, lb, part);
    }
    take(&f, look(ix, part, BY_REF, key_of(id, KEY_MAX, key)));
    return elements(&f);
}

struct azure_elements azure_lb_with_pip(struct arena *a, const struct azure_lb_index *ix,
                                        struct json_object *lb, const char *pip_id)
{
    return by_ref(a, ix, lb, AZURE_LB_FRONTENDS, pip_id);
}

struct azure_elements azure_lb_rules_at(struct arena *a, const struct azure_lb_index *ix,
                                        struct json_object *lb, const char *frontend_id)
{
    return by_ref(a, ix, lb, AZURE_LB_RULES, frontend_id);
}

struct azure_elements azure_lb_called(struct arena *a, const struct azure_lb_index *ix,
                                      struct json_object *lb, enum azure_lb_part part,
                                      const char *name)
{
    char key[KEY_MAX];
    struct found f = {.a = a};
    if (ix == NULL) {
        return all_of(a, lb, part);
    }
    take(&f, look(ix, part, BY_NAME, key_of(name, BASE_LEN, key)));
    return elements(&f);
}
