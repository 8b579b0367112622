/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c: the HTTPS port: its socket, its thread, its event loop.
 *
 * Owns start and stop, the numbers that bound clients, and everything that wakes the loop: clients,
 * the minute after which certificates are checked, answers of the pool, a fake clock.  The socket
 * is bound by serve_new(), so that a port in use ends the start; without certificate files the pair
 * of our own is made by the thread, and clients wait in the socket's queue until it is there: a
 * start does not wait for two RSA keys.
 * Must not know what is served or who may see it.  The loop's objects belong to its thread
 * while it runs. */
#include "controller/serve/serve.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "common/base/log.h"
#include "controller/serve/serve_internal.h"

#define FILES_FOR_OTHERS 512 /* file descriptors that the rest of the process may need */
#define MINUTE_S         60

static int open_port(struct serve *s, struct err *err);
static int start_events(struct serve *s, struct err *err);
static void *run(void *arg);
static void wake(void *arg);
static void on_wake(evutil_socket_t fd, short what, void *arg);
static void on_minute(evutil_socket_t fd, short what, void *arg);

/* --- start and stop --------------------------------------------------------------------------- */

int serve_new(const struct serve_args *args, struct serve **ret, struct err *err)
{
    struct serve *s = xcalloc(1, sizeof(*s));
    s->args = *args;
    s->wake_fd = -1;
    int rc = http_server_new_loop(&s->base, err);
    if (rc == ERR_OK) {
        rc = certs_new(args->options, args->clock, &s->certs, err);
    }
    if (rc == ERR_OK) {
        rc = open_port(s, err);
    }
    if (rc == ERR_OK) {
        rc = start_events(s, err);
    }
    if (rc != ERR_OK) {
        serve_free(s);
        return rc;
    }
    s->pool = args->access == NULL ? NULL : ask_pool_new(args->access, wake, s);
    *ret = s;
    return ERR_OK;
}

void serve_add_page(struct serve *s, const struct page *page)
{
    s->pages = xrealloc(s->pages, (s->n_pages + 1) * sizeof(*s->pages));
    s->pages[s->n_pages++] = *page;
}

int serve_start(struct serve *s, struct err *err)
{
    int rc = thread_start(&s->thread, run, s, "the HTTPS port", err);
    s->started = rc == ERR_OK;
    return rc;
}

void serve_free(struct serve *s)
{
    if (s == NULL) {
        return;
    }
    if (s->started) {
        atomic_store(&s->ends, true);
        wake(s);
        pthread_join(s->thread, NULL);
    }
    if (s->wake_fd >= 0) {
        clock_unsubscribe(s->args.clock, s->clock_id);
    }
    http_server_free(s->http); /* requests in progress forget their questions, which cancels them */
    ask_pool_free(s->pool);
    certs_free(s->certs);
    if (s->wake != NULL) {
        event_free(s->wake);
    }
    if (s->minute != NULL) {
        event_free(s->minute);
    }
    http_server_free_loop(s->base);
    if (s->wake_fd >= 0) {
        close(s->wake_fd);
    }
    free(s->pages);
    free(s);
}

uint16_t serve_port(const struct serve *s)
{
    return http_server_port(s->http);
}

void serve_reload(struct serve *s)
{
    atomic_store(&s->reload, true);
    wake(s);
}

/* --- the port --------------------------------------------------------------------------------- */

/* As many clients as there are file descriptors for, and not more than we want. */
static size_t connection_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0) {
        return SERVE_MAX_CONNECTIONS;
    }
    if (r.rlim_cur < r.rlim_max) {
        const struct rlimit wide = {.rlim_cur = r.rlim_max, .rlim_max = r.rlim_max};
        r.rlim_cur = setrlimit(RLIMIT_NOFILE, &wide) == 0 ? r.rlim_max : r.rlim_cur;
    }
    if (r.rlim_cur >= SERVE_MAX_CONNECTIONS + FILES_FOR_OTHERS) {
        return SERVE_MAX_CONNECTIONS;
    }
    size_t n = r.rlim_cur > 2 * FILES_FOR_OTHERS ? r.rlim_cur - FILES_FOR_OTHERS : r.rlim_cur / 2;
    log_warning("The limit of open files leaves room for fewer clients of the HTTPS port",
                LOG_I("openFiles", r.rlim_cur), LOG_I("clients", n));
    return n;
}

/* Callback of the HTTP server. */
static void notice(void *arg, const char *what)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 1};
    struct serve *s = arg;
    if (log_limit_ok(&limit, clock_now_ms(s->args.clock))) {
        log_warning("The HTTPS port is at a limit", LOG_S("what", what),
                    LOG_I("connections", http_server_connections(s->http)),
                    LOG_I("bytes", http_server_held(s->http)));
    }
}

