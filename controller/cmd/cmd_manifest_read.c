/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_manifest_read.c: finds Services and Nodes in the documents of files and checks their fields;
 * see cmd_manifest.h.
 *
 * Kinds and versions are distinguished as kubectl does it: a Service of another API group is not
 * ours, and one without apiVersion or kind is refused.  Items of a ServiceList have neither, and
 * those of a recorded world need none. */
#include <string.h>
#include <strings.h>

#include "common/data/yaml.h"
#include "controller/cmd/cmd_fields.h"
#include "controller/cmd/cmd_input.h"
#include "controller/cmd/cmd_manifest.h"

#define MANIFEST_MAX   (64u << 20)
#define LIST_DEPTH_MAX 8 /* lists in lists */

/* A file that is being read. */
struct reading {
    struct arena *a;
    struct cmd_faults *faults;
    struct cmd_origin origin; /* of the document at hand */
    const char *kind;         /* of the objects that are looked for: "Service" */
    const char *plural;
    void (*found)(void *arg, const struct cmd_origin *origin, struct json_object *o, bool checked);
    void (*left_out)(void *arg, const char *kind, struct json_object *o);
    void *arg;
    size_t n_found;
    size_t n_lists; /* that may hold such objects, even if they hold none */
};

static const char *text_at(struct json_object *o, const char *name)
{
    return str_nonnull(json_str(o, name));
}

/* "v1" and absent, which is a fault of its own: the core API. */
static bool is_core(struct json_object *o)
{
    const char *version = text_at(o, "apiVersion");
    return *version == '\0' || str_eq(version, "v1");
}

/* An API group of other programs has a domain for a name: "serving.knative.dev/v1". */
static bool is_foreign(const char *version)
{
    const char *slash = strchr(version, '/');
    return slash != NULL && memchr(version, '.', (size_t)(slash - version)) != NULL;
}

/* "demo/web", "web", or "" */
static const char *name_of(struct arena *a, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    const char *ns = text_at(meta, "namespace");
    return arena_printf(a, "%s%s%s", ns, *ns == '\0' ? "" : "/", text_at(meta, "name"));
}

static void found(struct reading *r, struct json_object *o, bool checked)
{
    const char *name = name_of(r->a, o);
    struct cmd_origin origin = r->origin;
    origin.subject = arena_printf(r->a, "%s%s%s", r->kind, *name == '\0' ? "" : " ", name);
    r->n_found++;
    r->found(r->arg, &origin, o, checked);
}

static const struct cmd_path at_kind = {NULL, "kind", 0};
static const struct cmd_path at_version = {NULL, "apiVersion", 0};

/* `kind` is that of `o`, or what its place says.  A value that is not a text is one of the
 * faults of fields. */
static void check_version(struct reading *r, struct json_object *o, const char *kind)
{
    struct json_object *member = json_member(o, "apiVersion");
    const char *version = text_at(o, "apiVersion");
    bool is_text = json_object_is_type(member, json_type_string);
    if (json_object_is_type(o, json_type_object) &&
        (member == NULL || (is_text && *version == '\0'))) {
        cmd_faults_add(r->faults, &r->origin, member == NULL ? NULL : &at_version, true,
                       "apiVersion: Required value; add \"apiVersion: v1\"");
    } else if (!is_core(o) && !is_foreign(version)) {
        cmd_faults_add(r->faults, &r->origin, &at_version, true,
                       "no matches for kind \"%s\" in version \"%s\"; did you mean \"v1\"?", kind,
                       version);
    }
}

static void check_kind(struct reading *r, struct json_object *o, const char *kind)
{
    const char *list = arena_printf(r->a, "%sList", r->kind);
    const char *const names[] = {r->kind, "List", list};
    size_t n = json_member(o, "items") != NULL ? ARRAY_LEN(names) : 1;
    const char *meant = is_core(o) ? str_nearest(kind, names, n) : NULL;
    for (size_t i = 0; meant == NULL && is_core(o) && i < n; i++) {
        meant = strcasecmp(kind, names[i]) == 0 ? names[i] : NULL;
    }
    if (meant != NULL) {
        cmd_faults_add(r->faults, &r->origin, &at_kind, true,
                       "no matches for kind \"%s\" in version \"v1\"; did you mean \"%s\"?", kind,
                       meant);
    }
}

