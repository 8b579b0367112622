/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_orphans.c: `trimtab orphans`: what is ours in the cloud, and belongs to no Service any more.
 *
 * The provider says what is ours and which Service it is for (list_owned); what a Service has is
 * left out here.  Nothing is changed without --delete.  Exit 0 if there is none; 2: there are
 * some; 1: error. */
#include "controller/cmd/cmd_orphans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/output.h"
#include "controller/cmd/commands.h"

static const char usage[] =
    "Lists resources of trimtab that no Service uses, with ages and costs.\n"
    "\n"
    "Usage:\n"
    "  trimtab orphans [RESOURCE…] [[NAMESPACE/|svc/]NAME…] [-n NAMESPACE] [-f FILE…]\n"
    "                  --cloud-provider=NAME [--cloud-config=FILE] [flags]\n"
    "\n"
    "A name is a resource's, or a Service's: then it is about what is left of that. -f names the\n"
    "Services of manifests.\n"
    "\n"
    "With --delete it takes them away after a question, Service by Service, as the controller\n"
    "would after the Service's deletion. A resource that may be another cluster's is only\n"
    "deleted when it is named. A resource without a known owner is never deleted: the command to\n"
    "do it by hand is shown. A name that is neither an orphan's nor a Service's is an error:\n"
    "nothing is deleted then.\n"
    "\n"
    "--delete deletes nothing, and exits 1, while a controller holds its lease: that one may be\n"
    "making what looks like an orphan. Stop it first, or pass --force.\n"
    "\n"
    "Examples:\n"
    "  trimtab orphans --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc\n"
    "  trimtab orphans --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc --delete\n"
    "  # a saved state in place of cluster and cloud\n"
    "  trimtab orphans --cloud-provider=gce --state=world.json -o json\n"
    "\n"
    "Exit status: 0 there is none, 2 there are some, 1 error.\n";

/* ---- listing --------------------------------------------------------------------------------- */

static void unref_object(void *o)
{
    kube_object_unref(o);
}

/* A copy that outlives the call; NULL if it is not a Service. */
static const struct tt_service *copy_service(struct orphans *o, const struct tt_service *svc)
{
    struct kube_object *object = kube_object_gone(svc);
    if (object == NULL) {
        return NULL;
    }
    arena_defer(o->s.a, unref_object, object);
    return object->service;
}

static const char *dup(const struct orphans *o, const char *text)
{
    return arena_strdup(o->s.a, str_nonnull(text));
}

static void on_resource(void *arg, const struct tt_owned *owned)
{
    struct orphans *o = arg;

    orphans_note_name(o, owned);
    if ((owned->flags & TT_OWNED_USED) != 0) {
        return;
    }
    o->items = cmd_grow(o->s.a, o->items, o->n, &o->cap, sizeof(*o->items));
    o->items[o->n++] = (struct orphan){
        .kind = dup(o, owned->kind),
        .name = dup(o, owned->name),
        .place = dup(o, owned->place),
        .owner = dup(o, owned->owner),
        .cost = dup(o, owned->cost),
        .command = dup(o, owned->command),
        .created_us = owned->created_us,
        .unsure = (owned->flags & TT_OWNED_UNSURE) != 0,
        .remove_as = owned->remove_as == NULL ? NULL : copy_service(o, owned->remove_as),
    };
}

static int cmp_orphan(const void *x, const void *y)
{
    const struct orphan *a = x;
    const struct orphan *b = y;
    int c = (a->owner[0] == '\0') - (b->owner[0] == '\0');

    c = c != 0 ? c : strcmp(a->owner, b->owner);
    c = c != 0 ? c : strcmp(a->kind, b->kind);
    c = c != 0 ? c : strcmp(a->name, b->name);
    return c != 0 ? c : strcmp(a->place, b->place);
}

static bool is_named(const struct orphans *o, const struct orphan *item)
{
    for (size_t i = 0; i < o->names.n; i++) {
        if (str_eq(o->names.items[i], item->name)) {
            return true;
        }
    }
    return false;
}

