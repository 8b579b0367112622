/* SPDX-License-Identifier: Apache-2.0 */
/* test_refused.c: values of annotations that AWS refuses are refused before the first call, of a new Service and of one that
 * works. */
#include "tests/support/unit.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define LOGS     "access-log-enabled=true\n"
#define ELSEWISE "<a value that AWS takes>"

/* A pair of rows for each limit: the last value that AWS takes, and the first one that it does not. */
struct row {
    const char *kind;  /* "nlb", "" classic, "*" both */
    const char *lines; /* of the edit */
    const char *says;  /* a part of the message; ELSEWISE: it is planned */
};

static const struct row rows[] = {
    {"*", "healthcheck-port=65535", ELSEWISE},
    {"*", "healthcheck-port=65536", "healthcheck-port: \"65536\": want a port from 1 to 65535"},
    {"*", "healthcheck-port=70000", "healthcheck-port: \"70000\": want a port from 1 to 65535"},
    {"*", "healthcheck-port=0", "healthcheck-port: \"0\": want a port from 1 to 65535"},
    {"nlb", "healthcheck-port=+80", "healthcheck-port: \"+80\": want a port from 1 to 65535"},
    {"*", "healthcheck-port=70000\nhealthcheck-protocol=HTTP",
     "healthcheck-port: \"70000\": want a port from 1 to 65535"},
    {"*", "healthcheck-protocol=HTTP\nhealthcheck-path=/ready", ELSEWISE},
    {"*", "healthcheck-protocol=HTTP\nhealthcheck-path=ready",
     "healthcheck-path: \"ready\": want a path of at most 1024 characters that begins with /"},
    {"*", "healthcheck-protocol=HTTPS\nhealthcheck-path=9",
     "healthcheck-path: \"9\": want a path of at most 1024 characters that begins with /"},
    {"*", "healthcheck-path=ready", ELSEWISE}, /* TCP has no path */
    {"", "healthcheck-protocol=FTP", "healthcheck-protocol: \"FTP\": want HTTP, HTTPS, TCP or SSL"},
    {"", "healthcheck-protocol=ftp", "healthcheck-protocol: \"FTP\": want HTTP, HTTPS, TCP or SSL"},
    {"*", "healthcheck-healthy-threshold=10", ELSEWISE},
    {"*", "healthcheck-healthy-threshold=11",
     "healthcheck-healthy-threshold: \"11\": want 2 to 10 checks"},
    {"*", "healthcheck-unhealthy-threshold=10", ELSEWISE},
    {"*", "healthcheck-unhealthy-threshold=11",
     "healthcheck-unhealthy-threshold: \"11\": want 2 to 10 checks"},
    {"nlb", "healthcheck-healthy-threshold=1",
     "healthcheck-healthy-threshold: \"1\": want 2 to 10 checks"},
    {"*", "healthcheck-interval=300", ELSEWISE},
    {"*", "healthcheck-interval=301", "healthcheck-interval: \"301\": want 5 to 300 seconds"},
    {"nlb", "healthcheck-interval=4", "healthcheck-interval: \"4\": want 5 to 300 seconds"},
    {"nlb", "healthcheck-interval=300\nhealthcheck-timeout=120", ELSEWISE},
    {"nlb", "healthcheck-interval=300\nhealthcheck-timeout=121",
     "healthcheck-timeout: \"121\": want 2 to 120 seconds"},
    {"nlb", "healthcheck-timeout=1", "healthcheck-timeout: \"1\": want 2 to 120 seconds"},
    {"nlb", "healthcheck-timeout=30", ELSEWISE},
    {"nlb", "healthcheck-timeout=31",
     "healthcheck-timeout: \"31\": want at most the time between checks (healthcheck-interval), "
     "which is 30 seconds"},
    {"", "healthcheck-timeout=9", ELSEWISE},
    {"", "healthcheck-timeout=10",
     "healthcheck-timeout: \"10\": want less than the time between checks (healthcheck-interval), "
     "which is 10 seconds"},
    {"", "healthcheck-interval=6", ELSEWISE},
    {"", "healthcheck-interval=5",
     "healthcheck-interval: \"5\": want more than the time for an answer (healthcheck-timeout), "
     "which is 5 seconds"},
    {"*", LOGS "access-log-s3-bucket-name=logs", ELSEWISE},
    {"*", LOGS, "access-log-enabled: \"true\": want the name of the bucket beside it"},
    {"*", LOGS "access-log-s3-bucket-name=",
     "access-log-enabled: \"true\": want the name of the bucket beside it"},
    {"", LOGS "access-log-s3-bucket-name=logs\naccess-log-emit-interval=5", ELSEWISE},
    {"", LOGS "access-log-s3-bucket-name=logs\naccess-log-emit-interval=7",
     "access-log-emit-interval: \"7\": want 5 or 60 minutes"},
    {"", "connection-draining-enabled=true\nconnection-draining-timeout=3600", ELSEWISE},
    {"", "connection-draining-enabled=true\nconnection-draining-timeout=3601",
     "connection-draining-timeout: \"3601\": want 1 to 3600 seconds"},
    {"", "connection-idle-timeout=4000", ELSEWISE},
    {"", "connection-idle-timeout=4001", "connection-idle-timeout: \"4001\": want 1 to 4000"},
    {"", "connection-idle-timeout=0", "connection-idle-timeout: \"0\": want 1 to 4000 seconds"},
};