static int open_port(struct serve *s, struct err *err)
{
    const struct options *o = s->args.options;
    const struct http_server_config cfg = {
        .address = o->bind_address,
        .port = (uint16_t)o->secure_port,
        .all_families = true,
        .share_port = o->permit_port_sharing,
        .paused = true,
        .max_body = SERVE_MAX_BODY,
        .max_headers = SERVE_MAX_HEADERS,
        .max_connections = connection_limit(),
        .max_handshakes = SERVE_MAX_HANDSHAKES,
        .max_held = SERVE_MAX_HELD,
        .handshake_ms = SERVE_HANDSHAKE_MS,
        .read_ms = SERVE_READ_MS,
        .send_ms = SERVE_SEND_MS,
        .idle_ms = SERVE_IDLE_MS,
        .clock = s->args.clock,
        .headers = SERVE_HEADERS,
        .handle = serve_request,
        .notice = notice,
        .arg = s,
    };
    int rc = http_server_new(s->base, &cfg, &s->http, err);
    if (rc == ERR_IN_USE) {
        rc = err_set(err, rc,
                     "--secure-port: %s:%lld is in use by another process; stop that one (another "
                     "controller manager?), or choose another port",
                     o->bind_address, (long long)o->secure_port);
    } else if (rc != ERR_OK) {
        (void)err_prefix(err, "--bind-address, --secure-port");
    }
    return rc;
}

static int start_events(struct serve *s, struct err *err)
{
    s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (s->wake_fd < 0) {
        return err_set(err, ERR_TRANSIENT, "HTTPS port: %s",
                       limits_no_descriptor() ? LIMITS_NO_DESCRIPTOR : strerror(errno));
    }
    s->wake = event_new(s->base, s->wake_fd, EV_READ | EV_PERSIST, on_wake, s);
    s->minute = event_new(s->base, -1, EV_PERSIST, on_minute, s);
    const struct timeval minute = {.tv_sec = MINUTE_S};
    event_add(s->wake, NULL);
    event_add(s->minute, &minute);
    s->clock_id = clock_subscribe(s->args.clock, wake, s);
    return ERR_OK;
}

/* --- the loop --------------------------------------------------------------------------------- */

static STACK_OF(X509_NAME) * ca_names(struct serve *s)
{
    return s->args.access == NULL ? NULL : access_client_ca_names(s->args.access);
}

static void free_names(STACK_OF(X509_NAME) * names)
{
    sk_X509_NAME_pop_free(names, X509_NAME_free);
}

/* False: there is no certificate, so connections are refused. */
static bool load_certs(struct serve *s)
{
    struct server_tls *tls = NULL;
    struct err err = ERR_INIT;
    STACK_OF(X509_NAME) *names = ca_names(s);
    int rc = certs_first(s->certs, names, &tls, &err);
    free_names(names);
    if (rc != ERR_OK) {
        log_error(err.message, "No certificate for the HTTPS port: it stays closed");
        return false;
    }
    http_server_set_tls(s->http, tls);
    server_tls_unref(tls);
    return true;
}

static void *run(void *arg)
{
    struct serve *s = arg;
    if (load_certs(s)) {
        log_info(0, "Serving securely", LOG_S("address", s->args.options->bind_address),
                 LOG_I("port", serve_port(s)));
        http_server_resume(s->http);
    }
    if (!atomic_load(&s->ends)) {
        (void)event_base_dispatch(s->base); /* until on_wake() breaks it */
    }
    return NULL;
}

static void wake(void *arg)
{
    struct serve *s = arg;
    const uint64_t one = 1;
    (void)!write(s->wake_fd, &one, sizeof(one)); /* full: then it is awake already */
}

static void look_at_certs(struct serve *s, bool now)
{
    STACK_OF(X509_NAME) *names = ca_names(s);
    struct server_tls *tls = certs_poll(s->certs, names, now);
    free_names(names);
    if (tls != NULL) {
        http_server_set_tls(s->http, tls);
        server_tls_unref(tls);
    }
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    struct serve *s = arg;
    uint64_t n;
    (void)what;
    (void)!read(fd, &n, sizeof(n)); /* how often does not matter */
    if (atomic_load(&s->ends)) {
        (void)event_base_loopbreak(s->base);
        return;
    }
    if (s->pool != NULL) {
        ask_pool_drain(s->pool);
    }
    http_server_sweep(s->http);
    look_at_certs(s, atomic_exchange(&s->reload, false));
}

static void on_minute(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    look_at_certs(arg, false);
}