static bool is_of_named_service(const struct orphans *o, const struct orphan *item)
{
    for (size_t i = 0; i < o->n_services; i++) {
        if (str_eq(o->services[i], item->owner)) {
            return true;
        }
    }
    return false;
}

static bool is_in_namespace(const struct orphans *o, const struct orphan *item)
{
    return o->ns == NULL || str_has_prefix(item->owner, arena_printf(o->s.a, "%s/", o->ns));
}

/* Does the command line name anything? */
static bool is_asked(const struct orphans *o)
{
    return o->names.n + o->n_services > 0;
}

bool orphans_go_together(const struct tt_service *a, const struct tt_service *b)
{
    if (!str_is_empty(a->uid) || !str_is_empty(b->uid)) {
        return str_eq(a->uid, b->uid);
    }
    return str_eq(a->ns, b->ns) && str_eq(a->name, b->name);
}

/* Is any of the resources that go together one that was named? */
static bool is_named_with_others(const struct orphans *o, const struct orphan *item)
{
    for (size_t i = 0; i < o->n; i++) {
        const struct tt_service *svc = o->items[i].remove_as;
        if (svc != NULL && orphans_go_together(svc, item->remove_as) && is_named(o, &o->items[i])) {
            return true;
        }
    }
    return false;
}

static void choose(struct orphans *o)
{
    o->n_chosen = 0;
    for (size_t i = 0; i < o->n; i++) {
        struct orphan *item = &o->items[i];
        bool all = !is_asked(o) && is_in_namespace(o, item);
        bool meant = !item->unsure && (all || is_of_named_service(o, item));
        item->chosen = item->remove_as != NULL && (meant || is_named_with_others(o, item));
        o->n_chosen += item->chosen;
    }
}

static bool is_shown(const struct orphans *o, const struct orphan *item)
{
    if (!is_asked(o)) {
        return is_in_namespace(o, item);
    }
    return item->chosen || is_named(o, item) || is_of_named_service(o, item);
}

/* Only what was named, and what goes with it. */
static void narrow(struct orphans *o)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->n; i++) {
        if (is_shown(o, &o->items[i])) {
            o->items[kept++] = o->items[i];
        }
    }
    o->n = kept;
}

static int failed_list(const struct orphans *o, int32_t code, struct err *err)
{
    const struct cmd_session *s = &o->s;

    for (size_t i = s->n_findings; i > 0; i--) {
        if (s->findings[i - 1].severity == TT_LOG_ERROR) {
            return err_set(err, code, "listing resources of trimtab: %s",
                           s->findings[i - 1].message);
        }
    }
    return err_set(err, code, "listing resources of trimtab: the provider said %s without a reason",
                   err_code_name(code));
}

