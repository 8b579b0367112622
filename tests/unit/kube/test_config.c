/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c: kubeconfig files, KUBECONFIG lists, in-cluster files: what comes out, and
 * upstream's error texts.
 *
 * Source: controller.md §4.1 to 4.3, vectors 198, 200 and 201. */
#include "controller/kube/client/config.h"
#include "tests/unit/kube/kube_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/str.h"
#include "controller/kube/client/credentials.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

/* A folder of the test's own; its files are removed with it. */
struct folder {
    struct arena *a;
    char *path;
    struct clock *clock;
    const char *env[8][2];
};

static const char *const file_names[] = {"kc",      "kc2",   "ca.pem",    "cert.pem",
                                         "key.pem", "token", "namespace", "ca.crt"};

static int setup(void **state)
{
    struct folder *f = xcalloc(1, sizeof *f);
    f->a = arena_new();
    f->path = arena_strdup(f->a, "/tmp/trimtab-config-XXXXXX");
    f->clock = clock_fake_new(1000, 0);
    *state = f;
    return mkdtemp(f->path) == NULL;
}

static int teardown(void **state)
{
    struct folder *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(file_names); i++) {
        (void)unlink(arena_printf(f->a, "%s/%s", f->path, file_names[i]));
    }
    int rc = rmdir(f->path);
    clock_fake_free(f->clock);
    arena_free(f->a);
    free(f);
    return rc;
}

static char *write_file(struct folder *f, const char *name, const char *text)
{
    char *path = arena_printf(f->a, "%s/%s", f->path, name);
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), ERR_OK);
    return path;
}

static const char *fake_env(const char *name, void *arg)
{
    struct folder *f = arg;
    for (size_t i = 0; i < ARRAY_LEN(f->env) && f->env[i][0] != NULL; i++) {
        if (strcmp(f->env[i][0], name) == 0) {
            return f->env[i][1];
        }
    }
    return NULL;
}

static struct kube_config_args args_of(struct folder *f, const char *kubeconfig)
{
    return (struct kube_config_args){
        .kubeconfig = kubeconfig, .env = fake_env, .env_arg = f, .clock = f->clock};
}

