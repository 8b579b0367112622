/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the command line of the controller: upstream's flags, by a table.
 *
 * Every flag of upstream's cloud-controller-manager 1.36 is accepted with its default; those that a
 * service controller has no use for do nothing.  Texts of errors are those of upstream's flag
 * library (pflag), because scripts and people know them.  The provider's own options are appended
 * to the table before the line is parsed.
 * Source: controller.md §3.2, 3.3.  Knows no provider and opens nothing; one thread. */
#ifndef TRIMTAB_CONTROLLER_OPTIONS_H
#define TRIMTAB_CONTROLLER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"

enum option_type {
    OPTION_BOOL = 1,
    OPTION_STRING,
    OPTION_INT,      /* int64_t */
    OPTION_FLOAT,    /* double */
    OPTION_DURATION, /* int64_t, milliseconds */
    OPTION_LIST, /* comma separated, repeatable: the first use replaces the default, more append */
    OPTION_STRINGS, /* repeatable, each one whole */
    OPTION_GATES,   /* k=true,… */
    OPTION_VERSION, /* true, false, raw, v1.2.3 */
};

/* One flag of the table. */
struct option_def {
    const char *name;
    const char *section;      /* heading in --help */
    const char *default_text; /* as it would be written; "" for none */
    const char *help;
    const char *deprecated; /* a sentence, or NULL */
    enum option_type type;
    char shorthand; /* 'v', or 0 */
    bool secret;    /* its value is never shown */
    size_t offset;  /* in struct options; OPTION_NO_MEMBER: only accepted */
};
#define OPTION_NO_MEMBER SIZE_MAX

struct option_list {
    const char *const *items;
    size_t n;
};

/* A flag's value as text, for --v=1 and for checks; same order as the table. */
struct option_value {
    const struct option_def *def;
    const char *text; /* canonical */
    bool set;         /* it was on the command line */
};

struct options {
    struct arena *a; /* owns everything below */
    /* the provider */
    const char *cloud_provider;
    const char *cloud_config;
    const char *config_secret_name; /* --cloud-config-secret-name; "" = none */
    const char *config_secret_ns;
    const char *config_secret_key; /* --cloud-config-key */
    bool dynamic_reloading;        /* --enable-dynamic-reloading */
    const char *cluster_name;
    const char *plugin_dir; /* --provider-plugin-dir */
    bool allow_writable_plugins;
    bool provider_quarantine;
    int64_t call_deadline_ms; /* --provider-call-deadline; 0: as the provider says */
    bool allow_untagged_cloud;
    bool repair_adopted; /* --repair-adopted */
    /* the API server */
    const char *kubeconfig;
    const char *master;
    const char *content_type;
    double kube_qps;
    int64_t kube_burst;
    bool service_account_credentials; /* --use-service-account-credentials */
    /* the controller */
    int64_t concurrent_service_syncs;
    int64_t concurrent_node_syncs;
    struct option_list controllers;
    int64_t resync_period_ms; /* --resync-period; 0: off */
    bool strict_events;       /* --strict-upstream-events */
    int64_t start_interval_ms;
    const char *drift;        /* --drift: "off", "report", "repair" */
    int64_t drift_period_ms;  /* --drift-period */
    bool orphan_guard;        /* --orphan-guard */
    bool service_conditions;  /* --service-conditions */
    bool service_annotations; /* --service-annotations */
    /* the process */
    bool leader_elect;
    int64_t lease_duration_ms;
    int64_t renew_deadline_ms;
    int64_t retry_period_ms;
    int64_t progress_deadline_ms; /* --progress-deadline; 0: off */
    const char *resource_lock;
    const char *lease_name; /* --leader-elect-resource-name */
    const char *lease_ns;   /* --leader-elect-resource-namespace */
    bool leader_migration;  /* --enable-leader-migration */
    const char *leader_migration_config;
    bool profiling;
    /* the HTTPS port */
    int64_t secure_port; /* 0: none */
    const char *bind_address;
    const char *cert_dir; /* "": a certificate of our own making stays in memory */
    const char *tls_cert_file;
    const char *tls_key_file;
    struct option_list tls_ciphers; /* Go's names; none: the defaults */
    struct option_list tls_curves;  /* numbers of the IANA registry */
    const char *tls_min_version;    /* "": VersionTLS12 */
    struct option_list tls_sni;     /* "cert,key[:pattern,...]" each */
    bool permit_address_sharing;
    bool permit_port_sharing;
    /* who may ask there */
    const char *authn_kubeconfig;
    bool authn_skip_lookup;
    bool authn_tolerate_failure;
    int64_t authn_cache_ttl_ms;
    const char *client_ca_file;
    struct option_list rh_allowed_names; /* requestheader */
    const char *rh_client_ca_file;
    struct option_list rh_extra_prefixes;
    struct option_list rh_group_headers;
    struct option_list rh_uid_headers;
    struct option_list rh_username_headers;
    const char *authz_kubeconfig;
    int64_t authz_allowed_ttl_ms;
    int64_t authz_denied_ttl_ms;
    struct option_list always_allow_paths;
    /* the log */
    int64_t verbosity;
    const char *vmodule;
    const char *logging_format;
    const char *feature_gates;
    const char *version; /* "false", "true", "raw", "v…" */
    bool help;
    /* all of them */
    struct option_value *values;
    size_t n_values;
    /* the provider's, sorted by name, as open() takes them */
    struct tt_kv *provider_values;
    size_t n_provider_values;
};

