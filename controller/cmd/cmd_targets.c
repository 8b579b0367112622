/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_targets.c: which Services a command is about; see the header. */
#include "controller/cmd/cmd_targets.h"

#include <stdio.h>
#include <string.h>

#include "controller/cmd/cmd_input.h"
#include "controller/cmd/cmd_service_rules.h"

static int check_flags(const struct cmd_args *args, struct err *err)
{
    if (args->all_namespaces && args->ns != NULL) {
        return err_set(err, ERR_INVALID,
                       "-A is for all namespaces, -n for the namespace %s: give one of them",
                       args->ns);
    }
    if (args->ns != NULL && (*args->ns == '\0' || strchr(args->ns, '/') != NULL)) {
        return err_set(err, ERR_INVALID, "-n \"%s\": want the name of a namespace", args->ns);
    }
    if (args->all_namespaces && args->words.n > 0) {
        return err_set(err, ERR_INVALID,
                       "-A is for all Services, \"%s\" is one of them: give one of the two",
                       args->words.items[0]);
    }
    if (args->all_namespaces && args->files.n > 0) {
        return err_set(err, ERR_INVALID,
                       "-A is for all Services, -f for those of files: give one of the two");
    }
    return ERR_OK;
}

/* "Deployment 2, Namespace 1" */
static void print_left_out(const struct cmd_manifests *m)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < m->n_left_out; i++) {
        size_t before = 0;
        size_t all = 0;
        for (size_t k = 0; k < m->n_left_out; k++) {
            bool same = str_eq(m->left_out[k], m->left_out[i]);
            before += same && k < i;
            all += same;
        }
        if (before == 0) {
            str_appendf(&b, "%s%.60s %zu", b.len > 0 ? ", " : "", m->left_out[i], all);
        }
    }
    if (m->n_left_out > 0) {
        fprintf(stderr, "note: left out of the folder: %zu object%s of other kinds (%s)\n",
                m->n_left_out, m->n_left_out == 1 ? "" : "s", str_clean(m->a, str_buf_text(&b)));
    }
}

/* As kubectl: -n does not move an object to another namespace. */
static void check_namespaces(struct cmd_manifests *m, const char *ns)
{
    static const struct cmd_path at_meta = {NULL, "metadata", 0};
    static const struct cmd_path at = {&at_meta, "namespace", 0};
    for (size_t i = 0; ns != NULL && i < m->n; i++) {
        if (m->items[i].ns != NULL && !str_eq(m->items[i].ns, ns)) {
            cmd_faults_add(&m->faults, &m->items[i].origin, &at, true,
                           "metadata.namespace: \"%s\" is not the namespace of -n %s",
                           m->items[i].ns, ns);
        }
    }
}

void cmd_targets_check_twice(const struct cmd_manifests *m, const char *ns,
                             struct cmd_faults *faults)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct cmd_manifest *later = &m->items[i];
        for (size_t k = 0; k < i; k++) {
            const struct cmd_manifest *first = &m->items[k];
            if (str_eq(first->name, later->name) &&
                str_eq(str_or(first->ns, ns), str_or(later->ns, ns))) {
                cmd_faults_add(faults, &later->origin, NULL, true, "the same Service is in %s",
                               cmd_origin_place(m->a, &first->origin));
                break;
            }
        }
    }
}

/* Faults that no object of the cluster can fix. */
static void check_alone(struct cmd_manifests *m, const char *ns)
{
    for (size_t i = 0; i < m->n; i++) {
        struct cmd_manifest one = m->items[i];
        const char *note;
        if (one.is_sound) {
            one.ns = str_or(one.ns, ns);
            _cleanup_(json_putp) struct json_object *whole =
                cmd_manifest_complete(m->a, &one, NULL, &note);
            cmd_service_check_alone(&m->faults, &one.origin, whole);
        }
    }
}