/* Loads; a failure fails the test. */
static struct kube_config *load(const struct kube_config_args *args)
{
    struct kube_config *c = NULL;
    struct err err = ERR_INIT;
    if (kube_config_load(args, &c, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return c;
}

static struct kube_config *load_text(struct folder *f, const char *text)
{
    struct kube_config_args args = args_of(f, write_file(f, "kc", text));
    return load(&args);
}

static const char *error_of(struct folder *f, const struct kube_config_args *args)
{
    struct kube_config *c = (void *)1;
    struct err err = ERR_INIT;
    int rc = kube_config_load(args, &c, &err);
    if (rc == ERR_OK) {
        kube_config_free(c);
        return "";
    }
    assert_ptr_equal(c, (void *)1);
    return str_replace(f->a, err.message, f->path, "DIR");
}

#define HEAD "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
/* The first lines of a certificate and a key, which is all that is checked. */
#define PEM_CERT "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"
#define PEM_KEY  "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t"
#define CONTEXT  "contexts: [{name: c, context: {cluster: k, user: u, namespace: ns1}}]\n"

/* --- what comes out --------------------------------------------------------------------------- */

static void kube_config_load__whole_file__every_field(void **state)
{
    struct folder *f = *state;
    write_file(f, "ca.pem", "-----BEGIN CERTIFICATE-----\n");
    write_file(f, "cert.pem", "-----BEGIN CERTIFICATE-----\n");
    write_file(f, "key.pem", "-----BEGIN RSA PRIVATE KEY-----\n");
    write_file(f, "token", " tok\n");
    struct kube_config *c = load_text(
        f, HEAD CONTEXT
        "preferences: {colors: true}\nextensions: []\nsomething-new: 5\n"
        "clusters:\n- name: k\n  cluster:\n    server: https://API.example:6443/prefix/\n"
        "    certificate-authority: ca.pem\n    tls-server-name: inner.example\n"
        "    proxy-url: socks5://127.0.0.1:1080\n    disable-compression: true\n"
        "users:\n- name: u\n  user:\n    client-certificate: ./cert.pem\n    client-key: key.pem\n"
        "    tokenFile: token\n    as: boss\n    as-uid: '7'\n    as-groups: [g1, g2]\n"
        "    as-user-extra: {Scopes/A: [x, 'y']}\n");
    assert_string_equal(c->server, "https://api.example:6443/prefix");
    assert_string_equal(c->context, "c");
    assert_string_equal(c->user, "u");
    assert_string_equal(c->ns, "ns1");
    assert_true(str_has_suffix(c->source, "/kc"));
    assert_non_null(c->tls.ca_file);
    assert_null(c->tls.ca_pem);
    assert_non_null(c->tls.cert_file);
    assert_non_null(c->tls.key_file);
    assert_string_equal(c->tls.server_name, "inner.example");
    assert_false(c->tls.insecure);
    assert_string_equal(c->proxy_url, "socks5://127.0.0.1:1080");
    assert_true(c->disable_compression);
    assert_true(c->credentials_allowed);
    struct kube_credentials creds;
    assert_int_equal(kube_credentials_get(c, f->a, 0, &creds, NULL), ERR_OK);
    assert_string_equal(creds.bearer, "tok");
    const char *const want[][2] = {
        {"Accept", "application/json, */*"},
        {"Impersonate-User", "boss"},
        {"Impersonate-Uid", "7"},
        {"Impersonate-Group", "g1"},
        {"Impersonate-Group", "g2"},
        {"Impersonate-Extra-scopes%2Fa", "x"},
        {"Impersonate-Extra-scopes%2Fa", "y"},
    };
    assert_int_equal(creds.n_headers, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_string_equal(creds.headers[i].name, want[i][0]);
        assert_string_equal(creds.headers[i].value, want[i][1]);
    }
    kube_config_free(c);
}

static void kube_config_load__data_forms__decoded(void **state)
{
    struct folder *f = *state;
    struct kube_config *c = load_text(
        f, HEAD CONTEXT
        "clusters: [{name: k, cluster: {server: 'https://a', certificate-authority-data: " PEM_CERT
        "}}]\n"
        "users: [{name: u, user: {client-certificate-data: "
        "\"LS0tLS1CRUdJTiB\\nDRVJUSUZJQ0FURS0tLS0t\", "
        "client-key-data: " PEM_KEY "}}]\n");
    assert_string_equal(c->tls.ca_pem, "-----BEGIN CERTIFICATE-----");
    assert_string_equal(c->tls.cert_pem, "-----BEGIN CERTIFICATE-----");
    assert_string_equal(c->tls.key_pem, "-----BEGIN PRIVATE KEY-----");
    assert_null(c->tls.ca_file);
    kube_config_free(c);
}

static void kube_config_load__json__is_yaml(void **state)
{
    struct kube_config *c = load_text(
        *state, "{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":"
                "\"k\",\"user\":\"u\"}}],\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":"
                "\"https://a:1\"}}],\"users\":[{\"name\":\"u\",\"user\":{\"username\":\"joe\","
                "\"password\":\"secret\"}}]}");
    struct kube_credentials creds;
    assert_string_equal(c->ns, "default");
    assert_int_equal(kube_credentials_get(c, ((struct folder *)*state)->a, 0, &creds, NULL),
                     ERR_OK);
    assert_null(creds.bearer);
    assert_string_equal(creds.headers[1].name, "Authorization");
    assert_string_equal(creds.headers[1].value, "Basic am9lOnNlY3JldA==");
    kube_config_free(c);
}

/* 201 and its neighbours: scheme, slash, path, credentials over TLS only. */
static void kube_config_load__servers__normalised(void **state)
{
    const struct {
        const char *cluster;
        const char *server;
        bool credentials;
    } rows[] = {
        {"{server: '10.0.0.1:6443', certificate-authority-data: " PEM_CERT "}",
         "https://10.0.0.1:6443", true},
        {"{server: '10.0.0.1:6443'}", "http://10.0.0.1:6443", false},
        {"{server: '10.0.0.1:6443', insecure-skip-tls-verify: true}", "https://10.0.0.1:6443",
         true},
        {"{server: 'http://a/'}", "http://a", false},
        {"{server: 'https://[::1]:443//'}", "https://[::1]:443", true},
        {"{server: 'https://a/b/c'}", "https://a/b/c", true},
    };
    struct folder *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_config *c =
            load_text(f, arena_printf(f->a,
                                      HEAD CONTEXT "clusters: [{name: k, cluster: %s}]\n"
                                                   "users: [{name: u, user: {token: t}}]\n",
                                      rows[i].cluster));
        struct kube_credentials creds;
        assert_string_equal(c->server, rows[i].server);
        assert_int_equal(c->credentials_allowed, rows[i].credentials);
        assert_int_equal(kube_credentials_get(c, f->a, 0, &creds, NULL), ERR_OK);
        assert_int_equal(creds.bearer != NULL, rows[i].credentials);
        kube_config_free(c);
    }
}

static void kube_config_load__master__overrides_the_server(void **state)
{
    struct folder *f = *state;
    struct kube_config_args args = args_of(
        f, write_file(f, "kc",
                      HEAD CONTEXT
                      "clusters: [{name: k, cluster: {server: 'https://a', tls-server-name: x}}]\n"
                      "users: [{name: u, user: {token: t}}]\n"));
    args.master = "https://b:1";
    struct kube_config *c = load(&args);
    assert_string_equal(c->server, "https://b:1");
    assert_null(c->tls.server_name);
    assert_string_equal(c->token, "t");
    kube_config_free(c);
    args.kubeconfig = NULL;
    c = load(&args);
    assert_string_equal(c->server, "https://b:1");
    assert_null(c->token);
    kube_config_free(c);
}

/* --- what is refused -------------------------------------------------------------------------- */

#define CLUSTERS      "clusters: [{name: k, cluster: {server: 'https://a'}}]\n"
#define USERS         "users: [{name: u, user: {token: t}}]\n"
#define USER(text)    HEAD CONTEXT CLUSTERS "users: [{name: u, user: {" text "}}]\n"
#define CLUSTER(text) HEAD CONTEXT USERS "clusters: [{name: k, cluster: {" text "}}]\n"
#define BAD           "invalid configuration: "
#define V1            "client.authentication.k8s.io/v1"
#define BETA          "client.authentication.k8s.io/v1beta1"

struct refusal {
    const char *text;
    const char *want;
};

static void check_refusals(struct folder *f, const struct refusal *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct kube_config_args args = args_of(f, write_file(f, "kc", rows[i].text));
        assert_string_equal(error_of(f, &args), rows[i].want);
    }
}

