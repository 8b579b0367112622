/* SPDX-License-Identifier: Apache-2.0 */
/* service_tags.c: the service tags that a security rule may name instead of addresses.
 *
 * Azure publishes them, and refuses any other word.  Those of the table "Available service tags" as
 * of 2024-12-11, with the column that says whether a region may follow ("Storage.WestUS").  Source:
 * https://learn.microsoft.com/azure/virtual-network/service-tags-overview */
#include <string.h>

#include "common/base/str.h"
#include "sim/arm/arm.h"

struct service_tag {
    const char *name;
    bool regional;
};

static const struct service_tag tags[] = {
    {"ActionGroup", false},
    {"ApiManagement", true},
    {"ApplicationInsightsAvailability", false},
    {"AppConfiguration", false},
    {"AppService", true},
    {"AppServiceManagement", false},
    {"AzureActiveDirectory", false},
    {"AzureActiveDirectoryDomainServices", false},
    {"AzureAdvancedThreatProtection", false},
    {"AzureArcInfrastructure", false},
    {"AzureAttestation", false},
    {"AzureBackup", false},
    {"AzureBotService", false},
    {"AzureCloud", true},
    {"AzureCognitiveSearch", false},
    {"AzureConnectors", true},
    {"AzureContainerAppsService", true},
    {"AzureContainerRegistry", true},
    {"AzureCosmosDB", true},
    {"AzureDatabricks", false},
    {"AzureDataExplorerManagement", false},
    {"AzureDeviceUpdate", false},
    {"AzureDevOps", true},
    {"AzureDigitalTwins", false},
    {"AzureEventGrid", false},
    {"AzureFrontDoor.Frontend", true},
    {"AzureFrontDoor.Backend", true},
    {"AzureFrontDoor.FirstParty", true},
    {"AzureHealthcareAPIs", false},
    {"AzureInformationProtection", false},
    {"AzureIoTHub", true},
    {"AzureKeyVault", true},
    {"AzureLoadBalancer", false},
    {"AzureMachineLearningInference", false},
    {"AzureManagedGrafana", false},
    {"AzureMonitor", false},
    {"AzureOpenDatasets", false},
    {"AzurePlatformDNS", false},
    {"AzurePlatformIMDS", false},
    {"AzurePlatformLKM", false},
    {"AzureResourceManager", false},
    {"AzureSentinel", false},
    {"AzureSignalR", false},
    {"AzureSiteRecovery", false},
    {"AzureSphere", false},
    {"AzureSpringCloud", false},
    {"AzureStack", false},
    {"AzureTrafficManager", false},
    {"AzureUpdateDelivery", false},
    {"AzureWebPubSub", true},
    {"BatchNodeManagement", true},
    {"ChaosStudio", false},
    {"CognitiveServicesFrontend", false},
    {"CognitiveServicesManagement", false},
    {"DataFactory", true},
    {"DataFactoryManagement", false},
    {"Dynamics365ForMarketingEmail", true},
    {"Dynamics365BusinessCentral", false},
    {"EOPExternalPublishedIPs", false},
    {"EventHub", true},
    {"GatewayManager", false},
    {"GuestAndHybridManagement", false},
    {"HDInsight", true},
    {"Internet", false},
    {"KustoAnalytics", false},
    {"LogicApps", false},
    {"LogicAppsManagement", false},
    {"M365ManagementActivityApi", true},
    {"M365ManagementActivityApiWebhook", true},
    {"MicrosoftAzureFluidRelay", false},
    {"MicrosoftCloudAppSecurity", false},
    {"MicrosoftDefenderForEndpoint", false},
    {"PowerBI", false},
    {"PowerPlatformInfra", true},
    {"PowerPlatformPlex", true},
    {"PowerQueryOnline", false},
    {"Scuba", false},
    {"SerialConsole", false},
    {"ServiceBus", true},
    {"ServiceFabric", false},
    {"Sql", true},
    {"SqlManagement", false},
    {"Storage", true},
    {"StorageSyncService", false},
    {"StorageMover", true},
    {"WindowsAdminCenter", false},
    {"WindowsVirtualDesktop", false},
    {"VideoIndexer", false},
    {"VirtualNetwork", false},
};

/* Regions are written in letters, with a digit behind some: "WestUS2". */
static bool is_region(const char *text)
{
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    return n > 0 && (text[n] == '\0' || (text[n] >= '0' && text[n] <= '9' && text[n + 1] == '\0'));
}

bool arm_is_service_tag(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        size_t n = strlen(tags[i].name);
        if (strncasecmp(text, tags[i].name, n) == 0 &&
            (text[n] == '\0' || (tags[i].regional && text[n] == '.' && is_region(text + n + 1)))) {
            return true;
        }
    }
    return false;
}
