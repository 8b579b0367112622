/* SPDX-License-Identifier: Apache-2.0 */
/* gce.h: what the parts of the judge of Google's load balancers know of each other.  Private to
 * sim/reach/gce*.c.
 *
 *     gce.c            reads rules and addresses, and calls the others
 *     gce_world.c      resources by link, machines and their interfaces
 *     gce_firewalls.c  which clients the firewalls let through to a machine
 *     gce_targets.c    the machines behind a rule, and whether they are healthy
 *     gce_fronts.c     ports of rules, cut where a firewall's verdict changes
 *
 * Everything lives in the arena of `struct reach`.  Pure. */
#ifndef TRIMTAB_SIM_REACH_GCE_H
#define TRIMTAB_SIM_REACH_GCE_H

#include "common/base/map.h"
#include "sim/reach/reach.h"

#define GCE_PORT_FIRST 1
#define GCE_PORT_LAST  65535
#define GCE_ANY        (-1) /* any protocol */

/* --- the world -------------------------------------------------------------------------------- */

/* Interfaces to which the same firewall rules apply: those of one network, with the same tags and
 * service accounts.  One pointer for each such set. */
struct gce_class {
    const char *network;               /* interned path */
    const struct gce_machine *machine; /* any of them: has the tags and accounts */
};

struct gce_nic {
    const char *network, *subnetwork; /* interned paths, or NULL */
    const char *ipv4;                 /* address, or NULL */
    bool has_ipv4, has_ipv6;
    const struct gce_class *class;
};

struct gce_machine {
    const char *name;
    struct json_object *body;
    struct json_object *tags; /* array of texts, or NULL */
    bool runs;
    struct gce_nic *nics;
    size_t n_nics;
};

struct gce_firewall;
/* Firewall rules in the order in which they apply. */
struct gce_firewalls {
    const struct gce_firewall **at;
    size_t n;
};

struct gce {
    struct arena *a;
    struct json_object *resources, *members; /* path → body, path → array */
    const struct reach_answers *cluster;     /* NULL: not known */
    struct map *texts;                       /* interned paths */
    struct map *machines;                    /* path → struct gce_machine */
    struct map *classes;                     /* network, tags and accounts → struct gce_class */
    struct map *pinned; /* address → the first struct gce_firewall with that destination alone */
    struct gce_firewalls wide; /* those with other destinations, or without any */
};

/* The path ("projects/…") of a link in any form, interned, so that equal paths are one pointer;
 * NULL if it is not one.  `near` is the path of what holds the link. */
const char *gce_path(struct gce *g, const char *link, const char *near);
/* The resource that a link names, or NULL; *ret_path (may be NULL) is its path. */
struct json_object *gce_find(struct gce *g, const char *link, const char *near,
                             const char **ret_path);
/* Is it a path of this collection ("…/instances/n" of "instances")? */
bool gce_is(const char *path, const char *collection);
const char *gce_name(const char *path); /* "…/instances/n" → "n", borrowed */
/* The address of a text with or without a prefix length; false if there is none. */
bool gce_address(struct arena *a, const char *text, struct ip_addr *ret);
const char *gce_address_text(struct arena *a, const struct ip_addr *ip);
/* One of an array of texts; "" if it is not one.  Does such an array hold this one, or
 * any of those? */
const char *gce_text_at(struct json_object *array, size_t i);
bool gce_has_text(struct json_object *array, const char *text);
bool gce_have_common(struct json_object *x, struct json_object *y);

void gce_machines_read(struct gce *g);
/* The machine that a link or, within the zone of `near`, a name means; NULL: it is gone. */
const struct gce_machine *gce_machine(struct gce *g, const char *link, const char *near);
/* Its first interface in this network (and subnetwork, if not NULL); network NULL:
 * nic0.  NULL: none. */
const struct gce_nic *gce_machine_nic(const struct gce_machine *m, const char *network,
                                      const char *subnetwork);

/* --- firewalls -------------------------------------------------------------------------------- */

struct gce_packet {
    int protocol;  /* number: 6 is TCP */
    uint16_t port; /* 0: the protocol has none */
    bool ipv6;
};

void gce_firewalls_read(struct gce *g);
/* Those that packets to this address may meet. */
struct gce_firewalls gce_firewalls_to(struct gce *g, const struct ip_addr *to);
/* Clients whose packet these rules let through to such an interface. */
struct reach_ranges gce_permitted(struct gce *g, struct gce_firewalls rules,
                                  const struct gce_class *class, const struct gce_packet *packet);
/* Calls fn with each port from which on the verdict on this protocol may be another. */
void gce_firewall_cuts(struct gce_firewalls rules, int protocol, void (*fn)(void *arg, int port),
                       void *arg);

/* --- rules and what is behind them ------------------------------------------------------------ */

struct gce_target {
    const char *name;
    bool healthy;
    size_t class; /* index in `classes` */
};

struct gce_rule {
    const char *path;
    struct json_object *body;
    struct ip_addr address;
    const char *text;    /* the same, canonical */
    const char *network; /* of an internal one, interned; or NULL */
    bool internal, ipv6;
    struct gce_firewalls firewalls;
    const char *why; /* REACH_NO_RULE: it leads nowhere */
    struct gce_target *targets;
    size_t n_targets;
    const struct gce_class **classes; /* those of the targets, each once */
    size_t n_classes;
};

/* Fills in `why`, the targets and their classes. */
void gce_targets_read(struct gce *g, struct gce_rule *rule);
/* Adds the listeners of all these rules. */
void gce_fronts_add(struct gce *g, struct reach *r, struct gce_rule *const *rules, size_t n);

#endif
