/* SPDX-License-Identifier: Apache-2.0 */
/* inside_print.c: what is inside the cluster as text and as JSON; see inside.h. */
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/inside.h"

#define PARAGRAPH 9 /* of the text behind a heading, as the rest of an explanation has it */

/* ---- words ----------------------------------------------------------------------------------- */

const char *ks_inside_percent(struct arena *a, double share)
{
    double shown = share * 100;
    return share > 0 && shown < 0.1 ? "<0.1 %" : arena_printf(a, "%.1f %%", shown);
}

const char *ks_inside_health(struct arena *a, int64_t weight)
{
    if (weight < 0) {
        return NULL;
    }
    return weight == 0 ? "503" : arena_printf(a, "200, weight %lld", (long long)weight);
}

const char *ks_inside_summary(struct arena *a, const struct ks_inside_family *f)
{
    struct str_buf b = STR_BUF_INIT;
    size_t n_nodes = 0;
    bool fall_back = f->ready == 0 && f->draining > 0;
    for (size_t i = 0; i < f->n_nodes; i++) {
        n_nodes += f->nodes[i].ready > 0 || (fall_back && f->nodes[i].draining > 0);
    }
    if (f->ready > 0) {
        str_appendf(&b, "%s on %s %s ready", str_count(a, f->ready, "pod"),
                    str_count(a, n_nodes, "node"), f->ready == 1 ? "is" : "are");
    } else {
        str_append(&b, "no pod is ready");
    }
    if (f->draining > 0) {
        str_appendf(&b, "; %s still serve%s while terminating", str_count(a, f->draining, "pod"),
                    f->draining == 1 ? "s" : "");
    }
    if (f->not_ready > 0) {
        str_appendf(&b, "; %s get%s no traffic, not being ready", str_count(a, f->not_ready, "pod"),
                    f->not_ready == 1 ? "s" : "");
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static const char *family_word(const struct ks_inside_family *f)
{
    return f->family == KS_IPV4 ? "IPv4" : "IPv6";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void paragraph(struct str_buf *b, const char *heading, const char *text)
{
    size_t used = str_columns(heading) + 1;
    size_t gap = used < PARAGRAPH ? PARAGRAPH - used : 1;
    str_appendf(b, "%s:%*s", heading, (int)gap, "");
    str_append_wrapped(b, text, used + gap, PARAGRAPH);
    str_append_c(b, '\n');
}

/* Prints one node's part, behind its name. */
static const char *node_words(struct arena *a, const struct ks_inside_node *n)
{
    struct str_buf b = STR_BUF_INIT;
    const char *health = ks_inside_health(a, n->weight);
    size_t serving = n->ready > 0 ? n->ready : n->draining;
    str_append(&b, str_count(a, n->ready, "pod"));
    str_append(&b, n->draining > 0 ? arena_printf(a, " and %zu terminating", n->draining) : "");
    if (n->left_out != NULL) {
        str_append(&b, ", left out: the load balancer sends it nothing");
    } else if (n->traffic > 0) {
        str_appendf(&b, ", takes %s of the traffic", ks_inside_percent(a, n->traffic));
    }
    if (n->pods > 0 && serving > 0) {
        const char *share = ks_inside_percent(a, n->pods / (double)serving);
        str_appendf(&b, serving == 1 ? ", its pod gets %s" : ", each pod gets %s", share);
    }
    if (health != NULL && n->left_out == NULL) {
        str_appendf(&b, ", health check answers %s", health);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* Says how nodes without pods treat what comes to them. */
static const char *empty_words(const struct ks_inside *x, const struct ks_inside_family *f)
{
    bool one = f->n_empty == 1;
    if (x->local && f->weighed == KS_WEIGHED_OPEN) {
        return one ? "fails its health check, and gets traffic all the same: no node passes it"
                   : "fail their health checks, and get traffic all the same: no node passes";
    }
    if (x->local) {
        return one ? "gets no traffic: policy Local, its health check answers 503"
                   : "get no traffic: policy Local, their health checks answer 503";
    }
    return one ? "passes its traffic on to other nodes" : "pass their traffic on to other nodes";
}

static void print_nodes(struct str_buf *b, struct arena *a, const struct ks_inside *x,
                        const struct ks_inside_family *f, size_t rows)
{
    size_t width = 0;
    size_t n = rows != 0 && f->n_nodes > rows ? rows : f->n_nodes;
    for (size_t i = 0; i < n; i++) {
        size_t w = str_columns(f->nodes[i].name);
        width = w > width ? w : width;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ks_inside_node *node = &f->nodes[i];
        str_appendf(b, "  %s%*s", node->name, (int)(width - str_columns(node->name) + 3), "");
        str_append_wrapped(b, node_words(a, node), width + 5, width + 5);
        str_append_c(b, '\n');
    }
    if (n < f->n_nodes) {
        str_appendf(b, "  … and %zu more nodes with pods (-v shows all, -o json, too)\n",
                    f->n_nodes - n);
    }
    if (f->n_empty > 0) {
        str_appendf(b, "  %s without a ready pod %s\n", str_count(a, f->n_empty, "node"),
                    empty_words(x, f));
    }
}

static void print_zones(struct str_buf *b, struct arena *a, const struct ks_topology_report *t)
{
    for (size_t i = 0; i < t->n_zones; i++) {
        const struct ks_zone_report *z = &t->zones[i];
        const char *cpu =
            t->has_shares ? arena_printf(a, " with %s of the CPU", ks_inside_percent(a, z->share))
                          : "";
        const char *hinted =
            z->hinted == 0 ? "none" : arena_printf(a, "%lld", (long long)z->hinted);
        size_t at = str_columns(z->zone) + 5;
        str_appendf(b, "  %s   ", z->zone);
        str_append_wrapped(b,
                           arena_printf(a, "%s%s, %s, %s hinted for it%s",
                                        str_count(a, z->nodes, "node"), cpu,
                                        str_count(a, (size_t)z->ready, "ready pod"), hinted,
                                        z->kept ? ", traffic stays in it" : ""),
                           at, at);
        str_append_c(b, '\n');
    }
}

/* The report on hints is about lists of the whole cluster; clients outside get them with policy
 * Cluster alone. */
static const char *hints_words(struct arena *a, const struct ks_inside *x,
                               const struct ks_inside_family *f)
{
    const struct ks_topology_report *t = &f->topology;
    const char *alone = "not looked at for clients outside (policy Local)";
    bool plain = t->why == KS_WHY_NOT_ASKED || t->why == KS_WHY_NO_ENDPOINTS;
    if (!x->local) {
        return t->sentence;
    }
    return plain ? alone : arena_printf(a, "%s; within the cluster: %s", alone, t->sentence);
}

static void print_family(struct str_buf *b, struct arena *a, const struct ks_inside *x,
                         const struct ks_inside_family *f, size_t rows)
{
    const char *of = x->n_families > 1 ? arena_printf(a, " %s", family_word(f)) : "";
    paragraph(b, arena_printf(a, "Pods%s", of),
              f->port == NULL
                  ? "the Service has no endpoints"
                  : arena_printf(a, "%s%s", ks_inside_summary(a, f),
                                 f->differs
                                     ? arena_printf(a, " (port %s; other ports differ)", f->port)
                                     : ""));
    print_nodes(b, a, x, f, rows);
    if (f->has_topology) {
        paragraph(b, arena_printf(a, "Hints%s", of), hints_words(a, x, f));
        print_zones(b, a, &f->topology);
    }
    if (x->has_pods) {
        paragraph(b, arena_printf(a, "Selected%s", of), f->roles.sentence);
    }
}

void ks_inside_text(struct str_buf *b, struct arena *a, const struct ks_inside *x, size_t rows)
{
    for (size_t i = 0; i < x->n_families; i++) {
        print_family(b, a, x, &x->families[i], rows);
    }
    paragraph(b, "Source", x->source_text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_double(struct json_object *o, const char *name, double v)
{
    json_add(o, name, json_object_new_double(v));
}

static void add_text(struct json_object *o, const char *name, const char *text)
{
    json_add(o, name, str_is_empty(text) ? NULL : json_object_new_string(text));
}

static struct json_object *nodes_json(const struct ks_inside_family *f)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < f->n_nodes; i++) {
        const struct ks_inside_node *n = &f->nodes[i];
        struct json_object *o = json_object_new_object();
        json_add_str(o, "name", n->name);
        add_text(o, "zone", n->zone);
        add_text(o, "left_out", n->left_out);
        json_add_int(o, "ready", (int64_t)n->ready);
        json_add_int(o, "terminating", (int64_t)n->draining);
        json_add(o, "health_weight", n->weight < 0 ? NULL : json_object_new_int64(n->weight));
        add_double(o, "traffic", n->traffic);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *pods_json(const struct ks_inside_family *f)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < f->n_pods; i++) {
        const struct ks_inside_pod *p = &f->pods[i];
        struct json_object *o = json_object_new_object();
        json_add_str(o, "address", p->address);
        add_text(o, "pod", p->pod);
        add_text(o, "node", p->node);
        json_add_bool(o, "terminating", p->draining);
        add_double(o, "share", p->share);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *hints_json(const struct ks_topology_report *t)
{
    struct json_object *o = json_object_new_object();
    struct json_object *zones = json_object_new_array();
    json_add_str(o, "asked", ks_hints_wish_word(t->wish));
    json_add_str(o, "why", ks_hints_why_word(t->why));
    json_add_str(o, "text", t->sentence);
    json_add_bool(o, "in_force", t->in_force);
    for (size_t i = 0; i < t->n_zones; i++) {
        const struct ks_zone_report *z = &t->zones[i];
        struct json_object *zone = json_object_new_object();
        json_add_str(zone, "zone", z->zone);
        json_add(zone, "cpu_share", t->has_shares ? json_object_new_double(z->share) : NULL);
        json_add_int(zone, "nodes", (int64_t)z->nodes);
        json_add_int(zone, "ready", z->ready);
        json_add_int(zone, "hinted", z->hinted);
        json_add_bool(zone, "kept", z->kept);
        json_object_array_add(zones, zone);
    }
    json_add(o, "zones", zones);
    return o;
}

static struct json_object *family_json(const struct ks_inside *x, const struct ks_inside_family *f)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "family", family_word(f));
    add_text(o, "port", f->port);
    json_add_str(o, "policy", x->local ? "Local" : "Cluster");
    json_add_str(o, "source_address", x->source == KS_SOURCE_KEPT ? "kept" : "node");
    json_add_bool(o, "weighted", x->weighted);
    json_add_bool(o, "fails_open", f->weighed == KS_WEIGHED_OPEN);
    json_add_int(o, "ready", (int64_t)f->ready);
    json_add_int(o, "terminating", (int64_t)f->draining);
    json_add_int(o, "not_ready", (int64_t)f->not_ready);
    json_add_int(o, "nodes_without_pods", (int64_t)f->n_empty);
    json_add(o, "nodes", nodes_json(f));
    json_add(o, "pods", pods_json(f));
    json_add(o, "hints", f->has_topology ? hints_json(&f->topology) : NULL);
    add_text(o, "selected", x->has_pods ? f->roles.sentence : NULL);
    return o;
}

struct json_object *ks_inside_json(const struct ks_inside *x)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < x->n_families; i++) {
        json_object_array_add(list, family_json(x, &x->families[i]));
    }
    return list;
}
