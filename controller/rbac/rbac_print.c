/* SPDX-License-Identifier: Apache-2.0 */
/* rbac_print.c: rules as Roles and bindings in YAML; see rbac_rules.h.
 *
 * One rule is one line, so that a reader sees the whole role at once.  Scalars that YAML could take
 * for something else than a text are quoted. */
#include <stdio.h>
#include <string.h>

#include "controller/rbac/rbac_rules.h"

#define API     "rbac.authorization.k8s.io"
#define VERSION "apiVersion: " API "/v1\n"

static bool is_word(const char *s)
{
    static const char *const taken[] = {"y",   "n",    "yes",   "no",  "on",
                                        "off", "true", "false", "null"};
    bool word =
        *s >= 'a' && *s <= 'z' && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-/") == strlen(s);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        word = word && !str_eq(s, taken[i]);
    }
    return word;
}

static void scalar(struct str_buf *b, const char *s)
{
    str_appendf(b, is_word(s) ? "%s" : "\"%s\"", s);
}

static void print_list(struct str_buf *b, const char *what, const char *const *items, size_t n)
{
    str_appendf(b, "%s: [", what);
    for (size_t i = 0; i < n; i++) {
        str_append(b, i > 0 ? ", " : "");
        scalar(b, items[i]);
    }
    str_append(b, "]");
}

static void print_rule(struct str_buf *b, const struct rbac_rule *rule)
{
    const char *verbs[16];
    size_t n = 0;
    for (size_t i = 0; i < rbac_verbs_n; i++) {
        if ((rule->verbs & (1u << i)) != 0) {
            verbs[n++] = rbac_verbs[i];
        }
    }
    str_append(b, "- {");
    print_list(b, "apiGroups", &rule->group, 1);
    print_list(b, ", resources", rule->resources, rule->n_resources);
    if (*rule->name != '\0') {
        print_list(b, ", resourceNames", &rule->name, 1);
    }
    print_list(b, ", verbs", verbs, n);
    str_append(b, "}\n");
}

/* `ns` "": of the whole cluster. */
static void print_metadata(struct str_buf *b, const char *name, const char *suffix, const char *ns)
{
    char full[512];
    (void)snprintf(full, sizeof(full), "%s%s", name, suffix);
    str_append(b, "metadata: {name: ");
    scalar(b, full);
    if (*ns != '\0') {
        str_append(b, ", namespace: ");
        scalar(b, ns);
    }
    str_append(b, ", labels: {app.kubernetes.io/name: trimtab}}\n");
}

/* The accounts that get roles, and the names of the roles. */
struct holder {
    const char *ns, *account;
    const char *roles;
};

static void print_binding(struct str_buf *b, const struct holder *who, const char *suffix,
                          const char *ns, const char *kind, const char *role)
{
    str_appendf(b, VERSION "kind: %s\n", *ns == '\0' ? "ClusterRoleBinding" : "RoleBinding");
    print_metadata(b, who->roles, suffix, ns);
    str_appendf(b, "roleRef: {apiGroup: " API ", kind: %s, name: ", kind);
    scalar(b, role);
    str_append(b, "}\n");
    str_append(b, "subjects: [{kind: ServiceAccount, name: ");
    scalar(b, who->account);
    str_append(b, ", namespace: ");
    scalar(b, who->ns);
    str_append(b, "}]\n");
}

static int check_name(const char *what, const char *name, struct err *err)
{
    size_t n = strlen(name);
    bool ok = n > 0 && n <= 253 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == n &&
              name[0] != '-' && name[0] != '.' && name[n - 1] != '-' && name[n - 1] != '.';
    return ok ? ERR_OK
              : err_set(err, ERR_INVALID,
                        "%s \"%s\" is no name of an object: lower-case letters, digits, '-' and "
                        "'.', at most 253",
                        what, name);
}

static int check_names(const struct rbac_input *in, struct err *err)
{
    const struct {
        const char *what, *name;
    } names[] = {
        {"the namespace of the ServiceAccount", in->account_ns},
        {"the ServiceAccount", in->account},
        {"the lease", in->lease_name},
        {"the namespace of the lease", in->lease_name == NULL ? NULL : in->lease_ns},
        {"the Secret", in->secret_name},
        {"the namespace of the Secret", in->secret_name == NULL ? NULL : in->secret_ns},
    };
    int code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < ARRAY_LEN(names); i++) {
        if (names[i].name != NULL) {
            code = check_name(names[i].what, names[i].name, err);
        }
    }
    return code;
}

/* The rules of one of them, each namespace's with its binding. */
static int print_roles(struct str_buf *b, struct arena *a, const struct rbac_input *in,
                       unsigned whose, const struct holder *who, struct err *err)
{
    struct rbac_rule *rules = NULL;
    size_t n = 0;
    int code = rbac_rules(a, in, whose, &rules, &n, err);

    for (size_t i = 0; code == ERR_OK && i < n;) {
        const char *ns = rules[i].ns;
        const char *kind = *ns == '\0' ? "ClusterRole" : "Role";
        str_appendf(b, "%s" VERSION "kind: %s\n", b->len > 0 ? "---\n" : "", kind);
        print_metadata(b, who->roles, "", ns);
        str_append(b, "rules:\n");
        for (; i < n && str_eq(rules[i].ns, ns); i++) {
            print_rule(b, &rules[i]);
        }
        str_append(b, "---\n");
        print_binding(b, who, "", ns, kind, who->roles);
    }
    return code;
}

int rbac_print(struct str_buf *b, struct arena *a, const struct rbac_input *in, struct err *err)
{
    const struct holder process = {in->account_ns, in->account, in->account};
    const struct holder services = {RBAC_SERVICES_NS, RBAC_SERVICES_ACCOUNT,
                                    arena_printf(a, "%s-" RBAC_SERVICES_ACCOUNT, in->account)};
    int code = check_names(in, err);

    if (code == ERR_OK) {
        code = print_roles(b, a, in, in->splits ? RBAC_PROCESS : RBAC_ALL, &process, err);
    }
    if (code == ERR_OK && in->splits) {
        code = print_roles(b, a, in, RBAC_SERVICES, &services, err);
    }
    if (code == ERR_OK) {
        str_append(b, "---\n# The API server authenticates clients of the HTTPS port, with these "
                      "roles that every cluster has.\n");
        print_binding(b, &process, "-auth-delegator", "", "ClusterRole", "system:auth-delegator");
        str_append(b, "---\n");
        print_binding(b, &process, "-authentication-reader", "kube-system", "Role",
                      "extension-apiserver-authentication-reader");
    }
    return code;
}
