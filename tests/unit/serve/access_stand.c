/* SPDX-License-Identifier: Apache-2.0 */
/* access_stand.c: see access_stand.h. */
#include "tests/unit/serve/access_stand.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/support/clock_mover.h"

#define FLAGS_MAX       24
#define BACK_OFF_MAX_MS 10000

const struct kit_header bearer[] = {{"Authorization", "Bearer " TOKEN}, {NULL, NULL}};
const struct kit_header no_headers[] = {{NULL, NULL}};

/* --- the stand -------------------------------------------------------------------------------- */

void stand_begin(struct stand *s, const struct api_step *steps, size_t n)
{
    unsetenv("KUBERNETES_SERVICE_HOST");
    *s = (struct stand){.a = arena_new(), .metrics = metrics_new(), .rng = rng_seeded_new(1)};
    s->folder = kit_folder(s->a);
    s->api = fake_api_start(steps, n);
    s->ca = kit_ca_new("clients");
    s->proxy = kit_ca_new("proxies");
    s->log_fd = memfd_create("log", 0);
    log_setup(&(struct log_config){.fd = s->log_fd, .verbosity = 10});
}

/* `files`: both CA files; `kubeconfigs`: both of them; `more`: another flag, or NULL. */
int stand_start(struct stand *s, bool files, bool kubeconfigs, const char *more, struct err *err)
{
    char *argv[FLAGS_MAX];
    int n = 0;
    argv[n++] = arena_strdup(s->a, "trimtab");
    argv[n++] = arena_strdup(s->a, "--cloud-provider=gce");
    if (kubeconfigs) {
        const char *kc = kit_kubeconfig(s->a, s->folder, "kc", fake_api_config(s->api)->server);
        argv[n++] = arena_printf(s->a, "--authentication-kubeconfig=%s", kc);
        argv[n++] = arena_printf(s->a, "--authorization-kubeconfig=%s", kc);
    }
    if (files) {
        argv[n++] = arena_printf(s->a, "--client-ca-file=%s",
                                 kit_write(s->a, s->folder, "ca.crt", s->ca->pem));
        argv[n++] = arena_printf(s->a, "--requestheader-client-ca-file=%s",
                                 kit_write(s->a, s->folder, "proxy.crt", s->proxy->pem));
        argv[n++] = arena_strdup(s->a, "--requestheader-allowed-names=front-proxy");
    }
    if (more != NULL) {
        argv[n++] = arena_strdup(s->a, more);
    }
    const struct options_input in = {.argc = n, .argv = argv, .program = "trimtab"};
    assert_int_equal(options_parse(&in, &s->options, err), ERR_OK);
    const struct access_args args = {
        .options = s->options,
        .user_agent = "trimtab/test",
        .metrics = s->metrics,
        .clock = fake_api_clock(s->api),
        .rng = s->rng,
    };
    return access_new(&args, &s->access, err);
}

/* The same, and it must start. */
void stand_up(struct stand *s, const struct api_step *steps, size_t n, bool files, const char *more)
{
    struct err err = ERR_INIT;
    stand_begin(s, steps, n);
    if (stand_start(s, files, true, more, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

const char *stand_log(struct stand *s)
{
    off_t n = lseek(s->log_fd, 0, SEEK_END);
    char *text = ARENA_ARRAY(s->a, char, (size_t)n + 1);
    assert_int_equal(pread(s->log_fd, text, (size_t)n, 0), n);
    return text;
}

void stand_done(struct stand *s)
{
    access_free(s->access);
    fake_api_stop(s->api);
    log_setup(&(struct log_config){.fd = 2});
    assert_null(strstr(stand_log(s), TOKEN)); /* whatever the test was about */
    close(s->log_fd);
    options_free(s->options);
    metrics_free(s->metrics);
    rng_free(s->rng);
    kit_ca_free(s->ca);
    kit_ca_free(s->proxy);
    kit_folder_done(s->folder);
    arena_free(s->a);
}

/* --- asking ----------------------------------------------------------------------------------- */

void *question_thread(void *arg)
{
    struct question *q = arg;
    access_ask(q->s->access, &q->req, q->cancel, &q->verdict);
    atomic_store(&q->done, true);
    return NULL;
}

/* Moves the clock over back-offs while the question waits for one, and not to the next look
 * at the files. */
static void finish(struct question *q)
{
    while (!atomic_load(&q->done)) {
        (void)clock_let_pass(fake_api_clock(q->s->api), BACK_OFF_MAX_MS);
    }
    pthread_join(q->thread, NULL);
}

/* From memory if that is possible, else asked; the clock moves while it waits.
 * *ret_asked: the latter. */
struct access_verdict ask(struct stand *s, const char *path, X509 *cert,
                          const struct kit_header *headers, bool *ret_asked)
{
    struct question q = {.s = s, .req = kit_request(s->a, "GET", path, headers)};
    q.req.cert = cert;
    *ret_asked = !access_decide(s->access, &q.req, &q.verdict);
    if (*ret_asked) {
        atomic_init(&q.done, false);
        assert_int_equal(pthread_create(&q.thread, NULL, question_thread, &q), 0);
        finish(&q);
    }
    return q.verdict;
}

int status_of(struct stand *s, const char *path, X509 *cert, const struct kit_header *headers)
{
    bool asked;
    return ask(s, path, cert, headers, &asked).status;
}

double counted(struct stand *s, const char *name, const char *label, const char *value)
{
    const struct tt_kv kv = {.key = label, .value = value};
    return metrics_value(s->metrics, name, &kv, 1);
}

/* --- certificates --- */

X509 *certificate(struct stand *s, enum shown what)
{
    static const char *const dev[] = {"dev", NULL};
    static const char *const masters[] = {"system:masters", NULL};
    struct kit_ca *foreign = NULL;
    X509 *cert = NULL;
    switch (what) {
    case NO_CERT:
        break;
    case OURS:
        return kit_client(s->ca, "alice", dev);
    case MASTER:
        return kit_client(s->ca, "root", masters);
    case FOREIGN:
        foreign = kit_ca_new("clients");
        cert = kit_client(foreign, "admin", masters);
        kit_ca_free(foreign);
        break;
    case PROXY:
        return kit_client(s->proxy, "front-proxy", NULL);
    case NO_PROXY:
        return kit_client(s->proxy, "somebody", NULL);
    case NAMELESS:
        return kit_issue(s->ca, &(struct kit_cert){.orgs = masters});
    }
    return cert;
}
