/* SPDX-License-Identifier: Apache-2.0 */
/* stand.h: an HTTPS port as its flags describe it, with an access that does what a test says.
 *
 * Access here: /healthz, /livez and /readyz are open to all.  "Authorization: Bearer good" may see
 * everything (user "good"), "Bearer bad" is 401, "Bearer ask" is asked about: access_ask() says
 * what `asked` holds, after the test has let it go.  A client certificate may see everything, as
 * the user of its common name.  All others are 403.  Pages: /healthz "ok"; /page and below:
 * method, path, query and body; /big: 8 MiB; /wrong: status 500. */
#ifndef TRIMTAB_TESTS_SERVE_STAND_H
#define TRIMTAB_TESTS_SERVE_STAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/lock.h"
#include "controller/serve/serve.h"
#include "tests/support/test_ca.h"
#include "tests/support/tls_client.h"

#define STAND_FLAGS 24
#define STAND_BIG   ((size_t)8 * 1024 * 1024)

struct access {
    struct mutex lock;
    struct cond changed;
    bool hold;     /* questions wait for stand_release() */
    int asking;    /* questions that wait now */
    int asked;     /* so far */
    int cancelled; /* of them */
    bool ca_names; /* the handshake names two CAs */
    int status;    /* of the verdict on questions */
};

struct stand {
    struct test_ca *ca;
    struct test_cert cert; /* "own", for localhost */
    struct arena *a;
    const char *dir; /* a folder of the test's own */
    struct access access;
    struct clock *clock; /* the real one unless the test put a fake one here */
    char *flags[STAND_FLAGS];
    int n_flags;
    struct options *options;
    struct serve *serve;
};

/* Certificates in files, flags that name them, the real clock; nothing runs yet. */
void stand_init(struct stand *s);
void stand_done(struct stand *s);
/* "--flag=%s" */
void stand_flag(struct stand *s, const char *fmt, ...) _printf_(2, 3);
/* Flags as given from here on: forgets those of stand_init(). */
void stand_no_flags(struct stand *s);
/* serve_new() by the flags; `with_access` false: NULL there. */
int stand_new(struct stand *s, bool with_access, struct err *err);
/* … with pages and a running thread. */
void stand_start(struct stand *s);
uint16_t stand_port(struct stand *s);
/* The file NAME in the folder; its path in the stand's arena. */
const char *stand_write(struct stand *s, const char *name, const char *text);
/* Waits until this many questions wait in access_ask(), or were cancelled. */
void stand_wait_asking(struct stand *s, int n);
void stand_wait_cancelled(struct stand *s, int n);
/* Lets them go with this verdict. */
void stand_release(struct stand *s, int status);
/* A server certificate of the CA: files NAME.crt and NAME.key. */
void stand_issue(struct stand *s, const char *name, const char *cn, const char *san);

/* Status of an answer; -1 for NULL. */
int answer_status_of(const char *answer);
const char *answer_body(const char *answer);

#endif
