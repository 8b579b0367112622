/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_gce_l4.h: what the two files of fault-chaos with Google's L4 kinds share: the family of an
 * episode, nodes, pods.
 *
 * chaos_gce_l4.c: families and Services; chaos_gce_nodes.c: nodes and pods that come,
 * go and move. */
#ifndef TRIMTAB_TESTS_FAULT_CHAOS_GCE_L4_H
#define TRIMTAB_TESTS_FAULT_CHAOS_GCE_L4_H

#include "tests/fault/chaos.h"
#include "tests/fault/writer_gce.h"

#define LOST_MAX 40

/* A kind of episode; the seed chooses one. */
struct l4_family {
    const char *name;
    const char *const *flags;
    size_t edge;     /* the number of nodes around which it goes */
    size_t services; /* at once */
    int actions;
    bool alone;  /* without the service controller's kinds */
    bool old;    /* only these */
    bool groups; /* some are on instance groups */
    /* families: "EXTERNAL", "INTERNAL": who may have IPv6 in its subnetwork; NULL: IPv4 only */
    const char *both;
    bool crowds; /* Services with a pod on every node */
};
/* A node that is away, and may come back under its name. */
struct l4_lost {
    char name[24];
    char zone[24];
};
struct l4 {
    const struct l4_family *family;
    struct writer_gce *writer;
    struct l4_lost lost[LOST_MAX];
    size_t n_lost;
};

struct l4 *l4_of(const struct chaos *c);

/* Pods of a Service that has none yet, and all of them where its nodes have gone. */
int l4_pods_first(struct chaos *c, struct wish *w) _warn_unused_;
/* Actions. */
int l4_change_nodes(struct chaos *c) _warn_unused_;
int l4_unready(struct chaos *c) _warn_unused_;  /* one is, or is again */
int l4_shut_out(struct chaos *c) _warn_unused_; /* a label, or without it */
int l4_recreate(struct chaos *c) _warn_unused_; /* one of the same name, perhaps elsewhere */
int l4_zone(struct chaos *c) _warn_unused_; /* all nodes of one go, or those that went come back */
int l4_roll_out(struct chaos *c) _warn_unused_; /* pods move from node to node, in steps */

#endif
