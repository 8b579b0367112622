/* SPDX-License-Identifier: Apache-2.0 */
/* config_internal.h: a kubeconfig as it is written, and the steps that make a struct kube_config of
 * it.
 *
 *   config.c        which files or which in-cluster data; the result
 *   config_file.c   one file -> kc_file; several -> merged
 *   config_check.c  upstream's validation and its texts
 *   config_exec.c   the same for exec plugins; a plugin from what a file says
 * Everything lives in the arena of the resulting configuration. */
#ifndef TRIMTAB_KUBE_CONFIG_INTERNAL_H
#define TRIMTAB_KUBE_CONFIG_INTERNAL_H

#include "common/data/json.h"
#include "controller/kube/client/config.h"

/* users[].user.exec (§4.4).  `command` is resolved when it has a '/'. */
struct kc_env {
    const char *name;
    const char *value;
};
struct kc_exec {
    const char *api_version;
    const char *command;
    const char **args;
    size_t n_args;
    struct kc_env *env;
    size_t n_env;
    const char *install_hint;
    const char *interactive_mode;
    bool provide_cluster_info;
};

/* Texts are "" when absent.  Paths are absolute or below the working directory already. */
struct kc_cluster {
    const char *name;
    const char *server;
    const char *ca_file;
    const char *ca_data; /* base64 */
    const char *tls_server_name;
    const char *proxy_url;
    bool insecure;
    bool disable_compression;
    struct json_object *extensions; /* list of {name, extension} */
};
struct kc_user {
    const char *name;
    const char *cert_file;
    const char *cert_data;
    const char *key_file;
    const char *key_data;
    const char *token;
    const char *token_file;
    const char *username;
    const char *password;
    const char *as;
    const char *as_uid;
    const char **as_groups;
    size_t n_as_groups;
    struct json_object *as_extra; /* name -> list of texts */
    struct json_object *auth_provider;
    struct kc_exec exec;
    bool has_exec;
};
struct kc_context {
    const char *name;
    const char *cluster;
    const char *user;
    const char *ns;
};
struct kc_file {
    const char *current_context;
    struct kc_cluster *clusters;
    size_t n_clusters;
    struct kc_user *users;
    size_t n_users;
    struct kc_context *contexts;
    size_t n_contexts;
};

/* Cluster and user of the chosen context; missing members are "". */
struct kc_choice {
    const char *context; /* its name, or "" */
    struct kc_context ctx;
    struct kc_cluster cluster;
    struct kc_user user;
};

/* Reads one file.  ERR_NOT_FOUND as file_read(); 'error loading config file "P": …'. */
int kc_file_load(struct arena *a, const char *path, struct kc_file *ret,
                 struct err *err) _warn_unused_;
/* The same from text; `path` is where it would be, for relative paths and messages. */
int kc_file_parse(struct arena *a, const char *path, const char *text, size_t n,
                  struct kc_file *ret, struct err *err) _warn_unused_;
/* Adds what `from` has and `into` has not: the first file that names something wins. */
void kc_file_merge(struct arena *a, struct kc_file *into, const struct kc_file *from);
/* Follows the context; "" takes current-context.  `master` replaces the cluster's server. */
int kc_choose(const struct kc_file *f, const char *context, const char *master,
              struct kc_choice *ret, struct err *err) _warn_unused_;
/* Everything that upstream refuses, joined behind "invalid configuration: ". */
int kc_check(struct arena *a, const struct kc_file *f, const struct kc_choice *c,
             struct err *err) _warn_unused_;
/* Everything that upstream refuses about a user's plugin: each text goes to complain(). */
void kc_check_exec(const struct kc_user *u, void (*complain)(void *arg, const char *text),
                   struct arena *a, void *arg);
/* The plugin of the chosen user, if it has one that is to be used: c->issuer and c->tls.pair. */
void kc_use_exec(struct kube_config *c, const struct kube_config_args *args,
                 const struct kc_choice *k);
/* True when `text` has a PEM block whose label ends in `holds` ("CERTIFICATE", "PRIVATE KEY"). */
bool kc_is_pem(const char *text, const char *holds);

#endif
