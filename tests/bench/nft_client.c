/* SPDX-License-Identifier: Apache-2.0 */
/* nft_client.c: the least that a program can do to send netlink requests: a measure for the
 * provider local.
 *
 *     nft-client RECORDING
 *
 * It sends what another program has sent (nft_record.c), in the same pieces, reads what the kernel
 * answers, and looks whether anything was refused; nothing is built, kept or compared.
 * Prints CPU time in µs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROTOCOLS     32
#define RECEIVE_BYTES (8 << 20)
#define SEND_BYTES    (4 << 20)

static char answers[65536];

static void fail(const char *what)
{
    fprintf(stderr, "nft-client: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* With the sizes that the provider asks for (netlink.c). */
static int open_socket(uint32_t protocol)
{
    struct sockaddr_nl own = {.nl_family = AF_NETLINK};
    int receive = RECEIVE_BYTES, send = SEND_BYTES;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, (int)protocol);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&own, sizeof(own)) != 0) {
        fail("socket");
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive, sizeof(receive)) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive));
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &send, sizeof(send)) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send));
    }
    return fd;
}

/* Returns how many refusals were among them. */
static unsigned hear(int fd)
{
    unsigned refused = 0;

    for (;;) {
        ssize_t n = recv(fd, answers, sizeof(answers), MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            return refused;
        }
        if (n < 0) {
            fail("recv");
        }
        for (size_t at = 0; at + sizeof(struct nlmsghdr) <= (size_t)n;) {
            const struct nlmsghdr *m = (const void *)(answers + at);
            if (m->nlmsg_len < sizeof(*m) || m->nlmsg_len > (size_t)n - at) {
                break;
            }
            const struct nlmsgerr *e = NLMSG_DATA(m);
            refused += m->nlmsg_type == NLMSG_ERROR && e->error != 0;
            at += NLMSG_ALIGN(m->nlmsg_len);
        }
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    int sockets[PROTOCOLS] = {0};
    unsigned sends = 0, refused = 0;
    struct stat st;
    struct rusage spent;
    int in = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

    if (in < 0 || fstat(in, &st) != 0) {
        fail("recording");
    }
    size_t size = (size_t)st.st_size;
    char *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, in, 0);
    if (at == MAP_FAILED) {
        fail("recording");
    }
    for (const char *end = at + size; at < end;) {
        uint32_t head[2];
        memcpy(head, at, sizeof(head));
        at += sizeof(head);
        int *fd = &sockets[head[0] % PROTOCOLS];
        *fd = *fd != 0 ? *fd : open_socket(head[0]);
        if (sendto(*fd, at, head[1], 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0) {
            fail("sendto");
        }
        refused += hear(*fd);
        at += head[1];
        sends++;
    }
    if (getrusage(RUSAGE_SELF, &spent) != 0) {
        fail("getrusage");
    }
    long us = (spent.ru_utime.tv_sec + spent.ru_stime.tv_sec) * 1000000 + spent.ru_utime.tv_usec +
              spent.ru_stime.tv_usec;
    printf("cpu_us=%ld sends=%u refused=%u bytes=%zu\n", us, sends, refused, size);
    return 0;
}
