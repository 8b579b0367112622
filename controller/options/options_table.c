/* SPDX-License-Identifier: Apache-2.0 */
/* options_table.c: the flags, in the order and with the defaults of upstream (controller.md §3.2).
 *
 * Help texts are ours.  Flags that a service controller has no use for have no member and say so in
 * --help.  Upstream's protobuf default of --kube-api-content-type stands for "whatever is best",
 * which here is JSON. */
#include "controller/install_paths.h" /* made by meson */
#include "controller/options/options.h"

#define GENERIC "Generic flags"
#define CLOUD   "Cloud provider flags"
#define SERVICE "Service controller flags"
#define CLIENT  "API server flags"
#define OTHERS  "Flags of other controllers (accepted, no effect)"
#define SERVING "Secure serving flags"
#define AUTHN   "Authentication flags"
#define AUTHZ   "Authorization flags"
#define WEBHOOK "Webhook serving flags (accepted, no effect)"
#define LOGS    "Logging flags"
#define GLOBAL  "Global flags"

#define AT(member) .offset = offsetof(struct options, member)
#define ONLY       .offset = OPTION_NO_MEMBER
#define B          OPTION_BOOL
#define S          OPTION_STRING
#define I          OPTION_INT
#define F          OPTION_FLOAT
#define D          OPTION_DURATION
#define L          OPTION_LIST

/* A row: name, type, default, section, member, help. */
#define ROW(n, t, d, s, where, h)                                                                  \
    {                                                                                              \
        .name = (n), .type = (t), .default_text = (d), .section = (s), .help = (h), where          \
    }
#define OLD(n, t, d, s, where, h, why)                                                             \
    {                                                                                              \
        .name = (n), .type = (t), .default_text = (d), .section = (s), .help = (h),                \
        .deprecated = (why), where                                                                 \
    }