static void kube_config_load__broken_files_and_contexts__upstream_texts(void **state)
{
    static const struct refusal rows[] = {
        {"", BAD "no configuration has been provided"},
        {"# nothing\n", BAD "no configuration has been provided"},
        {"apiVersion: v2\n",
         "error loading config file \"DIR/kc\": no kind \"Config\" is registered for "
         "version \"v2\"; want Config of v1"},
        {"kind: Pod\n",
         "error loading config file \"DIR/kc\": no kind \"Pod\" is registered for version "
         "\"v1\"; want Config of v1"},
        {"- a\n", "error loading config file \"DIR/kc\": want an object, got an array"},
        {"clusters: x\n",
         "error loading config file \"DIR/kc\": clusters: want an array of objects, got \"x\""},
        {"clusters: [{name: k, cluster: {server: 5}}]\n",
         "error loading config file \"DIR/kc\": clusters[0].server: want a string, got 5"},
        {"clusters: [{name: k, cluster: {insecure-skip-tls-verify: 'no'}}]\n",
         "error loading config file \"DIR/kc\": clusters[0].insecure-skip-tls-verify: want true or "
         "false, got \"no\""},
        {"users: [{name: u}, {name: u}]\n",
         "error loading config file \"DIR/kc\": users: duplicate name \"u\" in list"},
        {CONTEXT CLUSTERS USERS, BAD "current-context is not set; contexts: c"},
        {HEAD, BAD "context was not found for specified context: c"},
        {HEAD "contexts: [{name: c, context: {cluster: k}}]\n" CLUSTERS,
         BAD "user was not specified for context \"c\""},
        {HEAD CONTEXT CLUSTERS, BAD "user \"u\" was not found for context \"c\""},
        {HEAD CONTEXT USERS, BAD "cluster \"k\" was not found for context \"c\""},
        {HEAD "contexts: [{name: c, context: {user: u}}]\n" USERS,
         BAD "cluster was not specified for context \"c\""},
    };
    check_refusals(*state, rows, ARRAY_LEN(rows));
}

