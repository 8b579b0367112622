/* SPDX-License-Identifier: Apache-2.0 */
/* test_subnets.c: subnets of load balancers; rows 165 to 181. */
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

#define OWN   "kubernetes.io/cluster/c1"
#define ROLE  "kubernetes.io/role/elb"
#define IROLE "kubernetes.io/role/internal-elb"

/* "id zone priv|pub|none own role irole other name=X": the table that the subnet is in ("none": no
 * own one), and tags. */
struct world {
    struct aws_subnet subnets[16];
    size_t n;
    const char *public_ids[16];
    const char *private_ids[16];
    struct aws_route_table tables[3];
    struct aws_zone zones[5];
    struct aws_places places;
};

static const char *tag_key(const char *word)
{
    static const char *const keys[][2] = {
        {"own", OWN}, {"role", ROLE}, {"irole", IROLE}, {"other", "kubernetes.io/cluster/other"}};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_eq(keys[i][0], word)) {
            return keys[i][1];
        }
    }
    return "Name";
}

static void add_subnet(struct arena *a, struct world *w, struct aws_texts words)
{
    struct aws_tag *tags = ARENA_ARRAY(a, struct aws_tag, words.n);
    size_t n_tags = 0;
    const char *id = words.items[0];
    for (size_t i = 3; i < words.n; i++) {
        const char *eq = strchr(words.items[i], '=');
        tags[n_tags++] = (struct aws_tag){tag_key(words.items[i]),
                                          eq == NULL ? "" : str_replace(a, eq + 1, "_", " ")};
    }
    w->subnets[w->n++] = (struct aws_subnet){.id = id,
                                             .vpc = "vpc-1",
                                             .zone = words.items[1],
                                             .cidr = "",
                                             .tags = {.items = tags, .n = n_tags}};
    if (str_eq(words.items[2], "pub")) {
        w->public_ids[w->tables[0].subnets.n++] = id;
    } else if (str_eq(words.items[2], "priv")) {
        w->private_ids[w->tables[1].subnets.n++] = id;
    }
}

/* With `main` a third table, to the internet, is the VPC's main one. */
static struct world *world(struct arena *a, const char *text, bool main)
{
    static const struct aws_zone zones[] = {{"A", "availability-zone"},
                                            {"B", "availability-zone"},
                                            {"C", "availability-zone"},
                                            {"L", "local-zone"},
                                            {"W", "wavelength-zone"}};
    struct world *w = ARENA_NEW(a, struct world);
    size_t n;
    char **lines = str_split(a, text, ';', &n);
    w->tables[0] = (struct aws_route_table){
        .id = "rtb-pub", .subnets.items = w->public_ids, .to_internet = true};
    w->tables[1] = (struct aws_route_table){.id = "rtb-priv", .subnets.items = w->private_ids};
    w->tables[2] = (struct aws_route_table){.id = "rtb-main", .main = true, .to_internet = true};
    for (size_t i = 0; i < n; i++) {
        struct aws_texts words = aws_test_texts(a, lines[i]);
        if (words.n > 0) {
            add_subnet(a, w, words);
        }
    }
    w->places = (struct aws_places){.subnets = w->subnets,
                                    .n_subnets = w->n,
                                    .tables = w->tables,
                                    .n_tables = main ? 3 : 2,
                                    .zones = zones,
                                    .n_zones = ARRAY_LEN(zones),
                                    .own_subnet = "own"};
    return w;
}

static const char *chosen(struct arena *a, const struct world *w, const char *annotations,
                          struct aws_texts *why_not, struct err *err)
{
    const struct aws_naming n = aws_test_naming();
    struct aws_texts ids;
    if (aws_subnets_choose(a, &n, &w->places, aws_test_service(a, &n, annotations, NULL), &ids,
                           why_not, err) != ERR_OK) {
        assert_int_equal(err->code, ERR_INVALID);
        return "error";
    }
    return aws_test_joined(a, ids);
}

#define SIX                                                                                        \
    "A1 A pub role; A2 A pub role; B1 B pub own role; B2 B pub own irole; C1 C pub own irole; "    \
    "Cn C pub; Cother C pub other role"

