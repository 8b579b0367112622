/* SPDX-License-Identifier: Apache-2.0 */
/* gce_decide.c: which load balancer a Service gets, as one walk through one tree.
 *
 *     marks      what it carries of each kind: finalizers, the rule of its legacy name, its class,
 *                annotation neg-status
 *     wish       nothing (deleted, no LoadBalancer), or what class and annotation ask for
 *     choice     a mark of a kind of that side decides before any flag does: kinds stick
 *     the rest   marks of other kinds are `former`: they go first
 *
 * Each question leaves a row for explain (lb_explain_decision), so that what people read is the
 * path that was gone.  A kind whose part this process does not run is returned (`is`), but not
 * built.  Pure. */
#include "providers/gce/decide/gce_decide.h"

#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "providers/gce/decide/gce_decide_table.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "providers/gce/model/gce_network_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/model/gce_svcneg_rules.h"

#include <string.h>

#define BIT(kind) (1u << (unsigned)(kind))
#define BIT_NETLB (BIT(GCE_KIND_NETLB_GROUPS) | BIT(GCE_KIND_NETLB_NEGS))
#define BIT_ILB   (BIT(GCE_KIND_ILB_GROUPS) | BIT(GCE_KIND_ILB_NEGS))

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
    const struct gce_case *c;
    const struct tt_service *s;
    const struct gce_switches *f;
    struct gce_decision *d;
    struct lb_explain *trace; /* NULL: not traced */
    unsigned has_finalizers;  /* bits of kinds */
    unsigned has_rule;        /* bit of the kind that the rule found belongs to */
};

static void note(const struct walk *w, const char *what, const char *found, const char *so)
{
    lb_explain_decision(w->trace, what, found, so);
}

static void chose(const struct walk *w, enum row row)
{
    w->d->is = gce_rows[row].kind;
    w->d->rule = gce_rows[row].id;
    w->d->says = gce_rows[row].when;
}

static bool has(const struct walk *w, enum gce_kind kind)
{
    return (w->has_finalizers & BIT(kind)) != 0;
}

/* A question about a finalizer, and what follows when it is there. */
static bool asks_finalizer(const struct walk *w, enum gce_kind kind, const char *so)
{
    note(w, gce_kinds[kind].mark, has(w, kind) ? "set" : "absent", has(w, kind) ? so : NULL);
    return has(w, kind);
}

/* The row by the existing backend service; ROW_MAX: undecided. */
static enum row members_found(const struct gce_case *c)
{
    const char *group = str_nonnull(c->backend_group);
    if (c->backend_found != GCE_FOUND_PRESENT || !str_eq(c->backend_scheme, "EXTERNAL")) {
        return ROW_MAX;
    }
    if (strstr(group, "/instanceGroups/") != NULL) {
        return ROW_MEMBERS_ARE_GROUPS;
    }
    return strstr(group, "/networkEndpointGroups/") != NULL ? ROW_MEMBERS_ARE_NEGS : ROW_MAX;
}

/* The kind that the rule of the legacy name belongs to. */
static enum gce_kind kind_of_rule(const struct walk *w)
{
    if (str_eq(w->c->rule.scheme, "INTERNAL")) {
        return GCE_KIND_ILB_GROUPS;
    }
    if (str_is_empty(w->c->rule.backend_service)) {
        return GCE_KIND_TARGET_POOL;
    }
    if (has(w, GCE_KIND_NETLB_GROUPS) || has(w, GCE_KIND_NETLB_NEGS)) {
        return has(w, GCE_KIND_NETLB_NEGS) ? GCE_KIND_NETLB_NEGS : GCE_KIND_NETLB_GROUPS;
    }
    return members_found(w->c) == ROW_MEMBERS_ARE_NEGS ? GCE_KIND_NETLB_NEGS
                                                       : GCE_KIND_NETLB_GROUPS;
}