/* A document or an item of a list that is not what is looked for. */
static void other(struct reading *r, struct json_object *o)
{
    const char *kind = text_at(o, "kind");
    if (!json_object_is_type(o, json_type_object)) {
        bool many = json_object_is_type(o, json_type_array);
        const char *got = many ? "a list (objects of a `kind: List` are its `items`)"
                               : arena_printf(r->a, "%.60s", json_text(r->a, o, JSON_COMPACT));
        cmd_faults_add(r->faults, &r->origin, NULL, true, "want a map with a kind, got %s", got);
        return;
    }
    if (*kind == '\0') {
        cmd_faults_add(r->faults, &r->origin, NULL, true, "kind: Required value");
        return;
    }
    if (str_eq(kind, r->kind)) {
        check_version(r, o, kind);
    } else {
        check_kind(r, o, kind);
    }
    r->left_out(r->arg, kind, o);
}

/* A list of items within the document at hand. */
struct list {
    struct json_object *items;
    const char *kind;         /* of the items that have none; "": it is not known */
    const char *const *steps; /* from the document to the items */
    size_t n_steps;
    bool checked;
    int depth; /* lists around it */
};

static void read_list(struct reading *r, struct json_object *o, const struct list *around);

static void read_item(struct reading *r, struct json_object *item, const struct list *l)
{
    const char *kind = text_at(item, "kind");
    const char *meant = *kind == '\0' ? l->kind : kind;
    bool names_itself = l->checked && *l->kind == '\0';
    if (json_member(item, "items") != NULL && str_has_suffix(kind, "List") &&
        l->depth < LIST_DEPTH_MAX) {
        read_list(r, item, l);
    } else if (names_itself && *kind == '\0') {
        other(r, item);
    } else if (names_itself && str_eq(kind, r->kind) && is_core(item)) {
        check_version(r, item, kind);
        found(r, item, true);
    } else if (*meant == '\0' || (str_eq(meant, r->kind) && is_core(item))) {
        found(r, item, l->checked);
    } else if (*kind == '\0') {
        r->left_out(r->arg, meant, item);
    } else {
        other(r, item);
    }
}

static void read_items(struct reading *r, const struct list *l)
{
    const struct cmd_origin whole = r->origin;
    for (size_t i = 0; i < json_len(l->items); i++) {
        const char **all = ARENA_ARRAY(r->a, const char *, l->n_steps + 2);
        struct list at = *l;
        memcpy(all, l->steps, l->n_steps * sizeof(*all));
        all[l->n_steps] = arena_printf(r->a, "%zu", i);
        at.steps = all;
        at.n_steps++;
        r->origin.steps = all;
        r->origin.n_steps = at.n_steps;
        read_item(r, json_object_array_get_idx(l->items, i), &at);
        r->origin = whole;
    }
}

/* The items of `o`, a List; `around` tells where it stands, NULL: it is the document. */
static void read_list(struct reading *r, struct json_object *o, const struct list *around)
{
    static const struct cmd_path at_items = {NULL, "items", 0};
    const char *kind = text_at(o, "kind");
    size_t n = around == NULL ? 0 : around->n_steps;
    const char **steps = ARENA_ARRAY(r->a, const char *, n + 1);
    if (around != NULL) {
        memcpy(steps, around->steps, n * sizeof(*steps));
    }
    steps[n] = "items";
    struct list l = {.items = json_member(o, "items"),
                     .kind = "",
                     .steps = steps,
                     .n_steps = n + 1,
                     .checked = true,
                     .depth = around == NULL ? 0 : around->depth + 1};
    if (*kind != '\0') { /* of another API group the items are not ours */
        l.kind = is_core(o) ? arena_strndup(r->a, kind, strlen(kind) - strlen("List")) : kind;
    }
    bool may_hold = *l.kind == '\0' || str_eq(l.kind, r->kind);
    if (*kind == '\0') {
        cmd_faults_add(r->faults, &r->origin, NULL, true, "kind: Required value");
    } else if (may_hold || str_eq(kind, "List")) {
        check_version(r, o, kind);
    }
    if (may_hold && *kind != '\0') {
        cmd_fields_check(r->faults, &r->origin, &cmd_type_list, o);
    }
    if (may_hold && !json_object_is_type(l.items, json_type_array)) {
        cmd_faults_add(r->faults, &r->origin, &at_items, true, "items: want a list");
    }
    r->n_lists += may_hold;
    read_items(r, &l);
}

