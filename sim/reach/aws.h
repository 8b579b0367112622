/* SPDX-License-Identifier: Apache-2.0 */
/* aws.h: what the parts of the judge of AWS share.  Private to sim/reach.
 *
 *     aws_world.c    finds instances, interfaces, subnets and route tables of a world
 *     aws_groups.c   reads the rules of security groups
 *     aws_path.c     follows packets from clients through a balancer to a target
 *     aws_nlb.c      walks the network load balancers, aws_classic.c the classic ones
 *
 * All structures live in the arena of the reach and point into the world, which outlives them.
 * Pure.
 * Source: the user guides of Network and Classic Load Balancers and of security groups, as AWS
 * publishes them. */
#ifndef TRIMTAB_SIM_REACH_AWS_H
#define TRIMTAB_SIM_REACH_AWS_H

#include "common/base/map.h"
#include "sim/reach/reach.h"

/* Protocols of rules and packets, as bits. */
enum reach_aws_protocol {
    REACH_AWS_TCP = 1,
    REACH_AWS_UDP = 2,
};
enum reach_aws_direction {
    REACH_AWS_IN = 0,
    REACH_AWS_OUT,
};

/* --- security groups (aws_groups.c) ----------------------------------------------------------- */

/* The security groups that an interface bears; two interfaces with equal groups share one. */
struct reach_aws_set;
struct reach_aws_groups;

/* A packet that meets the groups of an interface. */
struct reach_aws_packet {
    enum reach_aws_direction direction;
    enum reach_aws_protocol protocol;
    int64_t port;
};

struct reach_aws_groups *reach_aws_groups_new(struct arena *a, struct json_object *documents);
/* The set of a list of ids ("sg-1"), or of objects with the member GroupId.  Never NULL; an empty
 * set allows no client. */
struct reach_aws_set *reach_aws_set_of(struct reach_aws_groups *g, struct json_object *list);
/* The peers with which one of the set's groups lets such packets pass, by rules with ranges.  Rules
 * for ICMP, and prefix lists, whose content a world does not contain, add no client. */
struct reach_ranges reach_aws_set_ranges(struct reach_aws_set *s, struct reach_aws_packet p);
/* Does a rule for such packets refer to a group that the peer bears?  `peer` may be NULL:
 * it bears none. */
bool reach_aws_set_refers_to(struct reach_aws_set *s, struct reach_aws_packet p,
                             const struct reach_aws_set *peer);
/* Calls fn with the id of each group to which a rule for such packets refers. */
void reach_aws_set_each_group(struct reach_aws_set *s, struct reach_aws_packet p,
                              void (*fn)(const char *group_id, void *arg), void *arg);

/* --- a world (aws_world.c) -------------------------------------------------------------------- */

/* An interface that can be a target: the first one of a running instance, or the one that
 * has an address. */
struct reach_aws_host {
    /* "ip-10-0-0-4.ec2.internal": the instance's private DNS name, else its id, else the address */
    const char *name;
    /* NULL: outside the region's zones; every balancer reaches it as if it were in its own */
    const char *zone;
    const char *ipv4, *ipv6;      /* NULL: has none */
    struct reach_aws_set *groups; /* NULL: outside the VPC, allows all clients */
};
struct reach_aws_subnet {
    const char *zone;
    struct reach_ranges ipv4, ipv6;
    /* Clients that an internet-facing balancer can answer from here: destinations that its route
     * table sends to an internet gateway or keeps in the VPC.  All clients if the world has no
     * route tables for the VPC. */
    struct reach_ranges answers;
};

struct reach_aws {
    struct reach *reach;
    struct arena *a;
    struct json_object *ec2, *elb, *elbv2; /* NULL: absent */
    const struct reach_answers *cluster;   /* NULL: not known */
    struct reach_ranges families[2];       /* every address of IPv4, of IPv6 */
    struct reach_aws_groups *groups;
    struct map *instances; /* id → struct reach_aws_host, the running ones */
    /* address → struct reach_aws_host; NULL: reach_aws_host_at() was not called yet */
    struct map *addresses;
    struct map *subnets; /* id → struct reach_aws_subnet */
    /* group id → struct reach_ranges; NULL: reach_aws_bearers() was not called yet */
    struct map *bearers;
};

/* Reads what balancers refer to. */
void reach_aws_world_init(struct reach_aws *w, struct reach *r, struct json_object *world);
/* NULL: nothing in the world has the address. */
const struct reach_aws_host *reach_aws_host_at(struct reach_aws *w, const char *address);
/* The private addresses of all interfaces that bear a group to which a rule of the set for such
 * packets refers. */
struct reach_ranges reach_aws_bearers(struct reach_aws *w, struct reach_aws_set *s,
                                      struct reach_aws_packet p);

/* --- the way through a balancer (aws_path.c) -------------------------------------------------- */

/* A balancer's node in one zone. */
struct reach_aws_place {
    const char *zone;
    struct reach_ranges own4, own6; /* its address if the world says it, else those of its subnet */
    struct reach_ranges answers;    /* clients that can connect to it, security groups apart */
};
struct reach_aws_balancer {
    const char *address; /* the DNS name in small letters */
    bool internal;
    bool ipv4, ipv6;              /* families of clients */
    struct reach_aws_set *groups; /* NULL: has none and filters nothing */
    struct reach_aws_place *places;
    size_t n_places;
};
/* Fills address, scheme and families; room for n places.  False: the document has no DNS name. */
bool reach_aws_balancer_init(struct reach_aws *w, struct json_object *document, size_t n,
                             struct reach_aws_balancer *ret);
/* Adds a node in a subnet; `address4` and `address6` are its own, or NULL.  A subnet that the world
 * lacks adds nothing. */
void reach_aws_balancer_place(struct reach_aws *w, struct reach_aws_balancer *lb,
                              const char *subnet, const char *address4, const char *address6);
/* Adds one port of the balancer; `why` as in struct reach_listener.  `protocol` 0: the
 * balancer has no listener. */
struct reach_port *reach_aws_listen(struct reach_aws *w, const struct reach_aws_balancer *lb,
                                    enum reach_aws_protocol protocol, int64_t port,
                                    const char *why);

/* From one listener to one group of targets. */
struct reach_aws_hop {
    struct reach_aws *world;
    const struct reach_aws_balancer *lb;
    struct reach_port *port;
    enum reach_aws_protocol protocol;
    int64_t listener_port;
    /* of the targets */
    bool preserves; /* packets keep the client's address where its family is that of the target */
    /* clients of one family reach targets of the other; packets have the balancer's address then */
    bool translates;
    bool crosses; /* nodes send to targets in other zones, too */
    bool ipv6;    /* targets are reached by IPv6 */
    /* owned by aws_path.c; zero at first */
    struct reach_ranges clients; /* that pass the balancer's own groups; with has_clients */
    bool has_clients;
    struct reach_aws_way *ways; /* found already */
};
/* Adds the target `name`:`port`, unless no node of the balancer sends to it: it has no address of
 * the family, or lies in a zone in which the balancer has no node.  It is healthy if `passes` (what
 * the world says of its health check), every node that sends to it may connect to the port of
 * `check`, and the machine answers `check`, whose node and family are set here. */
void reach_aws_hop_target(struct reach_aws_hop *h, const struct reach_aws_host *host, int64_t port,
                          struct reach_probe check, bool passes);

/* --- kinds of balancers ----------------------------------------------------------------------- */

void reach_aws_nlbs(struct reach_aws *w);
void reach_aws_classics(struct reach_aws *w);

#endif
