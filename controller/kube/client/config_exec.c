/* SPDX-License-Identifier: Apache-2.0 */
/* config_exec.c: a user's exec plugin: what is refused of it, and a source of credentials from the
 * rest.
 *
 * Source: controller.md §4.2 "Auth mixing", §4.4.  Nothing is run here. */
#include <string.h>

#include "controller/kube/client/config_internal.h"
#include "controller/kube/client/credentials_exec.h"

#define GROUP     "client.authentication.k8s.io/"
#define EXTENSION "client.authentication.k8s.io/exec"

static bool is_version(const char *v)
{
    return str_eq(v, GROUP "v1") || str_eq(v, GROUP "v1beta1");
}

static bool mode_of(const char *text, enum exec_mode *ret)
{
    static const char *const names[] = {
        [EXEC_NEVER] = "Never", [EXEC_IF_AVAILABLE] = "IfAvailable", [EXEC_ALWAYS] = "Always"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(text, names[i])) {
            *ret = (enum exec_mode)i;
            return true;
        }
    }
    return false;
}

static const char *env_fault(struct arena *a, const struct kc_user *u)
{
    for (size_t i = 0; i < u->exec.n_env; i++) {
        const char *name = u->exec.env[i].name;
        if (name[0] == '\0') {
            return arena_printf(
                a, "env variable name must be specified for %s to use exec authentication plugin",
                u->name);
        }
        if (strchr(name, '=') != NULL) {
            return arena_printf(a, "env variable name \"%s\" of the exec plugin of %s has a '='",
                                name, u->name);
        }
    }
    return NULL;
}

void kc_check_exec(const struct kc_user *u, void (*complain)(void *arg, const char *text),
                   struct arena *a, void *arg)
{
    const struct kc_exec *x = &u->exec;
    enum exec_mode mode;
    const char *fault = env_fault(a, u);
    if (u->auth_provider != NULL) {
        complain(arg, arena_printf(a,
                                   "authProvider cannot be provided in combination with an exec "
                                   "plugin for %s",
                                   u->name));
    }
    if (x->command[0] == '\0') {
        complain(arg, arena_printf(
                          a, "command must be specified for %s to use exec authentication plugin",
                          u->name));
    }
    if (x->api_version[0] == '\0') {
        complain(
            arg,
            arena_printf(a, "apiVersion must be specified for %s to use exec authentication plugin",
                         u->name));
    } else if (!is_version(x->api_version)) {
        complain(arg, arena_printf(a,
                                   "exec plugin: invalid apiVersion \"%s\"; want " GROUP
                                   "v1 or " GROUP "v1beta1",
                                   x->api_version));
    }
    if (fault != NULL) {
        complain(arg, fault);
    }
    if (x->interactive_mode[0] == '\0') {
        complain(arg, arena_printf(a,
                                   "interactiveMode must be specified for %s to use exec "
                                   "authentication plugin",
                                   u->name));
    } else if (!mode_of(x->interactive_mode, &mode)) {
        complain(arg, arena_printf(a, "invalid interactiveMode for %s: \"%s\"", u->name,
                                   x->interactive_mode));
    }
}

/* The cluster's words for the plugin, as text: the tree must not be shared between threads. */
static const char *extension_of(struct arena *a, const struct kc_cluster *k)
{
    for (size_t i = 0; i < json_len(k->extensions); i++) {
        struct json_object *o = json_object_array_get_idx(k->extensions, i);
        struct json_object *value = json_member(o, "extension");
        if (str_eq(json_str(o, "name"), EXTENSION) && value != NULL) {
            return json_text(a, value, JSON_COMPACT);
        }
    }
    return NULL;
}

/* §4.4: who says otherwise who he is does not need it. */
static bool is_needless(const struct kube_config *c)
{
    return c->token != NULL || c->token_file != NULL || c->username != NULL ||
           c->password != NULL || c->tls.cert_file != NULL || c->tls.cert_pem != NULL;
}

void kc_use_exec(struct kube_config *c, const struct kube_config_args *args,
                 const struct kc_choice *k)
{
    const struct kc_exec *x = &k->user.exec;
    enum exec_mode mode = EXEC_NEVER;
    if (!k->user.has_exec || is_needless(c)) {
        return;
    }
    (void)mode_of(x->interactive_mode, &mode); /* was checked */
    struct http_header *env = ARENA_ARRAY(c->a, struct http_header, x->n_env);
    for (size_t i = 0; i < x->n_env; i++) {
        env[i] = (struct http_header){.name = x->env[i].name, .value = x->env[i].value};
    }
    c->tls.pair = http_pair_new();
    c->issuer = exec_plugin_new(&(struct exec_plugin_args){
        .config = c,
        .api_version = x->api_version,
        .command = x->command,
        .args = x->args,
        .n_args = x->n_args,
        .env = env,
        .n_env = x->n_env,
        .install_hint = x->install_hint,
        .mode = mode,
        .provide_cluster_info = x->provide_cluster_info,
        .cluster_extension = extension_of(c->a, &k->cluster),
        .observer = args->observer,
        .clock = args->clock,
    });
}
