/* SPDX-License-Identifier: Apache-2.0 */
/* unreachable.c: see unreachable.h.  The machine words of TLS failures are http.h's. */
#include "controller/kube/client/unreachable.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"

static bool says(const struct err *why, const char *words)
{
    return strstr(why->message, words) != NULL;
}

/* The members of a kubeconfig's cluster that decide which server we trust, or the one file of a
 * pod. */
static void advise_on_ca(struct str_buf *b, const struct kube_config *c)
{
    if (!str_is_empty(c->ca_path)) {
        str_appendf(b, "check certificate-authority (%.200s)", c->ca_path);
    } else if (c->tls.ca_pem != NULL) {
        str_append(b, "check certificate-authority-data");
    } else {
        str_append(b, "no CA is named, so the system's were asked: set certificate-authority-data");
    }
    if (!str_is_empty(c->cluster)) {
        str_appendf(b, " of cluster \"%.100s\"", c->cluster);
    }
}

/* The client's own credentials cannot be used. */
static void advise_on_ours(struct str_buf *b, const struct kube_config *c)
{
    if (str_is_empty(c->user)) {
        str_append(b, "look at the service account's files");
    } else {
        str_appendf(b, "look at user \"%.100s\" and cluster \"%.100s\"", c->user,
                    str_nonnull(c->cluster));
    }
}

static void advise(struct str_buf *b, const struct kube_config *c, const struct err *why)
{
    if (why->code == ERR_AUTH) {
        advise_on_ours(b, c);
        return;
    }
    if (str_eq(why->reason, "refused-certificate")) {
        str_appendf(b,
                    "the server refuses our certificate: check client-certificate of user "
                    "\"%.100s\"",
                    c->user);
        return;
    }
    if (!str_eq(why->reason, "untrusted")) {
        str_append(b, "check the server address");
    } else if (says(why, "expired") || says(why, "not yet valid")) {
        str_append(b, "check the clock of this machine and the server's certificate");
    } else if (says(why, "match")) {
        str_append(b, "check the server address, or set tls-server-name to a name that its "
                      "certificate has");
    } else {
        advise_on_ca(b, c);
    }
}

/* http.h's words without the address, which stands in the sentence already; a proxy's stays. */
static const char *cause_of(const char *message)
{
    static const char start[] = "cannot reach ";
    if (!str_has_prefix(message, start)) {
        return message;
    }
    const char *blank = strchr(message + strlen(start), ' ');
    return blank != NULL && blank[-1] == ':' ? blank + 1 : message;
}

int kube_unreachable(const struct kube_config *c, const struct err *why, const char *tried,
                     struct err *ret)
{
    struct str_buf advice _cleanup_(str_buf_done) = STR_BUF_INIT;
    bool from_context = c->context[0] != '\0';
    advise(&advice, c, why);
    (void)err_set(ret, why->code,
                  "cannot reach the API server %.200s: %.400s%s; %s in %.200s%s%.100s%s", c->server,
                  cause_of(why->message), tried, str_buf_text(&advice), c->source,
                  from_context ? ", context \"" : "", c->context, from_context ? "\"" : "");
    (void)snprintf(ret->reason, sizeof ret->reason, "%s", why->reason);
    return why->code;
}

bool kube_trouble_is_final(const struct err *err)
{
    static const char *const reasons[] = {"untrusted", "refused-certificate", "refused", "no-host"};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (err->http_status == 0 && str_eq(err->reason, reasons[i])) {
            return true;
        }
    }
    return err->code == ERR_AUTH || err->code == ERR_FORBIDDEN || err->code == ERR_INVALID ||
           err->code == ERR_NOT_FOUND || err->code == ERR_CANCELLED;
}

int kube_advise_refusal(const struct kube_config *c, struct err *err)
{
    struct str_buf advice _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct err why = *err;
    if (err->http_status != 401 && (err->http_status != 0 || err->code != ERR_AUTH)) {
        return err->code;
    }
    if (err->http_status == 0) {
        advise_on_ours(&advice, c);
    } else if (str_is_empty(c->user)) {
        str_append(&advice, "check the service account's token");
    } else {
        str_appendf(&advice, "check the token or client-certificate of user \"%.100s\"", c->user);
    }
    (void)err_set(err, why.code, "%.600s; %s in %.200s", why.message, str_buf_text(&advice),
                  c->source);
    err->http_status = why.http_status;
    err->retry_after_ms = why.retry_after_ms;
    memcpy(err->reason, why.reason, sizeof err->reason);
    return why.code;
}
