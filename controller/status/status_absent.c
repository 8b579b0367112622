/* SPDX-License-Identifier: Apache-2.0 */
/* status_absent.c: the answer about a Service or a namespace of which the view shows nothing
 * (status.h).
 *
 * A name that does not exist, a Service without a load balancer and a Service of another controller
 * are three answers. */
#include "controller/status/status.h"

#include <string.h>

static const char *key_of(struct arena *a, const struct tt_service *svc)
{
    return arena_printf(a, "%s/%s", svc->ns, svc->name);
}

static bool shows_any(const struct status_view *v, const struct status_filter *f)
{
    for (size_t i = 0; i < v->n_services; i++) {
        if (status_shows(f, &v->services[i])) {
            return true;
        }
    }
    return false;
}

static const struct tt_service *find(const struct status_view *v, struct arena *a, const char *key)
{
    for (size_t i = 0; i < v->all->n; i++) {
        if (str_eq(key_of(a, v->all->views[i]), key)) {
            return v->all->views[i];
        }
    }
    return NULL;
}

static int absent_service(const struct status_view *v, const char *key, struct arena *a,
                          struct err *err)
{
    const struct tt_service *svc = find(v, a, key);
    if (svc == NULL) {
        const char **keys = ARENA_ARRAY(a, const char *, v->all->n + 1);
        for (size_t i = 0; i < v->all->n; i++) {
            keys[i] = key_of(a, v->all->views[i]);
        }
        return err_set(err, ERR_NOT_FOUND, "there is no Service %s in the cluster%s", key,
                       str_near_hint(a, key, keys, v->all->n));
    }
    if (!str_eq(svc->type, "LoadBalancer")) {
        return err_set(err, ERR_NOT_FOUND, "Service %s is of type %s: it has no load balancer", key,
                       svc->type);
    }
    return err_set(err, ERR_NOT_FOUND,
                   "Service %s is of type LoadBalancer, but another controller's%s%s%s", key,
                   str_is_empty(svc->lb_class) ? "" : " (loadBalancerClass ",
                   str_nonnull(svc->lb_class), str_is_empty(svc->lb_class) ? "" : ")");
}

/* ERR_OK for a namespace with Services of which none has a load balancer: its list is empty. */
static int absent_ns(const struct status_view *v, const char *ns, struct arena *a, struct err *err)
{
    const char **names = ARENA_ARRAY(a, const char *, v->all->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < v->all->n; i++) { /* sorted by namespace */
        const struct tt_service *svc = v->all->views[i];
        if (str_eq(svc->ns, ns)) {
            return ERR_OK;
        }
        if (n == 0 || !str_eq(names[n - 1], svc->ns)) {
            names[n++] = svc->ns;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "there is no Service in namespace %s%s", ns,
                   str_near_hint(a, ns, names, n));
}

int status_absent(const struct status_view *v, const struct status_filter *f, struct arena *a,
                  struct err *err)
{
    bool names_ns = f->service == NULL && !str_is_empty(f->ns);
    if ((f->service == NULL && !names_ns) || shows_any(v, f)) {
        return ERR_OK;
    }
    if (v->all == NULL) {
        return err_set(err, ERR_IN_PROGRESS,
                       "this process has not read the Services: it is starting, or waits to lead");
    }
    return names_ns ? absent_ns(v, f->ns, a, err) : absent_service(v, f->service, a, err);
}
