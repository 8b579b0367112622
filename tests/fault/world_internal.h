/* SPDX-License-Identifier: Apache-2.0 */
/* world_internal.h: what differs from cloud to cloud when worlds are judged.  Private to world*.c.
 *
 * A cloud is a row: the member of a world that holds its documents, the file with what is foreign,
 * and functions over those documents.  What is said of Services and comparing is the same for all,
 * in world.c and world_text.c. */
#ifndef TRIMTAB_TESTS_FAULT_WORLD_INTERNAL_H
#define TRIMTAB_TESTS_FAULT_WORLD_INTERNAL_H

#include "tests/fault/world.h"

/* A world and what of it is ours to judge; all borrowed. */
struct world_view {
    struct arena *a;
    struct json_object *world;
    struct json_object *docs;      /* the cloud's, by id or path */
    struct json_object *foreign;   /* those of them that are foreign, as their file has them */
    struct json_object **services; /* ours, without those that are being deleted */
    size_t n_services;
    bool deny; /* Google: deny firewalls belong to it; AWS: nothing of it is in the nodes' group */
};

struct world_rules {
    const char *cloud;   /* member of a world */
    const char *foreign; /* file below tests/data */
    /* Its documents by ids, where a world has them in lists; in the arena.  NULL: they are
     * so in the world. */
    struct json_object *(*flatten)(struct arena *a, struct json_object *docs);
    /* Puts foreign documents into a world's; NULL: member by member. */
    void (*add)(struct arena *a, struct json_object *docs, struct json_object *foreign);
    /* A foreign document is as it was, as far as it is foreign; `in_file` is what the file says of
     * it, `now` NULL: it is gone. */
    int (*check_foreign)(struct arena *a, const char *id, struct json_object *in_file,
                         struct json_object *was, struct json_object *now, struct err *err);
    /* Each Service has all that belongs to it, and nothing else of ours is there. */
    int (*check_whole)(const struct world_view *v, struct err *err);
    /* Takes everything of ours away. */
    void (*strip)(struct arena *a, struct json_object *docs, struct json_object *foreign);
    /* Values that the cluster chose for a Service and the cloud repeats: node ports; NULL:
     * nothing. */
    void (*learn_service)(struct arena *a, struct json_object *service, struct names *names);
    /* Addresses that the cloud chose. */
    void (*learn_addresses)(struct arena *a, struct json_object *docs, struct names *names);
    /* Adds what two runs must have in common of a document to `out`, by lines' names. */
    void (*add_lines)(struct arena *a, const char *id, struct json_object *doc, struct names *names,
                      struct json_object *out);
};
extern const struct world_rules world_rules_gce;
extern const struct world_rules world_rules_azure;
extern const struct world_rules world_rules_aws;
const struct world_rules *world_rules_of(struct json_object *world);
/* The cloud's documents by ids, as check_whole() and add_lines() take them. */
struct json_object *world_docs(struct arena *a, struct json_object *world);
/* Google: the members of the NEGs of the view's Services are a choice that ingress-gce's rules
 * allow, whatever went before (world_gce_members.c).  ERR_CONFLICT. */
int world_gce_check_members(const struct world_view *v, struct err *err);

/* For those: members that are lists of texts become sets. */
void world_sort_lists(struct arena *a, struct json_object *o);

#endif
