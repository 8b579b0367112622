/* SPDX-License-Identifier: Apache-2.0 */
/* adoption.h: what the adoption tests share: recorded worlds, taking them apart, and comparing
 * clouds field by field.
 *
 * The worlds of tests/data/gce and tests/data/azure are clusters and clouds as the Go controllers
 * left them.  Two clouds are compared resource by resource of the kinds that a target-pool load
 * balancer consists of; ids, times, fingerprints and the order of members do not count, addresses
 * only where they were promised.  What differs for a reason stands in a table, with the row of
 * docs/deviations.md. */
#ifndef TRIMTAB_TESTS_ADOPTION_H
#define TRIMTAB_TESTS_ADOPTION_H

#include "common/base/str.h"
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A difference that is meant.  `resource` and `field` are globs
 * ("firewalls/k8s-*-node-http-hc"). */
struct adoption_deviation {
    const char *resource; /* COLLECTION/NAME */
    const char *field;    /* top-level member */
    const char *row;      /* of docs/deviations.md */
    bool met;             /* set when it was: a table must stay true */
};

struct rig *adoption_rig(const struct rig_args *args);
/* Starts a controller that must come to rest. */
void adoption_run(struct rig *r);
/* The cloud is not written, no Service is written; prints the calls when that is not so. */
void adoption_expect_untouched(struct rig *r);
/* Ends controller and rig.  With TRIMTAB_ADOPTION_LOGS in the environment the calls to the cloud,
 * which the rig must have logged, are left in that folder as NAME.log
 * (adoption_traffic_test.py). */
bool adoption_is_logged(void);
void adoption_end(struct rig *r, const char *name);
/* "Synced" (ours), "Load balancer is implemented elsewhere", or NULL: which line the log has
 * of a Service. */
const char *adoption_outcome(struct rig *r, const char *key);

/* "namespace/name" of a Service; in the arena. */
const char *adoption_key(struct arena *a, struct json_object *service);
/* Named after its kind: is it one with a target pool? */
bool adoption_is_external(struct json_object *service);
/* The world's copy with only those Services for which keep() is true, and of the cloud only what is
 * not a load balancer's: no rules, pools, checks, firewalls, groups, members; addresses that users
 * reserved stay, unused.  Services come as their owners wrote them: without
 * status and finalizers. */
struct json_object *adoption_before_any(struct arena *a, struct json_object *world,
                                        bool (*keep)(struct json_object *service));

/* Is a path's resource one of an external Service of args->services: by the load balancer's name,
 * or shared by them?  For adoption_compare(). */
struct adoption_owned {
    struct arena *a;
    struct json_object *services; /* array */
};
bool adoption_is_owned(const char *path, void *owned);

/* Compares the members of instance groups and NEGs of two worlds, each as a set of machines. */
void adoption_compare_members(struct json_object *want, struct json_object *got);
/* Compares the balancers' resources of two clouds ("gce" members of worlds): those that keep() is
 * true for (NULL: all), by path.  Fails with every difference that is in no row of `deviations`
 * (ended by a row without resource; NULL: none).  Returns how many resources were compared. */
int adoption_compare(struct json_object *want, struct json_object *got,
                     bool (*keep)(const char *path, void *arg), void *arg,
                     struct adoption_deviation *deviations);
/* The parts of it, for another cloud's comparison: values as comparable texts (lists sorted, absent
 * and empty are ""), a difference, and the end, which fails with every one that is in no row and
 * with every row that met none. */
struct adoption_compare {
    struct arena *a;
    struct adoption_deviation *deviations;
    struct str_buf differences;
};
const char *adoption_text(struct arena *a, struct json_object *v);
void adoption_note(struct adoption_compare *c, const char *resource, const char *field,
                   const char *want, const char *got);
void adoption_compare_end(struct adoption_compare *c);

/* A file's text, in the arena. */
char *adoption_read(struct arena *a, const char *path);
/* Adds a Service (text of JSON) to the cluster as it is: loaded, because the API server would
 * choose another uid. */
void adoption_create(struct rig *r, const char *text);
/* The first address in the status of that Service of a world; "" when it has none. */
const char *adoption_address(struct arena *a, struct json_object *world, const char *key);
/* Makes the edits ({service, merge_patch}) of Services whose name keep() is true for
 * (NULL: all); how many. */
int adoption_make_edits(struct rig *r, struct json_object *edits, bool (*keep)(const char *name));

/* Every address that is a whole text, also within a text of JSON, becomes another; a new
 * tree in the arena. */
struct adoption_pair {
    const char *was;
    const char *is;
};
struct json_object *adoption_translate(struct arena *a, struct json_object *from,
                                       const struct adoption_pair *pairs, size_t n);
/* Addresses in texts and members are replaced by what they are in the other world: "203.0.113.14" →
 * "203.0.113.16", by the addresses of rules of the same name.  Returns a new tree in the arena. */
struct json_object *adoption_translate_addresses(struct arena *a, struct json_object *from,
                                                 struct json_object *to);

#endif
