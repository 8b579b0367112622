/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c: see judge.h. */
#include "tests/edits/judge.h"

#include <string.h>

#include "common/base/str.h"
#include "tests/edits/edits.h"
#include "tests/edits/served.h"
#include "tests/fault/world.h"

static bool has(const struct judge *j, enum edit_effect e)
{
    return (j->effects & e) != 0;
}

/* Of several addresses that of the family of the first one before the edit, else the first one. */
static const char *host_of(struct judge const *j, struct json_object *service)
{
    const char *before = j->before == NULL ? NULL : world_published_address(j->before);
    const char *host = service == NULL ? NULL : world_published_address(service);
    struct json_object *all = json_path(service, "status.loadBalancer.ingress");
    for (size_t i = json_len(all); before != NULL && i > 0; i--) {
        const char *ip = json_str(json_object_array_get_idx(all, i - 1), "ip");
        bool same = ip != NULL && (strchr(ip, ':') != NULL) == (strchr(before, ':') != NULL);
        host = same ? ip : host;
    }
    return arena_strdup(j->a, host);
}

static bool has_port(struct json_object *service, const struct served_port *p)
{
    struct served_port all[SERVED_PORTS_MAX];
    size_t n = service == NULL ? 0 : served_ports(service, all);
    size_t joined = served_ports_join(all, n, p, 1);
    return joined == n;
}

static struct reach_ranges everybody(const struct judge *j)
{
    return reach_ranges_all(j->a, true, false);
}

/* Clients of a Service without source ranges: an internal address of Azure is reached only from its
 * network. */
static struct reach_ranges anybody(const struct judge *j)
{
    struct reach_ranges was = REACH_NOBODY;
    struct served_port ports[SERVED_PORTS_MAX];
    size_t n = served_ports(j->before, ports);
    for (size_t i = 0; i < n; i++) {
        was = reach_ranges_or(
            j->a, was, served_clients(j->a, j->reach_before, host_of(j, j->before), &ports[i]));
    }
    return was;
}

/* Returns the clients that must be served all the time at that port. */
static struct reach_ranges kept(const struct judge *j, struct json_object *after,
                                struct json_object *reach_after, const struct served_port *p)
{
    struct reach_ranges was = served_clients(j->a, j->reach_before, host_of(j, j->before), p);
    struct reach_ranges now = served_clients(j->a, reach_after, host_of(j, after), p);
    if (!has_port(after, p) || has(j, EDIT_LEAVES)) {
        return REACH_NOBODY;
    }
    /* Served at neither address, it has been taken down for what is refused. */
    bool nowhere = has(j, EDIT_MOVES) && reach_ranges_empty(now);
    /* A setting may make source ranges ineffective in the end (AWS' preserve_client_ip.enabled);
     * as long as it is refused they may shut out the clients that the Service does not name. */
    if (has(j, EDIT_ADMITS) || (has(j, EDIT_MOVES) && !nowhere)) {
        struct reach_ranges all = reach_ranges_all(j->a, true, true);
        now = reach_ranges_and(j->a, now, served_allowed(j->a, after, all));
        return reach_ranges_and(j->a, was, now);
    }
    return reach_ranges_and(j->a, was, served_allowed(j->a, after, everybody(j)));
}

/* The clients of `must` that are not served at a moment, by the old address or, if another one was
 * asked for, the new, or one that the status tells in between. */
static struct reach_ranges lost_at(const struct judge *j, const struct moment *m,
                                   struct reach_ranges must, const char *old, const char *new,
                                   const struct served_port *p)
{
    struct reach_ranges are = served_clients(j->a, m->reach, old, p);
    if (has(j, EDIT_MOVES)) {
        are = reach_ranges_or(j->a, are, served_clients(j->a, m->reach, new, p));
        are = reach_ranges_or(j->a, are, served_clients(j->a, m->reach, m->told, p));
    }
    return reach_ranges_minus(j->a, must, are);
}

