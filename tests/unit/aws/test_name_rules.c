/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_rules.c: names of AWS' things: legal ones pass, impossible ones are refused with field
 * and pattern, and the cloud-config confines which security groups and buckets a
 * Service may name. */
#include "tests/unit/gce/pure.h"

#include "providers/aws/model/aws_name_rules.h"
#include "tests/support/name_words.h"
#include "tests/support/unit.h"

#define PREFIX "service.beta.kubernetes.io/aws-load-balancer-"
#define HEX    DIGITS "abcdef"
#define ALNUM  LOWER UPPER DIGITS

static int check(struct arena *a, const struct aws_config *c, const char *name, const char *value,
                 bool stands, struct err *err)
{
    static const struct tt_ingress address = {.hostname = "lb.example"};
    /* with which every field counts */
    const struct tt_kv kv[] = {{PREFIX "access-log-enabled", "true"}, /* sorted */
                               {arena_printf(a, PREFIX "%s", name), value}};
    const struct tt_service s = {.annotations = kv,
                                 .n_annotations = 2,
                                 .ingress = stands ? &address : NULL,
                                 .n_ingress = stands};
    err_clear(err);
    return aws_names_check(a, c, &s, NULL, err);
}

static void names__legal__pass(void **state)
{
    (void)state;
    static const struct {
        const char *name, *form;
        struct alphabet words;
    } kinds[] = {
        {"security-groups", "sg-12345678,sg-%s", {HEX, HEX, HEX, 8, 17}},
        {"extra-security-groups", "sg-%s", {HEX, HEX, HEX, 8, 17}},
        {"eip-allocations", "eipalloc-%s", {HEX, HEX, HEX, 8, 17}},
        {"subnets", "subnet-%s", {HEX, HEX, HEX, 8, 17}},
        {"subnets", "%s", {ALNUM, ALNUM " _.:/=+@-", ALNUM, 1, 200}},
        {"ssl-cert",
         "arn:aws:acm:eu-west-1:123456789012:certificate/%s",
         {HEX, HEX "-", HEX, 36, 36}},
        {"ssl-cert",
         "arn:aws-cn:iam::123456789012:server-certificate/a/b/%s",
         {ALNUM, ALNUM "_+=,.@-", ALNUM, 1, 128}},
        {"ssl-negotiation-policy", "ELBSecurityPolicy-%s", {ALNUM, ALNUM "-", ALNUM, 1, 60}},
        {"access-log-s3-bucket-name", "%s", {LOWER DIGITS, LOWER DIGITS ".-", LOWER DIGITS, 3, 63}},
        {"access-log-s3-bucket-prefix", "logs/%s", {ALNUM, ALNUM "!-_.*'()", ALNUM, 1, 200}},
        {"target-node-labels", "example.com/%s=v", {ALNUM, ALNUM "-_.", ALNUM, 1, 63}},
        {"additional-resource-tags", "a=b,%s=c", {ALNUM, ALNUM " _.:/+@-", ALNUM, 1, 128}},
    };
    struct rng *r = rng_seeded_new(20);
    const struct aws_config c = {.elb_security_group = ""};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct arena *a = arena_new();
        char word[256];
        for (int i = 0; i < WORDS_PER_KIND; i++) {
            struct err err = ERR_INIT;
            arena_reset(a);
            const char *name = legal_name(r, &kinds[k].words, word);
            const char *value = str_replace(a, kinds[k].form, "%s", name);
            if (check(a, &c, kinds[k].name, value, false, &err) != ERR_OK) {
                fail_msg("%s", err.message);
            }
        }
        arena_free(a);
    }
    rng_free(r);
}

static void names__recorded_worlds__pass_as_new(void **state)
{
    struct arena *a = *state;
    static const char *const worlds[] = {"aws/world.json", "fault/foreign-aws.json"};
    const struct aws_config c = {.elb_security_group = ""};
    size_t seen = 0;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        const struct tt_service **all = NULL;
        size_t n = world_services(a, worlds[i], &all);
        for (size_t k = 0; k < n; k++, seen++) {
            struct err err = ERR_INIT;
            if (aws_names_check(a, &c, all[k], NULL, &err) != ERR_OK) {
                fail_msg("%s: %s: %s", worlds[i], all[k]->name, err.message);
            }
        }
    }
    assert_true(seen >= 5);
}

