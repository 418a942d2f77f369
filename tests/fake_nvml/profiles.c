/* MIG profiles: the kinds of GPU instance that a board offers, and of compute instance that a GPU instance does. */
#include "fake.h"

#include <stdio.h>

static const unsigned slices_of_gpu_profile[NVML_GPU_INSTANCE_PROFILES] = {1, 2, 3, 4, 7, 8, 6, 1, 2,
                                                                           1, 1, 2, 4, 1, 2, 1, 2, 3};
static const unsigned slices_of_compute_profile[NVML_COMPUTE_INSTANCE_PROFILES] = {1, 2, 3, 4, 7, 8, 6, 1, 7};

const struct json *profile_by(const struct json *gpu, const char *name, unsigned wanted) {
    const struct json *profiles = json_path(gpu, "mig.profiles");
    for (const struct json *profile = profiles ? profiles->child : NULL; profile; profile = profile->next) {
        if (json_bits(json_member(profile, name), NVML_ANY_INSTANCE) == wanted) return profile;
    }
    return NULL;
}

unsigned profile_id_of(const struct json *gpu, const struct json *instance) {
    return number_in(profile_by(gpu, "id", number_in(instance, "gi_profile")), "profile_id");
}

/* 0 for an index that NVML does not have. */
unsigned compute_profile_slices(unsigned index) {
    return index < NVML_COMPUTE_INSTANCE_PROFILES ? slices_of_compute_profile[index] : 0;
}

static unsigned slices_of(const struct json *profile, unsigned index) {
    unsigned usual = index < NVML_GPU_INSTANCE_PROFILES ? slices_of_gpu_profile[index] : 0;
    return (unsigned)json_bits(json_member(profile, "slices"), usual);
}

/* Profiles are asked for by their index; the caller gets NOT_SUPPORTED for those the board lacks. An index that NVML
 * does not have yet is valid where the description has it: that is a newer driver. */
static nvmlReturn_t wanted_profile(const struct json *gpu, unsigned index, const struct json **profile) {
    *profile = profile_by(gpu, "id", index);
    if (*profile) return NVML_SUCCESS;
    return index < NVML_GPU_INSTANCE_PROFILES ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

#define FILL_GPU_INSTANCE_PROFILE(info, profile, index)                                                      \
    do {                                                                                                     \
        (info)->id = number_in(profile, "profile_id");                                                       \
        (info)->isP2pSupported = number_in(profile, "p2p");                                                  \
        (info)->sliceCount = slices_of(profile, index);                                                      \
        (info)->instanceCount = number_in(profile, "instances");                                             \
        (info)->multiprocessorCount = number_in(profile, "multiprocessors");                                 \
        (info)->copyEngineCount = number_in(profile, "copy_engines");                                        \
        (info)->decoderCount = number_in(profile, "decoders");                                               \
        (info)->encoderCount = number_in(profile, "encoders");                                               \
        (info)->jpegCount = number_in(profile, "jpeg_engines");                                              \
        (info)->ofaCount = number_in(profile, "ofa_engines");                                                \
        (info)->memorySizeMB = number_in(profile, "memory_mib");                                             \
    } while (0)

NVML_CALL nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned index, nvmlGpuInstanceProfileInfo_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    const struct json *profile;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if ((result = wanted_profile(call.gpu, index, &profile))) return leave(result);
    FILL_GPU_INSTANCE_PROFILE(info, profile, index);
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned index,
                                               nvmlGpuInstanceProfileInfo_v2_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    const struct json *profile;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (info->version != NVML_STRUCT_VERSION(*info, 2)) return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if ((result = wanted_profile(call.gpu, index, &profile))) return leave(result);
    FILL_GPU_INSTANCE_PROFILE(info, profile, index);
    snprintf(info->name, sizeof info->name, "MIG %s", json_text(json_member(profile, "name"), ""));
    return leave(NVML_SUCCESS);
}

