/* SPDX-License-Identifier: Apache-2.0 */
/* health.c: the answers of healthCheckNodePort and of port 10256; see health.h. */
#include "tests/upstream/health.h"

#include "common/base/str.h"
#include "common/base/timefmt.h"

#define US_PER_S INT64_C(1000000)

/* ---- healthCheckNodePort --------------------------------------------------------------------- */

struct ks_node_port_answer ks_node_port_health(struct arena *a, const char *ns, const char *name,
                                               size_t local_ready, bool proxy_healthy)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "{\n\t\"service\": {\n\t\t\"namespace\": ");
    str_append_go_quoted(&b, ns);
    str_append(&b, ",\n\t\t\"name\": ");
    str_append_go_quoted(&b, name);
    str_appendf(&b, "\n\t},\n\t\"localEndpoints\": %zu,\n\t\"serviceProxyHealthy\": %s\n}",
                local_ready, proxy_healthy ? "true" : "false");
    return (struct ks_node_port_answer){.status = local_ready > 0 && proxy_healthy ? 200 : 503,
                                        .content_type = "application/json",
                                        .nosniff = "nosniff",
                                        .weight = arena_printf(a, "%zu", local_ready),
                                        .body = str_buf_to_arena(&b, a)};
}

/* ---- port 10256 ------------------------------------------------------------------------------ */

static struct ks_family_progress *of_family(struct ks_proxy_progress *p, enum ks_family family)
{
    return family == KS_IPV6 ? &p->ipv6 : &p->ipv4;
}

void ks_progress_queued(struct ks_proxy_progress *p, enum ks_family family, int64_t at_s)
{
    struct ks_family_progress *f = of_family(p, family);
    if (!f->has_queued) {
        f->has_queued = true;
        f->queued_s = at_s;
    }
}

void ks_progress_updated(struct ks_proxy_progress *p, enum ks_family family, int64_t at_s)
{
    struct ks_family_progress *f = of_family(p, family);
    f->has_queued = false;
    f->has_updated = true;
    f->updated_s = at_s;
}

/* True unless a change of a family that has written rules before waits for too long. */
static bool is_on_time(const struct ks_family_progress *f, int64_t timeout_s, int64_t now_s)
{
    return !f->has_updated || !f->has_queued || now_s - f->queued_s < timeout_s;
}

static bool is_eligible(const struct ks_node *node)
{
    return node != NULL && node->meta.deletion_timestamp == NULL && !node->to_be_deleted;
}

static void note_updated(struct ks_proxy_answer *answer, const struct ks_family_progress *f)
{
    if (f->has_updated && (!answer->has_last_updated || f->updated_s > answer->last_updated_s)) {
        answer->has_last_updated = true;
        answer->last_updated_s = f->updated_s;
    }
}

struct ks_proxy_answer ks_proxy_health(const struct ks_proxy_progress *p,
                                       const struct ks_node *node, bool livez, int64_t timeout_s,
                                       int64_t now_s)
{
    struct ks_proxy_answer answer = {.current_s = now_s, .progress = *p, .has_eligible = !livez};
    answer.ipv4_healthy = is_on_time(&p->ipv4, timeout_s, now_s);
    answer.ipv6_healthy = is_on_time(&p->ipv6, timeout_s, now_s);
    answer.healthy = answer.ipv4_healthy && answer.ipv6_healthy;
    answer.eligible = !livez && is_eligible(node);
    note_updated(&answer, &p->ipv4);
    note_updated(&answer, &p->ipv6);
    bool good = answer.healthy && (livez || answer.eligible);
    if (good) {
        answer.has_last_updated = true;
        answer.last_updated_s = now_s;
    }
    answer.status = good ? 200 : 503;
    return answer;
}

static void append_time(struct str_buf *b, const char *before, bool has, int64_t at_s)
{
    char text[32];
    time_format_rfc3339(at_s * US_PER_S, text);
    str_appendf(b, "%s\"%s\"", before, has ? text : "0001-01-01T00:00:00Z");
}

/* Adds a family that has written rules, as a member of "status". */
static void append_family(struct str_buf *b, const char *family, const struct ks_family_progress *f,
                          bool healthy, size_t *n)
{
    if (!f->has_updated) {
        return;
    }
    str_appendf(b, "%s\"%s\":{", *n == 0 ? ",\"status\":{" : ",", family);
    append_time(b, "\"lastUpdated\":", true, f->updated_s);
    str_appendf(b, ",\"healthy\":%s}", healthy ? "true" : "false");
    (*n)++;
}

const char *ks_proxy_answer_body(struct arena *a, const struct ks_proxy_answer *answer)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    size_t n = 0;
    append_time(&b, "{\"lastUpdated\":", answer->has_last_updated, answer->last_updated_s);
    append_time(&b, ",\"currentTime\":", true, answer->current_s);
    if (answer->has_eligible) {
        str_appendf(&b, ",\"nodeEligible\":%s", answer->eligible ? "true" : "false");
    }
    str_appendf(&b, ",\"healthy\":%s", answer->healthy ? "true" : "false");
    append_family(&b, "IPv4", &answer->progress.ipv4, answer->ipv4_healthy, &n);
    append_family(&b, "IPv6", &answer->progress.ipv6, answer->ipv6_healthy, &n);
    str_append(&b, n > 0 ? "}}" : "}");
    return str_buf_to_arena(&b, a);
}
