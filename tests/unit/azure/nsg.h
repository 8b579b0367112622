/* SPDX-License-Identifier: Apache-2.0 */
/* nsg.h: what the tests of security rules share: what a Service says about access, from a few
 * texts; rules as text. */
#ifndef TRIMTAB_TESTS_AZURE_NSG_H
#define TRIMTAB_TESTS_AZURE_NSG_H

#include <stdlib.h>

#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/nsg/azure_nsg_doc.h"
#include "providers/azure/nsg/azure_nsg_plan.h"
#include "tests/unit/azure/azure_test.h"

/* A member of metadata.annotations. */
#define ANNOTATION(name, value) "\"" AZURE_ANNOTATION_PREFIX name "\":\"" value "\""
#define TCP(port)                                                                                  \
    "{\"name\":\"t" #port "\",\"protocol\":\"TCP\",\"port\":" #port ",\"nodePort\":3" #port "}"
#define UDP(port)                                                                                  \
    "{\"name\":\"u" #port "\",\"protocol\":\"UDP\",\"port\":" #port ",\"nodePort\":3" #port "}"

/* Service "ns/<name>".  `annotations`, `ranges` and `ports` are the insides of their JSON; `ip` is
 * that of the status, or NULL. */
static inline const struct azure_access *nsg_access(struct arena *a, const char *name,
                                                    const char *annotations, const char *ranges,
                                                    const char *ports, const char *ip)
{
    struct azure_config *config = ARENA_NEW(a, struct azure_config);
    struct azure_naming *naming = ARENA_NEW(a, struct azure_naming);
    *config = azure_test_config();
    *naming = (struct azure_naming){.config = config, .cluster = "kubernetes"};
    const char *ingress = ip == NULL ? "" : arena_printf(a, "{\"ip\":\"%s\"}", ip);
    const char *text =
        arena_printf(a,
                     "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"uid-%s\","
                     "\"annotations\":{%s}},\"spec\":{\"type\":\"LoadBalancer\","
                     "\"loadBalancerSourceRanges\":[%s],\"ports\":[%s]},"
                     "\"status\":{\"loadBalancer\":{\"ingress\":[%s]}}}",
                     name, name, annotations, ranges, ports, ingress);
    return azure_access_read(a, azure_service_read(a, naming, test_service_text(a, text)));
}

/* "a b c" as a list; "" and NULL give none. */
static inline struct azure_texts nsg_texts(struct arena *a, const char *words)
{
    if (str_is_empty(words)) {
        return (struct azure_texts){0};
    }
    size_t n;
    char **items = str_split(a, words, ' ', &n);
    return (struct azure_texts){.items = (const char *const *)items, .n = n};
}

/* A rule as ARM answers it. */
#define RULE(name, priority, protocol, sources, destinations, ports)                               \
    "{\"name\":\"" name "\",\"properties\":{\"access\":\"Allow\",\"direction\":\"Inbound\","       \
    "\"protocol\":\"" protocol "\",\"priority\":" #priority ",\"sourcePortRange\":\"*\","          \
    "\"sourceAddressPrefixes\":[" sources "],\"destinationAddressPrefixes\":[" destinations        \
    "],\"destinationPortRanges\":[" ports "]}}"

static inline int nsg_by_priority(const void *x, const void *y)
{
    const struct azure_nsg_rule *a = *(struct azure_nsg_rule *const *)x;
    const struct azure_nsg_rule *b = *(struct azure_nsg_rule *const *)y;
    return a->now.priority < b->now.priority ? -1 : 1;
}

/* One line for each rule, by priority: "500 Allow Tcp Internet > 20.1.2.3 : 443,80". */
static inline const char *nsg_show(struct arena *a, struct json_object *rules)
{
    struct azure_nsg g;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    assert_int_equal(azure_nsg_read(a, rules, &g, NULL), ERR_OK);
    if (g.n > 0) {
        qsort(g.rules, g.n, sizeof(struct azure_nsg_rule *), nsg_by_priority);
    }
    for (size_t i = 0; i < g.n; i++) {
        const struct azure_nsg_body *r = &g.rules[i]->now;
        str_appendf(&b, "%s%lld %s %s %s > %s : %s", i > 0 ? "\n" : "", (long long)r->priority,
                    r->access, r->protocol, str_set_text(a, &r->sources, ","),
                    str_set_text(a, &r->destinations, ","), str_set_text(a, &r->ports, ","));
    }
    return str_buf_to_arena(&b, a);
}

static inline struct azure_nsg_result nsg_plan(struct arena *a, const struct azure_nsg_input *in)
{
    struct azure_nsg_result r = {0};
    struct err err = ERR_INIT;
    if (azure_nsg_plan(a, in, &r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

#endif
