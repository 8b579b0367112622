/* SPDX-License-Identifier: Apache-2.0 */
/* status_html_inside.c: a Service's way from its address to its pods, on the page of the Service: a
 * picture and tables.
 *
 * The picture is inline SVG without script, style sheet or colour: it is drawn in the colour of the
 * text, and what gets no traffic is dashed and says so.  It has a title and a description for
 * screen readers, and the table below it holds everything that it shows.  Numbers are units of the
 * drawing, which is as wide as a phone at most. */
#include "controller/serve/status_html.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/inside.h"

#define PICTURE_NODES 8  /* nodes that are drawn; the others are one box */
#define TABLE_NODES   50 /* nodes in the table */

/* The drawing. */
#define WIDE     480
#define BUS      20 /* the line from the load balancer down to the nodes */
#define NODE_X   48
#define NODE_W   264
#define PODS_X   344
#define PODS_W   132
#define BOX_H    46
#define STEP     58 /* from one box to the next */
#define TOP      8
#define LETTER   7.6 /* as wide as a letter of a name is, about */
#define NODE_ROW (TOP + 2 * (BOX_H + 24))

/* ---- the picture ----------------------------------------------------------------------------- */

static void box(struct str_buf *b, int x, int y, int w, bool dashed)
{
    str_appendf(b,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"none\" "
                "stroke=\"currentColor\"%s/>",
                x, y, w, BOX_H, dashed ? " stroke-dasharray=\"5 4\"" : "");
}

/* An arrow to the right, or down. */
static void arrow(struct str_buf *b, int x1, int y1, int x2, int y2)
{
    str_appendf(b, "<path d=\"M%d %dL%d %d", x1, y1, x2, y2);
    if (y1 == y2) {
        str_appendf(b, "M%d %dL%d %dL%d %d", x2 - 7, y2 - 4, x2, y2, x2 - 7, y2 + 4);
    } else {
        str_appendf(b, "M%d %dL%d %dL%d %d", x2 - 4, y2 - 7, x2, y2, x2 + 4, y2 - 7);
    }
    str_append(b, "\" fill=\"none\" stroke=\"currentColor\"/>");
}

/* A line of text, made narrower where it would not fit into `w`. */
static void words(struct str_buf *b, int x, int y, int w, const char *s)
{
    str_appendf(b, "<text x=\"%d\" y=\"%d\"", x, y);
    if ((double)str_columns(s) * LETTER > w) {
        str_appendf(b, " textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\"", w);
    }
    str_append_c(b, '>');
    status_html_text(b, s);
    str_append(b, "</text>");
}

/* A box with two lines. */
static void labelled(struct str_buf *b, int x, int y, int w, bool dashed,
                     const char *const lines[2])
{
    box(b, x, y, w, dashed);
    words(b, x + 8, y + 19, w - 16, lines[0]);
    words(b, x + 8, y + 37, w - 16, lines[1]);
}

static const char *pods_words(struct arena *a, const struct ks_inside_node *n)
{
    return n->draining == 0
               ? str_count(a, n->ready, "pod")
               : arena_printf(a, "%s +%zu ending", str_count(a, n->ready, "pod"), n->draining);
}

static const char *each_words(struct arena *a, const struct ks_inside_node *n)
{
    size_t serving = n->ready > 0 ? n->ready : n->draining;
    if (serving == 0 || n->pods <= 0) {
        return "no traffic";
    }
    const char *share = ks_inside_percent(a, n->pods / (double)serving);
    return serving == 1 ? share : arena_printf(a, "%s each", share);
}

static const char *node_words(struct arena *a, const struct ks_inside_node *n)
{
    if (n->traffic > 0) {
        return arena_printf(a, "%s of the traffic", ks_inside_percent(a, n->traffic));
    }
    return n->left_out != NULL ? "left out: no traffic" : "health check 503: no traffic";
}

/* With policy Cluster a node sends to pods anywhere: the arrow to its own pods would
 * say too much. */
static void draw_node(struct str_buf *b, struct arena *a, const struct ks_inside *x,
                      const struct ks_inside_node *n, int y)
{
    bool serves = n->traffic > 0;
    int middle = y + BOX_H / 2;
    if (serves) {
        arrow(b, BUS, middle, NODE_X, middle);
    }
    labelled(b, NODE_X, y, NODE_W, !serves, (const char *const[]){n->name, node_words(a, n)});
    if (n->pods > 0 && x->local) {
        arrow(b, NODE_X + NODE_W, middle, PODS_X, middle);
    } else if (n->pods > 0) {
        arrow(b, PODS_X - 16, middle, PODS_X, middle);
        str_appendf(b, "<path d=\"M%d %dL%d %d\" stroke=\"currentColor\"/>", NODE_X + NODE_W,
                    middle, PODS_X - 16, middle);
    }
    labelled(b, PODS_X, y, PODS_W, n->pods <= 0,
             (const char *const[]){pods_words(a, n), each_words(a, n)});
}

