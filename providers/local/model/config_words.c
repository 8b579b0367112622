/* SPDX-License-Identifier: Apache-2.0 */
/* config_words.c: the words of configuration and annotations, in both directions.
 *
 * A word that is refused comes with the one that was probably meant: by a table for names that
 * other programs use ("dsr", "maglev"), else by the distance of letters.  Pure. */
#include "providers/local/model/config_internal.h"

#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

const char *const local_role_words[] = {"all", "allocator", "director", NULL};
const char *const local_mode_words[] = {"auto",    "nft",         "ipvs-nat", "ipvs-fullnat",
                                        "ipvs-dr", "ipvs-tunnel", NULL};
const char *const local_scheduler_words[] = {"auto", "rr", "wrr", "lc", "wlc", "sh", "mh", NULL};
const char *const local_targets_words[] = {"auto", "nodePort", "node", "pod", NULL};
const char *const local_snat_words[] = {"auto", "always", "never", NULL};
const char *const local_announce_words[] = {"arp", "routes", "none", NULL};
const char *const local_ip_mode_words[] = {"auto", "VIP", "Proxy", NULL};
const char *const local_redundancy_words[] = {"none", "lease", "ecmp", NULL};
const char *const local_check_words[] = {
    "", "none", "tcp", "http", "kube-proxy", "healthCheckNodePort", NULL};
const char *const local_tunnel_words[] = {"ipip", "gue", "gre", NULL};

/* A word of another program, and ours for the same thing; NULL: known, but not served here. */
struct meaning {
    const char *word;
    const char *ours;
};
static const struct meaning mode_meanings[] = {
    {"dr", "ipvs-dr"},           {"dsr", "ipvs-dr"},          {"gatewaying", "ipvs-dr"},
    {"nat", "ipvs-nat"},         {"masq", "ipvs-nat"},        {"masquerading", "ipvs-nat"},
    {"tun", "ipvs-tunnel"},      {"ipip", "ipvs-tunnel"},     {"tunnel", "ipvs-tunnel"},
    {"ipvs-tun", "ipvs-tunnel"}, {"fullnat", "ipvs-fullnat"}, {"nftables", "nft"},
    {"ipvs-dsr", "ipvs-dr"},
};
static const struct meaning scheduler_meanings[] = {
    {"round-robin", "rr"}, {"roundrobin", "rr"}, {"leastconn", "lc"},   {"least-conn", "lc"},
    {"maglev", "mh"},      {"source", "sh"},     {"source-hash", "sh"}, {"dh", NULL},
    {"sed", NULL},         {"nq", NULL},         {"lblc", NULL},        {"lblcr", NULL},
    {"fo", NULL},          {"ovf", NULL},
};
static const struct meaning check_meanings[] = {
    {"kubeproxy", "kube-proxy"},
    {"healthz", "kube-proxy"},
    {"node-port", "healthCheckNodePort"},
    {"off", "none"},
    {"connect", "tcp"},
};

int local_word_find(const char *const *words, const char *text)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (words[i][0] != '\0' && str_eq(words[i], text)) {
            return i;
        }
    }
    return -1;
}

static size_t count(const char *const *words)
{
    size_t n = 0;
    while (words[n] != NULL) {
        n++;
    }
    return n;
}

static const char *meant(const char *const *words, const struct meaning *meanings, size_t n,
                         const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(meanings[i].word, text)) {
            return meanings[i].ours;
        }
    }
    for (size_t i = 0; words[i] != NULL; i++) {
        if (words[i][0] != '\0' && str_eq_nocase(words[i], text)) {
            return words[i];
        }
    }
    const char *near = text[0] == '\0' ? NULL : str_nearest(text, words, count(words));
    return near == NULL || near[0] == '\0' ? NULL : near;
}

bool local_mode_parse(const char *text, enum local_mode *ret, const char **ret_meant)
{
    int i = local_word_find(local_mode_words, text);
    if (i < 0) {
        *ret_meant = meant(local_mode_words, mode_meanings, ARRAY_LEN(mode_meanings), text);
        return false;
    }
    *ret = (enum local_mode)i;
    return true;
}