static void kube_config_load__bad_clusters_and_users__upstream_texts(void **state)
{
    static const struct refusal rows[] = {
        {CLUSTER(""), BAD "no server found for cluster \"k\""},
        {CLUSTER("server: 'ftp://a'"), BAD "server \"ftp://a\": want scheme http or https"},
        {CLUSTER(
             "server: 'https://a', certificate-authority: x, certificate-authority-data: " PEM_CERT
             ""),
         BAD "certificate-authority-data and certificate-authority are both specified for k. "
             "certificate-authority-data will override"},
        {CLUSTER("server: 'https://a', certificate-authority: gone.pem"),
         BAD "unable to read certificate-authority DIR/gone.pem for k due to stat DIR/gone.pem: no "
             "such "
             "file or directory"},
        {CLUSTER("server: 'https://a', certificate-authority-data: Q0E="),
         BAD "certificate-authority-data for k holds no CERTIFICATE in PEM"},
        {CLUSTER("server: 'https://a', certificate-authority: kc"),
         BAD "certificate-authority DIR/kc for k holds no CERTIFICATE in PEM"},
        {USER("client-certificate-data: " PEM_CERT ", client-key-data: " PEM_CERT),
         BAD "client-key-data for u holds no PRIVATE KEY in PEM"},
        {CLUSTER("server: 'https://a', certificate-authority-data: '!!'"),
         BAD "certificate-authority-data for k is not base64"},
        {CLUSTER("server: 'https://a', certificate-authority-data: " PEM_CERT
                 ", insecure-skip-tls-verify: "
                 "true"),
         BAD "specifying a root certificates file with the insecure flag is not allowed"},
        {CLUSTER("server: 'https://a', proxy-url: 'gopher://x'"),
         BAD "invalid 'proxy-url' \"gopher://x\" for cluster \"k\": want a URL with scheme http, "
             "https or "
             "socks5"},
        {USER("token: t, username: j, password: p"), BAD
         "more than one authentication method found for u; found [token basicAuth], only one is "
         "allowed"},
        {USER("client-certificate-data: " PEM_CERT ""),
         BAD "client-key-data or client-key must be specified for u to use the clientCert "
             "authentication "
             "method"},
        {USER("client-certificate-data: " PEM_CERT
              ", client-certificate: x, client-key-data: " PEM_KEY ""),
         BAD "client-cert-data and client-cert are both specified for u. client-cert-data will "
             "override"},
        {USER("client-certificate-data: " PEM_CERT ", client-key-data: " PEM_KEY ", client-key: x"),
         BAD
         "client-key-data and client-key are both specified for u; client-key-data will override"},
        {USER("client-certificate: gone.pem, client-key-data: " PEM_KEY ""), BAD
         "unable to read client-cert DIR/gone.pem for u due to stat DIR/gone.pem: no such file or "
         "directory"},
        {USER("tokenFile: gone"), BAD
         "unable to read tokenFile DIR/gone for u due to stat DIR/gone: no such file or directory"},
        {USER("as-groups: [g]"),
         BAD "requesting uid, groups or user-extra for u without impersonating a user"},
        {USER("as-user-extra: {a: [b]}"),
         BAD "requesting uid, groups or user-extra for u without impersonating a user"},
        {USER("as: b, as-user-extra: {a: x}"), BAD "as-user-extra.a is no list"},
        {USER("token: \"a\\tb\""), BAD "token has a control byte"},
        {USER("auth-provider: {name: gcp}"), BAD "auth-provider \"gcp\" of user \"u\" is not "
                                                 "supported; use a token, a tokenFile or a client "
                                                 "certificate"},
        {USER("auth-provider: {name: gcp}, exec: {command: x, apiVersion: " BETA "}"),
         BAD "authProvider cannot be provided in combination with an exec plugin for u"},
        {HEAD CONTEXT "clusters: [{name: k, cluster: {}}]\nusers: [{name: u, user: {as-uid: x}}]\n",
         BAD
         "requesting uid, groups or user-extra for u without impersonating a user; no server found "
         "for cluster \"k\""},
    };
    check_refusals(*state, rows, ARRAY_LEN(rows));
}

