/* SPDX-License-Identifier: Apache-2.0 */
/* test_credentials_exec.c: plugins that are good, bad, slow and nasty; what they get, what is said
 * of them.
 *
 * Plugins are shell scripts that each test writes.  Times are real where a process
 * must be ended. */
#include "controller/kube/client/credentials_exec.h"
#include "tests/unit/kube/kube_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/kube/client/credentials.h"
#include "tests/support/clock_fake.h"
#include "tests/support/own_process.h"
#include "tests/support/test_ca.h"
#include "tests/support/unit.h"

#define V1 "client.authentication.k8s.io/v1"
#define TOKEN                                                                                      \
    "echo '{\"apiVersion\":\"" V1                                                                  \
    "\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"'\"$T\"'\"}}'\n"

struct bench {
    struct arena *a;
    struct clock *clock;
    char dir[64];
    struct kube_config config;
    struct exec_plugin_args args;
    struct credentials_source *source;
    int calls;
    char last_call[64]; /* "1 plugin_execution_error" */
    int rotations;
    double age_s;
    bool has_cert;
};

static void on_call(void *arg, int code, const char *status)
{
    struct bench *b = arg;
    b->calls++;
    (void)snprintf(b->last_call, sizeof b->last_call, "%d %s", code, status);
}

static void on_certificate(void *arg, bool has, int64_t until_s)
{
    struct bench *b = arg;
    b->has_cert = has;
    assert_int_equal(until_s != 0, has);
}

static void on_rotated(void *arg, double age_s)
{
    struct bench *b = arg;
    b->rotations++;
    b->age_s = age_s;
}

static int setup(void **state)
{
    struct bench *b = xcalloc(1, sizeof *b);
    b->a = arena_new();
    b->clock = clock_fake_new(1000, clock_wall_us(clock_real()));
    (void)snprintf(b->dir, sizeof b->dir, "/tmp/trimtab-exec-XXXXXX");
    b->config = (struct kube_config){.server = "https://api:6443", .credentials_allowed = true};
    b->config.tls.pair = http_pair_new();
    b->args = (struct exec_plugin_args){
        .config = &b->config,
        .api_version = V1,
        .install_hint = "",
        .clock = b->clock,
        .observer = {on_call, on_certificate, on_rotated, b},
    };
    *state = b;
    return mkdtemp(b->dir) == NULL;
}

static void drop(struct bench *b)
{
    credentials_source_free(STEAL(b->source));
    b->config.issuer = NULL;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    static const char *const names[] = {"plugin", "child", "cert", "key"};
    drop(b);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)unlink(arena_printf(b->a, "%s/%s", b->dir, names[i]));
    }
    int rc = rmdir(b->dir);
    http_pair_free(b->config.tls.pair);
    clock_fake_free(b->clock);
    arena_free(b->a);
    free(b);
    return rc;
}

static const char *path_of(struct bench *b, const char *name)
{
    return arena_printf(b->a, "%s/%s", b->dir, name);
}

static void script(struct bench *b, const char *text)
{
    const char *all = arena_printf(b->a, "#!/bin/sh\nDIR=%s\n%s", b->dir, text);
    assert_int_equal(file_write_atomic(path_of(b, "plugin"), all, strlen(all), 0700, NULL), ERR_OK);
    b->args.command = path_of(b, "plugin");
}

/* The token; or "!why". */
static const char *ask(struct bench *b)
{
    const struct credentials_waiter waiter = {0};
    struct kube_credentials creds;
    struct err err = ERR_INIT;
    if (b->source == NULL) {
        b->source = exec_plugin_new(&b->args);
        b->config.issuer = b->source;
    }
    int rc = kube_credentials_wait(&b->config, b->a, 0, &waiter, &creds, &err);
    if (rc == ERR_OK) {
        return str_or(creds.bearer, "");
    }
    assert_int_equal(rc, ERR_AUTH);
    return str_replace(b->a, arena_printf(b->a, "!%s", err.message), b->dir, "DIR");
}

static const char *try_script(struct bench *b, const char *text)
{
    drop(b);
    script(b, text);
    return ask(b);
}