/* Flags needed before the provider is loaded: its name and where plugins are.  Faulty lines give
 * what can be read. */
struct option_peek {
    const char *cloud_provider;
    const char *plugin_dir;
    bool allow_writable; /* --allow-writable-plugins */
};
struct option_peek options_peek(struct arena *a, int argc, char *const *argv);

/* Parses argv[1…].  `extra` (n of them) are the provider's.  `warn` gets a line for each deprecated
 * flag; may be NULL.  ERR_INVALID with pflag's text. */
struct options_input {
    int argc;
    char *const *argv;
    const struct tt_option *extra;
    size_t n_extra;
    const char *program; /* for messages: "trimtab", "cloud-controller-manager" */
    void (*warn)(void *arg, const char *text);
    void *warn_arg;
};
int options_parse(const struct options_input *in, struct options **ret,
                  struct err *err) _warn_unused_;
void options_free(struct options *o); /* NULL is fine */

/* Checks that need more than one flag; all faults at once: "a" or "[a, b]". */
int options_validate(const struct options *o, struct err *err) _warn_unused_;
/* §3.3: "A=true,B=false".  Unknown gates are reported to `warn`, and are not errors. */
int options_check_gates(struct arena *a, const char *text,
                        void (*warn)(void *arg, const char *text), void *warn_arg,
                        struct err *err) _warn_unused_;
/* The gates that are known; none changes what this program does. */
struct option_gate {
    const char *name;
    const char *stage;      /* "ALPHA", "BETA"; "": for good */
    bool locked_to_default; /* cannot be set to the other value */
    bool def;
};
const struct option_gate *options_gates(size_t *ret_n);
bool options_gate_on(const struct options *o, const struct option_gate *gate);
/* Whether the list leaves a controller on: the first item that names it decides, "*" stands for all
 * but those that are off by default.  Long names only, as upstream's IsControllerEnabled.  Pure. */
bool options_controller_enabled(const char *name, const char *const *controllers, size_t n,
                                const char *const *off_by_default, size_t n_off);
/* True when --controllers leaves the service controller on (§6.12, 219–224). */
bool options_service_controller_on(const struct options *o);
/* The same for a list. */
bool options_service_controller_in(const char *const *controllers, size_t n);
/* Of those that are off by default and are a part of trimtab: the one that the list names; NULL:
 * none.  Static. */
const char *options_more_controllers(struct arena *a, const char *const *controllers, size_t n);
/* The error if all parts of a provider are switched off; its name. */
#define OPTIONS_NOTHING_TO_RUN                                                                     \
    "--controllers switches \"service-lb-controller\" off, and provider \"%s\" has nothing else "  \
    "to "                                                                                          \
    "run"
/* The first that no cloud controller manager has, without its '-'; NULL: all are known. */
const char *options_unknown_controller(const char *const *controllers, size_t n);

/* All flags by section, as --help prints them. */
void options_help(struct str_buf *b, const struct tt_option *extra, size_t n);

/* --- inside (options_*.c) --------------------------------------------------------------------- */
extern const struct option_def options_table[];
extern const size_t options_table_n;
/* Reads `text` as `type` into *out (a member of struct options) and gives its canonical form. */
int option_read(struct arena *a, enum option_type type, const char *text, bool first, void *out,
                const char **ret_text, struct err *err);
/* The table with the provider's options behind it. */
struct option_def *options_full_table(struct arena *a, const struct tt_option *extra, size_t n,
                                      size_t *ret_n);

#endif
