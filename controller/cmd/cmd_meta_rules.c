/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_meta_rules.c: the API server's complaints about the metadata of a Service, in its words and
 * order; see the header. */
#include "controller/cmd/cmd_meta_rules.h"

#include <string.h>

#include "controller/cmd/cmd_word_rules.h"

#define ANNOTATIONS_MAX 262144 /* bytes of all names and values */

struct meta {
    struct cmd_faults *faults;
    const struct cmd_origin *origin;
    struct arena *a;
    struct json_object *o;
};

static const struct cmd_path at_meta = {NULL, "metadata", 0};

/* ---- complaints ------------------------------------------------------------------------------ */

static void invalid(const struct meta *m, const struct cmd_path *at, const char *value,
                    const char *detail)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append_go_quoted(&b, value);
    cmd_faults_add(m->faults, m->origin, at, true, "%s: Invalid value: %s: %s",
                   cmd_path_text(m->a, at), str_buf_text(&b), detail);
}

struct word {
    const struct meta *m;
    const struct cmd_path *at;
    const char *value;
};

static void on_word(void *arg, const char *detail)
{
    const struct word *w = arg;
    invalid(w->m, w->at, w->value, detail);
}

static void check_word(const struct meta *m, const struct cmd_path *at, const char *value,
                       void (*check)(const struct cmd_say *to, const char *s))
{
    struct word w = {m, at, value};
    const struct cmd_say to = {m->a, on_word, &w};
    check(&to, value);
}

static const char *text_of(struct json_object *v)
{
    return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

/* ---- labels and annotations ------------------------------------------------------------------ */

static void check_labels(const struct meta *m)
{
    struct json_object *labels = json_member(m->o, "labels");
    const struct cmd_path at = {&at_meta, "labels", 0};
    if (labels == NULL) {
        return;
    }
    json_object_object_foreach(labels, name, value)
    {
        check_word(m, &at, name, cmd_check_qualified);
        check_word(m, &at, text_of(value), cmd_check_label_value);
    }
}

static void check_annotations(const struct meta *m)
{
    struct json_object *annotations = json_member(m->o, "annotations");
    const struct cmd_path at = {&at_meta, "annotations", 0};
    size_t bytes = 0;
    if (annotations == NULL) {
        return;
    }
    json_object_object_foreach(annotations, name, value)
    {
        check_word(m, &at, str_lower(m->a, name), cmd_check_qualified);
        bytes += strlen(name) + strlen(text_of(value));
    }
    if (bytes > ANNOTATIONS_MAX) {
        cmd_faults_add(m->faults, m->origin, &at, true,
                       "metadata.annotations: Too long: may not be more than %d bytes",
                       ANNOTATIONS_MAX);
    }
}

/* ---- owners ---------------------------------------------------------------------------------- */

static void check_owner(const struct meta *m, const struct cmd_path *at_owners,
                        struct json_object *owner)
{
    static const char *const needed[] = {"kind", "name", "uid"};
    const struct cmd_path at_version = {at_owners, "apiVersion", 0};
    const char *version = str_nonnull(json_str(owner, "apiVersion"));
    const char *slash = strchr(version, '/');
    if (*version == '\0' || (slash != NULL && strchr(slash + 1, '/') != NULL)) {
        invalid(m, &at_version, version, "version must not be empty");
    }
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        const struct cmd_path at = {at_owners, needed[i], 0};
        if (str_is_empty(json_str(owner, needed[i]))) {
            invalid(m, &at, "", "must not be empty");
        }
    }
}

/* The server names no index in them. */
static void check_owners(const struct meta *m)
{
    struct json_object *owners = json_member(m->o, "ownerReferences");
    const struct cmd_path at = {&at_meta, "ownerReferences", 0};
    struct json_object *first = NULL; /* that controls */
    for (size_t i = 0; i < json_len(owners); i++) {
        struct json_object *owner = json_object_array_get_idx(owners, i);
        check_owner(m, &at, owner);
        if (!json_bool(owner, "controller", false)) {
            continue;
        }
        if (first != NULL) {
            cmd_faults_add(m->faults, m->origin, &at, true,
                           "metadata.ownerReferences: Only one reference can have Controller set "
                           "to true. Found \"true\" in references for %s/%s and %s/%s",
                           json_str(first, "kind"), json_str(first, "name"),
                           json_str(owner, "kind"), json_str(owner, "name"));
            return;
        }
        first = owner;
    }
}

/* ---- finalizers ------------------------------------------------------------------------------ */

static bool is_standard(const char *finalizer)
{
    return str_eq(finalizer, "kubernetes") || str_eq(finalizer, "orphan") ||
           str_eq(finalizer, "foregroundDeletion");
}

static void check_finalizers(const struct meta *m)
{
    struct json_object *list = json_member(m->o, "finalizers");
    const struct cmd_path at = {&at_meta, "finalizers", 0};
    for (size_t i = 0; i < json_len(list); i++) {
        const char *finalizer = text_of(json_object_array_get_idx(list, i));
        const struct cmd_path at_one = {&at, NULL, i};
        check_word(m, &at, finalizer, cmd_check_qualified);
        if (strchr(finalizer, '/') == NULL && !is_standard(finalizer)) {
            invalid(m, &at_one, finalizer,
                    "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

void cmd_meta_check(struct cmd_faults *faults, const struct cmd_origin *origin,
                    struct json_object *service)
{
    static const char *const names[] = {"name", "namespace"};
    const struct meta m = {faults, origin, faults->a, json_member(service, "metadata")};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct cmd_path at = {&at_meta, names[i], 0};
        check_word(&m, &at, str_nonnull(json_str(m.o, names[i])), cmd_check_label);
    }
    check_labels(&m);
    check_annotations(&m);
    check_owners(&m);
    check_finalizers(&m);
}

void cmd_meta_check_new(struct cmd_faults *faults, const struct cmd_origin *origin,
                        struct json_object *manifest)
{
    struct json_object *meta = json_member(manifest, "metadata");
    const struct cmd_path at_version = {&at_meta, "resourceVersion", 0};
    const struct cmd_path at_generation = {&at_meta, "generation", 0};
    const char *version = str_nonnull(json_str(meta, "resourceVersion"));
    int64_t generation = json_int(meta, "generation", 0);
    if (generation < 0) {
        cmd_faults_add(faults, origin, &at_generation, true,
                       "metadata.generation: Invalid value: %lld: must be greater than or equal "
                       "to 0",
                       (long long)generation);
    }
    if (*version != '\0' && !str_eq(version, "0")) {
        cmd_faults_add(faults, origin, &at_version, true,
                       "metadata.resourceVersion: the cluster does not have this Service: "
                       "resourceVersion should not be set on objects to be created");
    }
}