/* --- what a plugin gets ----------------------------------------------------------------------- */

static void exec__arguments__as_they_are(void **state)
{
    struct bench *b = *state;
    static const char *const args[] = {"$(touch x); *", "", "two words"};
    b->args.args = args;
    b->args.n_args = ARRAY_LEN(args);
    assert_string_equal(try_script(b, "T=\"$#|$1|$2|$3\"\n" TOKEN), "3|$(touch x); *||two words");
    assert_string_equal(b->last_call, "0 no_error");
}

static void exec__environment__ours_and_theirs(void **state)
{
    struct bench *b = *state;
    static const struct http_header env[] = {
        {"EXEC_A", "over"}, {"EXEC_C", "first"}, {"EXEC_C", "c"}, {"KUBERNETES_EXEC_INFO", "fake"}};
    setenv("EXEC_A", "own", 1);
    setenv("EXEC_B", "b", 1);
    setenv("KUBERNETES_EXEC_INFO", "stale", 1);
    b->args.env = env;
    b->args.n_env = ARRAY_LEN(env);
    assert_string_equal(
        try_script(b, "T=\"$EXEC_A|$EXEC_B|$EXEC_C|$(env | grep -c ^KUBERNETES_EXEC_INFO=)|$(echo "
                      "\"$KUBERNETES_EXEC_INFO\" | tr -d '\"')\"\n" TOKEN),
        "over|b|c|1|{kind:ExecCredential,apiVersion:" V1 ",spec:{interactive:false}}");
    unsetenv("EXEC_A");
    unsetenv("EXEC_B");
    unsetenv("KUBERNETES_EXEC_INFO");
}

static void exec__cluster_info__what_leads_to_the_server(void **state)
{
    struct bench *b = *state;
    b->args.provide_cluster_info = true;
    assert_string_equal(exec_plugin_info(b->a, &b->args, true),
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                        "\",\"spec\":{\"cluster\":{\"server\":\"https://api:6443\","
                        "\"config\":null},\"interactive\":true}}");
    b->config.tls.server_name = "inner";
    b->config.tls.insecure = true;
    b->config.tls.ca_pem = "baz";
    b->config.proxy_url = "http://proxy:1";
    b->config.disable_compression = true;
    b->args.cluster_extension = "{\"audience\":\"snorlax\"}";
    assert_string_equal(exec_plugin_info(b->a, &b->args, false),
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                        "\",\"spec\":{\"cluster\":{\"server\":\"https://api:6443\","
                        "\"tls-server-name\":\"inner\",\"insecure-skip-tls-verify\":true,"
                        "\"certificate-authority-data\":\"YmF6\",\"proxy-url\":\"http://proxy:1\","
                        "\"disable-compression\":true,\"config\":{\"audience\":\"snorlax\"}},"
                        "\"interactive\":false}}");
}

/* Nothing of ours: no descriptors, no signal mask, no ignored signals, no stdin; and a process
 * group of its own. */
static void exec__process__clean(void **state)
{
    struct bench *b = *state;
    sigset_t set, old;
    int fd = fcntl(2, F_DUPFD, 100);
    assert_true(fd >= 100);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    void (*handler)(int) = signal(SIGUSR2, SIG_IGN);
    b->args.mode = EXEC_IF_AVAILABLE;
    const char *answer = try_script(
        b, arena_printf(b->a,
                        "FD=no; [ -e /proc/$$/fd/%d ] && FD=yes\n"
                        "BLOCKED=$(sed -n 's/^SigBlk:[ \t]*0*//p' /proc/$$/status)\n"
                        "IGNORED=$(sed -n 's/^SigIgn:[ \t]*0*//p' /proc/$$/status)\n"
                        "IN=$(readlink /proc/$$/fd/0)\n"
                        "GROUP=$(cut -d' ' -f5 /proc/$$/stat); [ $GROUP = $$ ] && GROUP=own\n"
                        "[ \"$IGNORED\" = 180000000 ] && IGNORED= # 32 and 33 are libc's own\n"
                        "T=\"$FD|$BLOCKED|$IGNORED|$IN|$GROUP\"\n" TOKEN,
                        fd));
    signal(SIGUSR2, handler);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(fd);
    assert_string_equal(answer, "no|||/dev/null|own");
}