static nvmlReturn_t possible_placements(const char *name, nvmlDevice_t device, unsigned profile_id,
                                        nvmlInstancePlacement_t *placements, unsigned *count) {
    struct call call = {.name = name, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *profile = profile_by(call.gpu, "profile_id", profile_id);
    const struct json *list = json_member(profile, "placements");
    if (!count) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!profile) return leave(NVML_ERROR_NOT_SUPPORTED);
    unsigned length = json_length(list), room = *count;
    *count = length;
    if (!placements) return leave(NVML_SUCCESS);
    if (room < length) return leave(NVML_ERROR_INSUFFICIENT_SIZE);
    for (unsigned i = 0; i < length; i++) {
        const struct json *pair = json_element(list, i);
        placements[i].start = (unsigned)json_bits(json_element(pair, 0), 0);
        placements[i].size = (unsigned)json_bits(json_element(pair, 1), 0);
    }
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned profile_id,
                                                        nvmlInstancePlacement_t *placements, unsigned *count) {
    return possible_placements(__func__, device, profile_id, placements, count);
}

NVML_CALL nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned profile_id,
                                                     nvmlInstancePlacement_t *placements, unsigned *count) {
    return possible_placements(__func__, device, profile_id, placements, count);
}

/* Which compute profiles a GPU instance offers: its own list of indices, else the usual rule (as many slices as it
 * has, or at most half of them rounded up). A compute profile's id is its index. */
static bool offers(const struct json *profile, unsigned slices, unsigned index) {
    const struct json *list = json_member(profile, "ci_profiles");
    unsigned own = slices_of_compute_profile[index];
    for (unsigned i = 0; i < json_length(list); i++) {
        if (json_bits(json_element(list, i), NVML_ANY_INSTANCE) == index) return true;
    }
    return !list && index <= 6 && (own == slices || (own < slices && 2 * own <= slices + 1));
}

#define FILL_COMPUTE_INSTANCE_PROFILE(info, profile, slices, index)                                          \
    do {                                                                                                     \
        (info)->id = index;                                                                                  \
        (info)->sliceCount = slices_of_compute_profile[index];                                               \
        (info)->instanceCount = slices / (info)->sliceCount;                                                 \
        (info)->multiprocessorCount = number_in(profile, "multiprocessors") * (info)->sliceCount / slices;   \
        (info)->sharedCopyEngineCount = number_in(profile, "copy_engines");                                  \
        (info)->sharedDecoderCount = number_in(profile, "decoders");                                         \
        (info)->sharedEncoderCount = number_in(profile, "encoders");                                         \
        (info)->sharedJpegCount = number_in(profile, "jpeg_engines");                                        \
        (info)->sharedOfaCount = number_in(profile, "ofa_engines");                                          \
    } while (0)

static nvmlReturn_t wanted_compute_profile(const struct call *call, unsigned index, unsigned engine,
                                           const struct json **profile, unsigned *slices) {
    unsigned gpu_profile = number_in(call->instance, "gi_profile");
    if (index >= NVML_COMPUTE_INSTANCE_PROFILES || engine) return NVML_ERROR_INVALID_ARGUMENT;
    *profile = profile_by(call->gpu, "id", gpu_profile);
    *slices = slices_of(*profile, gpu_profile);
    return *slices && offers(*profile, *slices, index) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

NVML_CALL nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance, unsigned index, unsigned engine,
                                                       nvmlComputeInstanceProfileInfo_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU_INSTANCE, .handle = instance};
    const struct json *profile;
    unsigned slices;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if ((result = wanted_compute_profile(&call, index, engine, &profile, &slices))) return leave(result);
    FILL_COMPUTE_INSTANCE_PROFILE(info, profile, slices, index);
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t instance, unsigned index, unsigned engine,
                                                        nvmlComputeInstanceProfileInfo_v2_t *info) {
    struct call call = {.name = __func__, .target = TARGET_GPU_INSTANCE, .handle = instance};
    const struct json *profile;
    unsigned slices;
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!info) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (info->version != NVML_STRUCT_VERSION(*info, 2)) return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if ((result = wanted_compute_profile(&call, index, engine, &profile, &slices))) return leave(result);
    FILL_COMPUTE_INSTANCE_PROFILE(info, profile, slices, index);
    const char *name = json_text(json_member(profile, "name"), "");
    if (info->sliceCount == slices) snprintf(info->name, sizeof info->name, "MIG %s", name);
    else snprintf(info->name, sizeof info->name, "MIG %uc.%s", info->sliceCount, name);
    return leave(NVML_SUCCESS);
}