static int read_manifests(struct arena *a, const struct cmd_args *args, bool planned,
                          struct cmd_targets *t, struct err *err)
{
    struct cmd_input *inputs = NULL;
    size_t n = 0;
    t->manifests = (struct cmd_manifests){.a = a, .faults = {.a = a}};
    int code = cmd_input_expand(a, &args->files, &inputs, &n, err);
    for (size_t i = 0; code == ERR_OK && i < n; i++) {
        code = cmd_manifest_read(&t->manifests, inputs[i].path, inputs[i].in_folder, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    check_namespaces(&t->manifests, t->ns);
    if (planned) {
        cmd_targets_check_twice(&t->manifests, str_or(t->ns, ""), &t->manifests.faults);
        check_alone(&t->manifests, t->ns);
    }
    print_left_out(&t->manifests);
    code = cmd_faults_settle(&t->manifests.faults, t->validate, err);
    if (code == ERR_OK && n > 0 && t->manifests.n == 0) {
        code = err_set(err, ERR_INVALID, "%s: no object of kind Service in the folder",
                       args->files.items[0]);
    }
    return code;
}

static int read_targets(struct arena *a, const struct cmd_args *args, bool planned,
                        struct cmd_targets *ret, struct err *err)
{
    struct cmd_targets t = {
        .ns = args->ns, .all = args->words.n + args->files.n == 0, .words = args->words};
    int code = check_flags(args, err);
    if (code == ERR_OK) {
        code = cmd_validate_parse(args->validate, &t.validate, err);
    }
    if (code == ERR_OK) {
        code = read_manifests(a, args, planned, &t, err);
    }
    if (code == ERR_OK) {
        *ret = t;
    }
    return code;
}

int cmd_targets_read(struct arena *a, const struct cmd_args *args, struct cmd_targets *ret,
                     struct err *err)
{
    return read_targets(a, args, false, ret, err);
}

int cmd_targets_read_planned(struct arena *a, const struct cmd_args *args, struct cmd_targets *ret,
                             struct err *err)
{
    return read_targets(a, args, true, ret, err);
}

const char *cmd_targets_ns(const struct cmd_targets *t, const char *config_ns)
{
    return str_or(t->ns, str_or(config_ns, "default"));
}

/* Behind "svc/" and its longer forms; NULL: it has none of them. */
static const char *behind_kind(const char *word)
{
    static const char *const kinds[] = {"svc/", "service/", "services/"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_has_prefix(word, kinds[i])) {
            return word + strlen(kinds[i]);
        }
    }
    return NULL;
}

int cmd_targets_key(struct arena *a, const struct cmd_targets *t, const char *word,
                    const char *config_ns, const char **ret, struct err *err)
{
    const char *bare = behind_kind(word);
    const char *slash = bare != NULL ? NULL : strchr(word, '/');
    const char *name = bare != NULL ? bare : slash != NULL ? slash + 1 : word;
    const char *ns = slash != NULL ? arena_strndup(a, word, (size_t)(slash - word))
                                   : cmd_targets_ns(t, config_ns);
    if (*name == '\0' || *ns == '\0' || strchr(name, '/') != NULL) {
        return err_set(err, ERR_INVALID,
                       "\"%s\" is not a Service's name: want NAME, NAMESPACE/NAME or svc/NAME",
                       word);
    }
    if (t->ns != NULL && !str_eq(ns, t->ns)) {
        return err_set(err, ERR_INVALID, "\"%s\" is of the namespace %s, and -n says %s", word, ns,
                       t->ns);
    }
    *ret = arena_printf(a, "%s/%s", ns, name);
    return ERR_OK;
}

int cmd_targets_keys(struct arena *a, const struct cmd_targets *t, const char *config_ns,
                     const char ***ret, size_t *ret_n, struct err *err)
{
    const struct cmd_manifests *m = &t->manifests;
    const char **keys = ARENA_ARRAY(a, const char *, t->words.n + m->n);
    size_t n = 0;
    for (size_t i = 0; i < t->words.n; i++) {
        int code = cmd_targets_key(a, t, t->words.items[i], config_ns, &keys[n++], err);
        if (code != ERR_OK) {
            return code;
        }
    }
    for (size_t i = 0; i < m->n; i++) {
        keys[n++] = arena_printf(a, "%s/%s", str_or(m->items[i].ns, cmd_targets_ns(t, config_ns)),
                                 m->items[i].name);
    }
    *ret = keys;
    *ret_n = n;
    return ERR_OK;
}