static void try_kind(const struct row *row, const char *kind, bool stands)
{
    struct err err = ERR_INIT;
    struct service_kit *s = service_kit_new();
    s->k->kind = kind;
    if (stands) {
        service_settle(s, true);
    }
    s->k->lines = row->lines;
    s->k->repairs = true;
    bool is_planned = service_try(s, true, &err) == ERR_OK;
    bool is_good = str_eq(row->says, ELSEWISE)
                       ? is_planned
                       : err.code == ERR_INVALID && strstr(err.message, row->says) != NULL &&
                             strstr(err.message, "service.beta.kubernetes.io/") != NULL;
    if (!is_good || (!is_planned && s->k->plan.n_ops > 0)) {
        fail_msg("%s \"%s\" %s: want \"%s\", got \"%s\", %zu operations", kind, row->lines,
                 stands ? "edited" : "new", row->says, err.message, s->k->plan.n_ops);
    }
    service_kit_free(s);
}

static void values__that_aws_refuses__are_refused_before_the_first_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *kind = str_eq(rows[i].kind, "*") ? "nlb" : rows[i].kind;
        for (int stands = 0; stands < 2; stands++) {
            try_kind(&rows[i], kind, stands != 0);
            if (str_eq(rows[i].kind, "*")) {
                try_kind(&rows[i], "", stands != 0);
            }
        }
    }
}

static const char *text_of(struct arena *a, const char *head, size_t n)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, head);
    for (size_t i = 0; i < n; i++) {
        str_append(&b, "x");
    }
    return str_buf_to_arena(&b, a);
}

static void long_values__of_the_limit_and_beyond__are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        size_t n; /* the most that AWS takes */
        const char *says;
    } limits[] = {
        {"healthcheck-protocol=HTTP\nhealthcheck-path=/", 1023, "want a path of at most 1024"},
        {"additional-resource-tags=a=", 256, "want values of at most 256"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        const struct row fits = {"", text_of(a, limits[i].head, limits[i].n), ELSEWISE};
        const struct row beyond = {"", text_of(a, limits[i].head, limits[i].n + 1), limits[i].says};
        try_kind(&fits, "", true);
        try_kind(&beyond, "", true);
        try_kind(&fits, "nlb", false);
        try_kind(&beyond, "nlb", false);
    }
    arena_free(a);
}

static void tags__values_and_number__are_those_that_aws_takes(void **state)
{
    (void)state;
    static const struct row tags[] = {
        {"", "additional-resource-tags=team=a/b c@d,größe=x", ELSEWISE},
        {"", "additional-resource-tags=a=what?",
         "additional-resource-tags: \"what?\": want values"},
    };
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        try_kind(&tags[i], "", false);
        try_kind(&tags[i], "", true);
        try_kind(&tags[i], "nlb", false);
    }
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "additional-resource-tags=t0");
    for (int i = 1; i < 49; i++) {
        str_appendf(&b, ",t%d=x", i);
    }
    struct arena *a = arena_new();
    const struct row many = {"", str_buf_to_arena(&b, a),
                             "additional-resource-tags: 51 tags with those of the controller: "
                             "want at most 50"};
    try_kind(&many, "nlb", false);
    arena_free(a);
}

