/* SPDX-License-Identifier: Apache-2.0 */
/* aws_worlds.h: small worlds of AWS in words, and the reach document of a world in a line.
 *
 * Every world has subnets a, b, c and d, one in each zone (10.0.0.0/24, 10.0.1.0/24, …;
 * fd00:a::/64, …), and seven instances:
 *
 *     1, 2, 3   "n1", "n2", "n3" in zones a, b, c, 10.0.0.4, 10.0.1.4, 10.0.2.4; 1 and 2 have
 *               fd00:a::4 and fd00:b::4; group sg-nodes, 3 also sg-extra
 *     4         has no DNS name, in zone a, 10.0.0.5, group sg-other
 *     5, 6      in zone a, sg-nodes; stopped and terminated
 *     7         "n7" in zone d, 10.0.3.4, sg-nodes
 *
 * Rules: "tcp 30080 0.0.0.0/0; udp 53-60 sg-lb; -1 * pl-1", NULL: none.  Words are
 * parted by blanks. */
#ifndef TRIMTAB_TESTS_UNIT_SIM_REACH_AWS_WORLDS_H
#define TRIMTAB_TESTS_UNIT_SIM_REACH_AWS_WORLDS_H

#include "sim/reach/reach.h"

struct aws_case {
    const char *name;
    /* The balancer's DNS name is "Web.Elb"; its zones are a, b, c unless "zones=ab" says which.
     * "internal", "dualstack", "cross", "private=a" (its subnets there have no way to the
     * internet), "untold" (the world says nothing of route tables), "own" (the world says its
     * addresses: 10.0.0.10, …), "deny6", "prefixes". */
    const char *lb;
    /* "TCP 80>30080; UDP 53>30053": one target group each; ">30080+30081" two; ">gone" one that is
     * not there; ">zero" of weight 0; ">none" no action.  NULL: no listener. */
    const char *listeners;
    /* Of all target groups: "preserve=false", "cross=true", "ipv6", "ip", "check=10256",
     * "protocol=TLS"; of a classic balancer: "check=HTTP:10256/healthz". */
    const char *group;
    /* "1 2:draining 3@30090"; addresses if the group has "ip": "10.0.0.4", "198.51.100.9%all". */
    const char *targets;
    /* Rules of sg-nodes, sg-extra, sg-other, and of sg-lb; an NLB without lb_in has no group.
     * lb_out NULL: the world says nothing of it; "": nothing gets out. */
    const char *nodes, *extra, *other, *lb_in, *lb_out;
    const char *want;
};

/* The world with one network balancer, or one classic balancer; a new reference. */
struct json_object *aws_case_world(const struct aws_case *c, bool classic);
/* "TCP/80 internet 0.0.0.0/0: n1:30080 n2:30080! n3:30080(10.0.0.0/8) | UDP/53 network no target";
 * "!" is unhealthy.  The address is left out; "none" if the world has no balancer.
 * Lives in `a`. */
const char *aws_reach_line(struct arena *a, struct json_object *world);
/* Compares each row; prints the name of the first one that differs. */
void aws_check_cases(const struct aws_case *rows, size_t n, bool classic);

#endif
