/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c: the files by which clients find the simulator: kubeconfig, cloud configuration,
 * env-CLOUD, tokens, CA.
 *
 * Everything is written whole or not at all.  Tokens and keys in these files are worth nothing
 * beyond this process; they are still written for the owner's eyes only.  Source: interfaces.md,
 * --write-kubeconfig, --write-cloud-config. */
#include "common/base/file.h"
#include "sim/program.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define TOKEN_FILE_LIFE_S 86400

struct out {
    struct sim *s;
    struct arena *a;
    const char *dir; /* absolute; NULL: --write-cloud-config was not given */
    struct err *err;
};

static int write_text(struct out *o, const char *path, const char *text, int mode)
{
    return file_write_atomic(path, text, strlen(text), mode, o->err);
}

static int write_in_dir(struct out *o, const char *name, const char *text, int mode)
{
    return write_text(o, arena_printf(o->a, "%s/%s", o->dir, name), text, mode);
}

static char *absolute(struct arena *a, const char *path)
{
    char *real = realpath(path, NULL);
    char *copy = arena_strdup(a, real ? real : path);
    free(real);
    return copy;
}

static const char *kubeconfig_text(struct out *o)
{
    const char *ca = "";
    if (sim_ca_pem(o->s)) {
        const char *pem = sim_ca_pem(o->s);
        ca = o->dir ? arena_printf(o->a, "    certificate-authority: %s/ca.crt\n", o->dir)
                    : arena_printf(o->a, "    certificate-authority-data: %s\n",
                                   str_base64_encode(o->a, pem, strlen(pem), false));
    }
    return arena_printf(o->a,
                        "apiVersion: v1\nkind: Config\n"
                        "clusters:\n- name: sim\n  cluster:\n    server: %s\n%s"
                        "users:\n- name: admin\n  user:\n    token: sim-admin\n"
                        "contexts:\n- name: sim\n  context:\n    cluster: sim\n    user: admin\n"
                        "current-context: sim\n",
                        sim_url(o->s), ca);
}

