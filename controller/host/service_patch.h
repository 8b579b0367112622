/* SPDX-License-Identifier: Apache-2.0 */
/* service_patch.h: a PATCH of one Service's status, for the object and the version of it that the
 * writer has seen.
 *
 *     char version[SERVICE_VERSION_MAX] = "4711";        as read; a successful PATCH brings it up
 *                                                        to date
 *     rc = service_patch_send(&(struct service_patch){…, .version = version}, body, &err);
 *
 * Each carries uid and resourceVersion.  Why the version: a request may lie in the network while
 * the lease is lost and another process writes; when it arrives at last, the server refuses it
 * (409).  The leader looks again and sends it once more; what it says is this sync's,
 * whatever else of the Service changed meanwhile.
 * Source: controller.md §1.12 (upstream sends no version), vectors of §4.7 for the 409. */
#ifndef TRIMTAB_CONTROLLER_SERVICE_PATCH_H
#define TRIMTAB_CONTROLLER_SERVICE_PATCH_H

#include <trimtab/provider.h>

#include "common/base/cancel.h"
#include "common/base/err.h"
#include "controller/kube/client/client.h"
#include "controller/kube/store/store.h"
#include "controller/metrics/metrics.h"

#define SERVICE_VERSION_MAX 64 /* bytes with the NUL; a longer version is not sent */

struct service_patch {
    struct kube_client *client;   /* asks the fence before each mutation */
    struct kube_store *services;  /* looked at before the server is asked again; may be NULL */
    struct cancel *cancel;        /* may be NULL */
    struct metrics *metrics;      /* METRIC_WRITE_CONFLICTS; may be NULL */
    const struct tt_service *svc; /* namespace, name, uid */
    char *version;                /* SERVICE_VERSION_MAX bytes, in and out; "": of any version */
};

/* `body` is a strategic merge patch, a JSON object.  Blocks.  The code is the server's; NOT_FOUND
 * also when the name stands for another object by now; CONFLICT when it changes faster than
 * it can be read. */
int service_patch_send(const struct service_patch *p, const char *body,
                       struct err *err) _warn_unused_;

#endif