static unsigned kinds_by_finalizers(const struct tt_service *s)
{
    unsigned kinds = 0;
    for (int k = 0; k < GCE_KIND_MAX; k++) {
        if (gce_kinds[k].finalizer != NULL && svc_has_finalizer(s, gce_kinds[k].finalizer)) {
            kinds |= BIT(k);
        }
    }
    return kinds;
}

static bool wants_nothing(const struct gce_case *c)
{
    return c->gone || c->service->deleted_us != 0 || !str_eq(c->service->type, "LoadBalancer");
}

/* Finalizers that went in one edit with the type, or with the class, tell still. */
static void find_marks(struct walk *w)
{
    const struct tt_service *was = wants_nothing(w->c) ? w->c->previous : NULL;
    w->has_finalizers = kinds_by_finalizers(w->s) | (was == NULL ? 0 : kinds_by_finalizers(was));
    if (w->c->rule_found == GCE_FOUND_PRESENT && gce_rule_is_own(w->s, &w->c->rule)) {
        w->has_rule = BIT(kind_of_rule(w));
    }
}

/* Kinds of which a rule stands. */
static unsigned kinds_with_rules(const struct walk *w)
{
    return w->has_rule | (w->c->has_l4_rule ? BIT(GCE_KIND_ILB_NEGS) : 0);
}

/* Kinds whose Services have NEGs, too, and the annotation that tells them. */
static bool has_l4_finalizer(const struct walk *w)
{
    return (w->has_finalizers & (BIT(GCE_KIND_ILB_NEGS) | BIT_NETLB)) != 0;
}

/* NEGs alone leave no finalizer on a Service (§1.3): the class shows that it has some, as long
 * as it has one, or by the annotation that names them. */
static unsigned mark_of_negs(const struct walk *w)
{
    bool by_class = str_eq(w->s->lb_class, GCE_CLASS_STANDALONE);
    bool by_status = gce_kind_is_run(w->f, GCE_KIND_NEGS_ONLY) && !has_l4_finalizer(w) &&
                     gce_neg_status_names_nodes(svc_annotation(w->s, GCE_ANN_NEG_STATUS));
    return by_class || by_status ? BIT(GCE_KIND_NEGS_ONLY) : 0;
}

static bool rule_has_service(const struct walk *w)
{
    return (w->has_rule & BIT_NETLB) != 0;
}

/* The rule of the legacy name, whatever made it. */
static void note_rule(const struct walk *w, const char *so)
{
    const char *found = w->c->rule_found == GCE_FOUND_FAILED      ? "unreadable"
                        : w->c->rule_found == GCE_FOUND_UNKNOWN   ? "not looked for"
                        : w->c->rule_found == GCE_FOUND_ABSENT    ? "absent"
                        : w->has_rule == 0                        ? "another owner's"
                        : rule_has_service(w)                     ? "external, backend service"
                        : w->has_rule == BIT(GCE_KIND_ILB_GROUPS) ? "internal"
                        : str_is_empty(w->c->rule.target)         ? "external"
                                                                  : "external, target pool";
    note(w, "forwarding rule a<uid>", found, so);
}

static bool rule_has_pool(const struct walk *w)
{
    return w->c->rule_found == GCE_FOUND_PRESENT && !str_is_empty(w->c->rule.target) &&
           w->has_rule == BIT(GCE_KIND_TARGET_POOL);
}

/* The question about the rule, and what follows when it holds. */
static bool asks_rule(const struct walk *w, bool holds, const char *so)
{
    note_rule(w, holds ? so : NULL);
    return holds;
}

/* ---- groups or NEGs (§1.6.3) ----------------------------------------------------------------- */

