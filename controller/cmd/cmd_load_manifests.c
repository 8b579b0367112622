/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_load_manifests.c: the Services of -f as the API server would store them, beside what the
 * cluster has; see cmd_load.h.
 *
 * Each is completed here, or by the API server where --server-dry-run asks it, and then decoded as
 * the controller decodes it.  A Service that the server would refuse becomes a fault; the command
 * prints all faults together. */
#include <stdio.h>

#include "common/lb/service_rules.h"
#include "controller/cmd/cmd_dry_run.h"
#include "controller/cmd/cmd_load.h"
#include "controller/cmd/cmd_meta_rules.h"
#include "controller/cmd/cmd_namespaces.h"
#include "controller/cmd/cmd_service_rules.h"

/* The live object, whole: *ret NULL when there is none.  New reference. */
static int get_live(struct cmd_session *s, const struct cmd_manifest *m, struct json_object **ret,
                    struct err *err)
{
    struct kube_response resp;
    char *path;
    struct json_object *items = json_path(s->world, "kubernetes.services");
    *ret = NULL;
    for (size_t i = 0; s->client == NULL && i < json_len(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        if (str_eq(json_str(json_member(o, "metadata"), "name"), m->name) &&
            str_eq(json_str(json_member(o, "metadata"), "namespace"), m->ns)) {
            *ret = json_copy(o);
        }
    }
    if (s->client == NULL) {
        return ERR_OK;
    }
    int code = kube_path(s->a, "v1", m->ns, "services", m->name, NULL, &path, err);
    if (code == ERR_OK) {
        code =
            kube_client_do(s->client, s->a, &(struct kube_request){.method = "GET", .path = path},
                           NULL, &resp, err);
    }
    if (code == ERR_NOT_FOUND) {
        err_clear(err);
        return ERR_OK;
    }
    return code == ERR_OK ? json_parse(resp.body, resp.body_len, NULL, ret, err) : code;
}

void cmd_load_note(struct cmd_session *s, const char *key, const char *text)
{
    s->notes = cmd_grow(s->a, s->notes, s->n_notes, &s->cap_notes, sizeof(*s->notes));
    s->notes[s->n_notes++] = (struct cmd_note){.key = key, .text = text};
}

const char *cmd_load_config_ns(const struct cmd_session *s)
{
    return s->config != NULL ? s->config->ns : NULL;
}

static void note_some(struct cmd_session *s, const char *key, const char *text)
{
    if (text != NULL) {
        cmd_load_note(s, key, text);
    }
}

/* A manifest on its way. */
struct loading {
    const struct cmd_manifest *m;
    struct json_object *live;  /* the cluster's object, or NULL; reference */
    struct json_object *whole; /* as it would be stored; reference */
    struct cmd_faults *faults;
    struct cmd_namespaces *namespaces;
    bool asked; /* `whole` is the API server's answer, or it refused */
};

/* Prints once for creates, and once for patches, that the user may not ask for a dry run. */
static void tell_lacking(struct cmd_session *s, bool create, const char *lacking)
{
    bool *told = create ? &s->told_no_create : &s->told_no_patch;
    if (!*told) {
        fprintf(stderr, "note: --server-dry-run: %s; the plan goes on without it\n",
                str_clean(s->a, lacking));
    }
    *told = true;
}

/* Puts the API server's answer to a dry run in the place of l->whole, unless the user may not ask.
 * A refusal of the object becomes a fault. */
static int ask_server(struct cmd_session *s, struct loading *l, struct err *err)
{
    struct cmd_dry_run d = {.a = s->a, .client = s->client, .validate = s->targets.validate};
    struct json_object *answer = NULL;
    int code = cmd_dry_run_ask(&d, l->m, l->live, &answer, err);
    if (code != ERR_OK && cmd_dry_run_refuses(err)) {
        cmd_faults_add(l->faults, &l->m->origin, NULL, true, "the API server refuses it: %s",
                       err->message);
        err_clear(err);
        l->asked = true;
        return ERR_OK;
    }
    if (d.lacking != NULL) {
        tell_lacking(s, l->live == NULL, d.lacking);
    }
    if (answer != NULL) {
        const struct cmd_dry_run_notes notes = cmd_dry_run_compare(s->a, l->whole, answer);
        const char *key = arena_printf(s->a, "%s/%s", l->m->ns, l->m->name);
        note_some(s, key, notes.filled);
        note_some(s, key, notes.changed);
        json_object_put(l->whole);
        l->whole = answer;
        l->asked = true;
    }
    return code;
}

void cmd_load_note_type(struct cmd_session *s, const char *key, const struct tt_service *svc,
                        bool is_default)
{
    const char *says = is_default ? "spec.type is not set, so it is of type " : "it is of type ";
    cmd_load_note(s, key, arena_printf(s->a, "%s%s", says, svc->type));
    s->notes[s->n_notes - 1].is_answer = true;
}

static void add_service(struct cmd_session *s, const struct loading *l, const struct kube_object *o,
                        const char *made_up)
{
    const char *key = svc_key(s->a, o->service);
    cmd_load_service(s, o->service);
    cmd_load_want(s, key);
    if (!str_eq(o->service->type, "LoadBalancer")) { /* what else there is to say matters to none */
        bool has_type = json_str(json_member(l->m->object, "spec"), "type") != NULL;
        cmd_load_note_type(s, key, o->service, !has_type && l->live == NULL);
        return;
    }
    note_some(s, key, made_up);
    if (s->client == NULL && s->world == NULL) {
        cmd_load_note(s, key, "no cluster is read → its id and other Services are unknown");
    }
}

static int complete_and_add(struct cmd_session *s, struct loading *l, struct err *err)
{
    struct kube_object *o = NULL;
    const char *made_up = NULL;
    size_t before = l->faults->n;
    int code = get_live(s, l->m, &l->live, err);
    if (code == ERR_OK) {
        l->whole = cmd_manifest_complete(s->a, l->m, l->live, &made_up);
    }
    if (code == ERR_OK && s->args.server_dry_run) {
        code = ask_server(s, l, err);
    }
    bool is_known = s->client != NULL || s->world != NULL;
    if (code == ERR_OK && !l->asked && l->live == NULL && is_known) {
        cmd_meta_check_new(l->faults, &l->m->origin, l->m->object);
        code = cmd_namespaces_check(l->namespaces, l->m, l->faults, err);
    }
    if (code == ERR_OK && !l->asked) {
        cmd_service_check(l->faults, &l->m->origin, l->whole, l->live);
    }
    if (code == ERR_OK && l->faults->n == before) {
        code = cmd_load_decode(s, KUBE_SERVICE, l->whole, &o, err);
    }
    if (o != NULL) {
        add_service(s, l, o, l->asked && l->live != NULL ? NULL : made_up);
    }
    return code;
}

/* Adds the Service of a manifest as the API server would store it; what it would refuse
 * becomes a fault. */
static int load_manifest(struct cmd_namespaces *namespaces, const struct cmd_manifest *m,
                         struct cmd_faults *faults, struct err *err)
{
    struct cmd_session *s = namespaces->s;
    struct loading l = {.m = m, .faults = faults, .namespaces = namespaces};
    int code = complete_and_add(s, &l, err);
    if (code != ERR_OK) {
        (void)err_prefix(err, "%s", m->origin.file);
    }
    json_object_put(l.live);
    json_object_put(l.whole);
    return code;
}

int cmd_load_manifests(struct cmd_session *s, struct err *err)
{
    struct cmd_manifests *m = &s->targets.manifests;
    struct cmd_faults faults = {.a = s->a};
    struct cmd_namespaces namespaces = {.s = s};
    int code = ERR_OK;
    if (s->args.server_dry_run && (s->client == NULL || m->n == 0)) {
        return err_set(
            err, ERR_INVALID,
            "--server-dry-run asks the API server about manifests: it needs -f FILE, and a "
            "cluster (--kubeconfig=FILE)");
    }
    const char *ns = cmd_targets_ns(&s->targets, cmd_load_config_ns(s));
    cmd_targets_check_twice(m, ns, &faults);
    if (s->client != NULL && m->n > 0) { /* a request for each, two with a dry run */
        cmd_wait_for(s->wait, s->args.server_dry_run ? "asking the API server about the manifests"
                                                     : "reading the Services of the manifests");
    }
    for (size_t i = 0; code == ERR_OK && i < m->n; i++) {
        m->items[i].ns = str_or(m->items[i].ns, ns);
        code = load_manifest(&namespaces, &m->items[i], &faults, err);
        cmd_wait_count(s->wait, i + 1, m->n);
    }
    cmd_wait_end(s->wait);
    return code == ERR_OK ? cmd_faults_settle(&faults, CMD_VALIDATE_STRICT, err) : code;
}
