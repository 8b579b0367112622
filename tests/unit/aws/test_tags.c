/* SPDX-License-Identifier: Apache-2.0 */
/* test_tags.c: tags: pairs of annotations, whose a thing is, the own cluster's id; rows 136 to 164
 * and 182 to 187. */
#include "providers/aws/model/aws_config.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

#define P AWS_CLUSTER_TAG_PREFIX
#define L AWS_LEGACY_CLUSTER_TAG

/* "key=value|key=value", in that order. */
static struct aws_tags tags(struct arena *a, const char *text)
{
    size_t n;
    size_t used = 0;
    char **items = str_split(a, text, '|', &n);
    struct aws_tag *out = ARENA_ARRAY(a, struct aws_tag, n);
    for (size_t i = 0; i < n && text[0] != '\0'; i++) {
        char *eq = strchr(items[i], '=');
        out[used++] = (struct aws_tag){arena_strndup(a, items[i], (size_t)(eq - items[i])), eq + 1};
    }
    return (struct aws_tags){.items = out, .n = used};
}

static void own_id__136_to_142(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *tags, *want;
    } rows[] = {
        {"136", "", "error"},
        {"137", L "=a", "a legacy"},
        {"138", P "a=owned", "a new"},
        {"139", P "a=shared", "a new"},
        {"140", P "a=", "a new"},
        {"141", L "=a|" P "a=", "a legacy"},
        {"142", P "a=|" P "b=", "error"},
        {"1.4", L "=a|" P "b=", "error"},
        {"1.4", L "=", "error"},
        {"1.4", "Name=x|" P "=", "error"},
        {"1.4", P "=|" P "a=", "a new"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_tags given = tags(a, rows[i].tags);
        struct err err = ERR_INIT;
        struct aws_cluster cluster;
        const char *got = "error";
        if (aws_cluster_of_tags(given.items, given.n, &cluster, &err) == ERR_OK) {
            got = arena_printf(a, "%s %s", cluster.id, cluster.legacy ? "legacy" : "new");
        } else {
            assert_true(err.message[0] != '\0');
        }
        same_text(rows[i].row, got, rows[i].want);
    }
}

static void in_the_cluster__143_to_150(void **state)
{
    static const struct {
        const char *row, *tags;
        bool member, foreign;
    } rows[] = {
        {"143", "", false, false},
        {"144", L "=X", true, false},
        {"145", L "=a", false, false},
        {"146", P "X=anything", true, false},
        {"147", L "=a|" P "X=shared", true, false},
        {"148", P "X=shared|" P "b=shared", true, false},
        {"149", "not a cluster tag=true", false, false},
        {"150", "tag1=|" P "test.cluster=owned", false, true},
        {"4.9", "kubernetes.io/clusterX=owned", false, false},
        {"4.9", P "=", false, true},
        {"4.9", P "XY=owned", false, true},
    };
    struct aws_naming n = aws_test_naming();
    n.cluster_id = "X";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_tags given = tags(*state, rows[i].tags);
        same_text(rows[i].row, aws_tags_are_cluster(&n, &given) ? "yes" : "no",
                  rows[i].member ? "yes" : "no");
        same_text(rows[i].row, aws_tags_are_foreign(&n, &given) ? "foreign" : "no",
                  rows[i].foreign ? "foreign" : "no");
    }
}

static void owned__151_to_161(void **state)
{
    static const struct {
        const char *row, *id, *tags;
        bool owned;
    } rows[] = {
        {"151", "", P "=owned", false},
        {"151", "", L "=", false},
        {"152", "test-cluster", L "=test-cluster", true},
        {"153", "test-cluster", L "=other-cluster", false},
        {"154", "test-cluster", P "test-cluster=owned", true},
        {"155", "test-cluster", P "test-cluster=shared", false},
        {"156", "test-cluster", P "test-cluster=", false},
        {"157", "test-cluster", P "test-cluster=Owned", false},
        {"158", "test-cluster", P "other-cluster=owned", false},
        {"159", "test-cluster", L "=test-cluster|" P "test-cluster=shared", true},
        {"160", "test-cluster", L "=other|" P "test-cluster=owned", true},
        {"161", "test-cluster", "kubernetescluster=test-cluster", false},
    };
    struct aws_naming n = aws_test_naming();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_tags given = tags(*state, rows[i].tags);
        n.cluster_id = rows[i].id;
        same_text(rows[i].row, aws_tags_are_owned(&n, &given) ? "yes" : "no",
                  rows[i].owned ? "yes" : "no");
    }
}