static void course_of_port(const struct judge *j, struct json_object *after,
                           struct json_object *reach_after, const struct served_port *p,
                           size_t from)
{
    const char *old = host_of(j, j->before);
    const char *new = host_of(j, after);
    struct reach_ranges must = kept(j, after, reach_after, p);
    for (size_t i = from; i < history_len(j->history); i++) {
        const struct moment *m = history_at(j->history, i);
        struct reach_ranges lost = lost_at(j, m, must, old, new, p);
        if (!reach_ranges_empty(lost)) {
            j->report(j->arg, arena_printf(j->a, "E1: %s of %s is not served to %s after %s",
                                           served_port_text(j->a, p), old,
                                           served_ranges_text(j->a, lost), m->after));
            return;
        }
    }
}

/* Is it of another family than `old`?  Then it stood beside it before. */
static bool is_beside(const char *told, const char *old)
{
    return (strchr(told, ':') != NULL) != (strchr(str_nonnull(old), ':') != NULL);
}

/* When another address comes into the status, clients can come by it. */
static void told_of_port(const struct judge *j, struct json_object *after,
                         struct json_object *reach_after, const struct served_port *p)
{
    const char *old = host_of(j, j->before);
    const char *last = old;
    struct reach_ranges must = kept(j, after, reach_after, p);
    for (size_t i = 0; has(j, EDIT_MOVES) && i < history_len(j->history); i++) {
        const struct moment *m = history_at(j->history, i);
        struct reach_ranges are = served_clients(j->a, m->reach, m->told, p);
        struct reach_ranges lost = reach_ranges_minus(j->a, must, are);
        bool comes = m->told != NULL && !str_eq(m->told, last) && !str_eq(m->told, old);
        if (comes && !is_beside(m->told, old) && !reach_ranges_empty(lost)) {
            j->report(j->arg, arena_printf(j->a,
                                           "E1: the status names %s, where %s is not served to %s "
                                           "after %s",
                                           m->told, served_port_text(j->a, p),
                                           served_ranges_text(j->a, lost), m->after));
            return;
        }
        last = m->told;
    }
}

static int64_t gap_of_port(const struct judge *j, struct json_object *after,
                           struct json_object *reach_after, const struct served_port *p)
{
    const char *old = host_of(j, j->before);
    const char *new = host_of(j, after);
    struct reach_ranges must = kept(j, after, reach_after, p);
    int64_t longest_ms = 0;
    int64_t since_ms = 0;
    bool lost = false;
    for (size_t i = 0; i < history_len(j->history); i++) {
        const struct moment *m = history_at(j->history, i);
        bool was_lost = lost;
        lost = !reach_ranges_empty(lost_at(j, m, must, old, new, p));
        since_ms = lost && !was_lost ? m->at_ms : since_ms;
        if (was_lost && !lost && m->at_ms - since_ms >= longest_ms) {
            longest_ms = m->at_ms > since_ms ? m->at_ms - since_ms : 1; /* an instant is one, too */
        }
    }
    return lost ? -1 : longest_ms;
}

/* The shortest time between two tries: what begins sooner is of the same one, as when an edit asks
 * for another listener and for other rules. */
#define TRY_MS 5000

/* In how many tries the port is interrupted. */
static size_t gaps_of_port(const struct judge *j, struct json_object *after,
                           struct json_object *reach_after, const struct served_port *p)
{
    struct reach_ranges must = kept(j, after, reach_after, p);
    size_t gaps = 0;
    int64_t since_ms = 0;
    bool lost = false;
    for (size_t i = 0; i < history_len(j->history); i++) {
        const struct moment *m = history_at(j->history, i);
        bool was_lost = lost;
        lost =
            !reach_ranges_empty(lost_at(j, m, must, host_of(j, j->before), host_of(j, after), p));
        if (lost && !was_lost && (gaps == 0 || m->at_ms - since_ms >= TRY_MS)) {
            gaps++;
            since_ms = m->at_ms;
        }
    }
    return gaps;
}