bool local_scheduler_parse(const char *text, enum local_scheduler *ret, const char **ret_meant)
{
    int i = local_word_find(local_scheduler_words, text);
    if (i < 0) {
        *ret_meant =
            meant(local_scheduler_words, scheduler_meanings, ARRAY_LEN(scheduler_meanings), text);
        return false;
    }
    *ret = (enum local_scheduler)i;
    return true;
}

bool local_check_parse(const char *text, enum local_check *ret, const char **ret_meant)
{
    int i = local_word_find(local_check_words, text);
    if (i < 0) {
        *ret_meant = meant(local_check_words, check_meanings, ARRAY_LEN(check_meanings), text);
        return false;
    }
    *ret = (enum local_check)i;
    return true;
}

bool local_targets_parse(const char *text, enum local_targets *ret)
{
    int i = local_word_find(local_targets_words, text);
    if (i >= 0) {
        *ret = (enum local_targets)i;
    }
    return i >= 0;
}

bool local_snat_parse(const char *text, enum local_snat *ret)
{
    int i = local_word_find(local_snat_words, text);
    if (i >= 0) {
        *ret = (enum local_snat)i;
    }
    return i >= 0;
}

static bool port_parse(const char *text, uint16_t *ret)
{
    uint64_t port;
    if (!str_to_u64(text, &port) || port < 1 || port > UINT16_MAX) {
        return false;
    }
    *ret = (uint16_t)port;
    return true;
}

/* "10.9.9.9", "10.9.9.9:80", "2001:db8::9", "[2001:db8::9]:80". */
bool local_sorry_parse(const char *text, struct local_sorry *ret)
{
    struct local_sorry sorry = {0};
    char addr[IP_TEXT_MAX];
    const char *from = text[0] == '[' ? text + 1 : text;
    const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    const char *port = end;
    if (ip_parse(text, &sorry.addr)) {
        *ret = sorry;
        return true;
    }
    if (end == NULL || (size_t)(end - from) >= sizeof(addr)) {
        return false;
    }
    memcpy(addr, from, (size_t)(end - from));
    addr[end - from] = '\0';
    port += text[0] == '[' ? 1 : 0;
    bool ok = *port == ':' && port_parse(port + 1, &sorry.port) && ip_parse(addr, &sorry.addr) &&
              (text[0] == '[') == (sorry.addr.len == 16);
    if (ok) {
        *ret = sorry;
    }
    return ok;
}

static const char *word_of(const char *const *words, unsigned i)
{
    return i < count(words) ? words[i] : "";
}

const char *local_mode_word(enum local_mode mode)
{
    return word_of(local_mode_words, (unsigned)mode);
}

const char *local_scheduler_word(enum local_scheduler scheduler)
{
    return word_of(local_scheduler_words, (unsigned)scheduler);
}

const char *local_check_word(enum local_check check)
{
    return word_of(local_check_words, (unsigned)check);
}

bool local_mode_is_ipvs(enum local_mode mode)
{
    return mode >= LOCAL_MODE_IPVS_NAT;
}

bool local_mode_keeps_vip(enum local_mode mode)
{
    return mode == LOCAL_MODE_IPVS_DR || mode == LOCAL_MODE_IPVS_TUNNEL;
}

char *local_words_text(struct arena *a, const char *const *words)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    size_t n = count(words);
    for (size_t i = 0; i < n; i++) {
        if (words[i][0] != '\0') {
            str_append(&b, b.len == 0 ? "" : i + 1 == n ? " or " : ", ");
            str_append(&b, words[i]);
        }
    }
    return str_buf_to_arena(&b, a);
}

void local_duration_text(int64_t ms, char out[LOCAL_DURATION_TEXT_MAX])
{
    duration_format(ms * 1000000, out);
    size_t n = strlen(out);
    if (n > 3 && strcmp(out + n - 3, "m0s") == 0) {
        out[n - 2] = '\0';
        n -= 2;
    }
    if (n > 3 && strcmp(out + n - 3, "h0m") == 0) {
        out[n - 2] = '\0';
    }
}

bool local_duration_parse(const char *text, int64_t *ret_ms)
{
    int64_t ns;
    if (duration_parse(text, &ns, NULL) != ERR_OK) {
        return false;
    }
    *ret_ms = ns / 1000000;
    return true;
}
