/* How a GPU is: ECC, remapped rows, retired pages, temperature, clocks, load, processes, and fields by number. */
#include "fake.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

NVML_CALL nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnum_t *current, nvmlEnum_t *pending) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    result = put_uint(json_path(call.gpu, "ecc.current"), current);
    return leave(result ? result : put_uint(json_path(call.gpu, "ecc.pending"), pending));
}

NVML_CALL nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlEnum_t kind, nvmlEnum_t period,
                                      unsigned long long *count) {
    static const char *const paths[2][2] = {{"ecc.volatile.corrected", "ecc.aggregate.corrected"},
                                            {"ecc.volatile.uncorrected", "ecc.aggregate.uncorrected"}};
    return gpu_ull(__func__, device, kind < 2 && period < 2 ? paths[kind][period] : NULL, count);
}

NVML_CALL nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_v1_t *status) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *sram = json_path(call.gpu, "ecc.sram");
    if (!status) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (status->version != NVML_STRUCT_VERSION(*status, 1)) return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (!sram) return leave(NVML_ERROR_NOT_SUPPORTED);
    memset(status, 0, sizeof *status);
    status->version = NVML_STRUCT_VERSION(*status, 1);
    status->aggregateUncParity = json_bits(json_path(sram, "aggregate.parity"), 0);
    status->aggregateUncSecDed = json_bits(json_path(sram, "aggregate.sec_ded"), 0);
    status->aggregateCor = json_bits(json_path(sram, "aggregate.corrected"), 0);
    status->volatileUncParity = json_bits(json_path(sram, "volatile.parity"), 0);
    status->volatileUncSecDed = json_bits(json_path(sram, "volatile.sec_ded"), 0);
    status->volatileCor = json_bits(json_path(sram, "volatile.corrected"), 0);
    status->bThresholdExceeded = number_in(sram, "threshold_exceeded");
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *correctable, unsigned *uncorrectable,
                                    unsigned *is_pending, unsigned *has_failed) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *remap = json_member(call.gpu, "remap");
    if (!correctable || !uncorrectable || !is_pending || !has_failed) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!remap) return leave(NVML_ERROR_NOT_SUPPORTED);
    *correctable = number_in(remap, "correctable");
    *uncorrectable = number_in(remap, "uncorrectable");
    *is_pending = number_in(remap, "pending");
    *has_failed = number_in(remap, "failed");
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *banks) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *histogram = json_path(call.gpu, "remap.histogram");
    if (!banks) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!histogram) return leave(NVML_ERROR_NOT_SUPPORTED);
    banks->max = number_in(histogram, "max");
    banks->high = number_in(histogram, "high");
    banks->partial = number_in(histogram, "partial");
    banks->low = number_in(histogram, "low");
    banks->none = number_in(histogram, "none");
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, nvmlEnum_t *is_pending) {
    return gpu_uint(__func__, device, "retired_pages.pending", is_pending);
}

/* "retired_pages": lists of addresses by cause, 0 for many single-bit errors and 1 for a double-bit error. */
NVML_CALL nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlEnum_t cause, unsigned *count, unsigned long long *pages) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *list = json_path(call.gpu, cause ? "retired_pages.double_bit" : "retired_pages.single_bit");
    if (!count || cause > 1) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!list) return leave(NVML_ERROR_NOT_SUPPORTED);
    unsigned room = *count;
    *count = json_length(list);
    if (room < *count) return leave(NVML_ERROR_INSUFFICIENT_SIZE);
    for (unsigned i = 0; i < *count; i++) pages[i] = json_bits(json_element(list, i), 0);
    return leave(NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlEnum_t sensor, unsigned *celsius) {
    return gpu_uint(__func__, device, sensor == NVML_TEMPERATURE_GPU ? "temperature_c" : NULL, celsius);
}

NVML_CALL nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (!temperature) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (temperature->version != NVML_STRUCT_VERSION(*temperature, 1)) {
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    }
    return leave(put_int(json_member(call.gpu, "temperature_c"), &temperature->temperature));
}

NVML_CALL nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts) {
    return gpu_uint(__func__, device, "power_mw", milliwatts);
}

NVML_CALL nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
    return gpu_ull(__func__, device, "clocks_event_reasons", reasons);
}

NVML_CALL nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    return gpu_ull(__func__, device, "clocks_event_reasons", reasons);
}

NVML_CALL nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *facts = json_member(call.gpu, "utilization");
    if (!utilization) return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!facts) return leave(NVML_ERROR_NOT_SUPPORTED);
    utilization->gpu = number_in(facts, "gpu");
    utilization->memory = number_in(facts, "memory");
    return leave(NVML_SUCCESS);
}

