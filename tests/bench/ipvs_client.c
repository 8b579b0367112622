/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_client.c: the least that a program can do to make virtual services and destinations of IPVS:
 * a measure for the provider local.
 *
 *     ipvs-client SERVICES TARGETS IN_FLIGHT
 *
 * It sends the requests that the provider sends, as many in one write, and waits for their answers;
 * nothing is read, kept or compared.  Addresses and ports are those of bench_ipvs.py. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    int fd;
    uint16_t family;
    uint32_t seq;
    unsigned waiting, in_flight;
    size_t used;
    char buf[256 * 1024];
};

static void fail(const char *what)
{
    fprintf(stderr, "ipvs-client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct nlmsghdr *begin(struct client *c, uint16_t family, uint8_t command, uint16_t flags)
{
    struct nlmsghdr *m = (struct nlmsghdr *)(void *)(c->buf + c->used);
    struct genlmsghdr *g = NLMSG_DATA(m);
    *m = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
                           .nlmsg_type = family,
                           .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
                           .nlmsg_seq = ++c->seq};
    *g = (struct genlmsghdr){.cmd = command, .version = 1};
    return m;
}

static struct nlattr *put(struct nlmsghdr *m, uint16_t type, const void *bytes, size_t n)
{
    struct nlattr *a = (struct nlattr *)(void *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));
    a->nla_type = type;
    a->nla_len = (uint16_t)(NLA_HDRLEN + n);
    memset((char *)a + NLA_HDRLEN, 0, NLA_ALIGN(n));
    if (n > 0) {
        memcpy((char *)a + NLA_HDRLEN, bytes, n);
    }
    m->nlmsg_len = NLMSG_ALIGN(m->nlmsg_len) + (uint32_t)NLA_ALIGN(a->nla_len);
    return a;
}

static void put_u16(struct nlmsghdr *m, uint16_t type, uint16_t v)
{
    (void)put(m, type, &v, sizeof(v));
}

static void put_u32(struct nlmsghdr *m, uint16_t type, uint32_t v)
{
    (void)put(m, type, &v, sizeof(v));
}

static struct nlattr *nest(struct nlmsghdr *m, uint16_t type)
{
    return put(m, (uint16_t)(type | NLA_F_NESTED), NULL, 0);
}

static void end_nest(const struct nlmsghdr *m, struct nlattr *a)
{
    a->nla_len = (uint16_t)((const char *)m + m->nlmsg_len - (const char *)a);
}

/* Sends what is there, and reads an answer for each. */
static void flush(struct client *c)
{
    char answers[65536];
    if (c->used > 0 && send(c->fd, c->buf, c->used, 0) != (ssize_t)c->used) {
        fail("send");
    }
    c->used = 0;
    while (c->waiting > 0) {
        ssize_t n = recv(c->fd, answers, sizeof(answers), 0);
        if (n < 0) {
            fail("receive");
        }
        for (struct nlmsghdr *m = (struct nlmsghdr *)(void *)answers; NLMSG_OK(m, n);
             m = NLMSG_NEXT(m, n)) {
            const struct nlmsgerr *e = NLMSG_DATA(m);
            if (m->nlmsg_type == NLMSG_ERROR && e->error != 0) {
                errno = -e->error;
                fail("request");
            }
            c->waiting--;
        }
    }
}

static void end(struct client *c, const struct nlmsghdr *m)
{
    c->used += NLMSG_ALIGN(m->nlmsg_len);
    if (++c->waiting == c->in_flight) {
        flush(c);
    }
}

static void find_family(struct client *c)
{
    char answer[4096];
    struct nlmsghdr *m = begin(c, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
    (void)put(m, CTRL_ATTR_FAMILY_NAME, IPVS_GENL_NAME, sizeof(IPVS_GENL_NAME));
    ssize_t n = send(c->fd, m, m->nlmsg_len, 0) < 0 ? -1 : recv(c->fd, answer, sizeof(answer), 0);
    const struct nlmsghdr *r = (const struct nlmsghdr *)(void *)answer;
    if (n < 0 || r->nlmsg_type == NLMSG_ERROR) {
        fail("IPVS");
    }
    size_t at = NLMSG_LENGTH(GENL_HDRLEN);
    while (at + NLA_HDRLEN <= (size_t)n) {
        const struct nlattr *a = (const struct nlattr *)(void *)(answer + at);
        if (a->nla_type == CTRL_ATTR_FAMILY_ID) {
            memcpy(&c->family, (const char *)a + NLA_HDRLEN, sizeof(c->family));
        }
        at += NLA_ALIGN(a->nla_len);
    }
}

static void put_service(struct nlmsghdr *m, unsigned i, bool whole)
{
    const struct ip_vs_flags flags = {.flags = 0, .mask = ~0u};
    unsigned char addr[16] = {10, 0, (unsigned char)(i / 200), (unsigned char)(i % 200 + 1)};
    struct nlattr *a = nest(m, IPVS_CMD_ATTR_SERVICE);
    put_u16(m, IPVS_SVC_ATTR_AF, AF_INET);
    put_u16(m, IPVS_SVC_ATTR_PROTOCOL, IPPROTO_TCP);
    (void)put(m, IPVS_SVC_ATTR_ADDR, addr, sizeof(addr));
    put_u16(m, IPVS_SVC_ATTR_PORT, htons(80));
    if (whole) {
        (void)put(m, IPVS_SVC_ATTR_SCHED_NAME, "rr", 3);
        (void)put(m, IPVS_SVC_ATTR_FLAGS, &flags, sizeof(flags));
        put_u32(m, IPVS_SVC_ATTR_TIMEOUT, 0);
        put_u32(m, IPVS_SVC_ATTR_NETMASK, ~0u);
    }
    end_nest(m, a);
}

static void put_dest(struct nlmsghdr *m, unsigned i, unsigned k)
{
    unsigned char addr[16] = {10, 1, 0, (unsigned char)(k + 1)};
    struct nlattr *a = nest(m, IPVS_CMD_ATTR_DEST);
    put_u16(m, IPVS_DEST_ATTR_ADDR_FAMILY, AF_INET);
    (void)put(m, IPVS_DEST_ATTR_ADDR, addr, sizeof(addr));
    put_u16(m, IPVS_DEST_ATTR_PORT, htons((uint16_t)(10000 + i)));
    put_u32(m, IPVS_DEST_ATTR_FWD_METHOD, IP_VS_CONN_F_MASQ);
    put_u32(m, IPVS_DEST_ATTR_WEIGHT, 1);
    put_u32(m, IPVS_DEST_ATTR_U_THRESH, 0);
    put_u32(m, IPVS_DEST_ATTR_L_THRESH, 0);
    end_nest(m, a);
}

int main(int argc, char **argv)
{
    static struct client c;
    unsigned services = argc == 4 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned targets = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    c.in_flight = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    c.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (services == 0 || c.in_flight == 0 || c.in_flight > 1000 || c.fd < 0) {
        fail("SERVICES TARGETS IN_FLIGHT");
    }
    find_family(&c);
    for (unsigned i = 0; i < services; i++) {
        struct nlmsghdr *m = begin(&c, c.family, IPVS_CMD_NEW_SERVICE, NLM_F_ACK);
        put_service(m, i, true);
        end(&c, m);
        for (unsigned k = 0; k < targets; k++) {
            m = begin(&c, c.family, IPVS_CMD_NEW_DEST, NLM_F_ACK);
            put_service(m, i, false);
            put_dest(m, i, k);
            end(&c, m);
        }
    }
    flush(&c);
    printf("%u requests\n", c.seq - 1);
    return 0;
}
