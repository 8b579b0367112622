/* SPDX-License-Identifier: Apache-2.0 */
/* ec2.h: what the rest of the simulated AWS may ask of EC2 and have it make.
 *
 * The load balancers ask which state an instance is in, where a subnet lies, whether groups,
 * subnets and gateways are there; the nodes of the frame end as instances.  All else of EC2 is
 * private to ec2_parts.h.  Nothing here refuses a request: who asks knows the code that its own
 * service answers. */
#ifndef TRIMTAB_SIM_AWS_EC2_H
#define TRIMTAB_SIM_AWS_EC2_H

#include "sim/aws/aws.h"

/* --- asking ----------------------------------------------------------------------------------- */

/* "pending", "running", "shutting-down", "terminated", "stopping", "stopped"; NULL: no such
 * instance (any more).  An ended instance is there for an hour. */
const char *amz_ec2_instance_state(struct aws *aws, const char *instance);
/* NULL when it is not there, or has no VPC any more (terminated). */
const char *amz_ec2_instance_vpc(struct aws *aws, const char *instance);
/* Private DNS name of an instance, which is the name of its Node; its id where it has none. */
const char *amz_ec2_instance_dns(struct aws *aws, const char *instance);
/* Zone of an instance, "" when nothing tells. */
const char *amz_ec2_instance_zone(struct aws *aws, const char *instance);

struct amz_ec2_subnet {
    const char *vpc, *zone, *zone_id, *zone_type; /* borrowed; "" when nothing tells */
    const char *cidr, *ipv6_cidr;                 /* ipv6_cidr NULL: has none */
    int64_t free_addresses; /* those of load balancers count as free: amz_subnet_nodes() */
};
/* False: there is none. */
bool amz_ec2_subnet(struct aws *aws, const char *subnet, struct amz_ec2_subnet *ret);
/* An internet gateway is attached to the VPC. */
bool amz_ec2_vpc_has_gateway(const struct aws *aws, const char *vpc);
/* VPC of a security group; NULL: no such group. */
const char *amz_ec2_group_vpc(const struct aws *aws, const char *group);
/* A free address of the subnet, never one of the five that AWS reserves; NULL if it is full.
 * Arena. */
char *amz_ec2_pick_address(struct aws *aws, struct arena *a, const char *subnet);
/* The address is in the subnet's range, not kept by AWS, and free. */
bool amz_ec2_address_is_free(struct aws *aws, const char *subnet, const char *address);
/* Counts the free addresses of a subnet up or down, when something other than an instance of
 * amz_ec2_add_instance() comes or goes. */
void amz_ec2_count_addresses(struct aws *aws, const char *subnet, int64_t by);

/* --- making (nothing is checked; tests build their worlds so) --------------------------------- */

struct amz_ec2_new_instance {
    const char *id;      /* NULL: a new one */
    const char *image;   /* "ami-…"; NULL: some */
    const char *type;    /* NULL: "m5.large" */
    const char *subnet;  /* gives VPC and zone */
    const char *address; /* NULL: a free one */
    const char *ipv6;    /* NULL: none */
    const char *const *groups;
    size_t n_groups;
    struct json_object *tags; /* borrowed list of {Key, Value}; NULL: none */
    const char *reservation;  /* NULL: one of its own */
    int index;                /* within the reservation */
};
/* Returns its id (arena), running; NULL: the subnet is not there, or full. */
const char *amz_ec2_add_instance(struct aws *aws, struct arena *a,
                                 const struct amz_ec2_new_instance *spec);
/* Moves an instance to a state; "terminated" takes its interfaces, groups, addresses and load
 * balancers from it.  False: it is not there. */
bool amz_ec2_set_instance_state(struct aws *aws, const char *instance, const char *state);

/* These return the id (arena).  A VPC comes with its default group and its main route table. */
const char *amz_ec2_add_vpc(struct aws *aws, struct arena *a, const char *cidr, bool is_default);
const char *amz_ec2_add_subnet(struct aws *aws, struct arena *a, const char *vpc, const char *zone,
                               const char *cidr, struct json_object *tags);
/* Without ingress, open to the outside; `tags` (borrowed) may be NULL. */
const char *amz_ec2_add_group(struct aws *aws, struct arena *a, const char *vpc, const char *name,
                              const char *description, struct json_object *tags);

#endif
