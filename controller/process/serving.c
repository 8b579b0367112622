/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c: see serving.h.
 *
 * Only puts together: the port (serve/serve.h), who may ask (serve/access.h), checks
 * (serve/health.h), pages (serve/pages.h).  Texts and rules are theirs. */
#include "controller/process/serving.h"

#include <stdlib.h>

#include "controller/host/identity.h"
#include "controller/kube/client/user_agent.h"
#include "controller/metrics/metrics_process.h"
#include "controller/serve/pages.h"
#include "controller/serve/serve.h"

#define ELECTION_CHECK   "leaderElection"
#define WORKERS_CHECK    "workers"
#define CONTROLLER_CHECK "service-lb-controller" /* upstream's name of a ping per controller */

struct serving {
    struct serving_args args;
    struct access *access;
    struct serve *serve;
    struct health *health;
    struct pages_args pages;
};

static void look(void *arg, struct arena *a, struct status_view *ret)
{
    const struct serving *s = arg;
    const struct options *o = s->args.options;

    s->args.look(s->args.arg, a, ret);
    ret->version = TRIMTAB_VERSION;
    ret->provider = s->args.provider;
    ret->cluster = o->cluster_name;
    ret->started_us = s->pages.started_us;
    status_budgets(s->args.metrics, o->kube_qps, (int)o->kube_burst, a, ret);
}

static int open_access(struct serving *s, struct err *err)
{
    const struct options *o = s->args.options;
    char agent[USER_AGENT_MAX];
    struct access_args args = {
        .options = o,
        .user_agent = agent,
        .metrics = s->args.metrics,
        .clock = s->args.clock,
        .rng = s->args.rng,
    };

    if (str_is_empty(o->master)) { /* which would lead elsewhere than the file */
        args.own = identity_main(s->args.identity);
        args.own_file = o->kubeconfig;
    }
    user_agent_make(USER_AGENT_MAIN, agent);
    return access_new(&args, &s->access, err);
}

static int open_port(struct serving *s, struct err *err)
{
    const struct serve_args args = {
        .options = s->args.options,
        .access = s->access,
        .metrics = s->args.metrics,
        .clock = s->args.clock,
        .rng = s->args.rng,
    };
    return serve_new(&args, &s->serve, err);
}

static void add_pages(struct serving *s)
{
    struct page pages[PAGES_MAX];

    s->pages = (struct pages_args){
        .options = s->args.options,
        .metrics = s->args.metrics,
        .health = s->health,
        .clock = s->args.clock,
        .started_us = process_started_us(),
        .status = {.look = look, .arg = s},
    };
    size_t n = pages_fill(&s->pages, pages, PAGES_MAX);
    for (size_t i = 0; i < n; i++) {
        serve_add_page(s->serve, &pages[i]);
    }
}

/* Access control is ready before the port accepts requests. */
static int begin(struct serving *s, struct err *err)
{
    int rc = open_access(s, err);

    if (rc == ERR_OK) {
        rc = open_port(s, err);
    }
    if (rc == ERR_OK) {
        add_pages(s);
        rc = serve_start(s->serve, err);
    }
    return rc;
}

int serving_new(const struct serving_args *args, struct serving **ret, struct err *err)
{
    if (args->options->secure_port == 0) {
        return ERR_OK;
    }
    struct serving *s = xcalloc(1, sizeof(*s));
    s->args = *args;
    s->args.clock = args->clock == NULL ? clock_real() : args->clock;
    s->args.rng = args->rng == NULL ? rng_real() : args->rng;
    s->health = health_new(args->metrics);
    if (args->election != NULL) {
        health_add(s->health, ELECTION_CHECK, HEALTH_Z | HEALTH_LIVE, election_check_health,
                   args->election);
    }
    if (args->check_workers != NULL) {
        health_add(s->health, WORKERS_CHECK, HEALTH_LIVE, args->check_workers, args->arg);
    }
    int rc = begin(s, err);
    if (rc != ERR_OK) {
        serving_free(s);
        return rc;
    }
    *ret = s;
    return ERR_OK;
}

void serving_free(struct serving *s)
{
    if (s == NULL) {
        return;
    }
    serve_free(s->serve);
    access_free(s->access);
    health_free(s->health);
    free(s);
}

/* A running process passes: upstream's check of a controller without one of its own. */
static bool ping(void *arg, char *why, size_t n)
{
    (void)arg;
    (void)why;
    (void)n;
    return true;
}

void serving_controller_started(struct serving *s)
{
    if (s != NULL) {
        health_add(s->health, CONTROLLER_CHECK, HEALTH_Z | HEALTH_LIVE, ping, NULL);
    }
}

void serving_election_ends(struct serving *s)
{
    if (s != NULL) {
        health_remove(s->health, ELECTION_CHECK);
    }
}

void serving_reload(struct serving *s)
{
    if (s != NULL) {
        serve_reload(s->serve);
    }
}