static void discovery__165_to_177(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *subnets;
        bool internal;
        const char *want;
    } rows[] = {
        {"165", "", false, ""},
        {"166", "A1 A pub role", false, "A1"},
        {"167", "A2 A priv role", false, ""},
        {"168", "A3 A pub own irole; A1 A pub role", false, "A1"},
        {"169", "C1 C pub own irole; Cn C pub", false, "C1"},
        {"169", "Cn C pub own irole; C1 C pub", false, "Cn"},
        {"168", "A1 A pub own irole; A3 A pub role", false, "A3"},
        {"170", "A1 A pub role; Cn C pub", false, "A1 Cn"},
        {"171", "B1 B pub own role; Cother C pub other", false, "B1"},
        {"172", "B1 B priv own role; B2 B priv own irole", true, "B2"},
        {"173", "A2 A pub role; A1 A pub role", false, "A1"},
        {"174", SIX, false, "A1 B1 C1"},
        {"175", "A1 A pub own; B1 B pub own; C1 C pub own; L1 L pub own; W1 W pub own", false,
         "A1 B1 C1"},
        {"176", "c0000002 A pub; c0000000 A pub; c0000001 A pub", false, "c0000000"},
        {"177",
         "a A priv; b B priv; c0000001 C priv; c0000000 C pub; d0000001 A pub; d0000002 B pub",
         false, "d0000001 d0000002 c0000000"},
        {"4.9", "A1 A priv; B1 B pub", true, "A1 B1"},
        {"4.9", "A1 A pub own other", false, "A1"},
        {"4.9", "A1 Z pub", false, "A1"},
        {"15.7", "own A pub other; B1 B pub other", false, "own"},
        {"15.7", "own A priv other", false, ""},
        {"4.9", "B1 B pub other", false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const struct world *w = world(a, rows[i].subnets, true);
        same_text(rows[i].row,
                  chosen(a, w, rows[i].internal ? "{\"internal\":\"true\"}" : NULL, NULL, &err),
                  rows[i].want);
    }
}

static void tables__own_then_main_then_error__4_9(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    same_text("main", chosen(a, world(a, "A1 A none", true), NULL, NULL, &err), "A1");
    same_text("none", chosen(a, world(a, "A1 A none", false), NULL, NULL, &err), "error");
    assert_non_null(strstr(err.message, "subnet A1 has no route table"));
    struct world *twice = world(a, "A1 A priv; B1 B pub", false);
    twice->public_ids[twice->tables[0].subnets.n++] = "A1"; /* the private table comes later */
    same_text("the last one", chosen(a, twice, NULL, NULL, &err), "B1");
    err_clear(&err);
    same_text("none", chosen(a, world(a, "A1 A none", false), "{\"internal\":\"1\"}", NULL, &err),
              "error");
}

static void named__178_to_181(void **state)
{
    struct arena *a = *state;
    static const char subnets[] =
        "subnet-a000001 A priv name=My_Subnet_1; subnet-a000002 L none name=My_Subnet_2; "
        "subnet-a000003 A pub other name=twice; subnet-a000004 B pub name=twice";
    static const struct {
        const char *row, *annotation, *want;
    } rows[] = {
        {"178", "\\t", "error"},
        {"179", "subnet-a000001, subnet-a000002", "subnet-a000001 subnet-a000002"},
        {"13.28", "subnet-a000002,subnet-a000001", "subnet-a000002 subnet-a000001"},
        {"180", "My Subnet 1, My Subnet 2 ", "subnet-a000001 subnet-a000002"},
        {"180", "My Subnet 2,subnet-a000001", "subnet-a000002 subnet-a000001"},
        {"181", "My Subnet 1,My Subnet 2,My Subnet 3", "error"},
        {"4.9", "subnet-ffff", "error"},
        {"4.9", "twice", "error"},
        {"4.9", "subnet-a000001,My Subnet 1", "error"},
        {"4.9", "subnet-a000003,", "subnet-a000003"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const char *annotation = arena_printf(a, "{\"subnets\":\"%s\"}", rows[i].annotation);
        const char *got = chosen(a, world(a, subnets, false), annotation, NULL, &err);
        same_text(arena_printf(a, "%s %s", rows[i].row, rows[i].annotation), got, rows[i].want);
        if (str_eq(got, "error")) {
            assert_non_null(strstr(err.message, AWS_ANNOTATION "subnets"));
        }
    }
}

static void what_is_left_out__is_told(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    struct aws_texts why_not;
    const struct world *w =
        world(a, "A1 A pub; A2 A pub role; B1 B priv; C1 C pub other; L1 L pub", false);
    same_text("ids", chosen(a, w, NULL, &why_not, &err), "A2");
    assert_int_equal(why_not.n, 4);
    same_text("A1", why_not.items[0], "subnet A1 is left out: A2 is better for zone A");
    same_text("B1", why_not.items[1],
              "subnet B1 is left out: it is private, no route of its leads to an internet gateway");
    same_text("C1", why_not.items[2],
              "subnet C1 is left out: its tags say that it is another cluster's");
    same_text("L1", why_not.items[3], "subnet L1 is left out: L is no plain availability zone");
}

UNIT_MAIN(subnets)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(discovery__165_to_177),
        PURE_TEST(tables__own_then_main_then_error__4_9),
        PURE_TEST(named__178_to_181),
        PURE_TEST(what_is_left_out__is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