static enum row members_row(const struct walk *w, bool stands)
{
    bool flag_counts = w->f->run_netlb && !w->d->teardown;
    if (has(w, GCE_KIND_NETLB_NEGS) && !flag_counts) {
        return ROW_MEMBERS_V3; /* what was made, whatever the flag says now, or says here */
    }
    if (!w->f->neg_netlb) {
        return ROW_MEMBERS_FLAG_OFF;
    }
    if (has(w, GCE_KIND_NETLB_GROUPS)) {
        return ROW_MEMBERS_V2;
    }
    if (has(w, GCE_KIND_NETLB_NEGS)) {
        return ROW_MEMBERS_V3;
    }
    /* Upstream looks only where NEGs are the default; who lost its finalizers keeps
     * its members here. */
    enum row found = ROW_MAX;
    if (stands || w->f->neg_default) {
        found = members_found(w->c);
        if (w->c->backend_found == GCE_FOUND_UNKNOWN || w->c->backend_found == GCE_FOUND_FAILED) {
            w->d->needs |= GCE_NEEDS_BACKEND;
        }
    }
    if (found != ROW_MAX) {
        return found;
    }
    return w->f->neg_default ? ROW_MEMBERS_NEG_DEFAULT : ROW_MEMBERS_DEFAULT;
}

static void choose_members(const struct walk *w)
{
    static const char *const words[] = {"NEGs are off",      "finalizer v2",   "finalizer v3",
                                        "has groups",        "has NEGs",       "NEGs by default",
                                        "groups by default", "another network"};
    bool stands = rule_has_service(w) || str_eq(w->d->rule, gce_rows[ROW_NETLB_RULE].id);
    enum row row = members_row(w, stands);
    w->d->mark = gce_rows[row].kind;
    if (w->d->mark == GCE_KIND_NETLB_GROUPS && w->f->multi_network &&
        gce_network_of_service(w->s) != NULL) {
        row = ROW_MEMBERS_NETWORK; /* instance groups are in the cluster's network only */
    }
    w->d->is = gce_rows[row].kind;
    w->d->members = gce_rows[row].id;
    w->d->members_say = gce_rows[row].when;
    if (w->f->run_netlb) { /* else another process has these flags */
        note(w, "members", words[row - ROW_MEMBERS_FLAG_OFF],
             w->d->is == GCE_KIND_NETLB_NEGS ? "GCE_VM_IP NEGs" : "instance groups");
    }
}

/* ---- what it is (§1.4) ----------------------------------------------------------------------- */

/* False: the look at the rule failed, and nothing is decided without it. */
static bool knows_rule(const struct walk *w)
{
    if (w->c->rule_found == GCE_FOUND_UNKNOWN || w->c->rule_found == GCE_FOUND_FAILED) {
        w->d->needs |= GCE_NEEDS_RULE;
    }
    if (w->c->rule_found == GCE_FOUND_FAILED) {
        note_rule(w, "left alone until it can be read");
        chose(w, ROW_RULE_UNREADABLE);
        return false;
    }
    return true;
}

/* The rule of another kind than that of the class tells what the Service had. */
static void note_former_rule(const struct walk *w)
{
    if (w->c->rule_found == GCE_FOUND_PRESENT) {
        bool former = (w->has_rule & ~gce_kinds[w->d->is].family) != 0;
        note_rule(w, former ? "is of another kind, which it had" : NULL);
    }
}

static void choose_by_class(const struct walk *w)
{
    static const struct {
        const char *class_;
        enum row row;
    } classes[] = {
        {GCE_CLASS_STANDALONE, ROW_CLASS_STANDALONE},
        {GCE_CLASS_INTERNAL, ROW_CLASS_INTERNAL},
        {GCE_CLASS_EXTERNAL, ROW_CLASS_EXTERNAL},
        {GCE_CLASS_INTERNAL_LEGACY, ROW_CLASS_INTERNAL_LEGACY},
        {GCE_CLASS_EXTERNAL_LEGACY, ROW_CLASS_EXTERNAL_LEGACY},
    };
    enum row row = ROW_CLASS_FOREIGN;
    if (!knows_rule(w)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        row = str_eq(w->s->lb_class, classes[i].class_) ? classes[i].row : row;
    }
    chose(w, row);
    note(w, "loadBalancerClass", w->s->lb_class,
         row == ROW_CLASS_FOREIGN ? "another controller's" : gce_kinds[w->d->is].text);
    /* A pool that the other program still has keeps the rule's name (§1.6.2 asks its guard of
     * classes, too). */
    bool marked = has(w, GCE_KIND_TARGET_POOL);
    if (row == ROW_CLASS_EXTERNAL && (marked || rule_has_pool(w)) && w->f->legacy_off) {
        chose(w, marked ? ROW_NETLB_V1 : ROW_NETLB_POOL);
    }
    note_former_rule(w);
}

