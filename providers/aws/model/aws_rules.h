/* SPDX-License-Identifier: Apache-2.0 */
/* aws_rules.h: the small decisions of docs/spec/aws.md: names, tags, subnets, targets, permissions,
 * node groups.  Pure.
 *
 * Each answers one question that upstream's code answers, too, so that trimtab-eval can ask both
 * (eval functions aws.*).  Inputs are borrowed, outputs live in `a`.  ERR_INVALID: the Service or
 * its surroundings are wrong, in words for its owner. */
#ifndef TRIMTAB_AWS_RULES_H
#define TRIMTAB_AWS_RULES_H

#include "common/base/strset.h"
#include "providers/aws/model/aws_desired.h"

/* ---- names and tags: 4.5, 5.7, 5.9 (aws_names.c, aws_tags_rules.c) */
#define AWS_CLUSTER_TAG_PREFIX "kubernetes.io/cluster/"
#define AWS_LEGACY_CLUSTER_TAG "KubernetesCluster"
#define AWS_SERVICE_TAG        "kubernetes.io/service-name"
#define AWS_PROXY_POLICY       "k8s-proxyprotocol-enabled"
/* Descriptions of security groups that are made: followed by " LB (NS/NAME)", and the whole. */
#define AWS_CLASSIC_GROUP_TEXT "Security group for Kubernetes ELB"
#define AWS_NLB_GROUP_TEXT     "[k8s] Managed SecurityGroup for LoadBalancer"
struct aws_group_name_input {
    const char *cluster_id, *namespace_, *name;
    int32_t port, node_port;
    const char *traffic_protocol, *health_protocol;
    int32_t interval;
};
const char *aws_target_group_name(struct arena *a, const struct aws_group_name_input *in);
/* "k8s-NS8-SVC8-": what names of a Service's target groups begin with. */
const char *aws_target_group_prefix(struct arena *a, const char *namespace_, const char *name);
const char *aws_nlb_group_name(struct arena *a, const char *cluster_name,
                               const struct tt_service *s);
/* Pairs of a kv annotation (4.5): later keys win; sorted. */
struct aws_tags aws_pairs_read(struct arena *a, const char *text);
const char *aws_tag(const struct aws_tags *tags, const char *key); /* NULL absent */
struct aws_tags aws_balancer_tags(struct arena *a, const struct aws_naming *n,
                                  const struct aws_service *s);
struct aws_tags aws_group_tags(struct arena *a, const struct aws_naming *n,
                               const struct aws_service *s);
bool aws_tags_are_cluster(const struct aws_naming *n,
                          const struct aws_tags *tags); /* hasClusterTag */
bool aws_tags_are_owned(const struct aws_naming *n,
                        const struct aws_tags *tags); /* hasClusterTagOwned */
/* Was the security group made for the Service?  It bears its name, and is owned by the cluster; or
 * the tags of clusters were taken off, and it has the description that it was made with, which
 * cannot be changed. */
bool aws_group_is_own(const struct aws_naming *n, const struct aws_service *s,
                      const struct aws_group *g);
bool aws_tags_are_foreign(const struct aws_naming *n,
                          const struct aws_tags *tags); /* another cluster's, not ours */
/* Tags to add to a group that was found by name (4.10): none, some, or ERR_INVALID "belongs to
 * another cluster". */
int aws_tags_repair(struct arena *a, const struct aws_naming *n, const struct aws_tags *tags,
                    struct aws_tags *ret, struct err *err);

/* ---- places: 4.9 (aws_subnet_rules.c) */
struct aws_places {
    const struct aws_subnet *subnets; /* of the VPC */
    size_t n_subnets;
    const struct aws_route_table *tables;
    size_t n_tables;
    const struct aws_zone *zones;
    size_t n_zones;
    const char *own_subnet; /* SubnetID, or "" */
};
/* NULL if there is none of this id. */
const struct aws_subnet *aws_places_subnet(const struct aws_places *places, const char *id);
/* The zones of these subnets; n 0: not known, as one of them is not in the list. */
struct str_set aws_zones_of(struct arena *a, const struct aws_places *places,
                            const struct aws_texts *subnets);