static void names__impossible__refused_when_new(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"security-groups", "rg/../../1111"},
        {"security-groups", "sg-1,x"},
        {"extra-security-groups", "sg-1?y=2"},
        {"eip-allocations", "eip-1"},
        {"ssl-cert", "certificate/1"},
        {"ssl-cert", "arn:aws:acm:r:1:certificate/a?b"},
        {"ssl-negotiation-policy", "../x"},
        {"ssl-negotiation-policy", "TLS13-1-2"},
        {"ssl-negotiation-policy", "ELBSecurityPolicy-"},
        {"ssl-negotiation-policy", "ELBSecurityPolicy-2016_08"},
        {"access-log-s3-bucket-name", "bucket/../other"},
        {"access-log-s3-bucket-name", "b?"},
        {"access-log-s3-bucket-prefix", "a/../../b"},
        {"target-node-labels", "a b=c"},
        {"additional-resource-tags", "a?b=c"},
        {"additional-resource-tags", "a=b,aws:team=c"},
        {"additional-resource-tags", "AWS:team=c"},
        /* sent as they are written: AWS refused them after the load balancer was made */
        {"ssl-cert", "  "},
        {"ssl-cert", "arn:aws:acm:r:1:certificate/a "},
        {"ssl-negotiation-policy", " "},
        {"access-log-s3-bucket-name", " "},
        {"additional-resource-tags", "%s"}, /* a tag without a value */
        {"subnets", "subnet-1\n"
                    "x"},
    };
    const struct aws_config c = {.elb_security_group = ""};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        print_message("# row %zu: %s\n", i, rows[i].name);
        assert_int_equal(check(a, &c, rows[i].name, rows[i].value, false, &err), ERR_INVALID);
        assert_non_null(strstr(err.message, rows[i].name));
        assert_non_null(strstr(err.message, ": want "));
        bool control = str_eq(rows[i].name, "subnets");
        assert_int_equal(check(a, &c, rows[i].name, rows[i].value, true, &err),
                         control ? ERR_INVALID : ERR_OK);
    }
}

/* Without access logs it does not matter where they would go. */
static void names__fields_that_nobody_reads__refuse_nothing(void **state)
{
    const struct tt_kv kv = {PREFIX "access-log-s3-bucket-name", "bucket/../other"};
    const struct tt_service s = {.annotations = &kv, .n_annotations = 1};
    const struct aws_config c = {.elb_security_group = ""};
    struct err err = ERR_INIT;
    assert_int_equal(aws_names_check(*state, &c, &s, NULL, &err), ERR_OK);
}

static void names__allowed_lists__confine(void **state)
{
    struct arena *a = *state;
    const char *groups[] = {"sg-a", "sg-b"};
    const char *buckets[] = {"logs"};
    const struct aws_config open = {.elb_security_group = ""};
    const struct aws_config confined = {
        .elb_security_group = "sg-cluster",
        .options = {.allowed_groups = {groups, 2}, .allowed_buckets = {buckets, 1}}};
    static const struct {
        const char *name, *value, *key; /* NULL: allowed */
    } rows[] = {
        {"security-groups", "sg-a,sg-b", NULL},
        {"security-groups", "sg-cluster", NULL},
        {"security-groups", "sg-a,sg-theirs", "AllowedSecurityGroups"},
        {"extra-security-groups", "sg-theirs", "AllowedSecurityGroups"},
        {"access-log-s3-bucket-name", "logs", NULL},
        {"access-log-s3-bucket-name", "theirs", "AllowedBuckets"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int stands = 0; stands < 2; stands++) {
            struct err err = ERR_INIT;
            print_message("# %s\n", rows[i].value);
            assert_int_equal(check(a, &open, rows[i].name, rows[i].value, stands, &err), ERR_OK);
            assert_int_equal(check(a, &confined, rows[i].name, rows[i].value, stands, &err),
                             rows[i].key == NULL ? ERR_OK : ERR_INVALID);
            assert_true(rows[i].key == NULL || strstr(err.message, rows[i].key) != NULL);
        }
    }
}

/* AWS documents it for network load balancers alone. */
static void names__prefix_that_is_of_aws__refused_on_an_nlb(void **state)
{
    const struct tt_kv kv[] = {{PREFIX "access-log-enabled", "true"}, /* sorted */
                               {PREFIX "access-log-s3-bucket-prefix", "web/AWSLogs"},
                               {PREFIX "type", "nlb"}};
    struct tt_service s = {.annotations = kv, .n_annotations = 3};
    const struct aws_config c = {.elb_security_group = ""};
    struct err err = ERR_INIT;
    assert_int_equal(aws_names_check(*state, &c, &s, NULL, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "no AWSLogs"));
    s.n_annotations = 2;
    err_clear(&err);
    assert_int_equal(aws_names_check(*state, &c, &s, NULL, &err), ERR_OK);
}

UNIT_MAIN(name_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__legal__pass),
        PURE_TEST(names__recorded_worlds__pass_as_new),
        PURE_TEST(names__impossible__refused_when_new),
        PURE_TEST(names__fields_that_nobody_reads__refuse_nothing),
        PURE_TEST(names__allowed_lists__confine),
        PURE_TEST(names__prefix_that_is_of_aws__refused_on_an_nlb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