static void kube_config_load__bad_plugins__upstream_texts(void **state)
{
    static const struct refusal rows[] = {
        {USER("exec: {apiVersion: " BETA "}"),
         BAD "command must be specified for u to use exec authentication plugin"},
        {USER("exec: {command: x, interactiveMode: Never}"),
         BAD "apiVersion must be specified for u to use exec authentication plugin"},
        {USER("exec: {command: x, interactiveMode: Never, apiVersion: "
              "client.authentication.k8s.io/v1alpha1}"),
         BAD "exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\"; want " V1
             " or " BETA},
        {USER("exec: {command: x, apiVersion: " V1 "}"),
         BAD "interactiveMode must be specified for u to use exec authentication plugin"},
        {USER("exec: {command: x, apiVersion: " V1 ", interactiveMode: Sometimes}"),
         BAD "invalid interactiveMode for u: \"Sometimes\""},
        {USER("exec: {command: x, apiVersion: " BETA ", env: [{name: '', value: val}]}"),
         BAD "env variable name must be specified for u to use exec authentication plugin"},
        {USER("exec: {command: x, apiVersion: " BETA ", env: [{name: a=b, value: val}]}"),
         BAD "env variable name \"a=b\" of the exec plugin of u has a '='"},
        {USER("exec: {command: x, args: say, apiVersion: " BETA "}"),
         "error loading config file \"DIR/kc\": users[0].exec.args: want an array of strings, got "
         "\"say\""},
    };
    check_refusals(*state, rows, ARRAY_LEN(rows));
}

static void kube_config_load__no_file__upstream_texts(void **state)
{
    struct folder *f = *state;
    struct kube_config_args args = args_of(f, arena_printf(f->a, "%s/none", f->path));
    assert_string_equal(error_of(f, &args), "stat DIR/none: no such file or directory");
    args.kubeconfig = f->path;
    assert_non_null(strstr(error_of(f, &args), "DIR"));
    args.kubeconfig = NULL;
    assert_string_equal(error_of(f, &args),
                        BAD "no configuration has been provided (unable to load in-cluster "
                            "configuration, KUBERNETES_SERVICE_HOST "
                            "and KUBERNETES_SERVICE_PORT must be defined)");
    args.use_environment = true; /* neither KUBECONFIG nor HOME */
    assert_non_null(strstr(error_of(f, &args), "no configuration has been provided"));
}

static void kube_config_load__other_context__by_name(void **state)
{
    struct folder *f = *state;
    struct kube_config_args args = args_of(
        f, write_file(f, "kc",
                      HEAD "contexts: [{name: c, context: {cluster: k, user: u}}, {name: d, "
                           "context: {cluster: k2, user: u}}]\n"
                           "clusters: [{name: k, cluster: {server: 'https://a'}}, {name: k2, "
                           "cluster: {server: 'https://b'}}]\n" USERS));
    args.context = "d";
    struct kube_config *c = load(&args);
    assert_string_equal(c->server, "https://b");
    kube_config_free(c);
    args.context = "e";
    assert_string_equal(error_of(f, &args), BAD "context was not found for specified context: e");
}

/* --- several files ---------------------------------------------------------------------------- */

/* 200: of maps the first file wins, of scalars the first that is not empty; relative paths go by
 * their own file. */
static void kube_config_load__v200_kubeconfig_list__merged(void **state)
{
    struct folder *f = *state;
    write_file(f, "ca.pem", "-----BEGIN CERTIFICATE-----\n");
    const char *one = write_file(f, "kc", "users: [{name: u, user: {token: a}}]\n");
    const char *two = write_file(
        f, "kc2",
        "current-context: c2\nusers: [{name: u, user: {token: b}}]\n"
        "contexts: [{name: c2, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://a', certificate-authority: ca.pem}}]\n");
    f->env[0][0] = "KUBECONFIG";
    f->env[0][1] = arena_printf(f->a, "%s::%s/none:%s:%s", one, f->path, two, one);
    struct kube_config_args args = args_of(f, NULL);
    args.use_environment = true;
    struct kube_config *c = load(&args);
    assert_string_equal(c->token, "a");
    assert_string_equal(c->context, "c2");
    assert_non_null(c->tls.ca_file);
    kube_config_free(c);
    write_file(f, "kc", "clusters: [");
    assert_true(str_has_prefix(error_of(f, &args), "error loading config file \"DIR/kc\": line "));
}

