/* SPDX-License-Identifier: Apache-2.0 */
/* netlink.c: a netlink socket, buffers of requests, and their answers (netlink.h). */
#include "providers/local/kernel/netlink.h"

#include "common/base/arena.h"
#include "providers/local/kernel/tally.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define RECEIVE_BYTES (8 << 20)
#define SEND_BYTES    (4 << 20)
#define TEXT_MAX      200
/* Of the memory that a socket keeps for its next requests; pages that none used are not there. */
#define SPARE_BYTES (3 * (size_t)LOCAL_NL_MESSAGE_MAX)

/* --- the socket ------------------------------------------------------------------------------- */

/* The forced sizes need CAP_NET_ADMIN in the initial user namespace; without it the
 * system's limit holds. */
static void enlarge(int fd)
{
    int receive = RECEIVE_BYTES, send = SEND_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive, sizeof(receive)) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive,
                         sizeof(receive)); /* smaller is fine */
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &send, sizeof(send)) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send)); /* smaller is fine */
    }
}

int local_nl_open(struct local_nl *nl, int bus, struct local_tally *tally, struct err *err)
{
    *nl = (struct local_nl){.tally = tally};
    nl->socket = mnl_socket_open2(bus, SOCK_CLOEXEC);
    if (nl->socket == NULL || mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID) != 0) {
        int e = errno;
        local_nl_close(nl);
        bool absent = e == EPROTONOSUPPORT || e == EAFNOSUPPORT;
        return err_set(err, absent ? ERR_INVALID : local_nl_code(e), "netlink socket: %s",
                       strerror(e));
    }
    int on = 1;
    /* Old kernels lack these two: then refusals have no words, and echo the request. */
    (void)mnl_socket_setsockopt(nl->socket, NETLINK_CAP_ACK, &on, sizeof(on));
    (void)mnl_socket_setsockopt(nl->socket, NETLINK_EXT_ACK, &on, sizeof(on));
    if (bus == NETLINK_ROUTE) {
        (void)mnl_socket_setsockopt(nl->socket, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
    }
    enlarge(mnl_socket_get_fd(nl->socket));
    nl->rx = xmalloc(LOCAL_NL_MESSAGE_MAX);
    return ERR_OK;
}