/* clang-format off */
const struct option_def options_table[] = {
    /* generic */
    ROW("controllers", L, "*", GENERIC, AT(controllers), "Controllers to run: '*' all, 'x' this one, '-x' not this one"),
    ROW("controller-start-interval", D, "0s", GENERIC, AT(start_interval_ms), "Pause between the starts of controllers"),
    ROW("min-resync-period", D, "12h", GENERIC, ONLY, "Accepted; a watch needs no periodic re-list here"),
    ROW("leader-elect", B, "true", GENERIC, AT(leader_elect), "Only the replica that holds the lease writes; the others are on standby"),
    ROW("leader-elect-lease-duration", D, "15s", GENERIC, AT(lease_duration_ms), "How long a lease is valid"),
    ROW("leader-elect-renew-deadline", D, "10s", GENERIC, AT(renew_deadline_ms), "How long the leader tries to renew before it gives up"),
    ROW("leader-elect-retry-period", D, "2s", GENERIC, AT(retry_period_ms), "Pause between tries to get or renew the lease"),
    ROW("progress-deadline", D, "5m0s", GENERIC, AT(progress_deadline_ms), "A leader that gets nothing done for so long while work waits lets go of its lease and ends; 0 off"),
    ROW("leader-elect-resource-lock", S, "leases", GENERIC, AT(resource_lock), "Kind of the lock object; only 'leases'"),
    ROW("leader-elect-resource-name", S, "cloud-controller-manager", GENERIC, AT(lease_name), "Name of the lease; another one than the Go controller's where that goes on beside"),
    ROW("leader-elect-resource-namespace", S, "kube-system", GENERIC, AT(lease_ns), "Namespace of the lease"),
    ROW("enable-leader-migration", B, "false", GENERIC, AT(leader_migration), "Accepted, no effect: trimtab runs no controller that would migrate"),
    ROW("leader-migration-config", S, "", GENERIC, AT(leader_migration_config), "Accepted, no effect"),
    ROW("profiling", B, "true", GENERIC, AT(profiling), "Serve /debug/flags/v, which changes the verbosity of the log"),
    ROW("contention-profiling", B, "false", GENERIC, ONLY, "Accepted, no effect"),
    ROW("feature-gates", OPTION_GATES, "", GENERIC, AT(feature_gates), "Comma-separated name=true|false; none changes what this program does"),
    /* cloud provider */
    ROW("cloud-provider", S, "", CLOUD, AT(cloud_provider), "The provider: a built-in one, or NAME.so in --provider-plugin-dir"),
    ROW("cloud-config", S, "", CLOUD, AT(cloud_config), "The provider's configuration file"),
    ROW("cloud-config-secret-name", S, "", CLOUD, AT(config_secret_name), "Secret that holds the provider's configuration, or a part of it; needs --enable-dynamic-reloading"),
    ROW("cloud-config-secret-namespace", S, "kube-system", CLOUD, AT(config_secret_ns), "Namespace of that Secret"),
    ROW("cloud-config-key", S, "cloud-config", CLOUD, AT(config_secret_key), "Key of that Secret"),
    ROW("enable-dynamic-reloading", B, "false", CLOUD, AT(dynamic_reloading), "Take a changed configuration over without a restart"),
    ROW("cluster-name", S, "kubernetes", CLOUD, AT(cluster_name), "Name of the cluster, as the cloud's resources carry it"),
    OLD("allow-untagged-cloud", B, "false", CLOUD, AT(allow_untagged_cloud), "Start although the cluster has no cluster id",
        "This flag is deprecated and will be removed in a future release. A cluster-id will be required on cloud instances."),
    ROW("provider-plugin-dir", S, TRIMTAB_PLUGIN_DIR, CLOUD, AT(plugin_dir), "Where providers that are not built in are loaded from"),
    ROW("allow-writable-plugins", B, "false", CLOUD, AT(allow_writable_plugins), "Load a provider from a file or folder that others may write"),
    ROW("provider-call-deadline", D, "0s", CLOUD, AT(call_deadline_ms), "How long one call into the provider may take; 0: as the provider says, or 4m"),
    ROW("provider-quarantine", B, "true", CLOUD, AT(provider_quarantine), "Do not call a plugin any more for a Service for which it ended the process three times in a row"),
    ROW("repair-adopted", B, "false", CLOUD, AT(repair_adopted), "Repair deviations from today's recommendations on load balancers that another controller made"),
    /* service controller */
    ROW("concurrent-service-syncs", I, "10", SERVICE, AT(concurrent_service_syncs), "How many Services are in flight at the same time; they share few threads"),
    ROW("resync-period", D, "0s", SERVICE, AT(resync_period_ms), "Check every load balancer again after this time, with jitter; 0 never"),
    ROW("drift", S, "off", SERVICE, AT(drift), "Reaction to load balancers that another program changed: off, report, repair"),
    ROW("drift-period", D, "1h0m0s", SERVICE, AT(drift_period_ms), "How often each load balancer is compared with its Service for that, with jitter"),
    ROW("orphan-guard", B, "true", SERVICE, AT(orphan_guard), "Keep load balancers when one list of the API server lacks many Services whose deletion was not observed"),
    ROW("service-annotations", B, "false", SERVICE, AT(service_annotations), "Keep the last plan and the last error on each Service, as annotations"),
    ROW("service-conditions", B, "false", SERVICE, AT(service_conditions), "Keep condition trimtab.io/LoadBalancerReady in each Service's status"),
    ROW("strict-upstream-events", B, "false", SERVICE, AT(strict_events), "Emit exactly upstream's events, also when nothing was to be done"),
    /* API server */
    ROW("kubeconfig", S, "", CLIENT, AT(kubeconfig), "Kubeconfig: address of the API server and credentials; without it and --master: in-cluster"),
    ROW("master", S, "", CLIENT, AT(master), "URL of the API server; wins over the kubeconfig"),
    ROW("kube-api-content-type", S, "application/vnd.kubernetes.protobuf", CLIENT, AT(content_type), "Accepted; JSON is spoken"),
    ROW("kube-api-qps", F, "20", CLIENT, AT(kube_qps), "Requests per second to the API server; below 0 no limit"),
    ROW("kube-api-burst", I, "30", CLIENT, AT(kube_burst), "Requests to the API server that may come at once"),
    ROW("use-service-account-credentials", B, "false", CLIENT, AT(service_account_credentials), "Do what is done for Services as service account kube-system/service-controller"),
    /* of other controllers */
    ROW("allocate-node-cidrs", B, "false", OTHERS, ONLY, ""),
    ROW("cidr-allocator-type", S, "RangeAllocator", OTHERS, ONLY, ""),
    ROW("cluster-cidr", S, "", OTHERS, ONLY, ""),
    ROW("concurrent-node-status-updates", I, "0", OTHERS, ONLY, ""),
    ROW("concurrent-node-syncs", I, "1", OTHERS, AT(concurrent_node_syncs), ""),
    ROW("configure-cloud-routes", B, "true", OTHERS, ONLY, ""),
    ROW("external-cloud-volume-plugin", S, "", OTHERS, ONLY, ""),
    ROW("node-monitor-period", D, "5s", OTHERS, ONLY, ""),
    ROW("node-status-update-frequency", D, "5m0s", OTHERS, ONLY, ""),
    OLD("node-sync-period", D, "0s", OTHERS, ONLY, "", "This flag is currently no-op and will be deleted."),
    ROW("route-reconciliation-period", D, "10s", OTHERS, ONLY, ""),
    /* serving */
    ROW("bind-address", S, "0.0.0.0", SERVING, AT(bind_address), "Address to serve on; 0.0.0.0 and :: mean all of both families"),
    ROW("secure-port", I, "10258", SERVING, AT(secure_port), "Port for health, metrics and /status over HTTPS; 0: none"),
    ROW("cert-dir", S, "", SERVING, AT(cert_dir), "Where a certificate of our own making is kept; without it in memory. Not used with --tls-cert-file"),
    ROW("disable-http2-serving", B, "false", SERVING, ONLY, "Accepted, no effect"),
    ROW("http2-max-streams-per-connection", I, "0", SERVING, ONLY, "Accepted, no effect"),
    ROW("permit-address-sharing", B, "false", SERVING, AT(permit_address_sharing), "Bind the port with SO_REUSEADDR"),
    ROW("permit-port-sharing", B, "false", SERVING, AT(permit_port_sharing), "Bind the port with SO_REUSEPORT"),
    ROW("tls-cert-file", S, "", SERVING, AT(tls_cert_file), "Certificate (and its chain) to serve with, PEM; read again when it changes"),
    ROW("tls-private-key-file", S, "", SERVING, AT(tls_key_file), "The certificate's private key, PEM"),
    ROW("tls-cipher-suites", L, "", SERVING, AT(tls_ciphers), "Cipher suites by Go's names, TLS 1.2 and older; none: the defaults"),
    ROW("tls-curve-preferences", L, "", SERVING, AT(tls_curves), "Key exchange groups by their IANA numbers; none: the defaults"),
    ROW("tls-min-version", S, "", SERVING, AT(tls_min_version), "Lowest version of TLS: VersionTLS10 … VersionTLS13; none: VersionTLS12"),
    ROW("tls-sni-cert-key", OPTION_STRINGS, "", SERVING, AT(tls_sni), "CERT,KEY[:PATTERN,...]: another certificate for these names; may be repeated"),
    /* authentication and authorization of that server's callers */
    ROW("authentication-kubeconfig", S, "", AUTHN, AT(authn_kubeconfig), "File for TokenReviews; without it in-cluster, and where that is not, no tokens"),
    ROW("authentication-skip-lookup", B, "false", AUTHN, AT(authn_skip_lookup), "Do not read the cluster's authentication settings (ConfigMap extension-apiserver-authentication)"),
    ROW("authentication-token-webhook-cache-ttl", D, "10s", AUTHN, AT(authn_cache_ttl_ms), "How long the answer to a TokenReview is used"),
    ROW("authentication-tolerate-lookup-failure", B, "false", AUTHN, AT(authn_tolerate_failure), "Start although these settings cannot be read"),
    ROW("client-ca-file", S, "", AUTHN, AT(client_ca_file), "CAs of client certificates, PEM; without it the cluster's"),
    ROW("requestheader-allowed-names", L, "", AUTHN, AT(rh_allowed_names), "Common names that the proxy's certificate may have; none: any"),
    ROW("requestheader-client-ca-file", S, "", AUTHN, AT(rh_client_ca_file), "CAs of the aggregation proxy's certificate, PEM; without it the cluster's"),
    ROW("requestheader-extra-headers-prefix", L, "x-remote-extra-", AUTHN, AT(rh_extra_prefixes), "Prefixes of the proxy's headers with more about the user"),
    ROW("requestheader-group-headers", L, "x-remote-group", AUTHN, AT(rh_group_headers), "The proxy's headers with groups"),
    ROW("requestheader-uid-headers", L, "", AUTHN, AT(rh_uid_headers), "The proxy's headers with the user's UID"),
    ROW("requestheader-username-headers", L, "x-remote-user", AUTHN, AT(rh_username_headers), "The proxy's headers with the user's name"),
    ROW("authorization-always-allow-paths", L, "/healthz,/readyz,/livez", AUTHZ, AT(always_allow_paths), "Paths that need no authorization; a final * matches any suffix"),
    ROW("authorization-kubeconfig", S, "", AUTHZ, AT(authz_kubeconfig), "File for SubjectAccessReviews; without it in-cluster, and where that is not, only these paths are served"),
    ROW("authorization-webhook-cache-authorized-ttl", D, "10s", AUTHZ, AT(authz_allowed_ttl_ms), "How long a yes is used"),
    ROW("authorization-webhook-cache-unauthorized-ttl", D, "10s", AUTHZ, AT(authz_denied_ttl_ms), "How long a no is used"),
    /* webhooks */
    ROW("webhooks", L, "", WEBHOOK, ONLY, ""),
    ROW("webhook-bind-address", S, "0.0.0.0", WEBHOOK, ONLY, ""),
    ROW("webhook-cert-dir", S, "", WEBHOOK, ONLY, ""),
    ROW("webhook-secure-port", I, "10260", WEBHOOK, ONLY, ""),
    ROW("webhook-tls-cert-file", S, "", WEBHOOK, ONLY, ""),
    ROW("webhook-tls-cipher-suites", L, "", WEBHOOK, ONLY, ""),
    ROW("webhook-tls-min-version", S, "", WEBHOOK, ONLY, ""),
    ROW("webhook-tls-private-key-file", S, "", WEBHOOK, ONLY, ""),
    /* logging */
    {.name = "v", .shorthand = 'v', .type = I, .default_text = "0", .section = LOGS, AT(verbosity), .help = "How much is logged; 2 for decisions, 4 for every request"},
    ROW("vmodule", S, "", LOGS, AT(vmodule), "Comma-separated pattern=N: verbosity by source file; text format only"),
    ROW("logging-format", S, "text", LOGS, AT(logging_format), "'text' or 'json'"),
    ROW("log-flush-frequency", D, "5s", LOGS, ONLY, "Accepted; lines are written at once"),
    ROW("log-json-info-buffer-size", S, "0", LOGS, ONLY, "Accepted, no effect"),
    ROW("log-json-split-stream", B, "false", LOGS, ONLY, "Accepted, no effect"),
    ROW("log-text-info-buffer-size", S, "0", LOGS, ONLY, "Accepted, no effect"),
    ROW("log-text-split-stream", B, "false", LOGS, ONLY, "Accepted, no effect"),
    /* global */
    ROW("version", OPTION_VERSION, "false", GLOBAL, AT(version), "Print the version and exit; 'raw' prints more"),
    {.name = "help", .shorthand = 'h', .type = B, .default_text = "false", .section = GLOBAL, AT(help), .help = "Print this"},
};
/* clang-format on */
const size_t options_table_n = sizeof(options_table) / sizeof(options_table[0]);
