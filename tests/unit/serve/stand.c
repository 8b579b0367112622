/* SPDX-License-Identifier: Apache-2.0 */
/* stand.c: see stand.h. */
#include "tests/unit/serve/stand.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/file.h"

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* --- access ----------------------------------------------------------------------------------- */

static bool set(struct access_verdict *v, int status, const char *reason, const char *message,
                const char *user)
{
    *v = (struct access_verdict){status, message, reason, user};
    return true;
}

bool access_decide(struct access *a, const struct access_request *req, struct access_verdict *ret)
{
    (void)a;
    const char *name = NULL;
    const char *token = req->header(req->header_arg, "authorization", false, 0, &name);
    if (req->cert != NULL) {
        char cn[64] = "";
        X509_NAME_get_text_by_NID(X509_get_subject_name(req->cert), NID_commonName, cn, sizeof(cn));
        return set(ret, 0, NULL, NULL, arena_strdup(req->a, cn));
    }
    if (str_eq(token, "Bearer good")) {
        return set(ret, 0, NULL, NULL, "good");
    }
    if (str_eq(token, "Bearer ask")) {
        return false;
    }
    if (token != NULL) {
        return set(ret, 401, "Unauthorized", "Unauthorized", "");
    }
    if (str_eq(req->path, "/healthz") || str_eq(req->path, "/livez") ||
        str_eq(req->path, "/readyz")) {
        return set(ret, 0, NULL, NULL, "system:anonymous");
    }
    return set(ret, 403, "Forbidden",
               arena_printf(req->a, "forbidden: User \"system:anonymous\" cannot get path \"%s\"",
                            req->path),
               "system:anonymous");
}

static void on_cancel(void *arg)
{
    struct access *a = arg;
    mutex_lock(&a->lock);
    cond_broadcast(&a->changed);
    mutex_unlock(&a->lock);
}

void access_ask(struct access *a, const struct access_request *req, struct cancel *cancel,
                struct access_verdict *ret)
{
    const char *name = NULL;
    must(str_eq(req->header(req->header_arg, "X-Test-", true, 0, &name), "1") == (name != NULL));
    int hook = cancel_hook(cancel, on_cancel, a);
    mutex_lock(&a->lock);
    a->asked++;
    a->asking++;
    cond_broadcast(&a->changed);
    while (a->hold && !cancel_fired(cancel)) {
        clock_wait(clock_real(), &a->changed, &a->lock, CLOCK_NEVER);
    }
    a->asking--;
    a->cancelled += cancel_fired(cancel) ? 1 : 0;
    int status = a->status;
    cond_broadcast(&a->changed);
    mutex_unlock(&a->lock);
    cancel_unhook(cancel, hook);
    set(ret, status, status == 403 ? "Forbidden" : "InternalError", "no \"way\"",
        arena_strdup(req->a, "asked"));
}

STACK_OF(X509_NAME) * access_client_ca_names(struct access *a)
{
    mutex_lock(&a->lock);
    bool two = a->ca_names;
    mutex_unlock(&a->lock);
    if (!two) {
        return NULL;
    }
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    for (int i = 0; i < 2; i++) {
        X509_NAME *name = X509_NAME_new();
        must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                        (const unsigned char *)(i == 0 ? "ca-a" : "ca-b"), -1, -1,
                                        0) == 1);
        sk_X509_NAME_push(names, name);
    }
    return names;
}

void stand_wait_asking(struct stand *s, int n)
{
    struct access *a = &s->access;
    mutex_lock(&a->lock);
    while (a->asking < n) {
        clock_wait(clock_real(), &a->changed, &a->lock, CLOCK_NEVER);
    }
    mutex_unlock(&a->lock);
}

void stand_wait_cancelled(struct stand *s, int n)
{
    struct access *a = &s->access;
    mutex_lock(&a->lock);
    while (a->cancelled < n) {
        clock_wait(clock_real(), &a->changed, &a->lock, CLOCK_NEVER);
    }
    mutex_unlock(&a->lock);
}

void stand_release(struct stand *s, int status)
{
    struct access *a = &s->access;
    mutex_lock(&a->lock);
    a->hold = false;
    a->status = status;
    cond_broadcast(&a->changed);
    mutex_unlock(&a->lock);
}

/* --- pages ------------------------------------------------------------------------------------ */

static void page_ok(void *arg, const struct page_request *req, struct page_answer *ret)
{
    (void)arg, (void)req;
    ret->nosniff = true;
    str_append(&ret->body, "ok");
}

static void page_echo(void *arg, const struct page_request *req, struct page_answer *ret)
{
    (void)arg;
    ret->content_type = PAGE_JSON;
    str_appendf(&ret->body, "%s %s ?%s accept=%s body=%.*s", req->method, req->path, req->query,
                req->accept, (int)req->body_len, req->body);
}

static void page_big(void *arg, const struct page_request *req, struct page_answer *ret)
{
    (void)arg, (void)req;
    static const char block[4096] = {'x'};
    for (size_t n = 0; n < STAND_BIG; n += sizeof(block)) {
        str_append_n(&ret->body, block, sizeof(block));
    }
}