void judge_once(const struct judge *j, struct json_object *after, struct json_object *reach_after)
{
    struct served_port ports[SERVED_PORTS_MAX];
    size_t n = served_ports(j->before, ports);
    for (size_t i = 0; i < n; i++) {
        size_t gaps = gaps_of_port(j, after, reach_after, &ports[i]);
        if (gaps > 1) {
            j->report(j->arg,
                      arena_printf(j->a,
                                   "E1: %s is interrupted in %zu tries for what the cloud refuses",
                                   served_port_text(j->a, &ports[i]), gaps));
        }
    }
}

void judge_held(const struct judge *j, struct json_object *world)
{
    const char *ip = host_of(j, j->before);
    json_object_object_foreach(json_member(world, "gce"), path, o)
    {
        const char *held =
            json_str(o, strstr(path, "/addresses/") != NULL ? "address" : "IPAddress");
        if (str_eq(held, ip)) {
            return;
        }
    }
    j->report(j->arg, arena_printf(j->a,
                                   "E1: a right is withdrawn in between, and address %s is "
                                   "lost",
                                   ip));
}

int64_t judge_gap(const struct judge *j, struct json_object *after, struct json_object *reach_after,
                  const char **ret_port)
{
    struct served_port ports[SERVED_PORTS_MAX];
    size_t n = served_ports(j->before, ports);
    int64_t longest_ms = 0;
    for (size_t i = 0; i < n && longest_ms >= 0; i++) {
        int64_t gap_ms = gap_of_port(j, after, reach_after, &ports[i]);
        if (gap_ms < 0 || gap_ms > longest_ms) {
            longest_ms = gap_ms;
            *ret_port = served_port_text(j->a, &ports[i]);
        }
    }
    return longest_ms;
}

/* A port for which the load balancer has no listener is left out if `torn`. */
static void judge_ports(const struct judge *j, struct json_object *after,
                        struct json_object *reach_after, size_t from, bool torn)
{
    struct served_port ports[SERVED_PORTS_MAX];
    size_t n = served_ports(j->before, ports);
    const char *old = host_of(j, j->before);
    const char *new = host_of(j, after);
    struct json_object *there = json_member(reach_after, str_nonnull(old));
    for (size_t i = 0; i < n; i++) {
        if (!torn || json_member(there, served_port_text(j->a, &ports[i])) != NULL) {
            course_of_port(j, after, reach_after, &ports[i], from);
            told_of_port(j, after, reach_after, &ports[i]);
        }
    }
    if (!has(j, EDIT_MOVES) && !has(j, EDIT_LEAVES) && !str_eq(old, new)) {
        j->report(j->arg,
                  arena_printf(j->a, "E1: the address was %s and is %s", old, str_or(new, "none")));
    }
}

void judge_course(const struct judge *j, struct json_object *after, struct json_object *reach_after,
                  bool announced)
{
    judge_ports(j, after, reach_after, announced ? history_len(j->history) - 1 : 0, false);
}

#define SPARE_PORT_MIN 65436

/* Has the balancer had a listener on a spare port (docs/adr/0030)? */
static bool has_asked(const struct judge *j, const char *host)
{
    for (size_t i = 0; i < history_len(j->history); i++) {
        struct json_object *there = json_member(history_at(j->history, i)->reach, host);
        for (int port = SPARE_PORT_MIN; there != NULL && port <= UINT16_MAX; port++) {
            if (json_member(there, arena_printf(j->a, "TCP/%d", port)) != NULL) {
                return true;
            }
        }
    }
    return false;
}

void judge_torn(const struct judge *j, struct json_object *after, struct json_object *reach_after,
                bool announced)
{
    const char *host = str_nonnull(host_of(j, j->before));
    bool torn = announced && has_asked(j, host) && json_member(reach_after, host) != NULL;
    judge_ports(j, after, reach_after, announced ? history_len(j->history) - 1 : 0, torn);
}

