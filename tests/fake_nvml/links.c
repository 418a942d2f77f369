/* What ties GPUs to the bus and to each other: PCI, NVLink, fabric, topology. */
#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- PCI --- */

static void put_bus_id(const struct pci_address *address, char out[32]) {
    snprintf(out, 32, "%08X:%02X:%02X.0", address->domain, address->bus, address->device);
}

static void put_legacy_bus_id(const struct pci_address *address, char out[16]) {
    snprintf(out, 16, "%04X:%02X:%02X.0", address->domain & 0xFFFF, address->bus & 0xFF, address->device & 0xFF);
}

static const struct json *pci_fact(const struct json *entry, const char *prefix, const char *fact) {
    char name[64];
    snprintf(name, sizeof name, "%spci_%s", prefix, fact);
    return json_member(entry, name);
}

/* "<prefix>pci_address", "…pci_device_id" and "…pci_subsystem_id" of an entry. */
static nvmlReturn_t put_pci_info(const struct json *entry, const char *prefix, nvmlPciInfo_t *info, size_t size) {
    struct pci_address address;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (!parse_pci_address(json_text(pci_fact(entry, prefix, "address"), NULL), &address)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    memset(info, 0, size);
    info->domain = address.domain;
    info->bus = address.bus;
    info->device = address.device;
    info->pciDeviceId = (unsigned)json_bits(pci_fact(entry, prefix, "device_id"), 0);
    info->pciSubSystemId = (unsigned)json_bits(pci_fact(entry, prefix, "subsystem_id"), 0);
    put_legacy_bus_id(&address, info->busIdLegacy);
    if (size == sizeof *info) put_bus_id(&address, info->busId);
    return NVML_SUCCESS;
}

/* The older structure starts alike and has no long bus id: size tells which one the caller has. */
static nvmlReturn_t pci_info(const char *name, nvmlDevice_t device, nvmlPciInfo_t *info, size_t size) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_pci_info(call.gpu, "", info, size));
}

NVML_CALL nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *info) {
    return pci_info(__func__, device, info, sizeof *info);
}

NVML_CALL nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *info) {
    return pci_info(__func__, device, info, sizeof(nvmlPciInfo_v2_t));
}

NVML_CALL nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *info) {
    return pci_info(__func__, device, info, sizeof(nvmlPciInfo_v2_t));
}

NVML_CALL nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    struct pci_address address;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (info->version != NVML_STRUCT_VERSION(*info, 1)) return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (!parse_pci_address(json_text(json_member(call.gpu, "pci_address"), NULL), &address)) {
        return leave(NVML_ERROR_NOT_SUPPORTED);
    }
    unsigned class_code = number_in(call.gpu, "pci_class");
    info->domain = address.domain;
    info->bus = address.bus;
    info->device = address.device;
    info->pciDeviceId = number_in(call.gpu, "pci_device_id");
    info->pciSubSystemId = number_in(call.gpu, "pci_subsystem_id");
    info->baseClass = class_code >> 16 & 0xFF;
    info->subClass = class_code >> 8 & 0xFF;
    put_bus_id(&address, info->busId);
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned *generation) {
    return gpu_uint(__func__, device, "pcie.generation_max", generation);
}

NVML_CALL nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned *generation) {
    return gpu_uint(__func__, device, "pcie.generation_max_gpu", generation);
}

NVML_CALL nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned *generation) {
    return gpu_uint(__func__, device, "pcie.generation_current", generation);
}

NVML_CALL nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned *width) {
    return gpu_uint(__func__, device, "pcie.width_max", width);
}

NVML_CALL nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned *width) {
    return gpu_uint(__func__, device, "pcie.width_current", width);
}

NVML_CALL nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned *count) {
    return gpu_uint(__func__, device, "pcie.replays", count);
}

/* --- NVLink: "nvlinks" is a list by link number; null in it is a link that is not there --- */

static nvmlReturn_t link_fact(const char *name, nvmlDevice_t device, unsigned link, const char *fact, unsigned *out) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *links = json_member(call.gpu, "nvlinks");
    if (!links) return leave(NVML_ERROR_NOT_SUPPORTED);
    if (!fact || link >= json_length(links)) return leave(NVML_ERROR_INVALID_ARGUMENT);
    return leave(put_uint(json_path(json_element(links, link), fact), out));
}

NVML_CALL nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, nvmlEnum_t *is_active) {
    return link_fact(__func__, device, link, "active", is_active);
}

NVML_CALL nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link, unsigned *version) {
    return link_fact(__func__, device, link, "version", version);
}

NVML_CALL nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link, nvmlEnum_t *type) {
    return link_fact(__func__, device, link, "remote_kind", type);
}

