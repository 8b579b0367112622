/* SPDX-License-Identifier: Apache-2.0 */
/* cloud_kit.h: what has been read of AWS, with a server on loopback behind it.
 *
 * The server answers by the first row whose text is in the request's body, and writes down what was
 * asked ("DescribeSubnets Filter.1.Name=vpc-id …", without Version).  One kit
 * per test (CLOUD_TEST). */
#ifndef TRIMTAB_TESTS_AWS_CLOUD_KIT_H
#define TRIMTAB_TESTS_AWS_CLOUD_KIT_H

#include "common/net/url.h"
#include "providers/aws/cloud/aws_cloud.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/test_server.h"
#include "tests/unit/aws/call_kit.h"

#include <stdatomic.h>

struct cloud_row {
    const char *asked; /* part of the decoded body; NULL ends the table */
    int status;
    const char *body;
    int once; /* 1: answered once; 2: was */
};
struct cloud_kit {
    struct call_kit *k;
    struct aws_naming naming;
    struct aws_cloud *cloud;
    struct test_server *server;
    struct http *http;
    struct mutex lock;
    struct cloud_row *rows;
    struct str_buf asked;
    void (*before)(struct cloud_kit *kit); /* an answer; in the server's thread */
    atomic_bool held;                      /* no answer while it is true */
};

static inline const struct cloud_row *cloud_kit_row(struct cloud_kit *kit, const char *form)
{
    for (struct cloud_row *r = kit->rows; r != NULL && r->asked != NULL; r++) {
        if (r->once < 2 && strstr(form, r->asked) != NULL) {
            r->once += r->once;
            return r;
        }
    }
    return NULL;
}

static inline void cloud_kit_handle(void *arg, struct http_req *req)
{
    struct cloud_kit *kit = arg;
    size_t n;
    const char *raw = http_req_body(req, &n);
    char *form = url_unescape(http_req_arena(req), raw + strlen("Action="), true);
    char *version = strstr(form, "&Version=");
    char *rest = version + 1 + strcspn(version + 1, "&");
    memmove(version, rest, strlen(rest) + 1);
    mutex_lock(&kit->lock);
    str_appendf(&kit->asked, "%s\n", form);
    const struct cloud_row *row = cloud_kit_row(kit, form);
    mutex_unlock(&kit->lock);
    while (atomic_load(&kit->held)) {
        (void)sched_yield();
    }
    if (kit->before != NULL) {
        kit->before(kit);
    }
    const char *body = row != NULL ? row->body : "";
    http_req_answer(req, row != NULL ? row->status : 418, body, strlen(body));
}

static inline int cloud_kit_setup(void **state)
{
    struct cloud_kit *kit = xcalloc(1, sizeof(*kit));
    void *k;
    (void)call_kit_setup(&k);
    kit->k = k;
    mutex_init(&kit->lock);
    atomic_init(&kit->held, false);
    kit->naming = (struct aws_naming){.cluster_id = "c1", .vpc = "vpc-1"};
    const struct test_server_config cfg = {.handle = cloud_kit_handle, .arg = kit};
    kit->server = test_server_start(&cfg);
    kit->http = http_new(&(struct http_config){
        .observe = http_ignore_sent, .clock = kit->k->clock, .proxy_url = ""});
    call_kit_open(kit->k, KIT_KEYS, test_server_url(kit->server, "/"), NULL);
    const struct aws_cloud_config cloud = {.client = kit->k->client,
                                           .clock = kit->k->clock,
                                           .rng = kit->k->rng,
                                           .naming = &kit->naming};
    kit->cloud = aws_cloud_new(&cloud);
    *state = kit;
    return 0;
}

static inline int cloud_kit_teardown(void **state)
{
    struct cloud_kit *kit = *state;
    void *k = kit->k;
    http_free(kit->http);
    test_server_stop(kit->server);
    aws_cloud_free(kit->cloud);
    str_buf_done(&kit->asked);
    mutex_done(&kit->lock);
    (void)call_kit_teardown(&k);
    free(kit);
    return 0;
}

#define CLOUD_TEST(fn) cmocka_unit_test_setup_teardown(fn, cloud_kit_setup, cloud_kit_teardown)

/* The requests since the last check. */
static inline const char *cloud_kit_asked(struct cloud_kit *kit)
{
    mutex_lock(&kit->lock);
    const char *text = str_buf_to_arena(&kit->asked, kit->k->a);
    str_buf_reset(&kit->asked);
    mutex_unlock(&kit->lock);
    return text;
}

#define CLOUD_EC2(action, set, items)                                                              \
    "<Describe" action "Response><" set ">" items "</" set "></Describe" action "Response>"
#define CLOUD_ELB(action, set, items)                                                              \
    "<Describe" action "Response><Describe" action "Result><" set ">" items "</" set ">"           \
    "</Describe" action "Result></Describe" action "Response>"
#define CLOUD_REFUSAL(code) "<ErrorResponse><Error><Code>" code "</Code></Error></ErrorResponse>"

#endif