/* Does a load balancer in these zones send to an instance in that one?  True where either is not
 * known. */
bool aws_zones_have(const struct str_set *zones, const char *zone);
/* Discovery, or the annotation's ids and names.  *ret_why_not (may be NULL): sentences about
 * subnets left out, for the event. */
int aws_subnets_choose(struct arena *a, const struct aws_naming *n, const struct aws_places *places,
                       const struct aws_service *s, struct aws_texts *ret,
                       struct aws_texts *ret_why_not, struct err *err);

/* ---- nodes: 6.1, 6.2, 6.3, 4.11 item 5 (aws_node_rules.c) */
/* ERR_INVALID: in words, why the node is left out. */
int aws_instance_id(struct arena *a, const char *provider_id, const char **ret, struct err *err);
/* Ids of the nodes that may be targets by provider id and target-node-labels, in node order,
 * duplicates stay.  Nodes without a valid id are listed in *ret_left_out (may be NULL),
 * one sentence each. */
struct aws_texts aws_node_instances(struct arena *a, const struct tt_node *const *nodes, size_t n,
                                    const struct aws_tags *labels, struct aws_texts *ret_left_out);
/* Or its state is not known. */
bool aws_instance_runs(const struct aws_instance *instance);
/* Has it all labels of target-node-labels? */
bool aws_node_has_labels(const struct tt_node *node, const struct aws_tags *labels);
/* A digest of its labels, never 0. */
uint64_t aws_node_labels_digest(const struct tt_node *node);
/* A digest of these labels and of which eligible nodes have them, in any order; never 0. */
uint64_t aws_nodes_digest(const struct aws_tags *labels, const struct tt_node *const *nodes,
                          size_t n);
/* The group of an instance whose rules are ours to write; *ret NULL: it has
 * none.  ERR_INVALID: several. */
int aws_node_group(struct arena *a, const struct aws_instance *instance,
                   const struct str_set *tagged, const char **ret, struct err *err);

/* ---- targets: 5.6 (aws_target_rules.c) */
struct aws_target_diff {
    struct aws_targets deregister; /* ascending by "id:port" */
    struct aws_targets register_;
};
/* `instances`: ids, may repeat. */
/* A balancer that is not the Service's and forwards to the group; NULL: none does.  `nlb` is the
 * ARN of the Service's, NULL if it has none.  One of its name that the group still names is not
 * another program's: it has been deleted (10.4 row 5). */
const char *aws_target_group_other_user(const struct aws_target_group *g, const char *nlb,
                                        const char *lb_name);
struct aws_target_diff aws_targets_diff(struct arena *a, struct aws_texts instances, int32_t port,
                                        const struct aws_targets *actual);
#define AWS_TARGETS_PER_CALL   100
#define AWS_INSTANCES_PER_CALL 500

/* ---- listeners of classic balancers: 4.4, 4.6 item 3 (aws_listener_rules.c) */
struct aws_listener_diff {
    const struct aws_classic_listener *create;
    size_t n_create;
    const int32_t *remove; /* balancer ports, order of `actual` */
    size_t n_remove;
    /* as they should be; only the certificate differs.  aws_listeners_in_place() */
    const struct aws_classic_listener *certify;
    size_t n_certify;
};
struct aws_listener_diff aws_listeners_diff(struct arena *a,
                                            const struct aws_classic_listener *desired,
                                            size_t n_desired,
                                            const struct aws_classic_listener *actual,
                                            size_t n_actual);
/* Listeners of which only the certificate differs are neither removed nor created: AWS
 * changes it in place. */
struct aws_listener_diff aws_listeners_in_place(struct arena *a,
                                                const struct aws_listener_diff *diff,
                                                const struct aws_classic_listener *actual,
                                                size_t n_actual);

