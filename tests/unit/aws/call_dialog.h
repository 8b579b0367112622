/* SPDX-License-Identifier: Apache-2.0 */
/* call_dialog.h: a conversation of a call and AWS, led by hand: what must be sent, after how long,
 * and what is answered.
 *
 * Randomness is at one half. */
#ifndef TRIMTAB_TESTS_AWS_CALL_DIALOG_H
#define TRIMTAB_TESTS_AWS_CALL_DIALOG_H

#include "tests/support/clock_fake.h"
#include "tests/unit/aws/call_kit.h"

#include <stdio.h>

#define UNIT 0.5
#define OK                                                                                         \
    "<DescribeThingsResponse><thing>1</thing><requestId>r-1</requestId></DescribeThingsResponse>"
#define REFUSAL(code)                                                                              \
    "<Response><Errors><Error><Code>" code "</Code><Message>no</Message></Error></Errors>"         \
    "<RequestID>r-9</RequestID></Response>"
#define DATE_NOW   "Tue, 14 Nov 2023 22:13:20 GMT"
#define DATE_3MIN  "Tue, 14 Nov 2023 22:16:20 GMT"
#define DATE_10MIN "Tue, 14 Nov 2023 22:23:20 GMT"
#define DATE_20MIN "Tue, 14 Nov 2023 22:33:20 GMT"
#define HTML       "<html><body>Bad Gateway</body></html>"

/* A request and its answer. */
struct turn {
    int64_t waits_ms;  /* since the last answer */
    const char *sends; /* part of the body; NULL: anything */
    const char *date;  /* X-Amz-Date; NULL: any */
    int status;        /* 0: no answer; negative: none, for this reason, in `body` */
    const char *header;
    const char *value;
    const char *body;
    int64_t takes_ms;
};
/* A call in progress. */
struct dialog {
    struct call_kit *k;
    struct aws_call call;
    struct http_request req;
    struct err err;
    enum http_next next;
    int64_t answered_ms;
};

static inline void dialog_step(struct dialog *d, const struct http_response *resp)
{
    d->next = aws_call_step(&d->call, &d->req, resp, clock_now_ms(d->k->clock),
                            clock_wall_us(d->k->clock), UNIT, &d->err);
    while (d->next == HTTP_WAIT) {
        clock_fake_advance(d->k->clock, d->req.not_before_ms - clock_now_ms(d->k->clock));
        d->next = aws_call_step(&d->call, &d->req, NULL, clock_now_ms(d->k->clock),
                                clock_wall_us(d->k->clock), UNIT, &d->err);
    }
}

static inline void dialog_begin(struct dialog *d, struct call_kit *k, enum aws_api api,
                                bool mutates)
{
    static const struct aws_pair pairs[] = {{"GroupId", "sg-1"}, {"Text", "a b&\xc3\xa4~"}};
    *d = (struct dialog){.k = k, .answered_ms = clock_now_ms(k->clock)};
    d->call = (struct aws_call){.client = k->client,
                                .a = k->a,
                                .api = api,
                                .action = "DescribeThings",
                                .pairs = pairs,
                                .n_pairs = ARRAY_LEN(pairs),
                                .mutates = mutates};
}

static inline const char *sent_header(const struct dialog *d, const char *name)
{
    for (size_t i = 0; i < d->req.n_headers; i++) {
        if (str_eq_nocase(d->req.headers[i].name, name)) {
            return d->req.headers[i].value;
        }
    }
    return NULL;
}

static inline void dialog_check_sent(const struct dialog *d, const char *name, size_t i,
                                     const struct turn *t)
{
    int64_t waited = clock_now_ms(d->k->clock) - d->answered_ms;
    if (waited != t->waits_ms) {
        fail_msg("%s, turn %zu: sent after %lld ms, want %lld", name, i, (long long)waited,
                 (long long)t->waits_ms);
    }
    if (t->sends != NULL && strstr(d->req.body, t->sends) == NULL) {
        fail_msg("%s, turn %zu: sent %s, want %s", name, i, (const char *)d->req.body, t->sends);
    }
    if (t->date != NULL) {
        same_text(name, sent_header(d, "X-Amz-Date"), t->date);
    }
}

static inline void dialog_answer(struct dialog *d, const struct turn *t)
{
    const struct http_header header = {t->header, t->value};
    const char *body = t->status < 0 ? "" : str_nonnull(t->body);
    struct http_response resp = {.status = t->status < 0 ? 0 : t->status,
                                 .body = body,
                                 .body_len = strlen(body),
                                 .headers = &header,
                                 .n_headers = t->header != NULL};
    clock_fake_advance(d->k->clock, t->takes_ms);
    d->answered_ms = clock_now_ms(d->k->clock);
    if (t->status <= 0) {
        (void)err_set(&d->err, ERR_TRANSIENT, "connection lost");
        (void)snprintf(d->err.reason, sizeof(d->err.reason), "%s",
                       t->status < 0 ? t->body : "broken");
    }
    dialog_step(d, &resp);
}

#endif