/* --- in a pod --------------------------------------------------------------------------------- */

static struct kube_config_args pod_args(struct folder *f)
{
    struct kube_config_args args = args_of(f, NULL);
    args.in_cluster_dir = f->path;
    f->env[0][0] = "KUBERNETES_SERVICE_HOST";
    f->env[0][1] = "10.0.0.1";
    f->env[1][0] = "KUBERNETES_SERVICE_PORT";
    f->env[1][1] = "443";
    return args;
}

static void kube_config_load__in_cluster__files_of_the_pod(void **state)
{
    struct folder *f = *state;
    struct kube_config_args args = pod_args(f);
    assert_string_equal(error_of(f, &args), "stat DIR/token: no such file or directory");
    write_file(f, "token", " \n");
    assert_string_equal(error_of(f, &args), "read empty token from file \"DIR/token\"");
    write_file(f, "token", "t1\n");
    struct kube_config *c = load(&args); /* without ca.crt: the system's roots */
    assert_null(c->tls.ca_file);
    assert_string_equal(c->server, "https://10.0.0.1:443");
    assert_string_equal(c->ns, "default");
    assert_string_equal(c->context, "");
    kube_config_free(c);
    write_file(f, "ca.crt", "CA");
    write_file(f, "namespace", "kube-system\n");
    f->env[0][1] = "fd00::1";
    c = load(&args);
    assert_non_null(c->tls.ca_file);
    assert_string_equal(c->server, "https://[fd00::1]:443");
    assert_string_equal(c->ns, "kube-system");
    kube_config_free(c);
    f->env[2][0] = "POD_NAMESPACE";
    f->env[2][1] = "mine";
    c = load(&args);
    assert_string_equal(c->ns, "mine");
    kube_config_free(c);
}

static const char *token_now(struct folder *f, const struct kube_config *c)
{
    struct kube_credentials creds;
    assert_int_equal(kube_credentials_get(c, f->a, 0, &creds, NULL), ERR_OK);
    return creds.bearer;
}

/* 198: read again after 50 s; and at once after a 401. */
static void kube_credentials__v198_token_file__read_again_after_50_s(void **state)
{
    struct folder *f = *state;
    struct kube_config_args args = pod_args(f);
    write_file(f, "token", "old");
    struct kube_config *c = load(&args);
    assert_string_equal(token_now(f, c), "old");
    write_file(f, "token", "new");
    clock_fake_advance(f->clock, 49000);
    assert_string_equal(token_now(f, c), "old");
    clock_fake_advance(f->clock, 2000);
    assert_string_equal(token_now(f, c), "new");
    write_file(f, "token", "newer");
    assert_true(kube_credentials_renew(c, f->a, &(struct kube_credentials){.bearer = "new"}));
    assert_string_equal(token_now(f, c), "newer");
    assert_false(kube_credentials_renew(c, f->a, &(struct kube_credentials){.bearer = "newer"}));
    (void)unlink(arena_printf(f->a, "%s/token", f->path));
    clock_fake_advance(f->clock, 60000);
    assert_string_equal(token_now(f, c), "newer"); /* the last good one */
    kube_config_free(c);
}

static void kube_credentials__token_file_gone__fixed_token_stands_in(void **state)
{
    struct folder *f = *state;
    write_file(f, "token", "filed");
    struct kube_config *c = load_text(f, USER("token: fixed, tokenFile: token"));
    (void)unlink(arena_printf(f->a, "%s/token", f->path));
    assert_string_equal(token_now(f, c), "fixed");
    write_file(f, "token", "filed");
    clock_fake_advance(f->clock, 60000);
    assert_string_equal(token_now(f, c), "filed");
    kube_config_free(c);
}

/* --- plugins ---------------------------------------------------------------------------------- */

