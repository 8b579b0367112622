/* SPDX-License-Identifier: Apache-2.0 */
/* aws_classic.c: the classic load balancers of a world.
 *
 * Their nodes end every connection and open one of their own, by TCP and IPv4, to the instance
 * port.  They bear the balancer's groups, so an instance's group lets them in by reference or by
 * their subnets.  The zones are those of the balancer's subnets; instances in other zones get
 * nothing, also across zones.  Source: see aws.h. */
#include "sim/reach/aws.h"

#include "common/base/str.h"
#include "sim/reach/checks.h"

static void add_listener(struct reach_aws *w, const struct reach_aws_balancer *lb,
                         struct json_object *document, struct json_object *listener)
{
    const char *name = str_nonnull(json_str(document, "LoadBalancerName"));
    struct json_object *attributes = json_member(json_member(w->elb, "Attributes"), name);
    struct json_object *instances = json_member(document, "Instances");
    int64_t port = json_int(listener, "LoadBalancerPort", 0);
    struct reach_aws_hop hop = {
        .world = w,
        .lb = lb,
        .port = reach_aws_listen(w, lb, REACH_AWS_TCP, port, NULL),
        .protocol = REACH_AWS_TCP,
        .listener_port = port,
        .crosses = json_bool(json_member(attributes, "CrossZoneLoadBalancing"), "Enabled", false),
    };
    for (size_t i = 0; i < json_len(instances); i++) {
        struct json_object *one = json_object_array_get_idx(instances, i);
        const struct reach_aws_host *host =
            map_get(w->instances, str_nonnull(json_str(one, "InstanceId")));
        if (host != NULL) {
            reach_aws_hop_target(&hop, host, json_int(listener, "InstancePort", 0),
                                 reach_elb_check(w->a, document), true);
        }
    }
}

static void add_classic(struct reach_aws *w, struct json_object *document)
{
    struct json_object *subnets = json_member(document, "Subnets");
    struct json_object *list = json_member(document, "ListenerDescriptions");
    struct reach_aws_balancer *lb = ARENA_NEW(w->a, struct reach_aws_balancer);
    if (!reach_aws_balancer_init(w, document, json_len(subnets), lb)) {
        return;
    }
    lb->ipv6 = false;
    lb->groups = reach_aws_set_of(w->groups, json_member(document, "SecurityGroups"));
    for (size_t i = 0; i < json_len(subnets); i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(subnets, i));
        reach_aws_balancer_place(w, lb, id, NULL, NULL);
    }
    if (json_len(list) == 0) {
        (void)reach_aws_listen(w, lb, 0, 0, REACH_NO_LISTENER);
    }
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        add_listener(w, lb, document, json_member(one, "Listener"));
    }
}

void reach_aws_classics(struct reach_aws *w)
{
    struct json_object *list = json_member(w->elb, "LoadBalancerDescriptions");
    for (size_t i = 0; i < json_len(list); i++) {
        add_classic(w, json_object_array_get_idx(list, i));
    }
}
