/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_process.c: see metrics_process.h.
 *
 * Reads /proc/self at each scrape, as Prometheus' own collector does, so that the figures
 * mean the same. */
#include "controller/metrics/metrics_process.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"

#define STAT_MAX    4096
#define NETSTAT_MAX 65536
/* /proc/stat has a line per CPU and a long one of interrupts */
#define BOOT_MAX ((size_t)4 << 20)

/* Of /proc/self/stat, by proc(5)'s numbers; what stands behind the name in parentheses
 * begins with 3. */
enum { STAT_FIRST = 3, STAT_UTIME = 14, STAT_STIME = 15, STAT_START = 22, STAT_VSIZE = 23 };
enum { STAT_RSS = 24, STAT_LAST = 24 };

struct proc_stat {
    double values[STAT_LAST + 1]; /* by number */
};

static bool read_text(struct arena *a, const char *path, size_t most, char **ret)
{
    size_t n = 0;

    return file_read(a, path, most, ret, &n, NULL) == 0;
}

static bool read_stat(struct arena *a, struct proc_stat *ret)
{
    char *text = NULL;

    if (!read_text(a, "/proc/self/stat", STAT_MAX, &text)) {
        return false;
    }
    char *at = strrchr(text, ')');
    char *save = NULL;
    char *word = at == NULL ? NULL : strtok_r(at + 1, " ", &save);
    int i = STAT_FIRST;
    for (; word != NULL && i <= STAT_LAST; i++) {
        ret->values[i] = strtod(word, NULL);
        word = strtok_r(NULL, " ", &save);
    }
    return i > STAT_LAST;
}

/* When the machine was started, in seconds since 1970. */
static bool read_boot(struct arena *a, double *ret)
{
    char *text = NULL;

    if (!read_text(a, "/proc/stat", BOOT_MAX, &text)) {
        return false;
    }
    const char *at = strstr(text, "\nbtime ");
    if (at == NULL) {
        return false;
    }
    *ret = strtod(at + strlen("\nbtime "), NULL);
    return true;
}

static bool read_started(struct arena *a, double *ret_s)
{
    struct proc_stat st;
    double boot = 0;

    if (!read_stat(a, &st) || !read_boot(a, &boot)) {
        return false;
    }
    *ret_s = boot + st.values[STAT_START] / (double)sysconf(_SC_CLK_TCK);
    return true;
}

int64_t process_started_us(void)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    double s = 0;

    return read_started(a, &s) ? (int64_t)(s * 1e6) : 0;
}

/* ---- at each scrape -------------------------------------------------------------------------- */

static void collect_stat(struct arena *a, struct metrics *m)
{
    double ticks = (double)sysconf(_SC_CLK_TCK);
    struct proc_stat st;

    if (!read_stat(a, &st)) {
        return;
    }
    metrics_raise(m, METRIC_CPU, NULL, 0, (st.values[STAT_UTIME] + st.values[STAT_STIME]) / ticks);
    metrics_set(m, METRIC_VM, NULL, 0, st.values[STAT_VSIZE]);
    metrics_set(m, METRIC_RSS, NULL, 0, st.values[STAT_RSS] * (double)sysconf(_SC_PAGESIZE));
}

static void collect_limit(struct metrics *m, const char *metric, __rlimit_resource_t what)
{
    struct rlimit limit;

    if (getrlimit(what, &limit) == 0) {
        metrics_set(m, metric, NULL, 0,
                    (double)limit.rlim_cur); /* none is 2⁶⁴, as upstream has it */
    }
}

static void collect_fds(struct metrics *m)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    if (d == NULL) {
        return;
    }
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    closedir(d);
    metrics_set(m, METRIC_OPEN_FDS, NULL, 0, (double)n);
}

/* A value of a block of two lines: names behind "IpExt:", values behind the second "IpExt:". */
static bool netstat_value(const char *names, const char *values, const char *name, double *ret)
{
    while (*names != '\0' && *names != '\n' && *values != '\0' && *values != '\n') {
        size_t n_name = strcspn(names, " \n");
        size_t n_value = strcspn(values, " \n");
        if (n_name == strlen(name) && strncmp(names, name, n_name) == 0) {
            *ret = strtod(values, NULL);
            return true;
        }
        names += n_name + (names[n_name] == ' ');
        values += n_value + (values[n_value] == ' ');
    }
    return false;
}

static void collect_network(struct arena *a, struct metrics *m)
{
    char *text = NULL;
    double v = 0;

    if (!read_text(a, "/proc/self/net/netstat", NETSTAT_MAX, &text)) {
        return;
    }
    const char *names = strstr(text, "IpExt: ");
    const char *values = names == NULL ? NULL : strstr(names + 1, "\nIpExt: ");
    if (values == NULL) {
        return;
    }
    values += 1;
    if (netstat_value(names, values, "InOctets", &v)) {
        metrics_raise(m, METRIC_NET_IN, NULL, 0, v);
    }
    if (netstat_value(names, values, "OutOctets", &v)) {
        metrics_raise(m, METRIC_NET_OUT, NULL, 0, v);
    }
}

static void collect(void *arg, struct metrics *m)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();

    (void)arg;
    collect_stat(a, m);
    collect_limit(m, METRIC_MAX_FDS, RLIMIT_NOFILE);
    collect_limit(m, METRIC_VM_MAX, RLIMIT_AS);
    collect_fds(m);
    collect_network(a, m);
    metrics_raise(m, METRIC_LOG_LOST, NULL, 0, (double)log_lost());
}

/* ---- once ------------------------------------------------------------------------------------ */

static void set_build_info(struct metrics *m)
{
    struct utsname u;
    char platform[80] = "linux/unknown";

    if (uname(&u) == 0) {
        (void)snprintf(platform, sizeof(platform), "linux/%.60s",
                       strcmp(u.machine, "x86_64") == 0    ? "amd64"
                       : strcmp(u.machine, "aarch64") == 0 ? "arm64"
                                                           : u.machine);
    }
    const struct tt_kv labels[] = {
        {"major", "1"},
        {"minor", "36"},
        {"git_version", "v1.36.2+trimtab-" TRIMTAB_VERSION},
#ifdef __clang__
        {"compiler", "clang"},
#else
        {"compiler", "gcc"},
#endif
        {"platform", platform},
    };
    metrics_set(m, METRIC_BUILD_INFO, labels, ARRAY_LEN(labels), 1);
}

static void set_features(struct metrics *m, const struct options *o)
{
    size_t n = 0;
    const struct option_gate *gates = options_gates(&n);

    for (size_t i = 0; i < n; i++) {
        const struct tt_kv labels[] = {{"name", gates[i].name}, {"stage", gates[i].stage}};
        metrics_set(m, METRIC_FEATURES, labels, ARRAY_LEN(labels),
                    options_gate_on(o, &gates[i]) ? 1 : 0);
    }
}

void metrics_add_process(struct metrics *m, const struct options *o)
{
    double started = (double)process_started_us() / 1e6;

    if (started > 0) {
        metrics_set(m, METRIC_STARTED, NULL, 0, started);
    }
    metrics_set(m, METRIC_EXEC_TTL, NULL, 0, (double)INFINITY); /* no certificate yet */
    set_build_info(m);
    set_features(m, o);
    metrics_add_collector(m, collect, NULL);
}