int orphans_list(struct orphans *o, struct err *err)
{
    struct cmd_session *s = &o->s;
    struct host_call *c = host_call_begin(s->host, s->a, 1, cmd_wait_left_ms(s->wait), 0, NULL);

    o->n = 0;
    o->first_finding = s->n_findings;
    cmd_wait_for(s->wait, "listing resources of trimtab");
    host_call_set_planning(c);
    host_call_enter(c, "list_owned");
    int32_t code = s->plugin->desc.list_owned(s->provider, host_call_abi(c));
    host_call_end(c);
    cmd_wait_end(s->wait);
    if (code != TT_OK) {
        return failed_list(o, code, err);
    }
    if (o->n > 0) {
        qsort(o->items, o->n, sizeof(*o->items), cmp_orphan);
    }
    choose(o);
    narrow(o);
    return ERR_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void warn(const struct cmd_session *s)
{
    for (size_t i = 0; i < s->n_findings; i++) {
        if (s->findings[i].severity == TT_LOG_WARNING) {
            fprintf(stderr, "warning: %s%s%s\n", str_clean(s->a, s->findings[i].where),
                    *s->findings[i].where == '\0' ? "" : ": ",
                    str_clean(s->a, s->findings[i].message));
        }
    }
}

static void print(const struct orphans *o)
{
    int64_t now_us = clock_wall_us(clock_real());

    if (str_eq(o->s.args.output, "json")) {
        orphans_print_json(o, now_us);
    } else {
        orphans_print_text(o, now_us);
    }
}

/* The files only name Services; the cluster's are what counts. */
static int read_targets(struct orphans *o, struct cmd_targets *ret, struct err *err)
{
    struct cmd_session *s = &o->s;

    s->args.validate = "ignore";
    int code = cmd_targets_read(s->a, &s->args, ret, err);
    o->names = s->args.words;
    o->ns = s->args.ns;
    s->args.words = (struct cmd_list){0};
    s->args.files = (struct cmd_list){0};
    return code;
}

/* A word may be a resource's name as well: one with several slashes is not a Service's. */
static int find_services(struct orphans *o, struct cmd_targets *t, struct err *err)
{
    const struct cmd_manifests *m = &t->manifests;
    const char *ns = o->s.config != NULL ? o->s.config->ns : NULL;

    o->keys = ARENA_ARRAY(o->s.a, const char *, o->names.n);
    o->services = ARENA_ARRAY(o->s.a, const char *, o->names.n + m->n);
    for (size_t i = 0; i < o->names.n; i++) {
        const char *word = o->names.items[i];
        const char *slash = strchr(word, '/');
        if (slash != NULL && strchr(slash + 1, '/') != NULL) {
            continue;
        }
        int code = cmd_targets_key(o->s.a, t, word, ns, &o->keys[i], err);
        if (code != ERR_OK) {
            return code;
        }
        o->services[o->n_services++] = o->keys[i];
    }
    for (size_t i = 0; i < m->n; i++) {
        o->services[o->n_services++] = arena_printf(
            o->s.a, "%s/%s", str_or(m->items[i].ns, cmd_targets_ns(t, ns)), m->items[i].name);
    }
    return ERR_OK;
}

static int open_all(struct orphans *o, struct err *err)
{
    struct cmd_session *s = &o->s;
    struct cmd_targets targets;

    int code = read_targets(o, &targets, err);
    if (code != ERR_OK) {
        return code;
    }
    s->on_resource = on_resource;
    s->writes = s->args.delete;
    if (s->plugin->desc.list_owned == NULL) {
        return err_set(err, ERR_INVALID, "the provider %s cannot list its resources in the cloud",
                       s->plugin->desc.name);
    }
    code = cmd_session_load(s, err);
    if (code == ERR_OK) {
        code = find_services(o, &targets, err);
    }
    return code == ERR_OK ? cmd_session_open(s, err) : code;
}

/* 0 or 2; 1 after a failure, which is in *err. */
static int run(struct orphans *o, struct err *err)
{
    bool json = str_eq(o->s.args.output, "json");
    int code = open_all(o, err);

    if (code == ERR_OK) {
        code = orphans_list(o, err);
    }
    if (code == ERR_OK) {
        code = orphans_check_names(o, err);
    }
    if (code != ERR_OK) {
        return 1;
    }
    warn(&o->s);
    if (!o->s.args.delete) {
        print(o);
        return o->n > 0 ? 2 : 0;
    }
    if (!json) {
        print(o);
    }
    if (o->n_chosen == 0) {
        if (json) {
            print(o);
        }
        return o->n > 0 ? 2 : 0;
    }
    code = orphans_may_delete(o, err);
    if (code == ERR_OK && output_flush(NULL) != ERR_OK) { /* why is said at the end of main() */
        code = err_set(err, ERR_TRANSIENT, "the list cannot be shown, so nothing has been deleted");
    }
    if (code == ERR_OK) {
        code = orphans_delete(o, err);
        print(o);
    }
    return code != ERR_OK ? 1 : o->n > 0 ? 2 : 0;
}

int cmd_orphans(int argc, char **argv)
{
    struct orphans o = {0};
    struct err err = ERR_INIT;
    bool done = false;
    int status = 0;
    int code = cmd_session_begin(&o.s, CMD_ORPHANS, usage, argc, argv, &done, &err);

    if (code == ERR_OK && !done) {
        status = run(&o, &err);
    }
    if (err.code != ERR_OK) {
        status = cmd_session_fail(&o.s, &err);
    }
    cmd_session_done(&o.s);
    return status;
}
