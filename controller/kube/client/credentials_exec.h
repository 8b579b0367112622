/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_exec.h: exec credential plugins: a program that a kubeconfig names prints who we are.
 *
 * Source: controller.md §4.4, vectors 199 and 202.  A plugin is a credentials_source: it runs on
 * first use, again 30 s before its output expires, and after a 401. */
#ifndef TRIMTAB_KUBE_CREDENTIALS_EXEC_H
#define TRIMTAB_KUBE_CREDENTIALS_EXEC_H

#include "controller/kube/client/config.h"
#include "controller/kube/client/credentials_source.h"

enum exec_mode {
    EXEC_NEVER = 0,
    EXEC_IF_AVAILABLE, /* interactive when standard input is a terminal */
    EXEC_ALWAYS,       /* refused if it is not one */
};
/* The plugin's configuration in the kubeconfig.  Texts and lists are borrowed and live as long as
 * the source. */
struct exec_plugin_args {
    /* for its server and CA, and where a certificate goes (tls.pair) */
    const struct kube_config *config;
    const char *api_version; /* "client.authentication.k8s.io/v1" */
    const char *command;
    const char *const *args;
    size_t n_args;
    const struct http_header *env; /* name and value */
    size_t n_env;
    const char *install_hint; /* "" for none */
    enum exec_mode mode;
    bool provide_cluster_info;
    const char *cluster_extension; /* JSON for spec.cluster.config; NULL: null */
    struct kube_credentials_observer observer;
    struct clock *clock;
    int64_t timeout_ms;          /* of one run, real; 0: 60,000 (with a person 300,000) */
    bool (*is_terminal)(int fd); /* NULL: isatty() */
};

/* Never fails: what is wrong with the plugin is said by those who ask for its credentials. */
struct credentials_source *exec_plugin_new(const struct exec_plugin_args *args) _warn_unused_;
/* The text of KUBERNETES_EXEC_INFO; for tests. */
char *exec_plugin_info(struct arena *a, const struct exec_plugin_args *args, bool interactive);

#endif