/* Without source ranges: its former clients. */
static struct reach_ranges wanted(const struct judge *j, struct json_object *service)
{
    struct reach_ranges named = served_allowed(j->a, service, everybody(j));
    bool none = reach_ranges_equal(named, everybody(j)) &&
                json_len(json_path(service, "spec.loadBalancerSourceRanges")) == 0;
    return none ? anybody(j) : named;
}

/* All wanted clients are served, and no others from outside.  A cloud may allow clients of the
 * network by rules of its own: Azure's default rules, and the rules for health checks of a network
 * load balancer without groups. */
static bool fits(const struct judge *j, struct reach_ranges are, struct reach_ranges want)
{
    struct reach_ranges may = reach_ranges_or(j->a, want, reach_ranges_of(j->a, "10.0.0.0/8"));
    return reach_ranges_within(j->a, want, are) && reach_ranges_within(j->a, are, may);
}

void judge_end(const struct judge *j, struct json_object *after, struct json_object *reach_after,
               bool good)
{
    struct served_port ports[SERVED_PORTS_MAX];
    struct served_port mine[SERVED_PORTS_MAX];
    const char *host = host_of(j, after);
    size_t n_mine = served_ports(after, mine);
    size_t n = served_ports(j->before, ports);
    n = served_ports_join(ports, n, mine, n_mine);
    if (!good || has(j, EDIT_LEAVES)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct reach_ranges are = served_clients(j->a, reach_after, host, &ports[i]);
        struct reach_ranges want = has_port(after, &ports[i]) ? wanted(j, after) : REACH_NOBODY;
        if (!has(j, EDIT_ADMITS) && !has(j, EDIT_MOVES) && !fits(j, are, want)) {
            j->report(j->arg,
                      arena_printf(j->a, "E6: in the end %s of %s is served to %s; asked for: %s",
                                   served_port_text(j->a, &ports[i]), str_or(host, "no address"),
                                   served_ranges_text(j->a, are), served_ranges_text(j->a, want)));
        }
    }
}

const char *judge_without_memory(struct arena *a, const char *text)
{
    static const char begin[] = "{\"message\":\"put back if the replacement is refused: ";
    static const char end[] = "\"type\":\"trimtab.io/LoadBalancerReplacing\"}";
    const char *from = strstr(text, begin);
    const char *to = from != NULL ? strstr(from, end) : NULL;
    if (to == NULL) {
        return text;
    }
    to += strlen(end);
    if (*to == ',') {
        to++;
    } else if (from[-1] == ',') {
        from--;
    }
    char *rest = arena_printf(a, "%.*s%s", (int)(from - text), text, to);
    return str_replace(a, rest, "\"conditions\":[],", "");
}

char *judge_without_groups(struct arena *a, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    for (const char *end; *text != '\0'; text = end) {
        end = text + strcspn(text, "\n");
        end += *end == '\n';
        const char *path = memmem(text, (size_t)(end - text), "/instanceGroups/k8s-ig--",
                                  strlen("/instanceGroups/k8s-ig--"));
        const char *document = memchr(text, '{', (size_t)(end - text));
        if (path == NULL || (document != NULL && document < path)) {
            str_append_n(&b, text, (size_t)(end - text));
        }
    }
    return str_buf_to_arena(&b, a);
}

const char *judge_without_policies(struct arena *a, const char *text)
{
    static const char member[] = "\"privateLinkServiceNetworkPolicies\":\"%s\"";
    return str_replace(a, text, arena_printf(a, member, "Disabled"),
                       arena_printf(a, member, "Enabled"));
}

/* Reach knows no service tags, and trimtab knows nothing of rules that the owner writes himself. */
static const char *const unjudged[] = {
    "service.beta.kubernetes.io/azure-allowed-service-tags",
    "service.beta.kubernetes.io/azure-disable-load-balancer-nsg-rule",
};

