/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h: who this process is to the API server, and the user name of each of its clients.
 *
 * One identity comes from the kubeconfig or the pod's files: it watches, holds leases and asks.
 * With --use-service-account-credentials what is done for Services is done as
 * kube-system/service-controller instead, whose tokens the main identity requests (controller.md
 * §3.9).  Counts exec plugins in the metrics.
 *
 * One per process: the election and each life of the app share it, so that a credential
 * plugin runs once for all. */
#ifndef TRIMTAB_CONTROLLER_IDENTITY_H
#define TRIMTAB_CONTROLLER_IDENTITY_H

#include "controller/kube/client/client.h"
#include "controller/kube/client/config.h"
#include "controller/kube/client/user_agent.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"

struct identity;

struct identity_args {
    const char *kubeconfig; /* flags; "" or NULL */
    const char *master;
    bool use_account;        /* --use-service-account-credentials */
    struct metrics *metrics; /* must live longer */
    struct clock *clock;
    double qps; /* of the client that requests tokens */
    int burst;
};

/* The flags. */
struct identity_args identity_args_of(const struct options *o, struct metrics *m,
                                      struct clock *clock);
/* Reads files, sends nothing.  Errors as kube_config_load(), with the file's name. */
int identity_new(const struct identity_args *args, struct identity **ret,
                 struct err *err) _warn_unused_;
/* After all clients that use its configurations are gone. */
void identity_free(struct identity *i);
/* As what the process itself speaks, and as what it speaks for Services: the same
 * without an account. */
struct kube_config *identity_main(struct identity *i);
struct kube_config *identity_services(struct identity *i);
/* For metrics_add_collector(): what is left of the plugin's certificate, +Inf without one (as
 * upstream).  `identity` is a struct identity. */
void identity_show(void *identity, struct metrics *m);

#endif
