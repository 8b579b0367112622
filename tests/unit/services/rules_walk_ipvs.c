/* SPDX-License-Identifier: Apache-2.0 */
/* rules_walk_ipvs.c: a packet's way through what kube-proxy installs in IPVS mode.
 *
 * Addresses of Services are addresses of the node, so packets to them come to INPUT, where ip_vs
 * takes them behind the rules; what the node itself sends is taken in OUTPUT.  ip_vs refuses where
 * a virtual server has no real one. */
#include "tests/unit/services/rules_walk_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_words(struct walk_rule *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->words[i]);
    }
    free(r->words);
}

/* "tcp 10.0.0.1:80" of "-t 10.0.0.1:80". */
static const char *server_name(const struct walk_rule *r, char out[2 * WALK_TEXT])
{
    const char *flag = r->words[1];
    snprintf(out, 2 * WALK_TEXT, "%s %s",
             strcmp(flag, "-t") == 0   ? "tcp"
             : strcmp(flag, "-u") == 0 ? "udp"
                                       : "sctp",
             r->words[2]);
    return out;
}

/* One line before those of iptables. */
static void read_line(struct walk_rules *r, struct walk_chain **last, const char *line)
{
    char name[2 * WALK_TEXT];
    struct walk_rule words = walk_split(line);
    const char *verb = words.n > 0 ? words.words[0] : "";
    if (strcmp(verb, "create") == 0) {
        *last = walk_chain_add(r, "set", words.words[1]);
    } else if (strcmp(verb, "add") == 0) {
        walk_chain_append(*last, walk_split(words.words[2])); /* entries stand behind their set */
    } else if (strcmp(verb, "-A") == 0) {
        *last = walk_chain_add(r, "server", server_name(&words, name));
    } else if (strcmp(verb, "-a") == 0) {
        walk_chain_append(*last, walk_split(words.words[4])); /* -a -t V -r E -m -w 1 */
    } else if (strncmp(verb, "inet", 4) == 0) {
        *strchr(words.words[1], '/') = '\0';
        walk_chain_add(r, "bound", words.words[1]);
    } else if (strcmp(verb, "#") != 0) {
        walk_fail("not understood", &words);
    }
    free_words(&words);
}

struct walk_rules *walk_ipvs_parse(const char *text)
{
    const char *rules = strstr(text, "# iptables-restore\n");
    if (rules == NULL) {
        walk_fail("no rules", NULL);
    }
    struct walk_rules *r = walk_iptables_parse(rules);
    struct walk_chain *last = NULL;
    while (text < rules) {
        size_t len = strcspn(text, "\n");
        char *line = strndup(text, len);
        read_line(r, &last, line);
        free(line);
        text += len + 1;
    }
    walk_rules_sort(r);
    return r;
}

/* The way of the packet through ip_vs, and postrouting behind it. */
static enum walk_way balance(struct walk_state *s)
{
    const struct walk_packet *p = s->packet;
    char name[2 * WALK_TEXT];
    snprintf(name, sizeof(name), strchr(p->dest, ':') != NULL ? "%s [%s]:%d" : "%s %s:%d",
             p->protocol, p->dest, p->port);
    const struct walk_chain *server = walk_chain_get(s->rules, "server", name);
    if (server == NULL) {
        return WALK_ON;
    }
    if (server->n == 0) {
        walk_end_at(s, "REJECT", false);
    }
    for (size_t i = 0; i < server->n; i++) {
        const char *real = server->rules[i].words[0];
        char ip[WALK_TEXT];
        struct walk_packet moved = *p;
        struct walk_state way = *s;
        size_t skip = real[0] == '[';
        const char *colon = strrchr(real, ':');
        snprintf(ip, sizeof(ip), "%.*s", (int)(colon - real - 2 * (long)skip), real + skip);
        moved.dest = ip;
        moved.port = (int)walk_number(colon + 1);
        way.packet = &moved;
        (void)walk_iptables_chain(&way, "nat", "KUBE-POSTROUTING");
        way.probability /= (double)server->n;
        walk_end_at(&way, real, way.masquerade);
    }
    return WALK_ENDED;
}

struct walk_outcome walk_ipvs(const struct walk_rules *rules, const struct walk_packet *p)
{
    static const char *const input[] = {"KUBE-IPVS-FILTER", "KUBE-PROXY-FIREWALL",
                                        "KUBE-NODE-PORT"};
    struct walk_outcome outcome = {0};
    const char **local = calloc(p->n_local + 2, sizeof(*local));
    struct walk_packet here = *p;
    for (size_t i = 0; i < p->n_local; i++) {
        local[here.n_local = i] = p->local[i];
    }
    here.n_local = p->n_local;
    here.local = local;
    const char *both[] = {p->source, p->dest}; /* kube-ipvs0's addresses are the node's as well */
    for (size_t i = 0; i < 2; i++) {
        if (walk_chain_get(rules, "bound", both[i]) != NULL) {
            local[here.n_local++] = both[i];
        }
    }
    bool own = p->interface == NULL || walk_is_local(&here, p->source);
    struct walk_state s = {.rules = rules, .packet = &here, .outcome = &outcome, .probability = 1};
    (void)walk_iptables_chain(&s, "nat", "KUBE-SERVICES");
    enum walk_way way = WALK_ON;
    if (own) {
        way = walk_iptables_chain(&s, "filter", "KUBE-IPVS-OUT-FILTER");
        way = way == WALK_ON ? balance(&s) : way;
    } else if (!walk_is_local(&here, p->dest)) {
        way = walk_iptables_chain(&s, "filter", "KUBE-PROXY-FIREWALL");
    }
    for (size_t i = 0; i < 3 && way == WALK_ON && walk_is_local(&here, p->dest); i++) {
        way = walk_iptables_chain(&s, "filter", input[i]);
    }
    way = way == WALK_ON && walk_is_local(&here, p->dest) ? balance(&s) : way;
    if (way == WALK_ON) {
        walk_end_at(&s, "", false);
    }
    free(local);
    return outcome;
}
