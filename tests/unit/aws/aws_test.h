/* SPDX-License-Identifier: Apache-2.0 */
/* aws_test.h: what the tests of the AWS provider's pure modules share: names as configured,
 * Services and rules from text.
 *
 * Row numbers in tests are those of docs/spec/aws.md, section 11; "13.n" and "15.n" are rows of
 * these sections. */
#ifndef TRIMTAB_TESTS_AWS_TEST_H
#define TRIMTAB_TESTS_AWS_TEST_H

#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_rules.h"
#include "tests/unit/gce/pure.h"

#include <stdlib.h>

#define UID  "11111111-2222-3333-4444-555555555555"
#define NAME "a1111111122223333444455555555555"

static inline struct aws_naming aws_test_naming(void)
{
    return (struct aws_naming){.cluster_id = "c1",
                               .cluster_name = "kubernetes",
                               .region = "us-east-1",
                               .vpc = "vpc-1",
                               .probe_mode_text = "",
                               .probe_port = 10256,
                               .probe_path = "/healthz",
                               .nlb_group_mode = "",
                               .shared_group = ""};
}

#define ONE_PORT "\"ports\":[{\"port\":80,\"nodePort\":30080,\"protocol\":\"TCP\"}]"

/* "default/web"; `annotations` is a JSON object whose keys lack the prefix, `spec` the members of
 * spec beside type and sessionAffinity.  NULL: no annotations; one TCP port 80 with
 * node port 30080. */
static inline const struct tt_service *aws_test_object(struct arena *a, const char *annotations,
                                                       const char *spec)
{
    struct json_object *given = pure_json(a, annotations == NULL ? "{}" : annotations);
    struct json_object *full = json_object_new_object();
    json_object_object_foreach(given, key, value)
    {
        json_add(full, arena_printf(a, AWS_ANNOTATION "%s", key), json_object_get(value));
    }
    char *text = json_text(a, full, JSON_COMPACT);
    json_object_put(full);
    return test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"uid\":\"" UID
                        "\",\"annotations\":%s},\"spec\":{\"type\":\"LoadBalancer\","
                        "\"sessionAffinity\":\"None\",%s}}",
                        text, spec == NULL ? ONE_PORT : spec));
}

static inline const struct aws_service *aws_test_service(struct arena *a,
                                                         const struct aws_naming *n,
                                                         const char *annotations, const char *spec)
{
    return aws_service_read(a, n, aws_test_object(a, annotations, spec));
}

/* Texts between blanks; "" gives none. */
static inline struct aws_texts aws_test_texts(struct arena *a, const char *text)
{
    size_t n;
    size_t used = 0;
    char **items = str_split(a, text, ' ', &n);
    for (size_t i = 0; i < n; i++) {
        if (items[i][0] != '\0') {
            items[used++] = items[i];
        }
    }
    return (struct aws_texts){.items = (const char *const *)items, .n = used};
}

/* They, with a blank between them. */
static inline const char *aws_test_joined(struct arena *a, struct aws_texts t)
{
    return str_join(a, t.items, t.n, " ");
}

static inline const char *aws_test_tags(struct arena *a, const struct aws_tags *tags)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < tags->n; i++) {
        str_appendf(&b, "%s%s=%s", i == 0 ? "" : "|", tags->items[i].key, tags->items[i].value);
    }
    return str_buf_to_arena(&b, a);
}

/* "tcp 80 10.0.0.0/8 text; -1 sg-1": protocol, port or range ("3-4"; none for -1), source,
 * description (no blanks). */
static inline struct aws_rules aws_test_rules(struct arena *a, const char *text)
{
    size_t n;
    char **lines = str_split(a, text, ';', &n);
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, n);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        struct aws_texts words = aws_test_texts(a, lines[i]);
        if (words.n == 0) {
            continue;
        }
        bool all = str_eq(words.items[0], "-1");
        size_t at = all ? 1 : 2;
        struct aws_rule r = {.protocol = words.items[0],
                             .from = AWS_NO_PORT,
                             .to = AWS_NO_PORT,
                             .source = words.items[at],
                             .user = "",
                             .description = at + 1 < words.n ? words.items[at + 1] : ""};
        if (!all) {
            char *end;
            r.from = (int32_t)strtol(words.items[1], &end, 10);
            r.to = *end == '-' ? (int32_t)strtol(end + 1, NULL, 10) : r.from;
        }
        r.peer = str_has_prefix(r.source, "sg-")   ? AWS_PEER_GROUP
                 : str_has_prefix(r.source, "pl-") ? AWS_PEER_PREFIX_LIST
                 : strchr(r.source, ':') != NULL   ? AWS_PEER_CIDR6
                                                   : AWS_PEER_CIDR;
        items[used++] = r;
    }
    return aws_rules_sorted(a, items, used);
}

/* In the order of the list, in the same form. */
static inline const char *aws_test_rules_text(struct arena *a, const struct aws_rules *rules)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < rules->n; i++) {
        const struct aws_rule *r = &rules->items[i];
        str_appendf(&b, "%s%s", i == 0 ? "" : "; ", r->protocol);
        if (r->from != AWS_NO_PORT) {
            str_appendf(&b, " %d", (int)r->from);
        }
        if (r->to != r->from) {
            str_appendf(&b, "-%d", (int)r->to);
        }
        str_appendf(&b, " %s%s%s", r->source, r->description[0] == '\0' ? "" : " ", r->description);
    }
    return str_buf_to_arena(&b, a);
}

#endif