/* The nodes that are not drawn by themselves, as one. */
static bool draw_rest(struct str_buf *b, struct arena *a, const struct ks_inside_family *f, int y)
{
    double traffic = 0;
    double pods = 0;
    size_t n = f->n_nodes > PICTURE_NODES ? f->n_nodes - PICTURE_NODES : 0;
    size_t ready = 0;
    for (size_t i = PICTURE_NODES; i < f->n_nodes; i++) {
        traffic += f->nodes[i].traffic;
        pods += f->nodes[i].pods;
        ready += f->nodes[i].ready;
    }
    if (n == 0) {
        return false;
    }
    int middle = y + BOX_H / 2;
    arrow(b, BUS, middle, NODE_X, middle);
    labelled(
        b, NODE_X, y, NODE_W, false,
        (const char *const[]){arena_printf(a, "%zu more nodes with pods", n),
                              arena_printf(a, "%s of the traffic", ks_inside_percent(a, traffic))});
    arrow(b, NODE_X + NODE_W, middle, PODS_X, middle);
    labelled(b, PODS_X, y, PODS_W, false,
             (const char *const[]){str_count(a, ready, "pod"),
                                   arena_printf(a, "%s in all", ks_inside_percent(a, pods))});
    return true;
}

static const char *first_address(struct arena *a, const struct status_service *s,
                                 enum ks_family family)
{
    size_t n = 0;
    char **all = str_split(a, s->address, ',', &n);
    for (size_t i = 0; i < n; i++) {
        const char *one = str_trim(a, all[i]);
        if (*one != '\0' && (strchr(one, ':') != NULL) == (family == KS_IPV6)) {
            return one;
        }
    }
    return "no address yet";
}

/* Joins the arrows of all nodes of policy Cluster: any node sends to any pod. */
static void draw_lines(struct str_buf *b, const struct ks_inside *x,
                       const struct ks_inside_family *f, int rows)
{
    int last = NODE_ROW + (rows - 1) * STEP + BOX_H / 2;
    str_appendf(b, "<path d=\"M%d %dL%d %d\" stroke=\"currentColor\"/>", BUS,
                TOP + BOX_H + 24 + BOX_H, BUS, last);
    if (!x->local && f->has_shares && rows > 1 && !f->topology.in_force) {
        str_appendf(b, "<path d=\"M%d %dL%d %d\" stroke=\"currentColor\"/>", PODS_X - 16,
                    NODE_ROW + BOX_H / 2, PODS_X - 16, last);
    }
}