/* An internal Service without a class (§1.5; gce-cloud-provider.md §5.2). */
static void choose_internal(const struct walk *w)
{
    if (!knows_rule(w)) {
        return;
    }
    if (asks_finalizer(w, GCE_KIND_ILB_GROUPS, "stays on instance groups")) {
        chose(w, ROW_ILB_V1);
    } else if (asks_rule(w, w->has_rule == BIT(GCE_KIND_ILB_GROUPS), "stays on instance groups")) {
        chose(w, ROW_ILB_RULE);
    } else if (asks_finalizer(w, GCE_KIND_ILB_NEGS, "stays with GCE_VM_IP NEGs")) {
        chose(w, ROW_ILB_V2);
    } else {
        bool on = w->f->ilb_subsets || w->f->run_ilb;
        note(w, "subsetting", on ? "on" : "off", on ? "GCE_VM_IP NEGs" : "instance groups");
        chose(w, on ? ROW_ILB_SUBSETS : ROW_ILB_DEFAULT);
    }
}

/* An external Service without a class (§1.6; gce-cloud-provider.md §8.1). */
static void choose_external(const struct walk *w)
{
    bool asked = gce_l4_has_rbs_annotation(w->s);
    if (!knows_rule(w)) {
        return;
    }
    if (asks_finalizer(w, GCE_KIND_TARGET_POOL, "stays a target pool")) {
        chose(w, ROW_NETLB_V1);
    } else if (asks_rule(w, rule_has_pool(w), "stays a target pool")) {
        chose(w, ROW_NETLB_POOL);
    } else if (asks_finalizer(w, GCE_KIND_NETLB_NEGS, "stays with GCE_VM_IP NEGs")) {
        chose(w, ROW_NETLB_V3);
    } else if (asks_finalizer(w, GCE_KIND_NETLB_GROUPS, "stays with a backend service")) {
        chose(w, ROW_NETLB_V2);
    } else if (gce_l4_netlb_has_rule(w->s, w->c->rule_found, &w->c->rule)) {
        note(w, "its backend service", "stands", "stays with a backend service");
        chose(w, ROW_NETLB_RULE);
    } else if (asked) {
        note(w, "l4-rbs annotation", "enabled", "backend service");
        chose(w, ROW_NETLB_ASKED);
    } else {
        const char *text = svc_annotation(w->s, GCE_ANN_RBS);
        note(w, "l4-rbs annotation", text == NULL ? "not set" : text, NULL);
        note(w, "default of new Services", w->f->rbs_default ? "backend service" : "target pool",
             NULL);
        chose(w, w->f->rbs_default ? ROW_NETLB_DEFAULT : ROW_POOL_DEFAULT);
    }
}

static void choose(const struct walk *w)
{
    const struct tt_service *s = w->s;
    if (s->lb_class != NULL) {
        choose_by_class(w);
    } else {
        bool internal = gce_svc_scheme(s) == GCE_INTERNAL;
        const char *type = gce_svc_type_text(s);
        note(w, "loadBalancerClass", "not set", NULL);
        _cleanup_(arena_freep) struct arena *a = arena_new();
        bool slip = gce_svc_type_slip(a, s) != NULL;
        note(w, "load-balancer-type", type == NULL ? "not set" : type,
             internal ? "internal"
             : slip   ? "external: not understood; \"Internal\" was probably meant"
                      : "external");
        if (internal) {
            choose_internal(w);
        } else {
            choose_external(w);
        }
    }
    if ((BIT(w->d->is) & BIT_NETLB) != 0) {
        choose_members(w);
    }
}

