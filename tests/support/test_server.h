/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.h: HTTP servers on loopback for tests, each in a thread of its own.
 *
 * test_server is a real server (common/net/http_server) with a handler of the test's; raw_server
 * hands the test bare sockets, for what no decent server would send.  Ports are free ones.
 * Handlers run in server threads: they must not use cmocka's asserts.  Starting failures abort. */
#ifndef TRIMTAB_TESTS_TEST_SERVER_H
#define TRIMTAB_TESTS_TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/http_server.h"

struct test_server;
struct test_server_config {
    /* NULL: test_server_routes(). */
    void (*handle)(void *arg, struct http_req *req);
    void *arg;
    const char *tls_cert_pem; /* NULL: plain */
    const char *tls_key_pem;
    const char *tls_client_ca_pem;
    size_t max_body;
    size_t max_headers;
};
/* `cfg` may be NULL: plain, with the routes below. */
struct test_server *test_server_start(const struct test_server_config *cfg);
void test_server_stop(struct test_server *s); /* NULL is fine */
uint16_t test_server_port(const struct test_server *s);
/* "http://127.0.0.1:PORT" + path; valid until the server stops. */
const char *test_server_url(struct test_server *s, const char *path);
int test_server_requests(struct test_server *s);    /* seen so far */
int test_server_connections(struct test_server *s); /* distinct clients of these requests */
int test_server_gone(struct test_server *s);        /* clients of /hang and /endless that left */
/* Blocks until `n` requests were seen, or `n` clients have left. */
void test_server_wait_requests(struct test_server *s, int n);
void test_server_wait_gone(struct test_server *s, int n);

/* From a handler: closes the connection in the middle of the answer, once what was given to
 * http_req_chunk() is on its way (http_req_drop() would take it along). */
void test_server_cut(struct test_server *s, struct http_req *req);

/* Routes for tests that bring no handler:
 *   /ok /status/NNN         "ok", or that status with an empty body
 *   /echo                   method, target, headers and body as text lines
 *   /bytes/N                N times 'x'
 *   /stream/N               N chunks "line I\n"
 *   /endless                one chunk, then nothing more
 *   /gzip                   "zipped text" compressed, when the client offers gzip
 *   /hang /drop             no answer; connection closed without one
 *   /to?URL                 307 to the raw query
 *   /see?URL                303 to the raw query
 *   /loop/N                 302 to /loop/N+1, forever */
void test_server_routes(void *arg, struct http_req *req);

struct raw_server;
/* serve() gets each accepted socket in a thread of its own; it is closed afterwards.  `nth` is 0,
 * 1 … */
struct raw_server *raw_server_start(void (*serve)(int fd, int nth, void *arg), void *arg);
/* Reads one request head, sends these bytes, closes; on every connection. */
struct raw_server *raw_server_start_bytes(const void *bytes, size_t n);
void raw_server_stop(struct raw_server *s); /* ends running serve()s by shutting their sockets */
uint16_t raw_server_port(const struct raw_server *s);
const char *raw_server_url(const struct raw_server *s);
int raw_server_connections(struct raw_server *s);

/* For serve(): up to and with the blank line; false when the client left.  `head` is
 * NUL-terminated. */
bool raw_read_head(int fd, char *head, size_t cap);
bool raw_send(int fd, const void *bytes, size_t n); /* false when the client left */
bool raw_send_text(int fd, const char *text);
void raw_wait_closed(int fd); /* until the client closes */
/* Connects to 127.0.0.1:port; aborts when it cannot. */
int raw_connect(uint16_t port);
/* Everything that is received until the other side closes; NUL-terminated, free() it. */
char *raw_read_all(int fd, size_t *ret_n);

#endif
