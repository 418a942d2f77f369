/* Init, shutdown, and what NVML tells of the whole machine. */
#include "fake.h"

static nvmlReturn_t initialise(const char *name, unsigned flags) {
    struct call call = {.name = name, .target = TARGET_INIT};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!session_is_open()) result = error_named(json_member(machine(), "init"));
    return leave(result ? result : session_open(flags));
}

NVML_CALL nvmlInitWithFlags(unsigned flags) {
    return initialise(__func__, flags);
}

NVML_CALL nvmlInit_v2(void) {
    return initialise(__func__, 0);
}

NVML_CALL nvmlInit(void) {
    return initialise(__func__, 0);
}

NVML_CALL nvmlShutdown(void) {
    struct call call = {.name = __func__, .target = TARGET_SYSTEM};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(session_close());
}

static nvmlReturn_t system_text(const char *name, const char *path, char *out, unsigned size) {
    struct call call = {.name = name, .target = TARGET_SYSTEM};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_text(json_path(machine(), path), out, size));
}

NVML_CALL nvmlSystemGetDriverVersion(char *version, unsigned size) {
    return system_text(__func__, "driver_version", version, size);
}

NVML_CALL nvmlSystemGetNVMLVersion(char *version, unsigned size) {
    return system_text(__func__, "nvml_version", version, size);
}

static nvmlReturn_t system_int(const char *name, const char *path, int *out) {
    struct call call = {.name = name, .target = TARGET_SYSTEM};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_int(json_path(machine(), path), out));
}

NVML_CALL nvmlSystemGetCudaDriverVersion(int *version) {
    return system_int(__func__, "cuda_version", version);
}

NVML_CALL nvmlSystemGetCudaDriverVersion_v2(int *version) {
    return system_int(__func__, "cuda_version", version);
}

NVML_CALL nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state) {
    struct call call = {.name = __func__, .target = TARGET_SYSTEM};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *facts = json_member(machine(), "conf_compute");
    if (!state) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!facts) return leave(NVML_ERROR_NOT_SUPPORTED);
    state->environment = (unsigned)json_bits(json_member(facts, "environment"), 0);
    state->ccFeature = (unsigned)json_bits(json_member(facts, "feature"), 0);
    state->devToolsMode = (unsigned)json_bits(json_member(facts, "devtools_mode"), 0);
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlSystemGetConfComputeGpusReadyState(unsigned *is_ready) {
    struct call call = {.name = __func__, .target = TARGET_SYSTEM};
    nvmlReturn_t result = enter(&call);
    return result ? result : leave(put_uint(json_path(machine(), "conf_compute.gpus_ready"), is_ready));
}

static nvmlReturn_t gpu_count(const char *name, unsigned *count) {
    struct call call = {.name = name, .target = TARGET_SYSTEM};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!count) return leave(NVML_ERROR_INVALID_ARGUMENT);
    *count = json_length(json_member(machine(), "gpus"));
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetCount_v2(unsigned *count) {
    return gpu_count(__func__, count);
}

NVML_CALL nvmlDeviceGetCount(unsigned *count) {
    return gpu_count(__func__, count);
}