void judge_nobody(const struct judge *j, struct json_object *after, struct json_object *reach_after)
{
    struct served_port ports[SERVED_PORTS_MAX];
    const char *host = host_of(j, after);
    size_t n = served_ports(after, ports);
    struct json_object *notes = json_path(after, "metadata.annotations");
    bool unknown = false;
    for (size_t i = 0; i < ARRAY_LEN(unjudged); i++) {
        unknown = unknown || json_str(notes, unjudged[i]) != NULL;
    }
    /* A refused edit leaves the ports that were. */
    struct served_port before[SERVED_PORTS_MAX];
    n = served_ports_join(ports, n, before, served_ports(j->before, before));
    struct json_object *all = json_path(after, "status.loadBalancer.ingress");
    bool some = false;
    for (size_t i = 0; i < n * json_len(all); i++) {
        struct json_object *at = json_object_array_get_idx(all, i / n);
        const char *one = str_or(json_str(at, "ip"), json_str(at, "hostname"));
        some = some || !reach_ranges_empty(served_clients(j->a, reach_after, one, &ports[i % n]));
    }
    if (host == NULL || unknown || has(j, EDIT_LEAVES) || some != served_says_nobody(after)) {
        return;
    }
    j->report(j->arg, arena_printf(j->a, "E6: %s is served to %s, and the Service says %s", host,
                                   some ? "somebody" : "nobody",
                                   some ? "LoadBalancerServesNobody" : "nothing of it"));
}

void judge_unsent(const struct judge *j, const struct edit *e, int64_t writes)
{
    if (e->field2 == NULL && has(j, EDIT_UNSENT) && writes > 0) {
        j->report(j->arg, arena_printf(j->a,
                                       "E8: the cloud cannot take the value, and %lld writes "
                                       "were sent",
                                       (long long)writes));
    }
}

/* The edit asks for what was there before. */
static bool is_unchanged(const struct judge *j, struct json_object *now)
{
    static const char *const parts[] = {"spec", "metadata.annotations"};
    bool same = true;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        same = same && json_equal(json_path(j->before, parts[i]), json_path(now, parts[i]));
    }
    return same;
}

void judge_heard(const struct judge *j, const struct edit *e, struct json_object *now,
                 int64_t writes, const char *before, const char *after)
{
    bool blank = str_eq(e->value->json, "\"\"");
    bool judged = e->field2 == NULL && !blank && !is_unchanged(j, now);
    if (judged && !has(j, EDIT_SAME) && writes == 0 && str_eq(before, after)) {
        j->report(j->arg, "E7: the edit has no effect, and no Warning says so");
    }
    if (judged && has(j, EDIT_PARTLY) && str_eq(before, after)) {
        j->report(j->arg, "E7: a part of the value has no effect, and no Warning says so");
    }
}

/* The first line of `after` that begins with `begin` and is not in `before`; NULL: none. */
static const char *new_line(struct arena *a, const char *begin, const char *before,
                            const char *after)
{
    size_t n = 0;
    char **lines = str_split(a, after, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (str_has_prefix(lines[i], begin) && strstr(before, lines[i]) == NULL) {
            return lines[i];
        }
    }
    return NULL;
}

void judge_nature(const struct judge *j, const struct edit *e, struct json_object *now,
                  const char *before, const char *after)
{
    enum edit_nature n = e->value->nature;
    const char *refusal = new_line(j->a, "Error syncing load balancer", before, after);
    bool judged = e->field2 == NULL && !has(j, EDIT_SAME) && !is_unchanged(j, now);
    if (judged && (n == EDIT_BAD || n == EDIT_IMPOSSIBLE) && str_eq(before, after)) {
        j->report(j->arg, arena_printf(j->a, "E7: the value is %s, and no Warning says so",
                                       edit_nature_name(n)));
    }
    if (judged && edit_is_good(e) && refusal != NULL) {
        j->report(j->arg, arena_printf(j->a, "E7: a good value is refused: %s", refusal));
    }
}

