/* SPDX-License-Identifier: Apache-2.0 */
/* access_stand.h: access as a whole between a scripted API server and a test's questions.
 *
 * Flags are parsed as the program parses them; the clock is a fake one that moves only while access
 * waits for it.  Every stand looks at its end whether the caller's token got into the log, which
 * runs at the highest level. */
#ifndef TRIMTAB_TESTS_ACCESS_STAND_H
#define TRIMTAB_TESTS_ACCESS_STAND_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/kube/fake_api.h"
#include "tests/unit/serve/access_kit.h"

#define TOKEN "the-callers-very-secret-token"
#define TOKEN_OK                                                                                   \
    {                                                                                              \
        .status = 201, .body = "{'kind':'TokenReview','status':{'authenticated':true,'user':{"     \
                               "'username':'bob','groups':['dev']}}}"                              \
    }
#define TOKEN_BAD                                                                                  \
    {                                                                                              \
        .status = 201, .body = "{'kind':'TokenReview','status':{'user':{},'error':"                \
                               "'invalid bearer token " TOKEN "'}}"                                \
    }
#define SUBJECT(status_)                                                                           \
    {                                                                                              \
        .status = 201, .body = "{'kind':'SubjectAccessReview','status':" status_ "}"               \
    }
#define SUBJECT_YES SUBJECT("{'allowed':true}")
#define SUBJECT_NO  SUBJECT("{'allowed':false}")
#define TROUBLE_5                                                                                  \
    {.status = 500}, {.status = 500}, {.status = 500}, {.status = 500},                            \
    {                                                                                              \
        .status = 500                                                                              \
    }
#define TOKEN_TARGET   "POST /apis/authentication.k8s.io/v1/tokenreviews"
#define SUBJECT_TARGET "POST /apis/authorization.k8s.io/v1/subjectaccessreviews?timeout=10s"

extern const struct kit_header bearer[]; /* of TOKEN */
extern const struct kit_header no_headers[];

struct stand {
    struct arena *a;
    const char *folder;
    struct fake_api *api;
    struct kit_ca *ca;    /* --client-ca-file, where it is given */
    struct kit_ca *proxy; /* --requestheader-client-ca-file, likewise */
    struct options *options;
    struct metrics *metrics;
    struct rng *rng;
    struct access *access;
    int log_fd;
};

void stand_begin(struct stand *s, const struct api_step *steps, size_t n);
/* `files`: both CA files; `kubeconfigs`: both of them; `more`: another flag, or NULL. */
int stand_start(struct stand *s, bool files, bool kubeconfigs, const char *more, struct err *err);
/* The same with kubeconfigs, and it must start. */
void stand_up(struct stand *s, const struct api_step *steps, size_t n, bool files,
              const char *more);
/* The log so far. */
const char *stand_log(struct stand *s);
void stand_done(struct stand *s);

/* A question in a thread of its own. */
struct question {
    struct stand *s;
    struct access_request req;
    struct cancel *cancel;
    struct access_verdict verdict;
    atomic_bool done;
    pthread_t thread;
};

void *question_thread(void *arg);
/* From memory if that is possible, else asked; the clock moves while it waits.
 * *ret_asked: the latter. */
struct access_verdict ask(struct stand *s, const char *path, X509 *cert,
                          const struct kit_header *headers, bool *ret_asked);
int status_of(struct stand *s, const char *path, X509 *cert, const struct kit_header *headers);
/* A counter, or the number of observations. */
double counted(struct stand *s, const char *name, const char *label, const char *value);

enum shown {
    NO_CERT = 0,
    OURS,     /* alice, dev, of the client CA */
    MASTER,   /* of the client CA, system:masters */
    FOREIGN,  /* of an unknown CA */
    PROXY,    /* front-proxy, of the proxy's CA */
    NO_PROXY, /* another name, of the proxy's CA */
    NAMELESS, /* of the client CA, without a common name */
};

/* NULL for NO_CERT; the caller frees. */
X509 *certificate(struct stand *s, enum shown what);

#endif
