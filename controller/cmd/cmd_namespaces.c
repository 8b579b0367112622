/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_namespaces.c: see cmd_namespaces.h.
 *
 * Source: the plugin NamespaceLifecycle of the API server, whose texts these are. */
#include "controller/cmd/cmd_namespaces.h"

#include "common/base/strset.h"

/* As the cluster has it. */
struct cmd_namespace {
    const char *name;
    bool absent;
    bool going; /* it is being deleted */
};

static int ask(struct cmd_session *s, struct cmd_namespace *ns, struct err *err)
{
    struct kube_response resp;
    struct json_object *o = NULL;
    char *path;
    int code = kube_path(s->a, "v1", NULL, "namespaces", ns->name, NULL, &path, err);

    if (code == ERR_OK) {
        code =
            kube_client_do(s->client, s->a, &(struct kube_request){.method = "GET", .path = path},
                           NULL, &resp, err);
    }
    if (code == ERR_NOT_FOUND || code == ERR_FORBIDDEN) {
        ns->absent = code == ERR_NOT_FOUND;
        err_clear(err);
        return ERR_OK;
    }
    if (code == ERR_OK) {
        code = json_parse_arena(s->a, resp.body, resp.body_len, NULL, &o, err);
    }
    ns->going = json_str(json_member(o, "metadata"), "deletionTimestamp") != NULL;
    return code;
}

/* Reads a namespace at its first use. */
static int look(struct cmd_namespaces *all, const char *name, struct cmd_namespace *ret,
                struct err *err)
{
    for (size_t i = 0; i < all->n; i++) {
        if (str_eq(all->items[i].name, name)) {
            *ret = all->items[i];
            return ERR_OK;
        }
    }
    *ret = (struct cmd_namespace){.name = name};
    int code = ask(all->s, ret, err);
    if (code == ERR_OK) {
        all->items = cmd_grow(all->s->a, all->items, all->n, &all->cap, sizeof(*all->items));
        all->items[all->n++] = *ret;
    }
    return code;
}

static bool is_made(const struct cmd_manifests *m, const char *name)
{
    for (size_t i = 0; i < m->n_namespaces; i++) {
        if (str_eq(m->namespaces[i], name)) {
            return true;
        }
    }
    return false;
}

/* "; did you mean prod?", of the namespaces that have Services. */
static const char *hint(const struct cmd_session *s, const char *name)
{
    const char **names = ARENA_ARRAY(s->a, const char *, s->n_services);
    for (uint32_t i = 0; i < s->n_services; i++) {
        names[i] = s->services[i]->ns;
    }
    const struct str_set each = str_set_make(s->a, names, s->n_services);
    const char **known = ARENA_ARRAY(s->a, const char *, each.n);
    for (size_t i = 0; i < each.n; i++) {
        known[i] = each.items[i];
    }
    return str_near_hint(s->a, name, known, each.n);
}

int cmd_namespaces_check(struct cmd_namespaces *all, const struct cmd_manifest *m,
                         struct cmd_faults *faults, struct err *err)
{
    static const struct cmd_path at_meta = {NULL, "metadata", 0};
    static const struct cmd_path at_ns = {&at_meta, "namespace", 0};
    struct cmd_session *s = all->s;
    struct cmd_namespace ns = {0};

    if (s->client == NULL || is_made(&s->targets.manifests, m->ns)) {
        return ERR_OK;
    }
    int code = look(all, m->ns, &ns, err);
    bool named = json_str(json_member(m->object, "metadata"), "namespace") != NULL;
    const struct cmd_path *at = named ? &at_ns : NULL;
    const char *field = named ? "metadata.namespace: " : "";
    if (code == ERR_OK && ns.absent) {
        cmd_faults_add(faults, &m->origin, at, true, "%snamespaces \"%s\" not found%s", field,
                       m->ns, hint(s, m->ns));
    } else if (code == ERR_OK && ns.going) {
        cmd_faults_add(faults, &m->origin, at, true,
                       "%sunable to create new content in namespace %s because it is being "
                       "terminated",
                       field, m->ns);
    }
    return code;
}

int cmd_namespaces_check_asked(struct cmd_session *s, struct err *err)
{
    struct cmd_namespace ns = {.name = s->targets.ns};

    if (s->client == NULL || ns.name == NULL || !s->targets.all) {
        return ERR_OK;
    }
    for (uint32_t i = 0; i < s->n_services; i++) {
        if (str_eq(s->services[i]->ns, ns.name)) {
            return ERR_OK;
        }
    }
    int code = ask(s, &ns, err);
    if (code == ERR_OK && ns.absent) {
        code = err_set(err, ERR_NOT_FOUND, "there is no namespace %s in the cluster%s", ns.name,
                       hint(s, ns.name));
    }
    return code;
}
