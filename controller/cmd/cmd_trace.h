/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_trace.h: the questions of `trimtab trace`: from the words of the command line to what the
 * library answers. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_TRACE_H
#define TRIMTAB_CONTROLLER_CMD_CMD_TRACE_H

#include "controller/cmd/cmd_inside.h"

/* A destination as it is written. */
struct cmd_target {
    struct ip_addr ip; /* len 0: `host` */
    const char *host;  /* NULL: `ip` */
    int32_t port;
};
/* "10.0.0.1:80", "[fd00::1]:80", "a.example.com:80".  ERR_INVALID for anything else. */
int cmd_trace_parse_to(struct arena *a, const char *text, struct cmd_target *ret,
                       struct err *err) _warn_unused_;
/* Puts the address in place of a host name that is a node's, or a Service's as the cluster's DNS
 * has it (its cluster IP), of the client's family (len 0: any).  Host names of load balancers, and
 * unknown ones, stay.  ERR_INVALID: it has none. */
int cmd_trace_resolve(const struct cmd_inside *in, const struct ip_addr *client,
                      struct cmd_target *to, struct err *err) _warn_unused_;
/* "tcp" to "TCP"; NULL is TCP.  ERR_INVALID for a protocol that no Service has. */
int cmd_trace_parse_protocol(struct arena *a, const char *text, const char **ret,
                             struct err *err) _warn_unused_;
/* kube-proxy's mode, and in *ret_source where it comes from. */
int cmd_trace_mode(const struct cmd_inside *in, enum ks_mode *ret, const char **ret_source,
                   struct err *err) _warn_unused_;
/* The node of --node; ERR_NOT_FOUND, with the nearest names. */
int cmd_trace_node(const struct cmd_inside *in, const char *name, const struct ks_node **ret,
                   struct err *err) _warn_unused_;
/* Fills client and node of a question as --from, --node and --all-nodes say. */
int cmd_trace_client(const struct cmd_inside *in, struct ks_question *q,
                     struct err *err) _warn_unused_;
/* All questions about a Service: each of its addresses and ports; `base` has the client,
 * node and mode. */
struct ks_question *cmd_trace_questions(struct arena *a, const struct ks_service *service,
                                        const struct ks_question *base, size_t *ret_n);

#endif
