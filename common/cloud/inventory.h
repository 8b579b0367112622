/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.h: resources in a cloud that carry our names or tags, by owner (list_owned, provider.h).
 *
 * A provider reads the cloud and adds an item for each resource that is ours.  Items with the same
 * `unit` are parts of one load balancer and have one owner: the first that any of them names.  The
 * owner of an item may exist (used), or be gone: then the item is an orphan, and if the owner's name
 * is known the provider can delete the whole unit as a Service of that name and UID.
 *
 *     inventory_init()  inventory_add() …  inventory_settle()  inventory_next() …  inventory_report()
 *
 * Items and texts live in the caller's arena.  One thread.  Source: docs/adr/0020. */
#ifndef TRIMTAB_CLOUD_INVENTORY_H
#define TRIMTAB_CLOUD_INVENTORY_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <trimtab/provider.h>

#define INVENTORY_MAX 200000 /* items; the cloud's answers are not ours */

/* A provider that must know more of an item embeds this. */
struct inventory_item {
    unsigned kind; /* the provider's; index of its table of words */
    const char *name;
    const char *place;  /* zone, balancer or group that it lies in; NULL: none */
    const char *id;     /* by which the command names it; NULL: no command */
    const char *unit;   /* "a<uid>", "ns/name" …; "": shared by Services, a unit of its own */
    const char *key;    /* "ns/name" of the owner; NULL: unknown */
    bool used;          /* a Service that counts has it */
    bool unsure;        /* may be another cluster's */
    int64_t created_us; /* 0: unknown */
};
struct inventory {
    struct arena *a;
    struct inventory_item **items;
    size_t n;
    size_t cap;
    bool full; /* an item was refused */
};
void inventory_init(struct inventory *inv, struct arena *a);
/* `item` is borrowed for the life of the inventory.  Beyond INVENTORY_MAX items it is refused, and
 * inventory_check() fails. */
void inventory_add(struct inventory *inv, struct inventory_item *item);
/* A copy of `item` in the arena is added. */
void inventory_put(struct inventory *inv, struct inventory_item item);
/* ERR_QUOTA: an item was refused. */
int inventory_check(const struct inventory *inv, struct err *err) _warn_unused_;

/* Parts of one load balancer. */
struct inventory_unit {
    struct inventory_item **items;
    size_t n;
};
/* Sorts by unit, kind, name, place, id, and gives each unit one owner. */
void inventory_settle(struct inventory *inv);
/* The unit that begins at *at (0 at first), which moves on; false at the end.  After settle(). */
bool inventory_next(const struct inventory *inv, size_t *at, struct inventory_unit *ret);
/* Keeps the items for which keep() returns true, in their order. */
void inventory_filter(struct inventory *inv, bool (*keep)(const struct inventory_item *item));

/* ---- Services -------------------------------------------------------------------------------- */

/* Calls each() for every Service that has a load balancer of ours, or is being deleted: it wants one
 * (with the classes of `d`), or carries the cleanup finalizer or one of `d`. */
void inventory_each_service(const struct tt_provider *d, const struct tt_host *host,
                            const struct tt_call *call,
                            void (*each)(void *arg, const struct tt_service *svc), void *arg);
/* True for "a" and 31 hexadecimal digits: a name of svc_default_lb_name() (common/lb). */
bool inventory_is_lb_name(const char *text, size_t n);
/* A UID that gives `lb_name`: its last digit is not part of the name, and is 0. */
const char *inventory_uid_of(struct arena *a, const char *lb_name);
/* A Service "ns/name" that stands for a deleted one, so that its load balancer can be deleted; the
 * caller may add finalizers.  NULL: `key` is not "ns/name". */
struct tt_service *inventory_service(struct arena *a, const char *key, const char *uid);

/* ---- report ---------------------------------------------------------------------------------- */

struct inventory_words {
    const char *kind; /* "target group" */
    const char *cost; /* "billed by the hour"; NULL: not known */
};
struct inventory_report {
    const struct tt_host *host;
    const struct tt_call *call;
    const struct inventory_words *words; /* by kind */
    /* The command line that deletes the item; NULL: none. */
    const char *(*command)(const void *arg, const struct inventory_item *item);
    /* The Service by which the unused items of a unit can be deleted; NULL: none. */
    const struct tt_service *(*remover)(const void *arg, const struct inventory_unit *unit);
    const void *arg;
};
/* Tells the host of every item.  After settle(). */
void inventory_report(const struct inventory *inv, const struct inventory_report *r);

#endif
