/* SPDX-License-Identifier: Apache-2.0 */
/* test_classic_listeners.c: listeners of a classic load balancer come, change and go
 * (docs/spec/aws.md 4.6), against an AWS in memory that refuses what AWS refuses. */
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

static struct aws_classic *balancer(struct service_kit *s)
{
    assert_int_equal(s->k->world.n_classics, 1);
    return &s->k->world.classics[0];
}

/* ---- listeners ------------------------------------------------------------------------------- */

static void listeners__changed_port__are_made_anew_back_to_back(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080 81:30081", "");
    s->k->ports = "80:31080 81:30081";
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 CreateLoadBalancerListeners; 2 DeleteLoadBalancerListeners; "
                        "3 CreateLoadBalancerListeners; 1 ConfigureHealthCheck");
    const struct lb_op *create = kit_op(s->k, "CreateLoadBalancerListeners", 1);
    assert_int_equal(create->finally, LB_FINALLY_IN_PLACE);
    assert_int_equal(create->only_if_op, 1);
    assert_int_equal(create->only_if, LB_DONE | LB_TOLERATED);
    assert_non_null(strstr(service_effects(s), "interrupted"));
    service_settle(s, true);
    service_kit_free(s);
}

/* The former balancer, and then its policies. */
static void listeners__made_anew__undo_makes_the_former_ones(void **state)
{
    (void)state;
    struct service_kit *s =
        service_standing("443:30443 81:30081", "ssl-cert=arn:one\nssl-ports=443\n"
                                               "ssl-negotiation-policy=P");
    s->k->ports = "443:31443 81:30081";
    service_plan(s, true);
    const struct lb_undo *u = kit_op(s->k, "DeleteLoadBalancerListeners", 0)->undo;
    assert_non_null(u);
    const struct lb_op back = {.arg = u->arg};
    assert_string_equal(kit_params(s->k, &back, "LoadBalancerName"),
                        "Listeners.member.1.Protocol=SSL Listeners.member.1.LoadBalancerPort=443 "
                        "Listeners.member.1.InstanceProtocol=TCP "
                        "Listeners.member.1.InstancePort=30443 "
                        "Listeners.member.1.SSLCertificateId=arn:one");
    assert_string_equal(u->kind, "listener");
    assert_string_equal(u->until_part, "listeners");
    const struct lb_op policies = {.arg = u->then->arg};
    assert_string_equal(((const struct aws_write *)policies.arg)->action,
                        "SetLoadBalancerPoliciesOfListener");
    assert_string_equal(kit_params(s->k, &policies, "LoadBalancerName"),
                        "LoadBalancerPort=443 PolicyNames.member.1=k8s-SSLNegotiationPolicy-P");
    assert_null(u->then->then);
    service_kit_free(s);
}

/* AWS is asked for both before they are tried once more: a balancer that is not there, and ports
 * that are taken. */
static void listeners__made_anew__asked_for_without_a_change(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080 81:30081", "");
    s->k->ports = "80:31080 81:30081";
    service_plan(s, true);
    const struct lb_op *gone = kit_op(s->k, "DeleteLoadBalancerListeners", 0);
    assert_true(gone->proves_all);
    const struct lb_op delete = {.arg = gone->proof->arg};
    const struct aws_write *w = delete.arg;
    assert_int_equal(gone->proof->verb, LB_DELETE);
    assert_string_equal(w->action, "DeleteLoadBalancerListeners");
    assert_string_equal(w->params[0].name, "LoadBalancerName");
    assert_string_not_equal(w->params[0].value.text, balancer(s)->name);
    assert_int_equal(strlen(w->params[0].value.text), strlen(balancer(s)->name));
    const struct lb_op create = {.arg = gone->proof->then->arg};
    assert_int_equal(gone->proof->then->verb, LB_CREATE);
    assert_string_equal(
        kit_params(s->k, &create, "LoadBalancerName"),
        kit_params(s->k, kit_op(s->k, "CreateLoadBalancerListeners", 1), "LoadBalancerName"));
    assert_null(gone->proof->then->then);
    service_kit_free(s);
}

static void listeners__certificate__is_a_change(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("443:30443", "ssl-cert=arn:one");
    s->k->lines = "ssl-cert=arn:two";
    assert_string_equal(service_edited(s), "1 SetLoadBalancerListenerSSLCertificate");
    assert_string_equal(balancer(s)->listeners[0].certificate, "arn:two");
    service_kit_free(s);
}

/* AWS says whether it takes a certificate only when a listener has it: before the one
 * that works goes. */
static void listeners__tcp_becomes_tls__the_certificate_is_tried_first(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("443:30443", "");
    s->k->lines = "ssl-cert=arn:two";
    s->k->repairs = true;
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 CreateLoadBalancerListeners; 2 DeleteLoadBalancerListeners; "
                        "3 CreateLoadBalancerListeners");
    assert_string_equal(service_params(s, "CreateLoadBalancerListeners", 0, "LoadBalancerName"),
                        "Listeners.member.1.Protocol=ssl Listeners.member.1.LoadBalancerPort=65535 "
                        "Listeners.member.1.InstanceProtocol=tcp "
                        "Listeners.member.1.InstancePort=30443 "
                        "Listeners.member.1.SSLCertificateId=arn:two");
    assert_string_equal(service_params(s, "DeleteLoadBalancerListeners", 0, "LoadBalancerName"),
                        "LoadBalancerPorts.member.1=443 LoadBalancerPorts.member.2=65535");
    service_settle(s, true);
    assert_int_equal(balancer(s)->n_listeners, 1);
    service_kit_free(s);
}

