/* SPDX-License-Identifier: Apache-2.0 */
/* conn_sync.c: connSync: the kernel's daemons that carry connections of IPVS from one director to
 * the others.
 *
 * Both run on each director: it sends what it holds, and receives what the others hold.  They stay
 * when the process ends.  One with another id may be another program's, and stays. */
#include "providers/local/provider.h"

#include <stdio.h>
#include <string.h>

static const struct local_ipvs_daemon *daemon_of(const struct local_ipvs_daemon *all, size_t n,
                                                 bool backup)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i].backup == backup) {
            return &all[i];
        }
    }
    return NULL;
}

static const char *word_of(const struct local_ipvs_daemon *d)
{
    return d->backup ? "backup" : "master";
}

/* One with this id at another interface is stopped first: the kernel has one of each. */
static int run_one(struct local_provider *p, const struct local_ipvs_daemon *want,
                   const struct local_ipvs_daemon *have, struct err *err)
{
    const struct local_kernel_ops *ops = p->kernel->ops;
    int rc = ERR_OK;

    if (have != NULL && have->id == want->id && strcmp(have->interface, want->interface) == 0) {
        return ERR_OK;
    }
    if (have != NULL && have->id != want->id) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "ipvs sync daemon runs with syncid %u (%s, %s): left alone; connSync has no "
                       "%s (ipvsadm --stop-daemon %s, if no program needs it)",
                       (unsigned)have->id, word_of(have), have->interface, word_of(have),
                       word_of(have));
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0, text, NULL, 0);
        return ERR_OK;
    }
    if (have != NULL) {
        rc = ops->ipvs_daemon_change(p->kernel, true, have, err);
    }
    return rc == ERR_OK ? ops->ipvs_daemon_change(p->kernel, false, want, err) : rc;
}

int local_conn_sync_start(struct local_provider *p, struct err *err)
{
    const struct local_director_config *d = &p->config->director;
    struct local_ipvs_daemon have[LOCAL_IPVS_DAEMONS];
    size_t n = 0;

    if (d->sync_interface == NULL || p->planning) {
        return ERR_OK;
    }
    int rc = local_ipvs_usable(p, err);
    if (rc == ERR_OK) {
        rc = p->kernel->ops->ipvs_daemons(p->kernel, have, &n, err);
    }
    for (int backup = 0; rc == ERR_OK && backup < 2; backup++) {
        struct local_ipvs_daemon want = {.backup = backup == 1, .id = d->sync_id};
        (void)snprintf(want.interface, sizeof want.interface, "%s", d->sync_interface);
        rc = run_one(p, &want, daemon_of(have, n, backup == 1), err);
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "connSync");
    }
    return rc;
}
