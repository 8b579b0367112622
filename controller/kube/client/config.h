/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: where the API server is and who we are: kubeconfig files, in-cluster files, flags.
 *
 * Source: controller.md §4.1–4.4.  Reads files; opens no connection, runs no plugin: that is for
 * those who ask for credentials.  The result is immutable, but for what file watches and `issuer`
 * keep behind locks, and is shared by all threads. */
#ifndef TRIMTAB_KUBE_CONFIG_H
#define TRIMTAB_KUBE_CONFIG_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/http.h"

#include <stdbool.h>
#include <stddef.h>

/* Is told of exec plugins, for metrics; from another thread, must not block.  Members
 * may be NULL. */
struct kube_credentials_observer {
    /* A run: exit code, and "no_error", "plugin_execution_error", "plugin_not_found_error" or
     * "client_internal_error". */
    void (*exec_call)(void *arg, int code, const char *call_status);
    /* The credential in use: a certificate, its expiry (s since 1970), or none. */
    void (*certificate)(void *arg, bool has, int64_t until_s);
    /* A certificate was replaced that began so long ago. */
    void (*rotated)(void *arg, double age_s);
    void *arg;
};
struct credentials_source;

struct kube_config {
    struct arena *a;       /* owns everything below */
    const char *server;    /* "https://10.0.0.1:443/prefix", without a final '/' */
    const char *context;   /* name of the context, for messages; "" in-cluster */
    const char *source;    /* file(s) it came from, for messages */
    const char *ns;        /* namespace */
    struct http_tls tls;   /* files through file_watch: re-read when they change */
    const char *proxy_url; /* NULL: environment */
    bool disable_compression;
    struct file_watch *token_file; /* wins over token once it was read */
    const char *token;             /* or NULL */
    /* instead of these two: a plugin, or a service account's tokens; else NULL */
    struct credentials_source *issuer;
    const char *username; /* basic, or NULL */
    const char *password;
    struct http_header *impersonate; /* Impersonate-… headers */
    size_t n_impersonate;
    bool credentials_allowed; /* false for http:// servers: nothing is attached (§4.2) */
    const char *user;         /* name of the kubeconfig user */
    const char *cluster; /* name of the kubeconfig cluster; "" in-cluster and for --master alone */
    const char *ca_path; /* file that tls.ca_file watches, for messages; "" when there is none */
    bool no_http2;       /* environment DISABLE_HTTP2 is not empty (§4.5) */
};

struct kube_config_args {
    const char *kubeconfig; /* --kubeconfig; NULL or "" */
    const char *master;     /* --master */
    const char *context;    /* override of current-context; NULL */
    bool use_environment;   /* fall back to KUBECONFIG and $HOME/.kube/config (sub-commands) */
    const char *(*env)(const char *name, void *arg); /* NULL: getenv */
    void *env_arg;
    const char *in_cluster_dir; /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
    struct clock *clock;
    struct kube_credentials_observer observer;
};
/* ERR_INVALID with upstream-like texts ("invalid configuration: context was not found for specified
 * context: x"), ERR_NOT_FOUND for a missing file. */
int kube_config_load(const struct kube_config_args *args, struct kube_config **ret,
                     struct err *err) _warn_unused_;
/* Says in an error of kube_config_load() which file it is about ("" or NULL: none was named), where
 * it does not yet.  Returns its code. */
int kube_config_blame(const char *kubeconfig, struct err *err);
void kube_config_free(struct kube_config *c);

#endif