void local_nl_close(struct local_nl *nl)
{
    if (nl->socket != NULL) {
        mnl_socket_close(nl->socket);
        nl->socket = NULL;
    }
    free(nl->rx);
    free(nl->spare);
    nl->rx = nl->spare = NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Up to the end of a message that was begun and not ended. */
static size_t used_bytes(const struct local_nl_buf *b)
{
    const struct nlmsghdr *m = (const void *)(b->data + b->len);

    return b->len + (b->cap - b->len >= sizeof(*m) ? MNL_ALIGN(m->nlmsg_len) : 0);
}

void local_nl_buf_done(struct local_nl_buf *b)
{
    if (b->of != NULL && b->of->spare == NULL && b->cap == SPARE_BYTES) {
        memset(b->data, 0, used_bytes(b));
        b->of->spare = b->data;
    } else {
        free(b->data);
    }
    *b = (struct local_nl_buf){0};
}

void local_nl_buf_reset(struct local_nl_buf *b)
{
    if (b->len > 0) {
        memset(b->data, 0, b->len);
    }
    b->len = 0;
    b->n = 0;
}

/* All zeroes: libmnl leaves padding as it is. */
static void make_room(struct local_nl *nl, struct local_nl_buf *b)
{
    if (b->data == NULL) {
        b->of = nl->rx != NULL ? nl : NULL; /* one that is open gives it free later */
        b->data = nl->spare != NULL ? nl->spare : xcalloc(1, SPARE_BYTES);
        b->cap = SPARE_BYTES;
        nl->spare = NULL;
    } else if (b->cap - b->len < LOCAL_NL_MESSAGE_MAX) {
        b->cap = 2 * b->cap + LOCAL_NL_MESSAGE_MAX;
        b->data = xrealloc(b->data, b->cap);
        memset(b->data + b->len, 0, b->cap - b->len);
    }
}

struct nlmsghdr *local_nl_begin(struct local_nl *nl, struct local_nl_buf *b, uint16_t type,
                                uint16_t flags, size_t extra)
{
    make_room(nl, b);
    struct nlmsghdr *m = mnl_nlmsg_put_header(b->data + b->len);
    m->nlmsg_type = type;
    m->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    m->nlmsg_seq = ++nl->seq;
    if (b->n++ == 0) {
        b->first_seq = nl->seq;
    }
    mnl_nlmsg_put_extra_header(m, extra);
    return m;
}

void local_nl_end(struct local_nl_buf *b)
{
    const struct nlmsghdr *m = (const void *)(b->data + b->len);
    b->len += MNL_ALIGN(m->nlmsg_len);
}

void local_nl_put_be32(struct nlmsghdr *m, uint16_t type, uint32_t value)
{
    mnl_attr_put_u32(m, type, htonl(value));
}

/* --- answers ---------------------------------------------------------------------------------- */

struct talk {
    struct local_tally *tally;
    const struct local_nl_buf *buf;
    uint32_t sure;
    const struct local_nl_hear *hear;
    bool heard_sure;
    bool interrupted; /* a dump whose list changed meanwhile */
    bool dumping;     /* parts of a dump come, and its end has not */
};

static void hear_ack(struct talk *t, const struct nlmsghdr *m)
{
    if (m->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(int)) {
        return;
    }
    struct local_nl_ack ack = {.seq = m->nlmsg_seq};
    char text[TEXT_MAX];
    const int *error = mnl_nlmsg_get_payload(m); /* of NLMSG_DONE and of struct nlmsgerr */
    ack.error = *error < 0 ? -*error : 0;
    size_t skip = sizeof(int);
    if (m->nlmsg_type == NLMSG_ERROR && mnl_nlmsg_get_payload_len(m) >= sizeof(struct nlmsgerr)) {
        const struct nlmsgerr *e = mnl_nlmsg_get_payload(m);
        skip = sizeof(*e);
        if ((m->nlmsg_flags & NLM_F_CAPPED) == 0) {
            skip += e->msg.nlmsg_len - sizeof(e->msg);
        }
    }
    if ((m->nlmsg_flags & NLM_F_ACK_TLVS) != 0 && MNL_ALIGN(skip) < mnl_nlmsg_get_payload_len(m)) {
        struct local_nl_attrs a;
        local_nl_parse(m, skip, &a);
        ack.offset = local_nl_u32(a.at[NLMSGERR_ATTR_OFFS]);
        const struct nlattr *msg = a.at[NLMSGERR_ATTR_MSG];
        if (msg != NULL) {
            size_t n = mnl_attr_get_payload_len(msg);
            n = n < sizeof(text) ? n : sizeof(text) - 1;
            memcpy(text, mnl_attr_get_payload(msg), n);
            text[n] = '\0';
            ack.text = text;
        }
    }
    t->heard_sure = t->heard_sure || ack.seq == t->sure || ack.error != 0;
    t->dumping = false;
    local_tally_refused(t->tally, t->buf->data, t->buf->len, ack.seq, ack.error);
    if (t->hear->ack != NULL) {
        t->hear->ack(t->hear->arg, &ack);
    }
}

static void hear_message(struct talk *t, const struct nlmsghdr *m)
{
    if (m->nlmsg_seq - t->buf->first_seq >= t->buf->n) {
        return; /* of an earlier talk that was given up */
    }
    if ((m->nlmsg_flags & NLM_F_DUMP_INTR) != 0) {
        t->interrupted = true;
    }
    if (m->nlmsg_type == NLMSG_ERROR || m->nlmsg_type == NLMSG_DONE) {
        hear_ack(t, m);
        return;
    }
    t->dumping = t->dumping || (m->nlmsg_flags & NLM_F_MULTI) != 0;
    if (m->nlmsg_type >= NLMSG_MIN_TYPE && t->hear->message != NULL) {
        t->hear->message(t->hear->arg, m);
    }
}

/* Reads one datagram.  Returns 0, or the errno; EAGAIN when all was read. */
static int read_some(struct local_nl *nl, struct talk *t)
{
    ssize_t n = recv(mnl_socket_get_fd(nl->socket), nl->rx, LOCAL_NL_MESSAGE_MAX, MSG_DONTWAIT);
    if (n < 0) {
        return errno;
    }
    int left = (int)n;
    for (const struct nlmsghdr *m = (const void *)nl->rx; mnl_nlmsg_ok(m, left);
         m = mnl_nlmsg_next(m, &left)) {
        hear_message(t, m);
    }
    return 0;
}

static int lost(struct err *err)
{
    return err_set(err, ERR_TRANSIENT, "the kernel's answers are lost (ENOBUFS)");
}

static int exchange(struct local_nl *nl, struct talk *t, struct err *err)
{
    const struct local_nl_buf *b = t->buf;
    bool overrun = false;
    ssize_t sent;
    do {
        sent = mnl_socket_sendto(nl->socket, b->data, b->len);
    } while (sent < 0 && errno == EINTR);
    int e = sent < 0 ? errno : 0;
    if (e == ENOBUFS) { /* some kernels say it to the sender whose answer found no room */
        overrun = true;
    } else if (e != 0) {
        return err_set(err, e == EMSGSIZE ? ERR_BUG : local_nl_code(e), "netlink: %s", strerror(e));
    }
    for (;;) {
        e = read_some(nl, t);
        if (e == EAGAIN) {
            break;
        }
        overrun = overrun || e == ENOBUFS;
        if (e != 0 && e != EINTR && e != ENOBUFS) {
            return err_set(err, local_nl_code(e), "netlink: %s", strerror(e));
        }
    }
    if (overrun) {
        local_tally_lost(t->tally, b->data, b->len);
        return lost(err);
    }
    if (t->interrupted) {
        return err_set(err, ERR_TRANSIENT, "the kernel's list changed while it was read");
    }
    if (!t->heard_sure || t->dumping) {
        return err_set(err, ERR_TRANSIENT, "the kernel has not answered");
    }
    return ERR_OK;
}

int local_nl_talk(struct local_nl *nl, const struct local_nl_buf *b, uint32_t sure,
                  const struct local_nl_hear *hear, struct err *err)
{
    struct talk t = {.tally = nl->tally, .buf = b, .sure = sure, .hear = hear};
    int64_t began_ns = local_tally_begin(nl->tally);

    local_tally_sent(nl->tally, b->data, b->len);
    int code = exchange(nl, &t, err);
    local_tally_end(nl->tally, began_ns);
    return code;
}

struct ask {
    const struct local_nl_hear *hear;
    int error;
};

static void ask_message(void *arg, const struct nlmsghdr *m)
{
    const struct ask *a = arg;
    if (a->hear != NULL && a->hear->message != NULL) {
        a->hear->message(a->hear->arg, m);
    }
}

static void ask_ack(void *arg, const struct local_nl_ack *ack)
{
    struct ask *a = arg;
    if (a->error == 0) {
        a->error = ack->error;
    }
    if (a->hear != NULL && a->hear->ack != NULL) {
        a->hear->ack(a->hear->arg, ack);
    }
}

int local_nl_ask(struct local_nl *nl, const struct local_nl_buf *b,
                 const struct local_nl_hear *hear, int *ret_errno, struct err *err)
{
    struct ask a = {.hear = hear};
    struct local_nl_hear h = {.message = ask_message, .ack = ask_ack, .arg = &a};
    int code = local_nl_talk(nl, b, b->first_seq + b->n - 1, &h, err);
    if (code == ERR_OK) {
        *ret_errno = a.error;
    }
    return code;
}

int local_nl_code(int error)
{
    switch (error) {
    case EPERM:
    case EACCES:
        return ERR_AUTH;
    case EEXIST:
    case EBUSY:
    case ENOENT:
    case ESRCH:
    case EADDRNOTAVAIL:
        return ERR_CONFLICT;
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
        return ERR_INVALID;
    case ENOBUFS:
    case ENOMEM:
    case ENFILE:
    case EMFILE:
    case EINTR:
    case EAGAIN:
    case ERANGE: /* nf_tables: another program's transaction came between */
    case ENETDOWN:
    case ENODEV:
        return ERR_TRANSIENT;
    default:
        return ERR_BUG;
    }
}

/* --- attributes ------------------------------------------------------------------------------- */

static void keep(const struct nlattr *a, struct local_nl_attrs *ret)
{
    uint16_t type = mnl_attr_get_type(a);
    if (type < LOCAL_NL_ATTRS) {
        ret->at[type] = a;
    }
}

void local_nl_parse(const struct nlmsghdr *m, size_t extra, struct local_nl_attrs *ret)
{
    const struct nlattr *a;
    memset(ret, 0, sizeof(*ret));
    LOCAL_NL_EACH(a, mnl_nlmsg_get_payload_offset(m, extra), mnl_nlmsg_get_payload_tail(m))
    {
        keep(a, ret);
    }
}

void local_nl_parse_nest(const struct nlattr *nest, struct local_nl_attrs *ret)
{
    const struct nlattr *a;
    memset(ret, 0, sizeof(*ret));
    if (nest == NULL) {
        return;
    }
    LOCAL_NL_EACH_IN(a, nest)
    {
        keep(a, ret);
    }
}

uint32_t local_nl_u32(const struct nlattr *a)
{
    uint32_t value = 0;
    if (a != NULL && mnl_attr_get_payload_len(a) >= sizeof(value)) {
        memcpy(&value, mnl_attr_get_payload(a), sizeof(value));
    }
    return value;
}

uint64_t local_nl_u64(const struct nlattr *a)
{
    uint64_t value = 0;
    if (a != NULL && mnl_attr_get_payload_len(a) >= sizeof(value)) {
        memcpy(&value, mnl_attr_get_payload(a), sizeof(value));
    }
    return value;
}

uint32_t local_nl_be32(const struct nlattr *a)
{
    return ntohl(local_nl_u32(a));
}

uint16_t local_nl_be16(const struct nlattr *a)
{
    uint16_t value = 0;
    if (a != NULL && mnl_attr_get_payload_len(a) >= sizeof(value)) {
        memcpy(&value, mnl_attr_get_payload(a), sizeof(value));
    }
    return ntohs(value);
}

uint8_t local_nl_u8(const struct nlattr *a)
{
    return a != NULL && mnl_attr_get_payload_len(a) >= 1 ? *(const uint8_t *)mnl_attr_get_payload(a)
                                                         : 0;
}

bool local_nl_text_is(const struct nlattr *a, const char *text)
{
    if (a == NULL) {
        return false;
    }
    size_t n = mnl_attr_get_payload_len(a), want = strlen(text);
    const char *s = mnl_attr_get_payload(a);
    return n >= want && memcmp(s, text, want) == 0 && (n == want || s[want] == '\0');
}
