/* SPDX-License-Identifier: Apache-2.0 */
/* announce.c: says on a link that an address is here, and asks whether it is somewhere else.
 *
 * One raw socket sends on all links.  A link that is probed or listened to has two more, which hear
 * ARP and neighbour advertisements from then on; answers are remembered by link and address until
 * the address is announced there or probed again. */
#include "common/base/map.h"
#include "providers/local/kernel/frames.h"
#include "providers/local/kernel/real.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BURST    64 /* frames of one system call */
#define HEAR_MAX 1024
#define CLAIMS_MAX                                                                                 \
    256 /* that are kept for local_announcer_hear(); later ones are repeated or too late */
#define ASKED_MAX 64 /* requests that are kept; hosts repeat theirs */

struct asked {
    struct ip_addr addr;
    struct local_asker by;
};
struct ears {
    int link;
    int arp, nd;    /* sockets; -1: none */
    bool listening; /* claims of all addresses are kept */
    struct local_heard claims[CLAIMS_MAX];
    size_t n_claims;
    bool responding; /* requests of hosts are kept */
    struct asked asked[ASKED_MAX];
    unsigned n_asked;
    struct ears *next;
};
struct local_announcer {
    int out; /* socket; -1: none yet */
    struct ears *ears;
    struct map *probes; /* "LINK ADDRESS" → struct local_probe_answer, heap */
};

struct local_announcer *local_announcer_new(void)
{
    struct local_announcer *a = xcalloc(1, sizeof(*a));
    a->out = -1;
    a->probes = map_new(free);
    return a;
}

static void close_if_open(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

static void ears_free(struct ears *e)
{
    close_if_open(e->arp);
    close_if_open(e->nd);
    free(e);
}

void local_announcer_free(struct local_announcer *a)
{
    if (a == NULL) {
        return;
    }
    close_if_open(a->out);
    while (a->ears != NULL) {
        struct ears *e = a->ears;
        a->ears = e->next;
        ears_free(e);
    }
    map_free(a->probes);
    free(a);
}

static int failed(struct err *err, const struct local_link *link)
{
    int error = errno;
    if (error == EPERM || error == EACCES) {
        return err_set(err, ERR_AUTH, "not allowed to send ARP: CAP_NET_RAW is needed");
    }
    if (error == EAFNOSUPPORT) {
        return err_set(err, ERR_TRANSIENT,
                       "this kernel sends no frames of ARP for a program: modprobe af_packet "
                       "(CONFIG_PACKET)");
    }
    return err_set(err, ERR_TRANSIENT, "%s: %s", link->name, strerror(error));
}

/* --- sending ---------------------------------------------------------------------------------- */

static int open_out(struct local_announcer *a, const struct local_link *link, struct err *err)
{
    if (a->out < 0) {
        a->out = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    }
    return a->out < 0 ? failed(err, link) : ERR_OK;
}

static int send_frames(struct local_announcer *a, const struct local_link *link,
                       const struct local_frame *frames, unsigned n, struct err *err)
{
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET, .sll_ifindex = link->index, .sll_halen = LOCAL_MAC_LEN};
    struct iovec parts[BURST];
    struct mmsghdr messages[BURST] = {0};
    for (unsigned i = 0; i < n; i++) {
        parts[i] = (struct iovec){(void *)frames[i].bytes, frames[i].len};
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &parts[i], .msg_iovlen = 1};
    }
    for (unsigned done = 0; done < n;) {
        int sent = sendmmsg(a->out, messages + done, n - done, 0);
        if (sent < 0 && errno != EINTR) {
            return failed(err, link);
        }
        done += sent > 0 ? (unsigned)sent : 0;
    }
    return ERR_OK;
}

static void probe_key(const struct local_link *link, const struct ip_addr *addr,
                      char key[IP_TEXT_MAX + 16])
{
    char text[IP_TEXT_MAX];
    ip_format(addr, text);
    snprintf(key, IP_TEXT_MAX + 16, "%d %s", link->index, text);
}