static void repair__162_to_164(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        bool legacy;
        const char *tags, *want;
    } rows[] = {
        {"162", false, "", P "X=owned"},
        {"163", false, P "X=shared", "error"},
        {"164", true, P "X=owned", L "=X|" P "X=owned"},
        {"4.10", false, P "X=owned", ""},
        {"4.10", true, L "=X|" P "X=owned", ""},
        {"4.10", false, P "X=", P "X=owned"},
        {"4.10", true, L "=Y|" P "X=owned", "error"},
        {"4.10", false, L "=Y|" P "X=owned", ""},
        {"4.10", false, P "Y=owned", P "X=owned"},
    };
    struct aws_naming n = aws_test_naming();
    n.cluster_id = "X";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_tags given = tags(a, rows[i].tags);
        struct aws_tags add;
        struct err err = ERR_INIT;
        const char *got = "error";
        n.legacy_tags = rows[i].legacy;
        if (aws_tags_repair(a, &n, &given, &add, &err) == ERR_OK) {
            got = aws_test_tags(a, &add);
        } else {
            assert_non_null(strstr(err.message, "belongs to another cluster"));
        }
        same_text(rows[i].row, got, rows[i].want);
    }
}

static void pairs__182_to_187(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *text, *want;
    } rows[] = {
        {"182", "Key=Val", "Key=Val"},
        {"183", "Key1=Val1, Key2=Val2", "Key1=Val1|Key2=Val2"},
        {"184", "Key1=, Key2=Val2", "Key1=|Key2=Val2"},
        {"185", "K=V K1=V2,Key1========, =====, ======Val, =Val, , 234,", "234=|K=V K1|Key1="},
        {"186", "a=b=c", "a=b"},
        {"187", " a = b ", "a = b"},
        {"4.5", "b=1,a=2,b=3", "a=2|b=3"},
        {"4.5", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_tags got = aws_pairs_read(a, rows[i].text);
        same_text(rows[i].row, aws_test_tags(a, &got), rows[i].want);
    }
    assert_int_equal(aws_pairs_read(a, NULL).n, 0);
}

static void of_balancers_and_groups__4_5(void **state)
{
    struct arena *a = *state;
    struct aws_naming n = aws_test_naming();
    const struct aws_service *s =
        aws_test_service(a, &n,
                         "{\"additional-resource-tags\":\"z=1,kubernetes.io/cluster/c1=shared,"
                         "kubernetes.io/service-name=evil\"}",
                         NULL);
    struct aws_tags got = aws_balancer_tags(a, &n, s);
    same_text("balancer", aws_test_tags(a, &got),
              P "c1=owned|kubernetes.io/service-name=default/web|z=1");
    got = aws_group_tags(a, &n, s);
    same_text("group", aws_test_tags(a, &got), P "c1=owned|kubernetes.io/service-name=evil|z=1");
    n.legacy_tags = true;
    got = aws_group_tags(a, &n, aws_test_service(a, &n, NULL, NULL));
    same_text("legacy", aws_test_tags(a, &got), L "=c1|" P "c1=owned");
}

UNIT_MAIN(tags)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(own_id__136_to_142), PURE_TEST(in_the_cluster__143_to_150),
        PURE_TEST(owned__151_to_161),  PURE_TEST(repair__162_to_164),
        PURE_TEST(pairs__182_to_187),  PURE_TEST(of_balancers_and_groups__4_5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
