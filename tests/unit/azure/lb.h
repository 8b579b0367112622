/* SPDX-License-Identifier: Apache-2.0 */
/* lb.h: what the tests of load-balancer documents share: rules and probes as lines of text, and the
 * naming of a configuration. */
#ifndef TRIMTAB_TESTS_AZURE_LB_H
#define TRIMTAB_TESTS_AZURE_LB_H

#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/model/azure_doc.h"
#include "tests/unit/azure/azure_test.h"

static inline const struct azure_naming *lb_naming(struct arena *a, const struct azure_config *c)
{
    struct azure_config *config = ARENA_NEW(a, struct azure_config);
    struct azure_naming *naming = ARENA_NEW(a, struct azure_naming);
    *config = *c;
    *naming = (struct azure_naming){.config = config, .cluster = "kubernetes"};
    return naming;
}

static inline const char *lb_last(struct json_object *o, const char *ref)
{
    const char *id = azure_ref(o, ref);
    return id != NULL ? azure_id_last(id) : "none";
}

/* "probe atest1-TCP-80 Http 10080 /healthz 5x2" */
static inline void lb_show_probe(struct str_buf *b, struct json_object *o)
{
    const char *path = azure_prop_str(o, "requestPath");
    str_appendf(b, "probe %s %s %d%s%s %dx%d\n", azure_doc_name(o), azure_prop_str(o, "protocol"),
                (int)azure_prop_int(o, "port", -1), path != NULL ? " " : "", str_nonnull(path),
                (int)azure_prop_int(o, "intervalInSeconds", -1),
                (int)azure_prop_int(o, "probeThreshold", -1));
}

/* "rule atest1-TCP-80 Tcp 80>80 floating reset 4min Default probe atest1-TCP-80"; what
 * is absent has no word. */
static inline void lb_show_rule(struct str_buf *b, struct json_object *o)
{
    struct json_object *p = azure_props(o);
    str_appendf(b, "rule %s %s %d>%d", azure_doc_name(o), azure_prop_str(o, "protocol"),
                (int)azure_prop_int(o, "frontendPort", -1),
                (int)azure_prop_int(o, "backendPort", -1));
    str_appendf(b, "%s", azure_prop_bool(o, "enableFloatingIP", false) ? " floating" : "");
    if (json_member(p, "enableTcpReset") != NULL) {
        str_appendf(b, "%s", azure_prop_bool(o, "enableTcpReset", false) ? " reset" : " no-reset");
    }
    str_appendf(b, " %dmin %s probe %s\n", (int)azure_prop_int(o, "idleTimeoutInMinutes", -1),
                azure_prop_str(o, "loadDistribution"), lb_last(o, "probe"));
}

static inline const char *lb_show_fragment(struct arena *a, const struct azure_fragment *f)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < f->n_probes; i++) {
        lb_show_probe(&b, f->probes[i]);
    }
    for (size_t i = 0; i < f->n_rules; i++) {
        lb_show_rule(&b, f->rules[i]);
    }
    return str_buf_to_arena(&b, a);
}

/* The names of an array of a load balancer, with blanks between them. */
static inline const char *lb_names(struct arena *a, struct json_object *lb, const char *array)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, array)) {
        str_appendf(&b, "%s%s", b.len > 0 ? " " : "", azure_doc_name(o));
    }
    return str_buf_to_arena(&b, a);
}

#endif