const char *judge_warnings(struct arena *a, struct json_object *events)
{
    const char *text = "";
    struct json_object *items = json_member(events, "items");
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *e = json_object_array_get_idx(items, i);
        bool of_web = str_eq(json_str(json_member(e, "involvedObject"), "name"), "web");
        if (of_web && str_eq(json_str(e, "type"), "Warning")) {
            text = arena_printf(a, "%s%s %lld\n", text, str_nonnull(json_str(e, "message")),
                                (long long)json_int(e, "count", 1));
        }
    }
    return text;
}

/* The nodes behind the first port that has any; a refused edit leaves the ports that were. */
const char *judge_nodes(const struct judge *j, struct json_object *service,
                        struct json_object *reach)
{
    struct served_port ports[SERVED_PORTS_MAX];
    struct served_port before[SERVED_PORTS_MAX];
    size_t n = served_ports(service, ports);
    n = served_ports_join(ports, n, before, served_ports(j->before, before));
    for (size_t i = 0; i < n; i++) {
        const char *nodes = served_nodes(j->a, reach, host_of(j, service), &ports[i]);
        if (*nodes != '\0') {
            return nodes;
        }
    }
    return "";
}

/* On Azure a port may be asked for without a rule of the load balancer.  Of a Service all of whose
 * ports are, reach knows no nodes: they are behind listeners. */
static bool asks_for_no_listener(const struct judge *j, struct json_object *service)
{
    struct json_object *ports = json_path(service, "spec.ports");
    struct json_object *notes = json_path(service, "metadata.annotations");
    bool none = json_len(ports) > 0;
    for (size_t i = 0; i < json_len(ports); i++) {
        long long port = json_int(json_object_array_get_idx(ports, i), "port", 0);
        const char *key =
            arena_printf(j->a, "service.beta.kubernetes.io/port_%lld_no_lb_rule", port);
        none = none && str_eq(json_str(notes, key), "true");
    }
    return none;
}

const char *judge_members(const struct judge *j, struct json_object *web, struct json_object *near,
                          struct json_object *reach, const char *when, const char *before)
{
    const char *mine = judge_nodes(j, web, reach);
    const char *theirs = judge_nodes(j, near, reach);
    bool asked = !has(j, EDIT_MEMBERS) && !(*mine == '\0' && asks_for_no_listener(j, web));
    if (asked && !str_eq(mine, theirs)) {
        j->report(j->arg, arena_printf(j->a, "E3: %s: behind web are \"%s\", behind near \"%s\"",
                                       when, mine, theirs));
    }
    if (!has(j, EDIT_MEMBERS) && str_eq(theirs, before)) {
        j->report(j->arg,
                  arena_printf(j->a, "E3: %s: behind near are \"%s\" as before", when, theirs));
    }
    return theirs;
}

void judge_back(const struct judge *j, struct json_object *after, struct json_object *reach_after)
{
    struct served_port ports[SERVED_PORTS_MAX];
    size_t n = served_ports(j->before, ports);
    const char *old = host_of(j, j->before);
    const char *new = host_of(j, after);
    if (!str_eq(old, new) && !has(j, EDIT_MOVES)) {
        j->report(j->arg, arena_printf(j->a, "E2: taken back, the address was %s and is %s", old,
                                       str_or(new, "none")));
    }
    for (size_t i = 0; i < n; i++) {
        struct reach_ranges was = served_clients(j->a, j->reach_before, old, &ports[i]);
        struct reach_ranges are = served_clients(j->a, reach_after, new, &ports[i]);
        if (!reach_ranges_equal(was, are)) {
            j->report(j->arg,
                      arena_printf(j->a, "E2: taken back, %s is served to %s, and was to %s",
                                   served_port_text(j->a, &ports[i]), served_ranges_text(j->a, are),
                                   served_ranges_text(j->a, was)));
        }
    }
}
