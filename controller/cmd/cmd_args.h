/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_args.h: the flags of the sub-commands, by one table.
 *
 * Which flags a sub-command takes is a bit mask in the table; a provider's own options are taken by
 * plan, explain and check-config.  Everything lives in the arena. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_ARGS_H
#define TRIMTAB_CONTROLLER_CMD_CMD_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"
#include "controller/host/plugin.h"

#define CMD_PLAN         0x1u
#define CMD_EXPLAIN      0x2u
#define CMD_CHECK_CONFIG 0x4u
#define CMD_VERSION      0x8u
#define CMD_COMPLETION   0x10u
#define CMD_STATUS       0x20u
#define CMD_ORPHANS      0x40u
#define CMD_RBAC         0x80u
#define CMD_TRACE        0x100u
#define CMD_RENDER       0x200u

struct cmd_list {
    const char **items;
    size_t n;
};

struct cmd_args {
    const char *cloud_provider; /* --cloud-provider */
    const char *cloud_config;
    const char *secret_name; /* --cloud-config-secret-name; NULL: none */
    const char *secret_ns;
    const char *secret_key; /* --cloud-config-key */
    const char *cluster_name;
    const char *plugin_dir;
    bool allow_writable_plugins;
    const char *kubeconfig;
    const char *context;
    const char *master;
    const char *nodes_file;   /* --nodes */
    const char *state_file;   /* --state */
    struct cmd_list files;    /* -f */
    const char *ns;           /* -n; NULL: not given */
    bool all_namespaces;      /* -A */
    bool server_dry_run;      /* --server-dry-run */
    const char *validate;     /* --validate; NULL: strict */
    const char *output;       /* "" or "json" */
    const char *controllers;  /* --controllers, comma separated; NULL: all */
    const char *server;       /* --server */
    const char *ca_file;      /* --certificate-authority */
    bool insecure;            /* --insecure-skip-tls-verify */
    const char *leader_elect; /* --leader-elect; NULL: true */
    const char *lease_name;   /* --leader-elect-resource-name */
    const char *lease_ns;
    const char *service_account; /* NAMESPACE/NAME */
    bool use_account;            /* --use-service-account-credentials */
    bool repair_adopted;
    bool verbose;
    bool no_color;
    bool strict;
    const char *from; /* trace: --from, --to, --protocol, --all-nodes */
    const char *to;
    const char *protocol;
    bool all_nodes;
    const char *node; /* trace and render: --node, --mode */
    const char *mode;
    const char *family; /* render: --family, --form, --diff */
    const char *form;
    const char *diff;
    bool delete; /* orphans --delete, --yes, --force */
    bool yes;
    bool force;
    bool help;
    const char *timeout;   /* --timeout, as it was written; NULL: the default */
    int64_t timeout_ms;    /* what it says */
    const char *log_level; /* --v, as it was written; NULL: 0 */
    int64_t verbosity;     /* what it says; 0: no log lines */
    struct cmd_list words; /* arguments that are not flags */
    struct tt_kv *options; /* the provider's, all of them, and repair-adopted; sorted by name */
    uint32_t n_options;
};

struct cmd_flag {
    const char *name;
    const char *value; /* what its value is called in --help; NULL for a switch */
    const char *help;
    unsigned commands; /* CMD_… */
    size_t offset;
    char shorthand;
    bool list;        /* may be given several times */
    const char *bare; /* its value without '='; NULL: the next word is the value */
};
extern const struct cmd_flag cmd_flags[];
extern const size_t cmd_flags_n;

/* The values of --cloud-provider ("" when it is absent) and --provider-plugin-dir (or its default),
 * before the provider's options are known. */
void cmd_args_peek(int argc, char *const *argv, struct plugin_search *ret);
/* Parses argv[1…] (argv[0] is the name of the sub-command).  ERR_INVALID: "unknown flag: --x; did
 * you mean --y?", "flag needs an argument: --x", … */
int cmd_args_parse(struct arena *a, unsigned command, int argc, char *const *argv,
                   const struct tt_option *extra, size_t n_extra, struct cmd_args *ret,
                   struct err *err) _warn_unused_;
/* A buffer as wide as the terminal on stdout, which holds the usage: a sentence is wrapped, what is
 * indented (examples) is not.  The caller calls str_buf_done(). */
struct str_buf cmd_help_begin(const char *usage);
/* The flags of `command`, as --help prints them. */
void cmd_args_help(struct str_buf *b, unsigned command, const struct tt_option *extra, size_t n);

#endif