/* ---- what is done about it ------------------------------------------------------------------- */

static unsigned run_kinds(const struct gce_switches *f)
{
    unsigned bits = 0;
    for (int k = 0; k < GCE_KIND_MAX; k++) {
        bits |= gce_kind_is_run(f, (enum gce_kind)k) ? BIT(k) : 0;
    }
    return bits;
}

/* The kind that goes first of several: that of the rule, then in the order of the table. */
static enum gce_kind first_kind(const struct walk *w, unsigned bits)
{
    unsigned of_rule = bits & w->has_rule;
    unsigned of_negs = bits & w->has_finalizers & BIT(GCE_KIND_NETLB_NEGS);
    unsigned from = of_negs != 0 ? of_negs : of_rule != 0 ? of_rule : bits;
    for (int k = 0; k < GCE_KIND_MAX; k++) {
        if ((from & BIT(k)) != 0) {
            return (enum gce_kind)k;
        }
    }
    return GCE_KIND_NONE;
}

/* It wants nothing that is built here; `marks` are kinds of ours that it has. */
static void tear_down(const struct walk *w, unsigned marks)
{
    w->d->teardown = true;
    w->d->is = first_kind(w, marks);
    if ((BIT(w->d->is) & BIT_NETLB) != 0) {
        choose_members(w);
    }
    w->d->kind = w->d->is;
    w->d->former = marks & ~gce_kinds[w->d->kind].family;
}

/* §1.6.2: the guards of ingress-gce, where they are ours to act on. */
static void guard(const struct walk *w)
{
    bool owned = has(w, GCE_KIND_TARGET_POOL) || rule_has_pool(w);
    if (!w->f->run_netlb || w->d->is != GCE_KIND_TARGET_POOL || !owned || w->s->lb_class != NULL) {
        return;
    }
    w->d->guard_race = (w->has_finalizers & BIT_NETLB) != 0;
    w->d->guard_migration = !w->d->guard_race && gce_l4_has_rbs_annotation(w->s);
    if (gce_l4_has_rbs_annotation(w->s)) {
        note(w, "l4-rbs annotation", "enabled", "taken away: a target pool stays one");
    }
}

/* cloud-provider-gcp alone, and ingress-gce is another process: what carries that one's marks waits
 * for it, though it has a target pool (gce-cloud-provider.md §8.4's table). */
static bool is_left_to_ingress(const struct walk *w)
{
    return w->d->is == GCE_KIND_TARGET_POOL && !w->f->run_netlb && w->s->lb_class == NULL &&
           !has(w, GCE_KIND_TARGET_POOL) &&
           !gce_svc_target_pool_is_ours(w->s, NULL, w->f->rbs_default);
}

/* The rule of the legacy name when it is of another kind than the one that the Service gets: of the
 * other side, internal or external, and where a class decides, of the same side, too. */
static unsigned rule_of_another_kind(const struct walk *w)
{
    bool internal = (w->has_rule & BIT_ILB) != 0;
    bool sticks = w->d->is == GCE_KIND_NONE || internal == gce_kind_is_internal(w->d->is);
    if (w->s->lb_class == NULL && sticks) {
        return 0;
    }
    return w->has_rule & ~gce_kinds[w->d->is].family;
}

/* A load balancer of another kind, which this process does not take away, has the name a<uid>,
 * which `is` needs, too. */
static bool is_name_taken(const struct walk *w, unsigned run)
{
    return w->d->is != GCE_KIND_NONE && w->d->is != GCE_KIND_ILB_NEGS &&
           w->d->is != GCE_KIND_NEGS_ONLY && (rule_of_another_kind(w) & ~run) != 0;
}