static const char *env_text(struct out *o)
{
    void *cloud = sim_module_state(o->s, "gce");
    size_t n = 0;
    const char **zones = sim_compute_zones(cloud, o->a, &n);
    const char *zone = n ? zones[0] : "us-central1-a";
    const char *dash = strrchr(zone, '-');
    const char *url = sim_url(o->s);
    struct str_buf b = STR_BUF_INIT;
    if (sim_ca_pem(o->s)) {
        str_appendf(&b, "GOOGLE_APPLICATION_CREDENTIALS=%s/service-account.json\n", o->dir);
        str_appendf(&b, "SSL_CERT_FILE=%s/ca.crt\nCURL_CA_BUNDLE=%s/ca.crt\n", o->dir, o->dir);
        str_appendf(&b,
                    "REQUESTS_CA_BUNDLE=%s/ca.crt\nCLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE=%s/ca.crt\n",
                    o->dir, o->dir);
    } else {
        str_appendf(&b, "GCE_METADATA_HOST=%s\n", url + strlen("http://"));
    }
    str_appendf(&b, "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=%s/compute/v1/\n", url);
    str_appendf(&b, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=%s/access-token\n", o->dir);
    str_appendf(&b, "CLOUDSDK_CORE_PROJECT=%s\n", sim_compute_project(cloud));
    str_appendf(&b, "CLOUDSDK_COMPUTE_ZONE=%s\n", zone);
    str_appendf(&b, "CLOUDSDK_COMPUTE_REGION=%.*s\n", dash ? (int)(dash - zone) : 0, zone);
    str_append(&b, "CLOUDSDK_CORE_DISABLE_PROMPTS=1\n");
    char *text = str_buf_to_arena(&b, o->a);
    str_buf_done(&b);
    return text;
}

static const char *azure_env_text(struct out *o)
{
    const char *url = sim_url(o->s);
    const char *ca = sim_ca_pem(o->s)
                         ? arena_printf(o->a,
                                        "SSL_CERT_FILE=%s/ca.crt\nCURL_CA_BUNDLE=%s/ca.crt\n"
                                        "REQUESTS_CA_BUNDLE=%s/ca.crt\n",
                                        o->dir, o->dir, o->dir)
                         : "";
    return arena_printf(o->a,
                        "IDENTITY_ENDPOINT=%s/msi/token\nIDENTITY_HEADER=" SIM_ARM_IDENTITY_HEADER
                        "\nAZURE_AUTHORITY_HOST=%s/\n%s",
                        url, url, ca);
}

static int write_azure(struct out *o, const char *world_config)
{
    void *cloud = sim_module_state(o->s, "azure");
    const char *conf = world_config ? str_replace(o->a, world_config, "<endpoint>", sim_url(o->s))
                                    : sim_arm_cloud_config(cloud, o->a);
    int code = write_in_dir(o, "azure.json", conf, 0644);
    if (!code) {
        code = write_in_dir(o, "env-azure", azure_env_text(o), 0644);
    }
    if (!code) {
        code = write_in_dir(o, "access-token", sim_arm_new_token(cloud, o->a, TOKEN_FILE_LIFE_S),
                            0600);
    }
    if (!code && sim_ca_pem(o->s)) {
        code = write_in_dir(o, "ca.crt", sim_ca_pem(o->s), 0644);
    }
    return code;
}

static int write_aws(struct out *o, const char *world_config)
{
    void *cloud = sim_module_state(o->s, "aws");
    const char *ca = sim_ca_pem(o->s) ? arena_printf(o->a, "%s/ca.crt", o->dir) : NULL;
    const char *conf = world_config ? str_replace(o->a, world_config, "<endpoint>", sim_url(o->s))
                                    : sim_aws_cloud_config(cloud, o->a);
    int code = write_in_dir(o, "aws.conf", conf, 0644);
    if (!code) {
        code = write_in_dir(o, "env-aws", sim_aws_env(cloud, o->a, ca), 0600);
    }
    if (!code && ca) {
        code = write_in_dir(o, "ca.crt", sim_ca_pem(o->s), 0644);
    }
    return code;
}

static int write_cloud(struct out *o, const char *world_config)
{
    if (str_eq(sim_cfg(o->s)->cloud, "azure")) {
        return write_azure(o, world_config);
    }
    if (str_eq(sim_cfg(o->s)->cloud, "aws")) {
        return write_aws(o, world_config);
    }
    void *cloud = sim_module_state(o->s, "gce");
    const char *conf = world_config ? str_replace(o->a, world_config, "<endpoint>", sim_url(o->s))
                                    : sim_compute_cloud_config(cloud, o->a);
    int code = write_in_dir(o, "gce.conf", conf, 0644);
    if (!code) {
        code = write_in_dir(o, "env-gce", env_text(o), 0644);
    }
    if (!code) {
        code = write_in_dir(o, "access-token",
                            sim_compute_new_token(cloud, o->a, TOKEN_FILE_LIFE_S), 0600);
    }
    if (!code) {
        code = write_in_dir(o, "service-account.json",
                            sim_compute_credentials(cloud, o->a, "service_account"), 0600);
    }
    if (!code) {
        code = write_in_dir(o, "authorized-user.json",
                            sim_compute_credentials(cloud, o->a, "authorized_user"), 0600);
    }
    if (!code && sim_ca_pem(o->s)) {
        code = write_in_dir(o, "ca.crt", sim_ca_pem(o->s), 0644);
    }
    return code;
}

int sim_outputs_write(struct sim *s, const struct sim_options *opt, const char *world_config,
                      struct err *err)
{
    struct out o = {.s = s, .a = arena_new(), .err = err};
    int code = ERR_OK;
    if (opt->write_cloud_config) {
        if (mkdir(opt->write_cloud_config, 0755) != 0 && errno != EEXIST) {
            code = err_set(err, ERR_INVALID, "cannot make %s: %s", opt->write_cloud_config,
                           strerror(errno));
        }
        o.dir = absolute(o.a, opt->write_cloud_config);
        code = code ? code : write_cloud(&o, world_config);
    }
    if (!code && opt->write_kubeconfig) {
        code = write_text(&o, opt->write_kubeconfig, kubeconfig_text(&o), 0600);
    }
    arena_free(o.a);
    return code;
}