static void picture(struct str_buf *b, struct arena *a, const struct status_service *s,
                    const struct ks_inside *x, const struct ks_inside_family *f)
{
    size_t n = f->n_nodes > PICTURE_NODES ? PICTURE_NODES : f->n_nodes;
    int rows = (int)n + (f->n_nodes > n ? 1 : 0);
    int height = NODE_ROW + rows * STEP;
    int version = f->family == KS_IPV6 ? 6 : 4;
    if (rows == 0) {
        return;
    }
    str_appendf(
        b,
        "<svg role=\"img\" aria-labelledby=\"way%d way%d-more\" viewBox=\"0 0 %d %d\" "
        "width=\"%d\" font-size=\"15\" fill=\"currentColor\"><title id=\"way%d\">The way to ",
        version, version, WIDE, height, WIDE, version);
    status_html_text(b, s->row.key);
    str_appendf(b, "</title><desc id=\"way%d-more\">Clients, ", version);
    status_html_text(b, first_address(a, s, f->family));
    str_appendf(b, ", %s, pods. The table below says the same.</desc>\n",
                str_count(a, f->n_nodes, "node"));
    labelled(b, BUS - 12, TOP, WIDE - 12, false,
             (const char *const[]){"Clients outside", "come to the load balancer"});
    arrow(b, BUS, TOP + BOX_H, BUS, TOP + BOX_H + 24);
    labelled(b, BUS - 12, TOP + BOX_H + 24, WIDE - 12, false,
             (const char *const[]){first_address(a, s, f->family),
                                   x->local ? "sends to nodes with ready pods (policy Local)"
                                            : "sends to any node (policy Cluster)"});
    draw_lines(b, x, f, rows);
    for (size_t i = 0; i < n; i++) {
        draw_node(b, a, x, &f->nodes[i], NODE_ROW + (int)i * STEP);
    }
    (void)draw_rest(b, a, f, NODE_ROW + (int)n * STEP);
    str_append(b, "</svg>\n");
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void cell(struct str_buf *b, const char *is, const char *value)
{
    str_appendf(b, "<td data-is=\"%s\">", is);
    status_html_text(b, value);
    str_append(b, "</td>");
}

static void node_row(struct str_buf *b, struct arena *a, const struct ks_inside_node *n)
{
    str_append(b, "<tbody><tr><td class=\"name\">");
    status_html_name(b, n->name);
    str_append(b, "</td>");
    cell(b, "zone", str_or(n->zone, "not known"));
    cell(b, "pods", pods_words(a, n));
    cell(b, "health check", str_or(ks_inside_health(a, n->weight), "of kube-proxy alone"));
    cell(b, "traffic to the node",
         n->left_out != NULL ? arena_printf(a, "none: %s", n->left_out)
                             : ks_inside_percent(a, n->traffic));
    cell(b, "a pod's share", each_words(a, n));
    str_append(b, "</tr></tbody>\n");
}

static void table(struct str_buf *b, struct arena *a, const struct ks_inside_family *f)
{
    if (f->n_nodes == 0) {
        return;
    }
    str_append(b, "<table><thead><tr><th>Node<th>Zone<th>Pods<th>Health check answers"
                  "<th>Traffic to the node<th>A pod's share</tr></thead>\n");
    for (size_t i = 0; i < f->n_nodes && i < TABLE_NODES; i++) {
        node_row(b, a, &f->nodes[i]);
    }
    str_append(b, "</table>\n");
    if (f->n_nodes > TABLE_NODES) {
        str_appendf(b, "<p>%zu more nodes with pods are not shown.</p>\n",
                    f->n_nodes - TABLE_NODES);
    }
}

static void family(struct str_buf *b, struct arena *a, const struct status_service *s,
                   const struct ks_inside *x, const struct ks_inside_family *f)
{
    str_append(b, "<p>");
    if (x->n_families > 1) {
        str_append(b, f->family == KS_IPV4 ? "IPv4: " : "IPv6: ");
    }
    str_append(b, f->port == NULL ? "the Service has no endpoints" : ks_inside_summary(a, f));
    if (f->n_empty > 0) {
        str_appendf(b, "; %s without a ready pod %s", str_count(a, f->n_empty, "node"),
                    x->local && f->weighed == KS_WEIGHED_OPEN
                        ? "get traffic all the same, for no node passes the health check"
                    : x->local        ? "get no traffic"
                    : f->n_empty == 1 ? "passes its traffic on"
                                      : "pass their traffic on");
    }
    str_append(b, ".</p>\n");
    picture(b, a, s, x, f);
    table(b, a, f);
}

void status_html_inside(struct str_buf *b, const struct status_view *v,
                        const struct status_service *s)
{
    const struct ks_inside *x = v->inside;
    struct arena *a = arena_new();
    if (v->endpoints == STATUS_ENDPOINTS_UNREAD || s->row.state == BOARD_ELSEWHERE) {
        arena_free(a);
        return;
    }
    str_append(b, "<h2>Inside the cluster</h2>\n");
    if (v->endpoints == STATUS_ENDPOINTS_UNWATCHED) {
        str_append(b, "<p>This process watches no endpoints: the provider needs none.</p>\n");
    } else if (x == NULL) {
        str_append(b, "<p>The Service has no EndpointSlice.</p>\n");
    }
    for (size_t i = 0; x != NULL && i < x->n_families; i++) {
        family(b, a, s, x, &x->families[i]);
    }
    if (x != NULL) {
        str_appendf(b, "<p>Source address: %s.</p>\n", x->source_text);
    }
    if (x != NULL && !x->local && x->families[0].topology.wish != KS_WISH_NONE) {
        str_append(b,
                   "<p>The Service asks for topology hints, which this process does not keep: the "
                   "shares are those without hints.</p>\n");
    }
    str_append(b, "<p class=\"quiet\">Pods by name, zones and topology hints: trimtab explain ");
    status_html_name(b, s->row.key);
    str_append(b, "</p>\n");
    arena_free(a);
}