/* A command with a '/' belongs to its file's folder; the cluster's extension goes to the plugin. */
static void kube_config_load__exec__plugin_of_the_files_folder(void **state)
{
    struct folder *f = *state;
    const struct credentials_waiter waiter = {0};
    struct kube_credentials creds;
    struct err err = ERR_INIT;
    char *path = write_file(f, "token",
                            "#!/bin/sh\nT=$(echo \"$1 $WHO $KUBERNETES_EXEC_INFO\" | tr '\"' _)\n"
                            "echo '{\"apiVersion\":\"" BETA "\",\"kind\":\"ExecCredential\","
                            "\"status\":{\"token\":\"'$T'\"}}'\n");
    assert_int_equal(chmod(path, 0700), 0);
    struct kube_config *c =
        load_text(f, HEAD CONTEXT
                  "clusters: [{name: k, cluster: {server: 'https://a', extensions: ["
                  "{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, "
                  "extension: {x: [1]}}]}}]\n"
                  "users: [{name: u, user: {exec: {command: ./token, args: [say], env: "
                  "[{name: WHO, value: me}], apiVersion: " BETA ", provideClusterInfo: true}}}]\n");
    int rc = kube_credentials_wait(c, f->a, 0, &waiter, &creds, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, ERR_OK);
    assert_string_equal(creds.bearer, "say me {_kind_:_ExecCredential_,_apiVersion_:_" BETA
                                      "_,_spec_:{_cluster_:{_server_:_https://a_,_config_:{_x_:["
                                      "1]}},_interactive_:false}}");
    kube_config_free(c);
}

/* §4.4: not for those who say otherwise who they are, and never for servers without TLS. */
static void kube_config_load__exec_needless__not_run(void **state)
{
    static const char *const users[] = {
        "token: t, ",
        "username: j, password: p, ",
        "client-certificate-data: " PEM_CERT ", client-key-data: " PEM_KEY ", ",
        "tokenFile: token, ",
    };
    struct folder *f = *state;
    struct kube_credentials creds;
    write_file(f, "token", "filed");
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        struct kube_config *c = load_text(
            f, arena_printf(f->a,
                            HEAD CONTEXT CLUSTERS "users: [{name: u, user: {%sexec: {command: "
                                                  "/nonexistent, apiVersion: " BETA "}}}]\n",
                            users[i]));
        assert_null(c->issuer);
        assert_null(c->tls.pair);
        kube_config_free(c);
    }
    struct kube_config *c = load_text(
        f, HEAD CONTEXT "clusters: [{name: k, cluster: {server: 'http://a'}}]\nusers: [{name: u, "
                        "user: {exec: {command: /nonexistent, apiVersion: " BETA "}}}]\n");
    assert_int_equal(kube_credentials_get(c, f->a, 0, &creds, NULL), ERR_OK);
    assert_null(creds.bearer);
    kube_config_free(c);
}

static void kube_config_load__disable_http2__from_the_environment(void **state)
{
    struct folder *f = *state;
    struct kube_config *c = load_text(f, USER("token: t"));
    assert_false(c->no_http2);
    kube_config_free(c);
    f->env[0][0] = "DISABLE_HTTP2";
    f->env[0][1] = "1";
    c = load_text(f, USER("token: t"));
    assert_true(c->no_http2);
    kube_config_free(c);
}

#define CONFIG_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(config)
{
    const struct CMUnitTest tests[] = {
        CONFIG_TEST(kube_config_load__whole_file__every_field),
        CONFIG_TEST(kube_config_load__data_forms__decoded),
        CONFIG_TEST(kube_config_load__json__is_yaml),
        CONFIG_TEST(kube_config_load__servers__normalised),
        CONFIG_TEST(kube_config_load__master__overrides_the_server),
        CONFIG_TEST(kube_config_load__broken_files_and_contexts__upstream_texts),
        CONFIG_TEST(kube_config_load__bad_clusters_and_users__upstream_texts),
        CONFIG_TEST(kube_config_load__bad_plugins__upstream_texts),
        CONFIG_TEST(kube_config_load__no_file__upstream_texts),
        CONFIG_TEST(kube_config_load__other_context__by_name),
        CONFIG_TEST(kube_config_load__v200_kubeconfig_list__merged),
        CONFIG_TEST(kube_config_load__in_cluster__files_of_the_pod),
        CONFIG_TEST(kube_credentials__v198_token_file__read_again_after_50_s),
        CONFIG_TEST(kube_credentials__token_file_gone__fixed_token_stands_in),
        CONFIG_TEST(kube_config_load__exec__plugin_of_the_files_folder),
        CONFIG_TEST(kube_config_load__exec_needless__not_run),
        CONFIG_TEST(kube_config_load__disable_http2__from_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
