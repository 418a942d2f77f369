/* MIG: devices, and the GPU and compute instances that they stand for. */
#include "fake.h"

static bool is_enabled(const struct json *gpu) {
    return number_in(gpu, "mig.current") == NVML_MIG_ENABLED;
}

NVML_CALL nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    result = put_uint(json_path(call.gpu, "mig.current"), current);
    return leave(result ? result : put_uint(json_path(call.gpu, "mig.pending"), pending));
}

NVML_CALL nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!count) return leave(NVML_ERROR_INVALID_ARGUMENT);
    *count = is_enabled(call.gpu) ? number_in(call.gpu, "mig.max_devices") : 0;
    return leave(NVML_SUCCESS);
}

/* A MIG device stands at its "index", else at its position in the list. */
static const struct json *device_at(const struct json *gpu, unsigned index) {
    const struct json *devices = json_path(gpu, "mig.devices");
    unsigned position = 0;
    for (const struct json *mig = devices ? devices->child : NULL; mig; mig = mig->next, position++) {
        if (mig->type == JSON_OBJECT && json_bits(json_member(mig, "index"), position) == index) return mig;
    }
    return NULL;
}

/* The device's own "fail" is asked once more, because the gate has seen only the GPU. */
NVML_CALL nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig_device) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!json_member(call.gpu, "mig")) return leave(NVML_ERROR_NOT_SUPPORTED);
    if (index >= number_in(call.gpu, "mig.max_devices")) return leave(NVML_ERROR_INVALID_ARGUMENT);
    const struct json *mig = is_enabled(call.gpu) ? device_at(call.gpu, index) : NULL;
    if (!mig) return leave(NVML_ERROR_NOT_FOUND);
    result = error_named(json_member(json_member(mig, "fail"), __func__));
    struct subject subject = mig_subject(call.gpu, mig);
    return leave(result ? result : put_handle(&subject, (const void **)mig_device));
}

NVML_CALL nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *is_mig) {
    struct call call = {.name = __func__, .target = TARGET_DEVICE, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!is_mig) return leave(NVML_ERROR_INVALID_ARGUMENT);
    *is_mig = call.subject.kind == KIND_MIG;
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig_device, nvmlDevice_t *device) {
    struct call call = {.name = __func__, .target = TARGET_MIG, .handle = mig_device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    struct subject parent = gpu_subject(call.gpu);
    return leave(put_handle(&parent, (const void **)device));
}

static nvmlReturn_t mig_uint(const char *name, nvmlDevice_t device, const char *path, unsigned *out) {
    struct call call = {.name = name, .target = TARGET_MIG, .handle = device};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_uint(json_path(call.instance, path), out));
}

NVML_CALL nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *id) {
    return mig_uint(__func__, device, "gi_id", id);
}

NVML_CALL nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned *id) {
    return mig_uint(__func__, device, "ci_id", id);
}

static nvmlReturn_t attributes_of(const char *name, nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    struct call call = {.name = name, .target = TARGET_DEVICE, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *facts = json_member(call.instance, "attributes");
    if (!attributes) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!facts) return leave(NVML_ERROR_NOT_SUPPORTED);
    attributes->multiprocessorCount = number_in(facts, "multiprocessors");
    attributes->sharedCopyEngineCount = number_in(facts, "copy_engines");
    attributes->sharedDecoderCount = number_in(facts, "decoders");
    attributes->sharedEncoderCount = number_in(facts, "encoders");
    attributes->sharedJpegCount = number_in(facts, "jpeg_engines");
    attributes->sharedOfaCount = number_in(facts, "ofa_engines");
    attributes->gpuInstanceSliceCount = number_in(facts, "gpu_slices");
    attributes->computeInstanceSliceCount = number_in(facts, "compute_slices");
    attributes->memorySizeMB = json_bits(json_member(facts, "memory_mib"), number_in(call.instance, "memory_mib"));
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    return attributes_of(__func__, device, attributes);
}

NVML_CALL nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    return attributes_of(__func__, device, attributes);
}