int local_announcer_send(struct local_announcer *a, const struct local_link *link,
                         const struct ip_addr *addrs, size_t n, struct err *err)
{
    struct local_frame frames[BURST];
    char key[IP_TEXT_MAX + 16];
    unsigned waiting = 0;
    int code = open_out(a, link, err);
    for (size_t i = 0; i < n && code == ERR_OK; i++) {
        if (addrs[i].len == 4) {
            local_frame_garp(&addrs[i], link->mac, false, &frames[waiting++]);
            local_frame_garp(&addrs[i], link->mac, true, &frames[waiting++]);
        } else {
            local_frame_advert(&addrs[i], link->mac, &frames[waiting++]);
        }
        probe_key(link, &addrs[i], key);
        (void)map_remove(a->probes, key); /* most were not probed */
        if (waiting + 2 > BURST || i + 1 == n) {
            code = send_frames(a, link, frames, waiting, err);
            waiting = 0;
        }
    }
    return code;
}

/* --- hearing ---------------------------------------------------------------------------------- */

/* Lets neighbour advertisements through, and nothing else of IPv6. */
static int only_adverts(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20), /* next header */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 58, 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 54), /* type of ICMPv6 */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 136, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, HEAR_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {ARRAY_LEN(code), code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int open_ear(int link, uint16_t protocol)
{
    struct sockaddr_ll at = {
        .sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = link};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    if ((protocol == ETH_P_IPV6 && only_adverts(fd) != 0) ||
        bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static struct ears *ears_of(struct local_announcer *a, int link)
{
    struct ears *e = a->ears;
    while (e != NULL && e->link != link) {
        e = e->next;
    }
    return e;
}

static int open_ears(struct local_announcer *a, const struct local_link *link, struct err *err)
{
    if (ears_of(a, link->index) != NULL) {
        return ERR_OK;
    }
    struct ears *e = xcalloc(1, sizeof(*e));
    *e = (struct ears){.link = link->index, .nd = -1};
    e->arp = open_ear(link->index, ETH_P_ARP);
    if (e->arp >= 0) {
        e->nd = open_ear(link->index, ETH_P_IPV6);
    }
    if (e->nd < 0) {
        int code = failed(err, link);
        ears_free(e);
        return code;
    }
    e->next = a->ears;
    a->ears = e;
    return ERR_OK;
}

static void keep_claim(struct ears *e, const struct ip_addr *addr, const uint8_t mac[LOCAL_MAC_LEN])
{
    if (e->listening && e->n_claims < CLAIMS_MAX) {
        struct local_heard *claim = &e->claims[e->n_claims++];
        claim->addr = *addr;
        memcpy(claim->mac, mac, sizeof(claim->mac));
    }
}

static void keep_asked(struct ears *e, const struct local_link *link, const uint8_t *bytes,
                       size_t n)
{
    struct asked *q = &e->asked[e->n_asked];

    if (e->responding && e->n_asked < ASKED_MAX && local_frame_asks(bytes, n, &q->addr, &q->by) &&
        memcmp(q->by.mac, link->mac, sizeof(q->by.mac)) != 0) {
        e->n_asked++;
    }
}

static void hear(struct local_announcer *a, const struct local_link *link, struct ears *e, int fd)
{
    uint8_t bytes[HEAR_MAX];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0 || (n < 0 && errno == EINTR)) {
        struct ip_addr addr;
        uint8_t mac[LOCAL_MAC_LEN];
        char key[IP_TEXT_MAX + 16];
        if (n > 0) {
            keep_asked(e, link, bytes, (size_t)n);
        }
        if (n <= 0 || !local_frame_claim(bytes, (size_t)n, &addr, mac) ||
            memcmp(mac, link->mac, sizeof(mac)) == 0) {
            continue;
        }
        keep_claim(e, &addr, mac);
        probe_key(link, &addr, key);
        struct local_probe_answer *answer = map_get(a->probes, key);
        if (answer != NULL && !answer->answered) {
            answer->answered = true;
            memcpy(answer->mac, mac, sizeof(mac));
        }
    }
}

int local_announcer_probe(struct local_announcer *a, const struct local_link *link,
                          const struct ip_addr *addr, struct err *err)
{
    struct local_frame frame;
    char key[IP_TEXT_MAX + 16];
    int code = open_ears(a, link, err);
    code = code == ERR_OK ? open_out(a, link, err) : code;
    if (code != ERR_OK) {
        return code;
    }
    probe_key(link, addr, key);
    if (!map_has(a->probes, key)) {
        map_set(a->probes, key, xcalloc(1, sizeof(struct local_probe_answer)));
    }
    local_frame_probe(addr, link->mac, &frame);
    return send_frames(a, link, &frame, 1, err);
}

int local_announcer_answer(struct local_announcer *a, const struct local_link *link,
                           const struct ip_addr *addr, struct local_probe_answer *ret,
                           struct err *err)
{
    char key[IP_TEXT_MAX + 16];
    probe_key(link, addr, key);
    struct ears *e = ears_of(a, link->index);
    if (e == NULL || !map_has(a->probes, key)) {
        return err_set(err, ERR_BUG, "%s was not probed", key);
    }
    hear(a, link, e, e->arp);
    hear(a, link, e, e->nd);
    struct local_probe_answer *answer = map_get(a->probes, key);
    *ret = *answer;
    *answer = (struct local_probe_answer){0};
    return ERR_OK;
}

int local_announcer_hear(struct local_announcer *a, const struct local_link *link,
                         struct local_heard *ret, size_t max, size_t *ret_n, struct err *err)
{
    int code = open_ears(a, link, err);
    if (code != ERR_OK) {
        return code;
    }
    struct ears *e = ears_of(a, link->index);
    e->listening = true;
    hear(a, link, e, e->arp);
    hear(a, link, e, e->nd);
    *ret_n = e->n_claims < max ? e->n_claims : max;
    memcpy(ret, e->claims, *ret_n * sizeof(*ret));
    e->n_claims = 0;
    return ERR_OK;
}

int local_announcer_respond(struct local_announcer *a, const struct local_link *link,
                            bool (*mine)(void *arg, const struct ip_addr *addr), void *arg,
                            unsigned *ret_n, struct err *err)
{
    struct local_frame frames[ASKED_MAX];
    struct ears *e = ears_of(a, link->index);
    unsigned n = 0;

    if (mine == NULL) {
        if (e != NULL) {
            e->responding = false;
            e->n_asked = 0;
        }
        return ERR_OK;
    }
    *ret_n = 0;
    int code = open_ears(a, link, err);
    code = code == ERR_OK ? open_out(a, link, err) : code;
    if (code != ERR_OK) {
        return code;
    }
    e = ears_of(a, link->index);
    e->responding = true;
    hear(a, link, e, e->arp);
    hear(a, link, e, e->nd);
    for (unsigned i = 0; i < e->n_asked; i++) {
        if (mine(arg, &e->asked[i].addr)) {
            local_frame_answer(&e->asked[i].addr, link->mac, &e->asked[i].by, &frames[n++]);
        }
    }
    e->n_asked = 0;
    code = send_frames(a, link, frames, n, err);
    *ret_n = code == ERR_OK ? n : 0;
    return code;
}

size_t local_announcer_ears(const struct local_announcer *a, int *ret_fds, size_t max)
{
    size_t n = 0;
    for (const struct ears *e = a->ears; e != NULL && n + 2 <= max; e = e->next) {
        if (e->listening || e->responding) {
            ret_fds[n++] = e->arp;
            ret_fds[n++] = e->nd;
        }
    }
    return n;
}