static void read_document(struct reading *r, struct json_object *doc)
{
    const char *const in_world[] = {"kubernetes", r->plural};
    struct json_object *world = json_member(json_member(doc, "kubernetes"), r->plural);
    const char *kind = text_at(doc, "kind");
    if (str_eq(kind, r->kind) && is_core(doc)) {
        check_version(r, doc, kind);
        found(r, doc, true);
    } else if (json_member(doc, "items") != NULL &&
               (*kind == '\0' || str_has_suffix(kind, "List"))) {
        read_list(r, doc, NULL);
    } else if (world != NULL) {
        r->n_lists++;
        read_items(
            r, &(struct list){
                   .items = world, .kind = "", .steps = in_world, .n_steps = ARRAY_LEN(in_world)});
    } else if (json_member(doc, "kubernetes") == NULL) {
        other(r, doc);
    }
}

static int read_file(struct reading *r, const char *file, struct err *err)
{
    struct yaml_docs docs;
    char *text;
    size_t n;
    r->origin = (struct cmd_origin){.file = cmd_input_name(file)};
    int code = cmd_input_read(r->a, file, MANIFEST_MAX, &text, &n, err);
    if (code != ERR_OK) {
        return code;
    }
    code = yaml_parse_lenient(r->a, text, n, &docs, err);
    if (code != ERR_OK) { /* an error like others: those of other files are reported, too */
        cmd_faults_add(r->faults, &r->origin, NULL, true, "%s", err->message);
        err_clear(err);
        return ERR_OK;
    }
    r->origin.n_docs = docs.n;
    for (size_t i = 0; i < docs.n_twice; i++) {
        r->origin.doc = docs.twice[i].doc;
        cmd_faults_add_line(r->faults, &r->origin, docs.twice[i].line,
                            arena_printf(r->a, "key \"%s\" is already set", docs.twice[i].key));
    }
    if (docs.n_twice_more > 0) {
        r->origin.doc = docs.twice[docs.n_twice - 1].doc;
        cmd_faults_add_line(r->faults, &r->origin, 0,
                            arena_printf(r->a, "%zu more key%s already set", docs.n_twice_more,
                                         docs.n_twice_more == 1 ? " is" : "s are"));
    }
    r->origin.text = text;
    r->origin.text_len = n;
    for (size_t i = 0; i < docs.n; i++) {
        r->origin.doc = i;
        read_document(r, docs.items[i]);
    }
    return ERR_OK;
}

/* ---- Services -------------------------------------------------------------------------------- */

static const char *text_or_null(struct json_object *o, const char *name)
{
    const char *text = json_str(o, name);
    return str_is_empty(text) ? NULL : text;
}

static void add_service(void *arg, const struct cmd_origin *origin, struct json_object *o,
                        bool checked)
{
    static const struct cmd_path at_meta = {NULL, "metadata", 0};
    static const struct cmd_path at_name = {&at_meta, "name", 0};
    struct cmd_manifests *m = arg;
    struct json_object *meta = json_member(o, "metadata");
    size_t before = m->faults.n;
    size_t hard = cmd_faults_hard(&m->faults);
    (void)checked; /* what is planned is checked, wherever it comes from */
    cmd_fields_check(&m->faults, origin, &cmd_type_service, o);
    const char *name = text_or_null(meta, "name");
    if (name == NULL) {
        if (m->faults.n == before) {
            cmd_faults_add(&m->faults, origin, &at_name, true, "metadata.name: Required value");
        }
        return;
    }
    if (m->n == m->cap) {
        size_t cap = m->cap == 0 ? 8 : 2 * m->cap;
        struct cmd_manifest *items = ARENA_ARRAY(m->a, struct cmd_manifest, cap);
        for (size_t i = 0; i < m->n; i++) {
            items[i] = m->items[i];
        }
        m->items = items;
        m->cap = cap;
    }
    m->items[m->n++] = (struct cmd_manifest){.origin = *origin,
                                             .ns = text_or_null(meta, "namespace"),
                                             .name = name,
                                             .object = o,
                                             .is_sound = cmd_faults_hard(&m->faults) == hard};
}