/* A rule alone does not tell what members it has. */
static void look_at_members(const struct walk *w, unsigned others)
{
    if (w->f->neg_netlb && (others & BIT_NETLB & ~w->has_finalizers) != 0 &&
        (w->c->backend_found == GCE_FOUND_UNKNOWN || w->c->backend_found == GCE_FOUND_FAILED)) {
        w->d->needs |= GCE_NEEDS_BACKEND;
    }
}

static void settle_wanted(const struct walk *w)
{
    unsigned run = run_kinds(w->f);
    if (is_name_taken(w, run)) {
        chose(w, ROW_NAME_TAKEN);
        w->d->is = first_kind(w, w->has_rule);
        return;
    }
    guard(w);
    bool is_run = (run & BIT(w->d->is)) != 0 && !is_left_to_ingress(w);
    unsigned of_rules = rule_of_another_kind(w) | (kinds_with_rules(w) & ~w->has_rule);
    unsigned others = (w->has_finalizers | of_rules) & run & ~gce_kinds[w->d->is].family;
    if (!gce_kind_has_negs(w->d->is)) { /* else they are taken over: their names are the same */
        others |= mark_of_negs(w) & run;
    }
    look_at_members(w, others);
    if (is_run) {
        w->d->kind = w->d->is;
        w->d->former = others;
    } else if (others != 0 && ((w->d->needs & GCE_NEEDS_RULE) == 0 || w->s->lb_class != NULL)) {
        enum gce_kind is = w->d->is;
        tear_down(w, others);
        w->d->is = is;
    }
}

/* ---- deletion (§1.7) ------------------------------------------------------------------------- */

/* The generic finalizer beside a class that the generic part does not serve: the Service was served
 * by that part before it had the class.  The rule may have gone already, and more be left. */
static bool had_legacy_part(const struct walk *w)
{
    const char *class_ = w->s->lb_class;
    return class_ != NULL && svc_has_finalizer(w->s, LB_CLEANUP_FINALIZER) && !w->f->legacy_off &&
           !str_eq(class_, GCE_CLASS_INTERNAL_LEGACY) && !str_eq(class_, GCE_CLASS_EXTERNAL_LEGACY);
}

/* Signs of resources, beside finalizers and the rule. */
static unsigned marks_of_gone(const struct walk *w)
{
    unsigned marks = w->has_finalizers | kinds_with_rules(w) | mark_of_negs(w);
    if (had_legacy_part(w)) {
        marks |= BIT(GCE_KIND_TARGET_POOL);
    }
    if (str_eq(w->s->lb_class, GCE_CLASS_EXTERNAL)) {
        marks |= BIT(GCE_KIND_NETLB_GROUPS);
    }
    if (w->c->rule_found != GCE_FOUND_PRESENT && (marks & BIT_NETLB) == 0 &&
        gce_l4_netlb_has_rule(w->s, w->c->rule_found, &w->c->rule)) {
        marks |= BIT(GCE_KIND_NETLB_GROUPS); /* a status annotation says so */
    }
    return marks;
}

/* Another process has ingress-gce's part, and its finalizer is on what has our pool's rule: that
 * one is to finish it (O6). */
static bool is_kept_for_ingress(const struct walk *w)
{
    return !w->f->run_netlb && (w->has_finalizers & BIT_NETLB) != 0 &&
           !has(w, GCE_KIND_TARGET_POOL);
}

/* A Service that was a LoadBalancer until now and bears no mark: the run that made NEGs for it may
 * have been interrupted before it could say so. */
static void settle_unnamed_negs(const struct walk *w)
{
    if (w->c->gone && w->f->standalone_negs) {
        w->d->teardown = true;
        w->d->kind = w->d->is = GCE_KIND_NEGS_ONLY;
    }
}

/* Nothing tells what it had: what it would have had is looked for by its names, where the generic
 * part is ours, because that one's finalizer is then ours to take away (docs/adr/0011).  Our mark
 * tells that it had something, when its finalizers were taken off together with its type. */