NVML_CALL nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, nvmlEnum_t counter,
                                          unsigned long long *value) {
    static const char *const facts[] = {"errors.replay", "errors.recovery", "errors.crc_flit", "errors.crc_data",
                                        "errors.ecc_data"};
    unsigned count;
    bool is_known = value && counter < sizeof facts / sizeof facts[0];
    nvmlReturn_t result = link_fact(__func__, device, link, is_known ? facts[counter] : NULL, &count);
    if (!result) *value = count;
    return result;
}

static nvmlReturn_t remote_pci_info(const char *name, nvmlDevice_t device, unsigned link, nvmlPciInfo_t *info,
                                    size_t size) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *links = json_member(call.gpu, "nvlinks");
    if (!links) return leave(NVML_ERROR_NOT_SUPPORTED);
    if (link >= json_length(links)) return leave(NVML_ERROR_INVALID_ARGUMENT);
    return leave(put_pci_info(json_element(links, link), "remote_", info, size));
}

NVML_CALL nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, nvmlPciInfo_t *info) {
    return remote_pci_info(__func__, device, link, info, sizeof *info);
}

NVML_CALL nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned link, nvmlPciInfo_t *info) {
    return remote_pci_info(__func__, device, link, info, sizeof(nvmlPciInfo_v2_t));
}

/* --- fabric --- */

/* Hexadecimal digits of a UUID's text, dashes skipped. */
static void put_cluster_uuid(const char *text, unsigned char out[16]) {
    memset(out, 0, 16);
    for (unsigned digit = 0; *text && digit < 32; text++) {
        if (!isxdigit((unsigned char)*text)) continue;
        int value = isdigit((unsigned char)*text) ? *text - '0' : tolower((unsigned char)*text) - 'a' + 10;
        out[digit / 2] |= (unsigned char)(digit % 2 ? value : value << 4);
        digit++;
    }
}

#define FILL_FABRIC(info, fabric)                                                                \
    do {                                                                                         \
        put_cluster_uuid(json_text(json_member(fabric, "cluster_uuid"), ""), (info)->clusterUuid); \
        (info)->status = error_named(json_member(fabric, "status"));                             \
        (info)->cliqueId = number_in(fabric, "clique_id");                                       \
        (info)->state = (unsigned char)number_in(fabric, "state");                               \
    } while (0)

NVML_CALL nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *fabric = json_member(call.gpu, "fabric");
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!fabric) return leave(NVML_ERROR_NOT_SUPPORTED);
    memset(info, 0, sizeof *info);
    FILL_FABRIC(info, fabric);
    return leave(NVML_SUCCESS);
}

/* Version 3 is version 2 with the summary behind it. */
NVML_CALL nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *fabric = json_member(call.gpu, "fabric");
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    bool has_summary = info->version == NVML_STRUCT_VERSION(nvmlGpuFabricInfo_v3_t, 3);
    if (!has_summary && info->version != NVML_STRUCT_VERSION(nvmlGpuFabricInfo_v2_t, 2)) {
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    }
    if (info->version >> 24 > accepted_version(&call, 3)) return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (!fabric) return leave(NVML_ERROR_NOT_SUPPORTED);
    FILL_FABRIC(info, fabric);
    info->healthMask = number_in(fabric, "health_mask");
    if (has_summary) info->healthSummary = (unsigned char)number_in(fabric, "health_summary");
    return leave(NVML_SUCCESS);
}

/* --- pairs --- */

/* A fact of two GPUs stands in the first one's table under the second one's UUID, or the other way round. */
static nvmlReturn_t pair_fact(const char *name, nvmlDevice_t first, nvmlDevice_t second, const char *table,
                              unsigned otherwise, unsigned *out) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = first};
    struct subject other;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!out || !handle_subject(second, &other) || other.kind != KIND_GPU) return leave(NVML_ERROR_INVALID_ARGUMENT);
    const struct json *far = find_gpu(other.gpu);
    if (!far) return leave(NVML_ERROR_GPU_IS_LOST);
    if ((result = failure_of(&(struct call){.name = name, .gpu = far}))) return leave(result);
    const struct json *value = json_member(json_member(call.gpu, table), other.gpu);
    if (!value) value = json_member(json_member(far, table), call.subject.gpu);
    *out = (unsigned)json_bits(value, otherwise);
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second, nvmlEnum_t *level) {
    unsigned otherwise = first == second ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_SYSTEM;
    return pair_fact(__func__, first, second, "common_ancestor", otherwise, level);
}

NVML_CALL nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second, nvmlEnum_t capability, nvmlEnum_t *status) {
    (void)capability;
    return pair_fact(__func__, first, second, "p2p", 0, status);
}