/* AWS takes all listeners of a request or none. */
static void listeners__with_and_without_certificate__come_in_requests_of_their_own(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080", "");
    s->k->ports = "80:30080 443:30443 81:30081 444:30444";
    s->k->lines = "ssl-cert=arn:missing\nssl-ports=443,444";
    service_plan(s, true);
    assert_string_equal(service_params(s, "CreateLoadBalancerListeners", 0, "LoadBalancerName"),
                        "Listeners.member.1.Protocol=ssl Listeners.member.1.LoadBalancerPort=443 "
                        "Listeners.member.1.InstanceProtocol=tcp "
                        "Listeners.member.1.InstancePort=30443 "
                        "Listeners.member.1.SSLCertificateId=arn:missing "
                        "Listeners.member.2.Protocol=ssl Listeners.member.2.LoadBalancerPort=444 "
                        "Listeners.member.2.InstanceProtocol=tcp "
                        "Listeners.member.2.InstancePort=30444 "
                        "Listeners.member.2.SSLCertificateId=arn:missing");
    assert_string_equal(service_params(s, "CreateLoadBalancerListeners", 1, "LoadBalancerName"),
                        "Listeners.member.1.Protocol=tcp Listeners.member.1.LoadBalancerPort=81 "
                        "Listeners.member.1.InstanceProtocol=tcp "
                        "Listeners.member.1.InstancePort=30081");
    service_settle(s, true);
    service_kit_free(s);
}

/* A port that only comes does not wait for one whose listener is replaced. */
static void listeners__a_further_port_beside_a_replaced_one__does_not_hang_on_it(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("443:30443", "");
    s->k->ports = "443:30443 81:30081";
    s->k->lines = "ssl-cert=arn:missing\nssl-ports=443";
    s->k->repairs = true;
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 CreateLoadBalancerListeners; 2 DeleteLoadBalancerListeners; "
                        "1 AuthorizeSecurityGroupIngress; "
                        "3 CreateLoadBalancerListeners; 1 CreateLoadBalancerListeners");
    service_settle(s, true);
    service_kit_free(s);
}

/* AWS took such a listener, and let none of them go: one more at each retry would fill it. */
static void listeners__tried_one_is_still_there__no_further_one_is_tried(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("443:30443", "");
    struct aws_classic *seen = balancer(s);
    struct aws_classic_listener *both = ARENA_ARRAY(s->k->a, struct aws_classic_listener, 2);
    both[0] = both[1] = seen->listeners[0];
    both[1].port = 65535;
    both[1].protocol = "SSL";
    both[1].certificate = "arn:two";
    seen->listeners = both;
    seen->n_listeners = 2;
    s->k->lines = "ssl-cert=arn:two";
    s->k->repairs = true;
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 DeleteLoadBalancerListeners; 2 CreateLoadBalancerListeners; "
                        "3 DeleteLoadBalancerListeners");
    s->k->lines = "ssl-cert=arn:three";
    service_plan(s, true);
    assert_string_equal(service_params(s, "CreateLoadBalancerListeners", 0, "LoadBalancerName"),
                        "Listeners.member.1.Protocol=ssl Listeners.member.1.LoadBalancerPort=65534 "
                        "Listeners.member.1.InstanceProtocol=tcp "
                        "Listeners.member.1.InstancePort=30443 "
                        "Listeners.member.1.SSLCertificateId=arn:three");
    service_kit_free(s);
}

static void listeners__other_ports__come_before_old_ones_go(void **state)
{
    (void)state;
    struct service_kit *s = service_standing("80:30080 81:30081", "");
    s->k->ports = "80:30080 82:30082";
    service_plan(s, true);
    assert_string_equal(service_waves(s),
                        "1 AuthorizeSecurityGroupIngress, CreateLoadBalancerListeners; "
                        "2 DeleteLoadBalancerListeners; "
                        "3 RevokeSecurityGroupIngress");
    assert_string_equal(service_params(s, "DeleteLoadBalancerListeners", 0, "LoadBalancerName"),
                        "LoadBalancerPorts.member.1=81");
    assert_int_equal(kit_op(s->k, "CreateLoadBalancerListeners", 0)->finally, LB_FINALLY_NO);
    assert_string_equal(service_effects(s), "The DNS name stays.");
    service_settle(s, true);
    service_kit_free(s);
}

UNIT_MAIN(classic_listeners)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listeners__changed_port__are_made_anew_back_to_back),
        cmocka_unit_test(listeners__made_anew__undo_makes_the_former_ones),
        cmocka_unit_test(listeners__made_anew__asked_for_without_a_change),
        cmocka_unit_test(listeners__certificate__is_a_change),
        cmocka_unit_test(listeners__tcp_becomes_tls__the_certificate_is_tried_first),
        cmocka_unit_test(listeners__with_and_without_certificate__come_in_requests_of_their_own),
        cmocka_unit_test(listeners__a_further_port_beside_a_replaced_one__does_not_hang_on_it),
        cmocka_unit_test(listeners__tried_one_is_still_there__no_further_one_is_tried),
        cmocka_unit_test(listeners__other_ports__come_before_old_ones_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