static void settle_unmarked(const struct walk *w)
{
    bool is_lb = str_eq(w->s->type, "LoadBalancer");
    bool made = mark_is_by(w->s, GCE_PROVIDER);
    if (!is_lb && !svc_has_finalizer(w->s, LB_CLEANUP_FINALIZER) && !made) {
        chose(w, ROW_NOT_LB);
        settle_unnamed_negs(w);
        return;
    }
    struct walk quiet = *w; /* the questions are in the explanation already */
    quiet.trace = NULL;
    choose(&quiet);
    enum gce_kind is = w->d->is;
    if (is == GCE_KIND_NONE) {
        return;
    }
    w->d->members = NULL;
    w->d->members_say = NULL;
    chose(w, ROW_GONE_CLEAN);
    w->d->is = is;
    if ((!w->f->legacy_off || made) && gce_kind_is_run(w->f, is)) {
        w->d->teardown = true;
        w->d->kind = is;
    }
}

static void settle_gone(const struct walk *w)
{
    bool deleted = w->s->deleted_us != 0 || w->c->gone;
    note(w, deleted ? "deletionTimestamp" : "type", deleted ? "set" : str_or(w->s->type, "not set"),
         "wants no load balancer");
    if (!knows_rule(w)) {
        return;
    }
    note_rule(w, NULL);
    unsigned marks = marks_of_gone(w);
    marks &= is_kept_for_ingress(w) ? ~BIT(GCE_KIND_TARGET_POOL) : ~0u;
    unsigned ours = marks & run_kinds(w->f);
    if (ours != 0) {
        chose(w, ROW_GONE);
        tear_down(w, ours);
    } else if (marks != 0) {
        chose(w, ROW_GONE);
        w->d->is = first_kind(w, marks);
    } else {
        settle_unmarked(w);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_conflict(const struct tt_service *s)
{
    return gce_svc_class_conflicts(s) || (str_eq(s->lb_class, GCE_CLASS_EXTERNAL) &&
                                          str_eq(svc_annotation(s, GCE_ANN_TYPE), "Internal"));
}

static void walk(const struct gce_case *c, struct lb_explain *trace, struct gce_decision *ret)
{
    struct gce_decision d = {0};
    struct gce_switches flags =
        *c->flags; /* as they are for this Service: a class has a switch of its own */
    struct walk w = {.c = c, .s = c->service, .f = &flags, .d = &d, .trace = trace};
    flags.legacy_off = !gce_legacy_is_on(c->flags, c->service);
    if (c->service == NULL) {
        chose(&w, ROW_NOT_LB);
        *ret = d;
        return;
    }
    find_marks(&w);
    if (wants_nothing(c)) {
        settle_gone(&w);
    } else {
        choose(&w);
        d.conflict = is_conflict(w.s);
        if (d.conflict) {
            note(&w, "load-balancer-type", "Internal", "does not count beside the class");
        }
        settle_wanted(&w);
    }
    d.part = gce_kinds[d.is].part;
    bool marked = (BIT(d.kind) & BIT_NETLB) != 0 && d.mark != GCE_KIND_NONE;
    d.mark = marked ? d.mark : d.kind;
    *ret = d;
}

void gce_decide(const struct gce_case *c, struct gce_decision *ret)
{
    walk(c, NULL, ret);
}

void gce_decide_explain(struct lb_explain *x, const struct gce_case *c, struct gce_decision *ret)
{
    walk(c, x, ret);
}

int64_t gce_decide_wait_ms(const struct gce_decision *d, const struct gce_case *c,
                           int64_t period_ms, int64_t wall_us)
{
    bool is_new = d->kind == GCE_KIND_ILB_NEGS && !d->teardown && d->rule != NULL &&
                  str_eq(d->rule, gce_rows[ROW_ILB_SUBSETS].id);
    if (!is_new || !c->flags->legacy_off) {
        return 0;
    }
    int64_t age_ms = (wall_us - c->service->created_us) / 1000;
    return age_ms >= 0 && age_ms < period_ms ? period_ms - age_ms : 0;
}