static void page_wrong(void *arg, const struct page_request *req, struct page_answer *ret)
{
    (void)arg, (void)req;
    ret->status = 500;
    str_append(&ret->body, "no");
}

static const struct page pages[] = {
    {"/healthz", false, PAGE_METHOD_GET, page_ok, NULL},
    {"/page", true, PAGE_METHOD_GET | PAGE_METHOD_PUT, page_echo, NULL},
    {"/page/deeper", true, PAGE_METHOD_GET, page_wrong, NULL},
    {"/big", false, PAGE_METHOD_GET, page_big, NULL},
    {"/wrong", false, PAGE_METHOD_GET | PAGE_METHOD_DELETE, page_wrong, NULL},
};

/* --- the stand -------------------------------------------------------------------------------- */

void stand_init(struct stand *s)
{
    *s = (struct stand){.clock = clock_real()};
    char dir[] = "/tmp/trimtab-serve-XXXXXX";
    must(mkdtemp(dir) != NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    s->a = arena_new();
    s->dir = arena_strdup(s->a, dir);
    s->ca = test_ca_new("Test CA");
    mutex_init(&s->access.lock);
    cond_init(&s->access.changed);
    stand_issue(s, "own", "own", "DNS:localhost,IP:127.0.0.1");
    stand_flag(s, "--bind-address=127.0.0.1");
    stand_flag(s, "--tls-cert-file=%s/own.crt", s->dir);
    stand_flag(s, "--tls-private-key-file=%s/own.key", s->dir);
}

void stand_no_flags(struct stand *s)
{
    while (s->n_flags > 0) {
        free(s->flags[--s->n_flags]);
    }
}

static void remove_files(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        (void)unlinkat(dirfd(d), e->d_name, 0); /* "." and ".." stay */
    }
    if (d != NULL) {
        closedir(d);
    }
    (void)rmdir(dir);
}

void stand_done(struct stand *s)
{
    serve_free(s->serve);
    options_free(s->options);
    stand_no_flags(s);
    char *certs = xasprintf("%s/certs", s->dir);
    remove_files(certs);
    free(certs);
    remove_files(s->dir);
    mutex_done(&s->access.lock);
    cond_done(&s->access.changed);
    test_ca_free(s->ca);
    arena_free(s->a);
}

void stand_flag(struct stand *s, const char *fmt, ...)
{
    va_list ap;
    struct str_buf b = STR_BUF_INIT;
    va_start(ap, fmt);
    str_vappendf(&b, fmt, ap);
    va_end(ap);
    must(s->n_flags < STAND_FLAGS);
    s->flags[s->n_flags++] = str_buf_steal(&b);
}

int stand_new(struct stand *s, bool with_access, struct err *err)
{
    char *argv[STAND_FLAGS + 2] = {(char *)"trimtab", (char *)"--secure-port=0"};
    memcpy(argv + 2, s->flags, sizeof(s->flags));
    const struct options_input in = {.argc = 2 + s->n_flags, .argv = argv, .program = "trimtab"};
    struct err e = ERR_INIT;
    if (options_parse(&in, &s->options, &e) != ERR_OK) {
        fprintf(stderr, "flags: %s\n", e.message);
        abort();
    }
    const struct serve_args args = {
        .options = s->options,
        .access = with_access ? &s->access : NULL,
        .clock = s->clock,
    };
    return serve_new(&args, &s->serve, err);
}

void stand_start(struct stand *s)
{
    struct err err = ERR_INIT;
    if (s->serve == NULL && stand_new(s, true, &err) != ERR_OK) {
        fprintf(stderr, "serve: %s\n", err.message);
        abort();
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        serve_add_page(s->serve, &pages[i]);
    }
    must(serve_start(s->serve, &err) == ERR_OK);
}

uint16_t stand_port(struct stand *s)
{
    return serve_port(s->serve);
}

const char *stand_write(struct stand *s, const char *name, const char *text)
{
    const char *path = arena_printf(s->a, "%s/%s", s->dir, name);
    must(file_write_atomic(path, text, strlen(text), 0600, NULL) == ERR_OK);
    return path;
}

void stand_issue(struct stand *s, const char *name, const char *cn, const char *san)
{
    const struct test_cert_spec spec = {.cn = cn, .san = san};
    struct test_cert cert = test_ca_issue(s->ca, &spec);
    (void)stand_write(s, arena_printf(s->a, "%s.crt", name), cert.cert_pem);
    (void)stand_write(s, arena_printf(s->a, "%s.key", name), cert.key_pem);
    test_cert_done(&cert);
}

int answer_status_of(const char *answer)
{
    return answer == NULL ? -1 : (int)strtol(answer + strlen("HTTP/1.1 "), NULL, 10);
}

const char *answer_body(const char *answer)
{
    return answer == NULL ? "" : strstr(answer, "\r\n\r\n") + 4;
}