static struct subject gpu_instance_subject(const struct json *gpu, unsigned id) {
    struct subject subject = gpu_subject(gpu);
    subject.kind = KIND_GPU_INSTANCE;
    subject.gpu_instance = id;
    return subject;
}

NVML_CALL nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *instance) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!json_member(call.gpu, "mig")) return leave(NVML_ERROR_NOT_SUPPORTED);
    if (!find_gpu_instance(call.gpu, id)) return leave(NVML_ERROR_NOT_FOUND);
    struct subject subject = gpu_instance_subject(call.gpu, id);
    return leave(put_handle(&subject, (const void **)instance));
}

/* Appends the GPU instances of one profile that this list of entries tells of, each once. */
static nvmlReturn_t collect_gpu_instances(const struct json *gpu, const struct json *entries, unsigned profile_id,
                                          nvmlGpuInstance_t *instances, unsigned *count) {
    for (const struct json *entry = entries ? entries->child : NULL; entry; entry = entry->next) {
        unsigned id = number_in(entry, "gi_id");
        if (entry->type != JSON_OBJECT || profile_id_of(gpu, entry) != profile_id) continue;
        if (find_gpu_instance(gpu, id) != entry) continue;
        struct subject subject = gpu_instance_subject(gpu, id);
        nvmlReturn_t result = put_handle(&subject, (const void **)&instances[*count]);
        if (result) return result;
        ++*count;
    }
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned profile_id, nvmlGpuInstance_t *instances,
                                    unsigned *count) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!instances || !count) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!profile_by(call.gpu, "profile_id", profile_id)) return leave(NVML_ERROR_NOT_SUPPORTED);
    *count = 0;
    result = collect_gpu_instances(call.gpu, json_path(call.gpu, "mig.devices"), profile_id, instances, count);
    if (result) return leave(result);
    return leave(
        collect_gpu_instances(call.gpu, json_path(call.gpu, "mig.gpu_instances"), profile_id, instances, count));
}

static void put_placement(const struct json *pair, unsigned size, nvmlInstancePlacement_t *placement) {
    placement->start = (unsigned)json_bits(json_element(pair, 0), 0);
    placement->size = (unsigned)json_bits(json_element(pair, 1), size);
}

NVML_CALL nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU_INSTANCE, .handle = instance};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    struct subject parent = gpu_subject(call.gpu);
    info->id = call.subject.gpu_instance;
    info->profileId = profile_id_of(call.gpu, call.instance);
    put_placement(json_member(call.instance, "placement"), 0, &info->placement);
    return leave(put_handle(&parent, (const void **)&info->device));
}

NVML_CALL nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gpu_instance, unsigned id,
                                                nvmlComputeInstance_t *instance) {
    struct call call = {.name = __func__, .target = TARGET_GPU_INSTANCE, .handle = gpu_instance};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    struct subject subject = call.subject;
    subject.kind = KIND_COMPUTE_INSTANCE;
    subject.compute_instance = id;
    if (!find_compute_instance(call.gpu, subject.gpu_instance, id)) return leave(NVML_ERROR_NOT_FOUND);
    return leave(put_handle(&subject, (const void **)instance));
}

static nvmlReturn_t compute_instance_info(const char *name, nvmlComputeInstance_t instance,
                                          nvmlComputeInstanceInfo_t *info) {
    struct call call = {.name = name, .target = TARGET_COMPUTE_INSTANCE, .handle = instance};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    struct subject gpu = gpu_subject(call.gpu), parent = gpu_instance_subject(call.gpu, call.subject.gpu_instance);
    info->id = call.subject.compute_instance;
    info->profileId = number_in(call.instance, "ci_profile");
    put_placement(json_member(call.instance, "ci_placement"),
                  compute_profile_slices(info->profileId), &info->placement);
    result = put_handle(&gpu, (const void **)&info->device);
    return leave(result ? result : put_handle(&parent, (const void **)&info->gpuInstance));
}

NVML_CALL nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t *info) {
    return compute_instance_info(__func__, instance, info);
}

NVML_CALL nvmlComputeInstanceGetInfo(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t *info) {
    return compute_instance_info(__func__, instance, info);
}