/* ---- attributes: 5.8, 5.10 (aws_attribute_rules.c) */
/* Attributes to modify: wanted ones that differ; 5.8's rule for bucket and prefix. */
struct aws_tags aws_nlb_attributes_diff(struct arena *a, const struct aws_tags *wanted,
                                        const struct aws_tags *actual);
/* Annotated ones that the group answers with another value; a key that it does not answer is sent
 * when `send_unknown`. */
struct aws_tags aws_group_attributes_diff(struct arena *a, const struct aws_tags *wanted,
                                          const struct aws_tags *actual, bool send_unknown);

/* ---- permissions: 4.15 (aws_group_rules.c) */
/* Order: protocol, from, to, peer, source, description. */
int aws_rule_compare(const void *x, const void *y);
struct aws_rules aws_rules_sorted(struct arena *a, const struct aws_rule *items, size_t n);
struct aws_rule_diff {
    struct aws_rules authorize;
    struct aws_rules revoke; /* with the descriptions that they have */
};
/* Is a rule of the list the same?  By binary search: the list is sorted. */
bool aws_rules_have(const struct aws_rules *rules, const struct aws_rule *rule);
/* Those of `from` to which no rule of `less` is the same. */
struct aws_rules aws_rules_minus(struct arena *a, const struct aws_rules *from,
                                 const struct aws_rules *less);
/* Makes the group exactly `desired`. */
struct aws_rule_diff aws_rules_diff(struct arena *a, const struct aws_rules *desired,
                                    const struct aws_rules *actual);
/* Rules of a managed group: one per Service port and range, and ICMP 3-4 (4.10, 5.9). */
struct aws_rules aws_managed_rules(struct arena *a, const struct aws_service *s);
/* "tcp 80 from 10.0.0.0/8", "all traffic from sg-1": in plans and events. */
const char *aws_rule_text(struct arena *a, const struct aws_rule *rule);

/* ---- node groups of NLBs: 5.11 (aws_node_group_rules.c) */
#define AWS_RULE_CLIENT "kubernetes.io/rule/nlb/client="
#define AWS_RULE_HEALTH "kubernetes.io/rule/nlb/health="
#define AWS_RULE_MTU    "kubernetes.io/rule/nlb/mtu"
struct aws_nlb_node_want {
    const char *lb_name;
    struct aws_texts subnet_cidrs; /* of the balancer's subnets */
    struct aws_texts client_cidrs;
    const struct aws_nlb_port *ports; /* n 0: everything of this balancer goes */
    size_t n_ports;
    bool mixed; /* MixedProtocols: each port by its own protocol; else one UDP port makes all UDP */
    const char *health_port; /* "traffic-port" or a number */
    struct str_set left;     /* descriptions of rules of balancers that are no Service's any more */
    /* Not NULL: exactly these traffic rules are wanted, whatever ports and ranges say. */
    const struct aws_rules *stand;
    /* The group was only taken over, and no repairs are asked for: where upstream would change no
     * traffic rule of it, rules for probes that have become superfluous and rules of balancers that
     * are gone stay (13 rows 1, 24).  ICMP rules are put right all the same. */
    bool keeps_superfluous;
};
/* Changes of one node group: `wanted` when instances of the Service are in it.  Descriptions do not
 * tell rules apart; rules with other descriptions, but those in `left`, are never revoked.
 * `needed`: rules that other balancers of the cluster need, which are not revoked even under this
 * balancer's description. */
struct aws_rule_diff aws_nlb_node_rules_diff(struct arena *a, const struct aws_nlb_node_want *w,
                                             bool wanted, const struct aws_rules *actual,
                                             const struct aws_rules *needed);
/* Of the rules that the balancer wants in a node group: those that stand there with a description
 * in `left` of another balancer.  With the descriptions that they should have. */
struct aws_rules aws_nlb_node_rules_of_others(struct arena *a, const struct aws_nlb_node_want *w,
                                              const struct aws_rules *actual);

#endif
