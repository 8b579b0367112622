/* SPDX-License-Identifier: Apache-2.0 */
/* nsg.h: what the tests of security rules share: what a Service says about access, from a few texts. */
#ifndef TRIMTAB_TESTS_AZURE_NSG_H
#define TRIMTAB_TESTS_AZURE_NSG_H

#include "providers/azure/azure_access_rules.h"
#include "tests/unit/azure/azure_test.h"

/* A member of metadata.annotations. */
#define ANNOTATION(name, value) "\"" AZURE_ANNOTATION_PREFIX name "\":\"" value "\""
#define TCP(port)                                                                                  \
    "{\"name\":\"t" #port "\",\"protocol\":\"TCP\",\"port\":" #port ",\"nodePort\":3" #port "}"
#define UDP(port)                                                                                  \
    "{\"name\":\"u" #port "\",\"protocol\":\"UDP\",\"port\":" #port ",\"nodePort\":3" #port "}"

/* Service "ns/<name>".  `annotations`, `ranges` and `ports` are the insides of their JSON; `ip` is that of the
 * status, or NULL. */
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

#endif
