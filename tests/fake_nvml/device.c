/* Handles of GPUs, and what each GPU tells of itself. Where a MIG device may ask too, it answers from its own entry. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

static nvmlReturn_t handle_of(struct call call, nvmlDevice_t *device) {
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_handle(&call.subject, (const void **)device));
}

NVML_CALL nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
    return handle_of((struct call){.name = __func__, .target = TARGET_INDEX, .index = index}, device);
}

NVML_CALL nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *device) {
    return handle_of((struct call){.name = __func__, .target = TARGET_INDEX, .index = index}, device);
}

NVML_CALL nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    return handle_of((struct call){.name = __func__, .target = TARGET_UUID, .text = uuid}, device);
}

NVML_CALL nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device) {
    return handle_of((struct call){.name = __func__, .target = TARGET_SERIAL, .text = serial}, device);
}

NVML_CALL nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device) {
    return handle_of((struct call){.name = __func__, .target = TARGET_BUS_ID, .text = bus_id}, device);
}

NVML_CALL nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device) {
    return handle_of((struct call){.name = __func__, .target = TARGET_BUS_ID, .text = bus_id}, device);
}

static nvmlReturn_t device_text(const char *name, nvmlDevice_t device, const char *path, char *out, unsigned size) {
    struct call call = {.name = name, .target = TARGET_DEVICE, .handle = device};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_text(json_path(call.instance ? call.instance : call.gpu, path), out, size));
}

NVML_CALL nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned size) {
    return device_text(__func__, device, "name", name, size);
}

NVML_CALL nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned size) {
    return device_text(__func__, device, "uuid", uuid, size);
}

NVML_CALL nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned size) {
    return gpu_text(__func__, device, "serial", serial, size);
}

NVML_CALL nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *part_number, unsigned size) {
    return gpu_text(__func__, device, "part_number", part_number, size);
}

NVML_CALL nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned size) {
    return gpu_text(__func__, device, "vbios_version", version, size);
}

NVML_CALL nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!index) return leave(NVML_ERROR_INVALID_ARGUMENT);
    const struct json *gpus = json_member(machine(), "gpus");
    for (*index = 0; json_element(gpus, *index) != call.gpu;) ++*index;
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor) {
    return gpu_uint(__func__, device, "minor", minor);
}

NVML_CALL nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned *module_id) {
    return gpu_uint(__func__, device, "module_id", module_id);
}

NVML_CALL nvmlDeviceGetBrand(nvmlDevice_t device, nvmlEnum_t *brand) {
    return gpu_uint(__func__, device, "brand", brand);
}

NVML_CALL nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlEnum_t *architecture) {
    return gpu_uint(__func__, device, "architecture", architecture);
}

NVML_CALL nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    struct call call = {.name = __func__, .target = TARGET_DEVICE, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *pair = json_member(call.gpu, "compute_capability");
    result = put_int(json_element(pair, 0), major);
    return leave(result ? result : put_int(json_element(pair, 1), minor));
}

NVML_CALL nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnum_t *mode) {
    return gpu_uint(__func__, device, "display_mode", mode);
}

NVML_CALL nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnum_t *is_active) {
    return gpu_uint(__func__, device, "display_active", is_active);
}

NVML_CALL nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlEnum_t *mode) {
    return gpu_uint(__func__, device, "compute_mode", mode);
}

NVML_CALL nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnum_t *mode) {
    return gpu_uint(__func__, device, "persistence", mode);
}

NVML_CALL nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, nvmlEnum_t *mode) {
    return gpu_uint(__func__, device, "virtualization_mode", mode);
}

NVML_CALL nvmlDeviceGetHostVgpuMode(nvmlDevice_t device, nvmlEnum_t *mode) {
    return gpu_uint(__func__, device, "host_vgpu_mode", mode);
}

NVML_CALL nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned *node) {
    return gpu_uint(__func__, device, "numa", node);
}

NVML_CALL nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t *mode) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!mode) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (mode->version != NVML_STRUCT_VERSION(*mode, 1)) return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    return leave(put_uint(json_member(call.gpu, "addressing_mode"), &mode->value));
}

/* Bytes: a GPU's own, or a MIG device's share. */
static const struct json *memory_total(const struct call *call, unsigned long long *total) {
    const struct json *mib = json_member(call->instance, "memory_mib");
    if (call->instance) {
        *total = json_bits(mib, 0) << 20;
        return mib;
    }
    *total = json_bits(json_member(call->gpu, "memory_bytes"), 0);
    return json_member(call->gpu, "memory_bytes");
}

static unsigned long long memory_used(const struct call *call) {
    return json_bits(json_member(call->instance ? call->instance : call->gpu, "memory_used_bytes"), 0);
}

NVML_CALL nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    struct call call = {.name = __func__, .target = TARGET_DEVICE, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!memory) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!memory_total(&call, &memory->total)) return leave(NVML_ERROR_NOT_SUPPORTED);
    memory->used = memory_used(&call);
    memory->free = memory->total - memory->used;
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    struct call call = {.name = __func__, .target = TARGET_DEVICE, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!memory) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (memory->version != NVML_STRUCT_VERSION(*memory, 2)) return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (!memory_total(&call, &memory->total)) return leave(NVML_ERROR_NOT_SUPPORTED);
    memory->used = memory_used(&call);
    memory->reserved = json_bits(json_member(call.gpu, "memory_reserved_bytes"), 0);
    memory->free = memory->total - memory->reserved - memory->used;
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!memory) return leave(NVML_ERROR_INVALID_ARGUMENT);
    memory->bar1Used = 0;
    result = put_ull(json_member(call.gpu, "bar1_bytes"), &memory->bar1Total);
    memory->bar1Free = memory->bar1Total;
    return leave(result);
}