/* A classic load balancer takes fewer than its groups, and than an NLB. */
static void tags__of_a_classic_balancer__are_ten_at_most(void **state)
{
    (void)state;
    static const struct row few = {"", "additional-resource-tags=a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8",
                                   ELSEWISE};
    static const struct row many = {
        "", "additional-resource-tags=a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9",
        "additional-resource-tags: 11 tags with those of the controller: want at most 10"};
    static const struct row nlb = {
        "", "additional-resource-tags=a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9", ELSEWISE};
    try_kind(&few, "", false);
    try_kind(&many, "", false);
    try_kind(&nlb, "nlb", false);
}

/* Upstream asks AWS for it, which refuses a balancer without listeners; before, it makes a security group. */
static void classic__without_any_node_port__is_refused_before_the_first_write(void **state)
{
    (void)state;
    struct service_kit *s = service_kit_new();
    struct err err = ERR_INIT;
    s->k->ports = "80:0";
    assert_int_equal(service_try(s, true, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "no port has a node port"));
    assert_int_equal(lb_plan_changes(&s->k->plan), 0);
    s->k->ports = "80:0 443:30443"; /* the first one is passed over, as upstream does */
    service_plan(s, true);
    assert_non_null(
        strstr(kit_params(s->k, kit_op(s->k, "ConfigureHealthCheck", 0), "-"), "TCP:30443"));
    service_kit_free(s);
}

static void addresses__of_the_other_scheme_or_none__are_refused(void **state)
{
    (void)state;
    static const struct row addresses[] = {
        {"nlb", "eip-allocations=eipalloc-1,eipalloc-2", ELSEWISE},
        {"nlb", "internal=true\neip-allocations=eipalloc-1,eipalloc-2",
         "want no such annotation on an internal NLB"},
        {"nlb", "internal=true\nprivate-ipv4-addresses=10.0.0.5,10.0.1.5", ELSEWISE},
        {"nlb", "internal=true\nprivate-ipv4-addresses=10.0.0.5,10.0.1",
         "private-ipv4-addresses: \"10.0.1\": want IPv4 addresses"},
        {"nlb", "private-ipv4-addresses=10.0.0.5,10.0.1.5",
         "want no such annotation on an internet-facing NLB"},
    };
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        try_kind(&addresses[i], "nlb", false);
    }
}

static void values__that_are_not_sent__stand_in_the_way_of_nothing(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct service_kit *s = service_kit_new();
    s->k->kind = "nlb";
    service_settle(s, true);
    s->k->lines = "additional-resource-tags=a=what?"; /* NLBTags is off */
    s->k->repairs = true;
    assert_int_equal(service_try(s, true, &err), ERR_OK);
    assert_string_equal(kit_waves(s->k), "");
    s->k->world.target_groups[0].group.health.interval = 400; /* AWS takes more than we know */
    s->k->lines = "healthcheck-interval=400\ncross-zone-load-balancing-enabled=true";
    assert_int_equal(service_try(s, true, &err), ERR_OK);
    assert_string_equal(kit_waves(s->k), "1 ModifyLoadBalancerAttributes");
    service_kit_free(s);
}

static void cloud_config__with_a_value_that_aws_refuses__is_named(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct service_kit *s = service_kit_new();
    s->k->naming.probe_mode = AWS_PROBE_SHARED;
    s->k->naming.probe_path = "healthz";
    assert_int_equal(service_try(s, true, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "ClusterServiceSharedLoadBalancerHealthProbePath of the "
                                        "cloud-config: \"healthz\": want a path"));
    service_kit_free(s);
}

UNIT_MAIN(refused)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values__that_aws_refuses__are_refused_before_the_first_call),
        cmocka_unit_test(long_values__of_the_limit_and_beyond__are_told_apart),
        cmocka_unit_test(tags__values_and_number__are_those_that_aws_takes),
        cmocka_unit_test(tags__of_a_classic_balancer__are_ten_at_most),
        cmocka_unit_test(classic__without_any_node_port__is_refused_before_the_first_write),
        cmocka_unit_test(addresses__of_the_other_scheme_or_none__are_refused),
        cmocka_unit_test(values__that_are_not_sent__stand_in_the_way_of_nothing),
        cmocka_unit_test(cloud_config__with_a_value_that_aws_refuses__is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