/* "processes": asked of a MIG device, those in its instances; asked of a GPU, all. */
static bool runs_here(const struct json *process, const struct json *instance) {
    return !instance || (json_bits(json_member(process, "gi"), NVML_ANY_INSTANCE) == number_in(instance, "gi_id") &&
                         json_bits(json_member(process, "ci"), NVML_ANY_INSTANCE) == number_in(instance, "ci_id"));
}

static nvmlReturn_t running_processes(const char *name, nvmlDevice_t device, const char *table, unsigned *count,
                                      nvmlProcessInfo_t *processes) {
    struct call call = {.name = name, .target = TARGET_DEVICE, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    const struct json *list = json_member(call.gpu, table);
    if (!count || (*count && !processes)) return leave(NVML_ERROR_INVALID_ARGUMENT);
    unsigned room = *count;
    *count = 0;
    for (const struct json *process = list ? list->child : NULL; process; process = process->next) {
        if (!runs_here(process, call.instance)) continue;
        if ((*count)++ >= room) continue;
        processes[*count - 1] = (nvmlProcessInfo_t){
            .pid = number_in(process, "pid"),
            .usedGpuMemory = json_bits(json_member(process, "memory_bytes"), 0),
            .gpuInstanceId = (unsigned)json_bits(json_member(process, "gi"), NVML_ANY_INSTANCE),
            .computeInstanceId = (unsigned)json_bits(json_member(process, "ci"), NVML_ANY_INSTANCE),
        };
    }
    return leave(*count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

NVML_CALL nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *processes) {
    return running_processes(__func__, device, "processes", count, processes);
}

NVML_CALL nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *processes) {
    return running_processes(__func__, device, "processes", count, processes);
}

NVML_CALL nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *processes) {
    return running_processes(__func__, device, "graphics_processes", count, processes);
}

NVML_CALL nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                     nvmlProcessInfo_t *processes) {
    return running_processes(__func__, device, "mps_processes", count, processes);
}

/* "fields": by "<id>" or "<id>:<scope>", a number (told as unsigned int, or as unsigned long long where it is too big)
 * or an object of "value", "type" and "error". */
static const struct json *field_entry(const struct json *gpu, const nvmlFieldValue_t *field) {
    char name[32];
    const struct json *fields = json_member(gpu, "fields");
    snprintf(name, sizeof name, "%u:%u", field->fieldId, field->scopeId);
    const struct json *entry = json_member(fields, name);
    snprintf(name, sizeof name, "%u", field->fieldId);
    return entry ? entry : json_member(fields, name);
}

static void put_value(const struct json *value, nvmlFieldValue_t *field) {
    unsigned long long bits = json_bits(value, 0);
    switch (field->valueType) {
    case NVML_VALUE_TYPE_DOUBLE: field->value.dVal = json_number(value, 0); break;
    case NVML_VALUE_TYPE_UNSIGNED_INT: field->value.uiVal = (unsigned)bits; break;
    case NVML_VALUE_TYPE_UNSIGNED_LONG: field->value.ulVal = (unsigned long)bits; break;
    case NVML_VALUE_TYPE_SIGNED_INT: field->value.siVal = (int)bits; break;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT: field->value.usVal = (unsigned short)bits; break;
    default: field->value.ullVal = bits;
    }
}

static void put_field(const struct json *entry, nvmlFieldValue_t *field) {
    const struct json *value = entry && entry->type == JSON_OBJECT ? json_member(entry, "value") : entry;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    field->timestamp = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    field->latencyUsec = 0;
    memset(&field->value, 0, sizeof field->value);
    unsigned type = json_bits(value, 0) >> 32 ? NVML_VALUE_TYPE_UNSIGNED_LONG_LONG : NVML_VALUE_TYPE_UNSIGNED_INT;
    field->valueType = (unsigned)json_bits(json_member(entry, "type"), type);
    field->nvmlReturn = value ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    if (json_member(entry, "error")) field->nvmlReturn = error_named(json_member(entry, "error"));
    if (!field->nvmlReturn) put_value(value, field);
}

NVML_CALL nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
    struct call call = {.name = __func__, .target = TARGET_GPU, .handle = device};
    nvmlReturn_t result = enter(&call);
    if (result) return result;
    if (count < 0 || (count && !values)) return leave(NVML_ERROR_INVALID_ARGUMENT);
    for (int i = 0; i < count; i++) put_field(field_entry(call.gpu, &values[i]), &values[i]);
    return leave(NVML_SUCCESS);
}