/* --- what is said of it ----------------------------------------------------------------------- */

static void exec__failures__upstream_texts(void **state)
{
    struct bench *b = *state;
    static const struct {
        const char *text;
        const char *want;
        const char *call;
    } rows[] = {
        {"exit 3\n", "exec: executable DIR/plugin failed with exit code 3",
         "3 plugin_execution_error"},
        {"kill -9 $$\n", "exec: executable DIR/plugin failed with exit code -1",
         "-1 plugin_execution_error"},
        {"echo '{}'; exit 1\n", "exec: executable DIR/plugin failed with exit code 1",
         "1 plugin_execution_error"},
        {"echo nothing\n", "decoding stdout: it is no JSON", "0 no_error"},
        {"echo '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":"
         "\"ExecCredential\"}'\n",
         "exec plugin is configured to use API version " V1
         ", plugin returned version client.authentication.k8s.io/v1beta1",
         "0 no_error"},
        {"while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n",
         "exec: DIR/plugin printed more than 1048576 bytes", "1 client_internal_error"},
        {"echo '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":"
         "{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}}'\n",
         "failed parsing client key/certificate: certificate and key are not PEM, or do not belong "
         "together",
         "0 no_error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *want = arena_printf(b->a, "!getting credentials: %s", rows[i].want);
        assert_string_equal(try_script(b, rows[i].text), want);
        assert_string_equal(b->last_call, rows[i].call);
    }
}

/* The hint ten times an hour at most. */
static void exec__not_there__hint_now_and_then(void **state)
{
    if (own_is_valgrind()) {
        print_message("# left out under valgrind\n");
        return;
    }
    struct bench *b = *state;
    b->args.command = "trimtab-no-such-plugin";
    b->args.install_hint = "Get it\nfrom us.";
    for (int i = 0; i < 11; i++) {
        const char *want =
            "!getting credentials: exec: executable trimtab-no-such-plugin not found";
        assert_string_equal(ask(b), i < 10 ? arena_printf(b->a, "%s; Get it from us", want) : want);
        assert_string_equal(b->last_call, "1 plugin_not_found_error");
        clock_fake_advance(b->clock, 30000); /* the longest back-off */
    }
    assert_int_equal(b->calls, 11);
    script(b, "x\n");
    assert_int_equal(chmod(b->args.command, 0600), 0);
    drop(b);
    b->args.install_hint = "";
    assert_string_equal(ask(b), "!getting credentials: exec: executable DIR/plugin not found");
}

static bool no_terminal(int fd)
{
    assert_int_equal(fd, 0);
    return false;
}

static void exec__always_interactive__refused_without_terminal(void **state)
{
    struct bench *b = *state;
    b->args.mode = EXEC_ALWAYS;
    b->args.is_terminal = no_terminal;
    assert_string_equal(try_script(b, TOKEN),
                        "!getting credentials: exec plugin cannot support interactive mode: "
                        "standard input is not a terminal");
    assert_int_equal(b->calls, 0);
}

/* --- time ------------------------------------------------------------------------------------- */

/* True when that process is there and no zombie. */
static bool is_alive(struct bench *b, const char *pid)
{
    char *text = NULL;
    size_t n;
    if (file_read(b->a, arena_printf(b->a, "/proc/%s/status", pid), 65536, &text, &n, NULL) !=
        ERR_OK) {
        return false;
    }
    return strstr(text, "State:\tZ") == NULL;
}

/* True once the plugin has written down which process it started. */
static bool has_child(struct bench *b)
{
    char *pid = NULL;
    size_t n = 0;
    return file_read(b->a, path_of(b, "child"), 64, &pid, &n, NULL) == ERR_OK && n > 0;
}

static void assert_child_gone(struct bench *b)
{
    char *pid = NULL;
    size_t n;
    assert_int_equal(file_read(b->a, path_of(b, "child"), 64, &pid, &n, NULL), ERR_OK);
    pid = str_trim(b->a, pid);
    assert_true(pid[0] != '\0');
    for (int i = 0; i < 60000 && is_alive(b, pid); i++) { /* killed, but not at this very instant */
        (void)poll(NULL, 0, 1);
    }
    assert_false(is_alive(b, pid));
}

static void exec__hangs__ended_with_its_children(void **state)
{
    struct bench *b = *state;
    bool begun = false;
    /* A busy machine may take longer to start it than it is given: then it is given more. */
    for (int s = 1; !begun && s <= 64; s *= 2) {
        b->args.timeout_ms = s * 1000 - 500;
        assert_string_equal(
            try_script(b, "sleep 1000 & echo $! >$DIR/child; printf x; wait\n"),
            arena_printf(b->a, "!getting credentials: exec: DIR/plugin did not end within %d s",
                         s));
        assert_string_equal(b->last_call, "1 client_internal_error");
        begun = has_child(b);
    }
    assert_child_gone(b);
}

/* A plugin that closed its output but keeps running. */
static void exec__output_closed__still_timed(void **state)
{
    struct bench *b = *state;
    b->args.timeout_ms = 300;
    assert_string_equal(try_script(b, "exec >/dev/null 2>&1; sleep 1000\n"),
                        "!getting credentials: exec: DIR/plugin did not end within 1 s");
}

/* A child that keeps the pipe open is not waited for, and does not stay. */
static void exec__leaves_a_child_behind__not_waited_for(void **state)
{
    struct bench *b = *state;
    assert_string_equal(try_script(b, "T=t\nsleep 1000 & echo $! >$DIR/child\n" TOKEN), "t");
    assert_child_gone(b);
}

static void exec__freed_while_it_runs__ended(void **state)
{
    struct bench *b = *state;
    struct kube_credentials creds;
    struct stat st;
    script(b, "sleep 1000 & echo $! >$DIR/child.new; mv $DIR/child.new $DIR/child; wait\n");
    b->source = b->config.issuer = exec_plugin_new(&b->args);
    assert_int_equal(kube_credentials_get(&b->config, b->a, 0, &creds, NULL), ERR_IN_PROGRESS);
    while (stat(path_of(b, "child"), &st) != 0) {
        (void)poll(NULL, 0, 1);
    }
    drop(b);
    assert_child_gone(b);
}

static void exec__ends_in_an_hour__asked_again_30_s_before(void **state)
{
    struct bench *b = *state;
    char until[32];
    struct kube_credentials creds;
    time_format_rfc3339(clock_wall_us(b->clock) + INT64_C(3600000000), until);
    script(b,
           arena_printf(b->a,
                        "N=$(cat $DIR/child 2>/dev/null); N=x$N; echo $N >$DIR/child\n"
                        "echo '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{"
                        "\"expirationTimestamp\":\"%s\",\"token\":\"'$N'\"}}'\n",
                        until));
    assert_string_equal(ask(b), "x");
    clock_fake_advance(b->clock, 3560000);
    assert_string_equal(ask(b), "x");
    clock_fake_advance(b->clock, 10000);
    do { /* never without one */
        assert_int_equal(kube_credentials_get(&b->config, b->a, 0, &creds, NULL), ERR_OK);
    } while (!str_eq(creds.bearer, "xx"));
    assert_int_equal(b->calls, 2);
}

/* --- certificates, secrets -------------------------------------------------------------------- */

static void put(struct bench *b, const char *name, const char *pem)
{
    const char *text = str_replace(b->a, pem, "\n", "\\n");
    assert_int_equal(file_write_atomic(path_of(b, name), text, strlen(text), 0600, NULL), ERR_OK);
}

static void exec__certificate__handed_over_and_replaced(void **state)
{
    struct bench *b = *state;
    struct test_ca *ca = test_ca_new("ca");
    struct test_cert one = test_ca_issue(ca, &(struct test_cert_spec){.cn = "one"});
    struct test_cert two = test_ca_issue(ca, &(struct test_cert_spec){.cn = "two"});
    script(b, "printf '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{"
              "\"clientCertificateData\":\"%s\",\"clientKeyData\":\"%s\"}}' \"$(cat $DIR/cert)\" "
              "\"$(cat $DIR/key)\"\n");
    put(b, "cert", one.cert_pem);
    put(b, "key", one.key_pem);
    assert_string_equal(ask(b), "");
    assert_true(b->has_cert);
    struct kube_credentials used;
    assert_int_equal(kube_credentials_get(&b->config, b->a, 0, &used, NULL), ERR_OK);
    assert_true(kube_credentials_renew(&b->config, b->a, &used)); /* the same one again */
    assert_string_equal(ask(b), "");
    assert_int_equal(b->rotations, 0);
    put(b, "cert", two.cert_pem);
    put(b, "key", two.key_pem);
    clock_fake_advance(b->clock, 10000);
    assert_int_equal(kube_credentials_get(&b->config, b->a, 0, &used, NULL), ERR_OK);
    assert_true(kube_credentials_renew(&b->config, b->a, &used));
    assert_string_equal(ask(b), "");
    assert_int_equal(b->calls, 3);
    assert_int_equal(b->rotations, 1);
    assert_true(b->age_s >= 0 && b->age_s < 7 * 86400);
    test_cert_done(&one);
    test_cert_done(&two);
    test_ca_free(ca);
}

static const char *log_of(struct bench *b, const char *text)
{
    static char log[8192];
    int fd = memfd_create("log", 0);
    assert_true(fd >= 0);
    log_setup(&(struct log_config){.fd = fd, .verbosity = 10});
    (void)try_script(b, text);
    drop(b);
    log_setup(&(struct log_config){.fd = 2});
    ssize_t n = pread(fd, log, sizeof log - 1, 0);
    assert_true(n >= 0);
    log[n] = '\0';
    close(fd);
    return log;
}

static void exec__stderr__logged_unless_secret(void **state)
{
    struct bench *b = *state;
    assert_non_null(strstr(log_of(b, "T=t; echo 'please wait' >&2\n" TOKEN), "please wait"));
    assert_non_null(strstr(log_of(b, "echo 'no session' >&2; exit 1\n"), "no session"));
    static const char *const secrets[] = {
        "T=hunter2hunter2; echo debug: hunter2hunter2 >&2\n" TOKEN,
        "echo '{\"token\": \"hunter2hunter2\"' >&2; exit 1\n",
        "echo 'Authorization: Bearer hunter2hunter2' >&2; exit 1\n",
        "echo hunter2hunter2\n", /* stdout is never quoted */
    };
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        assert_null(strstr(log_of(b, secrets[i]), "hunter2"));
    }
    const char *many = log_of(b, "T=t; i=0; while [ $i -lt 5000 ]; do echo 12345678901234567890 "
                                 ">&2; i=$((i+1)); done\n" TOKEN);
    assert_non_null(strstr(many, "cut=true"));
}

#define EXEC_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(credentials_exec)
{
    const struct CMUnitTest tests[] = {
        EXEC_TEST(exec__arguments__as_they_are),
        EXEC_TEST(exec__environment__ours_and_theirs),
        EXEC_TEST(exec__cluster_info__what_leads_to_the_server),
        EXEC_TEST(exec__process__clean),
        EXEC_TEST(exec__failures__upstream_texts),
        EXEC_TEST(exec__not_there__hint_now_and_then),
        EXEC_TEST(exec__always_interactive__refused_without_terminal),
        EXEC_TEST(exec__hangs__ended_with_its_children),
        EXEC_TEST(exec__output_closed__still_timed),
        EXEC_TEST(exec__leaves_a_child_behind__not_waited_for),
        EXEC_TEST(exec__freed_while_it_runs__ended),
        EXEC_TEST(exec__ends_in_an_hour__asked_again_30_s_before),
        EXEC_TEST(exec__certificate__handed_over_and_replaced),
        EXEC_TEST(exec__stderr__logged_unless_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