static void note_namespace(void *arg, const char *kind, struct json_object *o)
{
    struct cmd_manifests *m = arg;
    const char *name = text_or_null(json_member(o, "metadata"), "name");
    if (!str_eq(kind, "Namespace") || !is_core(o) || name == NULL) {
        return;
    }
    if (m->n_namespaces == m->cap_namespaces) {
        size_t cap = m->cap_namespaces == 0 ? 8 : 2 * m->cap_namespaces;
        const char **names = ARENA_ARRAY(m->a, const char *, cap);
        for (size_t i = 0; i < m->n_namespaces; i++) {
            names[i] = m->namespaces[i];
        }
        m->namespaces = names;
        m->cap_namespaces = cap;
    }
    m->namespaces[m->n_namespaces++] = name;
}

static void note_left_out(void *arg, const char *kind, struct json_object *o)
{
    struct cmd_manifests *m = arg;
    note_namespace(arg, kind, o);
    if (m->n_left_out == m->cap_left_out) {
        size_t cap = m->cap_left_out == 0 ? 8 : 2 * m->cap_left_out;
        const char **kinds = ARENA_ARRAY(m->a, const char *, cap);
        for (size_t i = 0; i < m->n_left_out; i++) {
            kinds[i] = m->left_out[i];
        }
        m->left_out = kinds;
        m->cap_left_out = cap;
    }
    m->left_out[m->n_left_out++] = kind;
}

static void pass_over(void *arg, const char *kind, struct json_object *o)
{
    (void)arg;
    (void)kind;
    (void)o;
}

int cmd_manifest_read(struct cmd_manifests *m, const char *file, bool in_folder, struct err *err)
{
    struct reading r = {.a = m->a,
                        .faults = &m->faults,
                        .kind = "Service",
                        .plural = "services",
                        .found = add_service,
                        .left_out = in_folder ? note_left_out : note_namespace,
                        .arg = m};
    m->faults.a = m->a;
    size_t before = cmd_faults_hard(&m->faults);
    int code = read_file(&r, file, err);
    if (code == ERR_OK && r.n_found == 0 && !in_folder && cmd_faults_hard(&m->faults) == before) {
        const struct cmd_origin whole = {.file = r.origin.file};
        cmd_faults_add(&m->faults, &whole, NULL, true, "no object of kind Service in it");
    }
    return code;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

struct nodes {
    struct arena *a;
    struct cmd_faults *faults;
    struct json_object **items;
    size_t n, cap;
};

static void add_node(void *arg, const struct cmd_origin *origin, struct json_object *o,
                     bool checked)
{
    struct nodes *all = arg;
    if (checked) {
        cmd_fields_check(all->faults, origin, &cmd_type_node, o);
    }
    if (all->n == all->cap) {
        size_t cap = all->cap == 0 ? 8 : 2 * all->cap;
        struct json_object **items = ARENA_ARRAY(all->a, struct json_object *, cap);
        for (size_t i = 0; i < all->n; i++) {
            items[i] = all->items[i];
        }
        all->items = items;
        all->cap = cap;
    }
    all->items[all->n++] = o;
}

int cmd_nodes_read(struct arena *a, const char *file, struct cmd_faults *faults,
                   struct json_object ***ret, size_t *ret_n, struct err *err)
{
    struct nodes all = {.a = a, .faults = faults};
    struct reading r = {.a = a,
                        .faults = faults,
                        .kind = "Node",
                        .plural = "nodes",
                        .found = add_node,
                        .left_out = pass_over,
                        .arg = &all};
    faults->a = a;
    size_t before = cmd_faults_hard(faults);
    int code = read_file(&r, file, err);
    if (code == ERR_OK && r.n_found + r.n_lists == 0 && cmd_faults_hard(faults) == before) {
        const struct cmd_origin whole = {.file = r.origin.file};
        cmd_faults_add(faults, &whole, NULL, true, "no object of kind Node in it");
    }
    if (code == ERR_OK) {
        *ret = all.items;
        *ret_n = all.n;
    }
    return code;
}
